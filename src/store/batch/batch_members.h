/* batch_members.h - what becomes of members: one is set aside, all continue alone, they end with
 * their batch, or one leaves (batch.h).
 *
 * Threads: any that may block; changes run in the writer.
 */
#pragma once

#include "store/batch/batch.h"

/* Sets a member aside that cannot be joined: it becomes a dead letter. */
bool batch_aside(struct store *s, const struct batch *b, const struct batch_member *m,
                 struct str code, struct str message, bool *ret_ours, struct err *err);

/* Members that continue alone: each runs the steps of the batch itself.  They are released in the
 * order of acceptance, so that each has its old place in its lane again (order.h) before a later
 * one can be routed. */
struct batch_going {
    const struct batch *batch;
    int64_t config; /* the version with which they continue */

    /* of batch_who_goes() */
    const int64_t *docs;
    size_t count;

    /* the answer */
    size_t gone; /* released so far; the batch ends with the last one */
    bool ours;   /* false: the claim was lost, and nothing was done */
};
bool batch_who_goes(struct store *s, struct arena *a, struct batch_going *g, struct err *err);
/* Releases some of them. */
bool batch_let_go(struct store *s, struct batch_going *g, struct err *err);

/* ---- ending ---- */

/* Batches above `after` whose document has ended. */
struct batch_over {
    int64_t num, doc;
    struct id doc_id;
};
bool batch_over(struct store *s, int64_t after, struct batch_over *ret, size_t most,
                size_t *ret_count, struct err *err);
/* Ends some members in the state of the document; *ret_left: there are more.  keep_days holds for
 * all, or is RETAIN_BY_RULE: then the rule for each member's type decides (retain_days.h). */
bool batch_end(struct store *s, const struct batch_over *b, enum document_state state,
               int64_t keep_days, bool *ret_left, struct err *err);

/* ---- for the store itself ---- */

/* The batch of a document; num 0: it is no member. */
struct batch_at {
    int64_t num, name, size;
    enum batch_state state;
    bool has_doc;
    struct id doc_id;
    struct str code, message;
};
bool batch_of(struct db *db, int64_t doc, bool lock, struct arena *a, struct batch_at *ret,
              struct err *err);
/* A member may leave a batch that is open or could not be built; later it goes with the batch. */
static inline bool batch_lets_go(const struct batch_at *at)
{
    return !at->has_doc && (at->state == BATCH_OPEN || at->code.len > 0);
}
/* In an open transaction: removes the document from its batch. */
bool batch_leave(struct writer *w, int64_t doc, const struct batch_at *at, struct err *err);
