/* caging.h - walks that wait for a step in a process of its own (cage/cage.h).
 *
 * The flights that wait for one step of one version stand in a line.  A thread takes some from the
 * front, runs them through a process, and goes on with their walks itself, so that no document is
 * handed back.  How many it takes depends on how long the step takes: of a slow one each document
 * is settled as soon as it is through.
 *
 *     walk ──► line ──► cage_run() ──► walk goes on
 *                └─ too many ──► back to the store, due after an estimate; no attempt
 *
 * Bounded: a step that is slow, or loops until it is killed, has few flights in memory, a fast one
 * more, all lines together LINES_MOST.  A line has as many threads as its step has processes, all
 * together THREADS_MOST.
 *
 * Threads: any; the threads of the lines call `go_on`.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cage/cage.h"
#include "engine/flight/step_io.h"

struct caging;
struct flight;
struct road;

/* A flight at its caged step: on its arena, until the step has ended. */
struct caged {
    struct step_io io;
    struct cage_job job;
    int64_t from_us; /* monotonic */
    unsigned turns;  /* how often its process ended before its turn */
};

struct caging_calls {
    void (*run)(struct cage *c, struct cage_job *jobs, size_t count); /* cage_run() */
    void (*stop)(struct cage *c);                                     /* cage_stop(); may be NULL */
    /* Their steps have run, or not: the walks go on. */
    void (*go_on)(struct road *r, struct flight **flights, size_t count);
};

struct caging *caging_new(struct road *r, const struct caging_calls *calls);
void caging_free(struct caging *c); /* after caging_stop(); NULL is fine */

/* The flight, whose `caged` is prepared, waits for its step.  False: too many do, or the node
 * stops; *ret_wait_us is when it may come again. */
bool caging_put(struct flight *f, int64_t *ret_wait_us);
/* How many wait for steps that are fast: it is this node that has too much to do.  Who waits for a
 * slow one does not count.  Costs no lock. */
size_t caging_waiting_fast(struct caging *c);
/* Runs one job now; blocks. */
void caging_run(struct caging *c, const struct plan_step *s, struct cage_job *job);

/* The node stops: nobody waits any more.  Returns those that waited, a chain. */
struct flight *caging_close(struct caging *c);
/* After that: waits until the threads have come back, which is soon. */
void caging_stop(struct caging *c);
