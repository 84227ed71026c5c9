/* introspect.h - introspection: queries about the schema itself.
 *
 * Introspection has no code path of its own: its types are declared in prelude.graphql and
 * answered by a table of resolvers, as all others.
 */
#pragma once

#include "admin/graphql/graphql.h"

/* The text of prelude.graphql, in static storage. */
struct str graphql_introspect_sdl(void);

/* Binds the resolvers of the prelude's types. */
bool graphql_introspect_bind(struct graphql_schema *s, struct err *err);
