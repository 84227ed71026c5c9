/* batch.h - batches: documents that are sent together as one document.
 *
 *     open ──► closing ──► closed ──► ended
 *
 * A document joins with the commit that settles its run (SETTLE_JOIN).  It stays a live document,
 * without a task.  One transaction closes a batch: its members are fixed from then on, and the next
 * document opens another batch.  The node that claims a closing batch builds its document and
 * commits that with the links to the members; a crash at any point leaves the batch closing or
 * closed.  When the document of the batch has ended, its members end too, some at a time.
 *
 * Invariants
 *   (1) A document is a member of one batch at most.
 *   (2) At most one batch of a name, route, receiver and part is open.
 *   (3) Only an open batch gains members.  A member leaves an open batch; later only if it cannot
 *       be joined, if the batch could not be built, or after a restore (restore.h).
 *   (4) A member lives until its batch has ended.
 *
 * Threads: any that may block; changes run in the writer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/id.h"
#include "base/str.h"
#include "core/state.h"
#include "store/payload/payload.h"
#include "store/road/settle_batch.h"

struct accept_op;
struct db;
struct document;
struct store;
struct writer;

enum batch_state { BATCH_OPEN, BATCH_CLOSING, BATCH_CLOSED, BATCH_ENDED, BATCH_STATES };
extern const char *const batch_states[BATCH_STATES];

extern const char *const batch_whys[BATCH_WHYS];

/* ---- closing ---- */

enum { BATCH_ANY_RECEIVER = -1 };

struct batch_close {
    int64_t name, receiver;  /* or BATCH_ANY_RECEIVER */
    int64_t opened_until_us; /* only batches opened until then */
    enum batch_why why;
    struct str by; /* the operator or rule that closes it */
    /* BATCH_TIME: the last scheduled time that was served, and this one.  Nothing is done if
     * another node has served it.  `empty`: makes a batch without members if none is open. */
    int64_t slot_from_us, slot_us;
    bool empty;
    int64_t config; /* version of the empty batch */

    /* the answer */
    bool ours;      /* false: another node was first */
    int64_t closed; /* number of batches */
};
bool batch_close(struct store *s, struct batch_close *c, struct err *err);

/* The last scheduled time that was served; if there is none yet, `start_us` is recorded as such. */
bool batch_slot(struct store *s, int64_t name, int64_t start_us, int64_t *ret_us, struct err *err);
/* After a wrong clock: the schedule continues at `to_us`. */
bool batch_slot_reset(struct store *s, int64_t name, int64_t from_us, int64_t to_us,
                      struct err *err);

/* ---- building ---- */

struct batch {
    int64_t num, name, route, receiver, config, members, bytes;
    int64_t opened_us, closed_us, ended_us, slot_us; /* 0: not yet */
    struct str part, closed_by;
    enum batch_state state;
    enum batch_why why;
    int64_t doc; /* 0: none yet */
    struct id doc_id;
    int64_t claim, tries;
    struct str code, message; /* why it could not be built; empty: no failure */
};

/* At start: releases the claims of this node. */
bool batch_start(struct store *s, struct err *err);
/* Claims a closing batch that is due and not claimed by a live node. */
bool batch_claim(struct store *s, struct arena *a, struct batch *ret, bool *ret_found,
                 struct err *err);
/* Releases the claim; the batch is due again at due_us.  `code` and `message` are its error. */
bool batch_back(struct store *s, const struct batch *b, int64_t due_us, struct str code,
                struct str message, struct err *err);

struct batch_member {
    int64_t doc, received_us, sender, type, gateway;
    struct payload_source source; /* id, num, size, sha256, place of the joined bytes */
    struct str name, facts;
};
enum { BATCH_PAGE_MOST = 200 };

/* Members above `after`, in the order of acceptance. */
bool batch_members(struct store *s, int64_t batch, int64_t after, struct arena *a,
                   struct batch_member *ret, size_t most, size_t *ret_count, struct err *err);

struct batch_common {
    int64_t members, sender, type; /* sender, type 0: none, or not the same for all */
};
bool batch_common(struct store *s, int64_t batch, struct batch_common *ret, struct err *err);

/* The document of a batch: an accept_op without its answer, and its facts.  *ret_ours false: the
 * claim was lost, and nothing was done. */
struct batch_document {
    struct accept_op *accept;
    int64_t sender, receiver, type;
    struct str facts, timeline;
};
bool batch_built(struct store *s, const struct batch *b, const struct batch_document *d,
                 bool *ret_ours, struct err *err);

/* Deletes batches that ended before then, a few at a time. */
bool batch_forget(struct store *s, int64_t before_us, struct err *err);

/* ---- reading ---- */

struct batch_filter {
    int64_t name; /* 0: any */
    bool ended;   /* includes ended batches */
};
/* Up to `most` below `below` (0: from the newest). */
bool batch_list(struct store *s, const struct batch_filter *f, int64_t below, struct arena *a,
                struct batch *ret, size_t most, size_t *ret_count, struct err *err);
bool batch_any(struct store *s, bool *ret, struct err *err); /* some batch has not ended */
/* The names (name ids) with open batches, up to `most`, and when the first of each was opened. */
struct batch_name {
    int64_t name, opened_us;
};
bool batch_names_open(struct store *s, struct batch_name *ret, size_t most, size_t *ret_count,
                      struct err *err);
/* Whether batch_claim() would find one. */
bool batch_waits(struct store *s, bool *ret, struct err *err);

/* ---- for the store itself ---- */

/* False: the bytes are no id (the column is empty). */
bool batch_read_id(struct str bytes, struct id *ret);
/* In an open transaction: whether the claim still holds; on PostgreSQL locks the batch. */
bool batch_is_ours(struct writer *w, const struct batch *b, bool *ret, struct err *err);
