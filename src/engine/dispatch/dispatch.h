/* dispatch.h - which delivery may begin now: lanes, systems, endpoints.
 *
 * A lane is a pair of system and endpoint.  A system begins at most `concurrency`
 * deliveries at once, over all its lanes in turn, each with a token where it has a rate
 * (limiter.h), and none while the governor has a reason (govern.h); an endpoint has a breaker and
 * may ask for a pause.  A part that may not begin waits in the short memory of its lane, or is sent
 * back to be parked in the store: so a receiver that is dead or slow holds a bounded number of
 * flights, and costs the others nothing.
 *
 * The newest plan decides what an endpoint and a system may do.  Parts of a system that minds a
 * second send begin only from the store, where an intent can be noted (doubt.c).
 *
 * Threads: any; one short lock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "engine/flight/flight.h"

struct dispatch;
struct govern;
struct limiter;

struct dispatch_calls {
    struct limiter *limiter; /* lent; NULL: rates are not kept */
    /* The breaker or the pause of an endpoint changed; on the thread that saw it. */
    void (*changed)(void *arg, int64_t endpoint, const struct breaker *breaker,
                    int64_t pause_until_us, const char *why);
    /* A lane with parts in the store may begin some; may be called often. */
    void (*hungry)(void *arg);
    void *arg;
};

/* The governor is lent. */
struct dispatch *dispatch_new(struct govern *govern, const struct dispatch_calls *calls);
void dispatch_free(struct dispatch *d);

/* From now on; takes a reference. */
void dispatch_use(struct dispatch *d, struct plan *plan);

enum dispatch_answer {
    DISPATCH_BEGIN, /* its slot is taken: begin it */
    DISPATCH_WAIT,  /* kept; it comes back from dispatch_ended() */
    DISPATCH_PARK   /* not now: to the store */
};

/* Sets part->lane, plan, endpoint and in_doubt.  *ret_why: the reasons of a park (held_reason), 0
 * when it is only a matter of turns. */
enum dispatch_answer dispatch_offer(struct dispatch *d, struct leg *p, unsigned *ret_why);

struct dispatch_next {
    struct leg *begin; /* chains by next: these have their slots now ... */
    struct leg *park;  /* ... and these must go to the store */
};

/* The part is over, whatever came of it.  True: the breaker of its endpoint is open now. */
bool dispatch_ended(struct dispatch *d, struct leg *p, const struct verdict *v,
                    struct dispatch_next *ret);

/* It was not sent after all: its slot is free, and nothing is known of its endpoint. */
void dispatch_back(struct dispatch *d, struct leg *p, struct dispatch_next *ret);
/* There may be tokens of this system (0: of any): what waits for them begins, in *ret as above. */
void dispatch_due(struct dispatch *d, int64_t system, struct dispatch_next *ret);

/* What waits in memory for receivers that have become slow, beyond a few, and for those that
 * are closed or of which nothing is being sent: to be parked.  Now and then. */
struct leg *dispatch_shed(struct dispatch *d);

/* The node stops: what waits for tokens is to be parked too, from now on. */
void dispatch_rest(struct dispatch *d);

/* ---- for the claimer ---- */

struct queue_turn {
    int64_t queue;
    size_t room; /* how many may be claimed for it */
};

/* There are tasks in the store for this lane. */
void dispatch_note_stored(struct dispatch *d, int64_t system, int64_t endpoint, int64_t queue);
void dispatch_note_queue(struct dispatch *d, int64_t queue); /* the same, for a known lane */
/* Nothing is left in the store. */
void dispatch_note_empty(struct dispatch *d, int64_t queue);
/* The next lane in turn with parts in the store that may begin; false: none. */
bool dispatch_next_queue(struct dispatch *d, struct queue_turn *ret);

/* ---- looking ---- */

/* Why deliveries of this lane wait now (held_reason), 0: they do not. */
unsigned dispatch_held_why(struct dispatch *d, int64_t system, int64_t endpoint);

/* The ids of the deliveries of a system that have begun and not ended, one a line. */
void dispatch_sending(struct dispatch *d, int64_t system, size_t most, struct buf *to);

struct endpoint_look {
    bool configured, open;
    int64_t since_us, until_us, pause_until_us, active, waiting;
    char broken[200]; /* empty: it can be used */
};
/* Of one endpoint; false: nothing is known of it. */
bool dispatch_look(struct dispatch *d, int64_t endpoint, struct endpoint_look *ret);

/* What another node, or this one before a restart, knows. */
void dispatch_learn(struct dispatch *d, int64_t endpoint, bool breaker, int64_t since_us,
                    int64_t until_us);

/* How many deliveries of this system this process has made. */
int64_t dispatch_delivered(struct dispatch *d, int64_t system);

/* Flights that wait for our own work and not for a slow receiver. */
size_t dispatch_waiting_fast(struct dispatch *d);
