/* suspects.h - the code of a task runs, and the recorder knows of it.
 *
 * A step or a connector may bring the process down.  The recorder (store/road/recorder.h) keeps
 * which tasks ran at that moment; after a crash they are suspects.  Until they are over nothing
 * runs beside another, so that the one that does it again is known.
 *
 * Threads: any; suspects_enter() waits its turn while there are suspects, so no other lock may be
 * held.
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
    _Atomic int64_t ids[RECORDER_SLOTS]; /* 0: over */
    size_t count;
    int64_t until_us;       /* monotonic */
    _Atomic uint64_t slots; /* of the recorder that are taken, as bits */
};

void suspects_start(struct suspects *s, struct recorder *recorder);

struct task_code {
    int slot;
    bool alone;
};
/* Around the code of a task. */
struct task_code suspects_enter(struct suspects *s, const struct task *t);
void suspects_leave(struct suspects *s, struct task_code c);
/* It came to an end without bringing us down. */
void suspects_forgive(struct suspects *s, const struct task *t);
