/* batch.h - documents that go together.
 *
 *     open ──► closing ──► closed ──► ended
 *
 * A member joins with the commit that settles its run (SETTLE_JOIN): it stays a live document,
 * without a task.  One transaction closes a batch: from then on its members are who they are,
 * and the next document opens another one.  Whoever claims a closing batch builds its document,
 * and commits it with the links to its members; a crash at any point leaves a closing batch, or
 * one that is closed.  When that document is over, so are the members, some at a time.
 *
 * Invariants
 *   (1) a document is a member of one batch at most.
 *   (2) of a name, route, receiver and part one batch is open at most.
 *   (3) nobody joins or leaves a batch that is not open, but members that cannot be joined.
 *   (4) a member lives until its batch has ended.
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
    int64_t opened_until_us; /* only those that were opened until then */
    enum batch_why why;
    struct str by; /* who */
    /* BATCH_TIME: the last time that was served, and this one.  Nothing is done when another node
     * was first; with `empty` a batch of nobody is made when none is open. */
    int64_t slot_from_us, slot_us;
    bool empty;
    int64_t config; /* of the empty one */

    /* the answer */
    bool ours;
    int64_t closed; /* how many */
};
bool batch_close(struct store *s, struct batch_close *c, struct err *err);

/* The last time of the schedule that was served; when there is none, `start_us` from now on. */
bool batch_slot(struct store *s, int64_t name, int64_t start_us, int64_t *ret_us, struct err *err);
/* A clock that was wrong: it goes on at `to_us`. */
bool batch_slot_reset(struct store *s, int64_t name, int64_t from_us, int64_t to_us,
                      struct err *err);

/* ---- building ---- */

struct batch {
    int64_t num, name, route, receiver, config, members, bytes;
    int64_t opened_us, closed_us, ended_us, slot_us; /* 0: not so */
    struct str part, closed_by;
    enum batch_state state;
    enum batch_why why;
    int64_t doc; /* 0: none yet */
    struct id doc_id;
    int64_t claim, tries;
    struct str code, message; /* why it could not be built; empty: nothing is known */
};

/* At start: what this node was building is free. */
bool batch_start(struct store *s, struct err *err);
/* One that is closing and that nobody builds. */
bool batch_claim(struct store *s, struct arena *a, struct batch *ret, bool *ret_found,
                 struct err *err);
/* Give it back, until due_us.  With a code it stands there as what is wrong. */
bool batch_back(struct store *s, const struct batch *b, int64_t due_us, struct str code,
                struct str message, struct err *err);

struct batch_member {
    int64_t doc, received_us, sender, type, gateway;
    struct payload_source source; /* id, num, size, sha256, place of what joins */
    struct str name, facts;
};
enum { BATCH_PAGE_MOST = 200 };

/* Members above `after`, in the order of acceptance. */
bool batch_members(struct store *s, int64_t batch, int64_t after, struct arena *a,
                   struct batch_member *ret, size_t most, size_t *ret_count, struct err *err);

struct batch_common {
    int64_t members, sender, type; /* 0: none, or not the same */
};
bool batch_common(struct store *s, int64_t batch, struct batch_common *ret, struct err *err);

/* Its document: an accept_op that is filled in but for the answer, and what is known of it.
 * *ret_ours is false when the claim was lost: then nothing was done. */
struct batch_document {
    struct accept_op *accept;
    int64_t sender, receiver, type;
    struct str facts, timeline;
};
bool batch_built(struct store *s, const struct batch *b, const struct batch_document *d,
                 bool *ret_ours, struct err *err);

/* Batches that ended before then; a few at a time. */
bool batch_forget(struct store *s, int64_t before_us, struct err *err);

/* ---- looking ---- */

struct batch_filter {
    int64_t name; /* 0: any */
    bool ended;   /* these too */
};
/* Up to `most` below `below` (0: from the newest). */
bool batch_list(struct store *s, const struct batch_filter *f, int64_t below, struct arena *a,
                struct batch *ret, size_t most, size_t *ret_count, struct err *err);
bool batch_any(struct store *s, bool *ret, struct err *err); /* one that has not ended */
/* Names (words) of which some are open, up to `most`, and when the first of each was opened. */
struct batch_name {
    int64_t name, opened_us;
};
bool batch_names_open(struct store *s, struct batch_name *ret, size_t most, size_t *ret_count,
                      struct err *err);
/* Whether batch_claim() would find one. */
bool batch_waits(struct store *s, bool *ret, struct err *err);

/* ---- for the store itself ---- */

/* False: there is none. */
bool batch_read_id(struct str bytes, struct id *ret);
/* In an open transaction: whether the claim holds; on PostgreSQL its row is locked. */
bool batch_is_ours(struct writer *w, const struct batch *b, bool *ret, struct err *err);
