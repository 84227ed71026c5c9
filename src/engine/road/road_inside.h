/* road_inside.h - what the files of the road share and nobody else sees. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/metrics.h"
#include "engine/dispatch/dispatch.h"
#include "engine/flight/bytes.h"
#include "engine/flight/flight.h"
#include "engine/road/road.h"
#include "engine/tally/mishaps.h"
#include "engine/tally/ways.h"
#include "store/road/recorder.h"

enum {
    ROAD_WORKERS_MOST = 16,
    ROAD_LEASE_S = 3600,           /* task.h: until_us */
    ROAD_FLIGHT_BYTES = 256 << 10, /* an arena of a flight */
    ROAD_PLANS_MOST = 8
};

struct document;

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
    struct pace *pace;
    struct transfer_hub *hub;
    struct pool *pool;
    struct mishaps *mishaps;
    struct ways *ways;
    struct ordering *order;
    struct keeping *keeping;

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

    /* Tasks whose code may have brought us down: until they are over nothing runs beside
     * another, so that the one that does it again is known. */
    pthread_mutex_t alone;
    _Atomic size_t suspects_left;
    _Atomic int64_t suspects[RECORDER_SLOTS]; /* ids; 0: over */
    size_t suspect_count;
    int64_t careful_until_us;
    _Atomic uint64_t recorder_slots; /* taken, as bits */

    pthread_t feeder;
    pthread_mutex_t feed_mutex;
    pthread_cond_t feed_wake;
    bool feed_asked, feed_end, claim_failing;
    int64_t next_due_us;         /* when the next delivery is due; 0: nothing waits for its time */
    _Atomic bool backlog;        /* the intake's queue has tasks */
    _Atomic bool redrive_asked;  /* a document died of an older configuration */
    _Atomic size_t unknown_left; /* how many may have been on their way before a crash */
    struct flights unsettled;    /* could not be settled: to be tried again; feed_mutex */
};

/* ---- road.c ---- */
void road_queue(struct road *r, struct flight *first); /* a chain, to the workers */
void road_gone(struct flight *f);                      /* settled or given up: frees it */
/* Around the code of a task: the recorder knows of it, and while there are suspects it runs
 * alone.  Waits its turn then, so no other lock may be held. */
struct task_code {
    int slot;
    bool alone;
};
struct task_code road_enter(struct road *r, const struct task *t);
void road_leave(struct road *r, struct task_code c);

/* ---- walk.c: on a thread that may compute ---- */
void walk(struct flight *f);
/* Extract and route alone, for those who only ask. */
bool walk_find_facts(struct flight *f);
const struct plan_route *walk_find_route(struct flight *f);
/* All of it, steps too, and nothing is sent or settled: its parts say what would be sent.
 * False: it is dead, or could not be read (settle.end). */
bool walk_only(struct flight *f);

/* ---- join.c: a document becomes a member of a batch ---- */
bool join_batch(struct flight *f, const struct plan_step *s, struct variant *bytes);
/* What the commit needs; may block when its bytes are large. */
bool join_fill(struct flight *f, struct err *err);

/* ---- send.c ---- */
void send_parts(struct flight *f);   /* offer all parts; settles when none is left open */
void send_park(struct part *first);  /* a chain: they wait in the store */
void send_chain(struct part *first); /* a chain: they have their slots */
void send_flush(struct road *r);     /* hand over what this thread has gathered */
void send_fill(struct part *p);      /* p->sending */
void send_clear(struct part *p);     /* an attempt, or a question, starts now */
void send_gather(struct transfer *t);
/* Its slot is taken.  False: it is over already, p->verdict says how: send_ended(). */
bool send_begin(struct part *p);
void send_ended(struct part *p);
void send_back(
    struct part *p); /* nothing was sent: the slot is given back, it waits in the store */

/* ---- doubt.c ---- */
/* As send_begin(), for a part whose system minds a second send. */
bool doubt_start(struct part *p);
/* A claimed delivery was sent before, and nobody knows what came of it; false: its receiver
 * must be asked, or it may be sent again. */
bool doubt_settle(struct flight *f, struct part *p);
void doubt_flush(struct road *r);

/* ---- order.c: deliveries in order ---- */
struct ordering;
struct ordering *order_start(struct road *r);
void order_done(struct ordering *o);
void order_use(struct road *r, const struct plan *plan); /* from now on */
/* New parts of ordered systems get their lanes; before they are offered. */
void order_mark(struct flight *f);
/* A stored delivery is settled: does it let the others of its lane pass? */
bool order_steps_aside(const struct part *p);
/* The feeder's share: lanes that were missed, or wait for what others route. */
void order_work(struct road *r, int64_t *looked_us);
int64_t order_wait_us(struct road *r); /* how long the feeder may sleep */

/* ---- order_keep.c: what waits in a lane, in memory ---- */
struct keeping;
struct keeping *keep_new(struct road *r);
void keep_free(struct keeping *k);
/* Is there room for a flight whose run is settled now? */
bool keep_wants(struct flight *f);
/* Its run was settled.  True: it is kept, or goes on, and is not the caller's any more.  On the
 * writer's thread. */
bool keep_put(struct flight *f);
bool keep_has(struct keeping *k, int64_t delivery);
/* It may go, under this claim; false: it is not kept.  On any thread. */
bool keep_go(struct road *r, const struct task *t);
void keep_note_moved(struct keeping *k, int64_t lane);
/* Those that have waited for long are left to the store. */
void keep_sweep(struct road *r, bool all);
size_t keep_count(const struct keeping *k);

/* ---- outcome.c ---- */
void outcome_of_part(struct part *p, bool breaker_open);
void outcome_parked(struct part *p, unsigned why);
/* It was sent before a crash: by the policy of its system, with a line in the timeline. */
void outcome_unknown(struct part *p);
void outcome_settle(struct flight *f); /* all parts have their outcome, or there are none */
void outcome_dead(struct flight *f, enum trail_stage stage, struct str what, enum dead_code code,
                  int64_t took_us, const char *message);
void outcome_again(struct flight *f, const struct err *err); /* not now */
void outcome_delayed(struct flight *f, int64_t due_us);      /* the same, as it should be */
void outcome_flush(struct road *r);
void outcome_metrics_register(void);
void outcome_metrics_forget(void);

/* ---- feed.c ---- */
void *feed_main(void *arg);
void feed_wake(struct road *r);
void feed_note_due(struct road *r, int64_t due_us); /* something waits until then */
void feed_unsettled(struct flight *f);              /* its settlement failed: again, later */
void feed_load(struct flight *f);                   /* a claim of a delivery: to be loaded */

/* ---- bytes.c ---- */
void outcome_read_failed(struct flight *f, const struct err *err);

/* ---- redrive.c ---- */
void redrive_start(struct road *r, struct plan *plan);
void redrive_newest(struct road *r);
/* It died of a configuration that was replaced meanwhile: the newest may have an answer. */
void redrive_note_dead(struct flight *f);
