/* place.h - finds and deletes tasks that are not claimed.
 *
 * For verbs that change documents by hand (operate.c, edit.c), in an open transaction.  On
 * PostgreSQL a found task stays locked until the end of the transaction.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "store/kernel/writer.h"

struct task_place {
    enum { PLACE_NONE, PLACE_READY, PLACE_LATER, PLACE_DEAD } at;
    int64_t queue, prio, rank; /* PLACE_LATER: rank is its due time */
};

/* What is known of the task, to avoid a scan of its queue. */
struct place_ask {
    int64_t task, queue;
    int64_t received_us; /* of its document */
    int64_t due_us;      /* of its delivery; 0: none */
};

/* PLACE_NONE: the task is claimed. */
bool place_find(struct writer *w, const struct place_ask *ask, struct task_place *ret,
                struct err *err);
/* Searches the dead tasks only; leaves *ret alone if there is none. */
bool place_find_dead(struct writer *w, int64_t task, struct task_place *ret, struct err *err);

bool place_drop(struct writer *w, int64_t task, const struct task_place *place, struct err *err);
