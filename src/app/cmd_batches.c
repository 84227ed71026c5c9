/* cmd_batches.c - `waybill batches`: what is gathered, and when it goes. */
#include <string.h>

#include "app/client.h"
#include "app/cmd.h"
#include "app/exit_code.h"
#include "app/print.h"
#include "base/auto.h"

#define BATCH_FIELDS                                                                              \
    "id name route receiver part state count bytes opened closes closed ended why closedBy slot " \
    "document error { code message }"

static void add_row(struct print_table *t, const json_t *b)
{
    const char *closed = member_text(b, "closed"), *closes = member_text(b, "closes");
    const json_t *error = json_object_get(b, "error");
    char text[PRINT_SHORT];

    print_table_cell(t, member_text(b, "id"));
    print_table_cell(t, member_text(b, "name"));
    print_table_cell(t, member_text(b, "receiver"));
    print_table_cell(t, member_text(b, "state"));
    (void)snprintf(text, sizeof text, "%lld", (long long)member_number(b, "count"));
    print_table_cell(t, text);
    print_table_cell(t, print_size(member_number(b, "bytes"), text));
    print_table_cell(t, print_time(member_text(b, "opened"), text));
    closes = closed != NULL ? closed : closes;
    print_table_cell(t, closes != NULL ? print_time(closes, text) : NULL);
    print_table_cell(t, member_text(b, "why"));
    print_table_cell(t, json_is_object(error) ? member_text(error, "message")
                                              : member_text(b, "document"));
}

/* Page by page; `fields` are what is asked for of each. */
static int list(const struct args *a, const char *name, bool ended, const char *query)
{
    static const char *const heads[] = { "ID",    "NAME",     "RECEIVER", "STATE",
                                         "COUNT", "SIZE",     "OPENED",   "CLOSES",
                                         "WHY",   "DOCUMENT", NULL };
    AUTO(print_table_done) struct print_table t;
    AUTO(client_close) struct client c = { 0 };
    char after[32] = "";
    bool more = true;

    print_table_init(&t, heads);
    if (!client_open(&c, a))
        return c.exit_code;
    while (more) {
        json_auto_t *data = NULL;
        json_t *variables = json_pack("{s:s?,s:b,s:s?}", "name", name, "ended", ended, "after",
                                      after[0] != '\0' ? after : NULL);
        const json_t *b, *page;
        size_t i;

        if (variables == NULL)
            return args_wrong(a, "a name is text in UTF-8");
        if (!client_graphql(&c, query, variables, &data))
            return c.exit_code;
        page = json_object_get(data, "batches");
        if (!json_is_array(json_object_get(page, "batches")))
            return client_odd(&c, "no list of batches");
        json_array_foreach(json_object_get(page, "batches"), i, b)
        {
            if (args_flag(a, "json"))
                print_json(b);
            else
                add_row(&t, b);
        }
        if (!args_flag(a, "json"))
            print_table_page(&t);
        more = member_text(page, "next") != NULL;
        (void)snprintf(after, sizeof after, "%s", more ? member_text(page, "next") : "");
    }
    return EXIT_DONE;
}

static int run_ls(const struct args *a)
{
    return list(
        a, a->operand[0], args_flag(a, "all"),
        "query($name: String, $ended: Boolean, $after: String)"
        " { batches(name: $name, ended: $ended, after: $after) { next batches { " BATCH_FIELDS
        " } } }");
}

/* ---- one ---------------------------------------------------------------------------------------
 */

static void line(const char *label, const char *text)
{
    if (text == NULL)
        return;
    (void)printf("%-10s", label);
    print_text(stdout, text);
    (void)fputc('\n', stdout);
}

static void time_line(const char *label, const char *utc)
{
    char text[PRINT_SHORT];

    if (utc != NULL)
        line(label, print_time(utc, text));
}

static void show(const json_t *b)
{
    const json_t *error = json_object_get(b, "error"), *id;
    char text[PRINT_SHORT];
    size_t i;

    line("batch", member_text(b, "id"));
    line("name", member_text(b, "name"));
    line("route", member_text(b, "route"));
    line("receiver", member_text(b, "receiver"));
    line("part", member_text(b, "part"));
    line("state", member_text(b, "state"));
    (void)printf("%-10s%lld, %s\n", "documents", (long long)member_number(b, "count"),
                 print_size(member_number(b, "bytes"), text));
    time_line("opened", member_text(b, "opened"));
    time_line("closes", member_text(b, "closes"));
    time_line("closed", member_text(b, "closed"));
    line("by", member_text(b, "why"));
    line("who", member_text(b, "closedBy"));
    time_line("time", member_text(b, "slot"));
    time_line("ended", member_text(b, "ended"));
    line("document", member_text(b, "document"));
    if (json_is_object(error)) {
        line("code", member_text(error, "code"));
        line("message", member_text(error, "message"));
    }
    json_array_foreach(json_object_get(b, "memberIds"), i, id)
    {
        line(i == 0 ? "members" : "", json_string_value(id));
    }
}

/* The newest of that name. */
static int run_show(const struct args *a)
{
    AUTO(client_close) struct client c = { 0 };
    json_auto_t *data = NULL;

    if (!args_name(a, 0))
        return EXIT_USAGE;
    if (!client_open(&c, a))
        return c.exit_code;
    json_t *variables = json_pack("{s:s}", "name", a->operand[0]);

    if (variables == NULL)
        return args_wrong(a, "a name is text in UTF-8");
    if (!client_graphql(&c,
                        "query($name: String) { batches(name: $name, ended: true, first: 1)"
                        " { batches { " BATCH_FIELDS " memberIds(first: 20) } } }",
                        variables, &data))
        return c.exit_code;
    const json_t *found =
        json_array_get(json_object_get(json_object_get(data, "batches"), "batches"), 0);

    if (found == NULL)
        return print_fail(EXIT_NO, "no document has joined batch %s yet", a->operand[0]);
    if (args_flag(a, "json"))
        print_json(found);
    else
        show(found);
    return EXIT_DONE;
}

static int run_close(const struct args *a)
{
    AUTO(client_close) struct client c = { 0 };
    json_auto_t *data = NULL;

    if (!args_name(a, 0))
        return EXIT_USAGE;
    if (!client_open(&c, a))
        return c.exit_code;
    json_t *variables =
        json_pack("{s:s,s:s?}", "name", a->operand[0], "receiver", args_text(a, "receiver"));

    if (variables == NULL)
        return args_wrong(a, "names are text in UTF-8");
    if (!client_graphql(&c,
                        "mutation($name: String!, $receiver: String)"
                        " { batchClose(name: $name, receiver: $receiver) }",
                        variables, &data))
        return c.exit_code;
    if (args_flag(a, "json")) {
        json_auto_t *closed = json_pack("{s:O}", "closed", json_object_get(data, "batchClose"));

        print_json(closed);
        return EXIT_DONE;
    }
    (void)printf("%lld closed\n", (long long)member_number(data, "batchClose"));
    return EXIT_DONE;
}

static const struct arg_option ls_options[] = {
    { .name = "all", .kind = ARG_FLAG, .help = "also those that have ended" },
    { 0 },
};

static const struct arg_option close_options[] = {
    { .name = "receiver",
      .kind = ARG_TEXT,
      .value = "SYSTEM",
      .help = "only what is for this one" },
    { 0 },
};

const struct verb cmd_batches = {
    .name = "batches",
    .summary = "what is gathered to go together, and when it goes",
    .about = "Documents whose route ends in `batch` join a batch of that name, one per route and\n"
             "receiver.  It closes by its count, bytes, age or times, or by `batches close`; then\n"
             "it becomes a document of its own, which is retried, held and shown as any other.\n"
             "Its members fare as it does.\n",
    .example = "waybill batches ls\n"
               "waybill batches show nightly\n"
               "waybill batches close nightly --receiver salsify\n",
    .forms =
        (const struct arg_form[]){
            { .word = "ls",
              .usage = "[NAME] [--all]",
              .summary = "batches that have not ended, newest first",
              .most = 1,
              .options = ls_options,
              .common = FORM_NODE | FORM_JSON,
              .run = run_ls },
            { .word = "show",
              .usage = "NAME",
              .summary = "the newest batch of that name, with its first documents",
              .least = 1,
              .most = 1,
              .common = FORM_NODE | FORM_JSON,
              .run = run_show },
            { .word = "close",
              .usage = "NAME [--receiver SYSTEM]",
              .summary = "close what is open of it now",
              .least = 1,
              .most = 1,
              .options = close_options,
              .common = FORM_NODE | FORM_JSON,
              .run = run_close },
            { 0 } },
};
