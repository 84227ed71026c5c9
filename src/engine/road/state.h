/* state.h - the internals of the road, for its own rooms (road, walk, run): what its threads share,
 * and the queues between them. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "engine/flight/flight.h"
#include "engine/road/outbox.h"
#include "engine/road/road.h"
#include "engine/road/suspects.h"
#include "engine/road/walking.h"

enum { ROAD_WORKERS_MOST = 16, ROAD_PLANS_MOST = 8 };

struct caging;
struct calling;
struct crew;
struct keeping;
struct lines;
struct mishaps;
struct ordering;
struct limiter;
struct tokens;
struct transfer_hub;
struct turns;
struct ways;

/* A queue of flights between threads. */
struct flights {
    struct flight *first, **end;
    _Atomic size_t count; /* written with the mutex, read without it, as an estimate */
};

/* Endpoints that recover after a start or a new plan, a few at a time (sender.h). */
struct recovery {
    struct plan *plan;    /* whose endpoints are left to recover; a reference, NULL: none */
    size_t next, running; /* next: position of the next endpoint */
};

struct road {
    struct road_options options;
    struct store *store;
    struct flight_stock *stock;
    struct dispatch *dispatch;
    struct limiter *limiter;
    struct transfer_hub *hub;
    struct tokens *tokens;
    struct outbox hub_outbox; /* of the transfer thread, flushed after each of its rounds */
    struct pool *pool;
    struct crew *senders;
    struct lines *lines;
    struct mishaps *mishaps;
    struct ways *ways;
    struct ordering *order;
    struct keeping *keeping;
    struct caging *caging;
    struct turns *turns;
    struct calling *calling;
    struct suspects suspects;
    struct walking_place walking[RECORDER_SLOTS]; /* by the slot of the task's code */
    struct walking_list waiting;                  /* walks that wait */

    pthread_rwlock_t plan_lock;
    struct plan *plan;                   /* in force */
    struct plan *older[ROAD_PLANS_MOST]; /* a ring: versions of documents in flight */
    size_t older_next;

    void (*caller_settled)(void *arg, int64_t num); /* road_watch_callers(); NULL: nobody waits */
    void *caller_arg;
    void (*_Atomic jobs_due)(void *arg, int64_t queue); /* road_tell_jobs(); NULL: nobody asks */
    void *jobs_arg;

    _Atomic int64_t flights, bytes;
    bool running;
    bool hub_closed;             /* the transfer thread accepts nothing more; under `mutex` */
    bool senders_closed;         /* nor do the senders; under `mutex` */
    _Atomic bool stopping, idle; /* idle: the plan in force has no routes */
    _Atomic bool draining;       /* nothing more is claimed on this node */

    pthread_mutex_t mutex; /* guards the queue to the workers, and the recovery */
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
    int64_t next_due_us;         /* when the next task is due; 0: none known */
    _Atomic bool backlog;        /* the intake's queue may have tasks */
    _Atomic bool redrive_asked;  /* a document died under a version that has been replaced */
    _Atomic size_t unknown_left; /* so many of the next tasks may have been sent before a crash */
    struct allotted *allotted;   /* the claimer's: room for all; NULL: nothing is shared */
    int64_t slow_looked_us;      /* the claimer's (slow.h); monotonic */
    _Atomic int64_t notes_open;  /* notes that are not written yet */
    _Atomic bool notes_lost;     /* flights are to be noted once more */
    struct recovery recovery;
    struct flights unsettled; /* to be settled, loaded or given back; under claimer_mutex */
};

/* Puts a plan in force.  Returns the one before, a reference, or NULL. */
struct plan *road_set_plan(struct road *r, struct plan *plan);

void road_queue(struct road *r, struct flight *first); /* a chain, to the workers */
/* For a worker: waits for flights and takes up to `most`; 0: the workers end. */
size_t road_take(struct road *r, struct flight **ret, size_t most);

void road_note_due(struct road *r, int64_t due_us); /* a task is due then */
void road_unsettled(struct flight *f);              /* the settlement failed: repeat it later */
/* Nothing of the settlement was done, because a record changed (settling.c): at once. */
void road_settle_again(struct flight *f);
void road_load_later(struct flight *f); /* the claimer loads its claimed delivery */
void road_gone(struct flight *f);       /* settled or given back: frees the flight */
