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
 * A row is a list: the documents of one slice that share a word.  Lists of a kind and word
 * follow each other without overlap.  What was found behind its slice stands apart, one by
 * one, under kinds of its own, so that this stays true.
 *
 * Attributes (term.h) and file names go into tables of their own, with the same watermark.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "store/kernel/writer.h"

enum facet_kind {
    FACET_SIZE, /* its words are classes of sizes */
    FACET_GATEWAY,
    FACET_SENDER,
    FACET_RECEIVER,
    FACET_TYPE,
    FACET_LATE = 3 /* added to the kind of what was found behind its slice */
};

enum { INDEX_SLICE = 2000, INDEX_EVERY_US = 50 * 1000 };

/* The class of a size, from 1; larger sizes have larger classes, or the same. */
int64_t index_size_class(int64_t size);

/* Run a slice if there is something for one.  *ret_waiting: rows wait for the next. */
bool index_slice(struct writer *w, bool *ret_waiting, struct err *err);
