#include "admin/api/parts.h"

#include "base/auto.h"
#include "core/state.h"
#include "engine/engine.h"
#include "engine/manual.h"

const struct principal *api_principal(const struct graphql_call *call)
{
    return call->principal;
}

struct engine *api_engine(const struct graphql_call *call)
{
    return api_principal(call)->engine;
}

struct store *api_store(const struct graphql_call *call)
{
    return engine_store(api_engine(call));
}

struct str api_name(const struct graphql_call *call)
{
    return api_principal(call)->name;
}

struct str api_who(const struct principal *p, struct str by, struct arena *a)
{
    if (by.len == 0 || str_eq(by, p->name))
        return p->name;
    if (p->kind == PRINCIPAL_TOKEN)
        return by;
    return str_of(arena_printf(a, "%.*s for %.*s", STR_ARG(p->name), STR_ARG(by)));
}

bool api_is_who(struct str by)
{
    for (size_t i = 0; i < by.len; i++)
        if ((unsigned char)by.ptr[i] < 0x20 || by.ptr[i] == 0x7f)
            return false;
    return by.len <= MANUAL_WHO_MOST && str_is_utf8(by);
}

bool api_read_who(const struct graphql_call *call, struct str *ret, struct err *err)
{
    struct str by = graphql_arg_text(call, "by");

    if (!api_is_who(by))
        return err_set(err, ERR_LIMIT, 0, "by is one line of at most %d bytes", MANUAL_WHO_MOST);
    *ret = api_who(api_principal(call), by, call->arena);
    return true;
}

bool api_read_page(const struct graphql_call *call, int64_t most, int64_t *ret_first,
                   int64_t *ret_after, struct err *err)
{
    struct str after = graphql_arg_text(call, "after");

    *ret_first = 50;
    *ret_after = 0;
    (void)graphql_arg_int(call, "first", ret_first);
    if (*ret_first < 1 || *ret_first > most)
        return err_set(err, ERR_LIMIT, 0, "first is between 1 and %lld", (long long)most);
    if (after.len > 0 && (!str_to_i64(after, ret_after) || *ret_after < 1))
        return err_set(err, ERR_PERMANENT, 0, "after is not the `next` of a page");
    return true;
}

bool api_page_items(struct graphql_call *call, struct err *err)
{
    const struct api_page *p = call->parent;

    (void)err;
    return graphql_set_objects(call, p->items, p->count);
}

void api_page_goes_on(struct graphql_call *call, struct api_page *page, int64_t next)
{
    if (next != 0)
        page->next = str_of(arena_printf(call->arena, "%lld", (long long)next));
}

bool api_refuse_empty(const struct graphql_value *filter, const char *const *names, struct err *err)
{
    for (; *names != NULL; names++) {
        const struct graphql_value *v = graphql_value_field(filter, *names);

        if (v->kind == GRAPHQL_TEXT && v->text.len == 0)
            return err_set(err, ERR_PERMANENT, 0, "%s of the filter is empty; leave it out for any",
                           *names);
    }
    return true;
}

bool api_read_where(const struct graphql_value *list, struct api_where *ret, struct err *err)
{
    *ret = (struct api_where){ 0 };
    if (list->kind != GRAPHQL_LIST)
        return true;
    if (list->count > API_WHERE_MOST)
        return err_set(err, ERR_LIMIT, 0, "more than %d attributes", API_WHERE_MOST);
    for (size_t i = 0; i < list->count; i++)
        ret->list[ret->count++] =
            (struct fact){ .name = graphql_value_field(&list->items[i], "name")->text,
                           .value = graphql_value_field(&list->items[i], "value")->text };
    return true;
}

bool api_set_attributes(struct graphql_call *call, const struct facts *f)
{
    return graphql_set_structs(call, f->attributes, f->attribute_count, sizeof *f->attributes);
}

bool api_text_at(struct graphql_call *call, struct err *err)
{
    const struct str *text = (const struct str *)((const char *)call->parent + call->offset);

    (void)err;
    return text->len > 0 ? graphql_set_text(call, *text) : graphql_set_null(call);
}

bool api_number_at(struct graphql_call *call, struct err *err)
{
    const int64_t *n = (const int64_t *)((const char *)call->parent + call->offset);

    (void)err;
    return *n != 0 ? graphql_set_int(call, *n) : graphql_set_null(call);
}

bool api_set_held(struct graphql_call *call, unsigned reasons)
{
    struct str *list = ARENA_ARRAY(call->arena, struct str, 32);
    size_t n = 0;

    for (unsigned bit = 0; bit < 32; bit++)
        if ((reasons >> bit & 1) != 0) {
            AUTO(buf_done) struct buf word = BUF_INIT(200);

            held_reasons_print(1u << bit, &word);
            list[n++] = arena_copy(call->arena, buf_view(&word));
        }
    return graphql_set_texts(call, list, n);
}
