#include "app/when.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "test.h"

/* 2026-11-15T02:52:10Z */
static const int64_t now = 1794711130 * (int64_t)CLOCK_S;

static const char *parsed(const char *text)
{
    static char utc[CLOCK_TEXT];
    struct err err = { 0 };
    int64_t us = -7;

    if (!when_parse(str_of(text), now, &us, &err))
        return us != -7 || err.kind != ERR_PERMANENT ? "broken" : "refused";
    return clock_utc_text(us, utc);
}

struct one {
    const char *text, *want;
};

static int wrong_ones(const struct one *cases, size_t count)
{
    int wrong = 0;

    for (size_t i = 0; i < count; i++) {
        const char *got = parsed(cases[i].text);

        if (strcmp(got, cases[i].want) == 0)
            continue;
        printf("# %s: got %s, want %s\n", cases[i].text, got, cases[i].want);
        wrong++;
    }
    return wrong;
}

#define WRONG(cases) wrong_ones(cases, sizeof(cases) / sizeof((cases)[0]))

static void zone(const char *name)
{
    (void)setenv("TZ", name, 1);
    tzset();
}

TEST(when_relative_is_before_now)
{
    static const struct one cases[] = {
        { "0s", "2026-11-15T02:52:10.000000Z" },    { "250ms", "2026-11-15T02:52:09.750000Z" },
        { "10s", "2026-11-15T02:52:00.000000Z" },   { "15m", "2026-11-15T02:37:10.000000Z" },
        { "2h", "2026-11-15T00:52:10.000000Z" },    { "3d", "2026-11-12T02:52:10.000000Z" },
        { " 15m ", "2026-11-15T02:37:10.000000Z" }, { "365d", "2025-11-15T02:52:10.000000Z" },
    };

    CHECK(WRONG(cases) == 0);
}

TEST(when_absolute_with_an_offset)
{
    static const struct one cases[] = {
        { "2026-11-15T02:52:10Z", "2026-11-15T02:52:10.000000Z" },
        { "2026-11-15t02:52:10z", "2026-11-15T02:52:10.000000Z" },
        { "2026-11-15T02:52Z", "2026-11-15T02:52:00.000000Z" },
        { "2026-11-15T02:52:10.123456Z", "2026-11-15T02:52:10.123456Z" },
        { "2026-11-15T02:52:10.5Z", "2026-11-15T02:52:10.500000Z" },
        { "2026-11-15T02:52:10.123456789Z", "2026-11-15T02:52:10.123456Z" },
        { "2026-11-15T03:52:10+01:00", "2026-11-15T02:52:10.000000Z" },
        { "2026-11-15T03:52:10+0100", "2026-11-15T02:52:10.000000Z" },
        { "2026-11-15T03:52:10+01", "2026-11-15T02:52:10.000000Z" },
        { "2026-11-14T21:22:10-05:30", "2026-11-15T02:52:10.000000Z" },
        { "2026-11-15 03:52:10.123 +01:00", "2026-11-15T02:52:10.123000Z" },
        { "2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000000Z" },
        { "1969-12-31T23:59:59.250000Z", "1969-12-31T23:59:59.250000Z" },
    };

    CHECK(WRONG(cases) == 0);
}

TEST(when_without_an_offset_is_local)
{
    static const struct one berlin[] = {
        { "2026-11-15", "2026-11-14T23:00:00.000000Z" },
        { "2026-07-01", "2026-06-30T22:00:00.000000Z" },
        { "2026-11-15T03:52:10", "2026-11-15T02:52:10.000000Z" },
        { "2026-11-15 03:52", "2026-11-15T02:52:00.000000Z" },
    };
    static const struct one utc[] = { { "2026-11-15", "2026-11-15T00:00:00.000000Z" } };

    zone("Europe/Berlin");
    CHECK(WRONG(berlin) == 0);
    zone("UTC");
    CHECK(WRONG(utc) == 0);
}

TEST(when_nonsense_is_refused)
{
    static const char *const cases[] = {
        "",
        " ",
        "m",
        "15",
        "15 m",
        "15w",
        "-15m",
        "+15m",
        "1h30m",
        "9223372036854775807d",
        "99999999999999999999s",
        "999999d",
        "now",
        "2026",
        "2026-11",
        "2026-13-01",
        "2026-00-01",
        "2026-11-00",
        "2026-11-31",
        "2025-02-29",
        "26-11-15",
        "2026-11-15T",
        "2026-11-15T02",
        "2026-11-15T24:00",
        "2026-11-15T02:60",
        "2026-11-15T02:52:60",
        "2026-11-15T02:52:",
        "2026-11-15T02:52:10.",
        "2026-11-15T02:52:10.1234567890Z",
        "2026-11-15T02:52:10X",
        "2026-11-15T02:52:10Zx",
        "2026-11-15T02:52:10+24:00",
        "2026-11-15T02:52:10+01:60",
        "2026-11-15T02:52:10+1",
        "2026-11-15T02:52:10+01:0",
        "2026-11-15T02:52:10+01:000",
        "2026-11-15x02:52",
        "2026-+1-15",
        "2026-11-15Z",
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (strcmp(parsed(cases[i]), "refused") != 0)
            printf("# \"%s\": %s\n", cases[i], parsed(cases[i]));
        CHECK(strcmp(parsed(cases[i]), "refused") == 0);
    }
}

TEST(when_what_we_print_can_be_read_back)
{
    char text[CLOCK_TEXT];
    struct err err;
    int64_t us;

    zone("America/St_Johns");
    for (int64_t t = 0; t < now; t += 1234567 * (int64_t)CLOCK_S + 321 * CLOCK_MS) {
        CHECK(when_parse(str_of(clock_local_text(t, text)), now, &us, &err));
        CHECK(us == t);
        CHECK(when_parse(str_of(clock_utc_text(t + 7, text)), now, &us, &err));
        CHECK(us == t + 7);
    }
}

TEST(a_time_to_come)
{
    static const struct one cases[] = {
        { "15m", "2026-11-15T03:07:10.000000Z" },
        { "2h", "2026-11-15T04:52:10.000000Z" },
        { "3d", "2026-11-18T02:52:10.000000Z" },
        { "22:00", "2026-11-15T21:00:00.000000Z" },    /* today */
        { "03:52:11", "2026-11-15T02:52:11.000000Z" }, /* in a second */
        { "03:52:10", "2026-11-16T02:52:10.000000Z" }, /* now is not to come */
        { "00:30", "2026-11-15T23:30:00.000000Z" },    /* tomorrow */
        { "2026-11-20T10:00Z", "2026-11-20T10:00:00.000000Z" },
        { "2026-11-20 10:00", "2026-11-20T09:00:00.000000Z" },
        { "25:00", "refused" },
        { "22:00Z", "refused" },
        { "soon", "refused" },
        { "", "refused" },
        { "99999999999999999d", "refused" },
    };

    zone("CET-1");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char utc[CLOCK_TEXT];
        struct err err = { 0 };
        int64_t us;
        const char *got = when_parse_ahead(str_of(cases[i].text), now, &us, &err)
                              ? clock_utc_text(us, utc)
                              : "refused";

        if (strcmp(got, cases[i].want) != 0)
            printf("# %s: got %s, want %s\n", cases[i].text, got, cases[i].want);
        CHECK(strcmp(got, cases[i].want) == 0);
    }
}

int main(void)
{
    zone("UTC");
    return test_main();
}
