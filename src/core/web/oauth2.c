#include "core/web/oauth2.h"

#include "base/base64.h"
#include "base/clock.h"
#include "base/require.h"
#include "core/json_scan.h"
#include "core/json_text.h"
#include "core/web/http_client.h"

enum {
    SETTING_MOST = 4096, /* bytes of an id, a secret, a scope */
    REQUEST_MOST = 64 << 10,
    ERROR_MOST = 64, /* bytes of `error` and of its description that are quoted */
    DESCRIPTION_MOST = 200,
};

/* ---- options ---- */

static const struct option keys[] = {
    OPTION("token_url", OPT_URL, "the provider's address for tokens; http only on this machine",
           .flags = OPT_REQUIRED, .words = OPTION_WORDS("https", "http")),
    OPTION("client_id", OPT_TEXT, "how the provider knows this Waybill", .flags = OPT_REQUIRED),
    OPTION("client_secret", OPT_SECRET, "and by what it proves that", .flags = OPT_REQUIRED),
    OPTION("scope", OPT_TEXT, "what is asked for; several are separated by blanks"),
    OPTION("auth", OPT_WORD, "where id and secret are: in Authorization, or in the form",
           .words = OPTION_WORDS("basic", "post"), .fallback = "basic"),
    { 0 },
};

const struct option oauth2_options[] = {
    OPTION("oauth2", OPT_MAP, "log in with a token that is fetched by client credentials",
           .keys = keys),
    { 0 },
};

void oauth2_check(const struct yaml_node *map, struct problem_list *problems)
{
    static const char *const others[] = { "user", "password" };
    const struct yaml_node *headers = yaml_get(map, "headers");

    if (yaml_get(map, "oauth2") == NULL)
        return;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        const struct yaml_node *other = yaml_get(map, others[i]);

        if (other != NULL)
            problem_add(problems, other->place, "keep one of them",
                        "`%s` and `oauth2` are two ways to log in", others[i]);
    }
    if (headers == NULL || headers->kind != YAML_MAP)
        return;
    for (const struct yaml_node *n = headers->first; n != NULL; n = n->next)
        if (str_eq_nocase(n->key->text, STR("authorization")))
            problem_add(problems, n->place, "keep one of them",
                        "the header Authorization and `oauth2` are two ways to log in");
}

static bool check_setting(const char *key, struct str value, bool required, struct err *err)
{
    if (required && value.len == 0)
        return err_set(err, ERR_CONFIG, 0, "`%s` is empty", key);
    if (value.len > SETTING_MOST)
        return err_set(err, ERR_CONFIG, 0, "`%s` is longer than %d bytes", key, SETTING_MOST);
    if (str_has_control(value))
        return err_set(err, ERR_CONFIG, 0, "`%s` holds a control character", key);
    return true;
}

/* The host of a URL, without user and port. */
static struct str host_of(struct str url)
{
    ptrdiff_t at = str_find(url, ':');
    struct str rest = str_from(url, at >= 0 ? (size_t)at + 3 : 0), host;

    (void)str_cut(rest, '/', &host);
    if (host.len > 0 && host.ptr[0] == '[') {
        ptrdiff_t end = str_find(host, ']');

        return end > 0 ? str_mem(host.ptr + 1, (size_t)end - 1) : host;
    }
    (void)str_cut(host, ':', &host);
    return host;
}

static bool check_url(struct str url, struct err *err)
{
    if (url.len > SETTING_MOST)
        return err_set(err, ERR_CONFIG, 0, "`token_url` is longer than %d bytes", SETTING_MOST);
    for (size_t i = 0; i < url.len; i++)
        if ((unsigned char)url.ptr[i] <= ' ' || url.ptr[i] == 0x7f)
            return err_set(err, ERR_CONFIG, 0, "`token_url` holds a blank or a control character");
    if (!str_starts(url, STR("https://")) && !str_starts(url, STR("http://")))
        return err_set(err, ERR_CONFIG, 0, "`token_url` starts with neither http:// nor https://");
    if (str_find(host_of(url), '@') >= 0)
        return err_set(err, ERR_CONFIG, 0, "`token_url` holds a user: use client_id");
    if (str_starts(url, STR("http://")) && !units_is_loopback(host_of(url)))
        return err_set(err, ERR_CONFIG, 0,
                       "`token_url` is http: the secret would go over the network as it is; use "
                       "https");
    return true;
}

bool oauth2_read(const struct settings *s, const struct oauth2 **ret, struct err *err)
{
    struct settings below = settings_below(s, "oauth2");
    struct str auth;

    *ret = NULL;
    if (!settings_has(s, "oauth2"))
        return true;
    struct oauth2 *o = ARENA_NEW(s->arena, struct oauth2);

    if (!settings_text(&below, "token_url", &o->token_url, err) ||
        !settings_text(&below, "client_id", &o->client_id, err) ||
        !settings_text(&below, "client_secret", &o->client_secret, err) ||
        !settings_text(&below, "scope", &o->scope, err) ||
        !settings_text(&below, "auth", &auth, err) || !check_url(o->token_url, err) ||
        !check_setting("client_id", o->client_id, true, err) ||
        !check_setting("client_secret", o->client_secret, true, err) ||
        !check_setting("scope", o->scope, false, err))
        return err_context(err, "`oauth2`");
    o->in_form = str_is(auth, "post");
    *ret = o;
    return true;
}

/* ---- the request ---- */

/* As in a form (application/x-www-form-urlencoded), which RFC 6749 wants in Authorization too. */
static void put_encoded(struct buf *to, struct str s)
{
    static const char digits[] = "0123456789ABCDEF";

    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];

        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
            c == '-' || c == '.' || c == '_') {
            buf_putc(to, (char)c);
        } else {
            buf_putc(to, '%');
            buf_putc(to, digits[c >> 4]);
            buf_putc(to, digits[c & 15]);
        }
    }
}

static struct str basic_of(const struct oauth2 *o, struct arena *a)
{
    struct buf plain = BUF_INIT(REQUEST_MOST), text = BUF_INIT(REQUEST_MOST);
    struct err err;
    struct str made;

    put_encoded(&plain, o->client_id);
    buf_putc(&plain, ':');
    put_encoded(&plain, o->client_secret);
    buf_put(&text, STR("Basic "));
    require(base64_encode(buf_view(&plain), &text, &err)); /* check_setting() has limited both */
    made = arena_copy(a, buf_view(&text));
    explicit_bzero(plain.ptr, plain.len);
    explicit_bzero(text.ptr, text.len);
    buf_done(&plain);
    buf_done(&text);
    return made;
}

void oauth2_request(const struct oauth2 *o, struct arena *a, struct http_out_request *ret,
                    struct str *ret_body)
{
    struct buf body = BUF_INIT(REQUEST_MOST);

    buf_put(&body, STR("grant_type=client_credentials"));
    if (o->scope.len > 0) {
        buf_put(&body, STR("&scope="));
        put_encoded(&body, o->scope);
    }
    if (o->in_form) {
        buf_put(&body, STR("&client_id="));
        put_encoded(&body, o->client_id);
        buf_put(&body, STR("&client_secret="));
        put_encoded(&body, o->client_secret);
    }
    *ret_body = arena_copy(a, buf_view(&body));
    explicit_bzero(body.ptr, body.len);
    buf_done(&body);
    ret->method = STR("POST");
    ret->url = o->token_url;
    ret->field_count = 0;
    ret->fields[ret->field_count++] =
        (struct http_out_field){ STR("Content-Type"), STR("application/x-www-form-urlencoded") };
    ret->fields[ret->field_count++] =
        (struct http_out_field){ STR("Accept"), STR("application/json") };
    if (!o->in_form)
        ret->fields[ret->field_count++] =
            (struct http_out_field){ STR("Authorization"), basic_of(o, a) };
}

/* ---- the answer ---- */

/* The members that matter, raw: as they stand in the answer. */
enum member { MEMBER_TOKEN, MEMBER_TYPE, MEMBER_LIFE, MEMBER_ERROR, MEMBER_WHY, MEMBERS };

struct found {
    struct str raw; /* ptr NULL: it is not there */
    bool text, escapes;
};

static enum member member_of(struct str raw, bool escapes)
{
    static const char *const names[] = {
        [MEMBER_TOKEN] = "access_token",    [MEMBER_TYPE] = "token_type",
        [MEMBER_LIFE] = "expires_in",       [MEMBER_ERROR] = "error",
        [MEMBER_WHY] = "error_description",
    };
    enum member m = 0;

    while (m < MEMBERS && !json_text_is(raw, escapes, str_of(names[m])))
        m++;
    return m;
}

/* Reads the outermost object.  NULL: done; else what is wrong with it. */
static const char *read_members(struct str body, struct found found[static MEMBERS])
{
    struct json_scan s = { 0 };
    enum json_event e;
    enum member at = MEMBERS;

    json_scan_give(&s, body, true);
    while ((e = json_scan_next(&s)) > JSON_END) {
        if (s.depth > OAUTH2_DEPTH_MOST)
            return "its JSON is nested too deeply";
        if ((s.depth == 0 && e != JSON_CLOSE) ||
            (s.depth == 1 && e == JSON_OPEN && !json_scan_in_object(&s)))
            return "it is no JSON object";
        if (s.depth != 1)
            continue;
        if (e == JSON_KEY)
            at = member_of(s.text, s.escapes);
        else if ((e == JSON_TEXT || e == JSON_SCALAR) && at < MEMBERS)
            found[at] = (struct found){ s.text, e == JSON_TEXT, s.escapes };
    }
    return e == JSON_END ? NULL : "it is no JSON";
}

/* A member as text, on the arena; ptr NULL: it is not there, is no text, or is too long. */
static struct str member_text(const struct found *f, size_t most, struct arena *a)
{
    if (f->raw.ptr == NULL || !f->text || f->raw.len > 6 * most)
        return (struct str){ 0 };
    char *out = arena_alloc(a, f->raw.len + 1);
    size_t n = 0;

    for (size_t i = 0; i < f->raw.len;) {
        char piece[4];
        size_t len = 1;

        piece[0] = f->raw.ptr[i];
        if (piece[0] == '\\')
            len = json_scan_unescape(f->raw, &i, piece);
        else
            i++;
        memcpy(out + n, piece, len);
        n += len;
    }
    return n > most ? (struct str){ 0 } : str_mem(out, n);
}

static bool read_life(const struct found *f, int64_t *ret_us)
{
    uint64_t seconds;
    struct str digits = f->raw;

    if (f->raw.ptr == NULL) {
        *ret_us = (int64_t)OAUTH2_LIFE_UNSAID_S * CLOCK_S;
        return true;
    }
    for (size_t i = 0; i < digits.len; i++)
        if (digits.ptr[i] < '0' || digits.ptr[i] > '9')
            return false;
    if (digits.len == 0 || (str_to_u64(digits, &seconds) && seconds == 0))
        return false;
    /* A number that overflows is long, too. */
    *ret_us = (str_to_u64(digits, &seconds) && seconds < OAUTH2_LIFE_MOST_S
                   ? (int64_t)seconds
                   : (int64_t)OAUTH2_LIFE_MOST_S) *
              CLOCK_S;
    return true;
}

static bool is_bearer(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] <= ' ' || s.ptr[i] > '~')
            return false;
    return s.len > 0;
}

#define NO_TOKEN "no token to log in with: "

static bool fail(struct verdict *v, const char *why)
{
    (void)verdict_say(v, VERDICT_UNREACHED, NO_TOKEN "the provider's answer is unusable: %s", why);
    return false;
}

static bool oauth2_read_token(const struct http_out_answer *answer, struct arena *a,
                              struct oauth2_token *ret, struct verdict *v)
{
    struct found found[MEMBERS] = { 0 };
    const char *wrong = answer->came > (int64_t)answer->body.len
                            ? "it is larger than 64 KiB"
                            : read_members(answer->body, found);

    if (wrong != NULL)
        return fail(v, wrong);
    struct str type = member_text(&found[MEMBER_TYPE], ERROR_MOST, a);
    struct oauth2_token t = { .text = member_text(&found[MEMBER_TOKEN], OAUTH2_TOKEN_MOST, a) };

    if (found[MEMBER_TOKEN].raw.ptr == NULL)
        return fail(v, "it has no access_token");
    if (found[MEMBER_TYPE].raw.ptr != NULL && !str_eq_nocase(type, STR("bearer")))
        return fail(v, "its token_type is not Bearer");
    if (!is_bearer(t.text))
        return fail(v, "its access_token is not 1 to 16384 visible ASCII characters");
    if (!read_life(&found[MEMBER_LIFE], &t.life_us))
        return fail(v, "its expires_in is not a number of seconds above 0");
    *ret = t;
    return true;
}

static bool shows(struct str s, struct str secret)
{
    return s.len > 0 && memmem(s.ptr, s.len, secret.ptr, secret.len) != NULL;
}

/* The provider answered with another status than 200. */
static void say_refused(const struct oauth2 *o, const struct http_out_answer *answer,
                        struct arena *a, struct verdict *v)
{
    struct found found[MEMBERS] = { 0 };
    enum verdict_kind usual = http_client_usual(answer->status);
    /* 4xx says that these settings will not do. */
    bool refused =
        usual == VERDICT_CREDENTIAL || (usual == VERDICT_REJECTED && answer->status >= 400);

    if (read_members(answer->body, found) != NULL)
        memset(found, 0, sizeof found);
    struct str code = member_text(&found[MEMBER_ERROR], ERROR_MOST, a),
               why = member_text(&found[MEMBER_WHY], DESCRIPTION_MOST, a);

    if (shows(code, o->client_secret) || shows(why, o->client_secret))
        code = why = (struct str){ 0 };
    (void)verdict_say(v, refused ? VERDICT_CREDENTIAL : VERDICT_UNREACHED,
                      NO_TOKEN "the provider answered %lld%s%.*s%s%.*s%s",
                      (long long)answer->status, code.len > 0 ? " " : "", STR_ARG(code),
                      why.len > 0 ? ": " : "", STR_ARG(why),
                      refused ? "; check token_url, client_id, client_secret and scope" : "");
    v->retry_after_us = refused ? 0 : http_client_pause_us(answer);
}

bool oauth2_judge(const struct oauth2 *o, const struct http_out_answer *answer, struct arena *a,
                  struct oauth2_token *ret, struct verdict *v)
{
    *v = (struct verdict){ 0 };
    if (answer->reach == HTTP_OUT_ANSWERED && answer->status == 200)
        return oauth2_read_token(answer, a, ret, v);
    if (answer->reach == HTTP_OUT_ANSWERED)
        say_refused(o, answer, a, v);
    else if (answer->reach == HTTP_OUT_NOT_SENT)
        (void)verdict_say(v, VERDICT_UNREACHED, NO_TOKEN "the provider was not reached: %s",
                          answer->failure);
    else
        (void)verdict_say(v, VERDICT_UNREACHED, NO_TOKEN "no whole answer of the provider came: %s",
                          answer->failure);
    return false;
}
