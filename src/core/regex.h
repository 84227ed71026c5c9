/* regex.h - regular expressions (PCRE2) under limits.
 *
 * The pattern comes from the operator, the text from outside: a search that backtracks too much
 * ends after REGEX_CPU_US of processor time, after a number of match attempts, or at a depth, and
 * returns REGEX_OVER.  Texts are UTF-8; a text with other bytes does not match.  `\d` and `\w` are
 * ASCII.
 *
 *     struct regex_search s;
 *     regex_search_init(&s, r, text);
 *     while (regex_next(&s) == REGEX_FOUND)
 *         use(regex_group(&s, 0));
 *     regex_search_done(&s);
 *
 * Ownership: groups are views into the text.
 * Threads: a compiled expression is never changed and may be used from many threads; a
 * search belongs to one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

enum { REGEX_PATTERN_MOST = 4096, REGEX_CPU_US = 500 * 1000 };

struct regex;

/* ERR_CONFIG: the text says what is wrong and at which character of the pattern. */
bool regex_compile(struct str pattern, struct regex **ret, struct err *err);
/* One that was written for ECMAScript, as those of JSON Schema are: `$` is the very end, `\uXXXX`
 * and
 * `\u{X}` are characters, `[]` is an empty class, and the pattern may be empty. */
bool regex_compile_ecma(struct str pattern, struct regex **ret, struct err *err);
void regex_free(struct regex *r); /* NULL is fine */

/* The number of groups of the pattern, without group 0, the whole match. */
unsigned regex_groups(const struct regex *r);

/* The number of the group of this name; false: no group has it, or more than one. */
bool regex_group_named(const struct regex *r, struct str name, unsigned *ret);

enum regex_found {
    REGEX_FOUND,
    REGEX_NONE,
    REGEX_OVER, /* a limit was reached: whether there is a match is unknown */
};

struct regex_search {
    const struct regex *regex;
    struct str text;
    size_t at;    /* where the next search starts */
    bool empty;   /* the last match was empty: do not find it again */
    bool is_utf8; /* only used without JIT */
    void *match;  /* pcre2_match_data    */
    void *limits; /* pcre2_match_context */
    unsigned ticks;
    int64_t cpu_us; /* processor time at the first check; 0: none yet */
};

/* The search must not move in memory until regex_search_done(). */
void regex_search_init(struct regex_search *s, const struct regex *r, struct str text);
void regex_search_done(struct regex_search *s);

/* The next match from the left that does not overlap the last one.  The limit on processor time is
 * for all matches of one search together. */
enum regex_found regex_next(struct regex_search *s);

/* A group of the last match; ptr NULL: the group did not take part, or does not exist. */
struct str regex_group(const struct regex_search *s, unsigned n);
