/* dispatch.h - which delivery may begin now: queues, systems, endpoints.
 *
 * A queue belongs to a pair of system and endpoint.  A system has at most `concurrency` deliveries
 * in progress, taken from its queues in turn.  Each needs a token where the system has a rate
 * (limiter.h), and none begins while the governor has a reason to hold the system (govern.h).  An
 * endpoint has a breaker and may ask for a pause.  A leg that may not begin waits in the short
 * memory of its queue, or is returned to the caller to be parked in the store.  So a dead or slow
 * receiver occupies a bounded number of flights and costs the others nothing.
 *
 * The concurrency of a system is that of all nodes together: this node fills the slots that are
 * allotted to it (store/govern/allot.h), and asks for more when it has more to send.
 *
 * A send that blocks occupies a sender (run/sender.h); of these a system gets at most a quarter,
 * beside its concurrency.  An endpoint in whose calls too many senders are lost gets no more until
 * one of them has returned.  One that keeps its connections (core/line/line.h) has at most
 * `connections` deliveries in progress on this node, of all its systems together.
 *
 * The newest plan decides what an endpoint and a system may do.  Legs of a system that is not
 * idempotent begin only from the store, where an intent can be written (doubt.c).
 *
 * Threads: any; one short lock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "engine/flight/flight.h"

struct allot_op;
struct allotted;
struct endpoint_state;
struct dispatch;
struct govern;
struct limiter;

struct dispatch_calls {
    struct limiter *limiter; /* lent; NULL: rates are not enforced */
    enum config_area area;   /* of this node: endpoints of other areas are left to their nodes */
    int64_t senders;         /* threads for sends that block; 0: no limit */
    /* The breaker or the pause of an endpoint changed.  Runs on the thread that noticed it.
     * `here`: the reason is this node's own (a folder that is not mounted), not for others. */
    void (*changed)(void *arg, int64_t endpoint, const struct breaker *breaker,
                    int64_t pause_until_us, const char *why, bool here);
    /* The endpoint answers and takes nothing (core/retry.h); why NULL: that has ended.  May run
     * with the lock held.  NULL: nobody is told. */
    void (*refusing)(void *arg, int64_t endpoint, const char *why);
    /* The store has another report of the endpoint, or none: write what dispatch_report() returns,
     * and say so with dispatch_reported().  One at a time per endpoint.  Called with the lock held.
     * NULL: nothing is reported. */
    void (*report)(void *arg, int64_t endpoint);
    /* A queue with tasks in the store may have room.  Called often. */
    void (*hungry)(void *arg);
    /* Submits the operation; called with the lock held.  NULL: all slots are this node's. */
    void (*allot)(void *arg, struct allot_op *op);
    void *arg;
};

/* The governor is lent. */
struct dispatch *dispatch_new(struct govern *govern, const struct dispatch_calls *calls);
void dispatch_free(struct dispatch *d);

/* Use this plan from now on.  Takes a reference. */
void dispatch_use(struct dispatch *d, struct plan *plan);

enum dispatch_answer {
    DISPATCH_BEGIN, /* the leg has its slot: begin it */
    DISPATCH_WAIT,  /* it waits here, and comes back in a dispatch_next or from dispatch_shed() */
    DISPATCH_PARK   /* it must wait in the store */
};

/* Sets the leg's queue, plan, endpoint and in_doubt.  *ret_why: the reasons to park it
 * (held_reason); 0 if it only waits for its turn. */
enum dispatch_answer dispatch_offer(struct dispatch *d, struct leg *p, unsigned *ret_why);

struct dispatch_next {
    struct leg *begin; /* a chain by `next`: these legs have their slots now ... */
    struct leg *park;  /* ... and these must wait in the store */
};

/* The attempt ended with this verdict; its slot is free.  True: the breaker of the endpoint is open
 * now. */
bool dispatch_ended(struct dispatch *d, struct leg *p, const struct verdict *v,
                    struct dispatch_next *ret);

/* The leg was not sent: its slot is free, and the endpoint's breaker learns nothing. */
void dispatch_back(struct dispatch *d, struct leg *p, struct dispatch_next *ret);
/* This system (0: any) may have tokens: the legs that waited for them are in *ret. */
void dispatch_due(struct dispatch *d, int64_t system, struct dispatch_next *ret);

/* Takes legs out of memory, a chain to be parked: of a receiver that has become slow all but a few;
 * of one that is closed (a hold, a new plan, a breaker that another node opened) all; and all of a
 * system of which nothing is being sent, because no end of a leg would let them begin.  The
 * claimer calls it in every round. */
struct leg *dispatch_shed(struct dispatch *d);

/* The node stops: from now on dispatch_shed() also takes legs that wait for tokens. */
void dispatch_rest(struct dispatch *d);

/* ---- for the claimer ---- */

/* Once a second, with what all nodes hold: gives back slots that another node wants, and asks for
 * those that this node wants.  `all` is sorted by system. */
void dispatch_allot(struct dispatch *d, const struct allotted *all, size_t count);

struct queue_turn {
    int64_t queue;
    size_t room; /* how many tasks may be claimed from it */
};

/* The store has tasks in this queue. */
void dispatch_note_stored(struct dispatch *d, int64_t system, int64_t endpoint, int64_t queue);
void dispatch_note_queue(struct dispatch *d, int64_t queue); /* the same, for a known queue */
/* The store has none left.  Call it before a claim, so that a task stored meanwhile is not lost. */
void dispatch_note_empty(struct dispatch *d, int64_t queue);
/* The next queue in turn whose tasks in the store may begin; false: none. */
bool dispatch_next_queue(struct dispatch *d, struct queue_turn *ret);

/* ---- queries ---- */

/* Why deliveries of this system are held now, whatever their endpoint: holds, windows, pauses of
 * the node. */
unsigned dispatch_system_why(struct dispatch *d, int64_t system);
/* Why deliveries of this queue are held now (held_reason); 0: they are not. */
unsigned dispatch_held_why(struct dispatch *d, int64_t system, int64_t endpoint);

enum { HELD_TEXT = 300 };
/* For HELD_ENDPOINT: what is the matter with the endpoint or its system, for people; else empty. */
void dispatch_held_text(struct dispatch *d, int64_t system, int64_t endpoint,
                        char text[static HELD_TEXT]);

/* The ids of the deliveries of a system that are in progress, one per line, at most `most`. */
void dispatch_sending(struct dispatch *d, int64_t system, size_t most, struct buf *to);

/* Calls `see` for each leg that waits here or is being sent and whose flight began before
 * `before_us` (monotonic), with the lock held.  The flight is there until `see` returns.  Other
 * threads may be changing its legs, but not its id, plan, facts and task, nor a leg's id, system
 * and endpoint. */
void dispatch_each_old(struct dispatch *d, int64_t before_us,
                       void (*see)(void *arg, struct leg *p, bool sending), void *arg);

struct endpoint_look {
    bool configured, open;
    bool rejecting; /* open, because it rejects everything */
    int64_t since_us, until_us, pause_until_us, active, waiting, lost;
    char broken[200];        /* why it cannot be used; empty: it can */
    char rejecting_why[200]; /* what it answered last; empty: it is not rejecting */
};
/* False: the dispatcher has not met this endpoint. */
bool dispatch_look(struct dispatch *d, int64_t endpoint, struct endpoint_look *ret);

/* A breaker or a pause that another node, or this one before a restart, has stored. */
void dispatch_learn(struct dispatch *d, const struct endpoint_state *stored);

/* Ends the refusing of endpoints for which nothing waits any more, and has reports written that
 * the store does not have.  Called once a second. */
void dispatch_calm(struct dispatch *d);

enum { REPORT_TEXT = 200 };
struct endpoint_report {
    int64_t change;
    char text[REPORT_TEXT]; /* what people are told; empty: nothing is wrong */
};
/* What this node reports about the endpoint now: another one is in its place, it is refusing, ...
 */
void dispatch_report(struct dispatch *d, int64_t endpoint, struct endpoint_report *ret);
/* This report was written, or (!ok) was not and is to be written again.  True: it is the first that
 * failed in a row. */
bool dispatch_reported(struct dispatch *d, int64_t endpoint, const struct endpoint_report *written,
                       bool ok);

/* A person has changed something about the endpoint: an open breaker lets a probe through now. */
void dispatch_try(struct dispatch *d, int64_t endpoint);

/* A sender that hangs in a call of this endpoint was given up; or it has returned. */
void dispatch_lost(struct dispatch *d, int64_t endpoint);
void dispatch_found(struct dispatch *d, int64_t endpoint);
bool dispatch_is_hung(struct dispatch *d, int64_t endpoint); /* one is lost in it now */

/* How many deliveries to this system this process has completed. */
int64_t dispatch_delivered(struct dispatch *d, int64_t system);

/* Legs made here that wait in memory for fast receivers: this node is the bottleneck, not the
 * receiver.  Those loaded from the store do not count: they were claimed because there was room. */
size_t dispatch_waiting_fast(struct dispatch *d);
