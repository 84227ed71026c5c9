/* answer.h - what a source of extract/ found for one question.
 *
 * Each source that reads the body (xml, json, csv) is a plan: its questions are read once (they
 * were checked by expr_parse(), and no two are the same), and one run over a body answers all of
 * them that are asked.  Plans live on the arena and point to the questions.  Answers stand in the
 * order of the questions; those that are ASKED get one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/str.h"

enum {
    EXTRACT_DEPTH_MOST = 256,
    EXTRACT_STEPS_MOST = 10000000, /* an element or a path that looks at it, in XML */
};

enum answer_kind {
    ANSWER_NOTHING, /* it is not there, or is empty; also: it was not asked            */
    ANSWER_ASKED,
    ANSWER_FOUND,
    ANSWER_BROKEN, /* the body is not of this form                                    */
    ANSWER_CUT,    /* not in the part of the body that is looked at                   */
    ANSWER_UNFIT,  /* found, but no value for us: too long, control characters        */
    ANSWER_OVER,   /* a budget was used up                                            */
};

enum { ANSWER_NOWHERE = -1 };

struct answer {
    enum answer_kind kind;
    struct str value; /* FOUND: trimmed, on the arena                       */
    const char *why;  /* else: "is an object"; NULL: it is just not there   */
    ptrdiff_t at;     /* the byte in the body, from 0; or ANSWER_NOWHERE    */
};

/* Trim and judge a value and keep a copy of it: FOUND, NOTHING or UNFIT. */
struct answer answer_make(struct str value, ptrdiff_t at, struct arena *a);

/* All that are still ASKED become this. */
void answer_rest(struct answer *answers, size_t count, struct answer with);
