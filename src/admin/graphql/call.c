/* call.c - what resolvers call: arguments, answers, and the graphql_read_* family (graphql.h). */
#include "admin/graphql/type.h"
#include "base/require.h"

static const struct graphql_value absent;

#define LENT_MOST_US (INT64_C(20) * 1000 * 1000)

void graphql_lend(struct graphql_call *call, int64_t us)
{
    if (call->has_lent) {
        if (us > LENT_MOST_US - call->lent_us)
            us = LENT_MOST_US - call->lent_us;
        call->lent_us += us;
    }
    call->has_lent = true;
    call->deadline_us += us;
}

/* ---- reading ---- */

const struct graphql_value *graphql_value_field(const struct graphql_value *v, const char *name)
{
    if (v->kind != GRAPHQL_INPUT)
        return &absent;
    size_t i = 0;

    while (i < v->count && !str_is(v->type->inputs[i].name, name))
        i++;
    require(i < v->count);
    return &v->items[i];
}

const struct graphql_value *graphql_arg(const struct graphql_call *call, const char *name)
{
    size_t i = 0;

    while (i < call->field->arg_count && !str_is(call->field->args[i].name, name))
        i++;
    require(i < call->field->arg_count);
    return &call->args[i];
}

bool graphql_arg_int(const struct graphql_call *call, const char *name, int64_t *ret)
{
    const struct graphql_value *v = graphql_arg(call, name);

    if (v->kind != GRAPHQL_INT)
        return false;
    *ret = v->number;
    return true;
}

bool graphql_arg_bool(const struct graphql_call *call, const char *name, bool *ret)
{
    const struct graphql_value *v = graphql_arg(call, name);

    if (v->kind != GRAPHQL_BOOL)
        return false;
    *ret = v->truth;
    return true;
}

struct str graphql_arg_text(const struct graphql_call *call, const char *name)
{
    return graphql_arg(call, name)->text;
}

/* ---- answering ---- */

static bool graphql_call_answer(struct graphql_call *call, struct graphql_answer a)
{
    call->answer = a;
    return true;
}

bool graphql_set_null(struct graphql_call *call)
{
    return graphql_call_answer(call, (struct graphql_answer){ .kind = GRAPHQL_ANSWER_NULL });
}

bool graphql_set_int(struct graphql_call *call, int64_t v)
{
    return graphql_call_answer(call,
                               (struct graphql_answer){ .kind = GRAPHQL_ANSWER_INT, .number = v });
}

bool graphql_set_float(struct graphql_call *call, double v)
{
    return graphql_call_answer(call,
                               (struct graphql_answer){ .kind = GRAPHQL_ANSWER_FLOAT, .real = v });
}

bool graphql_set_bool(struct graphql_call *call, bool v)
{
    return graphql_call_answer(call,
                               (struct graphql_answer){ .kind = GRAPHQL_ANSWER_BOOL, .truth = v });
}

bool graphql_set_text(struct graphql_call *call, struct str v)
{
    if (v.ptr == NULL)
        return graphql_set_null(call);
    return graphql_call_answer(call, (struct graphql_answer){ .kind = GRAPHQL_ANSWER_TEXT,
                                                              .text = arena_copy(call->arena, v) });
}

bool graphql_set_z(struct graphql_call *call, const char *z)
{
    if (z == NULL)
        return graphql_set_null(call);
    return graphql_set_text(call, str_of(z));
}

bool graphql_set_object(struct graphql_call *call, const void *object)
{
    if (object == NULL)
        return graphql_set_null(call);
    return graphql_call_answer(
        call, (struct graphql_answer){ .kind = GRAPHQL_ANSWER_OBJECT, .object = object });
}

bool graphql_set_list(struct graphql_call *call, const void *list, size_t count,
                      graphql_item_fn *item)
{
    if (list == NULL && count > 0)
        return graphql_set_null(call);
    return graphql_call_answer(
        call, (struct graphql_answer){
                  .kind = GRAPHQL_ANSWER_LIST, .object = list, .count = count, .item = item });
}

static bool object_item(struct graphql_call *call, const void *list, size_t index, struct err *err)
{
    const void *const *objects = list;

    (void)err;
    return graphql_set_object(call, objects[index]);
}

bool graphql_set_objects(struct graphql_call *call, const void *const *objects, size_t count)
{
    return graphql_set_list(call, objects, count, object_item);
}

bool graphql_set_structs(struct graphql_call *call, const void *first, size_t count, size_t size)
{
    const void **list = ARENA_ARRAY(call->arena, const void *, count);

    for (size_t i = 0; i < count; i++)
        list[i] = (const char *)first + i * size;
    return graphql_set_objects(call, list, count);
}

static bool text_item(struct graphql_call *call, const void *list, size_t index, struct err *err)
{
    const struct str *texts = list;

    (void)err;
    return graphql_set_text(call, texts[index]);
}

bool graphql_set_texts(struct graphql_call *call, const struct str *texts, size_t count)
{
    return graphql_set_list(call, texts, count, text_item);
}

/* ---- members of the parent ---- */

static const void *graphql_call_member(const struct graphql_call *call)
{
    return (const char *)call->parent + call->offset;
}

bool graphql_read_str(struct graphql_call *call, struct err *err)
{
    (void)err;
    return graphql_set_text(call, *(const struct str *)graphql_call_member(call));
}

bool graphql_read_z(struct graphql_call *call, struct err *err)
{
    (void)err;
    return graphql_set_z(call, *(const char *const *)graphql_call_member(call));
}

bool graphql_read_i64(struct graphql_call *call, struct err *err)
{
    (void)err;
    return graphql_set_int(call, *(const int64_t *)graphql_call_member(call));
}

bool graphql_read_bool(struct graphql_call *call, struct err *err)
{
    (void)err;
    return graphql_set_bool(call, *(const bool *)graphql_call_member(call));
}

bool graphql_read_object(struct graphql_call *call, struct err *err)
{
    (void)err;
    return graphql_set_object(call, *(const void *const *)graphql_call_member(call));
}

bool graphql_read_id(struct graphql_call *call, struct err *err)
{
    char text[ID_TEXT];

    (void)err;
    return graphql_set_z(call, id_text(graphql_call_member(call), text));
}

bool graphql_read_sha256(struct graphql_call *call, struct err *err)
{
    char text[SHA256_TEXT];

    (void)err;
    return graphql_set_z(call, digest_text(graphql_call_member(call), text));
}

bool graphql_read_inside(struct graphql_call *call, struct err *err)
{
    (void)err;
    return graphql_set_object(call, graphql_call_member(call));
}

bool graphql_read_list(struct graphql_call *call, struct err *err)
{
    const struct graphql_array *a = call->array;
    const void *first =
        a->is_inside ? graphql_call_member(call) : *(const void *const *)graphql_call_member(call);
    size_t count = *(const size_t *)(const void *)((const char *)call->parent + a->count_at);

    (void)err;
    if (a->of == GRAPHQL_ARRAY_OF_TEXTS)
        return graphql_set_texts(call, first, count);
    if (a->of == GRAPHQL_ARRAY_OF_OBJECTS)
        return graphql_set_objects(call, first, count);
    return graphql_set_structs(call, first, count, a->size);
}
