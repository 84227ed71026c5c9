/* cmd_batches.c - `waybill batches`: open and closed batches, and when they are sent. */
#include "app/ask.h"
#include "app/client.h"
#include "app/cmd.h"
#include "app/exit_code.h"
#include "app/list.h"
#include "app/print.h"
#include "base/auto.h"

#define BATCH_FIELDS                                                                              \
    "id name route receiver part state count bytes opened closes closed ended why closedBy slot " \
    "document error { code message }"

static const char *closes_cell(const json_t *b, struct buf *room)
{
    const char *closed = member_text(b, "closed"), *closes = member_text(b, "closes");
    char text[PRINT_SHORT];

    if (closed == NULL && closes == NULL)
        return NULL;
    buf_puts(room, print_time(closed != NULL ? closed : closes, text));
    return room->ptr;
}

static const char *document_cell(const json_t *b, struct buf *room)
{
    const json_t *error = json_object_get(b, "error");

    (void)room;
    return json_is_object(error) ? member_text(error, "message") : member_text(b, "document");
}

static int cmd_batches_run_ls(const struct args *a)
{
    static const struct list_column columns[] = {
        { "ID", "id" },
        { "NAME", "name" },
        { "RECEIVER", "receiver" },
        { "STATE", "state" },
        { "COUNT", "count", LIST_NUMBER },
        { "SIZE", "bytes", LIST_SIZE },
        { "OPENED", "opened", LIST_TIME },
        { "CLOSES", .cell = closes_cell },
        { "WHY", "why" },
        { "DOCUMENT", .cell = document_cell },
        { 0 },
    };
    static const struct list list = { .query =
                                          "query($name: String, $ended: Boolean, $after: String)"
                                          " { batches(name: $name, ended: $ended, after: $after)"
                                          " { next batches { " BATCH_FIELDS " } } }",
                                      .field = "batches",
                                      .items = "batches",
                                      .columns = columns };
    AUTO(client_close) struct client c = { 0 };
    json_t *variables =
        json_pack("{s:s?,s:b}", "name", a->operand[0], "ended", args_flag(a, "all"));

    if (variables == NULL)
        return args_wrong(a, "a name is text in UTF-8");
    if (!client_open(&c, a)) {
        json_decref(variables);
        return c.exit_code;
    }
    return list_pages(a, &c, &list, variables);
}

/* ---- one ---- */

static void line(const char *label, const char *text)
{
    if (text != NULL)
        print_field(label, text);
}

static void time_line(const char *label, const char *utc)
{
    char text[PRINT_SHORT];

    if (utc != NULL)
        line(label, print_time(utc, text));
}

static void cmd_batches_show(const json_t *b)
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

/* Shows the newest batch of that name. */
static int cmd_batches_run_show(const struct args *a)
{
    AUTO(client_close) struct client c = { 0 };
    json_auto_t *data = NULL;

    if (!ask_named(&c, a,
                   "query($name: String) { batches(name: $name, ended: true, first: 1)"
                   " { batches { " BATCH_FIELDS " memberIds(first: 20) } } }",
                   "name", &data))
        return c.exit_code;
    const json_t *found =
        json_array_get(json_object_get(json_object_get(data, "batches"), "batches"), 0);

    if (found == NULL)
        return print_fail(EXIT_NO, "no document has joined batch %s yet", a->operand[0]);
    if (args_flag(a, "json"))
        print_json(found);
    else
        cmd_batches_show(found);
    return EXIT_DONE;
}

static int run_close(const struct args *a)
{
    AUTO(client_close) struct client c = { 0 };
    json_auto_t *data = NULL;

    if (!args_name(a, 0))
        return EXIT_USAGE;
    if (!ask_node(
            &c, a,
            "mutation($name: String!, $receiver: String)"
            " { batchClose(name: $name, receiver: $receiver) }",
            json_pack("{s:s,s:s?}", "name", a->operand[0], "receiver", args_text(a, "receiver")),
            &data))
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
             "Its members end in the state of that document.\n",
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
              .run = cmd_batches_run_ls },
            { .word = "show",
              .usage = "NAME",
              .summary = "the newest batch of that name, with its first documents",
              .least = 1,
              .most = 1,
              .common = FORM_NODE | FORM_JSON,
              .run = cmd_batches_run_show },
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
