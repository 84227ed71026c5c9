/* schema.c - makes a schema from its text: links names to types, checks them, binds resolvers. */
#include <stdio.h>

#include "admin/graphql/coerce.h"
#include "admin/graphql/introspect.h"
#include "admin/graphql/sdl.h"
#include "admin/graphql/type.h"
#include "base/alloc.h"
#include "base/auto.h"
#include "base/require.h"

enum { SDL_MAX = 1 << 20, ARENA_CAP = 64 << 20 };

/* ---- names to types ---- */

static bool graphql_schema_resolve(const struct graphql_schema *s,
                                   const struct graphql_type_name *name, bool input,
                                   struct graphql_ref *ret, struct err *err)
{
    const struct graphql_type *t = graphql_type_find(s, name->name);

    if (t == NULL)
        return err_set(err, ERR_CONFIG, 0, "unknown type \"%.*s\"", STR_ARG(name->name));
    if (input ? !graphql_type_is_input(t) : t->kind == GRAPHQL_KIND_INPUT)
        return err_set(err, ERR_CONFIG, 0, "type \"%.*s\" cannot be %s", STR_ARG(t->name),
                       input ? "given" : "answered");
    *ret = (struct graphql_ref){ .type = t, .lists = name->lists, .required = name->required };
    return true;
}

static bool resolve_inputs(const struct graphql_schema *s, struct graphql_input *inputs, size_t n,
                           struct err *err)
{
    for (size_t i = 0; i < n; i++)
        if (!graphql_schema_resolve(s, &inputs[i].type_name, true, &inputs[i].ref, err))
            return err_context(err, "%.*s", STR_ARG(inputs[i].name));
    return true;
}

static bool resolve_type(const struct graphql_schema *s, struct graphql_type *t, struct err *err)
{
    for (size_t i = 0; i < t->field_count; i++) {
        struct graphql_field *f = &t->fields[i];

        if (!graphql_schema_resolve(s, &f->type_name, false, &f->ref, err) ||
            !resolve_inputs(s, f->args, f->arg_count, err))
            return err_context(err, "%.*s.%.*s", STR_ARG(t->name), STR_ARG(f->name));
    }
    if (!resolve_inputs(s, t->inputs, t->input_count, err))
        return err_context(err, "%.*s", STR_ARG(t->name));
    return true;
}

/* ---- default values ---- */

static bool check_defaults(const struct graphql_input *inputs, size_t n, struct err *err)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(ARENA_CAP);

    for (size_t i = 0; i < n; i++) {
        struct graphql_coerce c = { .arena = &arena };
        struct graphql_value v;

        if (inputs[i].fallback != NULL &&
            !graphql_coerce_value(&c, inputs[i].fallback, inputs[i].ref, &v, err)) {
            err->kind = ERR_CONFIG;
            return err_context(err, "default of %.*s", STR_ARG(inputs[i].name));
        }
    }
    return true;
}

static bool check_type_defaults(const struct graphql_type *t, struct err *err)
{
    for (size_t i = 0; i < t->field_count; i++)
        if (!check_defaults(t->fields[i].args, t->fields[i].arg_count, err))
            return err_context(err, "%.*s.%.*s", STR_ARG(t->name), STR_ARG(t->fields[i].name));
    if (!check_defaults(t->inputs, t->input_count, err))
        return err_context(err, "%.*s", STR_ARG(t->name));
    return true;
}

/* Finds the next field of `t` that requires another input object.  An input object that requires
 * itself, directly or not, could never be written, and check_endless() refuses it. */
static bool graphql_schema_needs(const struct graphql_type *t, size_t *at,
                                 const struct graphql_type **ret)
{
    for (; *at < t->input_count; (*at)++) {
        struct graphql_ref r = t->inputs[*at].ref;

        if (r.lists == 0 && graphql_ref_required(r) && r.type->kind == GRAPHQL_KIND_INPUT) {
            (*at)++;
            *ret = r.type;
            return true;
        }
    }
    return false;
}

static bool check_endless(const struct graphql_type *t, struct err *err)
{
    const struct graphql_type *path[GRAPHQL_NEST_MAX] = { t }, *below;
    size_t at[GRAPHQL_NEST_MAX] = { 0 }, depth = 1;

    while (depth > 0) {
        if (!graphql_schema_needs(path[depth - 1], &at[depth - 1], &below)) {
            depth--;
            continue;
        }
        if (below == t || depth == GRAPHQL_NEST_MAX)
            return err_set(err, ERR_CONFIG, 0, "input \"%.*s\" needs itself without end",
                           STR_ARG(t->name));
        path[depth] = below;
        at[depth++] = 0;
    }
    return true;
}

/* ---- the whole ---- */

static bool find_roots(struct graphql_schema *s, struct err *err)
{
    s->query = graphql_type_find(s, STR("Query"));
    s->mutation = graphql_type_find(s, STR("Mutation"));
    if (s->query == NULL || s->query->kind != GRAPHQL_KIND_OBJECT)
        return err_set(err, ERR_CONFIG, 0, "schema without a type Query");
    if (s->mutation != NULL && s->mutation->kind != GRAPHQL_KIND_OBJECT)
        return err_set(err, ERR_CONFIG, 0, "Mutation is not an object type");
    if (graphql_type_find(s, STR("Subscription")) != NULL)
        return err_set(err, ERR_CONFIG, 0, "subscriptions are not supported");
    return true;
}

/* Hides the internal `__Meta` type, which declares __typename, __schema and __type, from
 * introspection. */
static void hide_meta(struct graphql_schema *s)
{
    for (size_t i = 0; i < s->type_count; i++)
        if (str_is(s->types[i]->name, "__Meta")) {
            s->meta = s->types[i];
            s->type_count--;
            memmove(&s->types[i], &s->types[i + 1], (s->type_count - i) * sizeof s->types[0]);
            return;
        }
    require(s->meta != NULL);
}

static bool link_types(struct graphql_schema *s, struct err *err)
{
    for (size_t i = 0; i < s->type_count; i++)
        if (!resolve_type(s, s->types[i], err))
            return false;
    for (size_t i = 0; i < s->directive_count; i++)
        if (!resolve_inputs(s, s->directives[i]->args, s->directives[i]->arg_count, err))
            return false;
    for (size_t i = 0; i < s->type_count; i++)
        if (!check_endless(s->types[i], err))
            return false;
    for (size_t i = 0; i < s->type_count; i++)
        if (!check_type_defaults(s->types[i], err))
            return false;
    return true;
}

struct graphql_schema *graphql_schema_new(struct str sdl, struct err *err)
{
    struct graphql_schema *s = NEW(struct graphql_schema);

    s->arena = (struct arena)ARENA_INIT(ARENA_CAP);
    if (sdl.len > SDL_MAX) {
        (void)err_set(err, ERR_CONFIG, 0, "schema over %d bytes", SDL_MAX);
    } else if (graphql_sdl_read(s, graphql_introspect_sdl(), true, err) &&
               graphql_sdl_read(s, arena_copy(&s->arena, sdl), false, err) && link_types(s, err) &&
               find_roots(s, err)) {
        hide_meta(s);
        if (graphql_introspect_bind(s, err))
            return s;
    }
    graphql_schema_free(s);
    return NULL;
}

void graphql_schema_free(struct graphql_schema *s)
{
    if (s == NULL)
        return;
    arena_done(&s->arena);
    free(s);
}

/* ---- resolvers ---- */

static struct graphql_field *graphql_schema_find_field(struct graphql_schema *s, struct str path)
{
    struct str type;
    struct str field = str_cut(path, '.', &type);

    for (size_t i = 0; i <= s->type_count; i++) {
        struct graphql_type *t = i < s->type_count ? s->types[i] : s->meta;

        for (size_t f = 0; str_eq(t->name, type) && f < t->field_count; f++)
            if (str_eq(t->fields[f].name, field))
                return &t->fields[f];
    }
    return NULL;
}

bool graphql_schema_bind(struct graphql_schema *s, const struct graphql_resolver *table,
                         size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        struct graphql_field *f = graphql_schema_find_field(s, str_of(table[i].field));

        require(table[i].fn != NULL);
        if (f == NULL)
            return err_set(err, ERR_CONFIG, 0, "resolver of a field that does not exist: %s",
                           table[i].field);
        if (f->fn != NULL)
            return err_set(err, ERR_CONFIG, 0, "two resolvers of %s", table[i].field);
        f->fn = table[i].fn;
        f->offset = table[i].offset;
        f->array = table[i].array;
    }
    return true;
}

static bool find_right(const struct graphql_type *t, struct graphql_field *f,
                       bool (*find)(struct str word, int *ret), struct err *err)
{
    struct str word = f->needs.ptr != NULL ? f->needs : t->needs;

    if (word.ptr == NULL)
        return err_set(err, ERR_CONFIG, 0, "no rule for %.*s.%.*s: write @needs(right: ...)",
                       STR_ARG(t->name), STR_ARG(f->name));
    if (f->shows.ptr != NULL && graphql_ref_required(f->ref))
        return err_set(err, ERR_CONFIG, 0, "%.*s.%.*s has @shows and cannot be null",
                       STR_ARG(t->name), STR_ARG(f->name));
    f->is_guarded = true;
    if (find(word, &f->right) && (f->shows.ptr == NULL || find(f->shows, &f->shown_right)))
        return true;
    return err_set(err, ERR_CONFIG, 0, "%.*s.%.*s needs an unknown right: %.*s", STR_ARG(t->name),
                   STR_ARG(f->name), STR_ARG(word));
}

void graphql_schema_once(struct graphql_schema *s, const struct graphql_once *once)
{
    s->once = once;
}

bool graphql_schema_guard(struct graphql_schema *s, bool (*find)(struct str word, int *ret),
                          graphql_guard_fn *guard, struct err *err)
{
    for (size_t i = 0; i < s->type_count; i++)
        for (size_t f = 0; !s->types[i]->builtin && f < s->types[i]->field_count; f++)
            if (!find_right(s->types[i], &s->types[i]->fields[f], find, err))
                return false;
    s->guard = guard;
    return true;
}

bool graphql_schema_check(const struct graphql_schema *s, struct err *err)
{
    char names[150] = "", more[32] = "";
    size_t len = 0, missing = 0, left = 0;

    for (size_t i = 0; i < s->type_count; i++)
        for (size_t f = 0; f < s->types[i]->field_count; f++) {
            const struct graphql_type *t = s->types[i];
            size_t need = t->name.len + t->fields[f].name.len + 2;

            if (t->fields[f].fn != NULL)
                continue;
            missing++;
            if (left > 0 || len + need >= sizeof names)
                left++;
            else
                len += (size_t)snprintf(names + len, sizeof names - len, " %.*s.%.*s",
                                        STR_ARG(t->name), STR_ARG(t->fields[f].name));
        }
    if (missing == 0)
        return true;
    if (left > 0)
        (void)snprintf(more, sizeof more, " and %zu more", left);
    return err_set(err, ERR_CONFIG, 0, "fields without a resolver:%s%s", names, more);
}
