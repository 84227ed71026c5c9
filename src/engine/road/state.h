/* state.h - the road as its own files see it: what the threads share, and how they reach each
 * other.  Everything here needs nothing of the files above (road.h lists them). */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "engine/flight/flight.h"
#include "engine/road/life.h"
#include "engine/road/outbox.h"
#include "engine/road/road.h"
#include "engine/road/suspects.h"

enum { ROAD_WORKERS_MOST = 16, ROAD_PLANS_MOST = 8 };

struct keeping;
struct mishaps;
struct ordering;
struct limiter;
struct transfer_hub;
struct ways;

/* Flights in a row, handed from thread to thread. */
struct flights {
    struct flight *first, **end;
    size_t count;
};

struct road {
    struct road_options options;
    struct store *store;
    struct flight_stock *stock;
    struct dispatch *dispatch;
    struct limiter *limiter;
    struct transfer_hub *hub;
    struct outbox hub_outbox; /* of its thread: from one round to the next */
    struct pool *pool;
    struct mishaps *mishaps;
    struct ways *ways;
    struct ordering *order;
    struct keeping *keeping;
    struct suspects suspects;

    pthread_rwlock_t plan_lock;
    struct plan *plan;                   /* in force */
    struct plan *older[ROAD_PLANS_MOST]; /* of documents that were accepted under them */
    size_t older_next;

    _Atomic int64_t flights, bytes;
    bool running;
    bool hub_closed;             /* the node stops: what was not sent stays in the store; `mutex` */
    _Atomic bool stopping, idle; /* idle: nothing is routed */

    pthread_mutex_t mutex; /* of the queue to the workers */
    pthread_cond_t filled;
    struct flights queue;
    size_t sleeping;
    bool workers_end;
    pthread_t workers[ROAD_WORKERS_MOST];
    size_t worker_count;

    pthread_t claimer;
    pthread_mutex_t claimer_mutex;
    pthread_cond_t claimer_wake;
    bool claimer_asked, claimer_end, claim_failing;
    int64_t next_due_us;         /* when the next delivery is due; 0: nothing waits for its time */
    _Atomic bool backlog;        /* the intake's queue has tasks */
    _Atomic bool redrive_asked;  /* a document died of an older configuration */
    _Atomic size_t unknown_left; /* how many may have been on their way before a crash */
    struct flights unsettled;    /* could not be settled: to be tried again; feed_mutex */
};

/* The plan in force from now on; the one before, a reference, or NULL. */
struct plan *road_set_plan(struct road *r, struct plan *plan);

void road_queue(struct road *r, struct flight *first); /* a chain, to the workers */
/* For a worker: waits for some, takes up to `most`; 0: the workers end. */
size_t road_take(struct road *r, struct flight **ret, size_t most);

void road_note_due(struct road *r, int64_t due_us); /* something waits until then */
void road_unsettled(struct flight *f);              /* its settlement failed: again, later */
void road_load_later(struct flight *f);             /* a claim of a delivery: to be loaded */
void road_gone(struct flight *f);                   /* settled or given up: frees it */
