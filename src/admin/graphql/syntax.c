#include "admin/graphql/syntax.h"

#include <stdio.h>

static const char *token_text(const struct graphql_token *t, char text[static 64])
{
    switch (t->kind) {
    case GRAPHQL_TOKEN_END:
        return "the end";
    case GRAPHQL_TOKEN_STRING:
        return "a string";
    case GRAPHQL_TOKEN_SPREAD:
        return "\"...\"";
    case GRAPHQL_TOKEN_NAME:
    case GRAPHQL_TOKEN_INT:
    case GRAPHQL_TOKEN_FLOAT:
        (void)snprintf(text, 64, "\"%.*s\"", t->text.len > 50 ? 50 : (int)t->text.len, t->text.ptr);
        return text;
    default:
        (void)snprintf(text, 64, "\"%c\"", t->kind);
        return text;
    }
}

bool graphql_syntax_fault(struct graphql_syntax *s, const char *what, struct err *err)
{
    char text[64];

    s->lex.fault = s->lex.token.at;
    return err_set(err, ERR_PERMANENT, 0, "%s expected, found %s", what,
                   token_text(&s->lex.token, text));
}

bool graphql_syntax_is_word(const struct graphql_syntax *s, const char *word)
{
    return s->lex.token.kind == GRAPHQL_TOKEN_NAME && str_is(s->lex.token.text, word);
}

bool graphql_syntax_expect(struct graphql_syntax *s, int kind, struct err *err)
{
    char what[] = "\"?\"";

    if (s->lex.token.kind != kind) {
        what[1] = (char)kind;
        return graphql_syntax_fault(s, kind == GRAPHQL_TOKEN_END ? "the end" : what, err);
    }
    return graphql_lex_next(&s->lex, err);
}

bool graphql_syntax_name(struct graphql_syntax *s, struct str *ret, struct err *err)
{
    if (s->lex.token.kind != GRAPHQL_TOKEN_NAME)
        return graphql_syntax_fault(s, "a name", err);
    *ret = s->lex.token.text;
    return graphql_lex_next(&s->lex, err);
}

/* Reads a value without children, or the opening bracket of a list or object. */
static bool value_start(struct graphql_syntax *s, bool constant, struct graphql_literal *v,
                        struct err *err)
{
    const struct graphql_token *t = &s->lex.token;

    v->at = t->at;
    v->end = t->end;
    v->text = t->text;
    switch (t->kind) {
    case '[':
        v->kind = GRAPHQL_LITERAL_LIST;
        break;
    case '{':
        v->kind = GRAPHQL_LITERAL_OBJECT;
        break;
    case GRAPHQL_TOKEN_INT:
        v->kind = GRAPHQL_LITERAL_INT;
        break;
    case GRAPHQL_TOKEN_FLOAT:
        v->kind = GRAPHQL_LITERAL_FLOAT;
        break;
    case GRAPHQL_TOKEN_STRING:
        v->kind = GRAPHQL_LITERAL_STRING;
        break;
    case GRAPHQL_TOKEN_NAME:
        v->kind = str_is(t->text, "null")                               ? GRAPHQL_LITERAL_NULL
                  : str_is(t->text, "true") || str_is(t->text, "false") ? GRAPHQL_LITERAL_BOOL
                                                                        : GRAPHQL_LITERAL_ENUM;
        break;
    case '$':
        if (constant)
            return graphql_syntax_fault(s, "a value without variables", err);
        v->kind = GRAPHQL_LITERAL_VARIABLE;
        return graphql_lex_next(&s->lex, err) && graphql_syntax_name(s, &v->text, err);
    default:
        return graphql_syntax_fault(s, "a value", err);
    }
    return graphql_lex_next(&s->lex, err);
}

struct graphql_literal *graphql_literal_add(struct graphql_literal *parent, struct arena *a)
{
    struct graphql_literal *v = ARENA_NEW(a, struct graphql_literal);

    if (parent->last != NULL)
        parent->last->next = v;
    else
        parent->first = v;
    parent->last = v;
    parent->count++;
    return v;
}

/* Closes finished lists and objects, and adds the next literal to the innermost open one; *ret is
 * NULL when none is open. */
static bool next_place(struct graphql_syntax *s, struct graphql_literal **open, size_t *depth,
                       struct graphql_literal **ret, struct err *err)
{
    while (*depth > 0) {
        struct graphql_literal *top = open[*depth - 1];

        if (!graphql_syntax_is(s, top->kind == GRAPHQL_LITERAL_LIST ? ']' : '}')) {
            struct graphql_literal *v = graphql_literal_add(top, s->arena);

            if (top->kind == GRAPHQL_LITERAL_OBJECT &&
                (!graphql_syntax_name(s, &v->name, err) || !graphql_syntax_expect(s, ':', err)))
                return false;
            *ret = v;
            return true;
        }
        top->end = s->lex.token.end;
        if (!graphql_lex_next(&s->lex, err))
            return false;
        (*depth)--;
    }
    *ret = NULL;
    return true;
}

bool graphql_syntax_value(struct graphql_syntax *s, bool constant, struct graphql_literal **ret,
                          struct err *err)
{
    struct graphql_literal *open[GRAPHQL_NEST_MAX];
    struct graphql_literal *root = ARENA_NEW(s->arena, struct graphql_literal), *v = root;
    size_t depth = 0;

    while (v != NULL) {
        if (!value_start(s, constant, v, err))
            return false;
        if (v->kind == GRAPHQL_LITERAL_LIST || v->kind == GRAPHQL_LITERAL_OBJECT) {
            if (depth == GRAPHQL_NEST_MAX) {
                s->lex.fault = v->at;
                return err_set(err, ERR_LIMIT, 0, "value nested deeper than %d", GRAPHQL_NEST_MAX);
            }
            open[depth++] = v;
        }
        if (!next_place(s, open, &depth, &v, err))
            return false;
    }
    *ret = root;
    return true;
}

bool graphql_syntax_type(struct graphql_syntax *s, struct graphql_type_name *ret, struct err *err)
{
    struct graphql_type_name type = { .at = s->lex.token.at };

    while (graphql_syntax_is(s, '[')) {
        if (type.lists == GRAPHQL_LISTS_MAX)
            return graphql_syntax_fault(s, "a type with fewer lists", err);
        type.lists++;
        if (!graphql_lex_next(&s->lex, err))
            return false;
    }
    if (!graphql_syntax_name(s, &type.name, err))
        return false;
    for (unsigned level = 0; level <= type.lists; level++) {
        if (level > 0 && !graphql_syntax_expect(s, ']', err))
            return false;
        if (graphql_syntax_is(s, '!')) {
            type.required = (uint8_t)(type.required | 1u << level);
            if (!graphql_lex_next(&s->lex, err))
                return false;
        }
    }
    *ret = type;
    return true;
}

bool graphql_syntax_arguments(struct graphql_syntax *s, bool constant, struct graphql_literal **ret,
                              struct err *err)
{
    struct graphql_literal *first = NULL, **end = &first;

    if (graphql_syntax_is(s, '(')) {
        if (!graphql_lex_next(&s->lex, err))
            return false;
        do {
            struct graphql_literal *v;
            struct str name;

            if (!graphql_syntax_name(s, &name, err) || !graphql_syntax_expect(s, ':', err) ||
                !graphql_syntax_value(s, constant, &v, err))
                return false;
            v->name = name;
            *end = v;
            end = &v->next;
        } while (!graphql_syntax_is(s, ')'));
        if (!graphql_lex_next(&s->lex, err))
            return false;
    }
    *ret = first;
    return true;
}

bool graphql_syntax_directives(struct graphql_syntax *s, bool constant,
                               struct graphql_applied **ret, struct err *err)
{
    struct graphql_applied *first = NULL, **end = &first;

    for (size_t n = 0; graphql_syntax_is(s, '@'); n++) {
        struct graphql_applied *d = ARENA_NEW(s->arena, struct graphql_applied);

        d->at = s->lex.token.at;
        if (n == s->directives_max) {
            s->lex.fault = d->at;
            return err_set(err, ERR_LIMIT, 0, "over %zu directives in one place",
                           s->directives_max);
        }
        if (!graphql_lex_next(&s->lex, err) || !graphql_syntax_name(s, &d->name, err) ||
            !graphql_syntax_arguments(s, constant, &d->args, err))
            return false;
        *end = d;
        end = &d->next;
    }
    *ret = first;
    return true;
}
