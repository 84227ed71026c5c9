/* step_io.h - what a step reads and makes, in pieces: core/service.h over a flight.
 *
 * What comes in is in memory, or is read from the store piece by piece.  What comes out is gathered
 * in memory up to the size of a segment's entry; what is more goes to an upload as it comes, so
 * that no document has to fit into memory.  A dry flight writes nothing to the store: what it makes
 * stays in memory, up to SERVICE_BYTES_MOST.
 *
 * A step that needs the store on a thread that may not block fails with `wants_thread`, and is run
 * again on one that may: steps are pure.
 *
 * Threads: the one that holds the flight.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/digest.h"
#include "core/service.h"
#include "engine/flight/flight.h"
#include "store/road/set_record.h"

struct payload_reader;
struct upload;

/* The record of a keyed step (walk/keyed.h). */
struct step_record {
    const struct plan_step *step;
    struct str set, key;
    int64_t set_id; /* 0: there is no such set yet */
    struct set_record was;
};

struct step_io {
    struct service_io io; /* for the step */
    struct service_document document;
    struct flight *flight;
    struct variant *in;
    int64_t most; /* bytes that may come out */

    /* What came of it. */
    bool is_none;
    bool wants_thread;
    bool wants_kept; /* it makes more documents than one commit has, of what the next run could find
                        otherwise */
    bool is_too_large; /* of a dry flight: it is not known what the step would make */
    struct err err;    /* the store failed, not the step; kind ERR_NONE: it did not */

    struct step_record record;

    /* Its own. */
    const struct extractor *extractor; /* of what it says of its parts; NULL: nothing */
    struct arena found;                /* what that finds in one part */
    size_t at;                         /* in memory: what was read */
    struct payload_reader *reader;
    struct buf out;
    struct upload *upload; /* what does not fit into `out`; NULL: all does */
    struct digest digest;
    int64_t size;
    struct str notes[SERVICE_NOTES_MOST]; /* on the arena of the flight */
    size_t note_count;
};

typedef bool step_io_put(void *arg, struct str piece, struct err *err);

typedef bool step_begins_part(struct service_io *io, const struct service_part *head,
                              struct service_failure *ret_failure);

/* From the bytes at which the walk is.  `most`: of what comes out; `part`: walk/parts.h. */
void step_io_init(struct step_io *x, struct flight *f, const struct plan_step *s, int64_t most,
                  step_begins_part *part);
void step_io_done(struct step_io *x); /* drops what was not taken; twice is fine */

/* Gives all of what comes in to `put`, from the beginning.  False: x->err says what could not be
 * read, or *err is that of `put`. */
bool step_io_each(struct step_io *x, step_io_put *put, void *arg, struct err *err);

/* The notes of the step become lines of the timeline. */
void step_io_tell(struct step_io *x, struct str step);
/* After the step has succeeded: false, x->err: the upload could not be finished.  *ret is a new
 * variant, or the one that came in if nothing has changed. */
bool step_io_take(struct step_io *x, struct str step, struct variant **ret);
