#include "admin/graphql/introspect.h"

#include "admin/graphql/embed.h"
#include "admin/graphql/type.h"

/* The parent objects of the resolvers: __Schema is a struct graphql_schema, __Type a struct
 * graphql_ref (so that lists and '!' are types as well), __Field a struct graphql_field, and so
 * on. */

struct str graphql_introspect_sdl(void)
{
    return embed_prelude();
}

static bool set_ref(struct graphql_call *call, struct graphql_ref ref)
{
    struct graphql_ref *copy = ARENA_NEW(call->arena, struct graphql_ref);

    *copy = ref;
    return graphql_set_object(call, copy);
}

static bool set_type(struct graphql_call *call, const struct graphql_type *t)
{
    if (t == NULL)
        return graphql_set_null(call);
    return set_ref(call, (struct graphql_ref){ .type = t });
}

/* ---- the roots ---- */

static bool typename_of(struct graphql_call *call, struct err *err)
{
    (void)err;
    return graphql_set_text(call, call->type->name);
}

static bool schema_of(struct graphql_call *call, struct err *err)
{
    (void)err;
    return graphql_set_object(call, call->schema);
}

static bool type_by_name(struct graphql_call *call, struct err *err)
{
    (void)err;
    return set_type(call, graphql_type_find(call->schema, graphql_arg_text(call, "name")));
}

static bool no_value(struct graphql_call *call, struct err *err)
{
    (void)err;
    return graphql_set_null(call);
}

/* ---- __Schema ---- */

static bool type_item(struct graphql_call *call, const void *list, size_t index, struct err *err)
{
    const struct graphql_schema *s = list;

    (void)err;
    return set_type(call, s->types[index]);
}

static bool schema_types(struct graphql_call *call, struct err *err)
{
    const struct graphql_schema *s = call->parent;

    (void)err;
    return graphql_set_list(call, s, s->type_count, type_item);
}

static bool schema_query(struct graphql_call *call, struct err *err)
{
    const struct graphql_schema *s = call->parent;

    (void)err;
    return set_type(call, s->query);
}

static bool schema_mutation(struct graphql_call *call, struct err *err)
{
    const struct graphql_schema *s = call->parent;

    (void)err;
    return set_type(call, s->mutation);
}

static bool directive_item(struct graphql_call *call, const void *list, size_t index,
                           struct err *err)
{
    const struct graphql_schema *s = list;

    (void)err;
    return graphql_set_object(call, s->directives[index]);
}

static bool schema_directives(struct graphql_call *call, struct err *err)
{
    const struct graphql_schema *s = call->parent;

    (void)err;
    return graphql_set_list(call, s, s->directive_count, directive_item);
}

/* ---- __Type ---- */

/* The named type of the parent, or NULL when the parent is a list or non-null type. */
static const struct graphql_type *bare(const struct graphql_call *call)
{
    const struct graphql_ref *r = call->parent;

    return r->lists == 0 && r->required == 0 ? r->type : NULL;
}

static bool type_kind(struct graphql_call *call, struct err *err)
{
    static const char *const kinds[] = {
        [GRAPHQL_KIND_SCALAR] = "SCALAR",
        [GRAPHQL_KIND_OBJECT] = "OBJECT",
        [GRAPHQL_KIND_ENUM] = "ENUM",
        [GRAPHQL_KIND_INPUT] = "INPUT_OBJECT",
    };
    const struct graphql_ref *r = call->parent;

    (void)err;
    return graphql_set_z(call, graphql_ref_required(*r) ? "NON_NULL"
                               : r->lists > 0           ? "LIST"
                                                        : kinds[r->type->kind]);
}

static bool type_inner(struct graphql_call *call, struct err *err)
{
    const struct graphql_ref *r = call->parent;

    (void)err;
    if (graphql_ref_required(*r))
        return set_ref(call, graphql_ref_nullable(*r));
    if (r->lists > 0)
        return set_ref(call, graphql_ref_item(*r));
    return graphql_set_null(call);
}

static bool type_name(struct graphql_call *call, struct err *err)
{
    const struct graphql_type *t = bare(call);

    (void)err;
    return t == NULL ? graphql_set_null(call) : graphql_set_text(call, t->name);
}

static bool type_about(struct graphql_call *call, struct err *err)
{
    const struct graphql_type *t = bare(call);

    (void)err;
    return t == NULL ? graphql_set_null(call) : graphql_set_text(call, t->about);
}

static bool type_specified_by(struct graphql_call *call, struct err *err)
{
    const struct graphql_type *t = bare(call);

    (void)err;
    return t == NULL ? graphql_set_null(call) : graphql_set_text(call, t->specified_by);
}

/* Answers with pointers to the items of an array; deprecated ones only with includeDeprecated.
 * An item has `size` bytes; at offset `deprecated` is the struct str with the reason. */
static bool set_filtered(struct graphql_call *call, const void *items, size_t count, size_t size,
                         size_t deprecated)
{
    const void **list = ARENA_ARRAY(call->arena, const void *, count);
    bool all = false;
    size_t n = 0;

    (void)graphql_arg_bool(call, "includeDeprecated", &all);
    for (size_t i = 0; i < count; i++) {
        const char *item = (const char *)items + i * size;

        if (all || ((const struct str *)(const void *)(item + deprecated))->ptr == NULL)
            list[n++] = item;
    }
    return graphql_set_objects(call, list, n);
}

static bool type_fields(struct graphql_call *call, struct err *err)
{
    const struct graphql_type *t = bare(call);

    (void)err;
    if (t == NULL || t->kind != GRAPHQL_KIND_OBJECT)
        return graphql_set_null(call);
    return set_filtered(call, t->fields, t->field_count, sizeof *t->fields,
                        offsetof(struct graphql_field, deprecated));
}

static bool type_inputs(struct graphql_call *call, struct err *err)
{
    const struct graphql_type *t = bare(call);

    (void)err;
    if (t == NULL || t->kind != GRAPHQL_KIND_INPUT)
        return graphql_set_null(call);
    return set_filtered(call, t->inputs, t->input_count, sizeof *t->inputs,
                        offsetof(struct graphql_input, deprecated));
}

static bool type_values(struct graphql_call *call, struct err *err)
{
    const struct graphql_type *t = bare(call);

    (void)err;
    if (t == NULL || t->kind != GRAPHQL_KIND_ENUM)
        return graphql_set_null(call);
    return set_filtered(call, t->values, t->value_count, sizeof *t->values,
                        offsetof(struct graphql_enum_value, deprecated));
}

/* The specification wants a list for objects; ours is always empty. */
static bool type_interfaces(struct graphql_call *call, struct err *err)
{
    const struct graphql_type *t = bare(call);

    (void)err;
    if (t == NULL || t->kind != GRAPHQL_KIND_OBJECT)
        return graphql_set_null(call);
    return graphql_set_objects(call, NULL, 0);
}

/* ---- fields, arguments, directives ---- */

static bool field_args(struct graphql_call *call, struct err *err)
{
    const struct graphql_field *f = call->parent;

    (void)err;
    return set_filtered(call, f->args, f->arg_count, sizeof *f->args,
                        offsetof(struct graphql_input, deprecated));
}

static bool directive_args(struct graphql_call *call, struct err *err)
{
    const struct graphql_directive *d = call->parent;

    (void)err;
    return set_filtered(call, d->args, d->arg_count, sizeof *d->args,
                        offsetof(struct graphql_input, deprecated));
}

static bool directive_places(struct graphql_call *call, struct err *err)
{
    const struct graphql_directive *d = call->parent;

    (void)err;
    return graphql_set_texts(call, d->places, d->place_count);
}

/* call->offset is that of the struct graphql_ref in the parent. */
static bool member_type(struct graphql_call *call, struct err *err)
{
    const char *parent = call->parent;

    (void)err;
    return graphql_set_object(call, parent + call->offset);
}

/* call->offset is that of the reason in the parent; a NULL pointer means not deprecated. */
static bool member_is_deprecated(struct graphql_call *call, struct err *err)
{
    const char *parent = call->parent;
    const struct str *reason = (const void *)(parent + call->offset);

    (void)err;
    return graphql_set_bool(call, reason->ptr != NULL);
}

#define TYPE_OF(field_, struct_, member_)                                          \
    {                                                                              \
        .field = (field_), .fn = member_type, .offset = offsetof(struct_, member_) \
    }
#define IS_DEPRECATED(field_, struct_)                                                         \
    {                                                                                          \
        .field = (field_), .fn = member_is_deprecated, .offset = offsetof(struct_, deprecated) \
    }

static const struct graphql_resolver resolvers[] = {
    { .field = "__Meta.__typename", .fn = typename_of },
    { .field = "__Meta.__schema", .fn = schema_of },
    { .field = "__Meta.__type", .fn = type_by_name },
    { .field = "__Schema.description", .fn = no_value },
    { .field = "__Schema.types", .fn = schema_types },
    { .field = "__Schema.queryType", .fn = schema_query },
    { .field = "__Schema.mutationType", .fn = schema_mutation },
    { .field = "__Schema.subscriptionType", .fn = no_value },
    { .field = "__Schema.directives", .fn = schema_directives },
    { .field = "__Type.kind", .fn = type_kind },
    { .field = "__Type.name", .fn = type_name },
    { .field = "__Type.description", .fn = type_about },
    { .field = "__Type.specifiedByURL", .fn = type_specified_by },
    { .field = "__Type.fields", .fn = type_fields },
    { .field = "__Type.interfaces", .fn = type_interfaces },
    { .field = "__Type.possibleTypes", .fn = no_value },
    { .field = "__Type.enumValues", .fn = type_values },
    { .field = "__Type.inputFields", .fn = type_inputs },
    { .field = "__Type.ofType", .fn = type_inner },
    GRAPHQL_MEMBER("__Field.name", struct graphql_field, name),
    GRAPHQL_MEMBER("__Field.description", struct graphql_field, about),
    { .field = "__Field.args", .fn = field_args },
    TYPE_OF("__Field.type", struct graphql_field, ref),
    IS_DEPRECATED("__Field.isDeprecated", struct graphql_field),
    GRAPHQL_MEMBER("__Field.deprecationReason", struct graphql_field, deprecated),
    GRAPHQL_MEMBER("__InputValue.name", struct graphql_input, name),
    GRAPHQL_MEMBER("__InputValue.description", struct graphql_input, about),
    TYPE_OF("__InputValue.type", struct graphql_input, ref),
    GRAPHQL_MEMBER("__InputValue.defaultValue", struct graphql_input, fallback_text),
    IS_DEPRECATED("__InputValue.isDeprecated", struct graphql_input),
    GRAPHQL_MEMBER("__InputValue.deprecationReason", struct graphql_input, deprecated),
    GRAPHQL_MEMBER("__EnumValue.name", struct graphql_enum_value, name),
    GRAPHQL_MEMBER("__EnumValue.description", struct graphql_enum_value, about),
    IS_DEPRECATED("__EnumValue.isDeprecated", struct graphql_enum_value),
    GRAPHQL_MEMBER("__EnumValue.deprecationReason", struct graphql_enum_value, deprecated),
    GRAPHQL_MEMBER("__Directive.name", struct graphql_directive, name),
    GRAPHQL_MEMBER("__Directive.description", struct graphql_directive, about),
    GRAPHQL_MEMBER("__Directive.isRepeatable", struct graphql_directive, repeatable),
    { .field = "__Directive.locations", .fn = directive_places },
    { .field = "__Directive.args", .fn = directive_args },
};

bool graphql_introspect_bind(struct graphql_schema *s, struct err *err)
{
    return graphql_schema_bind(s, resolvers, sizeof resolvers / sizeof resolvers[0], err);
}
