/* secret.c - secrets: secrets, secretAdd, secretRemove.  A value can be set and never be read. */
#include "store/people/secret.h"
#include "admin/api/parts.h"
#include "base/log.h"
#include "engine/engine.h"
#include "engine/upkeep/live.h"
#include "store/store.h"

static bool list(struct graphql_call *call, struct secret **ret, size_t *ret_count, struct err *err)
{
    *ret = ARENA_ARRAY(call->arena, struct secret, SECRETS_MOST);
    return secret_list(api_store(call), call->arena, *ret, ret_count, err);
}

static bool secrets(struct graphql_call *call, struct err *err)
{
    struct secret *all;
    size_t n;

    if (!list(call, &all, &n, err))
        return false;
    return graphql_set_structs(call, all, n, sizeof *all);
}

static bool secret_add(struct graphql_call *call, struct err *err)
{
    struct engine *e = api_engine(call);
    struct str name = graphql_arg_text(call, "name");
    struct secret *all;
    size_t n;

    if (!secret_put(engine_store(e), name, graphql_arg_text(call, "value"), api_name(call), err))
        return false;
    log_event(LOG_INFO, "secret.add", kv_str("name", name));
    if (!live_refresh(engine_live(e), err) || !list(call, &all, &n, err))
        return false;
    for (size_t i = 0; i < n; i++)
        if (str_eq(all[i].name, name))
            return graphql_set_object(call, &all[i]);
    return err_set(err, ERR_TRANSIENT, 0,
                   "the secret was stored, and removed by somebody else meanwhile");
}

static bool secret_remove(struct graphql_call *call, struct err *err)
{
    struct engine *e = api_engine(call);
    struct str name = graphql_arg_text(call, "name");
    bool was_there;
    unsigned line;

    if (live_names_secret(engine_live(e), name, &line))
        return err_set(
            err, ERR_PERMANENT, 0,
            "the live configuration names the secret in line %u: apply one that does not, "
            "then remove it",
            line);
    if (!secret_drop(engine_store(e), name, &was_there, err))
        return false;
    if (was_there)
        log_event(LOG_INFO, "secret.remove", kv_str("name", name));
    return live_refresh(engine_live(e), err) && graphql_set_bool(call, was_there);
}

const struct graphql_resolver api_secret[] = {
    { .field = "Query.secrets", .fn = secrets },
    { .field = "Mutation.secretAdd", .fn = secret_add },
    { .field = "Mutation.secretRemove", .fn = secret_remove },
    GRAPHQL_MEMBER("Secret.name", struct secret, name),
    GRAPHQL_MEMBER("Secret.fingerprint", struct secret, fingerprint),
    GRAPHQL_MEMBER("Secret.made", struct secret, made_us),
    GRAPHQL_MEMBER("Secret.by", struct secret, made_by),
};
const size_t api_secret_count = sizeof api_secret / sizeof api_secret[0];
