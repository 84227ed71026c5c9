/* life.h - the road begins and ends: its threads, and who is wired to whom. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

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
    struct govern *govern;
    struct mishaps *mishaps;
    struct ways *ways;
    size_t workers;
    int64_t bytes_most;
    /* The plan of a stored version: a reference, or NULL with *err.  Blocks. */
    struct plan *(*plan_of)(void *arg, int64_t version, struct err *err);
    void *arg;
    bool unclean; /* the node was not stopped in order: what it did last is not known */
};

bool road_start(const struct road_options *options, struct road **ret, struct err *err);
/* Its threads begin; after the first road_use(). */
void road_run(struct road *r);
/* Stopping, in this order; each takes NULL.  Nothing new is begun, and what is on its way may
 * end, for a while ... */
void road_rest(struct road *r);
/* ... its threads end; what was not sent stays in the store ... */
void road_stop(struct road *r);
/* ... and, when the pool has ended too, everything that was submitted is settled. */
void road_drain(struct road *r);
void road_free(struct road *r);

/* The plan in force from now on. */
void road_use(struct road *r, struct plan *plan);
