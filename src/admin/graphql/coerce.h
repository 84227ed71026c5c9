/* coerce.h - literals and JSON to values of a declared type.
 *
 * One routine for three uses: checking a document (variables are recorded, not
 * read), running it (variables are replaced by their values) and reading the
 * variables themselves (JSON becomes literals first).
 *
 * Invariants
 *   (1) at most GRAPHQL_VALUES_MAX values come out of one struct graphql_coerce,
 *       so that a small input with defaults cannot become large.
 */
#pragma once

#include "admin/graphql/type.h"

enum { GRAPHQL_VALUES_MAX = 20000 };

struct graphql_coerce {
    struct arena *arena;
    const struct graphql_variable *variables; /* when running: with their values */

    /* When checking: called for each variable, with the type expected in its place. */
    void (*use)(void *self, const struct graphql_literal *v, struct graphql_ref ref,
                bool has_default);
    void *self;

    size_t count; /* (1)                                     */
    size_t at;    /* after a failure: the place in the source */
};

/* *ret is untouched on failure. */
bool graphql_coerce_value(struct graphql_coerce *c, const struct graphql_literal *v,
                          struct graphql_ref ref, struct graphql_value *ret, struct err *err);

/* Matches named literals with declared arguments and gives one value per declared argument, in
 * the order of declaration.  `at` is the source position reported for a missing argument. */
bool graphql_coerce_arguments(struct graphql_coerce *c, const struct graphql_input *args,
                              size_t count, const struct graphql_literal *given, size_t at,
                              const struct graphql_value **ret, struct err *err);

/* Converts JSON to a literal in the arena of `c`. */
bool graphql_coerce_json(struct graphql_coerce *c, struct json_t *json,
                         struct graphql_literal **ret, struct err *err);

/* The declared variable of that name; NULL: not declared. */
const struct graphql_variable *graphql_coerce_find(const struct graphql_variable *list,
                                                   struct str name);
