/* transfer_feed.h - the body of a large document, read ahead by the pool while libcurl sends it.
 *
 * Threads: the transfer thread, but for the thread of the pool that reads a piece.
 */
#pragma once

#include "base/buf.h"
#include "core/connector.h"
#include "engine/threads/pool.h"

enum { FEED_PIECES = 2, FEED_PIECE_MOST = 4 << 20 };

struct feed;
struct handle;

/* Whose it is. */
struct feed_owner {
    struct pool *pool;
    /* A thread of the pool has read: the feed is handed back to the transfer thread, which calls
     * feed_returned(). */
    void (*back)(void *arg, struct feed *f);
    void *arg;
};

struct feed {
    struct pool_job job;
    struct feed *next; /* those that came back, in the hub */
    struct feed_owner owner;
    struct handle *handle;
    const struct sending *sending;

    struct buf pieces[FEED_PIECES];
    size_t first, filled, at; /* the piece being sent, how many there are, bytes of it sent */
    int64_t left;             /* bytes that `next` has still to give */
    bool reading, paused, failed;

    /* Of the thread of the pool that reads, until it is back. */
    struct buf *into;
    bool read_ok;
    struct err err;
};

struct feed *feed_new(const struct feed_owner *owner, struct handle *handle,
                      const struct sending *s);
void feed_free(struct feed *f);
/* Let a thread read on when there is room. */
void feed_pull(struct feed *f);
/* What libcurl asks for; CURL_READFUNC_PAUSE or _ABORT are possible. */
size_t feed_read(struct feed *f, char *to, size_t room);
/* Take what a thread has read. */
void feed_returned(struct feed *f);
