/* cmd_docs.c - `waybill docs`: look at documents. */
#include <string.h>

#include "app/client.h"
#include "app/cmd.h"
#include "app/exit_code.h"
#include "app/print.h"
#include "base/arena.h"
#include "base/auto.h"
#include "base/clock.h"

#define DOCUMENT_FIELDS                                      \
    "id gateway sender receiver type state size sha256 name" \
    " received updated error { code message }"

enum { PAGE = 100, LIMIT = 50 };

/* The options of `docs ls` that are fields of DocumentFilter, by the same name. */
static const char *const text_filters[] = { "state", "gateway", "sender", "receiver",
                                            "type",  "name",    "error",  NULL };
static const char *const time_filters[] = { "since", "until", NULL };

/* NULL has been told. */
static json_t *filter_of(const struct args *a)
{
    json_t *filter = json_object();
    char text[CLOCK_TEXT];

    for (const char *const *f = text_filters; *f != NULL; f++) {
        const char *value = args_text(a, *f);

        if (value != NULL && json_object_set_new(filter, *f, json_string(value)) != 0) {
            (void)args_wrong(a, "--%s is not text in UTF-8", *f);
            json_decref(filter);
            return NULL;
        }
    }
    for (const char *const *f = time_filters; *f != NULL; f++)
        if (args_text(a, *f) != NULL)
            (void)json_object_set_new(filter, *f,
                                      json_string(clock_utc_text(args_number(a, *f, 0), text)));
    return filter;
}

static void add_row(struct print_table *t, const json_t *doc)
{
    static const char *const fields[] = { "gateway", "sender", "receiver", "type", NULL };
    const json_t *error = json_object_get(doc, "error");
    char text[PRINT_SHORT];

    print_table_cell(t, member_text(doc, "id"));
    print_table_cell(t, member_text(doc, "state"));
    print_table_cell(t, print_time(member_text(doc, "received"), text));
    for (const char *const *f = fields; *f != NULL; f++)
        print_table_cell(t, member_text(doc, *f));
    print_table_cell(t, print_size(member_number(doc, "size"), text));
    print_table_cell(t, error != NULL && json_is_object(error) ? member_text(error, "code")
                                                               : member_text(doc, "name"));
}

/* One page of at most `first`; *io_after is freed and replaced by the next cursor, NULL
 * behind the last page. */
static bool fetch_page(struct client *c, json_t *filter, int64_t first, json_t **io_after,
                       json_t **ret_data)
{
    json_t *variables = json_pack("{s:O,s:I,s:O?}", "filter", filter, "first", (json_int_t)first,
                                  "after", *io_after);
    json_t *next;

    if (!client_graphql(c,
                        "query($filter: DocumentFilter, $first: Int, $after: String)"
                        " { documents(filter: $filter, first: $first, after: $after)"
                        " { items { " DOCUMENT_FIELDS " } next } }",
                        variables, ret_data))
        return false;
    const json_t *page = json_object_get(*ret_data, "documents");

    if (!json_is_array(json_object_get(page, "items")))
        return client_odd(c, "no list of documents") == EXIT_DONE;
    next = json_object_get(page, "next");
    if (json_is_string(next) && *io_after != NULL && json_equal(next, *io_after))
        return client_odd(c, "the next page is the same page") == EXIT_DONE;
    json_decref(*io_after);
    *io_after = json_is_string(next) ? json_incref(next) : NULL;
    return true;
}

static int64_t print_page(const struct args *a, struct print_table *t, const json_t *items,
                          int64_t most)
{
    const json_t *doc;
    int64_t shown = 0;
    size_t i;

    json_array_foreach(items, i, doc)
    {
        if (shown == most)
            break;
        shown++;
        if (args_flag(a, "json"))
            print_json(doc);
        else
            add_row(t, doc);
    }
    if (!args_flag(a, "json"))
        print_table_page(t);
    return shown;
}

static int run_ls(const struct args *a)
{
    static const char *const heads[] = { "ID",       "STATE", "RECEIVED", "GATEWAY",       "SENDER",
                                         "RECEIVER", "TYPE",  "SIZE",     "NAME OR ERROR", NULL };
    int64_t limit = args_number(a, "limit", LIMIT), shown = 0;
    AUTO(print_table_done) struct print_table t;
    AUTO(client_close) struct client c = { 0 };
    json_auto_t *filter = filter_of(a);
    json_auto_t *after = NULL;

    print_table_init(&t, heads);
    t.colour_column = 1;
    if (filter == NULL)
        return EXIT_USAGE;
    if (!client_open(&c, a))
        return c.exit_code;
    do {
        json_auto_t *data = NULL;
        int64_t first = limit - shown < PAGE ? limit - shown : PAGE;

        if (!fetch_page(&c, filter, first, &after, &data))
            return c.exit_code;
        shown +=
            print_page(a, &t, json_object_get(json_object_get(data, "documents"), "items"), first);
    } while (after != NULL && shown < limit);
    if (after != NULL && !args_flag(a, "json")) {
        (void)fflush(stdout);
        (void)fprintf(stderr, "the newest %lld; there are more (--limit N)\n", (long long)shown);
    }
    return EXIT_DONE;
}

static void print_field(const char *name, const char *value)
{
    if (value == NULL)
        return;
    (void)printf("%-13s ", name);
    if (strcmp(name, "state") == 0)
        print_coloured(print_colour_of_state(value), value);
    else
        print_text(stdout, value);
    (void)fputc('\n', stdout);
}

static void print_timeline(const json_t *timeline)
{
    static const char *const heads[] = {
        "TIME", "NODE", "STAGE", "OUTCOME", "TOOK", "MESSAGE", NULL
    };
    AUTO(print_table_done) struct print_table t;
    char text[PRINT_SHORT];
    const json_t *e;
    size_t i;

    print_table_init(&t, heads);
    json_array_foreach(timeline, i, e)
    {
        bool took = json_is_integer(json_object_get(e, "duration"));

        print_table_cell(&t, print_time(member_text(e, "time"), text));
        print_table_cell(&t, member_text(e, "node"));
        print_table_cell(&t, member_text(e, "stage"));
        print_table_cell(&t, member_text(e, "outcome"));
        print_table_cell(&t, took ? print_duration(member_number(e, "duration"), text) : NULL);
        print_table_cell(&t, member_text(e, "message"));
    }
    (void)fputc('\n', stdout);
    print_table_page(&t);
}

static void print_document(const json_t *doc)
{
    static const char *const fields[] = { "id",       "state",  "gateway", "sender",
                                          "receiver", "type",   "name",    "contentType",
                                          "sha256",   "caller", NULL };
    const json_t *error = json_object_get(doc, "error");
    char text[PRINT_SHORT];

    for (const char *const *f = fields; *f != NULL; f++)
        print_field(*f, member_text(doc, *f));
    print_field("size", print_size(member_number(doc, "size"), text));
    (void)snprintf(text, sizeof text, "version %lld", (long long)member_number(doc, "config"));
    print_field("config", text);
    print_field("received", print_time(member_text(doc, "received"), text));
    print_field("updated", print_time(member_text(doc, "updated"), text));
    print_field("error", member_text(error, "code"));
    print_field("", member_text(error, "message"));
    print_timeline(json_object_get(doc, "timeline"));
}

static int run_show(const struct args *a)
{
    AUTO(client_close) struct client c = { 0 };
    json_auto_t *data = NULL;
    json_t *variables;

    if (!args_name(a, 0))
        return EXIT_USAGE;
    if (!client_open(&c, a))
        return c.exit_code;
    variables = json_pack("{s:s}", "id", a->operand[0]);
    if (variables == NULL)
        return args_wrong(a, "an id is text in UTF-8");
    if (!client_graphql(&c,
                        "query($id: ID!) { document(id: $id) { " DOCUMENT_FIELDS
                        " contentType config caller"
                        " timeline { time node stage outcome duration message } } }",
                        variables, &data))
        return c.exit_code;
    const json_t *doc = json_object_get(data, "document");

    if (!json_is_object(doc))
        return print_fail(EXIT_NO, "there is no document %s", a->operand[0]);
    if (args_flag(a, "json"))
        print_json(doc);
    else
        print_document(doc);
    return EXIT_DONE;
}

static int run_payload(const struct args *a)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(64 << 10);
    AUTO(client_close) struct client c = { 0 };

    if (!args_name(a, 0))
        return EXIT_USAGE;
    if (!client_open(&c, a))
        return c.exit_code;
    AUTO_TEXT id = client_escape(&c, a->operand[0]);

    if (!client_get(&c, arena_printf(&arena, "/documents/%s/payload", id), args_text(a, "o")))
        return c.exit_code;
    return EXIT_DONE;
}

static const struct arg_option ls_options[] = {
    { .name = "state",
      .kind = ARG_TEXT,
      .value = "STATE",
      .help = "received, delivered, dead, ..." },
    { .name = "gateway", .kind = ARG_TEXT, .value = "GATEWAY", .help = "where it came in" },
    { .name = "sender", .kind = ARG_TEXT, .value = "SYSTEM", .help = "whom it is from" },
    { .name = "receiver", .kind = ARG_TEXT, .value = "SYSTEM", .help = "whom it is for" },
    { .name = "type", .kind = ARG_TEXT, .value = "TYPE", .help = "of this type" },
    { .name = "since", .kind = ARG_TIME, .value = "T", .help = "received at T or later" },
    { .name = "until", .kind = ARG_TIME, .value = "T", .help = "received before T" },
    { .name = "name", .kind = ARG_TEXT, .value = "NAME", .help = "its file name" },
    { .name = "error", .kind = ARG_TEXT, .value = "CODE", .help = "no_route, rejected, ..." },
    { .name = "limit", .kind = ARG_NUMBER, .value = "N", .help = "at most so many (50)" },
    { 0 },
};

static const struct arg_option payload_options[] = {
    { .name = "o", .kind = ARG_TEXT, .value = "FILE", .help = "write to FILE instead of stdout" },
    { 0 },
};

const struct verb cmd_docs = {
    .name = "docs",
    .summary = "look at documents",
    .about = "A time T is relative (15m, 2h, 3d ago) or absolute: 2026-11-15,\n"
             "2026-11-15T02:52, 2026-11-15T02:52:10Z, 2026-11-15T03:52:10+01:00; without an\n"
             "offset it is local time.\n",
    .example = "waybill docs ls --state dead --since 2h\n"
               "waybill docs payload ID -o order.xml\n",
    .forms = (const struct arg_form[]){ { .word = "ls",
                                          .usage = "[FILTER]... [--limit N]",
                                          .summary = "documents, the newest first",
                                          .options = ls_options,
                                          .common = FORM_NODE | FORM_JSON,
                                          .run = run_ls },
                                        { .word = "show",
                                          .usage = "ID",
                                          .summary = "one document with its timeline",
                                          .least = 1,
                                          .most = 1,
                                          .common = FORM_NODE | FORM_JSON,
                                          .run = run_show },
                                        { .word = "payload",
                                          .usage = "ID [-o FILE]",
                                          .summary = "the bytes that were received",
                                          .least = 1,
                                          .most = 1,
                                          .options = payload_options,
                                          .common = FORM_NODE,
                                          .run = run_payload },
                                        { 0 } },
};
