#include "core/s3/s3_version.h"

#include "test.h"

TEST(s3_version_reads_times_of_lists)
{
    static const struct {
        const char *text;
        int64_t ms; /* -1: it is none */
    } cases[] = {
        { "1970-01-01T00:00:01.000Z", 1000 },
        { "2026-11-15T02:52:10.123Z", INT64_C(1794711130123) },
        { "2026-11-15T02:52:10.123456789Z", INT64_C(1794711130123) },
        { "2026-11-15T02:52:10Z", INT64_C(1794711130000) },
        { "2026-11-15T02:52:10", -1 },
        { "2026-11-15T02:52:10.5", -1 },
        { "2026-11-15T02:52:10.000+01:00", -1 },
        { "2026-11-15T02:52:10.000Zx", -1 },
        { "2026-11-15 02:52:10Z", -1 },
        { "2026-13-15T02:52:10Z", -1 },
        { "9999-01-01T00:00:00Z", -1 }, /* no nanoseconds of it fit into 64 bits */
        { "1960-01-01T00:00:00Z", -1 },
        { "2026-11-15T02:52:10.0000000000000000000000000000000000Z", -1 },
        { "", -1 },
        { "yesterday", -1 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t ms = 0;
        bool ok = s3_version_time(str_of(cases[i].text), &ms);

        CHECK(ok == (cases[i].ms >= 0) && (!ok || ms == cases[i].ms));
    }
}

TEST(s3_version_is_an_etag_and_a_time)
{
    static const struct {
        const char *etag, *version, *condition; /* condition NULL: it cannot be asked for */
    } cases[] = {
        { "\"9e107d9d\"", "9e107d9d 1000", "\"9e107d9d\"" },
        { "9e107d9d-5", "9e107d9d-5 1000", "\"9e107d9d-5\"" },
        { "W/\"a\"", NULL, NULL },
        { "\"a b\"", NULL, NULL },
        { "\"\"", NULL, NULL },
        { "#x", NULL, NULL },
        { "\"\xc3\xa9\"", NULL, NULL },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char version[S3_VERSION], condition[S3_VERSION] = "";
        struct str etag = str_of(cases[i].etag);

        s3_version_put(etag, 1000, version);
        CHECK(cases[i].version != NULL ? strcmp(version, cases[i].version) == 0
                                       : version[0] == '#');
        CHECK(s3_version_ms(version) == 1000 && s3_version_is(version, etag, 1000));
        CHECK(!s3_version_is(version, STR("\"other\""), 1000));
        CHECK(s3_version_condition(version, condition) == (cases[i].condition != NULL));
        CHECK(cases[i].condition == NULL || strcmp(condition, cases[i].condition) == 0);
    }
}

TEST(s3_version_of_any_length_fits)
{
    char etag[9000], version[S3_VERSION], other[S3_VERSION], condition[S3_VERSION];

    memset(etag, 'x', sizeof etag);
    s3_version_put(str_mem(etag, sizeof etag), INT64_MAX, version);
    s3_version_put(str_mem(etag, sizeof etag - 1), INT64_MAX, other);
    CHECK(strlen(version) < S3_VERSION && strcmp(version, other) != 0);
    CHECK(s3_version_ms(version) == INT64_MAX && !s3_version_condition(version, condition));
    CHECK(s3_version_is(version, str_mem(etag, sizeof etag), 0));
}

TEST(s3_version_of_a_second_is_rounded)
{
    char version[S3_VERSION], unknown[S3_VERSION], condition[S3_VERSION];

    s3_version_put(STR("\"a\""), 5400, version);
    s3_version_put(STR("\"a\""), 0, unknown);
    CHECK(s3_version_is(version, STR("a"), 5000) && s3_version_is(version, STR("\"a\""), 6000));
    CHECK(!s3_version_is(version, STR("a"), 4000) && !s3_version_is(version, STR("a"), 7000));
    CHECK(s3_version_is(version, STR("a"), 0) && s3_version_is(unknown, STR("a"), 5000));
    CHECK(s3_version_ms("") == 0 && s3_version_ms("a") == 0 && s3_version_ms("a b") == 0);
    CHECK(!s3_version_is("", STR("a"), 0) && !s3_version_condition("", condition));
}

int main(void)
{
    return test_main();
}
