/* cell_json.h - JSON in its one form: the inside of cell.h.
 *
 * RFC 8785 with exact numbers: no blanks; the members of an object in order of their names by
 * UTF-16 units; texts with no escape but those that must be; numbers as cell.h has a DEC.  Of
 * members with one name the last one stays, as jsonb, JavaScript and Jansson have it.
 *
 * Nothing recurses: levels are in an array of JSON_SCAN_DEPTH.
 *
 * Threads: any; nothing here has a state.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/str.h"

bool cell_json_is_normal(struct str text);

/* JSON in its one form, lent if it has it.  False: it is no JSON, or there is no room for it;
 * *ret_why says what, in static words. */
bool cell_json_normal(struct str text, struct arena *a, struct str *ret, const char **ret_why);
