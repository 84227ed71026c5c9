/* transfer_feed.h - reads the body of a large document ahead, on the pool, while libcurl sends it.
 *
 * Threads: the transfer thread, except for the pool thread that reads a piece.
 */
#pragma once

#include "base/buf.h"
#include "core/connector.h"
#include "engine/threads/pool.h"

enum { FEED_PIECES = 2, FEED_PIECE_MOST = 4 << 20 };

struct feed;
struct handle;

/* What a feed needs of the hub. */
struct feed_owner {
    struct pool *pool;
    /* Called on a pool thread that has read a piece: hands the feed back to the transfer thread,
     * which calls feed_returned(). */
    void (*back)(void *arg, struct feed *f);
    void *arg;
};

struct feed {
    struct pool_job job;
    struct feed *next; /* in the hub's list of returned feeds */
    struct feed_owner owner;
    struct handle *handle;
    const struct sending *sending;

    struct buf pieces[FEED_PIECES];
    size_t first, filled, at; /* the piece being sent, how many there are, bytes of it sent */
    int64_t left;             /* bytes that `next` has yet to give */
    bool reading, paused, failed;

    /* Owned by the reading pool thread until the feed is returned. */
    struct buf *into;
    bool read_ok;
    struct err err;
};

struct feed *feed_new(const struct feed_owner *owner, struct handle *handle,
                      const struct sending *s);
void feed_free(struct feed *f);
/* Submits the next read when there is room. */
void feed_pull(struct feed *f);
/* The read callback of libcurl; may return CURL_READFUNC_PAUSE or _ABORT. */
size_t feed_read(struct feed *f, char *to, size_t room);
/* Takes the piece that the pool thread has read. */
void feed_returned(struct feed *f);
