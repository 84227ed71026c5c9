/* check.h - checks of the store's invariants, which count violations.
 *
 * Checks only read, in slices.  On a running store a check that finds something runs
 * a second time, because flights move rows between two statements.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct store;

struct check_result {
    int64_t looked_at, bad;
    char message[300]; /* if bad > 0: what is wrong, and the remedy */
};

size_t check_count(void);
const char *check_name(size_t i);
bool check_run(struct store *s, size_t i, struct check_result *ret, struct err *err);
