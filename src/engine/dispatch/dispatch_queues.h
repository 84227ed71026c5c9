/* dispatch_queues.h - who is who for the dispatcher: systems, endpoints, lanes, and what is told of
 * them.  For dispatch.c, which decides what may begin now; others see dispatch.h.
 *
 * Everything with the lock held, unless it says otherwise.
 */
#pragma once

#include <pthread.h>

#include "engine/dispatch/dispatch.h"

struct system_live {
    struct system_live *next;
    int64_t word, limit, active, waiting, delivered;
    enum doubt_policy in_doubt;
    struct send_queue *queues, *turn; /* by next_of_system; turn: who was served last */
    struct leg *sending;              /* those that have slots */
    struct paced *limiter;            /* its tokens; NULL: as fast as it can */
    /* What the governor said, and until when and under which generation that is good. */
    unsigned why;
    int64_t ask_us; /* monotonic */
    uint64_t generation;
};

struct endpoint_live {
    struct endpoint_live *next;
    int64_t word;
    const struct plan_endpoint *plan; /* of the newest plan; NULL: not configured any more */
    struct breaker breaker;
    int64_t pause_until_us;
    int64_t active, waiting;
};

struct send_queue {
    struct send_queue *next, *next_of_system;
    struct system_live *system;
    struct endpoint_live *endpoint;
    int64_t queue;            /* 0: nothing of it was ever stored */
    struct leg *first, **end; /* by priority, then as they came */
    int64_t last_prio;        /* of the last of them */
    size_t waiting;
    int64_t took_us;  /* lately, averaged */
    int64_t moved_us; /* when the queue in memory last moved; monotonic */
    bool fast, stored;
};

struct dispatch {
    struct dispatch_calls calls;
    struct govern *govern;
    pthread_mutex_t mutex;
    struct plan *plan;
    struct system_live *systems;
    struct endpoint_live *endpoints;
    struct send_queue *queues, *turn;
    struct send_queue **slots; /* lanes by (system, endpoint) */
    size_t slot_count, queue_count;
    bool resting; /* the node stops */
    _Atomic size_t waiting_fast;
};

/* Made when they are new, and kept for ever: they are what the configuration names. */
struct system_live *dispatch_system(struct dispatch *d, int64_t word);
struct endpoint_live *dispatch_endpoint(struct dispatch *d, int64_t word);
struct send_queue *dispatch_queue_of(struct dispatch *d, int64_t system, int64_t endpoint);
/* Its receiver answers quickly: what waits in memory counts as our own work. */
void dispatch_set_fast(struct dispatch *d, struct send_queue *l, bool fast);
