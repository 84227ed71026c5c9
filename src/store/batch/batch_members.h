/* batch_members.h - what becomes of members: one steps aside, they go on by themselves, they end
 * with their batch, or one leaves (batch.h).
 *
 * Threads: any that may block; changes run in the writer.
 */
#pragma once

#include "store/batch/batch.h"

/* A member that cannot be joined is a dead letter by itself. */
bool batch_aside(struct store *s, const struct batch *b, const struct batch_member *m,
                 struct str code, struct str message, bool *ret_ours, struct err *err);

/* Members that go on by themselves: each runs the steps of the batch.  They go in the order of
 * acceptance: each stands at its old place again (order.h) before one behind it can be routed. */
struct batch_going {
    const struct batch *batch;
    int64_t config; /* the version with which they go on */

    /* of batch_who_goes() */
    const int64_t *docs;
    size_t count;

    /* the answer */
    size_t gone; /* with the last one the batch has ended */
    bool ours;   /* false: the claim was lost, and nothing was done */
};
bool batch_who_goes(struct store *s, struct arena *a, struct batch_going *g, struct err *err);
/* Some of them. */
bool batch_let_go(struct store *s, struct batch_going *g, struct err *err);

/* ---- ending ---- */

/* Batches whose document is over, above one. */
struct batch_over {
    int64_t num, doc;
    struct id doc_id;
};
bool batch_over(struct store *s, int64_t after, struct batch_over *ret, size_t most,
                size_t *ret_count, struct err *err);
/* Some of its members end as it did; *ret_left: there are more.  keep_days: of each of them, or
 * RETAIN_BY_RULE (retain_days.h): as the rules say for its type. */
bool batch_end(struct store *s, const struct batch_over *b, enum document_state state,
               int64_t keep_days, bool *ret_left, struct err *err);

/* ---- for the store itself ---- */

/* The batch of a member; num 0: it is none. */
struct batch_at {
    int64_t num, name, size;
    enum batch_state state;
    bool has_doc;
    struct id doc_id;
    struct str code, message;
};
bool batch_of(struct db *db, int64_t doc, bool lock, struct arena *a, struct batch_at *ret,
              struct err *err);
/* A member may leave a batch that is open, or that could not be built; after that it goes with it.
 */
static inline bool batch_lets_go(const struct batch_at *at)
{
    return !at->has_doc && (at->state == BATCH_OPEN || at->code.len > 0);
}
/* In an open transaction: it leaves. */
bool batch_leave(struct writer *w, int64_t doc, const struct batch_at *at, struct err *err);
