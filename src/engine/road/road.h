/* road.h - documents move: from commit 1 to commit 2.
 *
 * The road has the flights (flight.h) and the threads that carry them: workers walk, the transfer
 * thread and the pool send, the claimer claims what waits in the store, and everything ends in the
 * writer.  Its files, each above those that it needs:
 *
 *   life        threads, wiring, start and stop
 *   feed        what waits in the store is claimed      load      ... and becomes a flight again
 *   work        the workers                             birth     claim at birth
 *   send        one attempt of one delivery             doubt     sends that may not happen twice
 *   settling    commit 2
 *   walk        extract, route, steps                   join      members of batches (batcher.h)
 *   outcome     what came of a delivery, a document
 *   order       deliveries in order                     order_keep  what waits in a lane, in memory
 *   redrive     dead letters start again                endpoints   breakers and pauses, stored
 *   suspects    code that may have brought us down      outbox    what is handed over in one go
 *   road        plans, clock, queues between threads (state.h)
 *
 * This header is what others may ask of it.
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

#include "base/err.h"
#include "engine/plan/plan.h"

struct dispatch;
struct flight_stock;
struct road;
struct transfer;

enum { FLIGHTS_MOST = 1024 };

struct plan *road_plan(struct road *r); /* in force, a reference */
/* Of a stored version, a reference; NULL with *err.  Blocks when it is not among the last few. */
struct plan *road_plan_of(struct road *r, int64_t version, struct err *err);
/* The clock of the store (govern.h): times that are stored, and compared by other nodes. */
int64_t road_now_us(const struct road *r);
struct dispatch *road_dispatch(struct road *r);
/* Where flights come from, also for those that only ask (walk.h). */
struct flight_stock *road_stock(struct road *r);
/* Something else that goes out over HTTP; false: the node stops, and done() is not called. */
bool road_transfer(struct road *r, struct transfer *t);
/* Something may begin, or may not, that could not, or could: the claimer looks now. */
void road_wake(struct road *r);
/* A document was accepted without a claim: it waits in the store. */
void road_note_backlog(struct road *r);
