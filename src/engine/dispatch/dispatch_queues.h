/* dispatch_queues.h - the tables of the dispatcher: systems, endpoints, and the queues between
 * them. For dispatch.c, which decides what may begin now; everybody else uses dispatch.h.
 *
 * The functions below need the dispatcher's lock.
 */
#pragma once

#include <pthread.h>

#include "engine/dispatch/dispatch.h"

struct system_live {
    struct system_live *next;
    int64_t word, active, waiting, delivered;
    int64_t blocking; /* of the active legs those that occupy a sender */
    int64_t most;     /* its concurrency, on all nodes */
    int64_t limit;    /* slots that this node may fill: allotted, and not more than `most` */
    struct allotment *allotment; /* NULL: limit is most */
    enum doubt_policy in_doubt;
    bool gone;                        /* not in the newest plan */
    bool woken;                       /* the claimer was, for more legs; it has not come yet */
    struct send_queue *queues, *turn; /* by next_of_system; turn: the queue served last */
    struct leg *sending;              /* the legs that have slots */
    struct paced *limiter;            /* its tokens; NULL: no rate */
    /* The cached answer of the governor, and until which time and generation it is valid. */
    unsigned why;
    int64_t ask_us; /* monotonic */
    uint64_t generation;
};

/* What is reported of an endpoint (report.c). */
struct report {
    int64_t changes, told; /* how often the text has changed, and which change the store has */
    bool writing, failed;  /* a job is under way; the last one failed */
    char text[REPORT_TEXT];
};

struct endpoint_live {
    struct endpoint_live *next;
    int64_t word;
    const struct plan_endpoint *plan; /* of the newest plan; NULL: not configured any more */
    bool elsewhere;                   /* only nodes of another area run it */
    struct breaker_rule rule;         /* of the newest plan that had it */
    struct breaker breaker;
    struct refusing refusing;
    char refusing_why[REPORT_TEXT];
    char rejecting_why[REPORT_TEXT]; /* while its breaker is open because of rejections */
    struct report report;
    char strange[REPORT_TEXT]; /* the breaker is open because another endpoint is there; empty: it
                                  is not */
    int64_t pause_until_us;
    int64_t active, waiting;
    int64_t lost; /* senders that hang in its calls and were given up */
};

struct send_queue {
    struct send_queue *next, *next_of_system;
    struct system_live *system;
    struct endpoint_live *endpoint;
    int64_t queue;                /* its id in the store; 0: not known yet */
    struct leg *first, **end;     /* the waiting legs, by priority, then by arrival */
    int64_t last_prio;            /* of the last leg */
    size_t waiting, waiting_made; /* made: of these, the legs that were not loaded */
    int64_t took_us;              /* moving average of the time that a send takes */
    int64_t moved_us;             /* when a leg last ended, or joined the empty memory; monotonic */
    bool fast, stored;            /* the receiver answers quickly; the store may have tasks */
};

struct dispatch {
    struct dispatch_calls calls;
    struct govern *govern;
    pthread_mutex_t mutex;
    struct plan *plan;
    struct system_live *systems;
    struct endpoint_live *endpoints;
    struct send_queue *queues, *turn;
    struct send_queue **slots; /* hash table of the queues, by system and endpoint */
    size_t slot_count, queue_count;
    bool resting;             /* the node stops */
    size_t waiting_fast;      /* legs in memory for fast receivers ... */
    _Atomic size_t made_fast; /* ... and of these, those that were not loaded */
};

/* Each is made on first use and kept for ever; their number is bounded by the names that
 * configurations have used. */
struct system_live *dispatch_system(struct dispatch *d, int64_t word);
struct endpoint_live *dispatch_endpoint(struct dispatch *d, int64_t word);
/* Sends to it block a thread. */
bool dispatch_blocks(const struct endpoint_live *e);
struct send_queue *dispatch_queue_of(struct dispatch *d, int64_t system, int64_t endpoint);
/* Whether a leg of this queue may begin here when it has a slot and a token: nothing holds it, and
 * its breaker is closed or lets a probe through. */
bool dispatch_may_send(struct dispatch *d, const struct send_queue *l, int64_t now_us);
/* What is allotted to this node (allot.c).  Made on first use; NULL if there is nothing to share.
 */
struct allotment *allotment_new(struct dispatch *d, struct system_live *s);
/* The legs of this system need more slots than this node has. */
void allotment_want(struct system_live *s);
/* Slots were asked for, and the answer is not there yet. */
bool allotment_is_due(const struct system_live *s);
/* Sets a text for a report, cut at a character boundary. */
void report_set(char to[static REPORT_TEXT], const char *before, const char *message);
/* Its breaker is open because of rejections, the last of them with this message. */
void report_rejecting(struct endpoint_live *e, struct str message);
/* Makes the report of the endpoint from its state; true: it has changed. */
bool report_note(struct endpoint_live *e);
/* Has the report written, if the store has another one and no job is under way. */
void report_tell(const struct dispatch *d, struct endpoint_live *e);
/* Keeps waiting_fast and made_fast right.  A queue of a limited system is never fast: its legs wait
 * for tokens, not for this node. */
void dispatch_set_fast(struct dispatch *d, struct send_queue *l, bool fast);
