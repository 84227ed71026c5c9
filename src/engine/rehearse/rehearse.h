/* rehearse.h - what a proposed configuration would do with past documents.
 *
 * Each document is extracted, routed and processed twice: with the version that it ran with (or
 * with the one in force), and with the proposed plan.  The caller gets those that differ.  Nothing
 * is sent or stored, and a walk has no effect but its result.  Times of delivery and expiry are not
 * rehearsed.
 *
 * A document whose sender, receiver and type were given by a person starts at the router with them,
 * both times.  A document that crashed the process (poison) is not run again.
 *
 * A document that would join a batch is compared as going to that batch; a member of `join: each`
 * continues through the steps of the batch.  The document of a batch goes through the steps of its
 * batch.  It is not built again, and is skipped if the proposed plan would build it differently.
 *
 * Copies for subscribers are compared as deliveries to the endpoint DRY_COPY; where they go from
 * there is a matter of their own routes.
 *
 * Bounded: one call handles a limited number of documents, newest first, or a limited time; the
 * next call continues.  One document is in memory at a time, and one large document per node.
 *
 * Threads: any that may block.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/facts.h"
#include "store/search/document.h"

struct config_endpoint;
struct plan;
struct road;

/* How a document differs; their names are `rehearse_kinds`. */
enum rehearse_kind {
    REHEARSE_EXTRACTED, /* sender, receiver, type or attributes differ */
    REHEARSE_ROUTED,    /* it takes another route */
    REHEARSE_DELIVERED, /* other endpoints, systems or batches, another definition of the endpoint,
                           or no delivery */
    REHEARSE_TRANSFORMED, /* other bytes go to the same endpoint or batch */
    REHEARSE_REJECTED,    /* it is refused or becomes a dead letter, or with another code */
    REHEARSE_ACCEPTED,    /* it was a dead letter, and would not be */
    REHEARSE_KINDS
};

extern const char *const rehearse_kinds[REHEARSE_KINDS];

struct rehearse_delivery {
    struct str endpoint; /* or `batch NAME`, with its part, for a document that joins one, or
                            DRY_COPY */
    struct str system;   /* for a batch: the document's receiver, may be empty */
    const struct config_endpoint *as; /* the endpoint's definition; NULL: a batch or a copy */
    bool received;                    /* the received bytes, unchanged */
    struct str bytes;                 /* ptr NULL: large, and both ways send the received bytes */
    int64_t size;
};

/* One walk.  A dead letter has no deliveries. */
struct rehearse_way {
    int64_t config; /* 0: the proposed one */
    struct facts facts;
    struct str route;         /* ptr NULL: none */
    struct str code, message; /* code ptr NULL: not dead; message: why it ends */
    bool reads_records;       /* its bytes and facts may have records in them */
    struct rehearse_delivery *deliveries;
    size_t delivery_count;
};

/* A delivery in both ways that differs. */
struct rehearse_pair {
    const struct rehearse_delivery *was, *would;
    bool bytes;     /* the bytes differ */
    bool redefined; /* the definitions differ, other than in options that all endpoints have (retry,
                       timeout ...) */
};

struct rehearse_difference {
    const struct document *document;
    unsigned kinds; /* 1 << enum rehearse_kind */
    struct rehearse_way was, would;
    const struct rehearse_pair *pairs;
    size_t pair_count;
};

struct rehearse_order {
    struct plan *proposed;
    bool against_live; /* compare with the version in force, not with the one it ran with */
    struct document_filter filter;
    int64_t below;    /* the `next` of the call before; 0: from the newest */
    size_t most;      /* documents at most */
    int64_t until_us; /* monotonic; at least one document is handled */

    /* A difference, lent for the call.  False: the caller has no room for more; this one counts. */
    bool (*found)(void *arg, const struct rehearse_difference *d);
    /* A document that cannot be rehearsed, and why. */
    void (*left)(void *arg, const struct document *d, const char *why);
    void *arg;
};

struct rehearse_result {
    int64_t looked; /* including those passed to left() */
    int64_t next;   /* 0: there are no more */
};

/* False: the store failed. */
bool rehearse(struct road *r, const struct rehearse_order *order, struct rehearse_result *ret,
              struct err *err);
