/* checking.h - one run over the checks of a job of kind `check`.
 *
 * Connections are opened when the first check needs them and are kept for the rest of the run.  A
 * check is made in one snapshot of the database; the numbers of rows of two databases cannot be of
 * one moment: where they differ, the first one is counted again, and a number that lies between
 * both is no finding.
 *
 * What cannot be checked has failed: never fine, and nothing that was found.
 *
 * Threads: one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "job/check_rule.h"
#include "table/sought.h"

struct call;

enum check_outcome { CHECK_FINE, CHECK_FOUND, CHECK_FAILED };

struct checked {
    enum check_outcome outcome;
    struct found found; /* of counts: the number of rows of the table, ... */
    int64_t other;      /* ... and of the other one */
    int64_t most;       /* it was counted up to here */
    struct err err;     /* FAILED: with the database in front */
    const char *remedy; /* FAILED; NULL: the error says it */
};

struct checking {
    const struct check_spec *spec;
    struct call *call;
    int64_t now_us;      /* by which `older` counts */
    struct arena *arena; /* of one check: texts of `checked` are in it */
    struct checking_base {
        struct database *db; /* NULL: not open */
        bool failed;         /* to open it */
        struct err why;
    } bases[CHECK_BASES_MOST];
};

void checking_one(struct checking *c, const struct check_rule *r, struct checked *ret);
void checking_done(struct checking *c); /* closes what is open */

/* What a check has shown, in a line: "orphans: order_line (order_id) in orders: 2 rows, at most 0:
 * id = 5, order_id = 9; ..." */
void checked_say(const struct check_rule *r, const struct checked *k, struct buf *to);
