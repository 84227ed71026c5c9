#include "core/s3/s3_judge.h"

#include "base/auto.h"
#include "base/clock.h"
#include "test.h"

static const struct s3_service service = {
    .signer = { .access_key = STR("AKOURS"), .secret_key = STR("OURSECRET"), .region = STR("r-1") },
};

static struct verdict judge(int64_t status, const char *body, bool changes, bool chosen)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(S3_ANSWER_ARENA);
    const struct s3_asked asked = { .service = &service,
                                    .bucket = STR("orders"),
                                    .key = STR("k"),
                                    .changes = changes,
                                    .is_chosen = chosen };
    const struct http_out_answer answer = {
        .reach = HTTP_OUT_ANSWERED, .status = status, .retry_after = STR("7"), .body = str_of(body)
    };
    struct verdict v;
    struct str code;

    s3_judge(&asked, &answer, &a, &v, &code);
    return v;
}

#define SAYS(code, ...) "<Error><Code>" code "</Code>" __VA_ARGS__ "</Error>"

TEST(s3_judge_tells_mistakes_apart)
{
    static const struct {
        int64_t status;
        const char *body;
        enum verdict_kind kind;
        const char *says;
    } rows[] = {
        { 403, SAYS("SignatureDoesNotMatch"), VERDICT_CREDENTIAL, "`secret_key`" },
        { 403, SAYS("InvalidAccessKeyId"), VERDICT_CREDENTIAL, "`access_key`" },
        { 403, SAYS("RequestTimeTooSkewed"), VERDICT_CREDENTIAL, "clock" },
        { 400, SAYS("AuthorizationHeaderMalformed", "<Region>r-2</Region>"), VERDICT_CREDENTIAL,
          "it is r-2 here, and `region` says r-1" },
        { 400, SAYS("AuthorizationHeaderMalformed"), VERDICT_CREDENTIAL, "`region`" },
        { 301, SAYS("PermanentRedirect", "<Endpoint>orders.s3.r-2.example</Endpoint>"),
          VERDICT_CREDENTIAL, "orders.s3.r-2.example" },
        { 301, "", VERDICT_CREDENTIAL, "`region`" },
        { 403, SAYS("AccessDenied"), VERDICT_CREDENTIAL, "right" },
        { 400, SAYS("ExpiredToken"), VERDICT_CREDENTIAL, "`session_token`" },
        { 404, SAYS("NoSuchBucket"), VERDICT_UNREACHED, "orders is not there: create it" },
        { 403, "", VERDICT_CREDENTIAL, "403" },
        { 503, SAYS("SlowDown"), VERDICT_RETRY, "fewer" },
        { 503, "", VERDICT_RETRY, "503" },
        { 404, SAYS("NoSuchKey"), VERDICT_RETRY, "has not started whole" },
        { 400, SAYS("BadDigest"), VERDICT_RETRY, "damaged" },
        { 403, SAYS("QuotaExceeded"), VERDICT_UNREACHED, "quota" },
        { 507, "", VERDICT_UNREACHED, "507" },
        { 400, SAYS("EntityTooLarge", "<Message>much too large</Message>"), VERDICT_REJECTED,
          "EntityTooLarge: much too large" },
        { 500, SAYS("InternalError"), VERDICT_DOUBT, "InternalError" },
        { 200, SAYS("InternalError"), VERDICT_DOUBT, "InternalError" },
        { 502, "<html>\n<body>Bad Gateway</body></html>", VERDICT_DOUBT, "Bad Gateway" },
        { 403, "<!DOCTYPE html><html>go away<br></html>", VERDICT_CREDENTIAL, "is `url` right" },
        { 200, "<!DOCTYPE html><html>welcome</html>", VERDICT_UNREACHED, "is `url` right" },
        { 200, "", VERDICT_UNREACHED, "200" },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct verdict v = judge(rows[i].status, rows[i].body, true, false);
        bool right = v.kind == rows[i].kind && strstr(v.message, rows[i].says) != NULL &&
                     v.status == rows[i].status;

        if (!right)
            printf("# row %zu: %d %s\n", i, (int)v.kind, v.message);
        CHECK(right);
        CHECK((v.retry_after_us == 7 * CLOCK_S) == (v.kind == VERDICT_RETRY));
    }
}

TEST(s3_judge_knows_what_has_no_effect)
{
    CHECK(judge(500, "", false, false).kind == VERDICT_RETRY);
    CHECK(judge(502, "<html>x</html>", false, false).kind == VERDICT_RETRY);
    CHECK(judge(404, SAYS("NoSuchBucket"), true, true).kind == VERDICT_RETRY);
}

TEST(s3_judge_repeats_no_credential)
{
    struct verdict v =
        judge(400, SAYS("Odd", "<Message>the key AKOURS is odd</Message>"), true, false);

    CHECK(v.kind == VERDICT_REJECTED && strstr(v.message, "AKOURS") == NULL);
    v = judge(400, SAYS("Odd", "<Message>OURSECRET</Message>"), true, false);
    CHECK(strstr(v.message, "OURSECRET") == NULL && strstr(v.message, "400") != NULL);
    v = judge(403, "<html><p>AKOURS</p></html>", true, false);
    CHECK(v.kind == VERDICT_CREDENTIAL && strstr(v.message, "AKOURS") == NULL);
}

TEST(s3_judge_without_an_answer)
{
    static const struct {
        enum http_out_reach reach;
        bool changes;
        enum verdict_kind kind;
    } rows[] = {
        { HTTP_OUT_NOT_SENT, true, VERDICT_UNREACHED },
        { HTTP_OUT_UNCLEAR, true, VERDICT_DOUBT },
        { HTTP_OUT_UNCLEAR, false, VERDICT_UNREACHED },
        { HTTP_OUT_BAD_BODY, true, VERDICT_RETRY },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        AUTO(arena_done) struct arena a = ARENA_INIT(S3_ANSWER_ARENA);
        const struct s3_asked asked = { .service = &service, .changes = rows[i].changes };
        const struct http_out_answer answer = { .reach = rows[i].reach, .failure = "it rained" };
        struct verdict v;
        struct str code;

        s3_judge(&asked, &answer, &a, &v, &code);
        CHECK(v.kind == rows[i].kind && strstr(v.message, "it rained") != NULL && code.len == 0);
    }
}

TEST(s3_judge_knows_what_was_stored)
{
    struct http_out_answer a = { .status = 200, .body = STR("") };

    CHECK(s3_is_stored(&a, STR("\"abc\"")));
    CHECK(!s3_is_stored(&a, STR("")));
    a.body = STR("<html>welcome</html>");
    CHECK(!s3_is_stored(&a, STR("\"abc\"")));
    a = (struct http_out_answer){ .status = 404, .body = STR("") };
    CHECK(!s3_is_stored(&a, STR("\"abc\"")));
}

int main(void)
{
    return test_main();
}
