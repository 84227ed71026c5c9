/* syntax.h - the grammar that queries and schemas have in common.
 *
 * Values, types, arguments and directives.  Each function begins at the first token of
 * its construct and ends at the first token after it.  After a failure lex.fault is the
 * position.
 */
#pragma once

#include "admin/graphql/ast.h"
#include "admin/graphql/lex.h"

struct graphql_syntax {
    struct graphql_lex lex;
    struct arena *arena;
    size_t directives_max; /* on one field, fragment or definition */
};

/* Fails at the current token: "`what` expected, found ...". */
bool graphql_syntax_fault(struct graphql_syntax *s, const char *what, struct err *err);

static inline bool graphql_syntax_is(const struct graphql_syntax *s, int kind)
{
    return s->lex.token.kind == kind;
}

bool graphql_syntax_is_word(const struct graphql_syntax *s, const char *word);

/* Consumes the current token, which must be of that kind. */
bool graphql_syntax_expect(struct graphql_syntax *s, int kind, struct err *err);
bool graphql_syntax_name(struct graphql_syntax *s, struct str *ret, struct err *err);

bool graphql_syntax_value(struct graphql_syntax *s, bool constant, struct graphql_literal **ret,
                          struct err *err);
bool graphql_syntax_type(struct graphql_syntax *s, struct graphql_type_name *ret, struct err *err);

/* *ret is NULL when there are none; that is no failure. */
bool graphql_syntax_arguments(struct graphql_syntax *s, bool constant, struct graphql_literal **ret,
                              struct err *err);
bool graphql_syntax_directives(struct graphql_syntax *s, bool constant,
                               struct graphql_applied **ret, struct err *err);

/* Adds a child at the end of a list or an object. */
struct graphql_literal *graphql_literal_add(struct graphql_literal *parent, struct arena *a);
