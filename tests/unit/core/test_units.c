#include "core/units.h"

#include "base/clock.h"
#include "test.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

TEST(units_duration_table)
{
    static const struct {
        const char *text;
        int64_t us; /* -1: refused */
        const char *why;
    } cases[] = {
        { "250ms", 250000, NULL },
        { "30s", 30 * (int64_t)CLOCK_S, NULL },
        { "10m", 600 * (int64_t)CLOCK_S, NULL },
        { "24h", 86400 * (int64_t)CLOCK_S, NULL },
        { "3d", 3 * 86400 * (int64_t)CLOCK_S, NULL },
        { "0s", 0, NULL },
        { "30", -1, "unit is missing" },
        { "30 s", -1, "unit is not known" },
        { "1.5h", -1, "fractions" },
        { "30sec", -1, "unit is not known" },
        { "-1s", -1, "whole number" },
        { "s", -1, "whole number" },
        { "", -1, "whole number" },
        { "999999999999d", -1, "too large" },
        { "99999999999999999999s", -1, "too large" },
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct err err = { 0 };
        int64_t us = -1;
        bool ok = units_duration(str_of(cases[i].text), &us, &err);

        CHECK(ok == (cases[i].us >= 0) && us == cases[i].us);
        CHECK(ok || strstr(err.text, cases[i].why) != NULL);
    }
}

TEST(units_size_table)
{
    static const struct {
        const char *text;
        int64_t bytes;
    } cases[] = {
        { "0", 0 },
        { "512", 512 },
        { "1 KiB", 1024 },
        { "64MiB", 64 << 20 },
        { "64 MiB", 64 << 20 },
        { "1 GiB", 1 << 30 },
        { "64 MB", -1 },
        { "64  MiB", -1 },
        { "64 ", -1 },
        { "1.5 GiB", -1 },
        { "MiB", -1 },
        { "99999999999 GiB", -1 },
        { "64 mib", -1 },
        { "", -1 },
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        uint64_t bytes = 0;
        struct err err;
        bool ok = units_size(str_of(cases[i].text), &bytes, &err);

        CHECK(ok == (cases[i].bytes >= 0));
        CHECK(!ok || bytes == (uint64_t)cases[i].bytes);
    }
}

TEST(units_share_table)
{
    static const struct {
        const char *text;
        int64_t share; /* -1: refused */
    } cases[] = {
        { "5%", 50 },       { "0%", 0 },     { "100%", 1000 }, { "0.5%", 5 },  { "99.9%", 999 },
        { "100.0%", 1000 }, { "5", -1 },     { "", -1 },       { "%", -1 },    { "101%", -1 },
        { "100.1%", -1 },   { "0.25%", -1 }, { "5.%", -1 },    { ".5%", -1 },  { "-1%", -1 },
        { "5 %", -1 },      { "5%%", -1 },   { "1.2.3%", -1 }, { "1.x%", -1 }, { "5%5", -1 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t share = -1;
        struct err err = { 0 };
        bool ok = units_share(str_of(cases[i].text), &share, &err);

        if (share != cases[i].share)
            printf("# %s: %lld\n", cases[i].text, (long long)share);
        CHECK(share == cases[i].share && ok == (share >= 0) && (ok || err.text[0] != '\0'));
    }
}

TEST(units_rate_table)
{
    static const struct {
        const char *text;
        uint64_t count, seconds, burst; /* count 0: refused */
    } cases[] = {
        { "50/s", 50, 1, 50 }, { "1000/m", 1000, 60, 16 },  { "5/h", 5, 3600, 1 },
        { "0/s", 0, 0, 0 },    { "50", 0, 0, 0 },           { "50/d", 0, 0, 0 },
        { "50 / s", 0, 0, 0 }, { "2000000000/s", 0, 0, 0 }, { "/s", 0, 0, 0 },
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct units_rate rate = { 0 };
        struct err err;
        bool ok = units_rate(str_of(cases[i].text), &rate, &err);

        CHECK(ok == (cases[i].count > 0) && rate.count == cases[i].count);
        CHECK(rate.per_us == (int64_t)cases[i].seconds * CLOCK_S);
        CHECK(units_rate_burst(rate) == cases[i].burst);
    }
}

TEST(units_time_table)
{
    static const struct {
        const char *text;
        int minutes;
    } cases[] = {
        { "00:00", 0 },  { "22:05", 1325 }, { "23:59", 1439 }, { "24:00", 1440 }, { "24:01", -1 },
        { "12:60", -1 }, { "7:00", -1 },    { "07:0", -1 },    { "0700", -1 },    { "ab:cd", -1 },
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        int minutes = -1;
        struct err err;

        (void)units_time(str_of(cases[i].text), &minutes, &err);
        CHECK(minutes == cases[i].minutes);
    }
}

TEST(units_days_table)
{
    static const struct {
        const char *text;
        unsigned days; /* 0: refused */
    } cases[] = {
        { "mon", 0x01 },     { "mon-fri", 0x1f }, { "sat,sun", 0x60 },     { "sat, sun", 0x60 },
        { "fri-mon", 0x71 }, { "daily", 0x7f },   { "mon-wed,sun", 0x47 }, { "", 0 },
        { "monday", 0 },     { "mon-", 0 },       { "-mon", 0 },           { "mon,", 0 },
        { "Mon", 0 },
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        unsigned days = 0;
        struct err err;

        CHECK(units_days(str_of(cases[i].text), &days, &err) == (cases[i].days != 0));
        CHECK(days == cases[i].days);
    }
}

TEST(units_address_table)
{
    static const struct {
        const char *text, *host;
        int port; /* -1: refused */
        bool loopback;
    } cases[] = {
        { "127.0.0.1:8480", "127.0.0.1", 8480, true },
        { "127.1.2.3:0", "127.1.2.3", 0, true },
        { "[::1]:80", "::1", 80, true },
        { "localhost:1", "localhost", 1, true },
        { "0.0.0.0:65535", "0.0.0.0", 65535, false },
        { "[::]:80", "::", 80, false },
        { "my-host.example:2575", "my-host.example", 2575, false },
        { "8480", "", -1, false },
        { ":8480", "", -1, false },
        { "127.0.0.1", "", -1, false },
        { "127.0.0.1:", "", -1, false },
        { "127.0.0.1:65536", "", -1, false },
        { "127.0.0.1:http", "", -1, false },
        { "127.0.0.300:80", "", -1, false },
        { "::1:80", "", -1, false },
        { "fe80::1:80", "", -1, false },
        { "[::1]", "", -1, false },
        { "[::1]80", "", -1, false },
        { "[::x]:80", "", -1, false },
        { "a b:80", "", -1, false },
        { "a..b:80", "", -1, false },
        { "", "", -1, false },
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct units_address a = { 0 };
        struct err err;
        bool ok = units_address(str_of(cases[i].text), &a, &err);

        CHECK(ok == (cases[i].port >= 0));
        CHECK(strcmp(a.host, cases[i].host) == 0);
        CHECK(!ok || a.port == cases[i].port);
        CHECK(units_is_loopback(str_of(a.host)) == cases[i].loopback);
    }
}

TEST(units_refuse_what_is_too_long)
{
    char text[400];
    struct units_address address;
    struct err err = { 0 };
    unsigned days;

    memset(text, 'a', sizeof text);
    memcpy(text + 300, ":80", 4);
    CHECK(!units_address(str_of(text), &address, &err) && strstr(err.text, "too long") != NULL);
    CHECK(!units_days(str_of(text), &days, &err) && strstr(err.text, "too long") != NULL);
}

TEST(units_names_and_zones)
{
    static const char long_name[] =
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    static const struct {
        const char *text;
        bool name, zone;
    } cases[] = {
        { "orders", true, true },      { "a.b_c-9", true, false },
        { "UTC", true, true },         { "Europe/Berlin", false, true },
        { "Etc/GMT+5", false, true },  { "", false, false },
        { "..", false, false },        { "a b", false, false },
        { "a/b/", false, false },      { "a//b", false, false },
        { "/a", false, false },        { "9a", true, false },
        { "\xc3\xa4", false, false },  { long_name, false, false },
        { long_name + 1, true, true },
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct err err;

        CHECK(units_name(str_of(cases[i].text), &err) == cases[i].name);
        CHECK(units_zone(str_of(cases[i].text), &err) == cases[i].zone);
    }
}

TEST(units_date_table)
{
    static const struct {
        const char *text, *why; /* NULL: fine */
        int year, month, day;
    } cases[] = {
        { "2026-12-24", NULL, 2026, 12, 24 },
        { "2028-02-29", NULL, 2028, 2, 29 },
        { "12-25", NULL, 0, 12, 25 },
        { "02-29", NULL, 0, 2, 29 },
        { "2027-02-29", "no such day", 0, 0, 0 },
        { "2100-02-29", "no such day", 0, 0, 0 },
        { "02-30", "no such day", 0, 0, 0 },
        { "04-31", "no such day", 0, 0, 0 },
        { "04-00", "no such day", 0, 0, 0 },
        { "04-1", "no such day", 0, 0, 0 },
        { "04-01-", "no such day", 0, 0, 0 },
        { "13-01", "month", 0, 0, 0 },
        { "2026-00-01", "month", 0, 0, 0 },
        { "0000-01-01", "year", 0, 0, 0 },
        { "20x6-01-01", "year", 0, 0, 0 },
        { "24.12.2026", "year", 0, 0, 0 },
        { "2026-1-001", "month", 0, 0, 0 },
        { "", "month", 0, 0, 0 },
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct units_date date = { 0 };
        struct err err = { 0 };

        CHECK(units_date(str_of(cases[i].text), &date, &err) == (cases[i].why == NULL));
        CHECK(cases[i].why == NULL || strstr(err.text, cases[i].why) != NULL);
        CHECK(date.year == cases[i].year && date.month == cases[i].month &&
              date.day == cases[i].day);
    }
}

TEST(units_instant_table)
{
    static const struct {
        const char *text;
        int64_t local_s, offset_s; /* local_s -1: refused */
        bool has_offset;
    } cases[] = {
        { "1970-01-01T00:00", 0, 0, false },
        { "1970-01-02 01:02:03", 86400 + 3723, 0, false },
        { "1970-01-01T12:00Z", 43200, 0, true },
        { "1970-01-01T12:00:30+01:30", 43230, 5400, true },
        { "1970-01-01 12:00-05:00", 43200, -18000, true },
        { "2000-02-29T23:59:59", INT64_C(951868799), 0, false },
        { "1970-01-01", -1, 0, false },
        { "1970-01-01T", -1, 0, false },
        { "1970-01-01x00:00", -1, 0, false },
        { "1970-13-01T00:00", -1, 0, false },
        { "0000-01-01T00:00", -1, 0, false },
        { "1970-01-01T24:00", -1, 0, false },
        { "1970-01-01T12:60", -1, 0, false },
        { "1970-01-01T12:00:60", -1, 0, false },
        { "1970-01-01T12:00:6", -1, 0, false },
        { "1970-01-01T1:00:00", -1, 0, false },
        { "1970-01-01T12:00123", -1, 0, false },
        { "1970-01-01T12:00::0", -1, 0, false },
        { "1970-01-01T12:00z", -1, 0, false },
        { "1970-01-01T12:00+0100", -1, 0, false },
        { "1970-01-01T12:00+24:00", -1, 0, false },
        { "1970-01-01T12:00 01:00", -1, 0, false },
        { "1970-01-01T12:00Z ", -1, 0, false },
        { "", -1, 0, false },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct units_instant at = { .local_s = -1 };
        struct err err = { 0 };
        bool ok = units_instant(str_of(cases[i].text), &at, &err);

        if (ok != (cases[i].local_s >= 0) || at.local_s != cases[i].local_s)
            printf("# %s: %lld %s\n", cases[i].text, (long long)at.local_s, err.text);
        CHECK(ok == (cases[i].local_s >= 0) && at.local_s == cases[i].local_s);
        CHECK(at.has_offset == cases[i].has_offset && at.offset_s == cases[i].offset_s);
        CHECK(ok || err.kind == ERR_CONFIG);
    }
}

TEST(units_url_table)
{
    static const char *const web[] = { "http", "https", NULL };
    static const struct {
        const char *text;
        const char *const *schemes;
        const char *why;
    } cases[] = {
        { "https://api.example/orders?x=1", web, NULL },
        { "sftp://edi@host/out", NULL, NULL },
        { "ftp://host/", web, "http:// or https://" },
        { "http:/host", web, "`://` is missing" },
        { "http://", web, "host is missing" },
        { "http:///path", web, "host is missing" },
        { "http://host/a b", web, "%20" },
        { "", NULL, "`://` is missing" },
        { "host", web, "http:// or https://" },
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        struct err err = { 0 };

        CHECK(units_url(str_of(cases[i].text), cases[i].schemes, &err) == (cases[i].why == NULL));
        CHECK(cases[i].why == NULL || strstr(err.text, cases[i].why) != NULL);
    }
}

int main(void)
{
    return test_main();
}
