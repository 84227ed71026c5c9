/* place.h - where a task stands that nobody has claimed: found, and dropped.
 *
 * For verbs of the store's own that change documents (operate.c, edit.c), in an open
 * transaction.  On PostgreSQL what was found is locked until its end.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "store/kernel/writer.h"

struct task_place {
    enum { PLACE_NONE, PLACE_READY, PLACE_LATER, PLACE_DEAD } at;
    int64_t queue, prio, rank; /* PLACE_LATER: rank is when it is due */
};

/* What is known of the task, for a short search. */
struct place_ask {
    int64_t task, queue;
    int64_t received_us; /* of its document */
    int64_t due_us;      /* of its delivery; 0: it has none */
};

/* PLACE_NONE: somebody has it in hand. */
bool place_find(struct writer *w, const struct place_ask *ask, struct task_place *ret,
                struct err *err);
/* Only among the dead; else *ret stays as it is. */
bool place_find_dead(struct writer *w, int64_t task, struct task_place *ret, struct err *err);

bool place_drop(struct writer *w, int64_t task, const struct task_place *place, struct err *err);
