/* index.h - secondary indices that run behind the write (SQLite).
 *
 * Filling an index row by row is the store's main cost, so documents are indexed
 * in slices of numbers between groups; the watermark (mark `indexed`) moves
 * in the same commit.  A slice reads live rows and those that ended, so a document
 * that ends before its slice costs nothing extra; one in which more is found behind
 * its slice gets that indexed with it (settle.c).  Every query reads the index up to
 * the watermark and the rows above it, so nothing is ever invisible.  They are one or two
 * times INDEX_EVERY_US behind.
 *
 * Facets: 1 gateway, 2 sender, 3 receiver, 4 type.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "store/writer.h"

enum { INDEX_SLICE = 2000, INDEX_EVERY_US = 50 * 1000 };

/* Run a slice if there is something for one.  *ret_waiting: rows wait for the next. */
bool index_slice(struct writer *w, bool *ret_waiting, struct err *err);
