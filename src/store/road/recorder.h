/* recorder.h - the flight recorder: which task's code was running when the process died.
 *
 * A mapped page of a file in the data folder: it survives the process, but not always a power
 * cut.  A thread marks a task while it runs that task's code.  A fatal signal that the process
 * causes itself (a bad pointer, a failed require) writes a flag and the mark of the thread that
 * crashed: the other marks are bystanders, for example sends that wait for their receivers.  A
 * crash of a thread without a mark is nobody's.  Signals from outside, a power cut and the kernel's
 * out-of-memory killer write nothing, so they never count against a document.
 *
 * At the next start the task of the thread that crashed is a suspect: it runs alone.  A crash while
 * alone counts (task_crashed()); the third makes the task poison.
 *
 * Format      file `recorder`, RECORDER_SLOTS entries of 64 bytes behind a head of 64:
 *             head: u64 magic, crashed, running, culprit (entry + 1; 0: none); entry: i64 id (0:
 *             none), queue, prio, rank, alone, thread.  Host byte order: it is read on the machine
 *             that wrote it.
 *
 * Threads: a slot belongs to one thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "store/road/task.h"

enum { RECORDER_SLOTS = 63 };

struct recorder;

struct suspect {
    struct task task; /* id, queue, prio, rank */
    bool alone;       /* it ran alone: this crash counts */
};

/* Reads what the predecessor left, then clears the page. */
bool recorder_open(int data_fd, struct recorder **ret, struct err *err);
void recorder_close(struct recorder *r);

/* The predecessor ended without recorder_close(). */
bool recorder_unclean(const struct recorder *r);

/* Up to RECORDER_SLOTS; none unless a marked thread of the predecessor died by a fatal signal. */
size_t recorder_suspects(const struct recorder *r, struct suspect *ret);
/* The task will not run again. */
void recorder_drop_suspect(struct recorder *r, int64_t id);

/* The calling thread, to which the slot belongs, begins or ends running code of the task.  alone:
 * it is a suspect and no other task's code runs, so a crash counts against it. */
void recorder_mark(struct recorder *r, size_t slot, const struct task *t, bool alone);
void recorder_clear(struct recorder *r, size_t slot);

/* From now on fatal signals write the flag, then end the process as without a handler. */
void recorder_watch_signals(struct recorder *r);
