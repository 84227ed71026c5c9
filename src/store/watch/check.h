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

enum { CHECK_MESSAGE = 16 << 10 };

struct check_result {
    int64_t looked_at, bad;
    const char *left_out;        /* what the check did not look at; NULL: nothing */
    char message[CHECK_MESSAGE]; /* if bad > 0: what is wrong, line by line, and the remedy */
};

size_t check_count(void);
const char *check_name(size_t i);
/* deep: also reads every stored stage of every document: what steps changed, what was sent. */
bool check_run(struct store *s, size_t i, bool deep, struct check_result *ret, struct err *err);
