#include "admin/graphql/once.h"

#include "admin/graphql/type.h"

enum { LEVELS = 32 };

struct level {
    const struct graphql_value *items;
    size_t count, at;
};

/* Adds the length before the bytes, so that different sequences of texts never digest alike. */
static void graphql_once_add(struct digest *d, struct str bytes)
{
    uint64_t len = bytes.len;

    digest_add(d, str_mem(&len, sizeof len));
    digest_add(d, bytes);
}

static void add_value(struct digest *d, const struct graphql_value *v)
{
    int kind = (int)v->kind;

    digest_add(d, str_mem(&kind, sizeof kind));
    digest_add(d, str_mem(&v->number, sizeof v->number));
    digest_add(d, str_mem(&v->real, sizeof v->real));
    digest_add(d, str_mem(&v->truth, sizeof v->truth));
    graphql_once_add(d, v->text);
    digest_add(d, str_mem(&v->count, sizeof v->count));
}

/* Adds a value and everything nested in it. */
static bool add_tree(struct digest *d, const struct graphql_value *v, struct err *err)
{
    struct level levels[LEVELS];
    size_t depth = 0;

    levels[depth++] = (struct level){ .items = v, .count = 1 };
    while (depth > 0) {
        struct level *top = &levels[depth - 1];

        if (top->at == top->count) {
            depth--;
            continue;
        }
        const struct graphql_value *one = &top->items[top->at++];

        add_value(d, one);
        if (one->count == 0)
            continue;
        if (depth == LEVELS)
            return err_set(err, ERR_LIMIT, 0, "arguments are nested too deeply");
        levels[depth++] = (struct level){ .items = one->items, .count = one->count };
    }
    return true;
}

bool graphql_once_question(const struct graphql_call *call, struct str source, struct sha256 *ret,
                           struct err *err)
{
    struct digest d = digest_start();

    graphql_once_add(&d, call->field->name);
    graphql_once_add(&d, source);
    for (size_t i = 0; i < call->field->arg_count; i++)
        if (!str_is(call->field->args[i].name, "client") && !add_tree(&d, &call->args[i], err)) {
            digest_drop(&d);
            return false;
        }
    *ret = digest_end(&d);
    return true;
}
