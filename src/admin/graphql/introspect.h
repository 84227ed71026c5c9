/* introspect.h - the schema asked about itself.
 *
 * Introspection is ordinary: its types are written in prelude.graphql and
 * answered by a table of resolvers, as all others.
 */
#pragma once

#include "admin/graphql/graphql.h"

/* The prelude, lent for good. */
struct str graphql_introspect_sdl(void);

/* Binds the resolvers of the prelude's types. */
bool graphql_introspect_bind(struct graphql_schema *s, struct err *err);
