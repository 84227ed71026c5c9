/* inside.h - how the parts of extract/ answer.  Not for others.
 *
 * Each source that reads the body (xml, json, csv) is a plan: its questions are read once,
 * and one run over a body answers all of them that are asked.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/str.h"
#include "core/regex.h"

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

struct extract_json;
struct extract_xml;
struct extract_csv;

/* The questions were checked (expr_parse); no two are the same.  Plans live on the arena and
 * point to the questions. */
struct extract_json *extract_json_new(const struct str *pointers, size_t count, struct arena *a);
struct extract_xml *extract_xml_new(const struct str *paths, size_t count, bool relative,
                                    struct arena *a);
struct extract_csv *extract_csv_new(const struct str *columns, size_t count, struct arena *a);

/* Answers stand in the order of the questions; those that are ASKED get one.  `whole`: there
 * is no more of the body. */
void extract_json_run(const struct extract_json *plan, struct str body, bool whole, struct arena *a,
                      struct answer *answers);
void extract_xml_run(const struct extract_xml *plan, struct str body, bool whole, struct arena *a,
                     struct answer *answers);
void extract_csv_run(const struct extract_csv *plan, struct str body, bool whole, struct arena *a,
                     struct answer *answers);

/* The first group that took part in the first match, or the match when there is none. */
struct answer extract_regex_run(const struct regex *regex, struct str text, bool whole,
                                struct arena *a);
