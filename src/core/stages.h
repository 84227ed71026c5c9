/* stages.h - the stages of a document: its bytes as received, and after each step.
 *
 * Stage 0 is what was received; stage N is what the N-th step made of it, counted over all its
 * runs.  The timeline says which steps ran and which of their bytes are stored: those that were
 * sent or wait to be.
 *
 * A commit writes the lines of stored bytes before the lines of the steps, each with the number of
 * its step in that run.  Timelines of programs that did not record the number are matched by the
 * names of the steps, from the last on.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "core/timeline.h"

struct stage {
    int64_t number; /* from 1 */
    int64_t at_us;
    struct str step; /* a view into the timeline, as the texts of `bytes` */
    bool is_stored;
    struct timeline_line bytes; /* if it is stored: the line with their place */
    /* Which lines of the timeline are about it, from 0: of the step, and of its bytes; -1: none. */
    int64_t step_line, bytes_line;
};

/* For an arena that holds the stages of the longest timeline. */
enum { STAGES_ARENA_MOST = 32 << 20 };

/* The stages from 1 on, in their order, on the arena. */
struct stage *stages_read(struct str timeline, struct arena *a, size_t *ret_count);
/* Whether the timeline was trimmed behind the stage, so that steps may be missing there. */
bool stages_gap_behind(struct str timeline, const struct stage *s);
/* The stage that a line of the timeline is about; NULL: none. */
const struct stage *stages_of_line(const struct stage *all, size_t count, int64_t line);
