/* road.h - documents move: from commit 1 to commit 2.
 *
 * The road has the flights (flight.h) and the threads that carry them: workers walk, the transfer
 * thread and the senders send, the claimer claims tasks from the store, and everything ends in the
 * writer.  It is built in three rooms: what flights share (here), the steps of a document
 * (engine/walk), and the way from the claim to the settlement (engine/run).
 *
 * This header is for the rest of the engine; run/life.h starts and stops the road.
 *
 * Under a configuration without routes no document is claimed: documents stay as received until a
 * version has routes.
 *
 * Bounded: about FLIGHTS_MOST documents and `bytes_most` of their bytes are in memory; all others
 * stay in the store.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "core/config.h"
#include "engine/plan/plan.h"

struct cage;
struct cage_job;
struct crew;
struct dispatch;
struct flight_stock;
struct govern;
struct mishaps;
struct pool;
struct road;
struct store;
struct suspects;
struct transfer;
struct ways;

enum { FLIGHTS_MOST = 1024 };

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

struct plan *road_plan(struct road *r); /* in force, a reference */
/* The plan of a stored version, a reference; NULL with *err.  Blocks if it is not one of the last
 * few. */
struct plan *road_plan_of(struct road *r, int64_t version, struct err *err);
/* The clock of the store (govern.h), for times that are stored and compared by other nodes. */
int64_t road_now_us(const struct road *r);
struct dispatch *road_dispatch(struct road *r);
struct calling *road_calling(struct road *r);
/* The stock of flights, also for dry ones (walk.h). */
struct flight_stock *road_stock(struct road *r);
/* An HTTP request that is not a delivery.  False: the node stops, and done() is not called. */
bool road_transfer(struct road *r, struct transfer *t);
/* Wakes the claimer, because what may begin has changed. */
void road_wake(struct road *r);
/* The node is drained: it claims no documents.  Its deliveries are held by the governor. */
void road_set_draining(struct road *r, bool drain);
/* Nothing is in memory, and nothing waits for its settlement. */
bool road_is_empty(struct road *r);
/* A document waits in the intake's queue without a claim. */
void road_note_backlog(struct road *r);
/* `settled` is called, on a writer's thread, after each settlement of a document whose sender waits
 * for its receiver (`reply: receiver`).  Before the road runs. */
void road_watch_callers(struct road *r, void (*settled)(void *arg, int64_t num), void *arg);
/* `due` is called, on the claimer's thread, with each queue of jobs that has tokens which are due:
 * when the claimer has woken some, and every second.  NULL: nobody asks any more; a call may
 * still be under way, so `arg` lives until the road has stopped. */
void road_tell_jobs(struct road *r, void (*due)(void *arg, int64_t queue), void *arg);
/* The token of a job was put where it is due then: the claimer wakes it in time. */
void road_token_due(struct road *r, int64_t due_us);
/* Whose code brings the process down (suspects.h). */
struct suspects *road_suspects(struct road *r);
