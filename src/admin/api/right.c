/* right.c - rights: me, roles, admin keys. */
#include "admin/api/parts.h"
#include "admin/login/login.h"
#include "base/clock.h"
#include "base/log.h"
#include "core/option.h"
#include "engine/engine.h"
#include "engine/upkeep/admin_keys.h"
#include "store/people/admin_key.h"
#include "store/people/role.h"

/* ---- rights ---- */

static bool set_rights(struct graphql_call *call, unsigned bits)
{
    struct str *words = ARENA_ARRAY(call->arena, struct str, RIGHTS);
    size_t n = 0;

    for (int r = RIGHT_SEE; r < RIGHTS; r++)
        if ((bits >> r & 1) != 0)
            words[n++] = str_of(right_word((enum right)r));
    return graphql_set_texts(call, words, n);
}

/* ---- me ---- */

struct grant {
    struct str system; /* empty: all systems */
    unsigned bits;
};

static bool me(struct graphql_call *call, struct err *err)
{
    (void)err;
    return graphql_set_object(call, api_principal(call));
}

static bool me_kind(struct graphql_call *call, struct err *err)
{
    static const char *const kinds[] = { [PRINCIPAL_NOBODY] = "nobody",
                                         [PRINCIPAL_TOKEN] = "token",
                                         [PRINCIPAL_USER] = "user",
                                         [PRINCIPAL_KEY] = "key" };
    const struct principal *p = call->parent;

    (void)err;
    return graphql_set_z(call, kinds[p->kind]);
}

static bool me_rights(struct graphql_call *call, struct err *err)
{
    const struct principal *p = call->parent;
    unsigned bits = 0;

    (void)err;
    for (int r = RIGHT_SEE; r < RIGHTS; r++)
        if (rights_has(&p->rights, (enum right)r))
            bits |= 1u << r;
    return set_rights(call, bits);
}

static bool me_systems(struct graphql_call *call, struct err *err)
{
    const struct rights *r = &((const struct principal *)call->parent)->rights;
    struct str *names = ARENA_ARRAY(call->arena, struct str, r->count);
    size_t n = 0;

    (void)err;
    if (rights_everywhere(r, RIGHT_SEE))
        return graphql_set_null(call);
    for (size_t i = 0; i < r->count; i++)
        if ((r->at[i].bits >> RIGHT_SEE & 1) != 0)
            names[n++] = r->at[i].system;
    return graphql_set_texts(call, names, n);
}

static bool me_grants(struct graphql_call *call, struct err *err)
{
    const struct rights *r = &((const struct principal *)call->parent)->rights;
    struct grant *grants = ARENA_ARRAY(call->arena, struct grant, r->count + 1);
    size_t n = 0;

    (void)err;
    if (r->everywhere >> RIGHT_SEE != 0)
        grants[n++].bits = r->everywhere;
    for (size_t i = 0; i < r->count; i++)
        grants[n++] = (struct grant){ .system = r->at[i].system, .bits = r->at[i].bits };
    return graphql_set_structs(call, grants, n, sizeof *grants);
}

static bool grant_rights(struct graphql_call *call, struct err *err)
{
    (void)err;
    return set_rights(call, ((const struct grant *)call->parent)->bits);
}

/* ---- roles ---- */

struct shown_role {
    struct role role;
    bool built_in;
};

static bool roles(struct graphql_call *call, struct err *err)
{
    struct role *all;
    size_t n;

    if (!role_list(api_store(call), call->arena, &all, &n, err))
        return false;
    struct shown_role *shown = ARENA_ARRAY(call->arena, struct shown_role, rights_role_count + n);

    for (size_t i = 0; i < rights_role_count; i++)
        shown[i] = (struct shown_role){ .role = { .name = str_of(rights_roles[i].name),
                                                  .title = str_of(rights_roles[i].title),
                                                  .bits = rights_roles[i].bits,
                                                  .everywhere = true },
                                        .built_in = true };
    for (size_t i = 0; i < n; i++)
        shown[rights_role_count + i].role = all[i];
    return graphql_set_structs(call, shown, rights_role_count + n, sizeof *shown);
}

static bool role_rights_shown(struct graphql_call *call, struct err *err)
{
    (void)err;
    return set_rights(call, ((const struct shown_role *)call->parent)->role.bits);
}

static bool role_systems(struct graphql_call *call, struct err *err)
{
    const struct role *r = &((const struct shown_role *)call->parent)->role;

    (void)err;
    return r->everywhere ? graphql_set_null(call)
                         : graphql_set_texts(call, r->systems, r->system_count);
}

static bool api_right_read_role(struct graphql_call *call, struct role *ret, struct err *err)
{
    const struct graphql_value *words = graphql_arg(call, "rights");
    const struct graphql_value *systems = graphql_arg(call, "systems");

    *ret = (struct role){ .name = graphql_arg_text(call, "name"),
                          .title = graphql_arg_text(call, "title"),
                          .everywhere = systems->kind != GRAPHQL_LIST,
                          .made_us = clock_wall_us(),
                          .by = api_name(call) };
    for (size_t i = 0; i < words->count; i++)
        ret->bits |= 1u << (unsigned)words->items[i].number;
    ret->bits &= ~(1u << RIGHT_ANY);
    if (ret->everywhere)
        return true;
    if (systems->count > RIGHTS_SYSTEMS_MOST)
        return err_set(err, ERR_LIMIT, 0, "more than %d systems", RIGHTS_SYSTEMS_MOST);
    ret->systems = ARENA_ARRAY(call->arena, struct str, systems->count);
    for (size_t i = 0; i < systems->count; i++)
        ret->systems[ret->system_count++] = systems->items[i].text;
    return true;
}

static bool api_right_follow(struct graphql_call *call, struct err *err)
{
    return admin_keys_follow(engine_admin_keys(api_engine(call)), err);
}

/* After a change of a role, reloads what caches the rights of roles: admin keys and sessions. */
static bool follow_roles(struct graphql_call *call, struct err *err)
{
    return api_right_follow(call, err) && login_refresh(api_principal(call)->login, err);
}

static bool role_add(struct graphql_call *call, struct err *err)
{
    struct shown_role *v = ARENA_NEW(call->arena, struct shown_role);

    if (!api_right_read_role(call, &v->role, err) || !role_put(api_store(call), &v->role, err) ||
        !follow_roles(call, err))
        return false;
    log_event(LOG_INFO, "role.add", kv_str("role", v->role.name), kv_str("by", api_name(call)));
    return graphql_set_object(call, v);
}

static bool role_remove(struct graphql_call *call, struct err *err)
{
    struct str name = graphql_arg_text(call, "name");
    bool was_there;

    if (!role_drop(api_store(call), name, &was_there, err) || !follow_roles(call, err))
        return false;
    if (was_there)
        log_event(LOG_INFO, "role.remove", kv_str("role", name), kv_str("by", api_name(call)));
    return graphql_set_bool(call, was_there);
}

/* ---- keys ---- */

struct new_key {
    struct str id, key;
};

static bool admin_keys(struct graphql_call *call, struct err *err)
{
    struct admin_key *all;
    size_t n;

    if (!admin_key_list(api_store(call), call->arena, &all, &n, err))
        return false;
    return graphql_set_structs(call, all, n, sizeof *all);
}

/* ERR_PERMANENT: one of the names is not a role. */
static bool check_roles(struct graphql_call *call, const struct str *names, size_t count,
                        struct err *err)
{
    struct role *all;
    size_t n;

    if (!role_list(api_store(call), call->arena, &all, &n, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        struct option_guess guess = { .word = names[i] };
        bool found = rights_role_find(names[i]) != NULL;

        for (size_t k = 0; k < rights_role_count; k++)
            option_guess_try(&guess, str_of(rights_roles[k].name));
        for (size_t k = 0; k < n; k++) {
            found = found || str_eq(all[k].name, names[i]);
            option_guess_try(&guess, all[k].name);
        }
        if (found)
            continue;
        if (guess.best.len > 0)
            return err_set(err, ERR_PERMANENT, 0, "there is no role %.64s; did you mean %.*s?",
                           arena_text(call->arena, names[i]), STR_ARG(guess.best));
        return err_set(err, ERR_PERMANENT, 0, "there is no role %.64s",
                       arena_text(call->arena, names[i]));
    }
    return true;
}

static bool api_right_read_key(struct graphql_call *call, struct admin_key *ret, struct err *err)
{
    const struct graphql_value *names = graphql_arg(call, "roles");

    *ret = (struct admin_key){ .title = graphql_arg_text(call, "title"), .by = api_name(call) };
    (void)graphql_arg_int(call, "expires", &ret->expires_us);
    if (ret->expires_us != 0 && ret->expires_us <= clock_wall_us())
        return err_set(err, ERR_PERMANENT, 0, "expires is in the past");
    if (names->count > ROLES_OF_ONE_MOST)
        return err_set(err, ERR_LIMIT, 0, "more than %d roles", ROLES_OF_ONE_MOST);
    ret->roles = ARENA_ARRAY(call->arena, struct str, names->count);
    for (size_t i = 0; i < names->count; i++)
        ret->roles[ret->role_count++] = names->items[i].text;
    return check_roles(call, ret->roles, ret->role_count, err);
}

static bool api_right_key_add(struct graphql_call *call, struct err *err)
{
    struct new_key *made = ARENA_NEW(call->arena, struct new_key);
    char name[KEY_NAME], key[KEY_TEXT];
    struct admin_key order;

    if (!api_right_read_key(call, &order, err) ||
        !admin_key_add(api_store(call), &order, name, key, err))
        return false;
    *made = (struct new_key){ .id = arena_copy(call->arena, str_of(name)),
                              .key = arena_copy(call->arena, str_of(key)) };
    explicit_bzero(key, sizeof key);
    log_event(LOG_INFO, "admin_key.add", kv_str("key", made->id), kv_str("title", order.title),
              kv_str("by", api_name(call)));
    if (!api_right_follow(call, err))
        return err_behind(err, "key %s is made, but cannot be shown: remove it and make another",
                          name);
    return graphql_set_object(call, made);
}

static bool api_right_key_remove(struct graphql_call *call, struct err *err)
{
    struct str name = graphql_arg_text(call, "id");
    bool was_there;

    if (!admin_key_remove(api_store(call), name, &was_there, err) || !api_right_follow(call, err))
        return false;
    if (was_there)
        log_event(LOG_INFO, "admin_key.remove", kv_str("key", name), kv_str("by", api_name(call)));
    return graphql_set_bool(call, was_there);
}

const struct graphql_resolver api_right[] = {
    { .field = "Query.me", .fn = me },
    GRAPHQL_MEMBER("Me.name", struct principal, name),
    { .field = "Me.kind", .fn = me_kind },
    { .field = "Me.rights", .fn = me_rights },
    { .field = "Me.systems", .fn = me_systems },
    { .field = "Me.grants", .fn = me_grants },
    API_TEXT_AT("Grant.system", struct grant, system),
    { .field = "Grant.rights", .fn = grant_rights },
    { .field = "Query.roles", .fn = roles },
    { .field = "Mutation.roleAdd", .fn = role_add },
    { .field = "Mutation.roleRemove", .fn = role_remove },
    GRAPHQL_MEMBER("Role.name", struct shown_role, role.name),
    API_TEXT_AT("Role.title", struct shown_role, role.title),
    { .field = "Role.rights", .fn = role_rights_shown },
    { .field = "Role.systems", .fn = role_systems },
    GRAPHQL_MEMBER("Role.builtIn", struct shown_role, built_in),
    API_NUMBER_AT("Role.made", struct shown_role, role.made_us),
    API_TEXT_AT("Role.by", struct shown_role, role.by),
    { .field = "Query.adminKeys", .fn = admin_keys },
    { .field = "Mutation.adminKeyAdd", .fn = api_right_key_add },
    { .field = "Mutation.adminKeyRemove", .fn = api_right_key_remove },
    GRAPHQL_MEMBER("AdminKey.id", struct admin_key, name),
    GRAPHQL_MEMBER("AdminKey.title", struct admin_key, title),
    GRAPHQL_LIST_OF("AdminKey.roles", struct admin_key, roles, role_count),
    GRAPHQL_MEMBER("AdminKey.made", struct admin_key, made_us),
    GRAPHQL_MEMBER("AdminKey.by", struct admin_key, by),
    API_NUMBER_AT("AdminKey.expires", struct admin_key, expires_us),
    API_NUMBER_AT("AdminKey.used", struct admin_key, used_us),
    GRAPHQL_MEMBER("NewAdminKey.id", struct new_key, id),
    GRAPHQL_MEMBER("NewAdminKey.key", struct new_key, key),
};
const size_t api_right_count = sizeof api_right / sizeof api_right[0];
