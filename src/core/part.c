#include "core/part.h"

static void part_number(struct arena *a, struct facts *f, struct str name, int64_t n)
{
    f->attributes[f->attribute_count++] =
        (struct fact){ name, str_of(arena_printf(a, "%lld", (long long)n)) };
}

/* Of how it came to be itself: names that no configuration can have. */
static bool is_of_origin(struct str name)
{
    return str_find(name, ' ') >= 0;
}

/* Adds those that have no value yet. */
static void part_inherit(struct facts *f, const struct fact *from, size_t count)
{
    for (size_t i = 0; i < count && f->attribute_count < FACTS_ATTRIBUTES_MOST; i++)
        if (facts_attribute(f, from[i].name).ptr == NULL && !str_is(from[i].name, "part") &&
            !str_is(from[i].name, "parts") && !is_of_origin(from[i].name))
            f->attributes[f->attribute_count++] = from[i];
}

static void part_name(struct str own, struct str *name, bool *unknown)
{
    if (own.ptr == NULL)
        return;
    *name = own;
    *unknown = false;
}

/* What no document has from the one that it is made of. */
static void part_begin(struct facts *f)
{
    f->begin = (struct facts_begin){ 0 };
    f->partial = false;
    f->generation++;
}

struct facts part_facts(struct arena *a, const struct facts *parent,
                        const struct service_part *head, int64_t number, int64_t parts)
{
    struct facts f = *parent;

    part_name(head->sender, &f.sender, &f.sender_unknown);
    part_name(head->receiver, &f.receiver, &f.receiver_unknown);
    part_name(head->type, &f.type, &f.type_unknown);
    part_begin(&f);
    f.attributes = ARENA_ARRAY(a, struct fact, 2 + head->attribute_count + parent->attribute_count);
    f.attribute_count = 0;
    part_number(a, &f, STR("part"), number); /* first: when room ends, others are left out */
    if (parts > 0)
        part_number(a, &f, STR("parts"), parts);
    part_inherit(&f, head->attributes, head->attribute_count);
    part_inherit(&f, parent->attributes, parent->attribute_count);
    return f;
}

struct facts part_copy_facts(struct arena *a, const struct facts *original, struct str receiver)
{
    struct facts f = *original;

    part_name(receiver, &f.receiver, &f.receiver_unknown);
    part_begin(&f);
    f.attributes = ARENA_ARRAY(a, struct fact, original->attribute_count);
    f.attribute_count = 0;
    for (size_t i = 0; i < original->attribute_count; i++)
        if (!is_of_origin(original->attributes[i].name))
            f.attributes[f.attribute_count++] = original->attributes[i];
    return f;
}

struct facts answer_facts(struct arena *a, const struct facts *answered, struct str sender,
                          struct str type, struct fact own)
{
    struct facts f = {
        .sender = sender,
        .receiver = answered->begin.is ? answered->begin.sender : answered->sender,
        .type = type,
        .batches = answered->batches,
        .generation = answered->generation + 1,
        .attributes = ARENA_ARRAY(a, struct fact, 1 + answered->attribute_count),
    };

    f.attributes[f.attribute_count++] = own;
    part_inherit(&f, answered->attributes, answered->attribute_count);
    return f;
}
