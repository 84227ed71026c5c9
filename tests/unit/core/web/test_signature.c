#include "core/web/signature.h"

#include "base/auto.h"
#include "base/clock.h"
#include "test.h"

enum { ARENA = 1 << 20 };

static const int64_t now_us = INT64_C(1794711130) * CLOCK_S;

static const struct signature *read_rule(struct arena *a, const struct option *keys,
                                         const char *yaml, struct err *err)
{
    struct problem_list problems = PROBLEM_LIST_INIT;
    const struct option own[] = { OPTION("hmac", OPT_MAP, "x", .keys = keys), { 0 } };
    struct settings s = { .node = yaml_get(yaml_load(str_of(yaml), a, &problems), "g"),
                          .own = own,
                          .arena = a };
    const struct signature *r = NULL;

    if (!signature_read(&s, "hmac", &r, err))
        r = NULL;
    problem_list_done(&problems);
    return r;
}

static const struct signature *rule_of(struct arena *a, const char *more)
{
    struct err err = { 0 };

    return read_rule(a, signature_checks,
                     arena_printf(a, "g: { hmac: { header: X-Sign, secret: Jefe-Jefe%s } }", more),
                     &err);
}

static bool good(const struct signature *r, const char *value, const char *time, const char *body)
{
    struct signature_check c;
    struct str bytes = str_of(body);

    if (signature_begin(&c, r, value != NULL ? str_of(value) : (struct str){ 0 },
                        time != NULL ? str_of(time) : (struct str){ 0 }, now_us) != NULL) {
        signature_drop(&c);
        return false;
    }
    for (size_t i = 0; i < bytes.len; i++)
        signature_add(&c, str_mem(bytes.ptr + i, 1));
    bool ok = signature_end(&c);

    signature_drop(&c);
    return ok;
}

/* By Python: hmac.new(b"Jefe-Jefe", b"order", "sha256") and so on. */
#define OF_ORDER    "0bc00036e25896333bf74dda548cc8323b82e6f6e5b59cef86c3969042dad52d"
#define OF_ORDER_64 "C8AANuJYljM7903aVIzIMjuC5vbltZzvhsOWkELa1S0="
#define OF_ORDER_512                                                                               \
    "7468ce6d37537fd43b1747254935aa52778ef466479136fc677ab3ff5c56c76da8e22c89122395d4c3d8ec8a3c39" \
    "84b4c2e8ed0857ddd9e6433be82234d1862a"
#define OF_TIMED "8b2e01ef537d95c98ceec1f55c01c9c82c333eb12cba0fefe23782108b8c1252"

TEST(signature_of_a_body)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    const struct signature *r = rule_of(&a, "");

    CHECK(r != NULL);
    CHECK(good(r, OF_ORDER, NULL, "order"));
    CHECK(good(r, " " OF_ORDER " ", NULL, "order"));
    CHECK(!good(r, OF_ORDER, NULL, "Order"));
    CHECK(!good(r, OF_ORDER, NULL, ""));
    CHECK(!good(r, NULL, NULL, "order"));
    CHECK(!good(r, "", NULL, "order"));
    CHECK(!good(r, OF_ORDER "00", NULL, "order"));
    CHECK(!good(r, "sha256=" OF_ORDER, NULL, "order"));
    CHECK(!good(r, OF_ORDER_64, NULL, "order"));
}

TEST(signature_may_be_written_otherwise)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);

    CHECK(good(rule_of(&a, ", encoding: base64"), OF_ORDER_64, NULL, "order"));
    CHECK(!good(rule_of(&a, ", encoding: base64"), OF_ORDER, NULL, "order"));
    CHECK(good(rule_of(&a, ", algorithm: sha512"), OF_ORDER_512, NULL, "order"));
    CHECK(good(rule_of(&a, ", prefix: 'sha256='"), "sha256=" OF_ORDER, NULL, "order"));
    CHECK(!good(rule_of(&a, ", prefix: 'sha256='"), OF_ORDER, NULL, "order"));
}

TEST(signature_of_a_time)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    const struct signature *r = rule_of(&a, ", timestamp: X-Time, tolerance: 60s");

    CHECK(good(r, OF_TIMED, "1794711071", "order"));
    CHECK(!good(r, OF_TIMED, "1794711072", "order")); /* another time than was signed */
    CHECK(!good(r, OF_ORDER, "1794711071", "order"));
    CHECK(!good(r, OF_TIMED, NULL, "order"));
    CHECK(!good(r, OF_TIMED, "", "order"));
    CHECK(!good(r, OF_TIMED, "-1", "order"));
    CHECK(!good(r, OF_TIMED, "99999999999999999999", "order"));
    struct signature_check c;

    CHECK(strstr(signature_begin(&c, r, STR(OF_TIMED), STR("1794711069"), now_us), "too far"));
    CHECK(strstr(signature_begin(&c, r, STR(OF_TIMED), STR("1794711191"), now_us), "too far"));
    CHECK(signature_begin(&c, r, STR(OF_TIMED), STR("1794711190"), now_us) == NULL);
    signature_drop(&c);
}

TEST(signature_by_one_of_two_secrets)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    struct err err = { 0 };
    const struct signature *r =
        read_rule(&a, signature_checks,
                  "g: { hmac: { header: X-Sign, secret: [ new-secret, Jefe-Jefe ] } }", &err);

    CHECK(r != NULL && r->secret_count == 2);
    CHECK(good(r, OF_ORDER, NULL, "order"));
    CHECK(!good(r, OF_ORDER_512, NULL, "order"));
}

TEST(signature_that_is_made_is_one_that_is_taken)
{
    static const char *const rules[] = { "", ", encoding: base64, algorithm: sha512",
                                         ", prefix: 'v1=', timestamp: X-Time" };

    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
        const struct signature *r = rule_of(&a, rules[i]);
        char time[SIGNATURE_TIME];
        struct hmac h = signature_start(r, now_us, time);

        hmac_add(&h, STR("or"));
        hmac_add(&h, STR("der"));
        struct str value = signature_value(r, &h, &a);

        CHECK((time[0] != '\0') == (r->timestamp.len > 0));
        CHECK(good(r, value.ptr, time, "order"));
        CHECK(!good(r, value.ptr, time, "orde"));
    }
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    const struct signature *r = rule_of(&a, "");
    char time[SIGNATURE_TIME];
    struct hmac h = signature_start(r, now_us, time);

    hmac_add(&h, STR("order"));
    CHECK(str_is(signature_value(r, &h, &a), OF_ORDER));
}

TEST(signature_refuses_settings)
{
    static const struct {
        const char *yaml, *says;
    } cases[] = {
        { "header: 'X Sign', secret: Jefe-Jefe", "`header`" },
        { "header: Content-Length, secret: Jefe-Jefe", "`header`" },
        { "header: X-Sign, secret: short", "8 to 4096" },
        { "header: X-Sign, secret: [ Jefe-Jefe, Jefe-Jefe, Jefe-Jefe ]", "one or two" },
        { "header: X-Sign, secret: Jefe-Jefe, timestamp: 'a:b'", "`timestamp`" },
        { "header: X-Sign, secret: Jefe-Jefe, prefix: \"a\\nb\"", "`prefix`" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
        struct err err = { 0 };

        CHECK(read_rule(&a, signature_checks,
                        arena_printf(&a, "g: { hmac: { %s } }", cases[i].yaml), &err) == NULL);
        CHECK(err.kind == ERR_CONFIG && strstr(err.text, cases[i].says) != NULL);
        CHECK(strstr(err.text, "Jefe") == NULL);
    }
}

TEST(signature_check_finds_mistakes)
{
    static const struct {
        const char *yaml, *says;
    } cases[] = {
        { "{ header: 'X Sign', secret: a }", "`X Sign` cannot be the header" },
        { "{ header: Host, secret: a }", "`Host` cannot be the header" },
        { "{ header: X-A, timestamp: x-a, secret: a }", "two headers" },
        { "{ header: X-A, secret: [ a, b, c ] }", "one or two" },
        { "{ header: X-A, secret: a, tolerance: 1m }", "only used with `timestamp`" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
        struct problem_list problems = PROBLEM_LIST_INIT;
        const char *yaml = arena_printf(&a, "hmac: %s", cases[i].yaml);

        signature_check(yaml_get(yaml_load(str_of(yaml), &a, &problems), "hmac"), &problems);
        CHECK(problems.count == 1 && strstr(problems.items[0].message, cases[i].says) != NULL);
        problem_list_done(&problems);
    }
}

int main(void)
{
    return test_main();
}
