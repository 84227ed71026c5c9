/* doctor.h - the invariants of the store, checked.
 *
 * Each check counts what it looked at and says what is wrong and what to do.  It reads
 * only, in slices, so it may run on a living node; a stopped one is opened read-only.
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

/* False: it could not look.  Messages are in the arena. */
bool doctor_run(struct store *s, struct arena *a, struct doctor_report *ret, struct err *err);
