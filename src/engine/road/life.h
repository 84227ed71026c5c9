/* life.h - the life of the road: its wiring, its threads, start and stop. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "core/config.h"

struct cage;
struct cage_job;
struct crew;
struct govern;
struct mishaps;
struct plan;
struct pool;
struct road;
struct store;
struct ways;

struct road_options {
    struct store *store;
    struct pool *pool;
    struct crew *senders; /* calls that may hang; sender.h */
    struct govern *govern;
    struct mishaps *mishaps;
    struct ways *ways;
    enum config_area area; /* of this node */
    size_t workers;
    int64_t bytes_most;
    const struct egress *egress; /* where deliveries may go */
    /* The plan of a stored version: a reference, or NULL with *err.  Blocks. */
    struct plan *(*plan_of)(void *arg, int64_t version, struct err *err);
    void *arg;
    /* Runs caged steps; NULL: cage_run().  Tests have no processes. */
    void (*cage_run)(struct cage *c, struct cage_job *jobs, size_t count);
    bool unclean; /* the process before did not stop in order: its last sends are unknown */
};

bool road_start(const struct road_options *options, struct road **ret, struct err *err);
/* Starts the threads.  Call it after the first road_use(). */
void road_run(struct road *r);
/* Stopping takes these four calls in this order; each accepts NULL.  First nothing new begins, and
 * sends in progress get some seconds to end ... */
void road_rest(struct road *r);
/* ... then the threads end; deliveries that were not sent stay in the store ... */
void road_stop(struct road *r);
/* ... and, after the pool has ended too, all submitted settlements are committed. */
void road_drain(struct road *r);
void road_free(struct road *r);

/* Puts a plan in force. */
void road_use(struct road *r, struct plan *plan);
