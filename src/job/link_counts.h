/* link_counts.h - how the tables of links stand, for /metrics: as the last run on this node has
 * left them.
 *
 * The instances of a job of two versions of the configuration share what is counted of a table.
 *
 * Threads: any.
 */
#pragma once

#include "base/str.h"
#include "link/link_state.h"

struct link_count;

/* NULL: there are too many tables, and this one is not counted. */
struct link_count *link_counts_take(struct str link, struct str table);
void link_counts_put(struct link_count *c); /* NULL is fine */
/* From now on it is shown.  NULL is fine. */
void link_counts_set(struct link_count *c, const struct link_state *s);
/* The same for what a pass of verification has found. */
void link_counts_differ(struct link_count *c, int64_t rows, int64_t now_us);
