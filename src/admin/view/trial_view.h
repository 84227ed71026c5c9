/* trial_view.h - one step on a stage of a document, prepared for output.
 *
 * A script that is tried runs as one that is deployed, so it takes the same right, `configure`, and
 * for its document the right `payload`, which the caller checks (rule S14 of docs/security.md).
 *
 * Bounded: a stage has TRIAL_VIEW_IN bytes, the step ten seconds, and one is tried at a time on a
 * node.
 */
#pragma once

#include "base/arena.h"
#include "core/facts.h"
#include "core/problem.h"
#include "core/service.h"

struct document_view;
struct engine;

enum { TRIAL_VIEW_IN = 1 << 20, TRIAL_VIEW_RESULTS = 20, TRIAL_VIEW_TEXT = 64 << 10 };

struct trial_result_view {
    struct facts facts; /* of a part */
    struct str text;
    int64_t size;
    bool truncated, is_text;
};

struct trial_view {
    const struct problem_list *problems; /* the caller's */
    struct str end, code, message;       /* end: ptr NULL if it was not run */
    struct trial_result_view results[TRIAL_VIEW_RESULTS];
    size_t shown;
    int64_t count, duration, memory; /* duration -1: it was not run; memory 0: not known */
    struct str notes[SERVICE_NOTES_MOST];
    size_t note_count;
};

/* What is tried; everything is lent. */
struct trial_view_order {
    const struct document_view *document;
    struct str bytes; /* of the stage */
    struct str step;
    bool sees_records; /* the caller may see those of every set: they belong to no system */
};

/* Runs the step, which takes the place of the routes of the live version, on the bytes.  Texts are
 * on the arena.  Blocks.  False with problems: the step is wrong.  ERR_TRANSIENT: another one is
 * tried. */
bool trial_view_make(struct engine *e, const struct trial_view_order *order, struct arena *a,
                     struct problem_list *problems, struct trial_view *ret, struct err *err);
