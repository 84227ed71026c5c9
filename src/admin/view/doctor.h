/* doctor.h - the invariants of the store, checked.
 *
 * Each check counts the rows or files it examined, and says what is wrong and what to do.
 * Checks only read, in slices, so they may run on a running node.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

struct store;

struct doctor_check {
    const char *name; /* stable */
    bool ok;
    const char *message;
    int64_t count;
};

enum { DOCTOR_CHECKS_MOST = 16 };

struct doctor_report {
    bool ok;
    size_t count;
    struct doctor_check checks[DOCTOR_CHECKS_MOST];
};

/* False: the checks could not run.  Messages are in the arena. */
bool doctor_run(struct store *s, bool deep, struct arena *a, struct doctor_report *ret,
                struct err *err);
