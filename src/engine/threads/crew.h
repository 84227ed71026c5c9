/* crew.h - threads of one kind for calls to the outside, which may never return.
 *
 * A call is embedded in an object that owns everything the call may touch (core/call.h).  It runs
 * on a thread of its crew.  A call that is silent for longer than its patience is given up: its
 * thread is lost to the crew and replaced by another, up to `lost_most` lost ones; after that the
 * crew has fewer threads.  A lost thread whose call returns at last frees the call and ends.
 *
 *     submit ──► run ──► done                       in time
 *                  └───► lost ── ─ ─ ─ ──► back     given up; back when run has returned
 *
 * Nothing is refused and nothing has priority: owners bound what they submit.  Each kind of work
 * has a crew of its own, so that one kind that hangs leaves the others their threads.
 *
 * Invariants
 *   (1) Of done() and lost() exactly one is called, once.
 *   (2) back() is called after lost() has ended, if the call was given up; it frees the call.
 *   (3) After crew_free() none of them is called, also if a lost thread returns then.
 *
 * Threads: submit from any; run(), done() and back() on a thread of the crew, lost() on the crew's
 * timekeeper.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "core/call.h"

struct crew;

struct crew_call {
    struct crew_call *next;
    struct call call; /* the owner sets `stop` */
    int64_t patience_us;
    bool whole; /* the patience is for the whole call, not since its last sign of life */
    void (*run)(struct crew_call *c);
    void (*done)(struct crew_call *c); /* may free it */
    void (*lost)(struct crew_call *c, bool committed);
    void (*back)(struct crew_call *c);

    /* The crew's own. */
    int64_t began_us; /* submitted, then begun; monotonic */
    bool is_lost, losing;
    void *hand; /* its thread */
};

struct crew *crew_new(const char *name, size_t most, size_t lost_most);
void crew_submit(struct crew *c, struct crew_call *call);

/* The node stops: what still runs after so long is given up, what still waits never begins. */
void crew_hurry(struct crew *c, int64_t patience_us);
/* After crew_hurry(): waits until every call has ended or was given up.  Returns how many threads
 * are lost; if there are any, the process must end by _exit(): they may wake up at any time. */
size_t crew_free(struct crew *c);

/* One line if calls have waited for a thread for some seconds: `work` is what waits.  False: none
 * have.  NULL is fine. */
bool crew_tell(struct crew *c, const char *work, struct buf *to);

struct crew_look {
    size_t most, busy, lost, lost_most;
    size_t waiting;   /* calls that wait for a thread ... */
    int64_t waits_us; /* ... and since when the first of them */
};
void crew_look(struct crew *c, struct crew_look *ret);
