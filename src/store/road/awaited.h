/* awaited.h - answers that are awaited: a stored timer for each.
 *
 * A delivery that is done may have to be answered later (`within` of `answer`): the commit of its
 * outcome writes a row with the time until when.  The row goes in the commit that makes a document
 * its answer (settle.h), or with the document when it is purged.  What is overdue raises an alert,
 * for AWAITED_SHOWN_US: by then somebody has seen it, and an answer that never comes must not hide
 * the next one for as long as documents are kept.
 *
 * A document that arrives and answers another one is linked to it in the commit that settles its
 * run.  Whether it may answer is decided before: only what was sent to its sender.
 *
 * Cost: nothing for settlements without either; a look reads the overdue rows of one endpoint, up
 * to AWAITED_COUNT_MOST, however many are not due and however many were answered.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct settle_op;
struct store;
struct writer;

enum { AWAITED_COUNT_MOST = 1000 };
#define AWAITED_SHOWN_US (INT64_C(7) * 86400 * 1000000)

/* A delivery whose answer is awaited. */
struct awaited {
    struct str delivery;      /* its id */
    int64_t endpoint, system; /* name ids */
    int64_t due_us;           /* on the store's clock */
};

/* The document that one answers. */
struct answered {
    int64_t doc;         /* 0: none */
    int64_t system;      /* the name id of who answers */
    struct str delivery; /* which one of it; empty: any to that system */
};

/* For the settlements whose claims held: writes their waits and links, and ends what is answered.
 * In an open transaction. */
bool awaited_settled(struct writer *w, struct settle_op **ops, size_t count, struct err *err);

/* Whether an answer of the system is awaited: `q` as it would be settled. */
bool awaited_has(struct store *s, const struct answered *q, bool *ret, struct err *err);

struct awaited_late {
    int64_t count;       /* up to AWAITED_COUNT_MOST */
    int64_t oldest_us;   /* when the first one was due */
    struct str delivery; /* its id, on the arena */
};

/* What is overdue at an endpoint, and has not been for longer than AWAITED_SHOWN_US. */
bool awaited_overdue(struct store *s, int64_t endpoint, int64_t now_us, struct arena *a,
                     struct awaited_late *ret, struct err *err);

/* Documents behind `above` that have waits and are not live, by number. */
bool awaited_ended(struct store *s, int64_t above, int64_t *ret, size_t most, size_t *ret_count,
                   struct err *err);
