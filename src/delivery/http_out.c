/* http_out.c - sends each document as one HTTP request.
 *
 *     salsify-api: { kind: http, url: "https://api.example/orders", outcome: { 409: delivered } }
 *
 * The request, and what a status means: core/web/http_client.h.
 *
 * `probe` asks whether a document in doubt has arrived, by its Idempotency-Key: 2xx, or what
 * `delivered` lists, means that it has; 404 and 410, or what `missing` lists, that it has not.
 */
#include "base/auto.h"
#include "base/clock.h"
#include "core/grammar.h"
#include "core/probing/probing_net.h"
#include "core/s3/s3_line.h"
#include "core/template.h"
#include "core/web/http_client.h"
#include "core/web/oauth2.h"
#include "core/web/signature.h"
#include "delivery/http_soap.h"

enum { ASK_URL_MOST = 8192, TOKEN_HEAD = 64 << 10, TOKEN_ARENA = 1 << 20 };

struct http_out {
    struct http_client client;
    const struct oauth2 *oauth2;  /* NULL: no token is needed */
    const struct signature *sign; /* NULL: requests are not signed */
    const struct http_soap *soap; /* NULL: documents are sent as they are */

    /* `probe` */
    struct str ask_method;
    const struct template *ask_url; /* NULL: no probe is configured */
    unsigned char found[HTTP_STATUS_MOST + 1];
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
           .flags = OPT_OR_LIST, .least = HTTP_STATUS_LEAST, .most = HTTP_STATUS_MOST),
    OPTION("missing", OPT_INT, "statuses that mean it has not; left out: 404 and 410",
           .flags = OPT_OR_LIST, .least = HTTP_STATUS_LEAST, .most = HTTP_STATUS_MOST),
    { 0 },
};

static const struct option options[] = {
    OPTION("url", OPT_URL, "where requests go", .flags = OPT_REQUIRED,
           .words = OPTION_WORDS("http", "https")),
    OPTION("method", OPT_WORD, "the HTTP method", .words = OPTION_WORDS("POST", "PUT", "PATCH"),
           .fallback = "POST"),
    OPTIONS(grammar_headers),
    OPTIONS(grammar_login),
    OPTIONS(oauth2_options),
    OPTION("sign", OPT_MAP, "sign requests with a shared secret", .keys = signature_makes),
    OPTIONS(grammar_tls),
    OPTIONS(http_soap_options),
    OPTION("probe", OPT_MAP, "how `in_doubt: probe` asks whether a document has arrived",
           .keys = probe_options),
    { 0 },
};

/* One status or a list of them. */
static bool read_statuses(const struct settings *s, const char *key, enum found means,
                          unsigned char found[static HTTP_STATUS_MOST + 1], struct err *err)
{
    const struct yaml_node *node = yaml_get(s->node, key);
    const struct yaml_node *one = node != NULL && node->kind == YAML_LIST ? node->first : node;
    bool list = one != node;

    for (; one != NULL; one = list ? one->next : NULL) {
        struct str text;
        uint64_t status;

        if (!settings_expand(s, one, &text, err))
            return false;
        if (!http_client_is_status(text, &status))
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
    return (http_client_read_url(&probe, &url, err) &&
            settings_text(&probe, "method", &h->ask_method, err) &&
            read_statuses(&probe, "delivered", FOUND_HERE, h->found, err) &&
            read_statuses(&probe, "missing", FOUND_MISSING, h->found, err) &&
            template_compile(url, s->arena, &h->ask_url, err)) ||
           err_context(err, "`probe`");
}

static bool http_make(const struct settings *s, void **ret_self, struct err *err)
{
    struct http_out *h = ARENA_NEW(s->arena, struct http_out);

    if (!http_client_read(s, &h->client, err) || !oauth2_read(s, &h->oauth2, err) ||
        !signature_read(s, "sign", &h->sign, err) || !http_soap_read(s, &h->soap, err) ||
        !read_probe(s, h, err))
        return false;
    if (h->soap != NULL)
        h->client.typed = true; /* http_soap_prepare() says which */
    *ret_self = h;
    return true;
}

static void http_unmake(void *self)
{
    (void)self; /* everything is on the arena */
}

/* ---- the request ---- */

/* The document, as prepare() reads it. */
struct reading {
    struct str first; /* its first piece, lent until the next is read */
    bool whole;       /* that is all of it */
};

static bool read_next(const struct sending *s, struct str *ret, struct verdict *v)
{
    struct err err = { 0 };

    if (s->next(s->next_arg, ret, &err))
        return true;
    *v = (struct verdict){ 0 };
    (void)verdict_say(v, VERDICT_RETRY, "the document could not be read: %s", err.text);
    return false;
}

static bool read_first(const struct sending *s, struct reading *ret, struct verdict *v)
{
    *ret = (struct reading){ s->bytes, s->bytes.ptr != NULL || s->size == 0 };
    return ret->whole || read_next(s, &ret->first, v);
}

/* The bytes as they are sent. */
static bool sign_bytes(struct hmac *to, const struct sending *s, const struct reading *doc,
                       const struct http_out_request *r, struct verdict *v)
{
    struct str piece = doc->first;
    size_t skip = r->skip;

    hmac_add(to, r->before);
    while (piece.len > 0) {
        hmac_add(to, str_from(piece, skip));
        skip -= piece.len < skip ? piece.len : skip;
        piece.len = 0;
        if (!doc->whole && !read_next(s, &piece, v))
            return false;
    }
    hmac_add(to, r->after);
    return true;
}

static bool http_put_signature(const struct signature *rule, const struct sending *s,
                               const struct reading *doc, struct arena *a,
                               struct http_out_request *r, struct verdict *v)
{
    char time[SIGNATURE_TIME];
    struct hmac h = signature_start(rule, clock_wall_us(), time);

    if (!sign_bytes(&h, s, doc, r, v)) {
        hmac_drop(&h);
        return false;
    }
    r->fields[r->field_count++] =
        (struct http_out_field){ rule->header, signature_value(rule, &h, a) };
    if (time[0] != '\0')
        r->fields[r->field_count++] =
            (struct http_out_field){ rule->timestamp, str_of(arena_text(a, str_of(time))) };
    return true;
}

static bool http_prepare(void *self, const struct sending *s, struct arena *a,
                         struct http_out_request *r, struct verdict *v)
{
    const struct http_out *h = self;
    struct reading doc;

    if (!http_client_prepare(&h->client, s, a, r, v))
        return false;
    if (h->soap == NULL && h->sign == NULL)
        return true;
    return read_first(s, &doc, v) &&
           (h->soap == NULL || http_soap_prepare(h->soap, doc.first, doc.whole, a, r, v)) &&
           (h->sign == NULL || http_put_signature(h->sign, s, &doc, a, r, v));
}

static bool http_reads(void *self)
{
    const struct http_out *h = self;

    return h->sign != NULL || h->soap != NULL;
}

/* ---- whether it arrived ---- */

/* The probe sends the same headers as a delivery, and so the same credentials. */
static bool http_ask(void *self, const struct sending *s, struct arena *a,
                     struct http_out_request *r, struct verdict *v)
{
    const struct http_out *h = self;
    struct template_values values;
    struct err err = { 0 };
    AUTO(buf_done) struct buf url = BUF_INIT(ASK_URL_MOST);

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
    return http_client_put_fields(&h->client, s, a, r, v);
}

/* ---- the answer ---- */

static void http_judge(void *self, const struct http_out_answer *a, struct verdict *v)
{
    const struct http_out *h = self;

    http_client_judge(&h->client, a, v);
    if (h->soap != NULL)
        http_soap_judge(h->soap, &h->client, a, v);
}

static void hear_answer(const struct http_out *h, const struct http_out_answer *a,
                        struct verdict *v)
{
    bool known = a->status >= HTTP_STATUS_LEAST && a->status <= HTTP_STATUS_MOST;
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
    (void)verdict_say(
        v, http_client_usual(a->status) == VERDICT_CREDENTIAL ? VERDICT_CREDENTIAL : VERDICT_DOUBT,
        "asked: the receiver answered %lld", status);
    v->retry_after_us = http_client_pause_us(a);
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

    return &h->client.options;
}

static const struct oauth2 *http_oauth2(void *self)
{
    const struct http_out *h = self;

    return h->oauth2;
}

/* A header of the signature that `headers` has as well. */
static void check_twice(const struct yaml_node *map, const char *key, struct problem_list *problems)
{
    const struct yaml_node *headers = yaml_get(map, "headers"),
                           *name = yaml_get(yaml_get(map, "sign"), key);
    char text[PROBLEM_QUOTE];

    if (name == NULL || headers == NULL || headers->kind != YAML_MAP)
        return;
    for (const struct yaml_node *n = headers->first; n != NULL; n = n->next)
        if (str_eq_nocase(n->key->text, yaml_text(name)))
            problem_add(problems, n->place, "leave it out here",
                        "the header `%s` is that of `sign`", problem_quote(text, n->key->text));
}

static void http_check(const struct yaml_node *map, struct problem_list *problems)
{
    http_client_check(map, problems);
    oauth2_check(map, problems);
    http_soap_check(map, problems);
    signature_check(yaml_get(map, "sign"), problems);
    check_twice(map, "header", problems);
    check_twice(map, "timestamp", problems);
}

/* ---- waybill probe ---- */

static struct probing_place http_place(const struct http_out *h, struct str url)
{
    const struct http_out_options *o = &h->client.options;

    return (struct probing_place){ .url = url.ptr,
                                   .no_tls = "not used: the address is http",
                                   .ca = o->ca,
                                   .cert = o->cert,
                                   .key = o->key,
                                   .verify = o->verify,
                                   .connect_us = o->connect_timeout_us,
                                   .http = true };
}

/* A token is fetched as for a delivery, and forgotten. */
static void http_probe_token(const struct http_out *h, struct call *c, struct probing *p)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(TOKEN_ARENA);
    struct http_out_options times = h->client.options;
    struct http_out_request request = { 0 };
    AUTO(s3_exchange_done)
    struct s3_exchange x = { .head = BUF_INIT(TOKEN_HEAD), .body = BUF_INIT(VERDICT_ANSWER_MOST) };
    struct oauth2_token token;
    struct s3_lines lines;
    struct verdict failed;

    probing_begin(p, "token");
    oauth2_request(h->oauth2, &a, &request, &x.bytes);
    x.size = (int64_t)x.bytes.len;
    times.timeout_us = probing_time(p, times.timeout_us);
    s3_lines_init(&lines, &times);
    struct s3_talk talk = {
        .lines = &lines, .call = c, .whole = true, .began_us = clock_mono_us()
    };

    s3_talk_run(&talk, &request, &x);
    s3_lines_done(&lines);
    if (oauth2_judge(h->oauth2, &x.answer, &a, &token, &failed))
        (void)probing_pass(p, "token", "the token server gives one, for %lld s",
                           (long long)(token.life_us / CLOCK_S));
    else
        (void)probing_fail(p, "token",
                           failed.kind == VERDICT_CREDENTIAL
                               ? "correct `client_id`, `client_secret` or `scope` of `oauth2`"
                               : "look after the token server, and check `token_url` of `oauth2`",
                           "%s", failed.message);
}

/* A request could be taken for a document, so none is made. */
static void http_probe(void *self, struct call *c, struct probing *p)
{
    const struct http_out *h = self;
    struct probing_place place = http_place(h, h->client.url);

    if (!probing_connect(&place, c, p))
        return;
    if (h->oauth2 != NULL)
        http_probe_token(h, c, p);
    probing_leave(p, "request",
                  "not tried: a request would be a document; login and path show with the first");
}

static const struct endpoint_http calls = {
    .prepare = http_prepare,
    .judge = http_judge,
    .reads = http_reads,
    .options = http_options,
    .oauth2 = http_oauth2,
    .ask = http_ask,
    .hear = http_hear,
};

const struct endpoint_type endpoint_http = {
    .kind = { .name = "http",
              .help = "each document as one HTTP request",
              .keys = options,
              .check = http_check },
    .make = http_make,
    .unmake = http_unmake,
    .http = &calls,
    .probe = http_probe,
};
