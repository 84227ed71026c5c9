#include "app/jobs_print.h"

#include <stdio.h>
#include <string.h>

#include "app/print.h"
#include "base/auto.h"

enum { STATE_SHOWN = 100 /* bytes of a state in a table */ };

/* ---- cells ---- */

static const char *job_outcome_cell(const json_t *job, struct buf *room)
{
    (void)room;
    return member_text(json_object_get(job, "last"), "outcome");
}

static const char *job_ended_cell(const json_t *job, struct buf *room)
{
    const char *ended = member_text(json_object_get(job, "last"), "ended");
    char text[PRINT_SHORT];

    if (ended == NULL)
        return NULL;
    buf_puts(room, print_time(ended, text));
    return room->ptr;
}

static const char *job_duration_cell(const json_t *object, const char *member, struct buf *room)
{
    char text[PRINT_SHORT];

    if (!json_is_integer(json_object_get(object, member)))
        return NULL;
    buf_puts(room, print_duration(member_number(object, member), text));
    return room->ptr;
}

static const char *job_lag_cell(const json_t *object, struct buf *room)
{
    return job_duration_cell(object, "lag", room);
}

static const char *job_took_cell(const json_t *run, struct buf *room)
{
    return job_duration_cell(run, "duration", room);
}

/* Why nothing begins, or what the last run said. */
static const char *job_message_cell(const json_t *job, struct buf *room)
{
    const json_t *stop = json_object_get(job, "stop"), *last = json_object_get(job, "last");
    const char *by = member_text(stop, "by"), *why = member_text(stop, "reason");

    if (member_text(job, "broken") != NULL)
        return member_text(job, "broken");
    if (by == NULL && why == NULL)
        return member_text(last, "message");
    buf_printf(room, "%s%s%s", by != NULL ? by : "", by != NULL && why != NULL ? ": " : "",
               why != NULL ? why : "");
    return room->ptr;
}

static const char *job_state_cell(const json_t *state, struct buf *room)
{
    const char *text = member_text(state, "text");
    struct str all = str_of(text != NULL ? text : ""), shown = str_first(all, STATE_SHOWN);

    buf_put(room, shown);
    buf_puts(room, shown.len < all.len ? " ..." : "");
    return room->ptr;
}

const struct list_column job_columns[] = {
    { "NAME", "name" },
    { "KIND", "kind" },
    { "STATE", "state", .is_state = true },
    { "NEXT", "next", LIST_TIME },
    { "LAG", .cell = job_lag_cell },
    { "LAST", .cell = job_outcome_cell },
    { "ENDED", .cell = job_ended_cell },
    { "LAST SUCCESS", "lastSuccess", LIST_TIME },
    { "MESSAGE", .cell = job_message_cell },
    { 0 },
};

const struct list_column job_run_columns[] = {
    { "ENDED", "ended", LIST_TIME },
    { "JOB", "job" },
    { "RUN", "run", LIST_NUMBER },
    { "NODE", "node" },
    { "NOMINAL", "nominal", LIST_TIME },
    { "LAG", .cell = job_lag_cell },
    { "DURATION", .cell = job_took_cell },
    { "OUTCOME", "outcome", .is_state = true },
    { "MESSAGE", "message" },
    { 0 },
};

static const char *duty_took_cell(const json_t *duty, struct buf *room)
{
    return member_text(duty, "last") != NULL ? job_duration_cell(duty, "took", room) : NULL;
}

static const char *duty_every_cell(const json_t *duty, struct buf *room)
{
    return job_duration_cell(duty, "every", room);
}

const struct list_column duty_columns[] = {
    { "BUILT IN", "kind" },
    { "NAME", "name" },
    { "EVERY", .cell = duty_every_cell },
    { "LAST", "last", LIST_TIME },
    { "DURATION", .cell = duty_took_cell },
    { "RUNS", "runs", LIST_NUMBER },
    { "FAILURES", "failures", LIST_NUMBER },
    { "NEXT", "next", LIST_TIME },
    { "ERROR", "error" },
    { 0 },
};

/* ---- one job ---- */

static void jobs_print_time(const char *label, const json_t *object, const char *member)
{
    const char *time = member_text(object, member);
    char text[PRINT_SHORT];

    if (time != NULL)
        print_field(label, print_time(time, text));
}

static void jobs_print_number(const char *label, const json_t *job, const char *member)
{
    char text[PRINT_SHORT];

    (void)snprintf(text, sizeof text, "%lld", (long long)member_number(job, member));
    print_field(label, text);
}

static void jobs_print_given(const char *label, const json_t *object, const char *member)
{
    if (member_text(object, member) != NULL)
        print_field(label, member_text(object, member));
}

static void jobs_print_settings(const json_t *job)
{
    char text[PRINT_SHORT];

    print_field("job", member_text(job, "name"));
    jobs_print_given("title", job, "title");
    print_field("kind", member_text(job, "kind"));
    jobs_print_given("area", job, "area");
    jobs_print_given("schedule", job, "schedule");
    jobs_print_given("zone", job, "zone");
    jobs_print_given("log", job, "log");
    if (member_number(job, "parallel") > 1)
        jobs_print_number("parallel", job, "parallel");
    if (member_number(job, "timeout") > 0)
        print_field("timeout", print_duration(member_number(job, "timeout"), text));
    jobs_print_number("version", job, "version");
    jobs_print_given("broken", job, "broken");
    if (member_true(job, "planned"))
        print_field("broken", "this build does not run its kind");
}

static void jobs_print_stop(const json_t *job)
{
    const json_t *stop = json_object_get(job, "stop");

    if (!json_is_object(stop))
        return;
    jobs_print_given("stopped by", stop, "by");
    jobs_print_given("reason", stop, "reason");
    jobs_print_time("since", stop, "since");
    jobs_print_time("until", stop, "until");
}

static void jobs_print_backfill(const json_t *job)
{
    const json_t *backfill = json_object_get(job, "backfill");

    if (!json_is_object(backfill))
        return;
    jobs_print_number("backfill", backfill, "left");
    jobs_print_time("from", backfill, "next");
    jobs_print_time("to", backfill, "last");
    if (member_number(backfill, "tries") > 0)
        jobs_print_number("tries", backfill, "tries");
}

static void jobs_print_progress(const json_t *job)
{
    const json_t *last = json_object_get(job, "last");
    char text[PRINT_SHORT];

    print_field("state", member_text(job, "state"));
    jobs_print_stop(job);
    jobs_print_time("gone", job, "gone");
    jobs_print_time("asked for", job, "asked");
    jobs_print_time("next run", job, "next");
    jobs_print_time("for", job, "nominal");
    if (json_is_integer(json_object_get(job, "lag")))
        print_field("lag", print_duration(member_number(job, "lag"), text));
    jobs_print_backfill(job);
    jobs_print_number("runs", job, "runs");
    jobs_print_number("left out", job, "leftOut");
    jobs_print_number("failures", job, "failures");
    if (member_number(job, "tries") > 0)
        jobs_print_number("tries", job, "tries");
    if (json_is_object(last)) {
        print_field("last run", member_text(last, "outcome"));
        jobs_print_given("message", last, "message");
        jobs_print_given("node", last, "node");
        jobs_print_time("began", last, "began");
        jobs_print_time("ended", last, "ended");
    }
    jobs_print_time("last success", job, "lastSuccess");
}

static void jobs_print_table(const struct args *a, const struct list_column *columns,
                             const json_t *rows)
{
    const struct list list = { .columns = columns };
    AUTO(list_done) struct list_out o;

    list_begin(&o, a, &list);
    if (json_array_size(rows) == 0)
        return;
    (void)fputc('\n', stdout);
    (void)list_rows(&o, rows, INT64_MAX);
}

void jobs_print_whole(const struct args *a, const json_t *job)
{
    static const struct list_column open[] = {
        { "OPEN RUN", "run", LIST_NUMBER },  { "NODE", "node" },
        { "NOMINAL", "nominal", LIST_TIME }, { "BEGAN", "began", LIST_TIME },
        { "UNTIL", "until", LIST_TIME },     { 0 },
    };
    static const struct list_column states[] = {
        { "STATE", "number", LIST_NUMBER },
        { "STORED", "stored", LIST_TIME },
        { "TEXT", .cell = job_state_cell },
        { 0 },
    };
    const json_t *times = json_object_get(job, "nextTimes"), *one;
    char text[PRINT_SHORT];
    size_t i;

    jobs_print_settings(job);
    jobs_print_progress(job);
    json_array_foreach(times, i, one)
    {
        if (json_is_string(one))
            print_field(i == 0 ? "next times" : "", print_time(json_string_value(one), text));
    }
    jobs_print_table(a, open, json_object_get(job, "open"));
    jobs_print_table(a, states, json_object_get(job, "states"));
}

/* ---- in a line ---- */

void jobs_print_line(const json_t *job)
{
    const char *next = member_text(job, "next"),
               *until = member_text(json_object_get(job, "stop"), "until");
    char text[PRINT_SHORT];

    (void)fputs("job ", stdout);
    print_text(stdout, member_text(job, "name"));
    (void)fputs(" is ", stdout);
    print_text(stdout, member_text(job, "state"));
    if (until != NULL)
        (void)printf(" until %s", print_time(until, text));
    if (next != NULL)
        (void)printf(", its next run is due %s", print_time(next, text));
    (void)fputc('\n', stdout);
}

/* The lines of a text, indented. */
static void jobs_print_lines(struct str text)
{
    while (text.len > 0) {
        char line[PRINT_LINE];
        struct str one;

        text = str_cut(text, '\n', &one);
        (void)snprintf(line, sizeof line, "%.*s", STR_ARG(str_first(one, sizeof line - 1)));
        (void)fputs("    ", stdout);
        print_text(stdout, line);
        (void)fputc('\n', stdout);
    }
}

void jobs_print_run(const json_t *run)
{
    const char *steps = member_text(run, "steps");
    char ended[PRINT_SHORT], took[PRINT_SHORT];

    (void)printf("%s  ", print_time(member_text(run, "ended"), ended));
    print_text(stdout, member_text(run, "job"));
    (void)fputs("  ", stdout);
    print_coloured(print_colour_of_state(member_text(run, "outcome")), member_text(run, "outcome"));
    (void)printf("  %s  on ", print_duration(member_number(run, "duration"), took));
    print_text(stdout, member_text(run, "node"));
    if (member_text(run, "message") != NULL) {
        (void)fputs("  ", stdout);
        print_text(stdout, member_text(run, "message"));
    }
    (void)fputc('\n', stdout);
    if (steps != NULL)
        jobs_print_lines(str_of(steps));
}
