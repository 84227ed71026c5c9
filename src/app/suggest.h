/* suggest.h - "did you mean": the known word nearest to a mistyped one. */
#pragma once

#include <stddef.h>

#include "base/str.h"

struct suggestion {
    struct str word;
    const char *best; /* NULL: no known word is similar enough */
    size_t distance;
};

/* Compares with one known word; the nearest of all calls is in `best`. */
void suggest(struct suggestion *s, const char *known);
