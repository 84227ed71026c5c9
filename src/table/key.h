/* key.h - keys of rows as bytes that are in the order of the keys.
 *
 * Comparing two encoded keys byte by byte (str_cmp) is comparing the keys as every database here is
 * asked to order them, so a range is a range in all of them.
 *
 * Format   the columns one after the other:
 *              INT INSTANT LOCAL DATE TIME  8 bytes, big-endian, with the highest bit turned
 *              BOOL  one byte               UUID  16 bytes
 *              TEXT BYTES  with 0x00 as 0x00 0xff, and 0x00 0x00 behind
 *          No other type can be in a key, and no NULL.
 *
 * Reading is strict: a key that key_take() accepts is encoded to the same bytes again.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "table/cell.h"

bool key_type_fits(enum cell_type type);

/* Appends a key.  ERR_PERMANENT: NULL in it, or a type that cannot be in a key; ERR_LIMIT: over
 * SHAPE_KEY_BYTES (shape.h).  `to` is then as it was. */
bool key_put(struct buf *to, const struct cell *cells, size_t count, struct err *err);

/* The whole of `bytes` as exactly `count` cells of these types, on the arena where it must be.
 * ERR_PERMANENT: it is no such key. */
bool key_take(struct str bytes, const enum cell_type *types, size_t count, struct arena *a,
              struct cell *cells, struct err *err);
