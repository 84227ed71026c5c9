#include "admin/login/oidc.h"

#include <errno.h>
#include <stdio.h>

#include "admin/login/http_login_entry.h"
#include "admin/login/json_in.h"
#include "admin/login/oidc_fetch.h"
#include "admin/login/oidc_provider.h"
#include "base/auto.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/http_target.h"
#include "base/json.h"
#include "base/log.h"
#include "base/require.h"
#include "core/yaml.h"
#include "engine/engine.h"
#include "engine/tally/refusals.h"

enum { FLOW_S = 600, FLOW_TEXT = 48, URL_MOST = 7000, CODE_MOST = 4096, NAME_TEXT = 64 };

#define CALLBACK "/oidc/callback"

static void oidc_refuse(struct entry *e, int status, const struct err *err)
{
    log_event(LOG_WARN, "login.refuse", kv_z("user", ""), kv_str("address", e->address),
              kv_z("why", err->text));
    refusals_note(engine_refusals(login_engine(e->login)),
                  &(struct refusal){ .action = "loginRefused",
                                     .address = e->address,
                                     .object = STR("oidc"),
                                     .why = err->text });
    entry_page(e, status, "You are not logged in", str_of(err->text));
}

static void refuse_text(struct entry *e, int status, const char *text)
{
    struct err err = { 0 };

    (void)err_set(&err, ERR_PERMANENT, 0, "%s", text);
    oidc_refuse(e, status, &err);
}

static void refuse_trouble(struct entry *e, const struct err *err)
{
    oidc_refuse(e, err->kind == ERR_TRANSIENT ? 503 : err->kind == ERR_CONFIG ? 500 : 403, err);
}

/* ---- what belongs to one login ---- */

/* Derived from the secret in the cookie by a one-way function; none reveals another. */
struct flow {
    char state[FLOW_TEXT], nonce[FLOW_TEXT], verifier[FLOW_TEXT], challenge[FLOW_TEXT];
};

static void oidc_text_of(struct sha256 sum, char ret[static FLOW_TEXT])
{
    AUTO(buf_done) struct buf text = BUF_INIT(FLOW_TEXT);
    struct err err;

    require(base64url_encode(str_mem(sum.bytes, SHA256_SIZE), &text, &err));
    (void)snprintf(ret, FLOW_TEXT, "%s", text.ptr);
}

static void oidc_derive(const char *what, struct str secret, char ret[static FLOW_TEXT])
{
    struct digest d = digest_start();

    digest_add(&d, str_of(what));
    digest_add(&d, STR(":"));
    digest_add(&d, secret);
    oidc_text_of(digest_end(&d), ret);
}

static struct flow flow_of(struct str secret)
{
    struct flow f;

    oidc_derive("state", secret, f.state);
    oidc_derive("nonce", secret, f.nonce);
    oidc_derive("verifier", secret, f.verifier);
    oidc_text_of(digest_of(str_of(f.verifier)), f.challenge);
    return f;
}

static void put_flow_cookie(struct entry *e, const char *secret)
{
    buf_printf(&e->fields,
               "Set-Cookie: %s=%s; Path=/oidc; HttpOnly; SameSite=Lax; Max-Age=%d%s\r\n",
               OIDC_COOKIE, secret, secret[0] != '\0' ? FLOW_S : 0, e->secure ? "; Secure" : "");
}

/* ---- addresses ---- */

static void put_escaped(struct buf *to, struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];

        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
            memchr("-._~", c, 4) != NULL)
            buf_putc(to, c);
        else
            buf_printf(to, "%%%02X", (unsigned)(unsigned char)c);
    }
}

static void put_pair(struct buf *to, const char *name, struct str value)
{
    buf_printf(to, "%s%s=", to->len > 0 && to->ptr[to->len - 1] != '?' ? "&" : "", name);
    put_escaped(to, value);
}

static bool is_host(struct str host)
{
    for (size_t i = 0; i < host.len; i++) {
        char c = host.ptr[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              memchr(".-:[]", c, 5) != NULL))
            return false;
    }
    return host.len > 0;
}

/* The redirect URI, which the provider compares with the registered one. */
static bool find_redirect(struct entry *e, struct oidc_settings *s, struct err *err)
{
    if (s->redirect.len == 0) {
        if (!is_host(e->host))
            return err_set(err, ERR_PERMANENT, 0, "the browser names no host");
        s->redirect = str_of(arena_printf(&e->arena, "%s://%.*s" CALLBACK,
                                          e->secure ? "https" : "http", STR_ARG(e->host)));
    }
    e->secure = e->secure || str_starts(s->redirect, STR("https://"));
    return true;
}

/* ---- start ---- */

/* Reads the settings and finds the provider's addresses.  False: answered with the reason. */
static bool open_provider(struct entry *e, struct oidc_settings *s, struct oidc_places *ret_places)
{
    struct err err = { 0 };
    bool there;

    if (!oidc_settings_read(login_engine(e->login), &e->arena, s, &there, &err)) {
        refuse_trouble(e, &err);
    } else if (!there) {
        entry_page(e, 404, "There is no other way in",
                   STR("The configuration has no provider under auth: oidc."));
    } else if (!find_redirect(e, s, &err) || !oidc_provider_places(login_oidc(e->login), s->issuer,
                                                                   &e->arena, ret_places, &err)) {
        refuse_trouble(e, &err);
    } else {
        return true;
    }
    return false;
}

void oidc_start(struct entry *e)
{
    AUTO(oidc_settings_done) struct oidc_settings s = { 0 };
    AUTO(buf_done) struct buf url = BUF_INIT(64 << 10);
    char secret[KEY_SECRET];
    struct oidc_places places;

    if (!open_provider(e, &s, &places))
        return;
    key_secret(secret);
    struct flow flow = flow_of(str_of(secret));

    buf_put(&url, places.authorization);
    if (str_find(places.authorization, '?') < 0)
        buf_putc(&url, '?');
    put_pair(&url, "response_type", STR("code"));
    put_pair(&url, "client_id", s.client_id);
    put_pair(&url, "redirect_uri", s.redirect);
    put_pair(&url, "scope", s.scopes);
    put_pair(&url, "state", str_of(flow.state));
    put_pair(&url, "nonce", str_of(flow.nonce));
    put_pair(&url, "code_challenge", str_of(flow.challenge));
    put_pair(&url, "code_challenge_method", STR("S256"));
    if (url.len > URL_MOST) {
        refuse_text(e, 500, "the settings under auth: oidc are too long");
        return;
    }
    put_flow_cookie(e, secret);
    entry_go(e, buf_view(&url));
}

/* ---- callback: the code ---- */

static bool parameter(struct entry *e, const char *name, struct str *ret)
{
    AUTO(buf_done) struct buf value = BUF_INIT(CODE_MOST);
    struct err err;
    bool given;

    if (!http_decode_query(e->query, str_of(name), &value, &given, &err))
        return false;
    *ret = given ? arena_copy(&e->arena, buf_view(&value)) : (struct str){ 0 };
    return true;
}

static bool same(struct str a, const char *b)
{
    struct sha256 x = digest_of(a), y = digest_of(str_of(b));

    return a.ptr != NULL && digest_same(&x, &y);
}

/* Checks that the callback belongs to a login that this browser began at this provider. */
static bool read_code(struct entry *e, const struct oidc_settings *s, const struct oidc_places *at,
                      const struct flow *flow, struct str *ret_code, struct err *err)
{
    struct str state, iss, error;

    if (!parameter(e, "state", &state) || !parameter(e, "iss", &iss) ||
        !parameter(e, "error", &error) || !parameter(e, "code", ret_code))
        return err_set(err, ERR_PERMANENT, 0, "what the provider sent back cannot be read");
    if (e->flow.len != KEY_SECRET - 1 || !same(state, flow->state))
        return err_set(err, ERR_PERMANENT, 0,
                       "this is not the login that this browser began, or it is too long ago; try "
                       "again");
    if ((iss.ptr != NULL || at->tells_issuer) && !str_eq(iss, s->issuer))
        return err_set(err, ERR_PERMANENT, 0, "another provider answered");
    if (error.len > 0)
        return err_set(err, ERR_PERMANENT, 0, "the provider says no: %.*s",
                       (int)(error.len < 100 ? error.len : 100), error.ptr);
    return ret_code->len > 0 || err_set(err, ERR_PERMANENT, 0, "the provider sent no code");
}

/* RFC 6749, 2.3.1: client id and secret are form-encoded before HTTP Basic joins them. */
static const char *escaped(struct arena *a, struct str text)
{
    AUTO(buf_done) struct buf to = BUF_INIT(64 << 10);

    put_escaped(&to, text);
    return arena_text(a, buf_view(&to));
}

static bool fetch_tokens(struct entry *e, const struct oidc_settings *s,
                         const struct oidc_places *at, struct str code, const struct flow *flow,
                         json_t **ret, struct err *err)
{
    AUTO(buf_done) struct buf form = BUF_INIT(128 << 10), text = BUF_INIT(OIDC_FETCH_MOST);
    struct oidc_fetch f = { .egress = engine_egress(login_engine(e->login)), .url = at->token.ptr };
    int status;

    put_pair(&form, "grant_type", STR("authorization_code"));
    put_pair(&form, "code", code);
    put_pair(&form, "redirect_uri", s->redirect);
    put_pair(&form, "code_verifier", str_of(flow->verifier));
    if (s->client_secret.len == 0 || at->wants_post)
        put_pair(&form, "client_id", s->client_id);
    if (s->client_secret.len > 0 && at->wants_post)
        put_pair(&form, "client_secret", s->client_secret);
    if (s->client_secret.len > 0 && !at->wants_post) {
        f.user = escaped(&e->arena, s->client_id);
        f.password = escaped(&e->arena, s->client_secret);
    }
    f.form = form.ptr;
    bool ok = oidc_fetch(&f, &text, &status, err);

    explicit_bzero(form.ptr, form.len);
    if (!ok)
        return false;
    if (!json_in_object(buf_view(&text), ret, err))
        return err_context(err, "the provider's tokens");
    struct str why = json_in_text(*ret, "error");

    return status == 200 ||
           err_set(err, ERR_PERMANENT, 0, "the provider gives no token: %d %.*s", status,
                   (int)(why.len < 100 ? why.len : 100), why.len > 0 ? why.ptr : "");
}

/* ---- callback: the user ---- */

static bool has_role(struct str roles, struct str role)
{
    struct str one;

    while (roles.len > 0) {
        roles = str_cut(roles, ' ', &one);
        if (str_eq(one, role))
            return true;
    }
    return false;
}

static void add_roles(const struct yaml_node *list, struct buf *to)
{
    for (const struct yaml_node *n = list->first; n != NULL; n = n->next) {
        struct str role = yaml_text(n);

        if (has_role(buf_view(to), role) || to->len + role.len + 1 > USER_ROLES_TEXT)
            continue;
        if (to->len > 0)
            buf_putc(to, ' ');
        buf_put(to, role);
    }
}

/* The roles of all groups in the claim; the claim is a list or a single text. */
static struct str roles_of(struct entry *e, const struct oidc_settings *s, const json_t *claims)
{
    AUTO(buf_done) struct buf roles = BUF_INIT(USER_ROLES_TEXT);
    const json_t *groups = json_object_get(claims, s->groups.ptr), *one;
    size_t i;

    for (const struct yaml_node *n = s->roles != NULL ? s->roles->first : NULL; n != NULL;
         n = n->next) {
        struct str group = yaml_text(n->key);
        bool in = str_eq(json_in_text(claims, s->groups.ptr), group) && group.len > 0;

        json_array_foreach(groups, i, one)
        {
            in = in || (json_is_string(one) && str_eq(str_of(json_string_value(one)), group));
        }
        if (in)
            add_roles(n, &roles);
    }
    return arena_copy(&e->arena, buf_view(&roles));
}

/* A valid user name from the claims preferred_username or email.  If there is none, or with
 * `plain`, a name made of a digest of issuer and subject. */
static struct str oidc_name_of(struct entry *e, const json_t *claims, const struct user *u,
                               bool plain)
{
    static const char *const wanted[] = { "preferred_username", "email" };
    char sum[SHA256_TEXT];

    for (size_t i = 0; !plain && i < sizeof wanted / sizeof wanted[0]; i++) {
        struct str text = json_in_text(claims, wanted[i]);
        char *name = arena_text(&e->arena, text.len <= USER_NAME_MOST ? text : STR(""));

        for (char *c = name; *c != '\0'; c++)
            if (*c >= 'A' && *c <= 'Z')
                *c = (char)(*c + ('a' - 'A'));
        if (user_is_name(str_of(name)))
            return str_of(name);
    }
    struct digest d = digest_start();

    digest_add(&d, u->iss);
    digest_add(&d, STR("\n"));
    digest_add(&d, u->sub);
    struct sha256 id = digest_end(&d);

    (void)digest_text(&id, sum);
    return str_of(arena_printf(&e->arena, "oidc-%.16s", sum));
}

static bool add_user(struct entry *e, struct store *store, const struct user *u, struct err *err)
{
    struct audit_entry line = entry_audit(e, u->name, "userAdd", "oidc");

    line.reason = u->roles;
    audit_begin(&line);
    bool ok = user_add(store, u, err);

    audit_end();
    return ok;
}

static bool make_user(struct entry *e, struct store *store, const json_t *claims, struct user *u,
                      struct err *err)
{
    struct str title = json_in_text(claims, "name");

    u->title = arena_copy(&e->arena, str_first(title, USER_TITLE_MOST));
    u->name = oidc_name_of(e, claims, u, false);
    if (add_user(e, store, u, err))
        return true;
    if (err->sys != EEXIST)
        return false;
    *err = (struct err){ 0 }; /* another user has this name */
    u->name = oidc_name_of(e, claims, u, true);
    return add_user(e, store, u, err);
}

static bool change_roles(struct entry *e, struct store *store, const struct user *u,
                         struct err *err)
{
    struct audit_entry line = entry_audit(e, u->name, "userChange", "oidc");
    bool was;

    line.reason = u->roles;
    audit_begin(&line);
    bool ok = user_change(store, u, USER_ROLES, NULL, &was, err);

    audit_end();
    return ok;
}

/* Finds or adds the user of this identity, and sets the roles that the provider grants now. */
static bool oidc_find_user(struct entry *e, const struct oidc_settings *s, const json_t *claims,
                           struct user *ret, struct err *err)
{
    struct store *store = engine_store(login_engine(e->login));
    struct user u = { .iss = s->issuer,
                      .sub = json_in_text(claims, "sub"),
                      .roles = roles_of(e, s, claims),
                      .password = STR("") };

    if (u.sub.len > USER_SUB_MOST || !str_is_utf8(u.sub))
        return err_set(err, ERR_PERMANENT, 0, "the provider's name for you is too long");
    bool there = user_get_by_sub(store, u.iss, u.sub, &e->arena, ret, err);

    if (!there && err->kind != ERR_NONE)
        return false;
    u.name = ret->name;
    if (there && ret->disabled)
        return err_set(err, ERR_PERMANENT, 0, "the user %.*s is disabled", STR_ARG(ret->name));
    if (there && !str_eq(ret->roles, u.roles) &&
        (!change_roles(e, store, &u, err) || !login_refresh(e->login, err)))
        return false;
    if (u.roles.len == 0)
        return err_set(err, ERR_PERMANENT, 0,
                       "none of your groups may use this Waybill; ask whoever looks after it to "
                       "give one of them a role under auth: oidc: roles");
    if (there)
        return true;
    if (!make_user(e, store, claims, &u, err))
        return false;
    log_event(LOG_INFO, "user.change", kv_z("what", "add"), kv_str("user", u.name),
              kv_z("by", "oidc"));
    *ret = u;
    return true;
}

void oidc_callback(struct entry *e)
{
    AUTO(oidc_settings_done) struct oidc_settings s = { 0 };
    AUTO(json_in_drop) json_t *tokens = NULL, *claims = NULL;
    struct oidc_places places;
    struct err err = { 0 };
    struct flow flow = flow_of(e->flow);
    struct user user;
    struct str code;

    if (!open_provider(e, &s, &places))
        return;
    put_flow_cookie(e, "");
    if (!read_code(e, &s, &places, &flow, &code, &err) ||
        !fetch_tokens(e, &s, &places, code, &flow, &tokens, &err)) {
        refuse_trouble(e, &err);
        return;
    }
    struct jwt_rules rules = { .iss = s.issuer,
                               .aud = s.client_id,
                               .nonce = str_of(flow.nonce),
                               .now_s = clock_wall_us() / CLOCK_S };

    if (!oidc_provider_check(login_oidc(e->login), json_in_text(tokens, "id_token"), &rules,
                             &claims, &err) ||
        !oidc_find_user(e, &s, claims, &user, &err)) {
        refuse_trouble(e, &err);
        return;
    }
    if (entry_begin_session(e, user.name, "oidc"))
        entry_go(e, STR("/"));
}

/* ---- what there is ---- */

void oidc_describe(struct engine *engine, struct json_out *j)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(256 << 10);
    AUTO(oidc_settings_done) struct oidc_settings s = { 0 };
    struct err err = { 0 };
    bool there;

    if (!oidc_settings_read(engine, &arena, &s, &there, &err) || !there) {
        json_none(j);
        return;
    }
    json_open(j, '{');
    json_key(j, "title");
    json_str(j, s.title);
    json_key(j, "start");
    json_z(j, "/oidc/start");
    json_close(j, '}');
}
