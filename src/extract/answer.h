/* answer.h - the result of one question of extraction.
 *
 * Each source that reads the body (xml, json, csv, hl7, x12, edifact) has a plan: its questions are
 * compiled once (expr_parse() has checked them, and no two are the same), and one pass over a body
 * answers all that are asked.  Plans are on the arena and point to the questions.  Answers are in
 * the order of the questions; those that are ASKED get one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/str.h"

enum {
    EXTRACT_DEPTH_MOST = 256,
    EXTRACT_STEPS_MOST =
        10000000, /* XML: elements, and paths checked per element; HL7: segments and paths */
};

enum answer_kind {
    ANSWER_NOTHING, /* absent or empty; or it was not asked */
    ANSWER_ASKED,
    ANSWER_FOUND,
    ANSWER_BROKEN, /* the body is not of this format */
    ANSWER_CUT,    /* not in the part of the body that is read */
    ANSWER_UNFIT,  /* found, but unusable: too long, control characters */
    ANSWER_OVER,   /* a budget is exhausted */
};

enum { ANSWER_NOWHERE = -1 };

struct answer {
    enum answer_kind kind;
    struct str value; /* FOUND: trimmed, on the arena                       */
    const char *why;  /* else: "is an object"; NULL: just absent */
    ptrdiff_t at;     /* the byte offset in the body, or ANSWER_NOWHERE */
};

/* Trims, checks and copies a value: FOUND, NOTHING or UNFIT. */
struct answer answer_make(struct str value, ptrdiff_t at, struct arena *a);

/* Sets all answers that are still ASKED. */
void answer_rest(struct answer *answers, size_t count, struct answer with);
