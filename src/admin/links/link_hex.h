/* link_hex.h - bytes of keys and digests as hex digits, and back; and rows that are kept, in
 * words. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"
#include "table/cell.h"

struct str link_hex(struct str bytes, struct arena *a);
/* An empty text gives an empty one; false: these are no hex digits. */
bool link_hex_read(struct str text, struct arena *a, struct str *ret);

enum { LINK_VALUE_MOST = 200 /* bytes of a value that are shown */ };

/* The cells of a row as table/row.h encodes it, which says itself of which types they are.  They
 * lend from it; false: it is no row. */
bool link_row_read(struct str row, struct arena *a, struct cell **ret, size_t *ret_count);
/* "12, berlin": the key of a row with these cells, which begin with those of the key; in hex if
 * they do not. */
struct str link_key_of_row(struct str key, const struct cell *cells, size_t count, struct arena *a);
struct str link_key_words(const struct cell *cells, size_t count, struct arena *a);
