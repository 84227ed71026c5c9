/* transfer.h - everything that goes out over HTTP: one thread, one curl multi handle.
 *
 * A transfer is one request to one receiver.  Connections are kept and reused; TLS is
 * verified; redirects are not followed; protocols other than http and https are refused;
 * the answer is kept up to VERDICT_ANSWER_MOST bytes and the rest thrown away; an answer
 * that is compressed is not unpacked.  Environment variables for proxies are honoured as
 * libcurl does.
 *
 * `reach` is exact about the one thing that matters: whether a byte of the request may have
 * left (core/connector.h).
 *
 * Large bodies are drawn through `next` by threads of the pool (pool.h), in pieces, two at
 * most ahead: the transfer thread never reads a disk.
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

struct transfer {
    struct transfer *next;
    /* What to do; lent until done(). */
    const struct http_out_options *options;
    const struct http_out_request *request;
    const struct sending *sending; /* its bytes, or `next` */
    void (*done)(struct transfer *t);

    /* What came of it. */
    struct http_out_answer answer; /* its strings live until done() returned */
    int64_t began_us, took_us;     /* monotonic */

    void *handle; /* the hub's own */
};

struct transfer_options {
    size_t active_most;      /* transfers at once; more wait in the hub */
    size_t connections_most; /* kept open */
    struct pool *pool;
    /* Asked before the first byte of each request: false, and it ends as NOT_SENT (a node
     * that was declared dead sends nothing).  May be NULL. */
    bool (*may_send)(void *arg);
    void *arg;
    /* At the end of each round of the thread, after all done()s of the round. */
    void (*round)(void *arg);
};

bool transfer_start(const struct transfer_options *options, struct transfer_hub **ret,
                    struct err *err);
/* A chain linked by next. */
void transfer_submit(struct transfer_hub *h, struct transfer *first, struct transfer *last);
/* Lets what is under way end, for up to grace_us, then cuts it off; every done() is called. */
void transfer_stop(struct transfer_hub *h, int64_t grace_us);
