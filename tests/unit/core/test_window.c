/* Windows; and a table mode, which answers questions about zones, windows and schedules, one
 * per line with tabs, so that another implementation can be asked the same:
 *
 *     offset ZONE UTC_S        seconds ahead of UTC, and until when
 *     utc ZONE LOCAL_S         the instant of a local time
 *     cron ZONE AFTER_US TEXT  the next time
 *     open NOW_US YAML         "open" or "closed", and until when; `window:`, `calendars:`
 */
#include "core/window.h"

#include <inttypes.h>

#include "base/auto.h"
#include "base/clock.h"
#include "core/civil.h"
#include "core/cron.h"
#include "test.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static int64_t at(const char *text)
{
    int y, mo, d, h, mi, s = 0;
    int n = sscanf(text, "%d-%d-%d %d:%d:%d", &y, &mo, &d, &h, &mi, &s);

    return n < 5 ? 0 : CLOCK_S * (civil_day(y, mo, d) * CIVIL_DAY_S + h * 3600 + mi * 60 + s);
}

static const struct window_set *set_of(struct str text, struct arena *a, struct err *err)
{
    AUTO(problem_list_done) struct problem_list problems = PROBLEM_LIST_INIT;
    const struct yaml_node *root = yaml_load(text, a, &problems);
    struct window_maker maker = window_maker(root, a);
    const struct window_set *set = NULL;

    if (root != NULL && yaml_get(root, "window") != NULL)
        (void)window_set_build(&maker, yaml_get(root, "window"), &set, err);
    return set;
}

struct look {
    const char *window, *at, *change; /* change "": never */
    bool open;
};

static bool all_as_said(const struct look *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        AUTO(arena_done) struct arena a = ARENA_INIT(1 << 22);
        struct err err = { 0 };
        const struct window_set *s = set_of(str_of(cases[i].window), &a, &err);
        int64_t change = -1;
        bool open = s != NULL && window_set_open(s, at(cases[i].at), &change);
        char text[CLOCK_TEXT];

        if (s != NULL && open == cases[i].open && change == at(cases[i].change))
            continue;
        printf("# %s at %s: %s until %s %s\n", cases[i].window, cases[i].at,
               open ? "open" : "closed", clock_utc_text(change, text), err.text);
        return false;
    }
    return true;
}

#define DAY   "window: { open: \"08:00\", close: \"17:30\" }"
#define NIGHT "window: { days: mon-fri, open: \"22:00\", close: \"04:00\" }"

TEST(window_opens_and_closes)
{
    static const struct look cases[] = {
        { DAY, "2026-11-15 07:59:59", "2026-11-15 08:00", false },
        { DAY, "2026-11-15 08:00", "2026-11-15 17:30", true },
        { DAY, "2026-11-15 17:29:59", "2026-11-15 17:30", true },
        { DAY, "2026-11-15 17:30", "2026-11-16 08:00", false },
        /* Over midnight it belongs to the day of opening: Friday's ends on Saturday. */
        { NIGHT, "2026-11-13 21:59", "2026-11-13 22:00", false },
        { NIGHT, "2026-11-13 23:00", "2026-11-14 04:00", true },
        { NIGHT, "2026-11-14 03:59", "2026-11-14 04:00", true },
        { NIGHT, "2026-11-14 04:00", "2026-11-16 22:00", false },
        { NIGHT, "2026-11-16 03:00", "2026-11-16 22:00", false }, /* not Sunday's */
        { "window: {}", "2026-11-15 08:00", "", true },
        { "window: { open: \"00:00\", close: \"24:00\" }", "2026-11-15 23:59:59", "", true },
        { "window: { days: sat, close: \"24:00\" }", "2026-11-14 12:00", "2026-11-15 00:00", true },
        { "window: { days: [ sat, sun ] }", "2026-11-14 12:00", "2026-11-16 00:00", true },
        { "window: { days: [ sat, sun ] }", "2026-11-16 00:00", "2026-11-21 00:00", false },
        { "window: { days: sat, open: \"20:00\", close: \"00:00\" }", "2026-11-14 21:00",
          "2026-11-15 00:00", true },
        { "window: { days: sat, open: \"24:00\", close: \"02:00\" }", "2026-11-15 01:00",
          "2026-11-15 02:00", true },
        { "window: { days: sat, open: \"24:00\", close: \"23:00\" }", "2026-11-15 22:59",
          "2026-11-15 23:00", true },
        { "window: { days: mon, open: \"10:00\", close: \"09:59\" }", "2026-11-17 09:58",
          "2026-11-17 09:59", true },
    };

    CHECK(all_as_said(cases, COUNT(cases)));
}

/* Any of them; those that meet are one. */
TEST(window_sets)
{
#define TWO \
    "window: [ { open: \"06:00\", close: \"08:00\" }, { open: \"08:00\", close: \"10:00\" } ]"
#define MIXED                                                      \
    "window: [ { days: fri, open: \"20:00\", close: \"02:00\" }, " \
    "{ days: sat, open: \"01:00\", close: \"03:00\", zone: Europe/Berlin }, { days: sun } ]"
    static const struct look cases[] = {
        { TWO, "2026-11-15 07:00", "2026-11-15 10:00", true },
        { TWO, "2026-11-15 11:00", "2026-11-16 06:00", false },
        { MIXED, "2026-11-13 21:00", "2026-11-14 02:00", true }, /* Berlin's lies within */
        { MIXED, "2026-11-14 02:00", "2026-11-15 00:00", false },
        { MIXED, "2026-11-15 12:00", "2026-11-16 00:00", true },
        { "window: [ { days: mon-fri }, { days: sat-sun } ]", "2026-11-15 12:00", "", true },
        { "window: [ { days: mon-fri }, { days: sat } ]", "2026-11-13 12:00", "2026-11-15 00:00",
          true },
    };

    CHECK(all_as_said(cases, COUNT(cases)));
}

/* proves: WI5 */
TEST(window_over_clock_changes)
{
#define BERLIN(open, close) \
    "window: { open: \"" open "\", close: \"" close "\", zone: Europe/Berlin }"
    static const struct look cases[] = {
        /* 02:00 to 03:00 is left out on 29 March ... */
        { BERLIN("02:30", "05:00"), "2026-03-29 00:59:59", "2026-03-29 01:00", false },
        { BERLIN("02:30", "05:00"), "2026-03-29 01:00", "2026-03-29 03:00", true },
        { BERLIN("01:00", "02:30"), "2026-03-29 00:30", "2026-03-29 01:00", true },
        { BERLIN("02:10", "02:50"), "2026-03-29 00:30", "2026-03-30 00:10", false }, /* nothing */
        { BERLIN("22:00", "04:00"), "2026-03-28 22:00", "2026-03-29 02:00", true },  /* 5 hours */
        /* ... and there twice on 25 October. */
        { BERLIN("02:30", "05:00"), "2026-10-25 00:29", "2026-10-25 00:30", false },
        { BERLIN("02:30", "05:00"), "2026-10-25 00:30", "2026-10-25 04:00", true },
        { BERLIN("01:00", "02:30"), "2026-10-25 00:29", "2026-10-25 00:30", true },
        { BERLIN("01:00", "02:30"), "2026-10-25 01:15", "2026-10-26 00:00", false },
        { BERLIN("02:10", "02:50"), "2026-10-25 00:49", "2026-10-25 00:50", true },
        { BERLIN("02:10", "02:50"), "2026-10-25 01:20", "2026-10-26 01:10", false }, /* once */
        { BERLIN("22:00", "04:00"), "2026-10-24 20:00", "2026-10-25 03:00", true },  /* 7 hours */
        { "window: { days: sun, zone: Europe/Berlin }", "2026-03-29 12:00", "2026-03-29 22:00",
          true },
        /* Midnight itself is left out: the day begins at 01:00. */
        { "window: { days: sun, zone: America/Sao_Paulo }", "2018-11-04 02:59", "2018-11-04 03:00",
          false },
        { "window: { days: sat, zone: America/Sao_Paulo }", "2018-11-04 02:59", "2018-11-04 03:00",
          true },
        /* A Friday that was not. */
        { "window: { days: fri, zone: Pacific/Apia }", "2011-12-30 09:00", "2012-01-05 10:00",
          false },
        { "window: { days: thu-sat, zone: Pacific/Apia }", "2011-12-30 09:00", "2011-12-31 10:00",
          true },
    };

    CHECK(all_as_said(cases, COUNT(cases)));
}

/* proves: WI5 */
TEST(window_does_not_open_on_holidays)
{
#define FEASTS \
    "calendars: { de: { dates: [ 12-25, 12-26, 2026-04-03 ] }, x: { dates: [ 2026-12-28 ] } }\n"
    static const struct look cases[] = {
        { FEASTS "window: { holidays: de }", "2026-12-24 12:00", "2026-12-25 00:00", true },
        { FEASTS "window: { holidays: de }", "2026-12-25 00:00", "2026-12-27 00:00", false },
        { FEASTS "window: { holidays: de }", "2027-12-26 00:00", "2027-12-27 00:00", false },
        { FEASTS "window: { holidays: [ de, x ] }", "2026-12-27 12:00", "2026-12-28 00:00", true },
        { FEASTS "window: { holidays: x }", "2026-12-25 12:00", "2026-12-28 00:00", true },
        { FEASTS "window: { holidays: x }", "2026-12-29 12:00", "", true },
        /* What was opened the evening before goes on; the holiday's own does not open. */
        { FEASTS "window: { open: \"22:00\", close: \"04:00\", holidays: de }", "2026-12-25 03:00",
          "2026-12-25 04:00", true },
        { FEASTS "window: { open: \"22:00\", close: \"04:00\", holidays: de }", "2026-12-25 23:00",
          "2026-12-27 22:00", false },
        /* Only that window. */
        { FEASTS "window: [ { holidays: de }, { open: \"10:00\", close: \"11:00\" } ]",
          "2026-12-25 10:30", "2026-12-25 11:00", true },
        /* The day is that of the zone: Christmas comes earlier to Sydney. */
        { FEASTS "window: { holidays: de, zone: Australia/Sydney }", "2026-12-24 13:00",
          "2026-12-26 13:00", false },
    };

    CHECK(all_as_said(cases, COUNT(cases)));
}

TEST(window_that_never_opens)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct err err = { 0 };
    int64_t change = -1;
    const struct window_set *s =
        set_of(STR("window: [ {}, { days: sat, zone: Mars/Olympus } ]"), &a, &err);

    CHECK(err.kind == ERR_CONFIG && strstr(err.text, "Mars/Olympus") != NULL);
    CHECK(s != NULL && strstr(s->broken, "Mars/Olympus") != NULL);
    CHECK(!window_set_open(s, at("2026-11-15 00:00"), &change) && change == 0);
    CHECK(window_set_open(NULL, 0, &change) && change == 0); /* no window: always */
}

/* Whatever the time is, the answer comes, and what it says about the next change holds. */
TEST(window_change_is_a_change)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 22);
    struct err err;
    const struct window_set *s =
        set_of(STR("calendars: { c: { dates: [ 03-29, 10-25 ] } }\n"
                   "window: [ { days: mon-fri, open: \"22:00\", close: \"02:30\", zone: "
                   "Europe/Berlin }, { days: sat-sun, open: \"23:15\", close: \"07:00\", zone: "
                   "America/New_York, holidays: c } ]"),
               &a, &err);
    int64_t t = at("2025-01-01 00:00"), change, after;
    bool open = window_set_open(s, t, &change);

    CHECK(s != NULL && s->broken == NULL);
    for (int i = 0; i < 2000; i++) {
        CHECK(change > t);
        CHECK(window_set_open(s, change - 1, &after) == open && after == change);
        t = change;
        CHECK(window_set_open(s, t, &change) == !open);
        open = !open;
    }
    (void)window_set_open(s, INT64_MAX, &change);
    (void)window_set_open(s, INT64_MIN, &change);
}

/* ---- the table ---- */

/* proves: WI6 */
TEST(window_is_long_enough)
{
    static const struct {
        const char *window, *from;
        int minutes;
        bool fits;
    } cases[] = {
        { "window: { open: '08:00', close: '10:00' }", "2026-11-16 08:30", 90, true },
        { "window: { open: '08:00', close: '10:00' }", "2026-11-16 08:30", 91, false },
        { "window: { open: '08:00', close: '10:00' }", "2026-11-16 07:00", 120, true }, /* shut */
        { "window: { open: '08:00', close: '10:00' }", "2026-11-16 07:00", 121, false },
        { "window: { open: '22:00', close: '04:00' }", "2026-11-16 23:00", 300, true },
        { "window: { open: '22:00', close: '04:00' }", "2026-11-16 23:00", 301, false },
        { "window: { }", "2026-11-16 23:00", 100000, true },
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        AUTO(arena_done) struct arena a = ARENA_INIT(1 << 22);
        struct err err = { 0 };
        const struct window_set *s = set_of(str_of(cases[i].window), &a, &err);
        int64_t takes = INT64_C(60) * cases[i].minutes * CLOCK_S;

        CHECK(s != NULL && window_set_fits(s, at(cases[i].from), takes) == cases[i].fits);
    }
}

static struct str next_part(struct str *rest)
{
    struct str part;

    *rest = str_cut(*rest, '\t', &part);
    return part;
}

static void answer(struct str rest, struct zone_shelf *zones)
{
    struct str what = next_part(&rest), name = next_part(&rest), number = next_part(&rest);
    const struct zone *z;
    int64_t n = 0, until;
    struct err err = { 0 };

    if (str_is(what, "open")) { /* it names no zone: NOW_US, YAML */
        AUTO(arena_done) struct arena a = ARENA_INIT(1 << 22);
        const struct window_set *s = set_of(number, &a, &err);
        bool open = str_to_i64(name, &n) && s != NULL && window_set_open(s, n, &until);

        printf("%s %" PRId64 "\n",
               s == NULL || s->broken != NULL ? "?"
               : open                         ? "open"
                                              : "closed",
               s == NULL ? 0 : until);
        return;
    }
    if (!zone_shelf_get(zones, name, &z, &err) || !str_to_i64(number, &n)) {
        printf("? %s\n", err.text);
    } else if (str_is(what, "offset")) {
        int64_t offset = zone_offset(z, n, &until);

        printf("%" PRId64 " %" PRId64 "\n", offset, until);
    } else if (str_is(what, "utc")) {
        printf("%" PRId64 "\n", zone_utc(z, n));
    } else {
        struct cron c;

        if (cron_parse(rest, &c, &err))
            printf("%" PRId64 "\n", cron_next(&c, z, n));
        else
            printf("? %s\n", err.text);
    }
}

static int answer_all(void)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 26);
    struct zone_shelf zones = { .arena = &a };
    char line[4096];

    while (fgets(line, sizeof line, stdin) != NULL)
        answer(str_mem(line, strcspn(line, "\n")), &zones);
    return 0;
}

int main(int argc, char **argv)
{
    return argc == 2 && strcmp(argv[1], "table") == 0 ? answer_all() : test_main();
}
