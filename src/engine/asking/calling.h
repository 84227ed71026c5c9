/* calling.h - walks that wait for the answer of an HTTP service, or of a database (run/asker.h).
 *
 *     walk ──► calling_put() ──► transfer ──► judge ──► walk goes on
 *                  ├─ no slot is free: waits here for one
 *                  └─ its breaker is open, its rate is reached, too many wait ──► to the store
 *
 * Services are told apart by their URL: the steps that ask one, of all routes and versions, share
 * its slots, its rate, its breaker and the pause that it asked for.  All of that is this node's.
 * The breaker is that of the newest version: a mended configuration is not held back by the older
 * ones. As with deliveries an open breaker uses up no attempt, and one document probes.
 *
 * Bounded: so many flights are asking or wait here as the road says, of a slow service few.
 *
 * Threads: any.  Answers come on the transfer thread, which calls `go_on`.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/flight/step_io.h"
#include "engine/transfer/transfer.h"

struct callee;
struct calling;
struct flight;
struct payload_reader;

/* Not now: when it may come again. */
struct calling_away {
    int64_t wait_us;
    bool failing; /* the service is left alone; else it is only not its turn */
    char why[VERDICT_MESSAGE_MOST];
};

/* A flight at a step that asks: on its arena, until the step has ended. */
struct called {
    struct step_io io; /* the answer is what comes out */
    struct http_out_request request;
    struct sending sending;
    struct answer_sink sink;
    struct transfer transfer;
    struct payload_reader *reader; /* of a document that is only in the store */
    struct err read_err;           /* why it could not be read */
    struct str question;           /* its digest, if the next run may ask another one; else empty */
    int64_t from_us;               /* monotonic */
    int64_t attempt, first_us;     /* from 1; when the first one began, 0: this is the first */

    /* What came of it. */
    struct verdict verdict;
    struct service_failure failure; /* the answer could not be taken; without a message: it was */
    bool too_large;
    struct str ctype; /* of the answer, for the document that is made of it; empty: none is */
    bool is_away;     /* nothing was asked: `away` */
    struct calling_away away;

    /* Of calling.c. */
    struct calling *calling;
    struct callee *callee;
    bool probe;
};

struct calling_options {
    size_t most;                                 /* flights that ask or wait here */
    bool (*send)(void *arg, struct transfer *t); /* false: the node stops */
    /* On the transfer thread: sets f->called->verdict. */
    void (*judge)(struct flight *f, const struct http_out_answer *answer);
    /* The walk goes on: with the answer, without one, or it was sent away meanwhile. */
    void (*go_on)(struct flight *f);
    /* The node stops: the document goes back to the store. */
    void (*put_back)(void *arg, struct flight *f);
    /* False: this node may have been declared dead, and its failures are its own. */
    bool (*may_act)(void *arg);
    void *arg;
};

/* What people are told of a service. */
enum { CALLEE_WHY = 160 };
struct callee_look {
    bool open;            /* its breaker; false also if nobody asks it any more */
    bool rejecting;       /* open, because it rejects everything */
    char why[CALLEE_WHY]; /* what opened it */
};

struct calling *calling_new(const struct calling_options *options);
void calling_free(struct calling *c); /* when the transfer thread has ended; NULL is fine */

/* The flight, whose `called` is prepared, asks its service, or waits here.  False: neither, *ret
 * says when it may. */
bool calling_put(struct calling *c, struct flight *f, struct calling_away *ret);

struct callee_look calling_look(struct calling *c, struct str service);

/* The node stops: nobody waits any more, and who is asking and gets no answer is put back.  Returns
 * those that waited, a chain. */
struct flight *calling_close(struct calling *c);
