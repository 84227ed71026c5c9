/* claims.h - who works on what, in memory: the claims of a SQLite store.
 *
 * A claimed row stays in task_ready; the mark here keeps others from taking it.
 * For each queue a cursor remembers how far it was read, so that a claim does not
 * read past everything that is in flight; a row that is put before the cursor
 * moves it back.
 *
 * Invariant
 *   (1) a row that nobody has claimed stands behind the cursor of its queue, or its
 *       claims_put_at() is on the way.  A row before the cursor is a task that waits
 *       for the next start.
 *
 * Bounded: at most CLAIMS_MOST tasks are claimed and CLAIM_QUEUES queues known; a
 * queue that finds no cursor is read from its start.
 *
 * Threads: any; only the writer takes, and moves a cursor forward.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "store/road/task.h"

enum { CLAIMS_MOST = 1 << 16, CLAIM_QUEUES = 4096 };

struct claims *claims_new(int64_t epoch);
void claims_free(struct claims *c);

struct claim_place {
    int64_t prio, rank, id;
};

bool claims_take(struct claims *c,
                 struct task *t); /* false: taken already, or too many; sets t->claim */
bool claims_full(struct claims *c);
bool claims_taken(struct claims *c, int64_t id);          /* somebody has this task in hand */
bool claims_have(struct claims *c, const struct task *t); /* (id, claim) is ours */
void claims_drop(struct claims *c, const struct task *t); /* nothing when it is not ours */

/* Read on behind claims_cursor(), then say with claims_read_to() how far; it goes no
 * further than what was put in between. */
struct claim_place claims_cursor(struct claims *c, int64_t queue);
void claims_read_to(struct claims *c, int64_t queue, struct claim_place place);
/* A row was put at this place, or one that stands there is free again. */
void claims_put_at(struct claims *c, int64_t queue, struct claim_place place);
