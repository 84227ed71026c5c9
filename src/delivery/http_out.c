/* http_out.c - sends each document as one HTTP request.
 *
 *     salsify-api: { kind: http, url: "https://api.example/orders", outcome: { 409: delivered } }
 *
 * 2xx: delivered.  408 425 429 503: retry, after Retry-After if given.  401 403 407: our
 * credentials are refused, not the document.  Other 5xx: in doubt.  3xx (not followed) and other
 * 4xx: rejected.  `outcome` overrides any of these.
 *
 * `probe` asks whether a document in doubt has arrived, by its Idempotency-Key: 2xx, or what
 * `delivered` lists, means that it has; 404 and 410, or what `missing` lists, that it has not.
 */
#include <stdio.h>
#include <time.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/http_target.h"
#include "core/connector.h"
#include "core/grammar.h"
#include "core/template.h"
#include "delivery/answer_excerpt.h"

enum {
    OWN_FIELDS = 7,
    CONFIGURED_MOST = 48,
    VALUE_MOST = 8192,
    EXCERPT_MOST = 400, /* bytes of an answer in a message */
    PAUSE_MOST_S = 24 * 60 * 60,
    STATUS_LEAST = 100,
    STATUS_MOST = 599,
};
_Static_assert(OWN_FIELDS + CONFIGURED_MOST <= HTTP_OUT_FIELDS, "all have room");

/* A configured header: a constant, or a template over the document. */
struct field {
    struct str name, value;
    const struct template *words; /* NULL: use `value` */
};

enum outcome { OUTCOME_USUAL, OUTCOME_DELIVERED, OUTCOME_RETRY, OUTCOME_DOUBT, OUTCOME_REJECTED };

struct http_out {
    struct str method, url;
    struct http_out_options options;
    struct field *fields;
    size_t field_count;
    bool typed; /* the fields include Content-Type */
    unsigned char outcomes[STATUS_MOST + 1];

    /* `probe` */
    struct str ask_method;
    const struct template *ask_url; /* NULL: no probe is configured */
    unsigned char found[STATUS_MOST + 1];
};

/* What a status of the probe means. */
enum found { FOUND_UNCLEAR, FOUND_HERE, FOUND_MISSING };

/* ---- options ---- */

static const struct option probe_options[] = {
    OPTION("url", OPT_URL,
           "what is asked, with the words of templates; ${delivery} is the key that was sent",
           .flags = OPT_REQUIRED | OPT_FILLED, .words = OPTION_WORDS("http", "https")),
    OPTION("method", OPT_WORD, "the HTTP method", .words = OPTION_WORDS("GET", "HEAD", "POST"),
           .fallback = "GET"),
    OPTION("delivered", OPT_INT, "statuses that mean it has arrived; left out: any 2xx",
           .flags = OPT_OR_LIST, .least = STATUS_LEAST, .most = STATUS_MOST),
    OPTION("missing", OPT_INT, "statuses that mean it has not; left out: 404 and 410",
           .flags = OPT_OR_LIST, .least = STATUS_LEAST, .most = STATUS_MOST),
    { 0 },
};

static const struct option options[] = {
    OPTION("url", OPT_URL, "where requests go", .flags = OPT_REQUIRED,
           .words = OPTION_WORDS("http", "https")),
    OPTION("method", OPT_WORD, "the HTTP method", .words = OPTION_WORDS("POST", "PUT", "PATCH"),
           .fallback = "POST"),
    OPTIONS(grammar_headers),
    OPTIONS(grammar_login),
    OPTIONS(grammar_tls),
    OPTION("probe", OPT_MAP, "how `in_doubt: probe` asks whether a document has arrived",
           .keys = probe_options),
    { 0 },
};

static bool is_status(struct str text, uint64_t *ret)
{
    return str_to_u64(text, ret) && *ret >= STATUS_LEAST && *ret <= STATUS_MOST;
}

static void check_outcomes(const struct yaml_node *map, struct problem_list *problems)
{
    const struct yaml_node *outcome = yaml_get(map, "outcome");

    if (outcome == NULL || outcome->kind != YAML_MAP)
        return;
    for (const struct yaml_node *o = outcome->first; o != NULL; o = o->next) {
        char status[PROBLEM_QUOTE];
        uint64_t number;

        if (!is_status(o->key->text, &number))
            problem_add(problems, o->key->place, "a status is a number from 100 to 599",
                        "`%s` is not an HTTP status", problem_quote(status, o->key->text));
    }
}

static bool http_out_is_control(char c)
{
    return (unsigned char)c < ' ' || c == 0x7f;
}

/* Headers that cannot be configured: HTTP framing belongs to the client, the rest identifies the
 * document to receivers. */
static bool http_out_is_ours(struct str name)
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
static bool http_out_read_value(const struct settings *s, const struct yaml_node *node,
                                struct field *f, struct err *err)
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

static bool http_out_read_fields(const struct settings *s, struct http_out *h, struct err *err)
{
    const struct yaml_node *headers = yaml_get(s->node, "headers");

    if (headers == NULL || headers->kind != YAML_MAP)
        return true;
    if (headers->count > CONFIGURED_MOST)
        return err_set(err, ERR_CONFIG, 0, "`headers` has more than %d", CONFIGURED_MOST);
    h->fields = ARENA_ARRAY(s->arena, struct field, headers->count + 1);
    for (const struct yaml_node *n = headers->first; n != NULL; n = n->next) {
        struct field *f = &h->fields[h->field_count++];

        f->name = n->key->text;
        if (!http_is_token(f->name))
            return err_set(err, ERR_CONFIG, 0, "`headers`: `%.*s` is no name of a header",
                           STR_ARG(f->name));
        if (http_out_is_ours(f->name))
            return err_set(err, ERR_CONFIG, 0, "`headers`: `%.*s` cannot be set", STR_ARG(f->name));
        h->typed = h->typed || str_eq_nocase(f->name, STR("content-type"));
        if (!http_out_read_value(s, n, f, err))
            return err_context(err, "`headers`: `%.*s`", STR_ARG(f->name));
    }
    return true;
}

static bool read_outcomes(const struct settings *s, struct http_out *h, struct err *err)
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
        if (!is_status(n->key->text, &status) || i > OUTCOME_REJECTED)
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

static bool read_url(const struct settings *s, struct str *ret, struct err *err)
{
    if (!settings_text(s, "url", ret, err))
        return false;
    for (size_t i = 0; i < ret->len; i++)
        if (http_out_is_control(ret->ptr[i]) || ret->ptr[i] == ' ')
            return err_set(err, ERR_CONFIG, 0, "`url` holds a blank or a control character");
    if (!str_starts(*ret, STR("http://")) && !str_starts(*ret, STR("https://")))
        return err_set(err, ERR_CONFIG, 0, "`url` starts with neither http:// nor https://");
    return true;
}

/* One status or a list of them. */
static bool read_statuses(const struct settings *s, const char *key, enum found means,
                          unsigned char found[static STATUS_MOST + 1], struct err *err)
{
    const struct yaml_node *node = yaml_get(s->node, key);
    const struct yaml_node *one = node != NULL && node->kind == YAML_LIST ? node->first : node;
    bool list = one != node;

    for (; one != NULL; one = list ? one->next : NULL) {
        struct str text;
        uint64_t status;

        if (!settings_expand(s, one, &text, err))
            return false;
        if (!str_to_u64(text, &status) || status < STATUS_LEAST || status > STATUS_MOST)
            return err_set(err, ERR_CONFIG, 0, "`%s` is no status", key);
        found[status] = (unsigned char)means;
    }
    return true;
}

/* Defaults: any 2xx; 404 and 410. */
static bool read_probe(const struct settings *s, struct http_out *h, struct err *err)
{
    struct settings probe = settings_below(s, "probe");
    struct str url;

    if (!settings_has(s, "probe"))
        return true;
    if (!settings_has(&probe, "delivered"))
        memset(h->found + 200, FOUND_HERE, 100);
    if (!settings_has(&probe, "missing"))
        h->found[404] = h->found[410] = FOUND_MISSING;
    return (read_url(&probe, &url, err) && settings_text(&probe, "method", &h->ask_method, err) &&
            read_statuses(&probe, "delivered", FOUND_HERE, h->found, err) &&
            read_statuses(&probe, "missing", FOUND_MISSING, h->found, err) &&
            template_compile(url, s->arena, &h->ask_url, err)) ||
           err_context(err, "`probe`");
}

static bool http_make(const struct settings *s, void **ret_self, struct err *err)
{
    struct http_out *h = ARENA_NEW(s->arena, struct http_out);
    struct http_out_options *o = &h->options;

    if (!read_url(s, &h->url, err) || !settings_text(s, "method", &h->method, err) ||
        !settings_duration(s, "timeout", &o->timeout_us, err) ||
        !settings_duration(s, "connect_timeout", &o->connect_timeout_us, err) ||
        !settings_text(s, "user", &o->user, err) ||
        !settings_text(s, "password", &o->password, err) || !read_tls(s, o, err) ||
        !http_out_read_fields(s, h, err) || !read_outcomes(s, h, err) || !read_probe(s, h, err))
        return false;
    if (str_has_control(o->user) || str_find(o->user, ':') >= 0)
        return err_set(err, ERR_CONFIG, 0, "`user` holds a colon or a control character");
    *ret_self = h;
    return true;
}

static void http_unmake(void *self)
{
    (void)self; /* everything is on the arena */
}

/* ---- the request ---- */

static bool http_out_refuse(struct verdict *v, struct str name, const char *why)
{
    *v = (struct verdict){ 0 };
    (void)verdict_say(v, VERDICT_FAILED, "the header %.*s cannot be made: %s", STR_ARG(name), why);
    return false;
}

/* A header with an empty value is omitted. */
static bool http_out_put(struct http_out_request *r, struct str name, struct str value,
                         struct verdict *v)
{
    if (value.len == 0)
        return true;
    if (str_has_control(value))
        return http_out_refuse(v, name, "its value holds a control character");
    r->fields[r->field_count++] = (struct http_out_field){ name, value };
    return true;
}

static bool put_words(const struct field *f, const struct sending *s, struct arena *a,
                      struct http_out_request *r, struct verdict *v)
{
    struct template_values values = sending_values(s);
    struct err err = { 0 };
    AUTO(buf_done) struct buf b = BUF_INIT(VALUE_MOST);

    if (!template_render(f->words, &values, &b, &err))
        return http_out_refuse(v, f->name, err.text);
    return http_out_put(r, f->name, arena_copy(a, buf_view(&b)), v);
}

static bool put_own(struct http_out_request *r, const struct sending *s, struct verdict *v)
{
    r->field_count = 0;
    return http_out_put(r, STR("Idempotency-Key"), s->delivery, v) &&
           http_out_put(r, STR("Waybill-Document"), s->document, v) &&
           http_out_put(r, STR("Waybill-Sender"), s->facts->sender, v) &&
           http_out_put(r, STR("Waybill-Receiver"), s->facts->receiver, v) &&
           http_out_put(r, STR("Waybill-Type"), s->facts->type, v) &&
           http_out_put(r, STR("traceparent"), s->traceparent, v);
}

static bool put_configured(const struct http_out *h, const struct sending *s, struct arena *a,
                           struct http_out_request *r, struct verdict *v)
{
    for (size_t i = 0; i < h->field_count; i++) {
        const struct field *f = &h->fields[i];

        if (f->words != NULL) {
            if (!put_words(f, s, a, r, v))
                return false;
        } else {
            r->fields[r->field_count++] = (struct http_out_field){ f->name, f->value };
        }
    }
    return true;
}

static bool http_prepare(void *self, const struct sending *s, struct arena *a,
                         struct http_out_request *r, struct verdict *v)
{
    const struct http_out *h = self;
    struct str ctype = s->ctype.len > 0 ? s->ctype : STR("application/octet-stream");

    r->method = h->method;
    r->url = h->url;
    return put_own(r, s, v) && (h->typed || http_out_put(r, STR("Content-Type"), ctype, v)) &&
           put_configured(h, s, a, r, v);
}

/* ---- the probe ---- */

/* The probe sends the same headers as a delivery, and so the same credentials. */
static bool http_ask(void *self, const struct sending *s, struct arena *a,
                     struct http_out_request *r, struct verdict *v)
{
    const struct http_out *h = self;
    struct template_values values;
    struct err err = { 0 };
    AUTO(buf_done) struct buf url = BUF_INIT(VALUE_MOST);

    *v = (struct verdict){ 0 };
    if (h->ask_url == NULL) {
        (void)verdict_say(v, VERDICT_FAILED,
                          "the endpoint has no `probe` to ask whether it "
                          "arrived");
        return false;
    }
    values = sending_values(s);
    values.url = true;
    if (!template_render(h->ask_url, &values, &url, &err)) {
        (void)verdict_say(v, VERDICT_FAILED, "the address of the question: %s", err.text);
        return false;
    }
    r->method = h->ask_method;
    r->url = str_of(arena_text(a, buf_view(&url)));
    return put_own(r, s, v) && put_configured(h, s, a, r, v);
}

/* ---- the answer ---- */

/* One of the three forms of RFC 9110; all are UTC. */
static bool read_date(struct str s, int64_t *ret_us)
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

/* The wait that Retry-After asks for; 0: none, or unreadable. */
static int64_t pause_us(const struct http_out_answer *a)
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
    if (!read_date(s, &at_us) || at_us <= a->now_us)
        return 0;
    return at_us - a->now_us < most ? at_us - a->now_us : most;
}

static enum verdict_kind usual(int64_t status)
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

static enum verdict_kind http_out_kind_of(const struct http_out *h, int64_t status)
{
    static const enum verdict_kind kinds[] = {
        [OUTCOME_DELIVERED] = VERDICT_DELIVERED,
        [OUTCOME_RETRY] = VERDICT_RETRY,
        [OUTCOME_DOUBT] = VERDICT_DOUBT,
        [OUTCOME_REJECTED] = VERDICT_REJECTED,
    };

    if (status < STATUS_LEAST || status > STATUS_MOST || h->outcomes[status] == OUTCOME_USUAL)
        return usual(status);
    return kinds[h->outcomes[status]];
}

static void judge_answer(const struct http_out *h, const struct http_out_answer *a,
                         struct verdict *v)
{
    v->kind = http_out_kind_of(h, a->status);
    if (v->kind == VERDICT_DELIVERED)
        return;
    AUTO(buf_done) struct buf excerpt = BUF_INIT(EXCERPT_MOST);

    answer_excerpt(a->body, &excerpt);
    (void)verdict_say(v, v->kind, "the receiver answered %lld%s%.*s", (long long)a->status,
                      excerpt.len > 0 ? ": " : "", STR_ARG(buf_view(&excerpt)));
    if (v->kind == VERDICT_RETRY)
        v->retry_after_us = pause_us(a);
}

static void http_judge(void *self, const struct http_out_answer *a, struct verdict *v)
{
    *v = (struct verdict){ .status = a->status };
    switch (a->reach) {
    case HTTP_OUT_ANSWERED:
        judge_answer(self, a, v);
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

static void hear_answer(const struct http_out *h, const struct http_out_answer *a,
                        struct verdict *v)
{
    bool known = a->status >= STATUS_LEAST && a->status <= STATUS_MOST;
    long long status = a->status;

    switch (known ? h->found[a->status] : FOUND_UNCLEAR) {
    case FOUND_HERE:
        (void)verdict_say(v, VERDICT_DELIVERED, "asked: the receiver has it (%lld)", status);
        return;
    case FOUND_MISSING:
        (void)verdict_say(v, VERDICT_RETRY,
                          "asked: the receiver does not have it (%lld); it is "
                          "sent again",
                          status);
        return;
    default:
        break;
    }
    (void)verdict_say(v,
                      usual(a->status) == VERDICT_CREDENTIAL ? VERDICT_CREDENTIAL : VERDICT_DOUBT,
                      "asked: the receiver answered %lld", status);
    v->retry_after_us = pause_us(a);
}

static void http_hear(void *self, const struct http_out_answer *a, struct verdict *v)
{
    *v = (struct verdict){ .status = a->status };
    if (a->reach == HTTP_OUT_ANSWERED)
        hear_answer(self, a, v);
    else if (a->reach == HTTP_OUT_NOT_SENT)
        (void)verdict_say(v, VERDICT_UNREACHED, "asked: the receiver was not reached: %s",
                          a->failure);
    else
        (void)verdict_say(v, VERDICT_DOUBT, "asked: no whole answer came: %s", a->failure);
}

static const struct http_out_options *http_options(void *self)
{
    const struct http_out *h = self;

    return &h->options;
}

static const struct endpoint_http calls = {
    .prepare = http_prepare,
    .judge = http_judge,
    .options = http_options,
    .ask = http_ask,
    .hear = http_hear,
};

const struct endpoint_type endpoint_http = {
    .kind = { .name = "http",
              .help = "each document as one HTTP request",
              .keys = options,
              .check = check_outcomes },
    .make = http_make,
    .unmake = http_unmake,
    .http = &calls,
};
