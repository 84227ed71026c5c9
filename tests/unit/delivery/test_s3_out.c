#include "base/auto.h"
#include "core/connector.h"
#include "core/grammar.h"
#include "test.h"

enum { ARENA = 16 << 20 };

static bool find_secret(void *arg, struct str name, struct arena *a, struct str *ret,
                        struct err *err)
{
    (void)arg, (void)a;
    if (!str_is(name, "k"))
        return err_set(err, ERR_CONFIG, 0, "there is no secret of that name");
    *ret = STR("t0psecret");
    return true;
}

/* Makes the endpoint, and ends it again. */
static bool make(const char *yaml, struct err *err)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    struct problem_list problems = PROBLEM_LIST_INIT;
    struct settings settings = {
        .node = yaml_load(str_of(yaml), &a, &problems),
        .common = grammar_endpoint,
        .own = endpoint_s3.kind.keys,
        .secret = find_secret,
        .arena = &a,
    };
    void *self = NULL;

    *err = (struct err){ 0 };
    bool ok = endpoint_s3.make(&settings, &self, err);

    if (ok)
        endpoint_s3.unmake(self);
    problem_list_done(&problems);
    return ok;
}

#define URL "url: 'https://s3.example', "

TEST(s3_out_is_made)
{
    struct err err;

    CHECK(make("{ " URL "bucket: orders }", &err));
    CHECK(
        make("{ " URL "bucket: Orders_1, name: \"${date}/${id}\", exists: replace, access_key: AK, "
             "secret_key: secret:k, session_token: T, region: eu-west-1, tls: { verify: false } }",
             &err));
    CHECK(
        make("{ " URL "bucket: \"${receiver}\", style: host }", &err)); /* known when it is sent */
}

TEST(s3_out_that_cannot_be)
{
    static const struct {
        const char *yaml, *says;
    } rows[] = {
        { "{ " URL "bucket: b }", "`bucket`" },
        { "{ " URL "bucket: Orders, style: host }", "small letters" },
        { "{ " URL "bucket: orders, name: \"${id\" }", "" },
        { "{ " URL "bucket: orders, access_key: AK }", "belong together" },
        { "{ " URL "bucket: orders, access_key: AK, secret_key: secret:other }", "secret" },
        { "{ url: 'https://me:pw@s3.example', bucket: orders }", "`url`" },
        { "{ " URL "bucket: orders, region: '' }", "`region`" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct err err;

        CHECK(!make(rows[i].yaml, &err) && err.kind == ERR_CONFIG);
        CHECK(strstr(err.text, rows[i].says) != NULL && strstr(err.text, "t0psecret") == NULL);
        CHECK(strstr(err.text, "pw") == NULL);
    }
}

/* What a document has in its way is final, and said without a service. */
TEST(s3_out_refuses_names)
{
    static const struct {
        const char *name, *says;
    } rows[] = { { "..", "begins with a dot" },
                 { "a/b", "has a `/`" },
                 { "a\nb", "control" },
                 { "", "no `name`" } };
    static const struct facts facts = { .sender = STR("acme") };
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    struct problem_list problems = PROBLEM_LIST_INIT;
    struct settings settings = {
        .node = yaml_load(STR("{ " URL "bucket: orders, name: \"x/${name}\" }"), &a, &problems),
        .common = grammar_endpoint,
        .own = endpoint_s3.kind.keys,
        .arena = &a,
    };
    struct err err = { 0 };
    void *self;

    CHECK(endpoint_s3.make(&settings, &self, &err));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sending s = { .document = STR("d"),
                             .delivery = STR("d.e"),
                             .facts = &facts,
                             .name = str_of(rows[i].name),
                             .bytes = STR("x"),
                             .size = 1 };
        struct verdict v;

        endpoint_s3.send(self, &s, NULL, &v);
        CHECK(v.kind == VERDICT_FAILED && strcmp(v.code, dead_codes[DEAD_REJECTED]) == 0);
        CHECK(strstr(v.message, rows[i].says) != NULL);
        endpoint_s3.ask(self, &s, NULL, &v);
        CHECK(v.kind == VERDICT_FAILED);
    }
    endpoint_s3.unmake(self);
    problem_list_done(&problems);
}

int main(void)
{
    return test_main();
}
