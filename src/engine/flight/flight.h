/* flight.h - one document in memory on its road, from its claim to its settlement.
 *
 * A flight is made of a document that was just accepted (claimed at birth) or of a task
 * that the claimer claimed.  A worker walks it through extract, route and steps, which
 * leaves deliveries, its parts; the last part that gets an outcome sends the flight to the
 * writer, and after the commit it is gone.
 *
 *     born ─┐                                   ┌─ part ─┐
 *           ├─► worker: walk ──► dispatch ──────┼─ part ─┼──► settle ──► gone
 *     loaded┘       └── no parts ───────────────┴────────┴────────┘
 *
 * A flight of a stored delivery (TASK_DELIVER) has one part and is not walked.
 *
 * Ownership: everything of a flight hangs on its arena and buffers.  At any moment one
 * thread holds it, or its parts are out and the counter `open` says how many.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "core/facts.h"
#include "core/timeline.h"
#include "core/verdict.h"
#include "engine/plan/plan.h"
#include "engine/threads/pool.h"
#include "engine/transfer/transfer.h"
#include "store/road/delivery.h"
#include "store/road/settle.h"
#include "store/road/settle_batch.h"

struct document;
struct flight;
struct flight_stock;
struct send_queue;
struct payload_reader;
struct road;
struct store;
struct ways;

enum { FLIGHT_VARIANTS_MOST = 8, FLIGHT_TRACE = 56 };

/* The bytes after some steps; the first is what was received. */
struct variant {
    struct settle_bytes settle;   /* of all but the first: stored with the outcome */
    struct buf buf;               /* in memory; empty when they are only in the store */
    struct payload_source source; /* in the store, when they are too large for memory */
    struct str step;              /* what made them */
    struct timeline_line line;
};

/* One delivery, in memory. */
struct leg {
    struct leg *next;           /* in a queue of its lane */
    struct leg *before, *after; /* of its system, while it has a slot */
    struct flight *flight;
    struct send_queue *queue;
    struct plan
        *plan; /* the newest one, of this attempt; a reference when it is not the flight's */
    const struct plan_endpoint *endpoint; /* in that plan */
    enum doubt_policy in_doubt;           /* policy of its system */
    struct variant *variant;
    struct settle_delivery row;
    bool probe;  /* it tries out an open breaker */
    bool asking; /* nothing is sent: its receiver is asked whether it has it (doubt.c) */
    bool direct; /* it began at once, on the thread that has the flight: its arena may be used */
    struct arena own;          /* of one that began later, on any thread */
    int64_t began_us, took_us; /* monotonic, to wait or to be sent; took_us -1: nothing was sent */
    unsigned held_why;         /* when it was parked */

    struct sending sending;
    struct http_out_request *request;
    struct transfer transfer;
    struct pool_job job;
    struct payload_reader *reader; /* of bytes that are only in the store */
    struct err read_err;           /* why they could not be read */
    struct verdict verdict;
};

struct flight {
    struct settle_op settle;
    struct flight *next;
    struct flight_stock *stock; /* where it came from */
    struct road *road;
    struct plan *plan; /* the version it runs with; a reference */
    struct arena arena;

    struct payload_source source; /* id, num, size, sha256, place */
    char id[40];                  /* as text */
    char traceparent[FLIGHT_TRACE];
    int64_t gateway, received_us, config, again, seq;
    struct str name, ctype, head;
    struct facts facts;
    bool has_facts; /* found before: it goes on at the router */
    const struct plan_route *route;
    const struct plan_batch *batch; /* it came out of this one, or it is what it became */
    struct batch_join join;         /* SETTLE_JOIN */
    const struct plan_batch *into;  /* the batch that it joins */
    struct variant *joins;          /* the bytes with which it does */
    int64_t prio;                   /* of its deliveries; 0: as usual */
    int64_t expires_us;             /* of its deliveries; 0: never */

    struct variant variants[FLIGHT_VARIANTS_MOST];
    size_t variant_count;

    struct leg **legs;
    size_t leg_count, part_room;
    _Atomic int open; /* parts without an outcome */

    struct buf timeline, stages; /* stages: for the log line */
    int64_t began_us;            /* monotonic */
    struct pool_job job;         /* of a large one */
    int64_t counted;             /* bytes of the road's budget */
    bool was_born;               /* claimed at birth */
    bool recovered;              /* it may have been on its way before a crash */
    bool dry;                    /* somebody only asks (dry.h) */
    int tries;                   /* to settle */
    bool unfilled;               /* its settlement could not even be made */
    bool unknown;        /* a commit of it was begun, and nobody knows whether it was done */
    bool give_back;      /* only its claim is to be given back */
    bool delayed;        /* settle.end is SETTLE_AGAIN, and nothing is wrong */
    bool unloaded;       /* only its claim is known: it is loaded by the claimer */
    enum dead_code dead; /* when settle.end is SETTLE_DEAD */
    char message[VERDICT_MESSAGE_MOST];
};

/* Flights that are ready for use, and what all of them need. */
struct flight_stock {
    struct store *store;
    struct ways *ways;
    struct road *road;     /* on which they go */
    pthread_mutex_t large; /* held by whoever has a large document in memory: one at a time */

    pthread_mutex_t mutex; /* for what follows */
    struct flight *idle;
    size_t idle_count;
};

struct flight_stock *flight_stock_new(struct store *store, struct ways *ways, struct road *road);
void flight_stock_free(struct flight_stock *s); /* NULL is fine */

/* An empty one; whoever puts it on the road has taken a place for it. */
struct flight *flight_new(struct flight_stock *s);
void flight_free(struct flight *f);

/* The traceparent of what it sends, from its id. */
void flight_trace(struct flight *f);

/* What the row of its document says of it ... */
void flight_fill(struct flight *f, const struct document *d);
/* ... what was found in it ... */
void flight_fill_facts(struct flight *f, const struct document *d);
/* ... or with what it starts at the router. */
void flight_begin_again(struct flight *f, const struct document *d);

/* A line for the timeline, and a word for the log line. */
void flight_note(struct flight *f, enum timeline_stage stage, enum timeline_outcome outcome,
                 struct str what, int64_t took_us, const char *message);
void flight_note_leg(struct flight *f, const struct leg *p, enum timeline_outcome outcome,
                     int64_t took_us, const char *message);

struct leg *flight_add_leg(struct flight *f, const struct plan_endpoint *e,
                           const struct plan_system *system);
/* A delivery that waited in the store. */
struct leg *flight_add_stored(struct flight *f, const struct delivery *d);
