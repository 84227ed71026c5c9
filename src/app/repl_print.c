#include "app/repl_print.h"

#include <stdio.h>
#include <string.h>

#include "app/print.h"
#include "base/auto.h"

/* ---- names ---- */

bool repl_name_read(const struct args *a, size_t operand, bool needs_table, struct repl_name *ret)
{
    const char *text = a->operand[operand], *slash = strchr(text, '/');
    size_t len = slash != NULL ? (size_t)(slash - text) : strlen(text);

    if (!args_name(a, operand))
        return false;
    if (len == 0 || len >= sizeof ret->link || (slash != NULL && slash[1] == '\0') ||
        (slash == NULL && needs_table)) {
        (void)args_wrong(a, "%s is LINK/TABLE, such as orders/customer, not \"%s\"",
                         needs_table ? "the operand" : "the operand, if not LINK,", text);
        return false;
    }
    memcpy(ret->link, text, len);
    ret->link[len] = '\0';
    ret->table = slash != NULL ? slash + 1 : NULL;
    return true;
}

/* ---- cells ---- */

static const char *repl_lag_cell(const json_t *table, struct buf *room)
{
    char text[PRINT_SHORT];

    if (!json_is_integer(json_object_get(table, "lag")))
        return NULL;
    buf_puts(room, print_duration(member_number(table, "lag"), text));
    return room->ptr;
}

/* "1200 of 5000" */
static const char *repl_load_cell(const json_t *table, struct buf *room)
{
    const char *stands = member_text(table, "stands");

    if (stands == NULL || strcmp(stands, "loading") != 0)
        return NULL;
    buf_printf(room, "%lld of %lld", (long long)member_number(table, "loadRows"),
               (long long)member_number(table, "loadTotal"));
    return room->ptr;
}

static const char *repl_verified_cell(const json_t *table, struct buf *room)
{
    const json_t *pass = json_object_get(table, "lastPass");
    const char *result = member_text(pass, "result"), *ended = member_text(pass, "ended");
    char text[PRINT_SHORT];

    if (result == NULL)
        return "never";
    buf_printf(room, "%s%s%s", result, ended != NULL ? " " : "",
               ended != NULL ? print_time(ended, text) : "");
    return room->ptr;
}

static const char *repl_message_cell(const json_t *table, struct buf *room)
{
    const char *reason = member_text(table, "reason"), *message = member_text(table, "message");

    if (message == NULL && reason == NULL)
        return member_text(table, "error");
    buf_printf(room, "%s%s%s", reason != NULL ? reason : "",
               reason != NULL && message != NULL ? ": " : "", message != NULL ? message : "");
    return room->ptr;
}

const struct list_column repl_table_columns[] = {
    { "JOB", "job" },
    { "STATE", "stands", .is_state = true },
    { "LAG", .cell = repl_lag_cell },
    { "BACKLOG", "backlog", LIST_NUMBER },
    { "LOADED", .cell = repl_load_cell },
    { "WRITTEN", "written", LIST_NUMBER },
    { "SET ASIDE", "setAside", LIST_NUMBER },
    { "CONFLICTS", "conflicts", LIST_NUMBER },
    { "VERIFIED", .cell = repl_verified_cell },
    { "MESSAGE", .cell = repl_message_cell },
    { 0 },
};

static const char *repl_row_name_cell(const json_t *row, struct buf *room)
{
    const char *link = member_text(row, "link"), *table = member_text(row, "table");

    buf_printf(room, "%s/%s", link != NULL ? link : "", table != NULL ? table : "");
    return room->ptr;
}

static const char *repl_row_due_cell(const json_t *row, struct buf *room)
{
    const char *kind = member_text(row, "kind");
    char text[PRINT_SHORT];

    if (member_true(row, "discarded"))
        return "discarded";
    if (kind != NULL && strcmp(kind, "conflict") == 0)
        return "-";
    buf_puts(room, print_time(member_text(row, "due"), text));
    return room->ptr;
}

static const char *repl_row_peer_cell(const json_t *row, struct buf *room)
{
    const char *peer = member_text(row, "peer");

    (void)room;
    return peer != NULL ? peer : "here";
}

const struct list_column repl_row_columns[] = {
    { "ID", "id" },
    { "TABLE", .cell = repl_row_name_cell },
    { "KEY", "key" },
    { "KIND", "kind" },
    { "BY", .cell = repl_row_peer_cell },
    { "FIRST", "first", LIST_TIME },
    { "TRIES", "tries", LIST_NUMBER },
    { "NEXT TRY", .cell = repl_row_due_cell },
    { "WHY", "why" },
    { 0 },
};

/* ---- one table ---- */

static void repl_print_given(const char *label, const json_t *object, const char *member)
{
    if (member_text(object, member) != NULL)
        print_field(label, member_text(object, member));
}

static void repl_print_time(const char *label, const json_t *object, const char *member)
{
    char text[PRINT_SHORT];

    if (member_text(object, member) != NULL)
        print_field(label, print_time(member_text(object, member), text));
}

static void repl_print_number(const char *label, const json_t *object, const char *member)
{
    char text[PRINT_SHORT];

    (void)snprintf(text, sizeof text, "%lld", (long long)member_number(object, member));
    print_field(label, text);
}

void repl_print_pass(const json_t *pass)
{
    char text[PRINT_SHORT], line[PRINT_LINE];

    (void)snprintf(line, sizeof line, "%s, pass %s (%s)", member_text(pass, "result"),
                   member_text(pass, "id"), member_text(pass, "mode"));
    print_field("verified", line);
    repl_print_time("began", pass, "began");
    repl_print_time("ended", pass, "ended");
    (void)snprintf(line, sizeof line, "%lld at the source, %lld at the destination",
                   (long long)member_number(pass, "rowsSource"),
                   (long long)member_number(pass, "rowsDest"));
    print_field("rows", line);
    (void)snprintf(
        line, sizeof line, "%lld missing, %lld extra, %lld different, %lld moving",
        (long long)member_number(pass, "missing"), (long long)member_number(pass, "extra"),
        (long long)member_number(pass, "different"), (long long)member_number(pass, "moving"));
    print_field("found", line);
    if (member_number(pass, "repaired") > 0)
        repl_print_number("repaired", pass, "repaired");
    if (member_number(pass, "skipped") > 0)
        repl_print_number("not read", pass, "skipped");
    print_field("compared", print_size(member_number(pass, "bytes"), text));
    repl_print_given("message", pass, "message");
    repl_print_given("for", pass, "by");
}

void repl_print_table(const json_t *table)
{
    char text[PRINT_SHORT], line[PRINT_LINE];

    print_field("table", member_text(table, "job"));
    print_field("state", member_text(table, "stands"));
    repl_print_given("reason", table, "reason");
    repl_print_given("message", table, "message");
    repl_print_given("remedy", table, "remedy");
    repl_print_time("since", table, "since");
    repl_print_time("current", table, "current");
    if (json_is_integer(json_object_get(table, "lag")))
        print_field("lag", print_duration(member_number(table, "lag"), text));
    repl_print_number("backlog", table, "backlog");
    if (member_number(table, "loadTotal") > 0) {
        (void)snprintf(line, sizeof line, "%lld of about %lld row%s",
                       (long long)member_number(table, "loadRows"),
                       (long long)member_number(table, "loadTotal"),
                       member_number(table, "loadTotal") == 1 ? "" : "s");
        print_field("loaded", line);
    }
    repl_print_number("written", table, "written");
    repl_print_number("removed", table, "removed");
    print_field("bytes", print_size(member_number(table, "bytes"), text));
    repl_print_number("set aside", table, "setAside");
    if (member_number(table, "conflicts") > 0)
        repl_print_number("conflicts", table, "conflicts");
    print_field("job", member_text(table, "jobState"));
    repl_print_given("error", table, "error");
    if (json_is_object(json_object_get(table, "lastPass")))
        repl_print_pass(json_object_get(table, "lastPass"));
}

/* ---- a plan ---- */

/* A text of several lines, as it is but for control characters. */
static void repl_print_lines(const char *text)
{
    struct str rest = str_of(text), one;

    while (rest.len > 0) {
        rest = str_cut(rest, '\n', &one);
        for (size_t i = 0; i < one.len; i++) {
            unsigned char c = (unsigned char)one.ptr[i];

            (void)putchar((c < 0x20 && c != '\t') || c == 0x7f ? '?' : c);
        }
        (void)putchar('\n');
    }
}

static void repl_print_planned(const json_t *table)
{
    const json_t *problems = json_object_get(table, "problems"), *one;
    size_t i;

    (void)fputs("-- table ", stdout);
    print_text(stdout, member_text(table, "table"));
    if (member_text(table, "columns") != NULL) {
        (void)fputs(": ", stdout);
        print_text(stdout, member_text(table, "columns"));
    }
    if (member_true(table, "installed"))
        (void)fputs("; installed", stdout);
    (void)putchar('\n');
    json_array_foreach(problems, i, one)
    {
        (void)fputs("--   does not fit: ", stdout);
        print_text(stdout, json_string_value(one));
        (void)putchar('\n');
    }
}

void repl_print_plan(const json_t *plan, bool removal)
{
    const json_t *statements = json_object_get(plan, "statements"), *one;
    const json_t *tables = json_object_get(plan, "tables");
    size_t i;

    json_array_foreach(tables, i, one) repl_print_planned(one);
    if (json_array_size(statements) == 0)
        (void)printf("-- nothing to %s\n", removal ? "remove" : "install");
    json_array_foreach(statements, i, one)
    {
        (void)fputs("\n-- database ", stdout);
        print_text(stdout, member_text(one, "database"));
        (void)fputs(": ", stdout);
        print_text(stdout, member_text(one, "purpose"));
        (void)putchar('\n');
        if (member_text(one, "text") != NULL)
            repl_print_lines(member_text(one, "text"));
    }
}

/* ---- a diff ---- */

/* "different (confirmed)", or how both sides stand to each other now. */
static void repl_print_found(const json_t *row)
{
    const char *found = member_text(row, "found"), *state = member_text(row, "state");

    if (found != NULL)
        (void)printf("  %s (%s)", found, state != NULL ? state : "");
    if (member_true(row, "same"))
        (void)fputs(member_true(row, "source") ? "  the same now" : "  on neither side now",
                    stdout);
    else if (!member_true(row, "source"))
        (void)fputs("  not at the source", stdout);
    else if (!member_true(row, "dest"))
        (void)fputs("  not at the destination", stdout);
    (void)putchar('\n');
}

void repl_print_diff(const json_t *diff)
{
    const json_t *rows = json_object_get(diff, "items"), *row, *cell;
    size_t i, k;

    json_array_foreach(rows, i, row)
    {
        (void)fputs("key ", stdout);
        print_text(stdout, member_text(row, "key"));
        repl_print_found(row);
        json_array_foreach(json_object_get(row, "cells"), k, cell)
        {
            bool same = member_true(cell, "same");

            if (!member_true(row, "source") && !member_true(row, "dest"))
                continue;
            (void)fputs(same ? "    " : "  * ", stdout);
            print_text(stdout, member_text(cell, "column"));
            (void)fputs(": ", stdout);
            print_text(stdout, member_text(cell, "source"));
            if (!same) {
                (void)fputs(" | ", stdout);
                print_text(stdout, member_text(cell, "dest"));
            }
            (void)putchar('\n');
        }
    }
}

/* ---- why ---- */

void repl_print_explained(const json_t *table, const json_t *runs)
{
    const json_t *sentences = json_object_get(table, "explanation"), *one;
    char ended[PRINT_SHORT], took[PRINT_SHORT];
    size_t i;

    json_array_foreach(sentences, i, one)
    {
        print_text(stdout, json_string_value(one));
        (void)putchar('\n');
    }
    if (json_array_size(runs) > 0)
        (void)printf("\nThe last runs of its job that are logged:\n");
    json_array_foreach(runs, i, one)
    {
        (void)printf("  %s  ", print_time(member_text(one, "ended"), ended));
        print_coloured(print_colour_of_state(member_text(one, "outcome")),
                       member_text(one, "outcome"));
        (void)printf("  %s  ", print_duration(member_number(one, "duration"), took));
        print_text(stdout, member_text(one, "message"));
        (void)putchar('\n');
    }
}
