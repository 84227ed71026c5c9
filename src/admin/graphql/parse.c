#include "admin/graphql/parse.h"

#include "admin/graphql/syntax.h"

struct parser {
    struct graphql_syntax syntax;
    const struct graphql_limits *limits;
    size_t aliases;
};

static bool graphql_parse_next(struct parser *p, struct err *err)
{
    return graphql_lex_next(&p->syntax.lex, err);
}

static bool over(struct parser *p, const char *what, size_t most, struct err *err)
{
    p->syntax.lex.fault = p->syntax.lex.token.at;
    return err_set(err, ERR_LIMIT, 0, "over %zu %s", most, what);
}

static bool parse_field(struct parser *p, struct graphql_selection *sel, struct err *err)
{
    struct graphql_syntax *s = &p->syntax;

    if (!graphql_syntax_name(s, &sel->name, err))
        return false;
    sel->key = sel->name;
    if (graphql_syntax_is(s, ':')) {
        if (++p->aliases > p->limits->aliases)
            return over(p, "aliases", p->limits->aliases, err);
        if (!graphql_parse_next(p, err) || !graphql_syntax_name(s, &sel->name, err))
            return false;
    }
    return graphql_syntax_arguments(s, false, &sel->args, err) &&
           graphql_syntax_directives(s, false, &sel->directives, err);
}

static bool parse_fragment(struct parser *p, struct graphql_selection *sel, struct err *err)
{
    struct graphql_syntax *s = &p->syntax;

    if (!graphql_parse_next(p, err))
        return false;
    sel->kind = GRAPHQL_SELECT_INLINE;
    if (graphql_syntax_is_word(s, "on")) {
        if (!graphql_parse_next(p, err) || !graphql_syntax_name(s, &sel->name, err))
            return false;
    } else if (graphql_syntax_is(s, GRAPHQL_TOKEN_NAME)) {
        sel->kind = GRAPHQL_SELECT_SPREAD;
        if (!graphql_syntax_name(s, &sel->name, err))
            return false;
    }
    if (!graphql_syntax_directives(s, false, &sel->directives, err))
        return false;
    if (sel->kind == GRAPHQL_SELECT_INLINE && !graphql_syntax_is(s, '{'))
        return graphql_syntax_fault(s, "\"{\"", err);
    return true;
}

/* Parses one selection up to, and without, its own selection set. */
static bool parse_selection(struct parser *p, struct graphql_set *set,
                            struct graphql_selection **ret, struct err *err)
{
    struct graphql_selection *sel = ARENA_NEW(p->syntax.arena, struct graphql_selection);

    sel->at = p->syntax.lex.token.at;
    if (set->last != NULL)
        set->last->next = sel;
    else
        set->first = sel;
    set->last = sel;
    *ret = sel;
    if (graphql_syntax_is(&p->syntax, GRAPHQL_TOKEN_SPREAD))
        return parse_fragment(p, sel, err);
    if (!graphql_syntax_is(&p->syntax, GRAPHQL_TOKEN_NAME))
        return graphql_syntax_fault(&p->syntax, "a field", err);
    return parse_field(p, sel, err);
}

static bool parse_set(struct parser *p, struct graphql_set *root, struct err *err)
{
    struct graphql_set *open[GRAPHQL_NEST_MAX] = { root };
    struct graphql_syntax *s = &p->syntax;
    size_t depth = 1;

    if (!graphql_syntax_expect(s, '{', err))
        return false;
    while (depth > 0) {
        struct graphql_set *set = open[depth - 1];
        struct graphql_selection *sel;

        if (graphql_syntax_is(s, '}') && set->first != NULL) {
            depth--;
            if (!graphql_parse_next(p, err))
                return false;
            continue;
        }
        if (!parse_selection(p, set, &sel, err))
            return false;
        if (sel->kind == GRAPHQL_SELECT_SPREAD || !graphql_syntax_is(s, '{'))
            continue;
        if (depth == GRAPHQL_NEST_MAX)
            return over(p, "levels of selections", GRAPHQL_NEST_MAX, err);
        open[depth++] = &sel->set;
        if (!graphql_parse_next(p, err))
            return false;
    }
    return true;
}

static bool parse_variables(struct parser *p, struct graphql_variable **end, struct err *err)
{
    struct graphql_syntax *s = &p->syntax;

    if (!graphql_syntax_is(s, '('))
        return true;
    if (!graphql_parse_next(p, err))
        return false;
    do {
        struct graphql_variable *v = ARENA_NEW(s->arena, struct graphql_variable);

        v->at = s->lex.token.at;
        if (!graphql_syntax_expect(s, '$', err) || !graphql_syntax_name(s, &v->name, err) ||
            !graphql_syntax_expect(s, ':', err) || !graphql_syntax_type(s, &v->type_name, err))
            return false;
        if (graphql_syntax_is(s, '=') &&
            (!graphql_parse_next(p, err) || !graphql_syntax_value(s, true, &v->fallback, err)))
            return false;
        if (!graphql_syntax_directives(s, true, &v->directives, err))
            return false;
        *end = v;
        end = &v->next;
    } while (!graphql_syntax_is(s, ')'));
    return graphql_parse_next(p, err);
}

static bool parse_operation(struct parser *p, struct graphql_definition *def, struct err *err)
{
    struct graphql_syntax *s = &p->syntax;

    if (graphql_syntax_is(s, '{')) /* the short form of a query: only a selection set */
        return parse_set(p, &def->set, err);
    def->kind = graphql_syntax_is_word(s, "mutation") ? GRAPHQL_MUTATION : GRAPHQL_QUERY;
    if (!graphql_parse_next(p, err))
        return false;
    if (graphql_syntax_is(s, GRAPHQL_TOKEN_NAME) && !graphql_syntax_name(s, &def->name, err))
        return false;
    return parse_variables(p, &def->variables, err) &&
           graphql_syntax_directives(s, false, &def->directives, err) &&
           parse_set(p, &def->set, err);
}

static bool parse_named_fragment(struct parser *p, struct graphql_definition *def, struct err *err)
{
    struct graphql_syntax *s = &p->syntax;

    def->kind = GRAPHQL_FRAGMENT;
    if (!graphql_parse_next(p, err))
        return false;
    if (graphql_syntax_is_word(s, "on"))
        return graphql_syntax_fault(s, "a fragment's name", err);
    if (!graphql_syntax_name(s, &def->name, err))
        return false;
    if (!graphql_syntax_is_word(s, "on"))
        return graphql_syntax_fault(s, "\"on\"", err);
    if (!graphql_parse_next(p, err))
        return false;
    def->on.at = s->lex.token.at;
    return graphql_syntax_name(s, &def->on.name, err) &&
           graphql_syntax_directives(s, false, &def->directives, err) &&
           parse_set(p, &def->set, err);
}

static bool parse_definitions(struct parser *p, struct graphql_document *doc, struct err *err)
{
    struct graphql_definition **operation = &doc->operations, **fragment = &doc->fragments;
    struct graphql_syntax *s = &p->syntax;

    do {
        struct graphql_definition *def = ARENA_NEW(s->arena, struct graphql_definition);

        def->at = s->lex.token.at;
        if (graphql_syntax_is_word(s, "fragment")) {
            if (doc->fragment_count == p->limits->fragments)
                return over(p, "fragments", p->limits->fragments, err);
            def->index = doc->fragment_count++;
            if (!parse_named_fragment(p, def, err))
                return false;
            *fragment = def;
            fragment = &def->next;
        } else if (graphql_syntax_is(s, '{') || graphql_syntax_is_word(s, "query") ||
                   graphql_syntax_is_word(s, "mutation")) {
            if (!parse_operation(p, def, err))
                return false;
            *operation = def;
            operation = &def->next;
        } else {
            return graphql_syntax_fault(s, "query, mutation or fragment", err);
        }
    } while (!graphql_syntax_is(s, GRAPHQL_TOKEN_END));
    return true;
}

bool graphql_parse(struct str source, const struct graphql_limits *limits, struct arena *arena,
                   struct graphql_document **ret, size_t *ret_at, struct err *err)
{
    struct parser p = { .limits = limits,
                        .syntax = { .arena = arena, .directives_max = limits->directives } };
    struct graphql_document *doc = ARENA_NEW(arena, struct graphql_document);

    *ret_at = 0;
    if (source.len > limits->document)
        return err_set(err, ERR_LIMIT, 0, "document over %zu bytes", limits->document);
    if (!graphql_lex_init(&p.syntax.lex, source, limits->tokens, arena, err) ||
        !parse_definitions(&p, doc, err)) {
        *ret_at = p.syntax.lex.fault;
        return false;
    }
    *ret = doc;
    return true;
}
