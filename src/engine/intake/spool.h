/* spool.h - bodies too large for memory, on their way to stable storage.
 *
 * Two threads write, digest and sync.  The io thread gives them bytes through a bounded pipe and
 * pauses its client when the pipe is full.  A body that has ended has a place, and the accept that
 * names it can be committed.
 *
 * Invariants
 *   (1) at most SPOOL_PIPE bytes (and one chunk) of a body wait in memory.
 *   (2) `done` is called exactly once after spool_end(), unless spool_abort() came
 *       first; `drained` only after spool_add() returned false.
 *
 * Threads: begin, add, end, abort and the callbacks on the body's loop.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/err.h"
#include "base/loop.h"
#include "store/segment/segment.h"

struct store;
struct spool;
struct spool_body;

enum { SPOOL_PIPE = 1 << 20 };

struct spool_result {
    bool ok;
    struct err err;
    struct payload_ref place;
    struct sha256 sha256;
    int64_t size;
};

struct spool_calls {
    void (*drained)(void *user);
    void (*done)(void *user, const struct spool_result *result);
};

struct spool *spool_new(struct store *store, size_t threads);
void spool_free(struct spool *s); /* discards bodies that did not end */

struct spool_body *spool_begin(struct spool *s, struct loop *loop, const struct spool_calls *calls,
                               void *user);
/* The bytes are always taken; false: pause until drained(). */
bool spool_add(struct spool_body *b, struct str bytes);
void spool_end(struct spool_body *b);
void spool_abort(struct spool_body *b); /* no more callbacks; frees the body */

/* Deletes a finished body that no document names, off the loop. */
void spool_drop(struct spool *s, struct payload_ref place);
