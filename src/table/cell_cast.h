/* cell_cast.h - what the files of the casts share: the inside of cell.h.
 *
 * A cast is a function in a table, from one type to another.  It sets the value of *ret, whose type
 * is set already.  False: this value has no form there; *ret_why may say why, in static words.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "table/cell.h"

typedef bool cell_cast_fn(const struct cell *from, struct arena *a, struct cell *ret,
                          const char **ret_why);

/* Whether cell_cast() knows a way at all, even if not every value can go it. */
bool cell_cast_is_there(enum cell_type from, enum cell_type to);

/* Memory for a value whose size comes from outside; NULL: the arena has no room for it.  It leaves
 * some, for what is small and of our own making. */
static inline char *cell_cast_room(struct arena *a, size_t size)
{
    size_t left = a->cap - a->used, spare = a->cap / 64;

    if (left < spare + 32 || size > left - spare - 32)
        return NULL;
    return arena_alloc(a, size);
}

/* UTF-8 without NUL. */
bool cell_text_is_fine(struct str s);

/* A UUID as text. */
enum { CELL_UUID_BYTES = 16, CELL_UUID_TEXT = 36 };
void cell_uuid_put(const char *bytes, char to[static CELL_UUID_TEXT]);

/* cell_cast_text.c */
cell_cast_fn cell_text_of_int, cell_text_of_float, cell_text_of_bool, cell_text_of_time,
    cell_text_of_uuid;
cell_cast_fn cell_text_to_int, cell_text_to_float, cell_text_to_bool, cell_text_to_time,
    cell_text_to_uuid;
