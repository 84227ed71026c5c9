/* The examples of Amazon's documentation, "Signature Calculations for the Authorization Header". */
#include "core/s3/s3_sign.h"

#include "base/auto.h"
#include "base/digest.h"
#include "test.h"

#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define TIME  "20130524T000000Z"

static const struct s3_signer signer = {
    .access_key = STR("AKIAIOSFODNN7EXAMPLE"),
    .secret_key = STR("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
    .region = STR("us-east-1"),
};

/* The end of the signature is compared: all that precedes it depends on nothing secret. */
static bool signs(const struct s3_unsigned *what, const char *names, const char *signature)
{
    AUTO(buf_done) struct buf got = BUF_INIT(4096);
    AUTO(buf_done) struct buf want = BUF_INIT(4096);

    s3_sign(&signer, what, TIME, &got);
    buf_printf(&want,
               "AWS4-HMAC-SHA256 "
               "Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
               "SignedHeaders=%s, Signature=%s",
               names, signature);
    if (!str_eq(buf_view(&got), buf_view(&want)))
        printf("# %s\n", got.ptr);
    return str_eq(buf_view(&got), buf_view(&want));
}

TEST(s3_sign_get_object)
{
    /* In no order, and with blanks that do not count. */
    const struct http_out_field fields[] = {
        { STR("x-amz-date"), STR(TIME) },
        { STR("Range"), STR("  bytes=0-9 ") },
        { STR("x-amz-content-sha256"), STR(EMPTY) },
        { STR("Host"), STR("examplebucket.s3.amazonaws.com") },
    };
    const struct s3_unsigned get = { .method = STR("GET"),
                                     .path = STR("/test.txt"),
                                     .fields = fields,
                                     .field_count = 4,
                                     .digest = STR(EMPTY) };

    CHECK(signs(&get, "host;range;x-amz-content-sha256;x-amz-date",
                "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"));
}

TEST(s3_sign_put_object)
{
    struct sha256 sum = digest_of(STR("Welcome to Amazon S3."));
    char hex[SHA256_TEXT];
    struct str digest = str_of(digest_text(&sum, hex));
    const struct http_out_field fields[] = {
        { STR("Host"), STR("examplebucket.s3.amazonaws.com") },
        { STR("Date"), STR("Fri, 24 May 2013 00:00:00 GMT") },
        { STR("x-amz-date"), STR(TIME) },
        { STR("x-amz-storage-class"), STR("REDUCED_REDUNDANCY") },
        { STR("x-amz-content-sha256"), digest },
    };
    const struct s3_unsigned put = { .method = STR("PUT"),
                                     .path = STR("/test%24file.text"),
                                     .fields = fields,
                                     .field_count = 5,
                                     .digest = digest };

    CHECK(signs(&put, "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
                "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"));
}

TEST(s3_sign_queries)
{
    const struct http_out_field fields[] = {
        { STR("Host"), STR("examplebucket.s3.amazonaws.com") },
        { STR("x-amz-content-sha256"), STR(EMPTY) },
        { STR("x-amz-date"), STR(TIME) },
    };
    struct s3_unsigned get = { .method = STR("GET"),
                               .path = STR("/"),
                               .query = STR("lifecycle="),
                               .fields = fields,
                               .field_count = 3,
                               .digest = STR(EMPTY) };

    CHECK(signs(&get, "host;x-amz-content-sha256;x-amz-date",
                "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"));
    get.query = STR("max-keys=2&prefix=J");
    CHECK(signs(&get, "host;x-amz-content-sha256;x-amz-date",
                "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"));
}

TEST(s3_sign_depends_on_everything)
{
    const struct http_out_field fields[] = { { STR("Host"), STR("h") } };
    const struct s3_unsigned what = { .method = STR("GET"),
                                      .path = STR("/a"),
                                      .fields = fields,
                                      .field_count = 1,
                                      .digest = STR(EMPTY) };
    struct s3_signer others[] = { signer, signer, signer };
    AUTO(buf_done) struct buf first = BUF_INIT(4096);

    others[0].secret_key = STR("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEZ");
    others[1].region = STR("eu-west-1");
    s3_sign(&signer, &what, TIME, &first);
    for (size_t i = 0; i < 3; i++) {
        AUTO(buf_done) struct buf other = BUF_INIT(4096);

        s3_sign(&others[i], &what, i == 2 ? "20130524T000001Z" : TIME, &other);
        CHECK(!str_eq(buf_view(&first), buf_view(&other)));
    }
}

TEST(s3_sign_writes_the_time)
{
    char text[S3_TIME_TEXT];

    CHECK(str_is(str_of(s3_sign_time(INT64_C(1369353600) * 1000000, text)), "20130524T000000Z"));
    CHECK(str_is(str_of(s3_sign_time(INT64_C(1794711130123456), text)), "20261115T025210Z"));
}

int main(void)
{
    return test_main();
}
