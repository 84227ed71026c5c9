#include "admin/login/http_login.h"

#include <stdio.h>
#include <stdlib.h>

#include "admin/login/http_cookie.h"
#include "admin/login/http_login_entry.h"
#include "admin/login/json_in.h"
#include "admin/login/oidc.h"
#include "admin/login/page.h"
#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/http_origin.h"
#include "base/http_target.h"
#include "base/json.h"
#include "base/log.h"
#include "base/require.h"
#include "engine/engine.h"
#include "engine/intake/login_limit.h"
#include "engine/intake/password.h"
#include "engine/tally/refusals.h"
#include "store/people/secret.h"
#include "store/people/session.h"

enum {
    MAGIC = 0x6c6f6769,
    BODY_MOST = 16 << 10,
    ANSWER_MOST = 64 << 10,
    FIELDS_MOST = 8 << 10,
    ARENA_MOST = 512 << 10,
};

/* How a path is handled: when the body is complete first on_loop, then at_background. */
struct entry_way {
    const char *path; /* with '/' at its end: paths below it, too */
    enum http_method method;
    bool outside; /* talks to the OpenID Connect provider: uses the login background pool */
    bool (*on_loop)(
        struct entry *e); /* NULL: straight to the background; false: answered, or there already */
    void (*at_background)(struct entry *e);
};

/* ---- objects ---- */

static void entry_free(struct entry *e)
{
    if (e->body.len > 0)
        explicit_bzero(e->body.ptr, e->body.len);
    if (e->password.len > 0)
        secret_clear(e->password);
    buf_done(&e->body);
    buf_done(&e->fields);
    buf_done(&e->answer);
    arena_done(&e->arena);
    e->magic = 0;
    free(e);
}

static struct entry *http_login_entry_of(void *user)
{
    struct entry *e = user;

    require(e->magic == MAGIC);
    return e;
}

static struct str http_login_keep(struct entry *e, struct str text, size_t most)
{
    return arena_copy(&e->arena, str_first(text, most));
}

static struct entry *entry_new(struct http_request *r, struct login *login)
{
    struct entry *e = NEW(struct entry);

    *e = (struct entry){ .user = { .handler = &http_login_handler },
                         .magic = MAGIC,
                         .login = login,
                         .request = r,
                         .arena = ARENA_INIT(ARENA_MOST),
                         .body = BUF_INIT(BODY_MOST),
                         .fields = BUF_INIT(FIELDS_MOST),
                         .answer = BUF_INIT(ANSWER_MOST) };
    r->user = e;
    e->address = http_login_keep(e, http_peer(r), SESSION_ADDRESS_MOST);
    e->agent = http_login_keep(e, http_field(r, STR("User-Agent")), SESSION_AGENT_MOST);
    if (!str_is_utf8(e->agent))
        e->agent = STR("");
    e->host = http_login_keep(e, http_field(r, STR("Host")), 300);
    e->path = arena_copy(&e->arena, r->path);
    e->query = arena_copy(&e->arena, r->query);
    e->flow = http_login_keep(e, http_cookie_find(r, OIDC_COOKIE), 100);
    e->secure = http_cookie_is_secure(r);
    (void)http_cookie_identify(login, r, &e->arena, &e->who);
    return e;
}

/* ---- answers ---- */

static void http_login_answer(struct entry *e)
{
    struct http_request *r = e->request;

    require(e->status != 0);
    http_answer(r, e->status, buf_view(&e->fields), str_of(e->ctype), buf_view(&e->answer));
    entry_free(e);
}

/* Answers with {"error":{...}}. */
static void entry_error(struct entry *e, int status, const char *code, const char *message)
{
    e->status = status;
    e->ctype = "application/json";
    buf_puts(&e->fields, "Cache-Control: no-store\r\n");
    http_put_error(&e->answer, code, message);
    buf_putc(&e->answer, '\n');
}

void entry_page(struct entry *e, int status, const char *title, struct str text)
{
    e->status = status;
    e->ctype = "text/html; charset=utf-8";
    login_page_fields(&e->fields);
    login_page_say(&e->answer, title, text);
}

void entry_go(struct entry *e, struct str to)
{
    struct err err;

    e->status = 303;
    e->ctype = "";
    buf_puts(&e->fields, "Cache-Control: no-store\r\n");
    if (!http_put_field(&e->fields, "Location", to, &err))
        buf_puts(&e->fields, "Location: /\r\n");
}

static void trouble(struct entry *e, const struct err *err)
{
    bool later = err->kind == ERR_TRANSIENT || err->kind == ERR_UNCERTAIN;

    if (later)
        buf_puts(&e->fields, "Retry-After: 2\r\n");
    entry_error(e, later ? 503 : 500, later ? "unavailable" : "failed", err->text);
}

static void http_login_wrong(struct entry *e)
{
    entry_error(e, 401, "wrong", "The user or the password is wrong.");
}

/* ---- in the background ---- */

static void run_in_background(struct background_job *job)
{
    struct entry *e = http_login_entry_of(container_of(job, struct entry, job));

    e->way->at_background(e);
}

static void done_in_background(struct loop_msg *msg)
{
    struct entry *e = http_login_entry_of(container_of(msg, struct entry, job.done));

    e->away = false;
    if (e->request != NULL)
        http_login_answer(e);
    else
        entry_free(e); /* the client is gone */
}

static void http_login_to_background(struct entry *e)
{
    struct background *background =
        e->way->outside ? login_background(e->login) : engine_background(login_engine(e->login));

    e->job = (struct background_job){ .loop = http_loop(e->request),
                                      .run = run_in_background,
                                      .done = { .fn = done_in_background } };
    e->away = background_submit(background, &e->job);
    if (e->away)
        return;
    buf_puts(&e->fields, "Retry-After: 1\r\n");
    entry_error(e, 503, "busy", "Too many logins at once. Try again.");
    http_login_answer(e);
}

/* ---- user and password ---- */

static bool http_login_is_text(struct str s)
{
    return s.ptr != NULL && s.len <= 4096 && memchr(s.ptr, '\0', s.len) == NULL;
}

/* User names are stored in lower case. */
static struct str fold(struct arena *a, struct str name)
{
    char *text = arena_text(a, name);

    for (size_t i = 0; i < name.len; i++)
        if (text[i] >= 'A' && text[i] <= 'Z')
            text[i] = (char)(text[i] + ('a' - 'A'));
    return str_mem(text, name.len);
}

static bool take_pair(struct entry *e, struct str name, struct str password)
{
    if (!http_login_is_text(name) || !http_login_is_text(password))
        return false;
    e->name = fold(&e->arena, str_trim(name));
    e->password = arena_copy(&e->arena, password);
    return true;
}

static bool read_form(struct entry *e)
{
    AUTO(buf_done) struct buf name = BUF_INIT(4096), password = BUF_INIT(4096);
    bool has_name, has_password;
    struct err err;

    if (!http_decode_query(buf_view(&e->body), STR("user"), &name, &has_name, &err) ||
        !http_decode_query(buf_view(&e->body), STR("password"), &password, &has_password, &err))
        return false;
    bool ok = has_password && take_pair(e, buf_view(&name), buf_view(&password));

    explicit_bzero(password.ptr, password.len);
    return ok;
}

static bool read_json(struct entry *e)
{
    AUTO(json_in_drop) json_t *json = NULL;
    struct err err = { 0 };

    return json_in_object(buf_view(&e->body), &json, &err) &&
           take_pair(e, json_in_text(json, "user"), json_in_text(json, "password"));
}

static bool read_pair(struct entry *e)
{
    if (e->is_form ? read_form(e) : read_json(e))
        return true;
    entry_error(e, 400, "bad_request", "Send {\"user\":NAME,\"password\":TEXT} as JSON.");
    return false;
}

/* ---- a session ---- */

struct audit_entry entry_audit(const struct entry *e, struct str user, const char *action,
                               const char *how)
{
    return (struct audit_entry){ .actor = user,
                                 .kind = STR("user"),
                                 .address = e->address,
                                 .action = str_of(action),
                                 .object = user,
                                 .became = str_of(how) };
}

bool entry_begin_session(struct entry *e, struct str user, const char *how)
{
    struct login_from from = {
        .address = e->address, .agent = e->agent, .before = e->who.session, .hash = e->hash
    };
    struct audit_entry line = entry_audit(e, user, "login", how);
    char secret[KEY_SECRET];
    struct err err = { 0 };

    audit_begin(&line);
    bool begun = login_begin(e->login, user, &from, secret, &err);

    audit_end();
    if (!begun) {
        if (err.kind == ERR_NONE)
            http_login_wrong(e);
        else
            trouble(e, &err);
        return false;
    }
    http_cookie_put_session(&e->fields, e->secure, str_of(secret));
    explicit_bzero(secret, sizeof secret);
    log_event(LOG_INFO, "login.done", kv_str("user", user), kv_str("address", e->address),
              kv_z("how", how));
    return true;
}

static void say_user(struct entry *e, struct str user)
{
    struct json_out j = { .to = &e->answer };

    e->status = 200;
    e->ctype = "application/json";
    buf_puts(&e->fields, "Cache-Control: no-store\r\n");
    json_open(&j, '{');
    json_key(&j, "user");
    json_str(&j, user);
    json_close(&j, '}');
    buf_putc(&e->answer, '\n');
}

/* ---- POST /login ---- */

static void login_in_background(struct entry *e)
{
    if (entry_begin_session(e, e->name, "password"))
        say_user(e, e->name);
}

/* In the log as it happens, in the audit log summed up.  There only names of users that exist are
 * kept. */
static void note_refused(struct entry *e, const char *why)
{
    bool exists = e->hash != NULL || login_hash(e->login, e->name, &e->arena, &e->hash);

    log_event(LOG_WARN, "login.refuse", kv_str("user", e->name), kv_str("address", e->address),
              kv_z("why", why));
    refusals_note(engine_refusals(login_engine(e->login)),
                  &(struct refusal){ .action = "loginRefused",
                                     .actor = exists ? e->name : STR(""),
                                     .address = e->address,
                                     .object = exists ? e->name : STR(""),
                                     .why = why });
}

static void verified(void *user, bool ok)
{
    struct entry *e = http_login_entry_of(user);

    e->away = false;
    if (ok)
        login_limit_worked(login_limits(e->login), e->name, e->address, clock_mono_us());
    else
        note_refused(e, "the user or the password is wrong");
    if (e->request == NULL) {
        entry_free(e);
    } else if (ok) {
        http_login_to_background(e);
    } else {
        http_login_wrong(e);
        http_login_answer(e);
    }
}

static void refuse_often(struct entry *e, int64_t wait_us)
{
    char text[120];
    long long seconds = (long long)((wait_us + CLOCK_S - 1) / CLOCK_S);

    note_refused(e, "too many tries");
    buf_printf(&e->fields, "Retry-After: %lld\r\n", seconds);
    (void)snprintf(text, sizeof text,
                   "Too many wrong passwords from your address. Try again in %lld s.", seconds);
    entry_error(e, 429, "too_often", text);
}

static bool login_on_loop(struct entry *e)
{
    if (!read_pair(e))
        return true;
    int64_t wait = login_limit_try(login_limits(e->login), e->name, e->address, clock_mono_us());

    if (wait > 0) {
        refuse_often(e, wait);
        return true;
    }
    (void)login_hash(e->login, e->name, &e->arena, &e->hash);
    struct password_check check = { .queue = PASSWORD_OF_PEOPLE,
                                    .background = engine_background(login_engine(e->login)),
                                    .loop = http_loop(e->request),
                                    .user = e->name,
                                    .password = e->password,
                                    .hash = e->hash,
                                    .verified = verified,
                                    .arg = e };

    e->away = true;
    if (password_verify(&check))
        return false;
    e->away = false;
    login_limit_undo(login_limits(e->login), e->name, e->address);
    buf_puts(&e->fields, "Retry-After: 1\r\n");
    entry_error(e, 503, "busy", "Too many logins at once. Try again.");
    return true;
}

/* ---- POST /logout ---- */

static void logout_in_background(struct entry *e)
{
    struct audit_entry line = entry_audit(e, e->who.name, "logout", "");
    struct err err = { 0 };
    bool was, ended = true;

    audit_begin(&line);
    if (e->who.session != NULL)
        ended = login_end(e->login, e->who.session, &was, &err);
    audit_end();
    if (!ended) {
        trouble(e, &err);
        return;
    }
    if (e->who.session != NULL)
        log_event(LOG_INFO, "login.out", kv_str("user", e->who.name),
                  kv_str("address", e->address));
    http_cookie_put_session(&e->fields, e->secure, STR(""));
    buf_puts(&e->fields, "Cache-Control: no-store\r\n");
    e->status = 204;
    e->ctype = "";
}

/* ---- links ---- */

static struct sha256 link_of(const struct entry *e)
{
    return digest_of(str_from(e->path, strlen("/login/")));
}

static void say_gone(struct entry *e)
{
    if (e->is_form || e->way->method == HTTP_METHOD_GET)
        entry_page(e, 404, "This link does not work",
                   STR("It was used already, or is too old. Whoever made it can make another: "
                       "waybill user link NAME. The first user can be made with the token of the "
                       "node: waybill user add NAME --role admin."));
    else
        entry_error(e, 404, "unknown_link", "The link was used already, or is too old.");
}

static void show_form(struct entry *e, int status, struct str user, struct str problem)
{
    e->status = status;
    e->ctype = "text/html; charset=utf-8";
    login_page_fields(&e->fields);
    login_page_choose(&e->answer, user, problem);
}

static bool find_link(struct entry *e, struct str *ret_user)
{
    struct sha256 id = link_of(e);
    struct err err = { 0 };

    if (user_invited(engine_store(login_engine(e->login)), &id, &e->arena, ret_user, &err))
        return true;
    if (err.kind == ERR_NONE)
        say_gone(e);
    else
        trouble(e, &err);
    return false;
}

static void link_show_in_background(struct entry *e)
{
    struct str user;

    if (find_link(e, &user))
        show_form(e, 200, user, STR(""));
}

/* Refuses the name or password that was chosen; the link stays valid for another try. */
static void refuse_pair(struct entry *e, struct str user, const struct err *err)
{
    if (e->is_form)
        show_form(e, 400, user, str_of(err->text));
    else
        entry_error(e, 400, "bad_request", err->text);
}

static bool check_pair(struct entry *e, struct str user, struct err *err)
{
    if (user.len > 0 && e->name.len > 0 && !str_eq(e->name, user))
        return err_set(err, ERR_PERMANENT, 0, "the link is not for this user");
    if (user.len == 0 && !user_is_name(e->name))
        return err_set(err, ERR_PERMANENT, 0,
                       "a name is small letters, digits and . _ - @ +, at most %d", USER_NAME_MOST);
    if (user.len == 0 && user_is_reserved(e->name))
        return err_set(err, ERR_PERMANENT, 0, "this name is reserved: choose one of a person");
    return login_check_password(user.len > 0 ? user : e->name, e->password, err);
}

static void link_use_in_background(struct entry *e)
{
    struct sha256 id = link_of(e);
    char hash[PASSWORD_TEXT];
    struct err err = { 0 };
    struct str name;

    if (!find_link(e, &name))
        return;
    if (!check_pair(e, name, &err)) {
        refuse_pair(e, name, &err);
        return;
    }
    struct user u = { .name = e->name, .roles = STR("admin") };

    if (!password_hash(e->password, hash, &err)) {
        trouble(e, &err);
        return;
    }
    u.password = str_of(hash);
    struct audit_entry line = entry_audit(e, name.len > 0 ? name : e->name, "passwordSet", "link");

    audit_begin(&line);
    bool entered =
        user_enter(engine_store(login_engine(e->login)), &id, &u, &e->arena, &name, &err);

    audit_end();
    if (!entered || !login_refresh(e->login, &err)) {
        trouble(e, &err);
    } else if (name.len == 0) {
        say_gone(e);
    } else if (entry_begin_session(e, name, "link")) {
        login_limit_worked(login_limits(e->login), name, e->address, clock_mono_us());
        if (e->is_form)
            entry_go(e, STR("/"));
        else
            say_user(e, name);
    }
}

static bool link_on_loop(struct entry *e)
{
    if (read_pair(e))
        http_login_to_background(e);
    else
        return true;
    return false;
}

/* ---- GET /login/ways ---- */

static void ways_in_background(struct entry *e)
{
    struct json_out j = { .to = &e->answer };

    e->status = 200;
    e->ctype = "application/json";
    buf_puts(&e->fields, "Cache-Control: no-store\r\n");
    json_open(&j, '{');
    json_key(&j, "password");
    json_bool(&j, true);
    json_key(&j, "oidc");
    oidc_describe(login_engine(e->login), &j);
    json_close(&j, '}');
    buf_putc(&e->answer, '\n');
}

/* ---- which way ---- */

static const struct entry_way ways[] = {
    { "/login", HTTP_METHOD_POST, .on_loop = login_on_loop, .at_background = login_in_background },
    { "/logout", HTTP_METHOD_POST, .at_background = logout_in_background },
    { "/login/ways", HTTP_METHOD_GET, .at_background = ways_in_background },
    { "/login/", HTTP_METHOD_GET, .at_background = link_show_in_background },
    { "/login/", HTTP_METHOD_POST, .on_loop = link_on_loop,
      .at_background = link_use_in_background },
    { "/oidc/start", HTTP_METHOD_GET, .outside = true, .at_background = oidc_start },
    { "/oidc/callback", HTTP_METHOD_GET, .outside = true, .at_background = oidc_callback },
};

enum { WAYS = sizeof ways / sizeof ways[0] };

static bool fits(const struct entry_way *w, struct str path)
{
    size_t len = strlen(w->path);

    return str_is(path, w->path) ||
           (w->path[len - 1] == '/' && path.len > len && str_starts(path, str_of(w->path)));
}

bool http_login_takes(const struct http_request *r)
{
    for (size_t i = 0; i < WAYS; i++)
        if (fits(&ways[i], r->path))
            return !str_is(r->path, "/login") || r->method != HTTP_METHOD_GET;
    return false;
}

static bool is_type(struct str content_type, const char *type)
{
    struct str is;

    (void)str_cut(content_type, ';', &is);
    return str_eq_nocase(str_trim(is), str_of(type));
}

/* Defence against cross-site requests.  Another site cannot send JSON without a CORS preflight,
 * which we do not grant.  It can send a form, and a logout, which needs no body: these must prove
 * that they come from our own page.  This holds for links as well: the owner of a link could
 * otherwise log somebody else's browser in as the user of the link. */
static bool http_login_read_type(struct entry *e)
{
    struct str type = e->request->content_type;
    bool out = str_is(e->path, "/logout");

    e->is_form =
        str_starts(e->path, STR("/login/")) && is_type(type, "application/x-www-form-urlencoded");
    if (http_origin_is_foreign(e->request)) {
        entry_error(e, 403, "other_site", "Another site asks: this is for pages of this node.");
        return false;
    }
    if ((e->is_form || out) && !http_origin_is_own(e->request)) {
        entry_error(e, 403, "other_site",
                    "This is for pages of this node: send its address as Origin.");
        return false;
    }
    if (e->is_form || is_type(type, "application/json") || out)
        return true;
    entry_error(e, 415, "bad_type", "Send JSON: Content-Type: application/json.");
    return false;
}

static void http_login_on_head(struct http_request *r, void *arg)
{
    struct entry *e = entry_new(r, arg);
    bool other = false;

    for (size_t i = 0; i < WAYS && e->way == NULL; i++)
        if (fits(&ways[i], r->path)) {
            other = true;
            if (ways[i].method == r->method)
                e->way = &ways[i];
        }
    require(other);
    if (e->way == NULL) {
        entry_error(e, 405, "method_not_allowed", "This path is not for this method.");
        http_login_answer(e);
    } else if (r->method == HTTP_METHOD_GET) {
        http_login_to_background(e);
    } else if (!http_login_read_type(e)) {
        http_login_answer(e);
    } else {
        http_read_body(r);
    }
}

static void http_login_on_body(struct http_request *r, struct str bytes)
{
    struct entry *e = http_login_entry_of(r->user);
    struct err err;

    if (buf_append(&e->body, bytes, &err))
        return;
    entry_error(e, 413, "too_large", "That is too long for a user and a password.");
    http_login_answer(e);
}

static void http_login_on_end(struct http_request *r)
{
    struct entry *e = http_login_entry_of(r->user);

    if (e->way->on_loop == NULL)
        http_login_to_background(e);
    else if (e->way->on_loop(e))
        http_login_answer(e);
}

static void http_login_on_gone(struct http_request *r)
{
    struct entry *e = http_login_entry_of(r->user);

    e->request = NULL;
    if (!e->away)
        entry_free(e);
}

const struct http_handler http_login_handler = {
    .head = http_login_on_head,
    .body = http_login_on_body,
    .end = http_login_on_end,
    .gone = http_login_on_gone,
};
