/* row.h - the one encoding of rows: what travels, what is hashed, what is kept.
 *
 * Format   u16 (big-endian) number of columns; for each a byte with its cell type, a varint with
 * the number of bytes that follow, and those bytes: NULL nothing        INT varint of (i << 1) ^ (i
 * >> 63)      DEC TEXT BYTES UUID JSON as is FLOAT 8 bytes, big-endian      BOOL one byte, 0 or 1
 *              INSTANT LOCAL TIME 8 bytes, DATE 4 bytes, big-endian, signed
 *          Cells are in their one form (cell.h), so equal rows have equal bytes.
 *
 * Reading is strict: a row that row_take() accepts is encoded to the same bytes again.  It may come
 * from anybody.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/str.h"
#include "table/cell.h"

/* Appends a row; ERR_LIMIT: the cap of `to` is reached, and `to` is as it was. */
bool row_put(struct buf *to, const struct cell *cells, size_t count, struct err *err);

/* Reads the whole of `bytes` into exactly `count` cells, which lend from it; every cell is NULL or
 * of types[i].  ERR_PERMANENT: it is no such row. */
bool row_take(struct str bytes, const enum cell_type *types, size_t count, struct cell *cells,
              struct err *err);

/* SHA-256 of the encoding. */
struct sha256 row_hash(struct str bytes);

/* A sum of row hashes modulo 2^256: the same for the same rows in any order, and that of a range is
 * the sum of those of its parts. */
struct row_sum {
    uint64_t words[4]; /* lowest first */
    int64_t rows;
};

void row_sum_add(struct row_sum *s, const struct sha256 *hash);
void row_sum_join(struct row_sum *s, const struct row_sum *more);
bool row_sum_same(const struct row_sum *a, const struct row_sum *b);

enum { ROW_SUM_BYTES = 40 }; /* big-endian rows, then the sum, big-endian */
void row_sum_put(const struct row_sum *s, uint8_t to[static ROW_SUM_BYTES]);
void row_sum_take(struct row_sum *s, const uint8_t from[static ROW_SUM_BYTES]);
