/* road.h - documents move: from commit 1 to commit 2.
 *
 * The road owns the flights and the threads that carry them (flight.h): workers walk,
 * the transfer thread and the pool send, the feeder claims what waits in the store, and
 * everything ends in the writer.
 *
 *   walk.c      extract, route, steps           send.c     one attempt of one delivery
 *   dispatch.c  what may begin now              outcome.c  what came of it, commit 2, log
 *   feed.c      what waits in the store         road.c     threads, stock, life
 *   doubt.c     sends that may not happen twice
 *   order.c     deliveries in order             join.c     members of batches (batcher.h)
 *
 * With a configuration without routes nothing is claimed: documents rest as received
 * until there are some.
 *
 * Bounded: FLIGHTS_MOST documents and `bytes_most` of their bytes in memory; what finds no
 * room stays in the store.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "engine/plan/plan.h"
#include "store/road/accept.h"

struct dispatch;
struct flight_stock;
struct govern;
struct mishaps;
struct pool;
struct road;
struct store;
struct transfer;
struct ways;

enum { FLIGHTS_MOST = 1024 };

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

/* ---- claim at birth -------------------------------------------------------------------------- */

/* Take a slot for a document of this size that is about to be accepted. */
bool road_reserve(struct road *r, int64_t size);
void road_unreserve(struct road *r, int64_t size);
/* It was accepted and claimed: on the road with it.  Takes the bytes out of *body.  On the
 * writer's thread. */
void road_born(struct road *r, const struct accept_op *accepted, struct buf *body);
/* One was accepted without a claim: it waits in the store. */
void road_note_backlog(struct road *r);
/* Documents wait for our own work, not for receivers: better not take on more just now. */
bool road_is_busy(struct road *r);

/* ---- looking -----------------------------------------------------------------------------------
 */

struct plan *road_plan(struct road *r); /* in force, a reference */
/* Of a stored version, a reference; NULL with *err.  Blocks when it is not among the last few. */
struct plan *road_plan_of(struct road *r, int64_t version, struct err *err);
struct dispatch *road_dispatch(struct road *r);
/* Where flights come from, also for those that only ask (walk.h). */
struct flight_stock *road_stock(struct road *r);
/* The clock of the store, as far as it can be trusted (govern.h). */
int64_t road_now_us(const struct road *r);
/* Something else that goes out over HTTP; false: the node stops, and done() is not called. */
bool road_transfer(struct road *r, struct transfer *t);
/* Something may begin, or may not, that could not, or could: look now. */
void road_look(struct road *r);
/* Learn what other nodes know of endpoints.  Blocks. */
bool road_learn(struct road *r, struct err *err);
