/* sql_items.h - the items of a JSON document, as values of parameters.
 *
 *     each: "json:/order/lines"        one execution of the statement for each item of the list
 *
 * Numbers keep their digits, null is NULL, a list or an object is its own text.
 *
 * Threads: pure; from any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "sql/sql_link.h"

enum { SQL_ITEMS_MOST = 100000, SQL_ITEMS_STEPS = 32 };

/* Where the list is: a JSON Pointer. */
struct sql_items_at {
    struct str text;
    struct str tokens[SQL_ITEMS_STEPS];
    size_t count;
};

/* Reads `json:/order/lines`, on the arena; `json:` alone is the whole document.  ERR_CONFIG. */
bool sql_items_at_read(struct str text, struct arena *a, struct sql_items_at *ret, struct err *err);

/* The items as they stand in the document; the array is on the arena.  ERR_PERMANENT: it is not
 * JSON, or there is no list at this place. */
bool sql_items_find(const struct sql_items_at *at, struct str document, struct arena *a,
                    struct str **ret, size_t *ret_count, struct err *err);

/* The member of an item that has this name; false: it has none, or is no object.  On the arena. */
bool sql_items_field(struct str item, struct str name, struct arena *a, struct datum *ret);
