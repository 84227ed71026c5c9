/* search.h - numbers of documents that may match a filter, newest first.
 *
 * Each indexed condition of a filter is a source: numbers in falling order, read in windows.  A
 * number that all sources have is a candidate.  The caller compares the document itself, because
 * it may have changed since it was indexed.  search.c says how, and why nothing is missed.
 *
 *   source      SQLite                                  PostgreSQL
 *   name ids    lists behind the write, rows above      indices of the tables
 *   scope       the name ids of its systems, united
 *   size        lists of classes, rows above            classes of ended ones, rows of live ones
 *   attributes  table term, rows above                  table term
 *   name        table name_index, rows above            indices of the tables
 *   state       live ones; dead tasks; ended ones by state, but for delivered
 *   error       deliveries with a code, dead tasks, members of batches with either
 *   children    table link
 *
 * Times become a range of numbers: numbers follow time, give or take DISORDER_US.
 *
 * Threads: that of the caller; a search uses its connection and holds no transaction.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "store/search/document.h"

struct store;

struct search;

/* The search lives on the arena; it borrows `f` and the connection. */
bool search_open(struct store *s, struct db *db, const struct document_filter *f, struct arena *a,
                 struct search **ret, struct err *err);

enum search_end {
    SEARCH_FOUND,  /* a candidate */
    SEARCH_PAUSED, /* none yet, and the time of a request is used up */
    SEARCH_OVER    /* there are no more */
};

/* The next candidate below *io_below; afterwards all numbers from *io_below up are dealt with.
 * *ret_slot: the table in which to look first, below 0: not known. */
bool search_next(struct search *x, int64_t *io_below, int64_t *ret_slot, enum search_end *ret,
                 struct err *err);
/* The time of a request is used up. */
bool search_is_late(const struct search *x);
const struct slots *search_slots(const struct search *x);
/* The sources have compared the error of the filter; the caller must not. */
bool search_knows_error(const struct search *x);
