/* check.h - what must be true of a store, as checks that count.
 *
 * Read-only and in slices; on a living store a check that finds something looks a
 * second time, because work in flight moves rows between two looks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct store;

struct check_result {
    int64_t looked_at, bad;
    char message[300]; /* when bad: what is wrong, and the remedy */
};

size_t check_count(void);
const char *check_name(size_t i);
bool check_run(struct store *s, size_t i, struct check_result *ret, struct err *err);
