/* user.c - users and sessions: users, userAdd, userChange, userRemove, userLink, sessions,
 * sessionEnd, passwordChange. */
#include <errno.h>

#include "admin/api/parts.h"
#include "admin/login/login.h"
#include "admin/login/roles.h"
#include "base/auto.h"
#include "base/log.h"
#include "core/yaml.h"
#include "engine/engine.h"
#include "engine/intake/login_limit.h"
#include "engine/intake/password.h"
#include "store/govern/version.h"
#include "store/people/session.h"
#include "store/store.h"

enum { SHORT_ID = 16 }; /* hex digits of the digest by which a session is identified */

static struct login *login_of(const struct graphql_call *call)
{
    return api_principal(call)->login;
}

static void log_user(const struct graphql_call *call, const char *what, struct str user)
{
    log_event(LOG_INFO, "user.change", kv_z("what", what), kv_str("user", user),
              kv_str("by", api_name(call)));
}

/* ---- looking ---- */

static bool users(struct graphql_call *call, struct err *err)
{
    struct user *all;
    size_t n;

    if (!user_list(api_store(call), call->arena, &all, &n, err))
        return false;
    return graphql_set_structs(call, all, n, sizeof *all);
}

static bool user_roles(struct graphql_call *call, struct err *err)
{
    const struct user *u = call->parent;
    struct str *list = ARENA_ARRAY(call->arena, struct str, USER_ROLES_MOST), rest = u->roles;
    size_t n = 0;

    (void)err;
    while (rest.len > 0 && n < USER_ROLES_MOST)
        rest = str_cut(rest, ' ', &list[n++]);
    return graphql_set_texts(call, list, n);
}

static bool user_has_password(struct graphql_call *call, struct err *err)
{
    const struct user *u = call->parent;

    (void)err;
    return graphql_set_bool(call, u->password.len > 0);
}

struct shown_session {
    struct session session;
    struct str id;
    bool current;
};

static bool sessions(struct graphql_call *call, struct err *err)
{
    const struct sha256 *own = api_principal(call)->session;
    struct session *all;
    size_t n;

    if (!session_list(api_store(call), call->arena, &all, &n, err))
        return false;
    struct shown_session *views = ARENA_ARRAY(call->arena, struct shown_session, n + 1);

    for (size_t i = 0; i < n; i++) {
        char text[SHA256_TEXT];

        views[i].session = all[i];
        views[i].id = arena_copy(call->arena, str_mem(digest_text(&all[i].id, text), SHORT_ID));
        views[i].current = own != NULL && digest_same(own, &all[i].id);
    }
    return graphql_set_structs(call, views, n, sizeof *views);
}

/* ---- changing ---- */

/* Reads `roles` in stored form; false if there are too many or one is not a valid role name. */
static bool read_roles(struct graphql_call *call, struct str *ret, struct err *err)
{
    const struct graphql_value *list = graphql_arg(call, "roles");
    AUTO(buf_done) struct buf text = BUF_INIT(USER_ROLES_TEXT);

    if (list->count > USER_ROLES_MOST)
        return err_set(err, ERR_LIMIT, 0, "a user has at most %d roles", USER_ROLES_MOST);
    for (size_t i = 0; i < list->count; i++) {
        struct str name = list->items[i].text;

        if (name.len == 0 || str_find(name, ' ') >= 0)
            return err_set(err, ERR_PERMANENT, 0, "a role has a name without blanks");
        if ((i > 0 && !buf_append(&text, STR(" "), err)) || !buf_append(&text, name, err))
            return err_context(err, "roles");
    }
    *ret = arena_copy(call->arena, buf_view(&text));
    return login_roles_check(api_store(call), *ret, err);
}

static bool read_title(struct graphql_call *call, struct str *ret, struct err *err)
{
    *ret = graphql_arg_text(call, "title");
    if (ret->ptr == NULL)
        *ret = STR("");
    return (ret->len <= USER_TITLE_MOST && api_is_who(*ret)) ||
           err_set(err, ERR_LIMIT, 0, "a title is one line of at most %d bytes", USER_TITLE_MOST);
}

struct new_link {
    struct str user, link;
    int64_t expires_us;
};

static bool no_user(struct str name, struct err *err)
{
    return err_set(err, ERR_PERMANENT, ENOENT, "there is no user %.*s",
                   (int)(name.len < USER_NAME_MOST ? name.len : USER_NAME_MOST), name.ptr);
}

static bool make_link(struct graphql_call *call, struct str name, struct err *err)
{
    struct new_link *made = ARENA_NEW(call->arena, struct new_link);
    char secret[KEY_SECRET];

    if (!login_invite(login_of(call), name, secret, err))
        return err->kind != ERR_NONE ? false : no_user(name, err);
    *made = (struct new_link){ .user = arena_copy(call->arena, name),
                               .link = str_of(arena_printf(call->arena, "/login/%s", secret)),
                               .expires_us = clock_wall_us() + LOGIN_LINK_US };
    return graphql_set_object(call, made);
}

static bool api_user_add(struct graphql_call *call, struct err *err)
{
    struct user u = { .name = graphql_arg_text(call, "name") };

    if (!user_is_name(u.name))
        return err_set(err, ERR_PERMANENT, 0,
                       "a name is small letters, digits and . _ - @ +, at most %d", USER_NAME_MOST);
    if (!read_title(call, &u.title, err) || !read_roles(call, &u.roles, err) ||
        !user_add(api_store(call), &u, err))
        return false;
    log_user(call, "add", u.name);
    if (login_refresh(login_of(call), err) && make_link(call, u.name, err))
        return true;
    return err_behind(err, "the user is added, but has no link: make one by `waybill user link`");
}

static bool show_user(struct graphql_call *call, struct str name, struct err *err)
{
    struct user *u = ARENA_NEW(call->arena, struct user);

    if (!user_get(api_store(call), name, call->arena, u, err))
        return err->kind != ERR_NONE ? false : no_user(name, err);
    return graphql_set_object(call, u);
}

static bool api_user_change(struct graphql_call *call, struct err *err)
{
    struct user u = { .name = graphql_arg_text(call, "name") };
    unsigned what = 0;
    bool was;

    if (graphql_arg(call, "title")->kind == GRAPHQL_TEXT)
        what |= USER_TITLE;
    if (graphql_arg(call, "roles")->kind == GRAPHQL_LIST)
        what |= USER_ROLES;
    if (graphql_arg_bool(call, "disabled", &u.disabled))
        what |= USER_DISABLED;
    if (!read_title(call, &u.title, err) ||
        ((what & USER_ROLES) != 0 && !read_roles(call, &u.roles, err)) ||
        !user_change(api_store(call), &u, what, NULL, &was, err))
        return false;
    if (!was)
        return no_user(u.name, err);
    log_user(call, "change", u.name);
    return login_refresh(login_of(call), err) && show_user(call, u.name, err);
}

static bool api_user_drop(struct graphql_call *call, struct err *err)
{
    struct str name = graphql_arg_text(call, "name");
    bool was;

    if (!user_drop(api_store(call), name, &was, err))
        return false;
    if (was)
        log_user(call, "remove", name);
    return login_refresh(login_of(call), err) && graphql_set_bool(call, was);
}

static bool link_for(struct graphql_call *call, struct err *err)
{
    struct str name = graphql_arg_text(call, "name");
    bool lock_out = false, was;

    (void)graphql_arg_bool(call, "lockOut", &lock_out);
    if (lock_out) {
        struct user u = { .name = name };

        if (!user_change(api_store(call), &u, USER_PASSWORD, NULL, &was, err) ||
            !login_refresh(login_of(call), err))
            return false;
        if (!was)
            return no_user(name, err);
    }
    log_user(call, lock_out ? "rotate" : "link", name);
    return make_link(call, name, err);
}

static bool end_session(struct graphql_call *call, struct err *err)
{
    struct str id = graphql_arg_text(call, "id");
    struct session *all;
    bool was = false;
    size_t n;

    if (!session_list(api_store(call), call->arena, &all, &n, err))
        return false;
    for (size_t i = 0; i < n && !was; i++) {
        char text[SHA256_TEXT];

        if (!str_eq(str_mem(digest_text(&all[i].id, text), SHORT_ID), id))
            continue;
        if (!login_end(login_of(call), &all[i].id, &was, err))
            return false;
        log_user(call, "end session", all[i].user);
    }
    return graphql_set_bool(call, was);
}

/* ---- one's own password ---- */

static bool check_old(struct graphql_call *call, struct str old, struct err *err)
{
    const struct principal *p = api_principal(call);
    struct login_limit *limits = login_limits(p->login);
    const char *hash = NULL;

    if (login_limit_try(limits, p->name, p->address, clock_mono_us()) > 0)
        return err_set(err, ERR_TRANSIENT, 0, "too many wrong passwords: try again later");
    if (!login_hash(p->login, p->name, call->arena, &hash) || !password_is(old, hash))
        return err_set(err, ERR_PERMANENT, EACCES, "the old password is wrong");
    login_limit_worked(limits, p->name, p->address, clock_mono_us());
    return true;
}

static bool change_password(struct graphql_call *call, struct err *err)
{
    const struct principal *p = api_principal(call);
    struct str new = graphql_arg_text(call, "new");
    struct user u = { .name = p->name };
    char hash[PASSWORD_TEXT];
    bool was;

    if (p->kind != PRINCIPAL_USER)
        return err_set(err, ERR_PERMANENT, 0, "only who logged in as a user has a password");
    if (!check_old(call, graphql_arg_text(call, "old"), err) ||
        !login_check_password(p->name, new, err) || !password_hash(new, hash, err))
        return false;
    u.password = str_of(hash);
    if (!user_change(api_store(call), &u, USER_PASSWORD, p->session, &was, err))
        return false;
    log_user(call, "password", p->name);
    if (!login_refresh(p->login, err))
        return err_behind(
            err, "the password is changed, but may not count here yet: log in with the new one");
    return graphql_set_bool(call, was);
}

/* ---- `auth` of the configuration ---- */

/* Whether two configurations have the same section `auth`.  Only the YAML is parsed: the newest
 * version may be one that this program cannot use, and other problems of the text are reported
 * elsewhere. */
static bool same_auth(struct str was, struct str is)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(YAML_ARENA), b = ARENA_INIT(YAML_ARENA);
    struct problem_list problems = PROBLEM_LIST_INIT;
    const struct yaml_node *old = yaml_load(was, &a, &problems);
    const struct yaml_node *new = yaml_load(is, &b, &problems);
    const struct yaml_node *old_auth = yaml_get(old, "auth"), *new_auth = yaml_get(new, "auth");

    problem_list_done(&problems);
    if (new == NULL)
        return true; /* not YAML: the text cannot be applied anyway */
    if (old == NULL)
        return false; /* the newest version cannot be compared */
    return old_auth == NULL || new_auth == NULL ? old_auth == new_auth
                                                : yaml_same(old_auth, new_auth);
}

bool api_may_apply(struct graphql_call *call, struct str text, int64_t *ret_over, struct err *err)
{
    struct version newest = { .body = STR("") };

    *ret_over = 0;
    if (rights_everywhere(&api_principal(call)->rights, RIGHT_USERS))
        return true;
    if (!version_newest(api_store(call), ret_over, err) ||
        (!version_get(api_store(call), *ret_over, call->arena, &newest, err) &&
         err->kind != ERR_NONE))
        return false;
    return same_auth(newest.body, text) ||
           err_set(err, ERR_PERMANENT, EPERM,
                   "`auth` says who may log in: to change it takes the right `users`");
}

const struct graphql_resolver api_user[] = {
    { .field = "Query.users", .fn = users },
    { .field = "Query.sessions", .fn = sessions },
    { .field = "Mutation.userAdd", .fn = api_user_add },
    { .field = "Mutation.userChange", .fn = api_user_change },
    { .field = "Mutation.userRemove", .fn = api_user_drop },
    { .field = "Mutation.userLink", .fn = link_for },
    { .field = "Mutation.sessionEnd", .fn = end_session },
    { .field = "Mutation.passwordChange", .fn = change_password },
    GRAPHQL_MEMBER("User.name", struct user, name),
    API_TEXT_AT("User.title", struct user, title),
    { .field = "User.roles", .fn = user_roles },
    GRAPHQL_MEMBER("User.disabled", struct user, disabled),
    { .field = "User.password", .fn = user_has_password },
    API_TEXT_AT("User.issuer", struct user, iss),
    API_TEXT_AT("User.subject", struct user, sub),
    GRAPHQL_MEMBER("User.made", struct user, made_us),
    API_NUMBER_AT("User.lastLogin", struct user, login_us),
    GRAPHQL_MEMBER("Session.id", struct shown_session, id),
    GRAPHQL_MEMBER("Session.user", struct shown_session, session.user),
    GRAPHQL_MEMBER("Session.made", struct shown_session, session.made_us),
    GRAPHQL_MEMBER("Session.seen", struct shown_session, session.seen_us),
    GRAPHQL_MEMBER("Session.expires", struct shown_session, session.expires_us),
    GRAPHQL_MEMBER("Session.address", struct shown_session, session.address),
    GRAPHQL_MEMBER("Session.agent", struct shown_session, session.agent),
    GRAPHQL_MEMBER("Session.current", struct shown_session, current),
    GRAPHQL_MEMBER("UserLink.user", struct new_link, user),
    GRAPHQL_MEMBER("UserLink.link", struct new_link, link),
    GRAPHQL_MEMBER("UserLink.expires", struct new_link, expires_us),
};
const size_t api_user_count = sizeof api_user / sizeof api_user[0];
