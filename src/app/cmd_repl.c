/* cmd_repl.c - `waybill repl`: tables between databases. */
#include <stdio.h>
#include <string.h>

#include "app/ask.h"
#include "app/cmd.h"
#include "app/exit_code.h"
#include "app/print.h"
#include "app/repl_forms.h"
#include "app/repl_print.h"
#include "base/auto.h"

enum { ROWS_PAGE = 50, RUNS_SHOWN = 5 };

/* ---- looking ---- */

static const json_t *repl_find_table(const json_t *link, const char *name)
{
    const json_t *table;
    size_t i;

    json_array_foreach(json_object_get(link, "tables"), i, table)
    {
        const char *text = member_text(table, "table");

        if (text != NULL && strcmp(text, name) == 0)
            return table;
    }
    return NULL;
}

static int repl_say_no_table(const struct args *a)
{
    return print_fail(EXIT_NO, "there is no %s; see `waybill repl status`", a->operand[0]);
}

/* All links; status 1: one of their tables is stopped. */
static int repl_status_all(const struct args *a)
{
    static const struct list list = { .field = "links", .columns = repl_table_columns };
    AUTO(client_close) struct client c = { 0 };
    json_auto_t *data = NULL, *rows = json_array();
    const json_t *link, *table;
    int code = EXIT_DONE;
    size_t i, k;

    if (!ask_node(&c, a, "{ links { name from to tables { " LINK_TABLE_FIELDS " } } }",
                  json_object(), &data))
        return c.exit_code;
    json_array_foreach(json_object_get(data, "links"), i, link)
        json_array_foreach(json_object_get(link, "tables"), k, table)
    {
        const char *stands = member_text(table, "stands");

        (void)json_array_append(rows, (json_t *)json_array_get(json_object_get(link, "tables"), k));
        if (stands != NULL && strcmp(stands, "stopped") == 0)
            code = EXIT_NO;
    }
    int shown = list_answer(a, &c, &list, rows);

    return shown != EXIT_DONE ? shown : code;
}

static int repl_status_link(const struct args *a, struct client *c, const json_t *link,
                            const struct repl_name *name)
{
    static const struct list list = { .field = "link", .columns = repl_table_columns };
    const json_t *table = name->table != NULL ? repl_find_table(link, name->table) : NULL;
    const char *stands = member_text(table, "stands");

    if (!json_is_object(link) || (name->table != NULL && table == NULL))
        return repl_say_no_table(a);
    if (name->table == NULL)
        return list_answer(a, c, &list, json_object_get(link, "tables"));
    if (args_flag(a, "json"))
        print_json(table);
    else
        repl_print_table(table);
    return stands != NULL && strcmp(stands, "stopped") == 0 ? EXIT_NO : EXIT_DONE;
}

static int repl_run_status(const struct args *a)
{
    AUTO(client_close) struct client c = { 0 };
    json_auto_t *data = NULL;
    struct repl_name name;

    if (a->operand_count == 0)
        return repl_status_all(a);
    if (!repl_name_read(a, 0, false, &name))
        return EXIT_USAGE;
    if (!ask_node(&c, a,
                  "query($name: String!) { link(name: $name) { name from to"
                  " tables { " LINK_TABLE_FIELDS " } } }",
                  json_pack("{s:s}", "name", name.link), &data))
        return c.exit_code;
    return repl_status_link(a, &c, json_object_get(data, "link"), &name);
}

static int repl_run_explain(const struct args *a)
{
    AUTO(client_close) struct client c = { 0 };
    json_auto_t *data = NULL, *more = NULL;
    struct repl_name name;

    if (!repl_name_read(a, 0, true, &name))
        return EXIT_USAGE;
    if (!ask_node(&c, a,
                  "query($name: String!) { link(name: $name) {"
                  " tables { " LINK_TABLE_FIELDS " explanation } } }",
                  json_pack("{s:s}", "name", name.link), &data))
        return c.exit_code;
    const json_t *table = repl_find_table(json_object_get(data, "link"), name.table);

    if (table == NULL)
        return repl_say_no_table(a);
    if (args_flag(a, "json")) {
        print_json(table);
        return EXIT_DONE;
    }
    if (!client_graphql(
            &c,
            "query($job: String, $first: Int) { jobRuns(job: $job, first: $first)"
            " { items { ended outcome duration message } } }",
            json_pack("{s:s,s:i}", "job", member_text(table, "job"), "first", RUNS_SHOWN), &more))
        return c.exit_code;
    repl_print_explained(table, json_object_get(json_object_get(more, "jobRuns"), "items"));
    return EXIT_DONE;
}

/* ---- orders ---- */

static int repl_order(const struct args *a, const char *query, const char *done)
{
    AUTO(client_close) struct client c = { 0 };
    json_auto_t *data = NULL;
    struct repl_name name;

    if (!repl_name_read(a, 0, true, &name))
        return EXIT_USAGE;
    if (!ask_node(&c, a, query,
                  json_pack("{s:s,s:s,s:s?}", "link", name.link, "table", name.table, "reason",
                            args_text(a, "reason")),
                  &data))
        return c.exit_code;
    const json_t *table = json_object_get(data, "table");

    if (member_text(table, "job") == NULL)
        return client_odd(&c, "no table in it");
    if (args_flag(a, "json")) {
        print_json(table);
        return EXIT_DONE;
    }
    (void)fputs("table ", stdout);
    print_text(stdout, member_text(table, "job"));
    (void)printf(" %s\n", done);
    return EXIT_DONE;
}

static int repl_run_resync(const struct args *a)
{
    return repl_order(a,
                      "mutation($link: String!, $table: String!, $reason: String)"
                      " { table: linkResync(link: $link, table: $table, reason: $reason)"
                      " { " LINK_TABLE_FIELDS " } }",
                      "takes all rows again");
}

static int repl_run_go_on(const struct args *a)
{
    return repl_order(a,
                      "mutation($link: String!, $table: String!, $reason: String)"
                      " { table: linkGoOn(link: $link, table: $table, reason: $reason)"
                      " { " LINK_TABLE_FIELDS " } }",
                      "goes on");
}

/* ---- quarantine ---- */

static int repl_quarantine_list(const struct args *a)
{
    static const struct list list = {
        .query = "query($link: String, $table: String, $first: Int, $after: String)"
                 " { linkQuarantine(link: $link, table: $table, first: $first, after: $after)"
                 " { items { " LINK_ROW_FIELDS " } next } }",
        .field = "linkQuarantine",
        .columns = repl_row_columns,
        .page = ROWS_PAGE
    };
    AUTO(client_close) struct client c = { 0 };
    struct repl_name name = { .table = NULL };

    if (a->operand_count > 0 && !repl_name_read(a, 0, false, &name))
        return EXIT_USAGE;
    if (!client_open(&c, a))
        return c.exit_code;
    return list_pages(a, &c, &list,
                      json_pack("{s:s?,s:s?}", "link", a->operand_count > 0 ? name.link : NULL,
                                "table", name.table));
}

static int repl_quarantine_judge(const struct args *a, bool discard)
{
    static const char *const queries[] = {
        "mutation($id: ID!, $reason: String) { was: linkQuarantineRetry(id: $id, reason: $reason) "
        "}",
        "mutation($id: ID!, $reason: String)"
        " { was: linkQuarantineDiscard(id: $id, reason: $reason) }"
    };
    AUTO(client_close) struct client c = { 0 };
    int code = EXIT_DONE;

    if (!client_open(&c, a))
        return c.exit_code;
    for (size_t i = 1; i < a->operand_count; i++) {
        json_auto_t *data = NULL;
        const char *id = a->operand[i];

        if (!client_graphql(&c, queries[discard],
                            json_pack("{s:s,s:s?}", "id", id, "reason", args_text(a, "reason")),
                            &data))
            return c.exit_code;
        if (!member_true(data, "was"))
            code = print_fail(EXIT_NO, "there is no row %s; see `waybill repl quarantine`", id);
        else if (!args_flag(a, "json"))
            (void)printf("row %s is %s\n", id, discard ? "discarded" : "tried again");
    }
    return code;
}

/* `quarantine [LINK[/TABLE]]`, `quarantine retry ID...`, `quarantine discard ID...` */
static int repl_run_quarantine(const struct args *a)
{
    bool retry = a->operand_count > 0 && strcmp(a->operand[0], "retry") == 0;
    bool discard = a->operand_count > 0 && strcmp(a->operand[0], "discard") == 0;

    if (!retry && !discard && a->operand_count > 1)
        return args_wrong(a, "of more than one word the first is retry or discard");
    if ((retry || discard) && a->operand_count < 2)
        return args_wrong(a, "say which rows, by their ids");
    return retry || discard ? repl_quarantine_judge(a, discard) : repl_quarantine_list(a);
}

/* ---- the verb ---- */

static const struct arg_option plan_options[] = {
    { .name = "removal", .kind = ARG_FLAG, .help = "what `remove` would run" },
    { 0 },
};

static const struct arg_option order_options[] = {
    { .name = "reason", .kind = ARG_TEXT, .value = "TEXT", .help = "for the audit log" },
    { 0 },
};

#define TABLE_FORM(word_, usage_, summary_, options_, run_)                               \
    {                                                                                     \
        .word = (word_), .usage = (usage_), .summary = (summary_), .least = 1, .most = 1, \
        .options = (options_), .common = FORM_NODE | FORM_JSON, .run = (run_)             \
    }

const struct verb cmd_repl = {
    .name = "repl",
    .summary = "tables between databases: replicated, and verified",
    .about =
        "A link keeps tables of one database the same in another one; each of its tables is the\n"
        "job LINK/TABLE.  A table is new, loading, current, behind or stopped; a stopped one says\n"
        "why and what to do, and nothing is written there until that was done.\n"
        "\n"
        "`plan` shows what a link needs in its two databases: how the tables fit, and each\n"
        "statement that captures their changes.  `install` shows the same, asks, and runs exactly\n"
        "these; `remove` takes everything away again.\n"
        "\n"
        "`verify` compares both sides, piece by piece, while writers go on.  `diff` shows the\n"
        "rows of what was found, or of one key, as they are now, column by column: those that\n"
        "differ have a `*`, the source stands first.  `digest` counts all rows of a side and sums\n"
        "their digests: equal rows, equal digests.\n"
        "\n"
        "A row that the destination refuses is set aside, and the table goes on.  `quarantine`\n"
        "lists them; each is tried again by itself, at once with `retry`, and never after\n"
        "`discard`, until it changes at the source.  Rows that have lost, because both sides had\n"
        "changed them, are in the same list for 30 days: `retry` writes such a row after all.\n"
        "\n"
        "The status is 1 where a table that is asked for is stopped, does not fit, or differs.\n",
    .example = "waybill repl status\n"
               "waybill repl plan orders\n"
               "waybill repl install orders\n"
               "waybill repl explain orders/customer\n"
               "waybill repl verify orders/customer --wait\n"
               "waybill repl verify orders --repair --dry-run --wait\n"
               "waybill repl diff orders/customer --key 4711\n"
               "waybill repl quarantine retry 12 --reason \"the column is wider now\"\n"
               "waybill repl digest orders/customer\n",
    .forms =
        (const struct arg_form[]){
            { .word = "status",
              .usage = "[LINK[/TABLE]]",
              .summary = "how the tables stand: lag, backlog, what is set aside, last verification",
              .most = 1,
              .common = FORM_NODE | FORM_JSON,
              .run = repl_run_status },
            TABLE_FORM("plan", "LINK[/TABLE] [--removal]",
                       "what it needs in its databases; nothing is changed", plan_options,
                       repl_run_plan),
            TABLE_FORM("install", "LINK[/TABLE] [--yes]", "run the statements of `plan`",
                       repl_change_options, repl_run_install),
            TABLE_FORM("remove", "LINK[/TABLE] [--yes]", "take away what was installed",
                       repl_change_options, repl_run_remove),
            TABLE_FORM("resync", "LINK/TABLE", "take all rows of the source again", order_options,
                       repl_run_resync),
            TABLE_FORM("go-on", "LINK/TABLE", "what it is stopped for is right: go on",
                       order_options, repl_run_go_on),
            TABLE_FORM("verify", "LINK[/TABLE] [--mode MODE] [--repair] [--dry-run] [--wait]",
                       "compare both sides now", repl_verify_options, repl_run_verify),
            TABLE_FORM("diff", "LINK/TABLE [--key K]... [--limit N]",
                       "rows of both sides, column by column", repl_diff_options, repl_run_diff),
            { .word = "quarantine",
              .usage = "[LINK[/TABLE]] | retry ID... | discard ID...",
              .summary = "rows that could not be written",
              .most = 500,
              .options = order_options,
              .common = FORM_NODE | FORM_JSON,
              .run = repl_run_quarantine },
            TABLE_FORM("explain", "LINK/TABLE", "why it is late or stopped, in sentences", NULL,
                       repl_run_explain),
            TABLE_FORM("digest", "LINK/TABLE [--side SIDE]", "count and digest of all rows",
                       repl_digest_options, repl_run_digest),
            { 0 } },
};
