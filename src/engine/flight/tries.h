/* tries.h - what the stored timeline says of earlier runs of a step: how often it was tried, and
 * what was kept of it.
 *
 * Only what happened since a person or a new configuration started the document last counts.  A
 * step is known by its name and its number in the run; of two steps of one name the second is tried
 * only when something was kept of the first.
 *
 * Bytes that answer a question (walk/called.h) are known by that as well, if the question may be
 * another one in the next run: the message of their line ends with it.
 *
 * Bytes made of a record (walk/keyed.h) or in a process (walk/step_end.h) count only if their run
 * was to be repeated with them: the message of their line ends with TRIES_NEXT_RUN.  So does that
 * of a line without bytes, by which the step leaves them as they are.
 *
 * Threads: the one that holds the flight.
 */
#pragma once

#include "core/timeline.h"
#include "engine/flight/flight.h"

#define TRIES_NEXT_RUN STR("in the next run too")

struct tries {
    int64_t count;    /* failed tries */
    int64_t first_us; /* when the first of them began; 0: there was none */
    bool is_passed;   /* it left the bytes as they were, and does so again */
    bool has_bytes;
    struct payload_source bytes; /* what it made ... */
    int64_t status;              /* ... of an answer with this status, or 0 */
    struct str ctype;            /* of the same; a view into the timeline */
};

struct tries tries_of(const struct flight *f, struct str step, int64_t number);
/* The same, and only bytes that answer this question, or TRIES_NEXT_RUN; empty: any. */
struct tries tries_asked(const struct flight *f, struct str step, int64_t number,
                         struct str question);
