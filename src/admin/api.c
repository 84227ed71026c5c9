#include "admin/api.h"

#include <errno.h>
#include <stdlib.h>

#include "admin/api/audit.h"
#include "admin/api/parts.h"
#include "admin/graphql/embed.h"
#include "admin/graphql/request.h"
#include "admin/graphql/type.h"
#include "admin/login/budget.h"
#include "admin/login/identify.h"
#include "base/alloc.h"
#include "base/clock.h"

struct api {
    struct graphql_schema *schema;
    struct budget *budget;
};

/* ---- rights ---- */

bool api_find_right(struct str word, int *ret)
{
    enum right r;

    if (!right_find(word, &r))
        return false;
    *ret = (int)r;
    return true;
}

/* Types whose objects belong to systems: a right for some systems must cover the object.  Objects
 * of all other types are made only when they are in scope. */
static const struct {
    const char *type;
    bool (*covers)(const struct graphql_call *call, enum right right);
} owned[] = {
    { "Document", api_covers_document },
    { "RehearsedDocument", api_covers_rehearsed },
    { "RehearsedLeft", api_covers_rehearsed },
};

static bool covers(const struct graphql_call *call, enum right right)
{
    if (rights_everywhere(&api_principal(call)->rights, right) || !right_is_scoped(right))
        return true;
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++)
        if (str_is(call->type->name, owned[i].type))
            return owned[i].covers(call, right);
    return true;
}

bool api_may(struct graphql_call *call, int right, struct err *err)
{
    const struct principal *p = api_principal(call);

    if (rights_has(&p->rights, (enum right)right) && covers(call, (enum right)right))
        return true;
    return err_set(err, ERR_PERMANENT, EPERM, "%.*s does not have the right `%s`", STR_ARG(p->name),
                   right_word((enum right)right));
}

/* A field that is null without a right (@shows) refuses nothing. */
static void note_forbidden(struct graphql_call *call, int right)
{
    const struct graphql_field *f = call->field;

    if (f->shows.ptr != NULL && right == f->shown_right && right != f->right)
        return;
    identify_note_forbidden(
        api_principal(call),
        str_of(arena_printf(call->arena, "%.*s.%.*s", STR_ARG(call->type->name), STR_ARG(f->name))),
        (enum right)right);
}

static bool guard(struct graphql_call *call, int right, struct err *err)
{
    if (!api_may(call, right, err)) {
        note_forbidden(call, right);
        return false;
    }
    return api_audit_ask(call, (enum right)right, err);
}

/* ---- the schema ---- */

static bool api_bind_all(struct graphql_schema *schema, struct err *err)
{
    static const struct {
        const struct graphql_resolver *table;
        const size_t *count;
    } parts[] = {
#define PART(name) { api_##name, &api_##name##_count },
        API_PARTS(PART)
#undef PART
    };

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (!graphql_schema_bind(schema, parts[i].table, *parts[i].count, err))
            return false;
    graphql_schema_once(schema, &api_once);
    return graphql_schema_guard(schema, api_find_right, guard, err) &&
           graphql_schema_check(schema, err);
}

bool api_new(struct api **ret, struct err *err)
{
    struct api *api = NEW(struct api);

    api->budget = budget_new();
    api->schema = graphql_schema_new(embed_schema(), err);
    if (api->schema == NULL || !api_bind_all(api->schema, err)) {
        api_free(api);
        return err_context(err, "admin API");
    }
    *ret = api;
    return true;
}

void api_free(struct api *api)
{
    if (api == NULL)
        return;
    graphql_schema_free(api->schema);
    budget_free(api->budget);
    free(api);
}

/* The holder of the node's token has no budget: whoever can read the node's folder can do anything
 * here, and needs the token when nothing else works. */
static int api_wait_of(struct api *api, const struct principal *who)
{
    int64_t us =
        who->kind == PRINCIPAL_TOKEN ? 0 : budget_wait(api->budget, who->name, clock_mono_us());

    return (int)((us + CLOCK_S - 1) / CLOCK_S);
}

int api_execute(struct api *api, const struct principal *who, struct str content_type,
                struct str body, struct buf *out, int *ret_wait_s)
{
    struct graphql_limits limits = graphql_limits_default;
    int64_t from = clock_mono_us();

    *ret_wait_s = api_wait_of(api, who);
    if (*ret_wait_s > 0)
        return graphql_request_refuse(out, 429,
                                      "you have used more of this node's time than one may: wait a "
                                      "little, and ask for less at once");
    limits.variables = GRAPHQL_BODY_MAX; /* a configuration is sent as a variable */
    limits.introspection = true;         /* the caller is authenticated */
    int status = graphql_request_answer(api->schema, content_type, body, who, &limits, out);

    api_audit_done();
    budget_pay(api->budget, who->name, clock_mono_us() - from, clock_mono_us());
    return status;
}
