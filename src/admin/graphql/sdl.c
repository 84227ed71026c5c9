#include "admin/graphql/sdl.h"

#include "admin/graphql/syntax.h"

enum { TOKENS_MAX = 200000, PLACES_MAX = 20 };

struct sdl {
    struct graphql_syntax syntax;
    struct graphql_schema *schema;
    bool builtin;
};

static bool graphql_sdl_refuse(struct sdl *p, const char *what, struct str name, struct err *err)
{
    p->syntax.lex.fault = p->syntax.lex.token.at;
    return err_set(err, ERR_CONFIG, 0, "%s \"%.*s\"", what, STR_ARG(name));
}

static bool graphql_sdl_next(struct sdl *p, struct err *err)
{
    return graphql_lex_next(&p->syntax.lex, err);
}

static bool is(const struct sdl *p, int kind)
{
    return graphql_syntax_is(&p->syntax, kind);
}

static void *graphql_sdl_keep(struct sdl *p, const void *items, size_t size)
{
    void *copy = arena_alloc(p->syntax.arena, size);

    if (size > 0)
        memcpy(copy, items, size);
    return copy;
}

static bool read_about(struct sdl *p, struct str *ret, struct err *err)
{
    *ret = (struct str){ 0 };
    if (!is(p, GRAPHQL_TOKEN_STRING))
        return true;
    *ret = p->syntax.lex.token.text;
    return graphql_sdl_next(p, err);
}

/* Reads the name of a definition; names that begin with "__" are reserved for the prelude. */
static bool read_new_name(struct sdl *p, struct str *ret, struct err *err)
{
    if (is(p, GRAPHQL_TOKEN_NAME) && !p->builtin && str_starts(p->syntax.lex.token.text, STR("__")))
        return graphql_sdl_refuse(p, "names with \"__\" are reserved:", p->syntax.lex.token.text,
                                  err);
    return graphql_syntax_name(&p->syntax, ret, err);
}

/* A directive that is allowed in one place, with its one argument. */
struct applicable {
    const char *name, *arg;
    enum graphql_literal_kind kind;
    const char *otherwise; /* value when the argument is missing; NULL: it is required */
    struct str *ret;
};

static bool read_applied(struct sdl *p, const struct graphql_applied *d,
                         const struct applicable *allowed, size_t count, struct err *err)
{
    size_t i = 0;

    while (i < count && !str_is(d->name, allowed[i].name))
        i++;
    if (i == count || allowed[i].ret->ptr != NULL)
        return graphql_sdl_refuse(p, "directive not supported here:", d->name, err);
    if (d->args == NULL && allowed[i].otherwise != NULL) {
        *allowed[i].ret = str_of(allowed[i].otherwise);
        return true;
    }
    if (d->args == NULL || d->args->next != NULL || !str_is(d->args->name, allowed[i].arg) ||
        d->args->kind != allowed[i].kind)
        return graphql_sdl_refuse(p, "wrong arguments of directive", d->name, err);
    *allowed[i].ret = d->args->text;
    return true;
}

/* Each of the allowed directives may occur at most once. */
static bool read_directives(struct sdl *p, const struct applicable *allowed, size_t count,
                            struct err *err)
{
    struct graphql_applied *d;

    for (size_t i = 0; i < count; i++)
        *allowed[i].ret = (struct str){ 0 };
    if (!graphql_syntax_directives(&p->syntax, true, &d, err))
        return false;
    for (; d != NULL; d = d->next)
        if (!read_applied(p, d, allowed, count, err))
            return false;
    return true;
}

static struct applicable deprecated(struct str *ret)
{
    return (struct applicable){ .name = "deprecated",
                                .arg = "reason",
                                .kind = GRAPHQL_LITERAL_STRING,
                                .otherwise = "No longer supported",
                                .ret = ret };
}

/* A directive with a right as its argument. */
static struct applicable graphql_sdl_right(const char *name, struct str *ret)
{
    return (struct applicable){
        .name = name, .arg = "right", .kind = GRAPHQL_LITERAL_ENUM, .ret = ret
    };
}

/* A directive without arguments. */
static struct applicable mark(const char *name, struct str *ret)
{
    return (struct applicable){ .name = name, .arg = "", .otherwise = name, .ret = ret };
}

static bool read_deprecated(struct sdl *p, struct str *ret, struct err *err)
{
    struct applicable one = deprecated(ret);

    return read_directives(p, &one, 1, err);
}

static bool read_input(struct sdl *p, struct graphql_input *in, struct err *err)
{
    struct graphql_syntax *s = &p->syntax;

    if (!read_about(p, &in->about, err) || !read_new_name(p, &in->name, err) ||
        !graphql_syntax_expect(s, ':', err) || !graphql_syntax_type(s, &in->type_name, err))
        return false;
    if (is(p, '=')) {
        struct graphql_literal *v;

        if (!graphql_sdl_next(p, err) || !graphql_syntax_value(s, true, &v, err))
            return false;
        in->fallback = v;
        in->fallback_text = str_mem(s->lex.source.ptr + v->at, v->end - v->at);
    }
    struct str secret, unlogged;
    struct applicable allowed[] = { deprecated(&in->deprecated), mark("secret", &secret),
                                    mark("unlogged", &unlogged) };

    if (!read_directives(p, allowed, sizeof allowed / sizeof allowed[0], err))
        return false;
    in->is_secret = secret.ptr != NULL;
    in->is_unlogged = in->is_secret || unlogged.ptr != NULL;
    return true;
}

/* Reads arguments or input fields up to the bracket `close`; the opening one is consumed. */
static bool read_inputs(struct sdl *p, int close, size_t most, struct graphql_input **ret,
                        size_t *ret_count, struct err *err)
{
    struct graphql_input inputs[GRAPHQL_FIELDS_MAX];
    size_t n = 0;

    do {
        if (n == most)
            return graphql_sdl_refuse(p, "too many, from", p->syntax.lex.token.text, err);
        inputs[n] = (struct graphql_input){ 0 };
        if (!read_input(p, &inputs[n], err))
            return false;
        for (size_t i = 0; i < n; i++)
            if (str_eq(inputs[i].name, inputs[n].name))
                return graphql_sdl_refuse(p, "defined twice:", inputs[n].name, err);
        n++;
    } while (!is(p, close));
    *ret = graphql_sdl_keep(p, inputs, n * sizeof inputs[0]);
    *ret_count = n;
    return graphql_sdl_next(p, err);
}

static bool read_args(struct sdl *p, struct graphql_input **ret, size_t *ret_count, struct err *err)
{
    *ret = NULL;
    *ret_count = 0;
    if (!is(p, '('))
        return true;
    return graphql_sdl_next(p, err) && read_inputs(p, ')', GRAPHQL_ARGS_MAX, ret, ret_count, err);
}

static bool graphql_sdl_read_field(struct sdl *p, struct graphql_field *f, struct err *err)
{
    if (!read_about(p, &f->about, err) || !read_new_name(p, &f->name, err) ||
        !read_args(p, &f->args, &f->arg_count, err))
        return false;
    struct str audited;
    struct applicable allowed[] = { deprecated(&f->deprecated),
                                    graphql_sdl_right("needs", &f->needs),
                                    graphql_sdl_right("shows", &f->shows),
                                    mark("audited", &audited) };

    if (!graphql_syntax_expect(&p->syntax, ':', err) ||
        !graphql_syntax_type(&p->syntax, &f->type_name, err) ||
        !read_directives(p, allowed, sizeof allowed / sizeof allowed[0], err))
        return false;
    f->is_audited = audited.ptr != NULL;
    return true;
}

static bool read_object(struct sdl *p, struct graphql_type *t, struct err *err)
{
    struct graphql_field fields[GRAPHQL_FIELDS_MAX];
    size_t n = 0;
    struct applicable rule = graphql_sdl_right("needs", &t->needs);

    t->kind = GRAPHQL_KIND_OBJECT;
    if (graphql_syntax_is_word(&p->syntax, "implements"))
        return graphql_sdl_refuse(p, "interfaces are not supported:", t->name, err);
    if (!read_directives(p, &rule, 1, err) || !graphql_syntax_expect(&p->syntax, '{', err))
        return false;
    do {
        if (n == GRAPHQL_FIELDS_MAX)
            return graphql_sdl_refuse(p, "too many fields in", t->name, err);
        fields[n] = (struct graphql_field){ 0 };
        if (!graphql_sdl_read_field(p, &fields[n], err))
            return false;
        for (size_t i = 0; i < n; i++)
            if (str_eq(fields[i].name, fields[n].name))
                return graphql_sdl_refuse(p, "defined twice:", fields[n].name, err);
        n++;
    } while (!is(p, '}'));
    t->fields = graphql_sdl_keep(p, fields, n * sizeof fields[0]);
    t->field_count = n;
    return graphql_sdl_next(p, err);
}

static bool read_enum(struct sdl *p, struct graphql_type *t, struct err *err)
{
    struct graphql_enum_value values[GRAPHQL_FIELDS_MAX];
    size_t n = 0;

    t->kind = GRAPHQL_KIND_ENUM;
    if (!read_directives(p, NULL, 0, err) || !graphql_syntax_expect(&p->syntax, '{', err))
        return false;
    do {
        struct graphql_enum_value v = { 0 };

        if (n == GRAPHQL_FIELDS_MAX)
            return graphql_sdl_refuse(p, "too many values in", t->name, err);
        if (!read_about(p, &v.about, err))
            return false;
        if (graphql_syntax_is_word(&p->syntax, "true") ||
            graphql_syntax_is_word(&p->syntax, "false") ||
            graphql_syntax_is_word(&p->syntax, "null"))
            return graphql_sdl_refuse(p, "no name of a value:", p->syntax.lex.token.text, err);
        if (!read_new_name(p, &v.name, err) || !read_deprecated(p, &v.deprecated, err))
            return false;
        for (size_t i = 0; i < n; i++)
            if (str_eq(values[i].name, v.name))
                return graphql_sdl_refuse(p, "defined twice:", v.name, err);
        values[n++] = v;
    } while (!is(p, '}'));
    t->values = graphql_sdl_keep(p, values, n * sizeof values[0]);
    t->value_count = n;
    return graphql_sdl_next(p, err);
}

static bool read_input_object(struct sdl *p, struct graphql_type *t, struct err *err)
{

    t->kind = GRAPHQL_KIND_INPUT;
    return read_directives(p, NULL, 0, err) && graphql_syntax_expect(&p->syntax, '{', err) &&
           read_inputs(p, '}', GRAPHQL_FIELDS_MAX, &t->inputs, &t->input_count, err);
}

static bool read_scalar(struct sdl *p, struct graphql_type *t, struct err *err)
{
    t->kind = GRAPHQL_KIND_SCALAR;
    t->scalar = graphql_scalar_find(t->name);
    if (t->scalar == NULL)
        return graphql_sdl_refuse(
            p, "scalar without an implementation in graphql_scalar.c:", t->name, err);
    struct applicable url = {
        .name = "specifiedBy", .arg = "url", .kind = GRAPHQL_LITERAL_STRING, .ret = &t->specified_by
    };

    return read_directives(p, &url, 1, err);
}

static bool graphql_sdl_read_type(struct sdl *p, struct str about, struct str word, struct err *err)
{
    struct graphql_schema *s = p->schema;
    struct graphql_type *t = ARENA_NEW(p->syntax.arena, struct graphql_type);

    t->about = about;
    t->builtin = p->builtin;
    if (s->type_count == GRAPHQL_TYPES_MAX)
        return graphql_sdl_refuse(p, "too many types, from", p->syntax.lex.token.text, err);
    if (!read_new_name(p, &t->name, err))
        return false;
    if (graphql_type_find(s, t->name) != NULL)
        return graphql_sdl_refuse(p, "defined twice:", t->name, err);
    s->types[s->type_count++] = t;
    if (str_is(word, "type"))
        return read_object(p, t, err);
    if (str_is(word, "enum"))
        return read_enum(p, t, err);
    if (str_is(word, "input"))
        return read_input_object(p, t, err);
    return read_scalar(p, t, err);
}

static bool read_places(struct sdl *p, struct graphql_directive *d, struct err *err)
{
    struct str places[PLACES_MAX];

    do {
        if (is(p, '|') && !graphql_sdl_next(p, err))
            return false;
        if (d->place_count == PLACES_MAX)
            return graphql_sdl_refuse(p, "too many places of", d->name, err);
        if (!graphql_syntax_name(&p->syntax, &places[d->place_count++], err))
            return false;
    } while (is(p, '|'));
    d->places = graphql_sdl_keep(p, places, d->place_count * sizeof places[0]);
    return true;
}

static bool read_directive_definition(struct sdl *p, struct str about, struct err *err)
{
    struct graphql_schema *s = p->schema;
    struct graphql_directive *d = ARENA_NEW(p->syntax.arena, struct graphql_directive);

    d->about = about;
    if (s->directive_count == GRAPHQL_DIRECTIVES_MAX)
        return graphql_sdl_refuse(p, "too many directives, from", p->syntax.lex.token.text, err);
    s->directives[s->directive_count++] = d;
    if (!graphql_syntax_expect(&p->syntax, '@', err) ||
        !graphql_syntax_name(&p->syntax, &d->name, err) ||
        !read_args(p, &d->args, &d->arg_count, err))
        return false;
    if (!graphql_syntax_is_word(&p->syntax, "on"))
        return graphql_syntax_fault(&p->syntax, "\"on\"", err);
    return graphql_sdl_next(p, err) && read_places(p, d, err);
}

static bool read_definition(struct sdl *p, struct err *err)
{
    static const char *const types[] = { "type", "enum", "input", "scalar" };
    struct str about, word = { 0 };

    if (!read_about(p, &about, err))
        return false;
    if (is(p, GRAPHQL_TOKEN_NAME))
        word = p->syntax.lex.token.text;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (str_is(word, types[i]))
            return graphql_sdl_next(p, err) && graphql_sdl_read_type(p, about, word, err);
    if (str_is(word, "directive"))
        return graphql_sdl_next(p, err) && read_directive_definition(p, about, err);
    if (word.ptr != NULL)
        return graphql_sdl_refuse(
            p, "only type, enum, input, scalar and directive are supported, not", word, err);
    return graphql_syntax_fault(&p->syntax, "type, enum, input, scalar or directive", err);
}

bool graphql_sdl_read(struct graphql_schema *s, struct str sdl, bool builtin, struct err *err)
{
    struct sdl p = { .schema = s,
                     .builtin = builtin,
                     .syntax = { .arena = &s->arena, .directives_max = 4 } };
    bool ok = graphql_lex_init(&p.syntax.lex, sdl, TOKENS_MAX, &s->arena, err);

    while (ok && !is(&p, GRAPHQL_TOKEN_END))
        ok = read_definition(&p, err);
    if (!ok) {
        size_t line, column;

        graphql_lex_place(sdl, p.syntax.lex.fault, &line, &column);
        err->kind = ERR_CONFIG;
        return err_context(err, "schema line %zu", line);
    }
    return true;
}
