#include "app/registry.h"
#include "base/auto.h"
#include "base/clock.h"
#include "core/config.h"
#include "test.h"

static const struct config_options options = { .connectors = &registry, .ask_zones = true };

#define CALENDARS \
    "calendars: { xmas: { dates: [ \"12-25\", \"12-26\" ] }, none: { dates: [ 2001-01-01 ] } }\n"
#define JOB(keys) CALENDARS "jobs: { a: { kind: note, " keys " } }"

static struct config_report load(struct str text, struct config **ret)
{
    struct config_report report = CONFIG_REPORT_INIT;

    *ret = config_load(text, "t", &options, &report);
    return report;
}

TEST(config_jobs_that_are_right)
{
    static const char *const texts[] = {
        JOB("at: \"0 2 * * *\""),
        JOB("at: \"22:00\""),
        JOB("at: [ \"22:00\", \"06:15\", \"@monthly\" ]"),
        JOB("at: \"0 2 25 * *\", holidays: xmas"),
        JOB("every: 100ms, idle_most: 1h, jitter: 10ms"),
        JOB("once: 2026-12-24T22:00"),
        JOB("once: 2026-12-24 22:00:30"),
        JOB("once: \"2026-12-24T22:00+01:00\", until: \"2026-12-25T00:00Z\", catch_up: skip"),
        JOB("at: \"@hourly\", zone: Europe/Berlin, holidays: [ xmas, none ], window: [ { days: "
            "mon-fri, open: \"08:00\", close: \"18:00\" }, { days: sat, zone: UTC, holidays: xmas "
            "} ], jitter: 5m, runs: 10, until: 2030-01-01T00:00, catch_up: all, catch_up_most: 7, "
            "retry: { first: 1s, most: 1m, for: 10m }, suspend: 3, area: dmz, title: T"),
        JOB("at: \"@hourly\", suspend: never, retry: { for: 0s }"),
        JOB("at: \"@hourly\", window:"),
        JOB("once: 2026-12-24T22:00, zone: America/New_York, window: { open: \"19:00\", close: "
            "\"20:00\" }"),
    };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct config *c;
        AUTO(config_report_done) struct config_report r = load(str_of(texts[i]), &c);

        if (r.problems.count > 0)
            printf("# %s: %s\n", texts[i], r.problems.items[0].message);
        CHECK(c != NULL && c->job_count == 1);
        config_unref(c);
    }
}

/* They are refused before they are in force; a version that has so many is still read. */
TEST(config_has_a_limit_of_jobs)
{
    AUTO(buf_done) struct buf text = BUF_INIT(4 << 20);
    struct config *c;

    buf_puts(&text, "jobs:\n");
    for (int i = 0; i < CONFIG_JOBS_MOST + 1; i++)
        buf_printf(&text, "  j%d: { kind: note, every: 1h }\n", i);
    AUTO(config_report_done) struct config_report r = load(buf_view(&text), &c);

    CHECK(c == NULL && r.problems.count == 1 && r.problems.items[0].place.line == 1);
    CHECK(strcmp(r.problems.items[0].message, "there are 20001 jobs, and at most 20000 may be") ==
          0);

    static const struct config_options stored = { .connectors = &registry };
    AUTO(config_report_done) struct config_report again = CONFIG_REPORT_INIT;

    c = config_load(buf_view(&text), "t", &stored, &again);
    CHECK(c != NULL && c->job_count == CONFIG_JOBS_MOST + 1);
    config_unref(c);
}

TEST(config_jobs_with_mistakes_are_refused)
{
    static const struct {
        const char *text, *why, *hint;
    } cases[] = {
        { JOB("at: \"0 2 * * *\", every: 1h"), "has both `at` and `every`", "keep one" },
        { JOB("once: 2026-12-24T22:00, every: 1h"), "has both `every` and `once`", "keep one" },
        { JOB("title: T"), "is not complete", "at, every, once" },
        { JOB("at: \"0 0 31 2 *\""), "no month of it has such a day", "five fields" },
        { JOB("at: \"24:00\""), "the first minute of a day is 00:00", "HH:MM" },
        { JOB("at: \"7:00\""), "two digits, a colon and two digits", "HH:MM" },
        { JOB("at: [ \"07:00\", later ]"), "the minute is not valid", "five fields" },
        { JOB("at: []"), "is empty", "at least one" },
        { JOB("at: \"@daily\", zone: Europe/Berlim"), "does not know the time zone",
          "Europe/Berlin" },
        { JOB("at: \"@daily\", holidays: easter"), "there is no calendar `easter`", "xmas" },
        { JOB("once: tomorrow"), "a date, `T` and a time", "2026-12-24T22:00" },
        { JOB("once: 2026-02-30T22:00"), "the month has no such day", "YYYY" },
        { JOB("once: 2026-02-03T24:00"), "00:00 to 23:59:59", "YYYY" },
        { JOB("once: \"2026-02-03T22:00+1\""), "an offset is written", "YYYY" },
        { JOB("once: 2026-12-24T22:00, until: 2026-12-24T21:00"), "this time never comes",
          "leave `until` out" },
        { JOB("once: 2026-12-24T22:00, runs: 2"), "`runs` is not used with `once`", "leave" },
        { JOB("at: \"@daily\", idle_most: 1h"), "`idle_most` is only used with `every`", "every" },
        { JOB("every: 1h, idle_most: 1m"), "`idle_most` is shorter than `every`", "grow" },
        { JOB("every: 1h, catch_up: all"), "`catch_up` is only used with `at`", "leave it out" },
        { JOB("at: \"@daily\", catch_up: each"), "it is not among the allowed words", "skip" },
        { JOB("at: \"@daily\", catch_up_most: 5"), "only used with `catch_up: all`", "add" },
        { JOB("at: \"@daily\", catch_up: all, catch_up_most: 0"), "more than 0", "" },
        { JOB("at: \"@daily\", retry: { first: 1h, most: 1m }"), "`first` is longer than `most`",
          "" },
        { JOB("at: \"@daily\", jitter: 2d"), "the most is 1d", "" },
        { JOB("at: \"@daily\", suspend: 0"), "more than 0", "" },
        { JOB("at: \"@daily\", runs: 0"), "more than 0", "" },
        { JOB("at: \"@daily\", window: { open: \"08:00\", close: \"08:00\" }"),
          "the window closes when it opens", "leave both out" },
        { JOB("at: \"0 0 25 12 *\", holidays: xmas"), "this time never comes", "change `at`" },
        { JOB("at: [ \"0 0 25 12 *\", \"0 9 26 12 *\" ], holidays: [ none, xmas ]"),
          "this time never comes", "change `at`" },
        { JOB("at: \"0 12 * * sun\", window: { days: mon-fri }"), "this time never comes",
          "window" },
        { JOB("at: \"0 7 * * *\", zone: Europe/Berlin, window: { open: \"08:00\", close: "
              "\"18:00\" }"),
          "this time never comes", "window" },
        { "jobs: { a: { kind: replicate, at: \"@daily\" } }",
          "jobs of kind `replicate` are made of `links`", "write a link" },
        { "jobs: { a: { kind: tidy, at: \"@daily\" } }", "unknown kind of job", "note, call" },
        { "node: { jobs: { kinds: [ note, cal ] } }", "unknown kind of job `cal`", "`call`" },
        { "jobs: { a: { kind: call, url: \"http://x\", every: 1h, body: \"${stat}\" } }",
          "does not have the word `stat`", "state" },
        { "jobs: { a: { kind: call, url: \"http://x\", every: 1h, headers: { A: \"${x}\" } } }",
          "does not have the word `x`", "state" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct config *c;
        AUTO(config_report_done) struct config_report r = load(str_of(cases[i].text), &c);
        const struct problem *p = r.problems.count > 0 ? r.problems.items : NULL;
        bool said =
            c == NULL && r.problems.count == 1 && strstr(p->message, cases[i].why) != NULL &&
            (p->hint == NULL ? *cases[i].hint == '\0' : strstr(p->hint, cases[i].hint) != NULL);

        if (!said)
            printf("# %s: %zu problems, %s; %s\n", cases[i].text, r.problems.count,
                   p != NULL ? p->message : "", p != NULL && p->hint != NULL ? p->hint : "");
        CHECK(said);
        config_unref(c);
    }
}

TEST(config_jobs_has_a_limit_of_times)
{
    AUTO(buf_done) struct buf text = BUF_INIT(1 << 16);
    struct config *c;

    buf_puts(&text, "jobs: { a: { kind: note, at: [");
    for (int i = 0; i < 101; i++)
        buf_puts(&text, " \"01:00\",");
    buf_puts(&text, " ] } }");
    AUTO(config_report_done) struct config_report r = load(buf_view(&text), &c);

    CHECK(c == NULL && r.problems.count == 1);
    CHECK(strstr(r.problems.items[0].message, "at most 100 times") != NULL);
}

/* Ten thousand jobs whose times never come: each search would take thousands of steps. */
TEST(config_jobs_a_hostile_text_is_checked_in_bounded_time)
{
    AUTO(buf_done) struct buf text = BUF_INIT(4 << 20);
    struct config *c;
    int64_t from = clock_cpu_us();

    buf_puts(&text, "calendars: { all: { dates: [");
    for (int month = 1; month <= 12; month++)
        for (int day = 1; day <= (month == 2 ? 29 : 30); day++)
            buf_printf(&text, "\"%02d-%02d\",", month, day);
    for (int month = 1; month <= 12; month += month == 7 ? 1 : 2)
        buf_printf(&text, "\"%02d-31\",", month);
    buf_puts(&text, "] } }\njobs:\n");
    for (int i = 0; i < 10000; i++)
        buf_printf(&text, "  j%d: { kind: note, at: \"* * * * *\", holidays: all }\n", i);
    AUTO(config_report_done) struct config_report r = load(buf_view(&text), &c);

    CHECK(c == NULL && strstr(r.problems.items[0].message, "this time never comes") != NULL);
    CHECK(clock_cpu_us() - from < 60 * (int64_t)CLOCK_S);
}

int main(void)
{
    return test_main();
}
