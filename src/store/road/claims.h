/* claims.h - the claims of a SQLite store, in memory.
 *
 * A claimed row stays in task_ready; the mark here keeps it from being claimed again.
 * For each queue a cursor remembers how far it was read, so that a claim does not
 * read past everything that is in flight; a row that is put before the cursor
 * moves it back.  claims.c has the invariants and why they hold.
 *
 * Bounded: at most CLAIMS_MOST tasks are claimed and CLAIM_QUEUES queues have cursors;
 * a queue without a cursor is read from its start.
 *
 * Threads: any; only the writer takes claims and moves a cursor forward.
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

/* False: claimed already, or too many; sets t->claim. */
bool claims_take(struct claims *c, struct task *t, int64_t lease_us);
bool claims_full(struct claims *c);
bool claims_taken(struct claims *c, int64_t id);          /* this task is claimed */
bool claims_have(struct claims *c, const struct task *t); /* (id, claim) still holds */
void claims_drop(struct claims *c,
                 const struct task *t); /* no effect if (id, claim) does not hold */

void claims_end(struct claims *c, int64_t id); /* whoever has claimed it: the claim is lost */

/* Claims that are older than their lease_us, by queue, without those of jobs; returns how many
 * queues, up to `most`.  A claim that moves within the table during the call may be missed or
 * counted twice. */
struct claims_late {
    int64_t queue, count;
    int64_t over_us; /* of the oldest */
    int64_t id;      /* its task */
};
size_t claims_late(struct claims *c, int64_t now_us, struct claims_late *ret, size_t most);

/* Claims of jobs, in no order; returns how many, up to `most`.  As above, one that moves may be
 * missed or be there twice. */
struct claim_mark {
    int64_t id, claim, until_us; /* until_us: its deadline; monotonic */
    int64_t lasts_us;            /* claims_lasts() */
};
size_t claims_of_jobs(struct claims *c, struct claim_mark *ret, size_t most);

/* How long the run of a job may take that this claim is for; without it no time. */
void claims_lasts(struct claims *c, const struct task *t, int64_t lasts_us);
/* False: this task is not claimed. */
bool claims_mark(struct claims *c, int64_t id, struct claim_mark *ret);

/* Read the rows behind claims_cursor(), then call claims_read_to() with the last place that was
 * read; the cursor goes no further than what was put in between. */
struct claim_place claims_cursor(struct claims *c, int64_t queue);
void claims_read_to(struct claims *c, int64_t queue, struct claim_place place);
/* A row was put at this place, or the row there is free again. */
void claims_put_at(struct claims *c, int64_t queue, struct claim_place place);
