/* transfer_drain.h - gives a large answer away while libcurl receives it: the counterpart of
 * transfer_feed.h.
 *
 * Two pieces: one is filled by libcurl, the other is put by a thread of the pool.  While both are
 * full libcurl pauses, so that a slow disk slows the sender of the answer and fills no memory.
 *
 * Threads: the transfer thread, except for the pool thread that puts a piece.
 */
#pragma once

#include "base/buf.h"
#include "engine/threads/pool.h"
#include "engine/transfer/transfer.h"

enum { DRAIN_PIECES = 2, DRAIN_PIECE = 256 << 10 };

struct drain;
struct handle;

/* What a drain needs of the hub. */
struct drain_owner {
    struct pool *pool;
    /* Called on a pool thread that has put a piece: hands the drain back to the transfer thread,
     * which calls drain_returned(). */
    void (*back)(void *arg, struct drain *d);
    void *arg;
};

struct drain {
    struct pool_job job;
    struct drain *next; /* in the hub's list of returned drains */
    struct drain_owner owner;
    struct handle *handle;
    const struct answer_sink *sink;

    struct buf pieces[DRAIN_PIECES];
    size_t filling; /* the piece that libcurl fills */
    int64_t came;   /* bytes of the answer */
    bool putting, paused, failed;

    /* Owned by the pool thread until the drain is returned. */
    struct buf *from;
    bool put_ok;
    struct err err;
};

struct drain *drain_new(const struct drain_owner *owner, struct handle *handle,
                        const struct answer_sink *sink);
void drain_free(struct drain *d); /* NULL is fine */

/* Takes bytes of the answer.  False: not now (paused), or never (failed, err). */
bool drain_take(struct drain *d, struct str bytes);
/* The answer is whole: what is left is put.  True: a pool thread is at it. */
bool drain_rest(struct drain *d);
/* The pool thread is through with its piece. */
void drain_returned(struct drain *d);
