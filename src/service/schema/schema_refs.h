/* schema_refs.h - names in a schema (`$id`, `$anchor`, `$dynamicAnchor`), and what refers to them.
 *
 * While a schema is made: the names first, then the references.
 */
#pragma once

#include "service/schema/schema.h"

/* Notes the names of a subschema, whose `resource` is that of the subschema around it and becomes
 * its own if it has an `$id`. */
bool schema_refs_note(struct schema *s, uint32_t sub, struct err *err);

/* The subschema that the text `node` refers to, seen from `subschema`.  *ret_anchor: the name of
 * the dynamic anchor that was found there, or empty. */
bool schema_refs_find(struct schema *s, uint32_t sub, uint32_t node, uint32_t *ret,
                      struct str *ret_anchor, struct err *err);

/* The subschema with this dynamic anchor in a resource; SCHEMA_NONE: there is none. */
uint32_t schema_refs_dynamic(const struct schema *s, uint32_t resource, struct str anchor);
