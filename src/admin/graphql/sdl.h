/* sdl.h - the schema definition language to types.
 *
 * Understands scalar, type, enum and input, with descriptions, default values and our
 * directives; anything else is an error.
 */
#pragma once

#include "admin/graphql/type.h"

/* Adds the definitions of `sdl` to the schema; names of types are not resolved yet.  `builtin`
 * marks the prelude, which may define directives and names that begin with "__".  The text must
 * live as long as the schema. */
bool graphql_sdl_read(struct graphql_schema *s, struct str sdl, bool builtin, struct err *err);
