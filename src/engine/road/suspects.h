/* suspects.h - find the task whose code brings the process down.
 *
 * A step or a connector may crash the process.  The recorder (store/road/recorder.h) keeps the task
 * of the thread that crashed; after a crash it is the suspect.  Until it has ended, the steps of
 * only one task run at a time: code that ruins memory may crash another thread than its own.
 * Connectors that block are not waited for: they run beside, each with a mark of its own.
 *
 * Threads: any.  suspects_enter() waits for the running task while there are suspects, so the
 * caller must hold no lock that the code of a task takes.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/road/recorder.h"

struct suspects {
    struct recorder *recorder;
    pthread_mutex_t alone;
    _Atomic size_t left;
    _Atomic int64_t ids[RECORDER_SLOTS]; /* tasks; 0: has ended */
    size_t count;
    int64_t until_us;       /* when suspicion ends by itself; monotonic */
    _Atomic uint64_t slots; /* bit set of the recorder's slots in use */
};

void suspects_start(struct suspects *s, struct recorder *recorder);

struct task_code {
    int slot;
    bool alone;
};
/* These enclose the code of a task. */
struct task_code suspects_enter(struct suspects *s, const struct task *t);
/* The same for code that may block: it waits for no other, and no other waits for it. */
struct task_code suspects_note(struct suspects *s, const struct task *t);
void suspects_leave(struct suspects *s, struct task_code c);
/* The task has ended without a crash. */
void suspects_forgive(struct suspects *s, const struct task *t);
