/* transfer.h - everything that goes out over HTTP: one thread, one curl multi handle.
 *
 * A transfer is one request to one receiver.  Connections are kept and reused; TLS is
 * verified; redirects are not followed; protocols other than http and https are refused;
 * an answer that is compressed is not unpacked.  Environment variables for proxies are
 * honoured as libcurl does, as they were when the hub started.
 *
 * `reach` is exact about the one thing that matters: whether a byte of the request may have
 * left (core/connector.h).
 *   (1) NOT_SENT: no connection was ready for the request (name, connect, TLS handshake,
 *       proxy), or may_send said no.  Nothing was written.
 *   (2) ANSWERED: a final status and the whole body came: all of its Content-Length, its
 *       last chunk, or an orderly end of the connection where the answer has neither.  A
 *       body of more than VERDICT_ANSWER_MOST + TRANSFER_DROP_MOST bytes counts as whole;
 *       the rest of it is not waited for.
 *   (3) UNCLEAR: everything else, such as a time-out or a short body, also when its status
 *       is known; a 2xx to a request that was not sent to its end is never ANSWERED.
 *   (4) A request is written once, with two exceptions.  The receiver answers 417 to our
 *       `Expect: 100-continue`: it goes out again without.  And unless `once` is set: the
 *       connection had been used before and ends without one byte of an answer, which
 *       mostly means that the receiver closed it while it was idle; then libcurl sends the
 *       same request again over another connection, at most five times.  The receiver may
 *       then see it twice, under the same key; `sends` counts.  With `once` such an end is
 *       UNCLEAR.
 *
 * The time-out is over all, from the first name looked up to the last byte of the answer.
 * Time in the hub's own queue does not count.
 *
 * Bodies in memory go out at once and whole.  Large bodies are drawn through `next` by
 * threads of the pool (pool.h), in pieces, two at most ahead: the transfer thread never
 * reads a disk.  They wait up to a second for the receiver's 100 Continue.
 *
 * Threads: submit from any; done() on the transfer thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/connector.h"

struct transfer_hub;
struct pool;

enum { TRANSFER_DROP_MOST = 1 << 20 };

struct transfer {
    struct transfer *next;
    /* What to do; lent until done().  The options are compared with what is known of them
     * by address first: one struct per endpoint, not one per transfer. */
    const struct http_out_options *options;
    const struct http_out_request *request;
    const struct sending *sending; /* its bytes, or `next` */
    bool once;                     /* see (4) */
    void (*done)(struct transfer *t);

    /* What came of it. */
    struct http_out_answer answer; /* its strings live until done() returned */
    int64_t began_us, took_us;     /* monotonic */
    unsigned sends;                /* how often a byte of it may have left */

    void *handle; /* the hub's own */
};

struct transfer_options {
    size_t active_most;      /* transfers at once; more wait in the hub */
    size_t connections_most; /* kept open */
    struct pool *pool;       /* outlives the hub; may be NULL when no transfer has `next` */
    /* Asked before the first byte of each request: false, and it ends as NOT_SENT (a node
     * that may have been declared dead sends nothing that minds).  May be NULL. */
    bool (*may_send)(void *arg, const struct transfer *t);
    void *arg;
    /* At the end of each round of the thread, after all done()s of the round. */
    void (*round)(void *arg);
};

bool transfer_start(const struct transfer_options *options, struct transfer_hub **ret,
                    struct err *err);
/* A chain linked by next.  A hub that is stopping ends them as NOT_SENT. */
void transfer_submit(struct transfer_hub *h, struct transfer *first, struct transfer *last);
/* Lets what is under way end, for up to grace_us, then cuts it off; every done() is called. */
void transfer_stop(struct transfer_hub *h, int64_t grace_us);
