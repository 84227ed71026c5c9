/* schema_loops.h - finds a schema whose check would never end.
 *
 * A subschema that refers to itself for a value inside of its own ends with the document.  One that
 * refers to itself for the same value, by `$ref`, `allOf` and the like, does not.
 */
#pragma once

#include "service/schema/schema.h"

/* False, with ERR_CONFIG: there is such a subschema. */
bool schema_loops_check(const struct schema *s, struct err *err);
