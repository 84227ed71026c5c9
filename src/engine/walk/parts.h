/* parts.h - a step makes documents out of one: they are committed in chunks.
 *
 * A service that begins a part (core/service.h) ends its chain.  Parts are gathered until a chunk
 * is full, and committed while the service makes the next one; the last chunk is committed with the
 * settlement of the flight (store/road/offspring.h).  So however many parts there are, two chunks
 * of them are in memory, and the flights of those that are on their way already (born.h): a chunk
 * waits a moment for room, so that parts are not made much faster than they run.
 *
 * After a crash, or a failure of the store, the step runs again from its beginning: parts that are
 * committed are counted and left out.  All parts of a document are made by one version.
 *
 * A part begins at the router, with the facts of its parent and what its head says.  Its names are
 * looked up here, but one that no system has is no failure of the parent: the part is then a dead
 * letter by itself.  So is a part of which the step could not say what it is: its reason is the
 * attribute PARTS_FAILED, which no configuration can name.
 *
 * Threads: the one that holds the flight; it may block.
 */
#pragma once

#include "base/digest.h"
#include "core/service.h"
#include "engine/flight/flight.h"
#include "store/segment/segment.h"

#define PARTS_FAILED STR("part failed")

/* `part` of a step_io (flight/step_io.h).  From here on what is put belongs to the part. */
bool parts_begin(struct service_io *io, const struct service_part *head,
                 struct service_failure *ret_failure);
/* The step has succeeded: all chunks but the last are committed. */
bool parts_end(struct flight *f, struct service_io *io, struct service_failure *ret_failure);
int64_t parts_count(const struct flight *f);
/* Forgets what is not committed.  Nothing without parts. */
void parts_drop(struct flight *f);

/* One copy of the document per receiver, all in the commit that settles the flight
 * (walk/copies.h).  The first ones have the bytes, which are lent until then; the last
 * `upload_count` have uploads, which are theirs from here on. */
struct parts_copies {
    const struct str *receivers; /* names of systems */
    size_t count;                /* up to OFFSPRING_PARTS_MOST */
    struct str bytes;            /* not NULL */
    const struct payload_ref *uploads;
    size_t upload_count;
    int64_t size;
    struct sha256 sha256;
};

void parts_copy(struct flight *f, const struct parts_copies *c);

/* The operation that settles the flight and makes its last parts; f->settle is prepared, and
 * settled() is called on a writer's thread, with f->settle.op filled in. */
struct store_op *parts_settlement(struct flight *f, void (*settled)(struct store_op *op));
