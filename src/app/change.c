#include "app/change.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app/client.h"
#include "app/exit_code.h"
#include "app/filter.h"
#include "app/print.h"
#include "base/auto.h"
#include "base/clock.h"
#include "core/units.h"

enum { PORTION = 100, BAR = 40, BAR_EVERY_US = CLOCK_S / 5 };

/* ---- those that are named ---- */

static void change_print_result(const struct args *a, const json_t *one)
{
    const char *result = member_text(one, "result"), *message = member_text(one, "message");
    bool done = result != NULL && strcmp(result, "done") == 0;

    if (args_flag(a, "json")) {
        print_json(one);
        return;
    }
    print_text(stdout, member_text(one, "id"));
    (void)fputs("  ", stdout);
    if (!done || message == NULL)
        print_coloured(done ? PRINT_GOOD : PRINT_WARN, result != NULL ? result : "?");
    (void)fputs(!done && message != NULL ? ": " : "", stdout);
    if (message != NULL)
        print_text(stdout, message);
    (void)fputc('\n', stdout);
}

/* False: the exit status is in c->exit_code. */
static bool app_change_portion(struct client *c, const struct args *a, const char *query,
                               const char *field, json_t *variables, bool *io_all)
{
    json_auto_t *data = NULL;
    const json_t *one;
    size_t i;

    if (!client_graphql(c, query, variables, &data))
        return false;
    if (!json_is_array(json_object_get(data, field))) {
        (void)client_odd(c, "no list of results");
        return false;
    }
    json_array_foreach(json_object_get(data, field), i, one)
    {
        const char *result = member_text(one, "result");

        change_print_result(a, one);
        *io_all = *io_all && result != NULL && strcmp(result, "done") == 0;
    }
    return true;
}

int change_documents(const struct args *a, const char *query, const char *field, json_t *variables)
{
    AUTO(client_close) struct client c = { 0 };
    json_auto_t *rest = variables;
    bool all = true;

    for (size_t i = 0; i < a->operand_count; i++)
        if (!args_name(a, i))
            return EXIT_USAGE;
    if (!client_open(&c, a))
        return c.exit_code;
    for (size_t from = 0; from < a->operand_count; from += PORTION) {
        json_t *ids = json_array(), *mine = json_copy(rest);

        for (size_t i = from; i < a->operand_count && i < from + PORTION; i++)
            if (json_array_append_new(ids, json_string(a->operand[i])) != 0) {
                json_decref(ids);
                json_decref(mine);
                return args_wrong(a, "an id is text in UTF-8");
            }
        (void)json_object_set_new(mine, "ids", ids);
        if (!app_change_portion(&c, a, query, field, mine, &all))
            return c.exit_code;
    }
    return all ? EXIT_DONE : EXIT_NO;
}

/* ---- by the filter ---- */

struct bulk {
    struct client c;
    const struct args *args;
    const struct change_bulk *what;
    json_t *filter;
    json_t *begin; /* cursor of the count: documents that arrived later are not changed */
    struct units_rate rate;
    int64_t portion;    /* documents per request */
    int64_t started_us; /* when the changes began */
    int64_t count, done, skipped;
    int64_t told_us;
    bool bar;
    const char *by;
    char name[CHANGE_BY];
};

static void bulk_done(struct bulk *b)
{
    client_close(&b->c);
    json_decref(b->filter);
    json_decref(b->begin);
    json_decref(b->what->variables);
}

static json_t *variables_of(const struct bulk *b, bool dry, json_t *after)
{
    json_t *v = json_pack("{s:O,s:b,s:O?,s:I,s:s}", "filter", b->filter, "dry", dry, "after", after,
                          "portion", (json_int_t)b->portion, "by", b->by);

    if (v != NULL && b->what->variables != NULL)
        (void)json_object_update(v, b->what->variables);
    return v;
}

/* Sends one portion; *io_after is replaced by the cursor of the next one, NULL after the last. */
static bool call(struct bulk *b, bool dry, json_t **io_after, json_t **ret_data)
{
    const char *takes = b->what->takes != NULL ? b->what->takes : "";
    char query[500];

    (void)snprintf(query, sizeof query,
                   "mutation($filter: %s, $dry: Boolean, $after: String, $portion: Int,"
                   " $by: String%s) { %s(filter: $filter, dry: $dry, after: $after,"
                   " portion: $portion, by: $by%s) { count done skipped begin next } }",
                   b->what->filter, takes, b->what->field,
                   b->what->gives != NULL ? b->what->gives : "");
    if (!client_graphql(&b->c, query, variables_of(b, dry, *io_after), ret_data))
        return false;
    const json_t *answer = json_object_get(*ret_data, b->what->field);
    json_t *next = json_object_get(answer, "next"), *begin = json_object_get(answer, "begin");

    if (!json_is_integer(json_object_get(answer, "count")) || !json_is_string(begin)) {
        (void)client_odd(&b->c, "no count in it, or not where it began");
        return false;
    }
    if (b->begin == NULL)
        b->begin = json_incref(begin);
    if (json_is_string(next) && *io_after != NULL && json_equal(next, *io_after)) {
        (void)client_odd(&b->c, "the next portion is the same portion");
        return false;
    }
    json_decref(*io_after);
    *io_after = json_is_string(next) ? json_incref(next) : NULL;
    return true;
}

static void draw_bar(struct bulk *b, bool last)
{
    int64_t now = clock_mono_us(), at = b->done + b->skipped;
    int64_t filled = b->count > 0 ? at * BAR / b->count : BAR;

    if (!b->bar || (!last && now - b->told_us < BAR_EVERY_US))
        return;
    b->told_us = now;
    filled = filled > BAR ? BAR : filled;
    (void)fprintf(stderr, "\r[%.*s%*s] %lld of %lld", (int)filled,
                  "########################################", (int)(BAR - filled), "",
                  (long long)at, (long long)b->count);
    if (last)
        (void)fputc('\n', stderr);
    (void)fflush(stderr);
}

/* Singular or plural. */
static const char *things(const struct bulk *b, int64_t n)
{
    return n == 1 ? b->what->one : b->what->many;
}

static bool is_yes(void)
{
    char line[16];

    return fgets(line, sizeof line, stdin) != NULL && (line[0] == 'y' || line[0] == 'Y');
}

/* Asks for confirmation.  False: do not continue; *ret_code is the exit status. */
static bool change_may_go_on(const struct bulk *b, int *ret_code)
{
    const char *verb = b->what->verb;

    if (args_flag(b->args, "yes"))
        return true;
    if (!isatty(STDIN_FILENO)) {
        *ret_code = print_fail(EXIT_USAGE, "%lld %s; say --yes to %s %s", (long long)b->count,
                               things(b, b->count), verb, b->count == 1 ? "it" : "them");
        return false;
    }
    (void)fprintf(stderr, "%s %lld %s? [y/N] ", verb, (long long)b->count, things(b, b->count));
    (void)fflush(stderr);
    if (is_yes())
        return true;
    *ret_code = print_fail(EXIT_NO, "nothing was changed");
    return false;
}

static void change_tell_end(const struct bulk *b)
{
    if (args_flag(b->args, "json")) {
        json_auto_t *line = json_pack("{s:I,s:I,s:I}", "count", (json_int_t)b->count, "done",
                                      (json_int_t)b->done, "skipped", (json_int_t)b->skipped);

        print_json(line);
        return;
    }
    (void)printf("%lld %s %s", (long long)b->done, things(b, b->done), b->what->done);
    if (b->skipped > 0)
        (void)printf(", %lld left alone: they are being worked on, went on meanwhile, or go with "
                     "their batch",
                     (long long)b->skipped);
    (void)fputc('\n', stdout);
}

static bool count_first(struct bulk *b)
{
    const char *place = args_text(b->args, "after");
    json_auto_t *after = place != NULL ? json_string(place) : NULL;

    do {
        json_auto_t *data = NULL;

        if (!call(b, true, &after, &data))
            return false;
        b->count += member_number(json_object_get(data, b->what->field), "count");
    } while (after != NULL);
    return true;
}

/* Sleeps so that the average rate since the start stays within --rate. */
static void change_rest(const struct bulk *b)
{
    int64_t parts = (b->done + b->skipped) / (int64_t)b->rate.count;
    int64_t more = (b->done + b->skipped) % (int64_t)b->rate.count;
    int64_t due =
        b->started_us + parts * b->rate.per_us + more * b->rate.per_us / (int64_t)b->rate.count;

    clock_sleep_us(due - clock_mono_us());
}

static bool go_on(struct bulk *b)
{
    json_auto_t *after = json_incref(b->begin);

    b->started_us = clock_mono_us();
    do {
        json_auto_t *data = NULL;

        if (!call(b, false, &after, &data)) {
            (void)fprintf(stderr, "%lld of %lld were done", (long long)b->done,
                          (long long)b->count);
            if (after != NULL)
                (void)fprintf(stderr, "; --after %s goes on", json_string_value(after));
            (void)fputc('\n', stderr);
            return false;
        }
        b->done += member_number(json_object_get(data, b->what->field), "done");
        b->skipped += member_number(json_object_get(data, b->what->field), "skipped");
        draw_bar(b, false);
        if (after != NULL)
            change_rest(b);
    } while (after != NULL);
    draw_bar(b, true);
    return true;
}

/* Reads --rate.  A portion is what the rate allows in a second, but at least one document. */
static bool change_read_rate(struct bulk *b)
{
    const char *text = args_text(b->args, "rate");
    int64_t per_s;
    struct err err;

    b->rate = (struct units_rate){ CHANGE_RATE, CLOCK_S };
    if (text != NULL && (!units_rate(str_of(text), &b->rate, &err) || b->rate.count == 0 ||
                         b->rate.count > ARGS_NUMBER_MAX)) {
        (void)args_wrong(b->args, "--rate takes 100/s, 50/m or 10/h, not \"%s\"", text);
        return false;
    }
    per_s = (int64_t)b->rate.count * CLOCK_S / b->rate.per_us;
    b->portion = per_s < 1 ? 1 : per_s < b->what->portion ? per_s : b->what->portion;
    return true;
}

static void tell_count(const struct bulk *b)
{
    json_auto_t *line = json_pack("{s:I}", "count", (json_int_t)b->count);

    if (args_flag(b->args, "json"))
        print_json(line);
    else
        (void)printf("%lld %s\n", (long long)b->count, things(b, b->count));
}

static int app_change(struct bulk *b)
{
    int code = EXIT_DONE;

    if (!client_open(&b->c, b->args) || !count_first(b))
        return b->c.exit_code;
    if (args_flag(b->args, "dry")) {
        tell_count(b);
        return EXIT_DONE;
    }
    if (b->count > 0 && !change_may_go_on(b, &code))
        return code;
    if (b->count > 0 && !go_on(b))
        return b->c.exit_code;
    change_tell_end(b);
    return EXIT_DONE;
}

int change_in_bulk(const struct args *a, const struct change_bulk *what)
{
    AUTO(bulk_done) struct bulk b = { .args = a, .what = what, .bar = isatty(STDERR_FILENO) };
    bool any;

    b.by = change_by(a, b.name);
    b.filter = filter_of(a, &any);
    if (b.filter == NULL || !change_read_rate(&b))
        return EXIT_USAGE;
    if (any && args_flag(a, "all"))
        return args_wrong(a, "--all means every %s: leave out the filters", what->one);
    if (!any && !args_flag(a, "all"))
        return args_wrong(a, "say which ones: a filter, or --all");
    return app_change(&b);
}

/* ---- who ---- */

const char *change_by(const struct args *a, char room[static CHANGE_BY])
{
    const char *given = args_text(a, "by");
    struct passwd entry, *found = NULL;
    char texts[4096];

    if (given != NULL)
        return given;
    if (getpwuid_r(geteuid(), &entry, texts, sizeof texts, &found) != 0 || found == NULL ||
        !str_is_utf8(str_of(entry.pw_name)))
        return "";
    (void)snprintf(room, CHANGE_BY, "%s", entry.pw_name);
    return room;
}
