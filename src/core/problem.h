/* problem.h - what is wrong with a text, where, and what would help.
 *
 * Checking a configuration collects every problem instead of ending at the
 * first.  A problem has a place, one line of message and, where something
 * useful can be said, a hint.
 *
 * Invariants
 *   (1) count <= PROBLEM_MOST; later ones are only counted, in left_out.
 *   (2) messages and hints are one line each and contain no control characters.
 *
 * Ownership: the list owns its texts; problem_list_done() frees them.
 */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "base/str.h"

enum { PROBLEM_MOST = 100, PROBLEM_QUOTE = 80 };

struct place {
    unsigned line, column; /* from 1; columns count characters */
};

struct problem {
    struct place place;
    const char *message;
    const char *hint; /* NULL: none */
};

struct problem_list {
    struct arena arena;
    struct problem items[PROBLEM_MOST];
    size_t count, left_out;
};

#define PROBLEM_LIST_INIT                \
    {                                    \
        .arena = ARENA_INIT(1024 * 1024) \
    }

void problem_list_done(struct problem_list *list); /* safe on a zeroed list, and twice */

/* `hint` may be NULL or empty; both texts are copied, and cut when very long. */
void problem_add(struct problem_list *list, struct place place, const char *hint, const char *fmt,
                 ...) __attribute__((format(printf, 4, 5)));

/* Sorts by place, stable. */
void problem_sort(struct problem_list *list);

/* The value as a message may show it: control characters replaced, a long value
 * cut at a character boundary.  Never for values that may be secret. */
const char *problem_quote(char text[static PROBLEM_QUOTE], struct str value);
