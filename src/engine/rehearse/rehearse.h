/* rehearse.h - what a proposed configuration would do with documents that came in the past.
 *
 * Each document is walked again, extract, route and steps: once as it was, with the version
 * that it ran with (or with the one in force), and once with the proposed plan.  Who asks is
 * told of those that come out differently.  Nothing is sent, nothing is stored, and a walk
 * has no effect but its result; when a document is delivered, or expires, is not rehearsed.
 *
 * A document whose sender, receiver and type were given by a person starts at the router with
 * them, both times.  One that brought the program down is not run again.
 *
 * A document that would join a batch goes to that batch; a member of `join: each` goes on through
 * its steps.  What a batch became goes through the steps of its batch; it is not made again, and
 * left when it would be made in another way.
 *
 * Bounded: a portion of so many documents, newest first, or of so much time; the next goes
 * on where it ended.  One document is in memory at a time, of the large ones one on the node.
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

/* How a document comes out differently; the words are `rehearse_kinds`. */
enum rehearse_kind {
    REHEARSE_EXTRACTED, /* sender, receiver, type or attributes are others */
    REHEARSE_ROUTED,    /* it takes another route */
    REHEARSE_DELIVERED, /* to other endpoints, systems or batches, or elsewhere by the same, or not
                           at all */
    REHEARSE_TRANSFORMED, /* other bytes go to the same endpoint or batch */
    REHEARSE_REJECTED,    /* it is refused or dies, or dies of something else */
    REHEARSE_ACCEPTED,    /* it died, and would go on */
    REHEARSE_KINDS
};

extern const char *const rehearse_kinds[REHEARSE_KINDS];

struct rehearse_delivery {
    struct str endpoint; /* or `batch NAME`, with its part, for the document joins it */
    struct str system;   /* of a batch: the document's receiver, may be empty */
    const struct config_endpoint *as; /* how the endpoint is defined; NULL: it is a batch */
    bool received;                    /* the bytes as they came */
    struct str bytes;                 /* ptr NULL: large, and both ways send them as they came */
    int64_t size;
};

/* One walk.  Of one that dies there are no deliveries. */
struct rehearse_way {
    int64_t config; /* 0: the proposed one */
    struct facts facts;
    struct str route;         /* ptr NULL: none */
    struct str code, message; /* code ptr NULL: it goes on, and a message is why it ends */
    struct rehearse_delivery *deliveries;
    size_t delivery_count;
};

/* A delivery of both ways that is not the same. */
struct rehearse_pair {
    const struct rehearse_delivery *was, *would;
    bool bytes;     /* they differ */
    bool redefined; /* the endpoint sends them elsewhere, or in another form: its own options
                       differ, other than those of all endpoints (retry, timeout ...) */
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
    bool against_live; /* compare with the version in force, not with what it ran with */
    struct document_filter filter;
    int64_t below;    /* the `next` of the portion before; 0: from the newest */
    size_t most;      /* documents to look at */
    int64_t until_us; /* monotonic; at least one is looked at */

    /* Everything is lent for the call.  False: no room for more; this one counts. */
    bool (*found)(void *arg, const struct rehearse_difference *d);
    /* One that cannot be rehearsed, and why. */
    void (*left)(void *arg, const struct document *d, const char *why);
    void *arg;
};

struct rehearse_result {
    int64_t looked; /* those that were left among them */
    int64_t next;   /* 0: there are no more */
};

/* False: the store failed. */
bool rehearse(struct road *r, const struct rehearse_order *order, struct rehearse_result *ret,
              struct err *err);
