/* sdl.h - the schema definition language to types.
 *
 * Understands scalar, type, enum and input, with descriptions, default values,
 * @deprecated and @specifiedBy; and says so when it meets anything else.
 */
#pragma once

#include "admin/graphql/type.h"

/* Adds the definitions of `sdl` to the schema, names of types still unresolved.
 * `builtin` is the part that we write ourselves: it may define directives and
 * names that begin with "__".  The text must live as long as the schema. */
bool graphql_sdl_read(struct graphql_schema *s, struct str sdl, bool builtin, struct err *err);
