/* budget.h - how much of a node's time one principal may use.
 *
 * A single request is limited by its depth, its cost and its time (graphql.h); this limits many of
 * them.  In the long run a principal may keep one thread of the background pool busy, after a burst
 * of BUDGET_BURST_US: one stream of requests never waits, several that each keep a thread busy do.
 * A request runs when anything is left, and what it took is paid afterwards, up to the burst: a
 * single long one does not lock its caller out.
 *
 * Principals are kept by name, in a table of fixed size; a new one replaces the one whose last
 * request is longest ago.  Pure: the time is a parameter.
 *
 * Threads: any.
 */
#pragma once

#include <stdint.h>

#include "base/str.h"

struct budget;

#define BUDGET_BURST_US (INT64_C(10) * 1000000)

struct budget *budget_new(void);
void budget_free(struct budget *b); /* NULL is fine */

/* 0: a request may run.  Otherwise the microseconds to wait. */
int64_t budget_wait(struct budget *b, struct str who, int64_t now_us);
void budget_pay(struct budget *b, struct str who, int64_t took_us, int64_t now_us);
