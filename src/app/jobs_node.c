#include "app/jobs_node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/ask.h"
#include "app/exit_code.h"
#include "app/jobs_next.h"
#include "app/list.h"
#include "app/print.h"
#include "app/when.h"
#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"
#include "core/civil.h"
#include "core/zone.h"

enum { SHOWN_OTHERWISE = 10, TIMES_MOST = 100, PAGE = 100, ZONE_MOST = 1 << 20 };

/* ---- the times of one job ---- */

static int64_t jobs_node_time(const json_t *object, const char *member, int64_t otherwise_us)
{
    const char *text = member_text(object, member);
    struct err err;
    int64_t us;

    return text != NULL && when_parse(str_of(text), 0, &us, &err) ? us : otherwise_us;
}

static void jobs_node_read_left(const json_t *coming, struct schedule_next *n)
{
    const json_t *one;
    size_t i;

    json_array_foreach(json_object_get(coming, "left"), i, one)
    {
        const char *reason = member_text(one, "reason");

        for (enum schedule_reason r = 0; reason != NULL && r < SCHEDULE_REASONS; r++)
            if (strcmp(reason, schedule_reason_word(r)) == 0)
                n->left[r] = (struct schedule_left){ .count = member_number(one, "count"),
                                                     .first_us = jobs_node_time(one, "first", 0),
                                                     .last_us = jobs_node_time(one, "last", 0) };
        n->left_more = n->left_more || json_is_true(json_object_get(one, "more"));
    }
}

static enum nominal_clock jobs_node_clock(const char *word)
{
    return word == NULL                   ? NOMINAL_PLAIN
           : strcmp(word, "skipped") == 0 ? NOMINAL_SKIPPED
           : strcmp(word, "first") == 0   ? NOMINAL_FIRST
                                          : NOMINAL_SECOND;
}

/* As jobs_next.c prints what it computes itself. */
static void jobs_node_show(struct jobs_next_showing *s, const json_t *coming)
{
    const char *end = member_text(coming, "end");
    struct schedule_next n = { .nominal_us = jobs_node_time(coming, "nominal", 0),
                               .late = json_is_true(json_object_get(coming, "late")) };

    jobs_node_read_left(coming, &n);
    jobs_next_show_left(s, &n);
    for (enum schedule_end_why why = SCHEDULE_RUNS_OVER; end != NULL && why <= SCHEDULE_NEVER;
         why++)
        if (strcmp(end, schedule_end_word(why)) == 0)
            jobs_next_show_end(s, why);
    if (end == NULL)
        jobs_next_show_run(s, &n, jobs_node_time(coming, "due", s->from_us),
                           jobs_node_clock(member_text(coming, "clock")));
}

/* A zone that this machine does not know is shown as UTC. */
static void jobs_node_print(const struct args *a, const json_t *job)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(ZONE_MOST);
    const char *name = member_text(job, "name"), *zone_name = member_text(job, "zone");
    const json_t *coming = json_object_get(job, "coming"), *one;
    const struct zone *zone;
    struct err err = { 0 };
    size_t i;

    if (zone_name == NULL || !zone_load(str_of(zone_name), &arena, &zone, &err)) {
        zone_name = "UTC";
        (void)zone_load(STR("UTC"), &arena, &zone, &err);
    }
    struct jobs_next_showing s =
        jobs_next_showing(name, zone, args_flag(a, "json"), clock_wall_us());

    if (!s.json) {
        print_text(stdout, name);
        (void)printf("\n%-36s UTC\n", zone_name);
    }
    json_array_foreach(coming, i, one)
    {
        jobs_node_show(&s, one);
    }
    if (json_array_size(coming) == 0 && !s.json)
        (void)puts("  no further time");
}

static int jobs_node_named(const struct args *a, struct client *c)
{
    static const char query[] = "query($name: String!, $first: Int)"
                                " { job(name: $name) { name zone coming(first: $first)"
                                " { nominal due late clock end"
                                " left { reason count more first last } } } }";
    int64_t first = args_number(a, "n", SHOWN_OTHERWISE);

    for (size_t i = 0; i < a->operand_count; i++) {
        json_auto_t *data = NULL;

        if (!args_name(a, i))
            return EXIT_USAGE;
        if (!client_graphql(
                c, query, json_pack("{s:s,s:I}", "name", a->operand[i], "first", (json_int_t)first),
                &data))
            return c->exit_code;
        const json_t *job = json_object_get(data, "job");

        if (!json_is_object(job))
            return print_fail(EXIT_NO, "there is no job %s; see `waybill jobs ls --all`",
                              a->operand[i]);
        jobs_node_print(a, job);
    }
    return EXIT_DONE;
}

/* ---- the next run of each ---- */

static int jobs_node_by_next(const void *a, const void *b)
{
    return strcmp(member_text(*(json_t *const *)a, "next"),
                  member_text(*(json_t *const *)b, "next"));
}

static bool jobs_node_read_all(struct client *c, json_t *rows)
{
    static const char query[] = "query($first: Int, $after: String)"
                                " { jobs(first: $first, after: $after)"
                                " { items { name state next nominal } next } }";
    json_auto_t *after = NULL;

    do {
        json_auto_t *data = NULL, *asked = json_pack("{s:i}", "first", PAGE);
        json_t *one;
        size_t i;

        (void)json_object_set(asked, "after", after != NULL ? after : json_null());
        if (!client_graphql(c, query, json_incref(asked), &data) ||
            !list_next(c, json_object_get(data, "jobs"), "items", &after))
            return false;
        json_array_foreach(json_object_get(json_object_get(data, "jobs"), "items"), i, one)
        {
            if (member_text(one, "next") != NULL)
                (void)json_array_append(rows, one);
        }
    } while (after != NULL);
    return true;
}

static int jobs_node_all(const struct args *a, struct client *c)
{
    static const struct list_column columns[] = {
        { "NEXT", "next", LIST_TIME },
        { "JOB", "name" },
        { "STATE", "state", .is_state = true },
        { "NOMINAL", "nominal", LIST_TIME },
        { 0 },
    };
    static const struct list list = { .columns = columns };
    size_t most = (size_t)args_number(a, "n", SHOWN_OTHERWISE);
    json_auto_t *rows = json_array(), *first = json_array();

    if (!jobs_node_read_all(c, rows))
        return c->exit_code;
    size_t n = json_array_size(rows);
    json_t **all = xcalloc(n + 1, sizeof *all);

    for (size_t i = 0; i < n; i++)
        all[i] = json_array_get(rows, i);
    qsort((void *)all, n, sizeof *all, jobs_node_by_next);
    for (size_t i = 0; i < n && i < most; i++)
        (void)json_array_append(first, all[i]);
    free((void *)all);
    return list_answer(a, c, &list, first);
}

int jobs_node_next(const struct args *a)
{
    AUTO(client_close) struct client c = { 0 };

    if (args_number(a, "n", SHOWN_OTHERWISE) > TIMES_MOST)
        return args_wrong(a, "-n is at most %d for jobs of a node", TIMES_MOST);
    if (!client_open(&c, a))
        return c.exit_code;
    return a->operand_count > 0 ? jobs_node_named(a, &c) : jobs_node_all(a, &c);
}
