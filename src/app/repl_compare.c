/* repl_compare.c - `waybill repl verify|diff|digest`: both sides of tables, compared. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app/ask.h"
#include "app/exit_code.h"
#include "app/print.h"
#include "app/repl_forms.h"
#include "app/repl_print.h"
#include "base/auto.h"

enum { DIFF_PAGE = 20, WAIT_PARTS = 10 };

#define WAIT_LEAST_US (20 * CLOCK_MS)
#define WAIT_MOST_US  (500 * CLOCK_MS)

const struct arg_option repl_verify_options[] = {
    { .name = "mode",
      .kind = ARG_TEXT,
      .value = "MODE",
      .help = "what is compared: full, count, sample or recent (full)" },
    { .name = "repair", .kind = ARG_FLAG, .help = "write what differs to the destination" },
    { .name = "dry-run", .kind = ARG_FLAG, .help = "only say what a repair would do" },
    { .name = "most",
      .kind = ARG_NUMBER,
      .value = "N",
      .help = "with more differences nothing is repaired (as the rule says)" },
    { .name = "wait", .kind = ARG_FLAG, .help = "until it has ended; status 1: not all is equal" },
    { .name = "reason", .kind = ARG_TEXT, .value = "TEXT", .help = "for the audit log" },
    { 0 },
};

const struct arg_option repl_diff_options[] = {
    { .name = "key",
      .kind = ARG_LIST,
      .value = "K",
      .help = "only this row; once for each column of the key" },
    { .name = "pass", .kind = ARG_TEXT, .value = "ID", .help = "findings of this pass (the last)" },
    { .name = "limit", .kind = ARG_NUMBER, .value = "N", .help = "at most N rows (20)" },
    { 0 },
};

const struct arg_option repl_digest_options[] = {
    { .name = "side",
      .kind = ARG_TEXT,
      .value = "SIDE",
      .help = "source or dest (both, one after the other)" },
    { 0 },
};

/* ---- verify ---- */

static int64_t repl_pass_number(const json_t *pass)
{
    const char *id = member_text(pass, "id");
    int64_t number = 0;

    return id != NULL && str_to_i64(str_of(id), &number) ? number : 0;
}

/* The newest pass of a link, to be asked before one is ordered: that may begin, and even end,
 * before the order is answered.  0: there is none. */
static bool repl_newest_pass(const struct args *a, struct client *c, const char *link, int64_t *ret)
{
    json_auto_t *data = NULL;

    if (!ask_node(c, a,
                  "query($link: String!) { linkPasses(link: $link, first: 1) { items { id } } }",
                  json_pack("{s:s}", "link", link), &data))
        return false;
    *ret = repl_pass_number(
        json_array_get(json_object_get(json_object_get(data, "linkPasses"), "items"), 0));
    return true;
}

/* Until the next look: a part of the time that it took so far, so that a short pass is told soon
 * and a long one is not asked for all the time. */
static int64_t repl_wait_us(int64_t began_us)
{
    int64_t us = (clock_mono_us() - began_us) / WAIT_PARTS;

    return us < WAIT_LEAST_US ? WAIT_LEAST_US : us > WAIT_MOST_US ? WAIT_MOST_US : us;
}

/* Waits for the end of a pass of the table that is newer, and was ordered; *ret_data owns it.
 * NULL: the exit status is in c->exit_code. */
static const json_t *repl_await_pass(struct client *c, const json_t *table, int64_t newer,
                                     json_t **ret_data)
{
    int64_t began_us = clock_mono_us();

    for (;;) {
        if (!client_graphql(c,
                            "query($link: String!, $table: String!)"
                            " { linkPasses(link: $link, table: $table, first: 5)"
                            " { items { " LINK_PASS_FIELDS " } } }",
                            json_pack("{s:s,s:s}", "link", member_text(table, "link"), "table",
                                      member_text(table, "table")),
                            ret_data))
            return NULL;
        const json_t *items = json_object_get(json_object_get(*ret_data, "linkPasses"), "items");

        for (size_t i = json_array_size(items); i-- > 0;) { /* the oldest first */
            const json_t *pass = json_array_get(items, i);

            if (repl_pass_number(pass) > newer && member_text(pass, "by") != NULL &&
                member_text(pass, "ended") != NULL)
                return pass;
        }
        json_decref(*ret_data);
        *ret_data = NULL;
        clock_sleep_us(repl_wait_us(began_us));
    }
}

static bool repl_is_equal(const json_t *pass)
{
    const char *result = member_text(pass, "result");

    return result != NULL && (strcmp(result, "ok") == 0 || strcmp(result, "repaired") == 0);
}

static int repl_await(const struct args *a, struct client *c, const json_t *tables, int64_t newer)
{
    const json_t *table;
    int code = EXIT_DONE;
    size_t i;

    json_array_foreach(tables, i, table)
    {
        json_auto_t *data = NULL;
        const json_t *pass = repl_await_pass(c, table, newer, &data);

        if (pass == NULL)
            return c->exit_code;
        if (args_flag(a, "json")) {
            print_json(pass);
        } else {
            print_field("table", member_text(table, "job"));
            repl_print_pass(pass);
        }
        if (!repl_is_equal(pass))
            code = EXIT_NO;
    }
    return code;
}

static int repl_tell_verify(const struct args *a, const json_t *tables)
{
    const json_t *table;
    size_t i;

    json_array_foreach(tables, i, table)
    {
        if (args_flag(a, "json")) {
            print_json(table);
            continue;
        }
        (void)fputs("table ", stdout);
        print_text(stdout, member_text(table, "job"));
        (void)fputs(" is to be verified: see `waybill repl status`\n", stdout);
    }
    return EXIT_DONE;
}

static const char verify_order[] =
    "mutation($link: String!, $table: String, $mode: LinkVerifyMode, $repair: Boolean,"
    " $dry: Boolean, $most: Int, $reason: String) { linkVerify(link: $link,"
    " table: $table, mode: $mode, repair: $repair, dryRun: $dry, most: $most,"
    " reason: $reason) { " LINK_TABLE_FIELDS " } }";

int repl_run_verify(const struct args *a)
{
    const char *mode = args_text(a, "mode");
    AUTO(client_close) struct client c = { 0 };
    json_auto_t *data = NULL;
    struct repl_name name;
    int64_t newest = 0;

    if (mode == NULL)
        mode = "full";
    if (strcmp(mode, "full") != 0 && strcmp(mode, "count") != 0 && strcmp(mode, "sample") != 0 &&
        strcmp(mode, "recent") != 0)
        return args_wrong(a, "--mode takes full, count, sample or recent, not \"%s\"", mode);
    if (args_flag(a, "repair") && strcmp(mode, "full") != 0)
        return args_wrong(a, "--repair goes with --mode full: nothing else finds every row");
    if (!repl_name_read(a, 0, false, &name))
        return EXIT_USAGE;
    json_t *asked = json_pack("{s:s,s:s?,s:s,s:b,s:b,s:s?}", "link", name.link, "table", name.table,
                              "mode", mode, "repair", args_flag(a, "repair"), "dry",
                              args_flag(a, "dry-run"), "reason", args_text(a, "reason"));

    if (asked != NULL && args_number(a, "most", 0) > 0)
        (void)json_object_set_new(asked, "most", json_integer(args_number(a, "most", 0)));
    bool waits = args_flag(a, "wait") && asked != NULL;

    if (waits && !repl_newest_pass(a, &c, name.link, &newest)) {
        json_decref(asked);
        return c.exit_code;
    }
    if (!(waits ? client_graphql(&c, verify_order, asked, &data)
                : ask_node(&c, a, verify_order, asked, &data)))
        return c.exit_code;
    const json_t *tables = json_object_get(data, "linkVerify");

    return waits ? repl_await(a, &c, tables, newest) : repl_tell_verify(a, tables);
}

/* ---- diff ---- */

static const char diff_query[] =
    "query($link: String!, $table: String!, $key: [String!], $pass: ID, $first: Int,"
    " $after: String) { linkDiff(link: $link, table: $table, key: $key, pass: $pass,"
    " first: $first, after: $after) { columns keyColumns items { key found state source dest same"
    " cells { column source dest same } } next pass { " LINK_PASS_FIELDS " } } }";

static void repl_show_diff(const struct args *a, const json_t *diff, int64_t *io_different)
{
    const json_t *row;
    size_t i;

    json_array_foreach(json_object_get(diff, "items"), i, row)
    {
        *io_different += !member_true(row, "same");
        if (args_flag(a, "json"))
            print_json(row);
    }
    if (!args_flag(a, "json"))
        repl_print_diff(diff);
}

/* Page by page; status 1: there are rows that differ now. */
static int repl_diff_pages(const struct args *a, struct client *c, const struct repl_name *name,
                           json_t *keys)
{
    int64_t left = args_number(a, "limit", DIFF_PAGE), different = 0, rows = 0;
    json_auto_t *after = NULL;

    do {
        json_int_t first = left < DIFF_PAGE ? left : DIFF_PAGE;
        json_auto_t *data = NULL;
        json_t *asked = json_pack("{s:s,s:s,s:s?,s:I,s:O?,s:O?}", "link", name->link, "table",
                                  name->table, "pass", args_text(a, "pass"), "first", first, "key",
                                  json_array_size(keys) > 0 ? keys : NULL, "after", after);

        if (asked == NULL)
            return args_wrong(a, "names and keys are text in UTF-8");
        if (!client_graphql(c, diff_query, asked, &data) ||
            !list_next(c, json_object_get(data, "linkDiff"), "items", &after))
            return c->exit_code;
        const json_t *diff = json_object_get(data, "linkDiff");

        if (json_array_size(keys) == 0 && !json_is_object(json_object_get(diff, "pass")))
            return print_fail(EXIT_NO,
                              "%s was never verified, so there are no findings: `waybill repl "
                              "verify %s`, or name a row with --key",
                              a->operand[0], a->operand[0]);
        repl_show_diff(a, diff, &different);
        rows += (int64_t)json_array_size(json_object_get(diff, "items"));
        left -= first;
    } while (after != NULL && left > 0);
    if (rows == 0 && !args_flag(a, "json"))
        (void)printf("the pass has found no differences\n");
    if (after != NULL && !args_flag(a, "json"))
        (void)fprintf(stderr, "there are more: --limit N\n");
    return different > 0 ? EXIT_NO : EXIT_DONE;
}

int repl_run_diff(const struct args *a)
{
    AUTO(client_close) struct client c = { 0 };
    json_auto_t *keys = ask_texts(a, "key");
    struct repl_name name;

    if (keys == NULL)
        return args_wrong(a, "keys are text in UTF-8");
    if (!repl_name_read(a, 0, true, &name))
        return EXIT_USAGE;
    return client_open(&c, a) ? repl_diff_pages(a, &c, &name, keys) : c.exit_code;
}

/* ---- digest ---- */

struct repl_side {
    char digest[80];
    int64_t rows;
};

static bool repl_digest_side(struct client *c, const struct repl_name *name, const char *side,
                             struct repl_side *ret)
{
    bool bar = isatty(STDERR_FILENO) == 1;
    json_auto_t *after = NULL;

    do {
        json_auto_t *data = NULL;

        if (!client_graphql(c,
                            "query($link: String!, $table: String!, $side: LinkSide!,"
                            " $after: String) { linkDigest(link: $link, table: $table, side: $side,"
                            " after: $after) { rows digest next } }",
                            json_pack("{s:s,s:s,s:s,s:O?}", "link", name->link, "table",
                                      name->table, "side", side, "after", after),
                            &data))
            return false;
        const json_t *part = json_object_get(data, "linkDigest"),
                     *next = json_object_get(part, "next");
        const char *digest = member_text(part, "digest");

        ret->rows = member_number(part, "rows");
        (void)snprintf(ret->digest, sizeof ret->digest, "%s", digest != NULL ? digest : "");
        json_decref(after);
        after = json_is_string(next) ? json_incref(json_object_get(part, "next")) : NULL;
        if (bar && after != NULL)
            (void)fprintf(stderr, "\r%s: %lld row%s so far", side, (long long)ret->rows,
                          ret->rows == 1 ? "" : "s");
    } while (after != NULL);
    if (bar)
        (void)fputs("\r\033[K", stderr);
    return true;
}

static void repl_print_digest(const struct args *a, const char *side, const struct repl_side *s)
{
    if (args_flag(a, "json")) {
        json_auto_t *line = json_pack("{s:s,s:I,s:s}", "side", side, "rows", (json_int_t)s->rows,
                                      "digest", s->digest);

        print_json(line);
    } else {
        (void)printf("%-6s  %s  %lld row%s\n", side, s->digest, (long long)s->rows,
                     s->rows == 1 ? "" : "s");
    }
}

int repl_run_digest(const struct args *a)
{
    static const char *const sides[] = { "source", "dest" };
    const char *wanted = args_text(a, "side");
    AUTO(client_close) struct client c = { 0 };
    struct repl_side of[2] = { 0 };
    struct repl_name name;

    if (wanted != NULL && strcmp(wanted, sides[0]) != 0 && strcmp(wanted, sides[1]) != 0)
        return args_wrong(a, "--side takes source or dest, not \"%s\"", wanted);
    if (!repl_name_read(a, 0, true, &name))
        return EXIT_USAGE;
    if (!client_open(&c, a))
        return c.exit_code;
    for (size_t i = 0; i < 2; i++) {
        if (wanted != NULL && strcmp(wanted, sides[i]) != 0)
            continue;
        if (!repl_digest_side(&c, &name, sides[i], &of[i]))
            return c.exit_code;
        repl_print_digest(a, sides[i], &of[i]);
    }
    return wanted != NULL || (of[0].rows == of[1].rows && strcmp(of[0].digest, of[1].digest) == 0)
               ? EXIT_DONE
               : EXIT_NO;
}
