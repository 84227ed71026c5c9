#include "base/auto.h"
#include "base/clock.h"
#include "core/connector.h"
#include "core/grammar.h"
#include "test.h"

enum { ARENA = 256 << 20 };

/* Sun, 15 Nov 2026 02:52:10 UTC */
static const int64_t now_us = INT64_C(1794711130) * CLOCK_S;

struct fixture {
    struct arena arena;
    void *self; /* NULL: it could not be made, err says why */
    struct err err;
};

static void fixture_done(struct fixture *f)
{
    if (f->self != NULL)
        endpoint_http.unmake(f->self);
    arena_done(&f->arena);
}

static bool find_secret(void *arg, struct str name, struct arena *a, struct str *ret,
                        struct err *err)
{
    (void)arg, (void)a;
    if (str_is(name, "token")) {
        *ret = STR("t0psecret");
        return true;
    }
    if (str_is(name, "tricky")) {
        *ret = STR("a${id}b");
        return true;
    }
    if (str_is(name, "broken")) {
        *ret = STR("a\r\nX-Evil: 1");
        return true;
    }
    return err_set(err, ERR_CONFIG, 0, "there is no secret of that name");
}

static void make(struct fixture *f, const char *yaml)
{
    struct problem_list problems = PROBLEM_LIST_INIT;

    *f = (struct fixture){ .arena = ARENA_INIT(ARENA) };
    struct settings settings = {
        .node = yaml_get(yaml_load(str_of(yaml), &f->arena, &problems), "e"),
        .common = grammar_endpoint,
        .own = endpoint_http.kind.keys,
        .file = "/etc/waybill/waybill.yaml",
        .secret = find_secret,
        .arena = &f->arena,
    };

    if (!endpoint_http.make(&settings, &f->self, &f->err))
        f->self = NULL;
    problem_list_done(&problems);
}

#define URL "kind: http, url: 'http://a.example/in'"

static struct fact attributes[] = { { { "region", 6 }, { "emea", 4 } },
                                    { { "evil", 4 }, { "x\r\nX-Evil: 1", 12 } } };
static const struct facts facts = { .sender = { "acme", 4 },
                                    .receiver = { "salsify", 7 },
                                    .type = { "order", 5 },
                                    .attributes = attributes,
                                    .attribute_count = 2 };

static struct sending sending(void)
{
    return (struct sending){ .document = STR("0193-doc"),
                             .delivery = STR("0193-doc.api"),
                             .facts = &facts,
                             .ctype = STR("text/xml"),
                             .gateway = STR("orders"),
                             .endpoint = STR("api"),
                             .traceparent = STR("00-aa-bb-01"),
                             .received_us = now_us,
                             .attempt = 1 };
}

static const char *field(const struct http_out_request *r, const char *name)
{
    static char value[256];
    size_t found = 0;

    for (size_t i = 0; i < r->field_count; i++)
        if (str_eq_nocase(r->fields[i].name, str_of(name))) {
            (void)snprintf(value, sizeof value, "%.*s", STR_ARG(r->fields[i].value));
            found++;
        }
    return found == 0 ? "(none)" : found == 1 ? value : "(several)";
}

TEST(http_out_asks_with_everything_a_receiver_needs)
{
    AUTO(fixture_done) struct fixture f;
    struct http_out_request r;
    struct verdict v;
    struct sending s = sending();

    make(&f, "e: { " URL ", headers: { Authorization: 'Bearer ${secret:token}', X-R: '${region}', "
             "X-Two: '${id}/${date}', X-Tricky: '${secret:tricky}' } }");
    CHECK(f.self != NULL);
    CHECK(endpoint_http.http->prepare(f.self, &s, &f.arena, &r, &v));
    CHECK(str_is(r.method, "POST") && str_is(r.url, "http://a.example/in"));
    CHECK(r.url.ptr[r.url.len] == '\0' && r.method.ptr[r.method.len] == '\0');
    CHECK(strcmp(field(&r, "Idempotency-Key"), "0193-doc.api") == 0);
    CHECK(strcmp(field(&r, "Waybill-Document"), "0193-doc") == 0);
    CHECK(strcmp(field(&r, "Waybill-Sender"), "acme") == 0);
    CHECK(strcmp(field(&r, "Waybill-Receiver"), "salsify") == 0);
    CHECK(strcmp(field(&r, "Waybill-Type"), "order") == 0);
    CHECK(strcmp(field(&r, "traceparent"), "00-aa-bb-01") == 0);
    CHECK(strcmp(field(&r, "Content-Type"), "text/xml") == 0);
    CHECK(strcmp(field(&r, "Authorization"), "Bearer t0psecret") == 0);
    CHECK(strcmp(field(&r, "X-R"), "emea") == 0);
    CHECK(strcmp(field(&r, "X-Two"), "0193-doc/2026-11-15") == 0);
    CHECK(strcmp(field(&r, "X-Tricky"), "a${id}b") == 0); /* a secret is no template */
    CHECK(r.field_count == 11);
}

TEST(http_out_leaves_out_what_is_not_known)
{
    AUTO(fixture_done) struct fixture f;
    struct http_out_request r;
    struct verdict v;
    struct facts none = { 0 };
    struct sending s = { .document = STR("d"), .delivery = STR("d.e"), .facts = &none };

    make(&f, "e: { " URL ", method: PUT }");
    CHECK(f.self != NULL && endpoint_http.http->prepare(f.self, &s, &f.arena, &r, &v));
    CHECK(r.field_count == 3 && str_is(r.method, "PUT"));
    CHECK(strcmp(field(&r, "Content-Type"), "application/octet-stream") == 0);

    AUTO(fixture_done) struct fixture own;

    make(&own, "e: { " URL ", headers: { content-type: application/json } }");
    CHECK(own.self != NULL && endpoint_http.http->prepare(own.self, &s, &own.arena, &r, &v));
    CHECK(strcmp(field(&r, "Content-Type"), "application/json") == 0);
}

TEST(http_out_lets_no_document_write_headers)
{
    static const struct {
        const char *what, *headers;
        struct str ctype, type, traceparent;
        const char *message;
    } cases[] = {
        { .what = "content type", .ctype = { "a\r\nb", 4 }, .message = "Content-Type" },
        { .what = "type", .type = { "a\nb", 3 }, .message = "Waybill-Type" },
        { .what = "zero", .type = { "a\0b", 3 }, .message = "Waybill-Type" },
        { .what = "delete", .type = { "a\x7f", 2 }, .message = "Waybill-Type" },
        { .what = "trace", .traceparent = { "\r", 1 }, .message = "traceparent" },
        { .what = "attribute", .headers = "X-A: '${evil}'", .message = "X-A" },
        { .what = "no such word", .headers = "X-A: '${colour}'", .message = "X-A" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(fixture_done) struct fixture f;
        struct http_out_request r;
        struct verdict v;
        struct facts own = facts;
        struct sending s = sending();
        char yaml[200];

        if (cases[i].type.len > 0)
            own.type = cases[i].type;
        if (cases[i].ctype.len > 0)
            s.ctype = cases[i].ctype;
        if (cases[i].traceparent.len > 0)
            s.traceparent = cases[i].traceparent;
        s.facts = &own;
        (void)snprintf(yaml, sizeof yaml, "e: { " URL ", headers: { %s } }",
                       cases[i].headers != NULL ? cases[i].headers : "X-Ok: a");
        make(&f, yaml);
        CHECK(f.self != NULL);
        CHECK(!endpoint_http.http->prepare(f.self, &s, &f.arena, &r, &v));
        CHECK(v.kind == VERDICT_FAILED && strstr(v.message, cases[i].message) != NULL);
    }
}

TEST(http_out_refuses_options_that_cannot_work)
{
    static const struct {
        const char *yaml, *want;
    } cases[] = {
        { "e: { kind: http, url: 'ftp://a.example/' }", "`url`" },
        { "e: { kind: http, url: 'http://a.example/a b' }", "`url`" },
        { "e: { kind: http, url: 'http://a.example/${secret:broken}' }", "`url`" },
        { "e: { " URL ", headers: { 'X A': b } }", "`X A` is no name" },
        { "e: { " URL ", headers: { '': b } }", "is no name" },
        { "e: { " URL ", headers: { Content-Length: 5 } }", "`Content-Length` cannot be set" },
        { "e: { " URL ", headers: { idempotency-key: 5 } }", "cannot be set" },
        { "e: { " URL ", headers: { X: '${secret:broken}' } }", "control character" },
        { "e: { " URL ", headers: { X: '${secret:nobody}' } }", "`X`" },
        { "e: { " URL ", headers: { X: '${id} ${secret:tricky}' } }", "holds `${`" },
        { "e: { " URL ", outcome: { 99: delivered } }", "`99`" },
        { "e: { " URL ", outcome: { 600: delivered } }", "`600`" },
        { "e: { " URL ", outcome: { 200: maybe } }", "`200`" },
        { "e: { " URL ", user: 'a:b' }", "`user`" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(fixture_done) struct fixture f;

        make(&f, cases[i].yaml);
        if (f.self != NULL || strstr(f.err.text, cases[i].want) == NULL)
            printf("# %s: %s\n", cases[i].yaml, f.err.text);
        CHECK(f.self == NULL && f.err.kind == ERR_CONFIG);
        CHECK(strstr(f.err.text, cases[i].want) != NULL);
        CHECK(strstr(f.err.text, "Evil") == NULL); /* no value is shown */
    }
}

TEST(http_out_reads_its_options)
{
    AUTO(fixture_done) struct fixture f, plain;

    make(&plain, "e: { " URL " }");
    const struct http_out_options *o = endpoint_http.http->options(plain.self);

    CHECK(o->timeout_us == 30 * INT64_C(1000000) && o->connect_timeout_us == 10 * CLOCK_S);
    CHECK(o->verify && o->user.len == 0 && o->ca.len == 0 && o->cert.len == 0 && o->key.len == 0);
    make(&f, "e: { " URL ", timeout: 5s, connect_timeout: 200ms, user: ann, "
             "password: 'secret:token', tls: { ca: ca.pem, cert: /x/both.pem, verify: false } }");
    CHECK(f.self != NULL);
    o = endpoint_http.http->options(f.self);
    CHECK(o->timeout_us == 5 * CLOCK_S && o->connect_timeout_us == 200 * CLOCK_MS && !o->verify);
    CHECK(str_is(o->user, "ann") && str_is(o->password, "t0psecret"));
    CHECK(str_is(o->ca, "/etc/waybill/ca.pem") && str_is(o->cert, "/x/both.pem"));
    CHECK(str_is(o->key, "/x/both.pem"));
}

/* proves: DE5 DE6 DE7 DE8 */
TEST(http_out_judges_every_status)
{
    static const struct {
        int64_t first, last;
        enum verdict_kind kind;
    } cases[] = {
        { 200, 299, VERDICT_DELIVERED }, { 300, 399, VERDICT_REJECTED },
        { 400, 400, VERDICT_REJECTED },  { 401, 401, VERDICT_CREDENTIAL },
        { 402, 402, VERDICT_REJECTED },  { 403, 403, VERDICT_CREDENTIAL },
        { 404, 406, VERDICT_REJECTED },  { 407, 407, VERDICT_CREDENTIAL },
        { 408, 408, VERDICT_RETRY },     { 409, 424, VERDICT_REJECTED },
        { 425, 425, VERDICT_RETRY },     { 426, 428, VERDICT_REJECTED },
        { 429, 429, VERDICT_RETRY },     { 430, 499, VERDICT_REJECTED },
        { 500, 502, VERDICT_DOUBT },     { 503, 503, VERDICT_RETRY },
        { 504, 599, VERDICT_DOUBT },     { 600, 999, VERDICT_DOUBT },
    };
    AUTO(fixture_done) struct fixture f;
    int64_t seen = 200;

    make(&f, "e: { " URL " }");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int64_t status = cases[i].first; status <= cases[i].last; status++) {
            struct http_out_answer a = { .reach = HTTP_OUT_ANSWERED, .status = status };
            struct verdict v;

            CHECK(status == seen++); /* none is left out */
            endpoint_http.http->judge(f.self, &a, &v);
            CHECK(v.kind == cases[i].kind && v.status == status && v.retry_after_us == 0);
            CHECK((v.message[0] == '\0') == (v.kind == VERDICT_DELIVERED));
        }
}

/* proves: DE7 */
TEST(http_out_judges_as_it_was_told)
{
    static const struct {
        int64_t status;
        enum verdict_kind kind;
    } cases[] = {
        { 409, VERDICT_DELIVERED },  { 404, VERDICT_RETRY },     { 200, VERDICT_DOUBT },
        { 503, VERDICT_REJECTED },   { 401, VERDICT_REJECTED },  { 201, VERDICT_DELIVERED },
        { 403, VERDICT_CREDENTIAL }, { 100, VERDICT_DELIVERED },
    };
    AUTO(fixture_done) struct fixture f;

    make(&f, "e: { " URL ", outcome: { 409: delivered, 404: retry, 200: in_doubt, 503: rejected, "
             "401: rejected, 100: delivered } }");
    CHECK(f.self != NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct http_out_answer a = { .reach = HTTP_OUT_ANSWERED,
                                     .status = cases[i].status,
                                     .retry_after = STR("5") };
        struct verdict v;

        endpoint_http.http->judge(f.self, &a, &v);
        CHECK(v.kind == cases[i].kind);
        CHECK(v.retry_after_us == (v.kind == VERDICT_RETRY ? 5 * CLOCK_S : 0));
    }
}

/* proves: DE8 */
TEST(http_out_waits_as_long_as_it_is_asked_to)
{
    static const struct {
        const char *text;
        int64_t seconds;
    } cases[] = {
        { "", 0 },
        { "0", 0 },
        { "120", 120 },
        { " 7 ", 7 },
        { "86399", 86399 },
        { "86401", 86400 },
        { "99999999999999999999999999", 86400 },
        { "-5", 0 },
        { "5.5", 0 },
        { "soon", 0 },
        { "Sun, 15 Nov 2026 02:53:10 GMT", 60 },
        { "Sun, 15 Nov 2026 02:52:10 GMT", 0 },
        { "Sun, 15 Nov 2020 02:53:10 GMT", 0 },
        { "Tue, 15 Dec 2026 02:53:10 GMT", 86400 },
        { "Sunday, 15-Nov-26 02:53:10 GMT", 60 },
        { "Sun Nov 15 02:53:10 2026", 60 },
        { "Sun, 15 Nov 2026 02:53:10 CET", 0 },
        { "Sun, 15 Nov 2026 02:53:10 GMT and then some more text than a date has", 0 },
    };
    AUTO(fixture_done) struct fixture f;

    make(&f, "e: { " URL " }");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct http_out_answer a = { .reach = HTTP_OUT_ANSWERED,
                                     .status = 429,
                                     .retry_after = str_of(cases[i].text),
                                     .now_us = now_us };
        struct verdict v;

        endpoint_http.http->judge(f.self, &a, &v);
        if (v.retry_after_us != cases[i].seconds * CLOCK_S)
            printf("# '%s': %lld\n", cases[i].text, (long long)v.retry_after_us);
        CHECK(v.kind == VERDICT_RETRY && v.retry_after_us == cases[i].seconds * CLOCK_S);
    }
}

/* proves: DE5 DE6 */
TEST(http_out_tells_unreached_from_unclear)
{
    static const struct {
        enum http_out_reach reach;
        enum verdict_kind kind;
        int64_t status;
    } cases[] = {
        { HTTP_OUT_NOT_SENT, VERDICT_UNREACHED, 0 }, { HTTP_OUT_UNCLEAR, VERDICT_DOUBT, 0 },
        { HTTP_OUT_UNCLEAR, VERDICT_DOUBT, 200 }, /* the rest of it did not come */
        { HTTP_OUT_UNCLEAR, VERDICT_DOUBT, 400 },    { HTTP_OUT_BAD_BODY, VERDICT_DOUBT, 0 },
    };
    AUTO(fixture_done) struct fixture f;

    make(&f, "e: { " URL ", outcome: { 200: delivered, 400: delivered } }");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct http_out_answer a = { .reach = cases[i].reach,
                                     .status = cases[i].status,
                                     .failure = "it rained" };
        struct verdict v;

        endpoint_http.http->judge(f.self, &a, &v);
        CHECK(v.kind == cases[i].kind && strstr(v.message, "it rained") != NULL);
    }
}

/* proves: DE6 DE9 */
TEST(http_out_asks_for_a_document_by_its_key)
{
    AUTO(fixture_done) struct fixture f;
    struct sending s = sending();
    struct http_out_request r;
    struct verdict v;

    make(&f, "e: { " URL ", headers: { Authorization: 'Bearer ${secret:token}' }, probe: { "
             "method: HEAD, url: 'https://a.example/has/${delivery}?of=${region}' } }");
    CHECK(f.self != NULL && endpoint_http.http->ask(f.self, &s, &f.arena, &r, &v));
    CHECK(str_is(r.method, "HEAD"));
    CHECK(str_is(r.url, "https://a.example/has/0193-doc.api?of=emea"));
    CHECK(strcmp(field(&r, "Idempotency-Key"), "0193-doc.api") == 0);
    CHECK(strcmp(field(&r, "Authorization"), "Bearer t0psecret") == 0);
    s.facts = &(const struct facts){ 0 };
    CHECK(!endpoint_http.http->ask(f.self, &s, &f.arena, &r, &v) && v.kind == VERDICT_FAILED);
    fixture_done(&f);
    make(&f, "e: { " URL " }");
    s = sending();
    CHECK(!endpoint_http.http->ask(f.self, &s, &f.arena, &r, &v));
    CHECK(v.kind == VERDICT_FAILED && strstr(v.message, "no `probe`") != NULL);
    fixture_done(&f);
    make(&f, "e: { " URL ", probe: { url: 'http://a/${' } }");
    CHECK(f.self == NULL && strstr(f.err.text, "`probe`") != NULL);
}

static enum verdict_kind heard(struct fixture *f, enum http_out_reach reach, int64_t status)
{
    struct http_out_answer a = { .reach = reach, .status = status, .failure = "it rained" };
    struct verdict v;

    endpoint_http.http->hear(f->self, &a, &v);
    return v.message[0] != '\0' && v.status == status ? v.kind : VERDICT_FAILED;
}

/* proves: DE6 DE9 */
TEST(http_out_hears_whether_it_arrived)
{
    static const struct {
        int64_t status;
        enum verdict_kind usual, told;
    } cases[] = {
        { 200, VERDICT_DELIVERED, VERDICT_DOUBT }, { 204, VERDICT_DELIVERED, VERDICT_RETRY },
        { 404, VERDICT_RETRY, VERDICT_DOUBT },     { 410, VERDICT_RETRY, VERDICT_DOUBT },
        { 302, VERDICT_DOUBT, VERDICT_DELIVERED }, { 303, VERDICT_DOUBT, VERDICT_DELIVERED },
        { 400, VERDICT_DOUBT, VERDICT_DOUBT },     { 500, VERDICT_DOUBT, VERDICT_DOUBT },
        { 503, VERDICT_DOUBT, VERDICT_DOUBT },     { 401, VERDICT_CREDENTIAL, VERDICT_CREDENTIAL },
        { 999, VERDICT_DOUBT, VERDICT_DOUBT },
    };
    AUTO(fixture_done) struct fixture usual, told;

    make(&usual, "e: { " URL ", probe: { url: 'http://a.example/' } }");
    make(&told, "e: { " URL ", probe: { url: 'http://a.example/', delivered: [302, 303], "
                "missing: 204 } }");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK(heard(&usual, HTTP_OUT_ANSWERED, cases[i].status) == cases[i].usual);
        CHECK(heard(&told, HTTP_OUT_ANSWERED, cases[i].status) == cases[i].told);
    }
    CHECK(heard(&usual, HTTP_OUT_NOT_SENT, 0) == VERDICT_UNREACHED);
    CHECK(heard(&usual, HTTP_OUT_UNCLEAR, 200) == VERDICT_DOUBT);
}

/* proves: DE7 DE18 */
TEST(http_out_shows_the_beginning_of_an_answer_in_one_plain_line)
{
    static char large[VERDICT_ANSWER_MOST];
    AUTO(fixture_done) struct fixture f;
    struct http_out_answer a = { .reach = HTTP_OUT_ANSWERED, .status = 422 };
    struct verdict v;

    make(&f, "e: { " URL " }");
    a.body = STR("  no\r\nsuch\x1b[31m order\x00 ");
    endpoint_http.http->judge(f.self, &a, &v);
    CHECK(strstr(v.message, "the receiver answered 422: no") == v.message);
    for (const char *c = v.message; *c != '\0'; c++)
        CHECK((unsigned char)*c >= ' ' && *c != 0x7f);
    memset(large, 'x', sizeof large);
    a.body = str_mem(large, sizeof large);
    endpoint_http.http->judge(f.self, &a, &v);
    CHECK(strlen(v.message) < 450);
    a.body = STR("");
    endpoint_http.http->judge(f.self, &a, &v);
    CHECK(strcmp(v.message, "the receiver answered 422") == 0);
}

TEST(http_out_logs_in_with_the_token_it_is_lent)
{
    AUTO(fixture_done) struct fixture f;
    struct http_out_request r;
    struct verdict v;
    struct sending s = sending();

    make(&f,
         "e: { " URL ", oauth2: { token_url: 'https://a.example/t', client_id: me, "
         "client_secret: '${secret:token}' }, probe: { url: 'http://a.example/${delivery}' } }");
    CHECK(f.self != NULL);
    const struct oauth2 *o = endpoint_http.http->oauth2(f.self);

    CHECK(o != NULL && str_is(o->client_secret, "t0psecret"));
    s.token = STR("abc.def");
    CHECK(endpoint_http.http->prepare(f.self, &s, &f.arena, &r, &v));
    CHECK(strcmp(field(&r, "Authorization"), "Bearer abc.def") == 0);
    CHECK(endpoint_http.http->ask(f.self, &s, &f.arena, &r, &v));
    CHECK(strcmp(field(&r, "Authorization"), "Bearer abc.def") == 0);
    fixture_done(&f);
    make(&f, "e: { " URL " }");
    CHECK(endpoint_http.http->oauth2(f.self) == NULL);
}

TEST(http_out_signs_what_it_sends)
{
    AUTO(fixture_done) struct fixture f;
    struct http_out_request r = { 0 };
    struct verdict v;
    struct sending s = sending();

    s.bytes = STR("order");
    s.size = 5;
    make(&f, "e: { " URL ", sign: { header: X-Sign, secret: Jefe-Jefe, prefix: 'v1=' } }");
    CHECK(f.self != NULL && endpoint_http.http->reads(f.self));
    CHECK(endpoint_http.http->prepare(f.self, &s, &f.arena, &r, &v));
    /* By Python: hmac.new(b"Jefe-Jefe", b"order", "sha256") */
    CHECK(strcmp(field(&r, "X-Sign"),
                 "v1=0bc00036e25896333bf74dda548cc8323b82e6f6e5b59cef86c3969042dad52d") == 0);
    CHECK(strcmp(field(&r, "X-Time"), "(none)") == 0);
    fixture_done(&f);
    make(&f, "e: { " URL " }");
    CHECK(!endpoint_http.http->reads(f.self));
}

/* ---- SOAP ---- */

/* A document that is read in pieces of one byte. */
static bool one_byte(void *arg, struct str *ret, struct err *err)
{
    struct str *left = arg;

    (void)err;
    *ret = str_mem(left->ptr, left->len > 0 ? 1 : 0);
    *left = str_from(*left, ret->len);
    return true;
}

TEST(http_out_puts_documents_into_envelopes)
{
    AUTO(fixture_done) struct fixture f;
    struct http_out_request r = { 0 };
    struct verdict v;
    struct sending s = sending();

    s.bytes = STR("<?xml version='1.0'?><a/>");
    s.size = (int64_t)s.bytes.len;
    make(&f, "e: { " URL ", soap: { action: 'urn:a' } }");
    CHECK(f.self != NULL && endpoint_http.http->prepare(f.self, &s, &f.arena, &r, &v));
    CHECK(strcmp(field(&r, "Content-Type"), "text/xml; charset=utf-8") == 0);
    CHECK(strcmp(field(&r, "SOAPAction"), "\"urn:a\"") == 0);
    CHECK(r.skip == 21 && r.before.len > 0 && r.after.len > 0);
    fixture_done(&f);
    make(&f, "e: { " URL ", soap: { action: 'urn:a', version: '1.2' } }");
    r = (struct http_out_request){ 0 };
    CHECK(f.self != NULL && endpoint_http.http->prepare(f.self, &s, &f.arena, &r, &v));
    CHECK(strcmp(field(&r, "Content-Type"),
                 "application/soap+xml; charset=utf-8; action=\"urn:a\"") == 0);
    CHECK(strcmp(field(&r, "SOAPAction"), "(none)") == 0);
    /* What is an envelope already is sent as it is, if the version is right. */
    s.bytes = STR("<Envelope xmlns='http://www.w3.org/2003/05/soap-envelope'/>");
    r = (struct http_out_request){ 0 };
    CHECK(endpoint_http.http->prepare(f.self, &s, &f.arena, &r, &v));
    CHECK(r.skip == 0 && r.before.len == 0 && r.after.len == 0);
    s.bytes = STR("<Envelope xmlns='http://schemas.xmlsoap.org/soap/envelope/'/>");
    CHECK(!endpoint_http.http->prepare(f.self, &s, &f.arena, &r, &v));
    CHECK(v.kind == VERDICT_FAILED && strstr(v.message, "SOAP 1.1") != NULL);
    s.bytes = STR("no XML");
    CHECK(!endpoint_http.http->prepare(f.self, &s, &f.arena, &r, &v));
    CHECK(v.kind == VERDICT_FAILED && strstr(v.message, "not XML") != NULL);
}

TEST(http_out_signs_the_envelope_too)
{
    AUTO(fixture_done) struct fixture f;
    struct http_out_request small = { 0 }, large = { 0 };
    struct verdict v;
    struct sending s = sending();
    struct str text = STR("<a>1</a>"), left = text;
    char first[256];

    make(&f, "e: { " URL ", soap: {}, sign: { header: X-Sign, secret: Jefe-Jefe } }");
    s.bytes = text;
    s.size = (int64_t)text.len;
    CHECK(f.self != NULL && endpoint_http.http->prepare(f.self, &s, &f.arena, &small, &v));
    (void)snprintf(first, sizeof first, "%s", field(&small, "X-Sign"));
    CHECK(strlen(first) == 64);
    /* Of a large one only the first piece is looked at; this one does not even have an element. */
    s.bytes = (struct str){ 0 };
    s.next = one_byte;
    s.next_arg = &left;
    CHECK(!endpoint_http.http->prepare(f.self, &s, &f.arena, &large, &v));
    CHECK(strstr(v.message, "first 1 bytes") != NULL);
    fixture_done(&f);
    make(&f, "e: { " URL ", sign: { header: X-Sign, secret: Jefe-Jefe } }");
    s.bytes = text;
    s.next = NULL;
    small = large = (struct http_out_request){ 0 };
    CHECK(endpoint_http.http->prepare(f.self, &s, &f.arena, &small, &v));
    CHECK(strcmp(field(&small, "X-Sign"), first) != 0);
    (void)snprintf(first, sizeof first, "%s", field(&small, "X-Sign"));
    s.bytes = (struct str){ 0 };
    s.next = one_byte;
    left = text;
    CHECK(endpoint_http.http->prepare(f.self, &s, &f.arena, &large, &v));
    CHECK(strcmp(field(&large, "X-Sign"), first) == 0);
}

TEST(http_out_judges_faults)
{
#define BODY11      "<s:Envelope xmlns:s='http://schemas.xmlsoap.org/soap/envelope/'><s:Body>"
#define FAULT(code) BODY11 "<s:Fault><faultcode>" code "</faultcode><faultstring>why</faultstring>"
    static const struct {
        int64_t status;
        const char *ctype, *body;
        enum verdict_kind kind;
        const char *says;
    } cases[] = {
        { 200, "text/xml", BODY11 "<ok/></s:Body></s:Envelope>", VERDICT_DELIVERED, "" },
        { 200, "text/xml", "", VERDICT_DELIVERED, "" },
        { 202, "", "", VERDICT_DELIVERED, "" },
        { 200, "text/html", "<html>log in</html>", VERDICT_DOUBT, "no SOAP envelope" },
        { 200, "text/xml", FAULT("s:Client"), VERDICT_REJECTED, "fault Client: why" },
        { 200, "multipart/related; boundary=x", "--x\r\nA: b\r\n\r\n" FAULT("s:Server"),
          VERDICT_RETRY, "fault Server: why" },
        { 500, "text/xml", FAULT("s:Client"), VERDICT_REJECTED, "500 with the fault Client: why" },
        { 500, "text/xml", FAULT("s:Server.Full"), VERDICT_RETRY, "fault Server.Full: why" },
        { 500, "text/xml", FAULT("x:E17"), VERDICT_REJECTED, "fault E17: why" },
        { 500, "text/html", "<html>oh</html>", VERDICT_DOUBT, "500: oh" },
        { 400, "text/xml", FAULT("s:Server"), VERDICT_RETRY, "fault Server" },
        { 401, "text/xml", FAULT("s:Client"), VERDICT_CREDENTIAL, "401" },
        { 503, "text/xml", FAULT("s:Client"), VERDICT_RETRY, "503" },
        { 599, "text/xml", FAULT("s:Client"), VERDICT_DELIVERED, "" }, /* `outcome` */
    };
    AUTO(fixture_done) struct fixture f;

    make(&f, "e: { " URL ", soap: {}, outcome: { 599: delivered } }");
    CHECK(f.self != NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct http_out_answer a = { .reach = HTTP_OUT_ANSWERED,
                                     .status = cases[i].status,
                                     .ctype = str_of(cases[i].ctype),
                                     .body = str_of(cases[i].body) };
        struct verdict v;

        endpoint_http.http->judge(f.self, &a, &v);
        CHECK(v.kind == cases[i].kind);
        CHECK(strstr(v.message, cases[i].says) != NULL);
    }
}

int main(void)
{
    return test_main();
}
