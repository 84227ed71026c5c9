#include "app/jobs_next.h"

#include <stdio.h>
#include <string.h>

#include "app/config_file.h"
#include "app/exit_code.h"
#include "app/jobs_node.h"
#include "app/print.h"
#include "app/registry.h"
#include "app/suggest.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/json.h"
#include "core/civil.h"
#include "core/config.h"
#include "core/schedule/schedule_build.h"

enum {
    SHOWN_OTHERWISE = 10,
    TEXT_MOST = 1 << 20,
    LINE_MOST = 64 * 1024,
    JOBS_NEXT_LOCAL = 120,
    SCHEDULES_MOST = 64 << 20
};

const struct arg_option jobs_next_options[] = {
    { .name = "at",
      .kind = ARG_LIST,
      .value = "TIME",
      .help = "five fields as of cron, or a time of day" },
    { .name = "every", .kind = ARG_TEXT, .value = "D", .help = "so long after each other" },
    { .name = "once", .kind = ARG_TEXT, .value = "T", .help = "one time, 2026-12-24T22:00" },
    { .name = "zone", .kind = ARG_TEXT, .value = "ZONE", .help = "the time zone (UTC)" },
    { .name = "holidays",
      .kind = ARG_LIST,
      .value = "DATE",
      .help = "a day without runs, 2026-12-24 or 12-25" },
    { .name = "window",
      .kind = ARG_LIST,
      .value = "WINDOW",
      .help = "when it may run, \"mon-fri 08:00-18:00\"" },
    { .name = "jitter", .kind = ARG_TEXT, .value = "D", .help = "so much later at most" },
    { .name = "runs", .kind = ARG_TEXT, .value = "N", .help = "it ends after so many runs" },
    { .name = "until", .kind = ARG_TEXT, .value = "T", .help = "it ends at this time" },
    { .name = "catch-up", .kind = ARG_TEXT, .value = "HOW", .help = "skip, once or all (once)" },
    { .name = "catch-up-most",
      .kind = ARG_TEXT,
      .value = "N",
      .help = "how many `all` serves (100)" },
    { .name = "config",
      .kind = ARG_TEXT,
      .value = "FILE",
      .help = "the jobs of this file, or those that are named, instead" },
    { .name = "last",
      .kind = ARG_TIME,
      .value = "T",
      .help = "the last time that was served; left out: nothing was missed" },
    { .name = "from", .kind = ARG_TIME, .value = "T", .help = "what comes after this (now)" },
    { .name = "n", .kind = ARG_NUMBER, .value = "N", .help = "how many runs to show (10)" },
    { 0 },
};

/* ---- times ---- */

/* "2026-03-29T03:00:00+02:00", or with blanks, for people. */
static const char *jobs_next_local(const struct zone *z, int64_t at_us, bool json,
                                   char text[static JOBS_NEXT_LOCAL])
{
    static const char *const weekdays[] = { "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun" };
    int64_t at_s = civil_floor(at_us, CLOCK_S), ms = (at_us - at_s * CLOCK_S) / CLOCK_MS;
    int64_t local_s = zone_local(z, at_s), day = civil_floor(local_s, CIVIL_DAY_S);
    int64_t offset_s = local_s - at_s, off = offset_s < 0 ? -offset_s : offset_s;
    struct civil_date date = civil_date(day);
    int second = (int)(local_s - day * CIVIL_DAY_S);
    char part[16] = "", seconds[16] = "";

    if (ms != 0)
        (void)snprintf(part, sizeof part, ".%03d", (int)ms);
    if (off % 60 != 0)
        (void)snprintf(seconds, sizeof seconds, ":%02d", (int)(off % 60));
    (void)snprintf(text, JOBS_NEXT_LOCAL, "%s%s%04d-%02d-%02d%c%02d:%02d:%02d%s%s%c%02d:%02d%s",
                   json ? "" : weekdays[civil_weekday(day)], json ? "" : " ", (int)date.year,
                   date.month, date.day, json ? 'T' : ' ', second / 3600, second / 60 % 60,
                   second % 60, part, json ? "" : " ", offset_s < 0 ? '-' : '+', (int)(off / 3600),
                   (int)(off / 60 % 60), seconds);
    return text;
}

static void jobs_next_time(struct json_out *j, const char *key, int64_t at_us)
{
    char text[CLOCK_TEXT];

    json_key(j, key);
    json_z(j, clock_utc_text(at_us, text));
}

static void jobs_next_begin(struct json_out *j, const struct jobs_next_showing *s)
{
    json_open(j, '{');
    json_key(j, "job");
    json_z(j, s->job);
}

static void jobs_next_end(struct json_out *j)
{
    json_close(j, '}');
    (void)puts(j->to->ptr);
}

/* ---- a run ---- */

static const char *const clock_words[] = { [NOMINAL_PLAIN] = NULL,
                                           [NOMINAL_SKIPPED] = "skipped",
                                           [NOMINAL_FIRST] = "first",
                                           [NOMINAL_SECOND] = "second" };

static void jobs_next_run_json(const struct jobs_next_showing *s, const struct schedule_next *n,
                               int64_t now_us, enum nominal_clock clock)
{
    AUTO(buf_done) struct buf line = BUF_INIT(LINE_MOST);
    struct json_out j = { .to = &line };
    char text[JOBS_NEXT_LOCAL];

    jobs_next_begin(&j, s);
    jobs_next_time(&j, "nominal", n->nominal_us);
    json_key(&j, "local");
    json_z(&j, jobs_next_local(s->zone, n->nominal_us, true, text));
    jobs_next_time(&j, "due", now_us);
    json_key(&j, "late");
    json_bool(&j, n->late);
    json_key(&j, "clock");
    json_z(&j, clock_words[clock]);
    jobs_next_end(&j);
}

/* What stands behind a time; `changed_s`: the local clock has changed by so much since the time
 * before. */
static void jobs_next_marks(const struct jobs_next_showing *s, const struct schedule_next *n,
                            int64_t now_us, enum nominal_clock clock, int64_t changed_s)
{
    static const char *const marks[] = {
        [NOMINAL_SKIPPED] = "its local time is skipped: at the change of the clock instead",
        [NOMINAL_FIRST] = "its local time comes twice: this is the first",
        [NOMINAL_SECOND] = "its local time comes twice: this is the second",
    };
    char text[JOBS_NEXT_LOCAL];

    if (n->late)
        (void)printf("  missed, caught up with");
    if (now_us > n->nominal_us && now_us > s->from_us)
        (void)printf("  waits until %s", jobs_next_local(s->zone, now_us, false, text));
    if (clock != NOMINAL_PLAIN)
        (void)printf("  %s", marks[clock]);
    if (changed_s != 0)
        (void)printf("  the clock went %s by %d min", changed_s > 0 ? "forward" : "back",
                     (int)((changed_s > 0 ? changed_s : -changed_s) / 60));
}

void jobs_next_show_run(struct jobs_next_showing *s, const struct schedule_next *n, int64_t now_us,
                        enum nominal_clock clock)
{
    const struct zone *zone = s->zone;
    int64_t at_s = civil_floor(n->nominal_us, CLOCK_S);
    int64_t offset_s = zone_local(zone, at_s) - at_s;
    char local[JOBS_NEXT_LOCAL], utc[CLOCK_TEXT];

    if (s->json) {
        jobs_next_run_json(s, n, now_us, clock);
        return;
    }
    (void)clock_utc_text(n->nominal_us, utc);
    (void)printf("%-36s %.19sZ", jobs_next_local(zone, n->nominal_us, false, local), utc);
    jobs_next_marks(s, n, now_us, clock, offset_s - s->offset_s);
    (void)putchar('\n');
    s->offset_s = offset_s;
}

/* ---- what is left out, and the end ---- */

static void jobs_next_left_json(const struct jobs_next_showing *s, const struct schedule_next *n,
                                enum schedule_reason reason)
{
    AUTO(buf_done) struct buf line = BUF_INIT(LINE_MOST);
    struct json_out j = { .to = &line };

    jobs_next_begin(&j, s);
    json_key(&j, "leftOut");
    json_z(&j, schedule_reason_word(reason));
    json_key(&j, "count");
    json_int(&j, n->left[reason].count);
    json_key(&j, "more");
    json_bool(&j, n->left_more);
    jobs_next_time(&j, "first", n->left[reason].first_us);
    jobs_next_time(&j, "last", n->left[reason].last_us);
    jobs_next_end(&j);
}

void jobs_next_show_left(const struct jobs_next_showing *s, const struct schedule_next *n)
{
    static const char *const says[SCHEDULE_REASONS] = {
        [SCHEDULE_MISSED] = "missed",
        [SCHEDULE_TOO_OLD] = "missed, and more than `catch_up_most`",
        [SCHEDULE_HOLIDAY] = "holiday",
        [SCHEDULE_WINDOW] = "window closed",
        [SCHEDULE_PAUSED] = "paused",
        [SCHEDULE_CHANGED] = "other settings",
    };
    const struct zone *zone = s->zone;
    char first[JOBS_NEXT_LOCAL], last[JOBS_NEXT_LOCAL];

    for (enum schedule_reason r = 0; r < SCHEDULE_REASONS; r++) {
        const struct schedule_left *left = &n->left[r];

        if (left->count == 0)
            continue;
        if (s->json)
            jobs_next_left_json(s, n, r);
        else if (left->count == 1)
            (void)printf("  left out: %s (%s)\n",
                         jobs_next_local(zone, left->first_us, false, first), says[r]);
        else
            (void)printf("  left out: %lld%s times from %s to %s (%s)\n", (long long)left->count,
                         n->left_more ? " and more" : "",
                         jobs_next_local(zone, left->first_us, false, first),
                         jobs_next_local(zone, left->last_us, false, last), says[r]);
    }
}

void jobs_next_show_end(const struct jobs_next_showing *s, enum schedule_end_why why)
{
    static const char *const says[] = { [SCHEDULE_RUNS_OVER] = "`runs` is reached",
                                        [SCHEDULE_UNTIL_OVER] = "`until` is over",
                                        [SCHEDULE_ONCE_OVER] = "`once` is over",
                                        [SCHEDULE_NEVER] = "no time is left" };
    AUTO(buf_done) struct buf line = BUF_INIT(LINE_MOST);
    struct json_out j = { .to = &line };

    if (!s->json) {
        (void)printf("  it ends: %s\n", says[why]);
        return;
    }
    jobs_next_begin(&j, s);
    json_key(&j, "end");
    json_z(&j, schedule_end_word(why));
    jobs_next_end(&j);
}

/* ---- one schedule ---- */

struct jobs_next_showing jobs_next_showing(const char *job, const struct zone *zone, bool json,
                                           int64_t from_us)
{
    int64_t from_s = from_us / CLOCK_S;

    return (struct jobs_next_showing){ .job = job,
                                       .zone = zone,
                                       .json = json,
                                       .from_us = from_us,
                                       .offset_s = zone_local(zone, from_s) - from_s };
}

/* Asks as a scheduler would: when an iteration has ended, and again when the next one is due. */
static void jobs_next_walk(struct jobs_next_showing *s, const struct schedule *schedule,
                           struct schedule_known *k, int64_t count)
{
    for (int64_t now_us = s->from_us; count > 0;) {
        struct schedule_next n = schedule_next(schedule, k, now_us, 0);

        jobs_next_show_left(s, &n);
        k->last_us = n.settled_us;
        if (n.what != SCHEDULE_DUE) {
            jobs_next_show_end(s, n.why);
            return;
        }
        if (n.due_us > now_us) {
            now_us = n.due_us;
            continue;
        }
        jobs_next_show_run(s, &n, now_us, nominal_clock(&schedule->times, n.nominal_us));
        count--;
        const struct schedule_run run = { .nominal_us = n.nominal_us,
                                          .began_us = now_us,
                                          .ended_us = now_us,
                                          .outcome = SCHEDULE_MOVED };

        (void)schedule_end(schedule, k, &run, 0);
    }
}

static void jobs_next_head(const struct jobs_next_showing *s, const struct yaml_node *job)
{
    const struct yaml_node *zone = yaml_get(job, "zone"), *jitter = yaml_get(job, "jitter");

    if (s->job != NULL)
        (void)printf("%s\n", s->job);
    (void)printf("%-36s UTC%s%s\n", zone != NULL ? yaml_text(zone).ptr : "UTC",
                 jitter != NULL ? "; due later at random, at most by " : "",
                 jitter != NULL ? yaml_text(jitter).ptr : "");
}

/* Jitter is left out: it depends on a number that a job gets from its node. */
static int jobs_next_show(const struct args *a, const struct yaml_node *job, const char *name,
                          struct window_maker *m)
{
    int64_t from_us = args_number(a, "from", clock_wall_us());
    int64_t last_us = args_number(a, "last", from_us);
    struct schedule_known k = { .last_us = last_us };
    struct schedule schedule;
    struct err err = { 0 };

    if (!schedule_build(job, m, &schedule, &err))
        return print_fail(EXIT_NO, "%s%s%s", name != NULL ? name : "", name != NULL ? ": " : "",
                          err.text);
    schedule.jitter_us = 0;
    if (schedule.form == SCHEDULE_EVERY && last_us < from_us)
        k.ended_us = last_us;
    struct jobs_next_showing s =
        jobs_next_showing(name, schedule.times.zone, args_flag(a, "json"), from_us);

    if (!s.json)
        jobs_next_head(&s, job);
    jobs_next_walk(&s, &schedule, &k, args_number(a, "n", SHOWN_OTHERWISE));
    return EXIT_DONE;
}

/* ---- of a file ---- */

static const struct config_entry *jobs_next_find(const struct config *config, const char *name)
{
    struct suggestion near = { .word = str_of(name) };

    for (size_t i = 0; i < config->job_count; i++) {
        if (strcmp(config->jobs[i].name, name) == 0)
            return &config->jobs[i];
        suggest(&near, config->jobs[i].name);
    }
    if (near.best != NULL)
        (void)print_fail(EXIT_NO, "there is no job %s; did you mean %s?", name, near.best);
    else
        (void)print_fail(EXIT_NO, "there is no job %s", name);
    return NULL;
}

static void jobs_next_say(const char *file, const struct config_report *report)
{
    for (size_t i = 0; i < report->problems.count; i++) {
        const struct problem *p = &report->problems.items[i];

        print_problem(file, p->place.line, p->place.column, "error", p->message, p->hint);
    }
}

static int jobs_next_show_all(const struct args *a, const struct config *config)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(SCHEDULES_MOST);
    struct window_maker m = window_maker(config->root, &arena);
    int code = EXIT_DONE;

    if (a->operand_count == 0 && config->job_count == 0)
        return print_fail(EXIT_NO, "the file has no jobs");
    for (size_t i = 0; i < a->operand_count && code == EXIT_DONE; i++)
        code = jobs_next_find(config, a->operand[i]) != NULL ? EXIT_DONE : EXIT_NO;
    for (size_t i = 0; i < a->operand_count && code == EXIT_DONE; i++) {
        const struct config_entry *job = jobs_next_find(config, a->operand[i]);

        code = jobs_next_show(a, job->node, job->name, &m);
    }
    for (size_t i = 0; a->operand_count == 0 && i < config->job_count && code == EXIT_DONE; i++)
        code = jobs_next_show(a, config->jobs[i].node, config->jobs[i].name, &m);
    return code;
}

static int jobs_next_file(const struct args *a, const char *file)
{
    const struct config_options options = { .connectors = &registry, .ask_zones = true };
    AUTO(buf_done) struct buf text = BUF_INIT(YAML_BYTES + 1);
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
    struct err err = { 0 };

    if (!config_file_text(file, &text, &err))
        return print_fail(EXIT_IO, "%s", err.text);
    struct config *config = config_load(buf_view(&text), file, &options, &report);

    if (config == NULL) {
        jobs_next_say(file, &report);
        return EXIT_NO;
    }
    int code = jobs_next_show_all(a, config);

    config_unref(config);
    return code;
}

/* ---- of the command line ---- */

static void jobs_next_put(const struct args *a, struct json_out *j, const char *option,
                          const char *key)
{
    const char *value = args_text(a, option);

    if (value == NULL)
        return;
    json_key(j, key);
    json_z(j, value);
}

static bool jobs_next_put_list(const struct args *a, struct json_out *j, const char *option,
                               const char *key)
{
    const char *value = args_list_at(a, option, 0);

    if (value == NULL)
        return false;
    json_key(j, key);
    json_open(j, '[');
    for (size_t i = 0; (value = args_list_at(a, option, i)) != NULL; i++)
        json_z(j, value);
    json_close(j, ']');
    return true;
}

/* "mon-fri 08:00-18:00": the days, the times, or both. */
static void jobs_next_put_window(struct json_out *j, struct str window)
{
    struct str days, hours = str_trim(str_cut(window, ' ', &days)), open, close;

    if (hours.len == 0 && str_find(days, ':') >= 0) {
        hours = days;
        days = (struct str){ 0 };
    }
    close = str_cut(hours, '-', &open);
    json_open(j, '{');
    if (days.len > 0) {
        json_key(j, "days");
        json_str(j, days);
    }
    if (hours.len > 0) {
        json_key(j, "open");
        json_str(j, open);
        json_key(j, "close");
        json_str(j, close);
    }
    json_close(j, '}');
}

/* A configuration with one job, so that the same checks and defaults hold. */
static void jobs_next_text(const struct args *a, struct buf *to)
{
    struct json_out j = { .to = to };
    const char *value;

    json_open(&j, '{');
    if (args_list_at(a, "holidays", 0) != NULL) {
        json_key(&j, "calendars");
        json_open(&j, '{');
        json_key(&j, "given");
        json_open(&j, '{');
        (void)jobs_next_put_list(a, &j, "holidays", "dates");
        json_close(&j, '}');
        json_close(&j, '}');
    }
    json_key(&j, "jobs");
    json_open(&j, '{');
    json_key(&j, "given");
    json_open(&j, '{');
    json_key(&j, "kind");
    json_z(&j, "note");
    (void)jobs_next_put_list(a, &j, "at", "at");
    jobs_next_put(a, &j, "every", "every");
    jobs_next_put(a, &j, "once", "once");
    jobs_next_put(a, &j, "zone", "zone");
    jobs_next_put(a, &j, "jitter", "jitter");
    jobs_next_put(a, &j, "runs", "runs");
    jobs_next_put(a, &j, "until", "until");
    jobs_next_put(a, &j, "catch-up", "catch_up");
    jobs_next_put(a, &j, "catch-up-most", "catch_up_most");
    if (args_list_at(a, "holidays", 0) != NULL) {
        json_key(&j, "holidays");
        json_z(&j, "given");
    }
    if (args_list_at(a, "window", 0) != NULL) {
        json_key(&j, "window");
        json_open(&j, '[');
        for (size_t i = 0; (value = args_list_at(a, "window", i)) != NULL; i++)
            jobs_next_put_window(&j, str_of(value));
        json_close(&j, ']');
    }
    json_close(&j, '}');
    json_close(&j, '}');
    json_close(&j, '}');
}

static int jobs_next_given(const struct args *a)
{
    const struct config_options options = { .connectors = &registry, .ask_zones = true };
    AUTO(buf_done) struct buf text = BUF_INIT(TEXT_MOST);
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
    AUTO(arena_done) struct arena arena = ARENA_INIT(SCHEDULES_MOST);

    jobs_next_text(a, &text);
    struct config *config = config_load(buf_view(&text), "-", &options, &report);

    if (config == NULL) {
        for (size_t i = 0; i < report.problems.count; i++) {
            const struct problem *p = &report.problems.items[i];

            (void)print_fail(EXIT_USAGE, "%s%s%s", p->message, p->hint != NULL ? "; " : "",
                             p->hint != NULL ? p->hint : "");
        }
        return EXIT_USAGE;
    }
    struct window_maker m = window_maker(config->root, &arena);
    int code = jobs_next_show(a, config->jobs[0].node, NULL, &m);

    config_unref(config);
    return code;
}

/* ---- the command ---- */

/* The first option that describes a schedule; NULL: none. */
static const char *jobs_next_schedule_option(const struct args *a)
{
    static const char *const lists[] = { "at", "holidays", "window", NULL };
    static const char *const texts[] = { "every", "once",     "zone",          "jitter", "runs",
                                         "until", "catch-up", "catch-up-most", NULL };

    for (size_t i = 0; lists[i] != NULL; i++)
        if (args_list_at(a, lists[i], 0) != NULL)
            return lists[i];
    for (size_t i = 0; texts[i] != NULL; i++)
        if (args_text(a, texts[i]) != NULL)
            return texts[i];
    return NULL;
}

/* A node knows what was served, and what the time is. */
static int jobs_next_of_node(const struct args *a)
{
    if (args_number(a, "last", 0) != 0 || args_number(a, "from", 0) != 0)
        return args_wrong(a, "--from and --last go with --at, --every, --once or --config FILE: a "
                             "node tells its times from now on");
    return jobs_node_next(a);
}

int jobs_next_run(const struct args *a)
{
    const char *file = args_text(a, "config"), *option = jobs_next_schedule_option(a);
    int64_t from_us = args_number(a, "from", clock_wall_us());

    if (args_number(a, "last", from_us) > from_us)
        return args_wrong(a, "--last is after --from");
    if (file != NULL && option != NULL)
        return args_wrong(a, "--%s is said by the jobs of --config", option);
    if (file != NULL)
        return jobs_next_file(a, file);
    if (option == NULL)
        return jobs_next_of_node(a);
    if (a->operand_count > 0)
        return args_wrong(a, "--%s is a schedule of its own: leave %s out, or the schedule", option,
                          a->operand[0]);
    if (args_list_at(a, "at", 0) == NULL && args_text(a, "every") == NULL &&
        args_text(a, "once") == NULL)
        return args_wrong(a, "say when it runs: --at, --every or --once, or --config FILE");
    return jobs_next_given(a);
}
