#include "core/web/http_client.h"

#include <stdio.h>
#include <time.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/http_target.h"
#include "core/template.h"
#include "core/web/answer_excerpt.h"

enum {
    OWN_FIELDS = 8,
    CONFIGURED_MOST = 48,
    VALUE_MOST = 8192,
    EXCERPT_MOST = 400, /* bytes of an answer in a message */
    PAUSE_MOST_S = 24 * 60 * 60,
};
_Static_assert(OWN_FIELDS + CONFIGURED_MOST <= HTTP_OUT_FIELDS, "all have room");

/* A configured header: a constant, or a template over the document. */
struct http_client_field {
    struct str name, value;
    const struct template *words; /* NULL: use `value` */
};

enum outcome { OUTCOME_USUAL, OUTCOME_DELIVERED, OUTCOME_RETRY, OUTCOME_DOUBT, OUTCOME_REJECTED };

/* ---- options ---- */

bool http_client_is_status(struct str text, uint64_t *ret)
{
    return str_to_u64(text, ret) && *ret >= HTTP_STATUS_LEAST && *ret <= HTTP_STATUS_MOST;
}

void http_client_check(const struct yaml_node *map, struct problem_list *problems)
{
    const struct yaml_node *outcome = yaml_get(map, "outcome");

    if (outcome == NULL || outcome->kind != YAML_MAP)
        return;
    for (const struct yaml_node *o = outcome->first; o != NULL; o = o->next) {
        char status[PROBLEM_QUOTE];
        uint64_t number;

        if (!http_client_is_status(o->key->text, &number))
            problem_add(problems, o->key->place, "a status is a number from 100 to 599",
                        "`%s` is not an HTTP status", problem_quote(status, o->key->text));
    }
}

static bool http_client_is_control(char c)
{
    return (unsigned char)c < ' ' || c == 0x7f;
}

/* Headers that cannot be configured: HTTP framing belongs to the client, the rest identifies the
 * document to receivers. */
static bool http_client_is_ours(struct str name)
{
    static const char *const ours[] = {
        "content-length",
        "transfer-encoding",
        "connection",
        "expect",
        "te",
        "trailer",
        "upgrade",
        "idempotency-key",
        "waybill-document",
        "waybill-sender",
        "waybill-receiver",
        "waybill-type",
        "waybill-ack",
        "waybill-ack-token",
    };

    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
        if (str_eq_nocase(name, str_of(ours[i])))
            return true;
    return false;
}

/* Counts references to the document in a text. */
static size_t count_words(struct str s, bool raw)
{
    size_t count = 0;

    for (; s.len > 1; s = str_from(s, 1))
        if (str_starts(s, STR("${")) &&
            !(raw && (str_starts(s, STR("${env:")) || str_starts(s, STR("${file:")) ||
                      str_starts(s, STR("${secret:")))))
            count++;
    return count;
}

/* Refuses an expanded secret with `${` in it: it would become a reference to the document. */
static bool http_client_read_value(const struct settings *s, const struct yaml_node *node,
                                   struct http_client_field *f, struct err *err)
{
    size_t words = count_words(node->text, true);

    if (!settings_expand(s, node, &f->value, err))
        return false;
    if (str_has_control(f->value))
        return err_set(err, ERR_CONFIG, 0, "its value holds a control character");
    if (f->value.len > VALUE_MOST)
        return err_set(err, ERR_CONFIG, 0, "its value is longer than %d bytes", VALUE_MOST);
    if (words == 0)
        return true;
    if (words != count_words(f->value, false))
        return err_set(err, ERR_CONFIG, 0, "what is put in holds `${`");
    return template_compile(f->value, s->arena, &f->words, err);
}

static bool http_client_read_fields(const struct settings *s, struct http_client *h,
                                    struct err *err)
{
    const struct yaml_node *headers = yaml_get(s->node, "headers");

    if (headers == NULL || headers->kind != YAML_MAP)
        return true;
    if (headers->count > CONFIGURED_MOST)
        return err_set(err, ERR_CONFIG, 0, "`headers` has more than %d", CONFIGURED_MOST);
    h->fields = ARENA_ARRAY(s->arena, struct http_client_field, headers->count + 1);
    for (const struct yaml_node *n = headers->first; n != NULL; n = n->next) {
        struct http_client_field *f = &h->fields[h->field_count++];

        f->name = n->key->text;
        if (!http_is_token(f->name))
            return err_set(err, ERR_CONFIG, 0, "`headers`: `%.*s` is no name of a header",
                           STR_ARG(f->name));
        if (http_client_is_ours(f->name))
            return err_set(err, ERR_CONFIG, 0, "`headers`: `%.*s` cannot be set", STR_ARG(f->name));
        h->typed = h->typed || str_eq_nocase(f->name, STR("content-type"));
        if (!http_client_read_value(s, n, f, err))
            return err_context(err, "`headers`: `%.*s`", STR_ARG(f->name));
    }
    return true;
}

static bool read_outcomes(const struct settings *s, struct http_client *h, struct err *err)
{
    static const char *const words[] = {
        [OUTCOME_DELIVERED] = "delivered",
        [OUTCOME_RETRY] = "retry",
        [OUTCOME_DOUBT] = "in_doubt",
        [OUTCOME_REJECTED] = "rejected",
    };
    const struct yaml_node *outcome = yaml_get(s->node, "outcome");

    if (outcome == NULL || outcome->kind != YAML_MAP)
        return true;
    for (const struct yaml_node *n = outcome->first; n != NULL; n = n->next) {
        struct str word;
        uint64_t status;
        unsigned char i = OUTCOME_DELIVERED;

        if (!settings_expand(s, n, &word, err))
            return err_context(err, "`outcome`");
        while (i <= OUTCOME_REJECTED && !str_is(word, words[i]))
            i++;
        if (!http_client_is_status(n->key->text, &status) || i > OUTCOME_REJECTED)
            return err_set(err, ERR_CONFIG, 0, "`outcome`: `%.*s` cannot be used",
                           STR_ARG(n->key->text));
        h->outcomes[status] = i;
    }
    return true;
}

static bool read_tls(const struct settings *s, struct http_out_options *o, struct err *err)
{
    struct settings tls = settings_below(s, "tls");

    o->verify = true;
    if (!settings_path(&tls, "ca", &o->ca, err) || !settings_path(&tls, "cert", &o->cert, err) ||
        !settings_path(&tls, "key", &o->key, err) ||
        !settings_bool(&tls, "verify", &o->verify, err))
        return err_context(err, "`tls`");
    if (o->key.len == 0)
        o->key = o->cert; /* one file may hold both */
    return true;
}

bool http_client_read_url(const struct settings *s, struct str *ret, struct err *err)
{
    if (!settings_text(s, "url", ret, err))
        return false;
    for (size_t i = 0; i < ret->len; i++)
        if (http_client_is_control(ret->ptr[i]) || ret->ptr[i] == ' ')
            return err_set(err, ERR_CONFIG, 0, "`url` holds a blank or a control character");
    if (!str_starts(*ret, STR("http://")) && !str_starts(*ret, STR("https://")))
        return err_set(err, ERR_CONFIG, 0, "`url` starts with neither http:// nor https://");
    return true;
}

bool http_client_read(const struct settings *s, struct http_client *ret, struct err *err)
{
    struct http_out_options *o = &ret->options;

    if (!http_client_read_url(s, &ret->url, err) ||
        !settings_text(s, "method", &ret->method, err) ||
        !settings_duration(s, "timeout", &o->timeout_us, err) ||
        !settings_duration(s, "connect_timeout", &o->connect_timeout_us, err) ||
        !settings_text(s, "user", &o->user, err) ||
        !settings_text(s, "password", &o->password, err) || !read_tls(s, o, err) ||
        !http_client_read_fields(s, ret, err) || !read_outcomes(s, ret, err))
        return false;
    if (str_has_control(o->user) || str_find(o->user, ':') >= 0)
        return err_set(err, ERR_CONFIG, 0, "`user` holds a colon or a control character");
    return true;
}

/* ---- the request ---- */

static bool http_client_refuse(struct verdict *v, struct str name, const char *why)
{
    *v = (struct verdict){ 0 };
    (void)verdict_say(v, VERDICT_FAILED, "the header %.*s cannot be made: %s", STR_ARG(name), why);
    return false;
}

/* A header with an empty value is omitted. */
static bool http_client_put(struct http_out_request *r, struct str name, struct str value,
                            struct verdict *v)
{
    if (value.len == 0)
        return true;
    if (str_has_control(value))
        return http_client_refuse(v, name, "its value holds a control character");
    r->fields[r->field_count++] = (struct http_out_field){ name, value };
    return true;
}

static bool put_words(const struct http_client_field *f, const struct sending *s, struct arena *a,
                      struct http_out_request *r, struct verdict *v)
{
    struct template_values values = sending_values(s);
    struct err err = { 0 };
    AUTO(buf_done) struct buf b = BUF_INIT(VALUE_MOST);

    if (!template_render(f->words, &values, &b, &err))
        return http_client_refuse(v, f->name, err.text);
    return http_client_put(r, f->name, arena_copy(a, buf_view(&b)), v);
}

/* The value is on the arena beside the token. */
static bool put_token(struct http_out_request *r, struct str token, struct arena *a,
                      struct verdict *v)
{
    if (token.len == 0)
        return true;
    return http_client_put(r, STR("Authorization"),
                           str_of(arena_printf(a, "Bearer %.*s", STR_ARG(token))), v);
}

static bool put_own(struct http_out_request *r, const struct sending *s, struct verdict *v)
{
    r->field_count = 0;
    return http_client_put(r, STR("Idempotency-Key"), s->delivery, v) &&
           http_client_put(r, STR("Waybill-Document"), s->document, v) &&
           http_client_put(r, STR("Waybill-Sender"), s->facts->sender, v) &&
           http_client_put(r, STR("Waybill-Receiver"), s->facts->receiver, v) &&
           http_client_put(r, STR("Waybill-Type"), s->facts->type, v) &&
           http_client_put(r, STR("traceparent"), s->traceparent, v);
}

static bool put_configured(const struct http_client *h, const struct sending *s, struct arena *a,
                           struct http_out_request *r, struct verdict *v)
{
    for (size_t i = 0; i < h->field_count; i++) {
        const struct http_client_field *f = &h->fields[i];

        if (f->words != NULL) {
            if (!put_words(f, s, a, r, v))
                return false;
        } else {
            r->fields[r->field_count++] = (struct http_out_field){ f->name, f->value };
        }
    }
    return true;
}

bool http_client_put_fields(const struct http_client *c, const struct sending *s, struct arena *a,
                            struct http_out_request *ret, struct verdict *ret_failed)
{
    return put_own(ret, s, ret_failed) && put_token(ret, s->token, a, ret_failed) &&
           put_configured(c, s, a, ret, ret_failed);
}

bool http_client_prepare(const struct http_client *c, const struct sending *s, struct arena *a,
                         struct http_out_request *ret, struct verdict *ret_failed)
{
    struct str ctype = s->ctype.len > 0 ? s->ctype : STR("application/octet-stream");

    ret->method = c->method;
    ret->url = c->url;
    return put_own(ret, s, ret_failed) && put_token(ret, s->token, a, ret_failed) &&
           (c->typed || http_client_put(ret, STR("Content-Type"), ctype, ret_failed)) &&
           put_configured(c, s, a, ret, ret_failed);
}

/* ---- the answer ---- */

bool http_client_date(struct str s, int64_t *ret_us)
{
    static const char *const forms[] = { "%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT",
                                         "%a %b %d %H:%M:%S %Y" };
    char text[64];

    if (s.len >= sizeof text)
        return false;
    (void)snprintf(text, sizeof text, "%.*s", STR_ARG(s));
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        struct tm tm = { 0 };
        const char *end = strptime(text, forms[i], &tm);

        if (end == NULL || *end != '\0')
            continue;
        *ret_us = (int64_t)timegm(&tm) * CLOCK_S;
        return true;
    }
    return false;
}

int64_t http_client_pause_us(const struct http_out_answer *a)
{
    const int64_t most = (int64_t)PAUSE_MOST_S * CLOCK_S;
    struct str s = str_trim(a->retry_after);
    uint64_t seconds;
    int64_t at_us;

    if (s.len == 0)
        return 0;
    size_t digits = 0;

    while (digits < s.len && s.ptr[digits] >= '0' && s.ptr[digits] <= '9')
        digits++;
    if (digits == s.len) /* a number that overflows is long, too */
        return str_to_u64(s, &seconds) && seconds < PAUSE_MOST_S ? (int64_t)seconds * CLOCK_S
                                                                 : most;
    if (!http_client_date(s, &at_us) || at_us <= a->now_us)
        return 0;
    return at_us - a->now_us < most ? at_us - a->now_us : most;
}

enum verdict_kind http_client_usual(int64_t status)
{
    if (status >= 200 && status <= 299)
        return VERDICT_DELIVERED;
    switch (status) {
    case 401:
    case 403:
    case 407:
        return VERDICT_CREDENTIAL;
    case 408:
    case 425:
    case 429:
    case 503:
        return VERDICT_RETRY;
    default:
        return status >= 500 ? VERDICT_DOUBT : VERDICT_REJECTED;
    }
}

bool http_client_is_told(const struct http_client *c, int64_t status)
{
    return status >= HTTP_STATUS_LEAST && status <= HTTP_STATUS_MOST &&
           c->outcomes[status] != OUTCOME_USUAL;
}

static enum verdict_kind http_client_kind_of(const struct http_client *h, int64_t status)
{
    static const enum verdict_kind kinds[] = {
        [OUTCOME_DELIVERED] = VERDICT_DELIVERED,
        [OUTCOME_RETRY] = VERDICT_RETRY,
        [OUTCOME_DOUBT] = VERDICT_DOUBT,
        [OUTCOME_REJECTED] = VERDICT_REJECTED,
    };

    if (!http_client_is_told(h, status))
        return http_client_usual(status);
    return kinds[h->outcomes[status]];
}

static void judge_answer(const struct http_client *h, const struct http_out_answer *a,
                         struct verdict *v)
{
    v->kind = http_client_kind_of(h, a->status);
    if (v->kind == VERDICT_DELIVERED)
        return;
    AUTO(buf_done) struct buf excerpt = BUF_INIT(EXCERPT_MOST);

    answer_excerpt(a->body, &excerpt);
    (void)verdict_say(v, v->kind, "the receiver answered %lld%s%.*s", (long long)a->status,
                      excerpt.len > 0 ? ": " : "", STR_ARG(buf_view(&excerpt)));
    if (v->kind == VERDICT_RETRY)
        v->retry_after_us = http_client_pause_us(a);
}

void http_client_judge(const struct http_client *c, const struct http_out_answer *a,
                       struct verdict *v)
{
    *v = (struct verdict){ .status = a->status };
    switch (a->reach) {
    case HTTP_OUT_ANSWERED:
        judge_answer(c, a, v);
        return;
    case HTTP_OUT_NOT_SENT:
        (void)verdict_say(v, VERDICT_UNREACHED, "the receiver was not reached: %s", a->failure);
        return;
    case HTTP_OUT_UNCLEAR:
        (void)verdict_say(v, VERDICT_DOUBT, "no whole answer came: %s", a->failure);
        return;
    case HTTP_OUT_BAD_BODY: /* part of the body may have been sent; its effect is unknown */
        (void)verdict_say(v, VERDICT_DOUBT, "the document could not be read: %s", a->failure);
        return;
    }
}
