/* suggest.h - "did you mean": the known word nearest to a mistyped one. */
#pragma once

#include <stddef.h>

#include "base/str.h"

struct suggestion {
    struct str word;
    const char *best; /* NULL: nothing is near enough */
    size_t distance;
};

/* Offer one known word; the nearest one stays in `best`. */
void suggest(struct suggestion *s, const char *known);
