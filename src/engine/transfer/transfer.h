/* transfer.h - all outgoing HTTP: one thread, one curl multi handle.
 *
 * A transfer is one request to one receiver.  Connections are kept and reused; TLS is
 * verified; redirects are not followed; protocols other than http and https are refused;
 * an answer that is compressed is not unpacked.  What `egress` bars is not connected to.
 * Environment variables for proxies are honoured as libcurl does, as they were when the hub
 * started, if `egress` says so; otherwise they are not read.
 *
 * `reach` is exact about whether a byte of the request may have been sent (core/connector.h).
 *   (1) NOT_SENT: no connection was ready for the request (name, connect, TLS handshake, proxy), or
 *       may_send or egress refused.  Nothing was written.
 *   (2) ANSWERED: a final status and the whole body came: all of its Content-Length, its last
 *       chunk, or an orderly end of the connection where the answer has neither.  A body of more
 *       than VERDICT_ANSWER_MOST + TRANSFER_DROP_MOST bytes counts as whole; the rest is not waited
 *       for.
 *   (3) UNCLEAR: everything else, such as a time-out or a short body, even when the status is
 *       known.  A 2xx to a request that was not sent completely is never ANSWERED.
 *   (4) A request is written once, with two exceptions.  If the receiver answers 417 to our
 *       `Expect: 100-continue`, the request is sent again without it.  And unless `once` is set,
 *       libcurl repeats a request whose reused connection ended without one byte of an answer,
 *       which mostly means that the receiver closed it while idle: over another connection, at most
 *       five times.  The receiver may then see the request twice, under the same key; `sends`
 *       counts.  With `once` such an end is UNCLEAR.
 *
 * The time-out covers everything from the name lookup to the last byte of the answer; with a large
 * body, which is read through `next`, it counts how long nothing was sent or received.  Time in the
 * hub's own queue does not count.
 *
 * Bodies in memory are sent at once.  Large bodies are read through `next` by threads of the pool
 * (pool.h), at most two pieces ahead: the transfer thread never reads a disk.  They wait up to a
 * second for the receiver's 100 Continue.
 *
 * Threads: submit from any; done() on the transfer thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/connector.h"

struct egress;
struct transfer_hub;
struct pool;

enum { TRANSFER_DROP_MOST = 1 << 20 };

/* Takes the answers 2xx that are larger than VERDICT_ANSWER_MOST, whole, piece by piece on threads
 * of the pool, one at a time; nothing more is put when put() has failed.  What is larger than
 * `most` is cut, and so is an answer of any size that has not ended when the time-out has passed
 * since it began: UNCLEAR. */
struct answer_sink {
    int64_t most;
    bool (*put)(void *arg, struct str piece, struct err *err);
    void *arg;
};

struct transfer {
    struct transfer *next;
    /* The order; lent until done().  Profiles are found by the address of the options first: use
     * one struct per endpoint, not one per transfer. */
    const struct http_out_options *options;
    const struct http_out_request *request;
    const struct sending *sending;  /* the bytes, or `next` for a large body */
    bool once;                      /* see (4) */
    int64_t allowed_us;             /* since when it may be sent, for may_send; monotonic */
    const struct answer_sink *sink; /* NULL: of a large answer the beginning is kept */
    void (*done)(struct transfer *t);

    /* The result. */
    struct http_out_answer answer; /* its strings are valid until done() returns */
    int64_t began_us, took_us;     /* monotonic */
    unsigned sends;                /* how often a byte of the request may have been sent */

    void *handle; /* the hub's own */
};

struct transfer_options {
    size_t active_most;          /* transfers at once; more wait in the hub */
    size_t connections_most;     /* kept open */
    const struct egress *egress; /* outlives the hub; NULL: everything may be sent to, no proxy */
    struct pool *pool;           /* outlives the hub; may be NULL when no transfer has `next` */
    /* Called before the first byte of each request: false ends it as NOT_SENT (a node that may have
     * been declared dead sends nothing to a system that is not idempotent).  May be NULL. */
    bool (*may_send)(void *arg, const struct transfer *t);
    void *arg;
    /* At the end of each round of the thread, after all done()s of the round. */
    void (*round)(void *arg);
};

bool transfer_start(const struct transfer_options *options, struct transfer_hub **ret,
                    struct err *err);
/* A chain linked by next.  A hub that is stopping ends them as NOT_SENT. */
void transfer_submit(struct transfer_hub *h, struct transfer *first, struct transfer *last);
/* Waits up to grace_us for transfers under way, then aborts them; every done() is called. */
void transfer_stop(struct transfer_hub *h, int64_t grace_us);
