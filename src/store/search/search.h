/* search.h - numbers of documents that may match a filter, newest first.
 *
 * Each thing that a filter asks for and that has an index is a source: numbers in falling
 * order, read some at a time.  A number that all sources have is looked at; who asks then
 * compares the document itself, for an index may name one that has changed.
 *
 *   source      SQLite                                  PostgreSQL
 *   words       lists behind the write, rows above      indices of the tables
 *   scope       the words of its systems, together
 *   size        lists of classes, rows above            classes of ended ones, rows of live ones
 *   attributes  table term, rows above                  table term
 *   name        table name_index, rows above            indices of the tables
 *   state       live ones; dead tasks; ended ones by state, but for delivered
 *   error       deliveries with a code, dead tasks, members of batches with one of those
 *   children    table link
 *
 * Times become a range of numbers: numbers follow time, but for DISORDER_US.
 *
 * Threads: of whoever asks; it holds a connection and no transaction.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "store/search/document.h"

struct store;

struct search;

/* Lives on the arena; `f` and the connection are lent. */
bool search_open(struct store *s, struct db *db, const struct document_filter *f, struct arena *a,
                 struct search **ret, struct err *err);

enum search_end {
    SEARCH_FOUND,  /* one that may match */
    SEARCH_PAUSED, /* not yet: it took long enough for one time */
    SEARCH_OVER    /* there is none any more */
};

/* The next one below *io_below; afterwards everything from *io_below up was looked at.
 * *ret_slot: the table to look in first, below 0: not known. */
bool search_next(struct search *x, int64_t *io_below, int64_t *ret_slot, enum search_end *ret,
                 struct err *err);
/* It took long enough for one time. */
bool search_is_late(const struct search *x);
const struct slots *search_slots(const struct search *x);
/* The error that is asked for was compared already. */
bool search_knows_error(const struct search *x);
