#include "core/web/oauth2.h"

#include "base/auto.h"
#include "base/clock.h"
#include "core/grammar.h"
#include "test.h"

enum { ARENA = 4 << 20 };

static const struct oauth2 client = { .token_url = { "https://id.example/token", 24 },
                                      .client_id = { "way bill", 8 },
                                      .client_secret = { "s3cret/+ of it", 14 },
                                      .scope = { "orders.write", 12 } };

/* ---- the request ---- */

static struct str field(const struct http_out_request *r, const char *name)
{
    for (size_t i = 0; i < r->field_count; i++)
        if (str_eq_nocase(r->fields[i].name, str_of(name)))
            return r->fields[i].value;
    return (struct str){ 0 };
}

TEST(oauth2_asks_with_the_secret_in_authorization)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    struct http_out_request r;
    struct str body;

    oauth2_request(&client, &a, &r, &body);
    CHECK(str_is(r.method, "POST") && str_is(r.url, "https://id.example/token"));
    CHECK(str_is(field(&r, "Content-Type"), "application/x-www-form-urlencoded"));
    CHECK(str_is(body, "grant_type=client_credentials&scope=orders.write"));
    /* way%20bill:s3cret%2F%2B%20of%20it, as base64 of another program has it */
    CHECK(str_is(field(&r, "Authorization"), "Basic d2F5JTIwYmlsbDpzM2NyZXQlMkYlMkIlMjBvZiUyMGl0"));
}

TEST(oauth2_asks_with_the_secret_in_the_form)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    struct oauth2 o = client;
    struct http_out_request r;
    struct str body;

    o.in_form = true;
    o.scope = STR("");
    oauth2_request(&o, &a, &r, &body);
    CHECK(field(&r, "Authorization").ptr == NULL);
    CHECK(str_is(body, "grant_type=client_credentials&client_id=way%20bill"
                       "&client_secret=s3cret%2F%2B%20of%20it"));
}

/* ---- the answer ---- */

TEST(oauth2_takes_a_token)
{
    static const struct {
        const char *body, *token;
        int64_t life_s;
    } cases[] = {
        { "{\"access_token\":\"abc.DEF-_~+/=\",\"token_type\":\"Bearer\",\"expires_in\":3600}",
          "abc.DEF-_~+/=", 3600 },
        { "{\"token_type\":\"bEARER\",\"expires_in\":\"60\",\"access_token\":\"\\u0061\\/b\"}",
          "a/b", 60 },
        { " {\"access_token\":\"t\"} ", "t", OAUTH2_LIFE_UNSAID_S },
        { "{\"access_token\":\"t\",\"expires_in\":99999999999999999999999}", "t",
          OAUTH2_LIFE_MOST_S },
        { "{\"x\":{\"access_token\":\"no\",\"y\":[[]]},\"access_token\":\"t\",\"expires_in\":1}",
          "t", 1 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
        struct http_out_answer answer = { .reach = HTTP_OUT_ANSWERED,
                                          .status = 200,
                                          .body = str_of(cases[i].body),
                                          .came = (int64_t)strlen(cases[i].body) };
        struct oauth2_token t = { 0 };
        struct verdict v;

        CHECK(oauth2_judge(&client, &answer, &a, &t, &v));
        CHECK(str_is(t.text, cases[i].token));
        CHECK(t.life_us == cases[i].life_s * CLOCK_S);
    }
}

static bool judge(int64_t status, struct str body, struct verdict *v)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    struct http_out_answer answer = { .reach = HTTP_OUT_ANSWERED,
                                      .status = status,
                                      .retry_after = STR("7"),
                                      .body = body,
                                      .came = (int64_t)body.len };
    struct oauth2_token t;

    return oauth2_judge(&client, &answer, &a, &t, v);
}

TEST(oauth2_says_why_there_is_no_token)
{
    static const struct {
        int64_t status;
        const char *body;
        enum verdict_kind kind;
        const char *says;
    } cases[] = {
        { 200, "<html><body>Log in</body></html>", VERDICT_UNREACHED, "no JSON" },
        { 200, "", VERDICT_UNREACHED, "no JSON" },
        { 200, "\"token\"", VERDICT_UNREACHED, "no JSON object" },
        { 200, "[{\"access_token\":\"t\"}]", VERDICT_UNREACHED, "no JSON object" },
        { 200, "{\"access_token\":\"t\"} x", VERDICT_UNREACHED, "no JSON" },
        { 200, "{\"access_token\":\"t\"", VERDICT_UNREACHED, "no JSON" },
        { 200, "{\"token\":\"t\"}", VERDICT_UNREACHED, "no access_token" },
        { 200, "{\"access_token\":\"\"}", VERDICT_UNREACHED, "visible ASCII" },
        { 200, "{\"access_token\":7}", VERDICT_UNREACHED, "visible ASCII" },
        { 200, "{\"access_token\":\"a\\r\\nX-Evil: 1\"}", VERDICT_UNREACHED, "visible ASCII" },
        { 200, "{\"access_token\":\"a b\"}", VERDICT_UNREACHED, "visible ASCII" },
        { 200, "{\"access_token\":\"t\",\"token_type\":\"mac\"}", VERDICT_UNREACHED, "Bearer" },
        { 200, "{\"access_token\":\"t\",\"expires_in\":0}", VERDICT_UNREACHED, "expires_in" },
        { 200, "{\"access_token\":\"t\",\"expires_in\":-5}", VERDICT_UNREACHED, "expires_in" },
        { 200, "{\"access_token\":\"t\",\"expires_in\":1e9}", VERDICT_UNREACHED, "expires_in" },
        { 200, "{\"access_token\":\"t\",\"expires_in\":\"soon\"}", VERDICT_UNREACHED,
          "expires_in" },
        { 200, "{\"access_token\":\"t\",\"expires_in\":null}", VERDICT_UNREACHED, "expires_in" },
        { 200, "{\"a\":[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]}", VERDICT_UNREACHED, "too deeply" },
        { 401, "{\"error\":\"invalid_client\",\"error_description\":\"who?\"}", VERDICT_CREDENTIAL,
          "answered 401 invalid_client: who?; check token_url, client_id, client_secret" },
        { 400, "{\"error\":\"invalid_scope\"}", VERDICT_CREDENTIAL, "answered 400 invalid_scope;" },
        { 400, "<html>", VERDICT_CREDENTIAL, "answered 400; check" },
        { 404, "", VERDICT_CREDENTIAL, "answered 404; check token_url" },
        { 302, "", VERDICT_UNREACHED, "answered 302" },
        { 503, "{\"error\":\"temporarily_unavailable\"}", VERDICT_UNREACHED,
          "answered 503 temporarily_unavailable" },
        { 500, "s3cret/+ of it", VERDICT_UNREACHED, "answered 500" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct verdict v;

        CHECK(!judge(cases[i].status, str_of(cases[i].body), &v));
        CHECK(v.kind == cases[i].kind);
        CHECK(strstr(v.message, cases[i].says) != NULL);
        CHECK(v.status == 0); /* it is not the receiver's */
        CHECK(v.retry_after_us == (cases[i].status == 503 || cases[i].status == 500 ? 7 * CLOCK_S
                                   : cases[i].status == 302                         ? 7 * CLOCK_S
                                                                                    : 0));
    }
}

TEST(oauth2_quotes_no_secret)
{
    struct verdict v;

    CHECK(!judge(
        401, STR("{\"error\":\"invalid_client\",\"error_description\":\"bad s3cret\\/+ of it\"}"),
        &v));
    CHECK(strstr(v.message, "of it") == NULL && strstr(v.message, "401") != NULL);
}

TEST(oauth2_reads_no_answer_that_was_cut)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    struct str body = STR("{\"access_token\":\"t\"}");
    struct http_out_answer answer = {
        .reach = HTTP_OUT_ANSWERED, .status = 200, .body = body, .came = (int64_t)body.len + 1
    };
    struct oauth2_token t;
    struct verdict v;

    CHECK(!oauth2_judge(&client, &answer, &a, &t, &v));
    CHECK(strstr(v.message, "64 KiB") != NULL);
    answer = (struct http_out_answer){ .reach = HTTP_OUT_NOT_SENT, .failure = "no route" };
    CHECK(!oauth2_judge(&client, &answer, &a, &t, &v));
    CHECK(v.kind == VERDICT_UNREACHED && strstr(v.message, "no route") != NULL);
    answer = (struct http_out_answer){ .reach = HTTP_OUT_UNCLEAR, .failure = "timed out" };
    CHECK(!oauth2_judge(&client, &answer, &a, &t, &v));
    CHECK(v.kind == VERDICT_UNREACHED && strstr(v.message, "timed out") != NULL);
}

TEST(oauth2_a_token_has_a_limit)
{
    AUTO(buf_done) struct buf b = BUF_INIT(64 << 10);

    buf_put(&b, STR("{\"access_token\":\""));
    for (int i = 0; i <= OAUTH2_TOKEN_MOST; i++)
        buf_putc(&b, 'a');
    buf_put(&b, STR("\"}"));
    struct verdict v;

    CHECK(!judge(200, buf_view(&b), &v));
    CHECK(strstr(v.message, "16384") != NULL);
}

/* ---- settings ---- */

static const struct oauth2 *read_oauth2(struct arena *a, const char *yaml, struct err *err)
{
    struct problem_list problems = PROBLEM_LIST_INIT;
    struct settings s = { .node = yaml_get(yaml_load(str_of(yaml), a, &problems), "e"),
                          .own = oauth2_options,
                          .arena = a };
    const struct oauth2 *o = NULL;

    if (!oauth2_read(&s, &o, err))
        o = NULL;
    problem_list_done(&problems);
    return o;
}

#define CLIENT "client_id: me, client_secret: x"

TEST(oauth2_reads_its_settings)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    struct err err = { 0 };
    const struct oauth2 *o = read_oauth2(
        &a, "e: { oauth2: { token_url: 'http://[::1]:80/t', " CLIENT ", auth: post } }", &err);

    CHECK(o != NULL && o->in_form && str_is(o->client_id, "me") && o->scope.len == 0);
    o = read_oauth2(
        &a, "e: { oauth2: { token_url: 'https://a.example/t', " CLIENT ", scope: 'a b' } }", &err);
    CHECK(o != NULL && !o->in_form && str_is(o->scope, "a b"));
    CHECK(read_oauth2(&a, "e: { url: x }", &err) == NULL && err.kind == ERR_NONE);
}

TEST(oauth2_refuses_settings)
{
    static const struct {
        const char *yaml, *says;
    } cases[] = {
        { "token_url: 'http://a.example/t', " CLIENT, "use https" },
        { "token_url: 'http://127.0.0.1@a.example/t', " CLIENT, "holds a user" },
        { "token_url: 'https://me@a.example/t', " CLIENT, "holds a user" },
        { "token_url: 'ftp://a.example/t', " CLIENT, "neither http" },
        { "token_url: 'https://a.example/a b', " CLIENT, "blank" },
        { "token_url: 'https://a.example/t', client_id: '', client_secret: x", "`client_id`" },
        { "token_url: 'https://a.example/t', client_id: x, client_secret: ''", "`client_secret`" },
        { "token_url: 'https://a.example/t', client_id: x, client_secret: \"a\\nb\"", "control" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
        struct err err = { 0 };
        const char *yaml = arena_printf(&a, "e: { oauth2: { %s } }", cases[i].yaml);

        CHECK(read_oauth2(&a, yaml, &err) == NULL);
        CHECK(err.kind == ERR_CONFIG && strstr(err.text, cases[i].says) != NULL);
    }
}

int main(void)
{
    return test_main();
}
