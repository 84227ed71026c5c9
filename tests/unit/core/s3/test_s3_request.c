#include "core/s3/s3_request.h"

#include "base/auto.h"
#include "base/clock.h"
#include "core/grammar.h"
#include "core/s3/s3_text.h"
#include "test.h"

enum { ARENA = 16 << 20 };

static const struct option keys[] = { OPTIONS(grammar_s3), OPTIONS(grammar_tls), { 0 } };
static const int64_t now_us = INT64_C(1369353600) * CLOCK_S;

static bool read_service(const char *yaml, struct arena *a, struct s3_service *ret, struct err *err)
{
    struct problem_list problems = PROBLEM_LIST_INIT;
    struct settings settings = {
        .node = yaml_load(str_of(yaml), a, &problems),
        .common = grammar_endpoint,
        .own = keys,
        .arena = a,
    };

    *ret = (struct s3_service){ 0 };
    *err = (struct err){ 0 };
    bool ok = s3_service_read(&settings, ret, err);

    problem_list_done(&problems);
    return ok;
}

static const char *field(const struct http_out_request *r, const char *name)
{
    static char value[1024];

    for (size_t i = 0; i < r->field_count; i++)
        if (str_is(r->fields[i].name, name)) {
            (void)snprintf(value, sizeof value, "%.*s", STR_ARG(r->fields[i].value));
            return value;
        }
    return NULL;
}

TEST(s3_text_there_and_back)
{
    static const struct {
        const char *key, *encoded;
    } rows[] = {
        { "a b+c=d/\xc3\xa9:*&?.txt", "a%20b%2Bc%3Dd/%C3%A9%3A%2A%26%3F.txt" },
        { "x/../y", "x/../y" },
        { "%41", "%2541" },
        { "/lead", "/lead" },
        { "~a-b_c.d", "~a-b_c.d" },
        { "", "" },
        { "\x01\x7f\xff", "%01%7F%FF" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        AUTO(buf_done) struct buf there = BUF_INIT(256);
        AUTO(buf_done) struct buf back = BUF_INIT(256);
        struct err err = { 0 };

        CHECK(s3_encode(str_of(rows[i].key), true, &there, &err));
        CHECK(str_is(buf_view(&there), rows[i].encoded));
        CHECK(s3_decode(buf_view(&there), &back, &err));
        CHECK(str_is(buf_view(&back), rows[i].key));
    }
}

TEST(s3_text_decodes_what_services_write)
{
    static const char *const broken[] = { "%", "%4", "a%4", "%zz", "%4x" };
    AUTO(buf_done) struct buf out = BUF_INIT(64);
    struct err err = { 0 };

    CHECK(s3_decode(STR("a+b%2Bc%2f"), &out, &err) && str_is(buf_view(&out), "a b+c/"));
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        err = (struct err){ 0 };
        CHECK(!s3_decode(str_of(broken[i]), &out, &err) && err.kind == ERR_PERMANENT);
    }
    AUTO(buf_done) struct buf small = BUF_INIT(2);

    err = (struct err){ 0 };
    CHECK(!s3_encode(STR("abc"), false, &small, &err) && err.kind == ERR_LIMIT);
}

TEST(s3_service_is_read)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    struct s3_service s;
    struct err err;

    CHECK(read_service("{ url: 'https://s3.example:443/base/', access_key: AK, secret_key: SK, "
                       "session_token: T, style: host, region: eu-west-1, timeout: 3s }",
                       &a, &s, &err));
    CHECK(str_is(s.scheme, "https") && str_is(s.host, "s3.example") && str_is(s.base, "/base"));
    CHECK(s.host_style && str_is(s.signer.region, "eu-west-1") && str_is(s.session_token, "T"));
    CHECK(s.http.timeout_us == 3 * CLOCK_S && s.http.verify);
    CHECK(read_service("{ url: 'http://127.0.0.1:8080' }", &a, &s, &err));
    CHECK(str_is(s.host, "127.0.0.1:8080") && s.base.len == 0 && !s.host_style);
    CHECK(s.signer.access_key.len == 0 && str_is(s.signer.region, "us-east-1"));
}

TEST(s3_service_that_cannot_be)
{
    static const char *const texts[] = {
        "{ url: 'https://user:pw@host' }",
        "{ url: 'https://host/a?b' }",
        "{ url: 'https:///a' }",
        "{ url: 'ftp://host' }",
        "{ url: 'https://host/%41' }",
        "{ url: 'https://host', access_key: AK }",
        "{ url: 'https://host', secret_key: SK }",
        "{ url: 'https://host', session_token: T }",
        "{ url: 'https://host', region: 'a/b' }",
        "{ url: 'https://host', access_key: \"A\\nB\", secret_key: SK }",
    };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
        struct s3_service s;
        struct err err;

        CHECK(!read_service(texts[i], &a, &s, &err) && err.kind == ERR_CONFIG);
        CHECK(strstr(err.text, "pw") == NULL && strstr(err.text, "SK") == NULL);
    }
}

TEST(s3_names_of_buckets)
{
    static const struct {
        const char *name;
        bool path, host;
    } rows[] = {
        { "orders", true, true },
        { "a-b.c9", true, true },
        { "Orders_1", true, false },
        { "ab", false, false },
        { ".abc", false, false },
        { "-abc", false, false },
        { "abc.", false, false },
        { "a/b", false, false },
        { "a b", false, false },
        { "\xc3\xa9\xc3\xa9", false, false },
        { "0123456789012345678901234567890123456789012345678901234567890123", false, false },
    };
    const struct s3_service path = { 0 }, host = { .host_style = true };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct err err = { 0 };

        CHECK(s3_bucket_check(&path, str_of(rows[i].name), &err) == rows[i].path);
        CHECK(s3_bucket_check(&host, str_of(rows[i].name), &err) == rows[i].host);
    }
}

TEST(s3_names_of_objects)
{
    char longest[S3_KEY_MOST + 1];
    struct err err = { 0 };

    memset(longest, 'a', sizeof longest);
    CHECK(s3_key_check(str_mem(longest, S3_KEY_MOST), &err));
    CHECK(!s3_key_check(str_mem(longest, S3_KEY_MOST + 1), &err) && err.kind == ERR_PERMANENT);
    CHECK(s3_key_check(STR("a b+c=d/\xc3\xa9:*&?.txt"), &err) && s3_key_check(STR("x/../y"), &err));
    CHECK(!s3_key_check(STR(""), &err));
    CHECK(!s3_key_check(STR("a\nb"), &err));
    CHECK(!s3_key_check(STR("a\xff"), &err));
}

TEST(s3_request_in_both_styles)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    const struct s3_order order = {
        .method = "PUT",
        .bucket = STR("orders"),
        .key = STR("/a b/\xc3\xa9"),
        .query = { { "partNumber", STR("1") }, { "uploadId", STR("x/y=") } },
        .query_count = 2,
        .fields = { { STR("Content-Type"), STR("text/xml") } },
        .field_count = 1,
        .digest = digest_of(STR("")),
    };
    struct http_out_request r;
    struct s3_service s;
    struct err err;

    CHECK(
        read_service("{ url: 'http://h:81/base', access_key: AK, secret_key: SK }", &a, &s, &err));
    s3_request_make(&s, &order, now_us, &a, &r);
    CHECK(str_is(r.method, "PUT"));
    CHECK(str_is(r.url, "http://h:81/base/orders//a%20b/%C3%A9?partNumber=1&uploadId=x%2Fy%3D"));
    CHECK(strcmp(field(&r, "Host"), "h:81") == 0);
    CHECK(strcmp(field(&r, "x-amz-date"), "20130524T000000Z") == 0);
    CHECK(strstr(field(&r, "Authorization"),
                 "SignedHeaders=content-type;host;x-amz-content-sha256;x-amz-date,") != NULL);
    CHECK(strstr(field(&r, "Authorization"), "SK") == NULL);
    CHECK(field(&r, "x-amz-security-token") == NULL);

    CHECK(read_service("{ url: 'https://h', style: host, access_key: AK, secret_key: SK, "
                       "session_token: TT }",
                       &a, &s, &err));
    s3_request_make(&s, &order, now_us, &a, &r);
    CHECK(str_is(r.url, "https://orders.h//a%20b/%C3%A9?partNumber=1&uploadId=x%2Fy%3D"));
    CHECK(strcmp(field(&r, "Host"), "orders.h") == 0);
    CHECK(strcmp(field(&r, "x-amz-security-token"), "TT") == 0);
    CHECK(strstr(field(&r, "Authorization"), "x-amz-date;x-amz-security-token,") != NULL);

    CHECK(read_service("{ url: 'https://h' }", &a, &s, &err));
    s3_request_make(&s, &order, now_us, &a, &r);
    CHECK(field(&r, "Authorization") == NULL);
}

/* The example of Amazon's documentation again, made from its parts. */
TEST(s3_request_is_signed_as_documented)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    const struct s3_order order = { .method = "GET",
                                    .bucket = STR("examplebucket"),
                                    .key = STR("test.txt"),
                                    .fields = { { STR("Range"), STR("bytes=0-9") } },
                                    .field_count = 1,
                                    .digest = digest_of(STR("")) };
    struct http_out_request r;
    struct s3_service s;
    struct err err;

    CHECK(read_service("{ url: 'https://s3.amazonaws.com', style: host, "
                       "access_key: AKIAIOSFODNN7EXAMPLE, "
                       "secret_key: wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY }",
                       &a, &s, &err));
    s3_request_make(&s, &order, now_us, &a, &r);
    CHECK(strstr(field(&r, "Authorization"),
                 "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41") != NULL);
}

int main(void)
{
    return test_main();
}
