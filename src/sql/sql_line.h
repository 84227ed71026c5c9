/* sql_line.h - links that are kept from one call to the next (core/line/line.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/line/line.h"
#include "sql/sql_link.h"
#include "sql/sql_place.h"

/* The first member of the `self` of whoever keeps links. */
struct sql_line {
    struct sql_place place;
    int64_t timeout_us; /* of a call */
    int64_t spare_us;   /* it is given up so long after that; 0: when it is over */
};

extern const struct line_type sql_line_type;

/* When a call must have ended: with its `timeout`, and before it would be given up, so that its
 * thread is not lost. */
int64_t sql_line_until(const struct sql_line *self, const struct call *c);

/* *ret_kept: it was open before, and may be closed by the server although it looked open. */
bool sql_line_take(struct sql_line *self, struct call *c, struct sql_link **ret, bool *ret_kept,
                   struct sql_failure *f);
/* clean: no transaction is open on it.  Otherwise, or if it is lost, it is closed.  NULL is fine.
 */
void sql_line_give(struct sql_line *self, struct call *c, struct sql_link *l, bool clean);
