/* index.h - secondary indices that run behind the write (SQLite).
 *
 * Filling an index row by row is the store's main cost, so documents are indexed in slices of
 * numbers between groups; the watermark (mark `indexed`) moves in the same commit.  A slice
 * reads live and ended documents, so a document that ends before its slice costs nothing extra.
 * Facts that are extracted after a document's slice are added by their settlement (settle.c).
 * Every query reads the index up to the watermark and the rows above it, so a committed document
 * is always found.  The index lags by one or two times INDEX_EVERY_US.
 *
 * A row is a list: the documents of one slice that share a facet and a name id.  The lists of a
 * facet and name id follow each other without overlap.  Facts added late are lists of one number
 * under kinds of their own (FACET_LATE), so that this stays true.
 *
 * Attributes (term.h) and file names go into tables of their own, with the same watermark.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "store/kernel/writer.h"

enum facet_kind {
    FACET_SIZE, /* with a class of sizes in place of the name id */
    FACET_GATEWAY,
    FACET_SENDER,
    FACET_RECEIVER,
    FACET_TYPE,
    FACET_LATE = 3 /* added to the kind of facts that came after the slice of their document */
};

enum { INDEX_SLICE = 2000, INDEX_EVERY_US = 50 * 1000 };

/* The class of a size, from 1; it never falls as the size grows. */
int64_t index_size_class(int64_t size);

/* Runs a slice if one is due.  *ret_waiting: documents above the watermark wait for the next. */
bool index_slice(struct writer *w, bool *ret_waiting, struct err *err);
