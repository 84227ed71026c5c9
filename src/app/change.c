#include "app/change.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app/client.h"
#include "app/exit_code.h"
#include "app/filter.h"
#include "app/print.h"
#include "base/auto.h"
#include "base/clock.h"

enum { PORTION = 100, BAR = 40, BAR_EVERY_US = CLOCK_S / 5 };

/* ---- those that are named ------------------------------------------------------------------ */

static void print_result(const struct args *a, const json_t *one)
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

/* False: the exit status is in c. */
static bool change_portion(struct client *c, const struct args *a, const char *query,
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

        print_result(a, one);
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
        if (!change_portion(&c, a, query, field, mine, &all))
            return c.exit_code;
    }
    return all ? EXIT_DONE : EXIT_NO;
}

/* ---- by the filter --------------------------------------------------------------------------- */

struct bulk {
    struct client c;
    const struct args *args;
    const char *field;
    json_t *filter;
    int64_t count, done, skipped;
    int64_t told_us;
    bool bar;
};

static void bulk_done(struct bulk *b)
{
    client_close(&b->c);
    json_decref(b->filter);
}

/* One call; *io_after is replaced by where the next one begins, NULL behind the last. */
static bool call(struct bulk *b, bool dry, json_t **io_after, json_t **ret_data)
{
    char query[300];
    json_t *variables =
        json_pack("{s:O,s:b,s:O?}", "filter", b->filter, "dry", dry, "after", *io_after);

    (void)snprintf(query, sizeof query,
                   "mutation($filter: DeadFilter, $dry: Boolean, $after: String)"
                   " { %s(filter: $filter, dry: $dry, after: $after)"
                   " { count done skipped next } }",
                   b->field);
    if (!client_graphql(&b->c, query, variables, ret_data))
        return false;
    const json_t *answer = json_object_get(*ret_data, b->field);
    json_t *next = json_object_get(answer, "next");

    if (!json_is_integer(json_object_get(answer, "count"))) {
        (void)client_odd(&b->c, "no count in it");
        return false;
    }
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

/* A number of things, in English. */
static const char *letters(int64_t n)
{
    return n == 1 ? "dead letter" : "dead letters";
}

static bool is_yes(void)
{
    char line[16];

    return fgets(line, sizeof line, stdin) != NULL && (line[0] == 'y' || line[0] == 'Y');
}

/* True: go on; else *ret_code is the exit status. */
static bool may_go_on(const struct bulk *b, const char *verb, int *ret_code)
{
    if (args_flag(b->args, "yes"))
        return true;
    if (!isatty(STDIN_FILENO)) {
        *ret_code = print_fail(EXIT_USAGE, "%lld %s; say --yes to %s %s", (long long)b->count,
                               letters(b->count), verb, b->count == 1 ? "it" : "them");
        return false;
    }
    (void)fprintf(stderr, "%s %lld %s? [y/N] ", verb, (long long)b->count, letters(b->count));
    (void)fflush(stderr);
    if (is_yes())
        return true;
    *ret_code = print_fail(EXIT_NO, "nothing was changed");
    return false;
}

static void tell_end(const struct bulk *b, const char *done)
{
    if (args_flag(b->args, "json")) {
        json_auto_t *line = json_pack("{s:I,s:I,s:I}", "count", (json_int_t)b->count, "done",
                                      (json_int_t)b->done, "skipped", (json_int_t)b->skipped);

        print_json(line);
        return;
    }
    (void)printf("%lld %s %s", (long long)b->done, letters(b->done), done);
    if (b->skipped > 0)
        (void)printf(", %lld left alone: they are being worked on, or went on meanwhile",
                     (long long)b->skipped);
    (void)fputc('\n', stdout);
}

static bool count_first(struct bulk *b)
{
    json_auto_t *after = NULL;

    do {
        json_auto_t *data = NULL;

        if (!call(b, true, &after, &data))
            return false;
        b->count += member_number(json_object_get(data, b->field), "count");
    } while (after != NULL);
    return true;
}

static bool go_on(struct bulk *b)
{
    json_auto_t *after = NULL;

    do {
        json_auto_t *data = NULL;

        if (!call(b, false, &after, &data))
            return false;
        b->done += member_number(json_object_get(data, b->field), "done");
        b->skipped += member_number(json_object_get(data, b->field), "skipped");
        draw_bar(b, false);
    } while (after != NULL);
    draw_bar(b, true);
    return true;
}

int change_dead(const struct args *a, const char *field, const char *verb, const char *done)
{
    AUTO(bulk_done) struct bulk b = { .args = a, .field = field, .bar = isatty(STDERR_FILENO) };
    bool any;
    int code;

    b.filter = filter_of(a, &any);
    if (b.filter == NULL)
        return EXIT_USAGE;
    if (any == args_flag(a, "all"))
        return args_wrong(a, any ? "--all means every dead letter: leave out the filters"
                                 : "say which ones: a filter, or --all");
    if (!client_open(&b.c, a) || !count_first(&b))
        return b.c.exit_code;
    if (b.count > 0 && !may_go_on(&b, verb, &code))
        return code;
    if (b.count > 0 && !go_on(&b))
        return b.c.exit_code;
    tell_end(&b, done);
    return EXIT_DONE;
}
