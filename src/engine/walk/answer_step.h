/* answer_step.h - the answer that a step is given (`call`) becomes a document as well.
 *
 * The step has made its bytes of it already, which are kept (called.h); the document gets a copy.
 * It is made in the commit of the run's outcome, and in no other: a run that is repeated, because a
 * later step has failed, makes none, and the one that repeats it takes the answer that was kept.
 * So one run that comes to its end makes it once, however often it was begun.
 *
 * It is from the system that the step names, if it names one.
 *
 * Threads: the one that holds the flight.
 */
#pragma once

#include "engine/walk/answer_doc.h"

/* The answer at which the walk is: f->walk.bytes, but for an empty one. */
struct step_answer {
    struct str key; /* under which the service was asked */
    int64_t status, size;
    struct str ctype; /* as the key, it lives as long as the flight */
};

/* Whether answer_step_take() blocks, and the thread that walks may not. */
bool answer_step_needs_thread(const struct flight *f, const struct plan_step *s, int64_t size);
/* Notes it for the settlement; a step without `answer` has nothing to note.  False: the copy could
 * not be made, and the run has its outcome. */
bool answer_step_take(struct flight *f, const struct plan_step *s, const struct step_answer *a);
