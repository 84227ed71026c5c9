/* road.h - documents move: from commit 1 to commit 2.
 *
 * The road has the flights (flight.h) and the threads that carry them: workers walk, the transfer
 * thread and the senders send, the claimer claims tasks from the store, and everything ends in the
 * writer.  Its files, each above those that it needs:
 *
 *   life        threads, wiring, start and stop
 *   claimer     claims tasks from the store             load        makes flights from them
 *   work        the workers                             birth       claim at birth
 *   send        one attempt of one delivery             doubt       systems that are not idempotent
 *   sender      calls of endpoints that block
 *   settling    commit 2                                slow        flights that take long
 *   walk        extract, route, steps                   join        members of batches (batcher.h)
 *   step        one step of a chain                     caging      walks that wait for a process
 *   walk_facts  who it is from and for                  parts       documents made of one
 *   outcome     from a verdict to a state               copies      one for each subscriber
 *   keyed       steps that read or keep a record
 *   answers     what receivers answered, to be kept     answer_doc  ... or made a document
 *   answer_take an answer on its way
 *   answering   what an incoming document answers
 *   order       ordered deliveries                      order_keep  flights that wait in a lane
 *   redrive     dead letters start again                endpoints   breakers and pauses, stored
 *   walking     what is known during a walk
 *   suspects    code that may have crashed the process  outbox      batches for other threads
 *   road        plans, clock, queues between threads (state.h)
 *
 * This header is for the rest of the engine; life.h starts and stops the road.
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
#include "engine/plan/plan.h"

struct dispatch;
struct flight_stock;
struct road;
struct transfer;

enum { FLIGHTS_MOST = 1024 };

struct plan *road_plan(struct road *r); /* in force, a reference */
/* The plan of a stored version, a reference; NULL with *err.  Blocks if it is not one of the last
 * few. */
struct plan *road_plan_of(struct road *r, int64_t version, struct err *err);
/* The clock of the store (govern.h), for times that are stored and compared by other nodes. */
int64_t road_now_us(const struct road *r);
struct dispatch *road_dispatch(struct road *r);
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
