/* regex.h - regular expressions (PCRE2) under the limits of the house.
 *
 * The pattern is the operator's, the text is a stranger's: a search that explodes ends
 * after REGEX_CPU_US of processor time, at a number of matches tried, or at a depth, and
 * says REGEX_OVER; it never ends the process and never runs on.  Texts are UTF-8; bytes
 * that are not match nothing.  `\d` and `\w` are ASCII.
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

/* ERR_CONFIG with what is wrong and at which character of the pattern. */
bool regex_compile(struct str pattern, struct regex **ret, struct err *err);
void regex_free(struct regex *r); /* NULL is fine */

/* How many groups the pattern has; the whole match, number 0, is not counted. */
unsigned regex_groups(const struct regex *r);

/* The number of the group of this name; false: there is none, or more than one. */
bool regex_group_named(const struct regex *r, struct str name, unsigned *ret);

enum regex_found {
    REGEX_FOUND,
    REGEX_NONE,
    REGEX_OVER, /* a limit was met: it is not known whether there is a match */
};

struct regex_search {
    const struct regex *regex;
    struct str text;
    size_t at;    /* where the next search starts */
    bool empty;   /* the match before was empty: not the same one again */
    bool is_utf8; /* only looked at without JIT */
    void *match;  /* pcre2_match_data    */
    void *limits; /* pcre2_match_context */
    unsigned ticks;
    int64_t cpu_us; /* when it started; 0: it was short so far */
};

/* In place: the search must not move until it is done. */
void regex_search_init(struct regex_search *s, const struct regex *r, struct str text);
void regex_search_done(struct regex_search *s);

/* The next match, from the left, none overlapping the one before.  The limits are for all
 * matches of one search together. */
enum regex_found regex_next(struct regex_search *s);

/* Of the last match that was found; ptr NULL: this group took no part, or there is none. */
struct str regex_group(const struct regex_search *s, unsigned n);
