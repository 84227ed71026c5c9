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

/* Prints a time on the clock of the job's zone, and in UTC; *io_offset_s: that of the time before.
 */
static void jobs_node_print_time(const struct zone *zone, const char *utc, int64_t *io_offset_s)
{
    char local[JOBS_NEXT_LOCAL];
    struct err err;
    int64_t us;

    if (!when_parse(str_of(utc), 0, &us, &err))
        return;
    int64_t at_s = civil_floor(us, CLOCK_S), offset_s = zone_local(zone, at_s) - at_s;

    (void)printf("%-36s %.19sZ", jobs_next_local(zone, us, false, local), utc);
    if (offset_s != *io_offset_s)
        (void)printf("  the clock went %s by %d min", offset_s > *io_offset_s ? "forward" : "back",
                     abs((int)(offset_s - *io_offset_s)) / 60);
    (void)putchar('\n');
    *io_offset_s = offset_s;
}

static void jobs_node_print_json(const char *job, const struct zone *zone, const char *utc)
{
    char local[JOBS_NEXT_LOCAL];
    struct err err;
    int64_t us;

    if (!when_parse(str_of(utc), 0, &us, &err))
        return;
    json_auto_t *line = json_pack("{s:s,s:s,s:s}", "job", job, "nominal", utc, "local",
                                  jobs_next_local(zone, us, true, local));

    print_json(line);
}

/* A zone that this machine does not know is shown as UTC. */
static void jobs_node_print(const struct args *a, const json_t *job)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(ZONE_MOST);
    const char *name = member_text(job, "name"), *zone_name = member_text(job, "zone");
    const json_t *times = json_object_get(job, "nextTimes"), *one;
    int64_t now_s = clock_wall_us() / CLOCK_S, offset_s;
    const struct zone *zone;
    struct err err = { 0 };
    size_t i;

    if (zone_name == NULL || !zone_load(str_of(zone_name), &arena, &zone, &err)) {
        zone_name = "UTC";
        (void)zone_load(STR("UTC"), &arena, &zone, &err);
    }
    offset_s = zone_local(zone, now_s) - now_s;
    if (!args_flag(a, "json")) {
        print_text(stdout, name);
        (void)printf("\n%-36s UTC\n", zone_name);
    }
    json_array_foreach(times, i, one)
    {
        if (!json_is_string(one))
            continue;
        if (args_flag(a, "json"))
            jobs_node_print_json(name, zone, json_string_value(one));
        else
            jobs_node_print_time(zone, json_string_value(one), &offset_s);
    }
    if (json_array_size(times) == 0 && !args_flag(a, "json"))
        (void)puts("  no further time");
}

static int jobs_node_named(const struct args *a, struct client *c)
{
    static const char query[] = "query($name: String!, $first: Int)"
                                " { job(name: $name) { name zone nextTimes(first: $first) } }";
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
