/* cmd_docs.c - `waybill docs`: shows, retries, cancels and edits documents. */
#include <unistd.h>

#include "app/ask.h"
#include "app/change.h"
#include "app/client.h"
#include "app/cmd.h"
#include "app/docs_keep.h"
#include "app/document_print.h"
#include "app/exit_code.h"
#include "app/family_print.h"
#include "app/filter.h"
#include "app/list.h"
#include "app/make.h"
#include "app/print.h"
#include "base/arena.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/str.h"

enum { PAGE = 100, LIMIT = 50, PORTION = 200, SCAN_SECONDS = 60 };

static const char *name_or_error(const json_t *doc, struct buf *room)
{
    const json_t *error = json_object_get(doc, "error");

    (void)room;
    return json_is_object(error) ? member_text(error, "code") : member_text(doc, "name");
}

static const struct list documents = {
    .query = "query($filter: DocumentFilter, $first: Int, $after: String)"
             " { documents(filter: $filter, first: $first, after: $after)"
             " { items { " DOCUMENT_FIELDS " } next } }",
    .field = "documents",
    .page = PAGE,
    .limit = LIMIT,
    .which = "newest",
    .columns = (const struct list_column[]){ { "ID", "id" },
                                             { "STATE", "state", .is_state = true },
                                             { "RECEIVED", "received", LIST_TIME },
                                             { "GATEWAY", "gateway" },
                                             { "SENDER", "sender" },
                                             { "RECEIVER", "receiver" },
                                             { "TYPE", "type" },
                                             { "SIZE", "size", LIST_SIZE },
                                             { "NAME OR ERROR", .cell = name_or_error },
                                             { 0 } },
};

/* ---- into the payloads ---- */

struct scan {
    json_t *filter, *after;
    const char *text;
    int64_t looked, bytes, skipped;
};

static bool fetch_portion(struct client *c, struct scan *s, json_t **ret_data)
{
    json_t *variables =
        json_pack("{s:O,s:s,s:O?}", "filter", s->filter, "text", s->text, "after", s->after);

    if (!client_graphql(c,
                        "query($filter: DocumentFilter, $text: String!, $after: String)"
                        " { scan(filter: $filter, text: $text, after: $after)"
                        " { items { " DOCUMENT_FIELDS " } looked bytes skipped next } }",
                        variables, ret_data))
        return false;
    const json_t *page = json_object_get(*ret_data, "scan");

    if (!list_next(c, page, "items", &s->after))
        return false;
    s->looked += member_number(page, "looked");
    s->bytes += member_number(page, "bytes");
    s->skipped += member_number(page, "skipped");
    return true;
}

static void tell_progress(const struct scan *s, const char *end)
{
    char text[PRINT_SHORT];

    (void)fflush(stdout);
    (void)fprintf(stderr, "looked into %lld documents, %s%s", (long long)s->looked,
                  print_size(s->bytes, text), end);
    (void)fflush(stderr);
}

static int list_scan(const struct args *a, struct client *c, json_t *filter)
{
    AUTO(list_done) struct list_out out;
    int64_t limit = args_number(a, "limit", LIMIT), shown = 0;
    int64_t until = clock_mono_us() + args_number(a, "for", SCAN_SECONDS) * CLOCK_S;
    struct scan s = { .filter = filter, .text = args_text(a, "text") };
    bool bar = isatty(STDERR_FILENO) == 1;

    list_begin(&out, a, &documents);
    do {
        json_auto_t *data = NULL;

        if (!fetch_portion(c, &s, &data)) {
            json_decref(s.after);
            return c->exit_code;
        }
        shown +=
            list_rows(&out, json_object_get(json_object_get(data, "scan"), "items"), limit - shown);
        if (bar)
            tell_progress(&s, "\r");
    } while (s.after != NULL && shown < limit && clock_mono_us() < until);
    tell_progress(&s, s.after == NULL ? "" : "; there are more (--for SECONDS, --limit N)");
    if (s.skipped > 0)
        (void)fprintf(stderr, "; %lld could not be read to their end", (long long)s.skipped);
    (void)fputc('\n', stderr);
    json_decref(s.after);
    return EXIT_DONE;
}

static int cmd_docs_run_ls(const struct args *a)
{
    AUTO(client_close) struct client c = { 0 };
    const char *text = args_text(a, "text");
    bool any;
    json_auto_t *filter = filter_of(a, &any);

    if (filter == NULL)
        return EXIT_USAGE;
    if (text != NULL && (*text == '\0' || !str_is_utf8(str_of(text))))
        return args_wrong(a, "--text takes a text in UTF-8");
    if (!client_open(&c, a))
        return c.exit_code;
    return text != NULL ? list_scan(a, &c, filter)
                        : list_pages(a, &c, &documents, json_pack("{s:O}", "filter", filter));
}

/* Fetches the document that the first operand names; false: the exit status is in c->exit_code. */
static bool fetch_one(struct client *c, const struct args *a, const char *query, json_t **ret_data,
                      const json_t **ret_document)
{
    if (!ask_named(c, a, query, "id", ret_data))
        return false;
    *ret_document = json_object_get(*ret_data, "document");
    if (json_is_object(*ret_document))
        return true;
    c->exit_code = print_fail(EXIT_NO, "there is no document %s", a->operand[0]);
    return false;
}

#define SHOW_FIELDS                                                                  \
    DOCUMENT_FIELDS                                                                  \
    " contentType config caller route again attributes { name value } editOf { id }" \
    " edits { items { id } next } batch { id } part { number of }"                   \
    " parts { made total }" FAMILY_FIELDS DOCUMENT_DELIVERIES

/* With --json the timeline is printed, too. */
static int cmd_docs_run_show(const struct args *a)
{
    AUTO(client_close) struct client c = { 0 };
    bool json = args_flag(a, "json");
    json_auto_t *data = NULL;
    const json_t *doc;

    if (!fetch_one(&c, a,
                   json ? "query($id: ID!) { document(id: $id) { " SHOW_FIELDS DOCUMENT_TIMELINE
                          " } }"
                        : "query($id: ID!) { document(id: $id) { " SHOW_FIELDS " } }",
                   &data, &doc))
        return c.exit_code;
    if (json)
        print_json(doc);
    else
        document_print(doc);
    return EXIT_DONE;
}

static int run_trace(const struct args *a)
{
    AUTO(client_close) struct client c = { 0 };
    json_auto_t *data = NULL;
    const json_t *doc, *line;
    size_t i;

    if (!fetch_one(&c, a,
                   "query($id: ID!) { document(id: $id) { id" FAMILY_FIELDS DOCUMENT_TIMELINE
                   " } }",
                   &data, &doc))
        return c.exit_code;
    if (!json_is_array(json_object_get(doc, "timeline")))
        return client_odd(&c, "no timeline in it");
    if (args_flag(a, "json")) {
        json_array_foreach(json_object_get(doc, "timeline"), i, line) print_json(line);
        return EXIT_DONE;
    }
    document_print_trace(doc);
    family_print(doc, true);
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
    const char *path = arena_printf(&arena, "/documents/%s/payload", id);
    const char *answer = args_text(a, "answer");
    int64_t stage = args_number(a, "stage", 0);

    if (answer != NULL && stage != 0)
        return args_wrong(a, "--stage and --answer exclude each other");
    if (stage != 0)
        path = arena_printf(&arena, "%s?stage=%lld", path, (long long)stage);
    if (answer != NULL) {
        AUTO_TEXT of = client_escape(&c, answer);

        path = arena_printf(&arena, "%s?answer=%s", path, of);
    }

    if (!client_get(&c, path, args_text(a, "o")))
        return c.exit_code;
    const char *computed = client_field(&c, "Waybill-Computed");

    if (computed != NULL)
        (void)fprintf(stderr, "waybill: stage %lld was not stored: computed again, with %s\n",
                      (long long)stage, computed);
    return EXIT_DONE;
}

/* Changes the documents named by operands, or those that match the filter; both is an error. */
static int change_some(const struct args *a, const char *query, const char *field,
                       json_t *variables, struct change_bulk *bulk)
{
    char name[CHANGE_BY];
    bool any;
    json_auto_t *filter = NULL;

    bulk->filter = "DocumentFilter";
    bulk->one = "document";
    bulk->many = "documents";
    bulk->portion = PORTION;
    if (a->operand_count == 0) {
        bulk->variables = variables;
        return change_in_bulk(a, bulk);
    }
    filter = filter_of(a, &any);
    if (filter == NULL || any || args_flag(a, "all") || args_flag(a, "dry")) {
        json_decref(variables);
        return filter == NULL ? EXIT_USAGE
                              : args_wrong(a, "either ids, or a filter with --dry or --all");
    }
    (void)json_object_set_new(variables, "by", json_string(change_by(a, name)));
    return change_documents(a, query, field, variables);
}

static int cmd_docs_run_retry(const struct args *a)
{
    const char *from = args_text(a, "from");
    struct change_bulk bulk = { .field = "documentsRetry",
                                .verb = "retry",
                                .done = "on their way again",
                                .takes = ", $from: RetryFrom, $again: Boolean",
                                .gives = ", from: $from, again: $again" };
    json_t *variables;

    if (from != NULL && !str_is(str_of(from), "extract") && !str_is(str_of(from), "route") &&
        !str_is(str_of(from), "delivery"))
        return args_wrong(a, "--from takes extract, route or delivery, not \"%s\"", from);
    variables = json_pack("{s:s?,s:b}", "from", from, "again", args_flag(a, "again"));
    return change_some(a,
                       "mutation($ids: [ID!]!, $from: RetryFrom, $again: Boolean, $by: String)"
                       " { retry(ids: $ids, from: $from, again: $again, by: $by)"
                       " { id result message } }",
                       "retry", variables, &bulk);
}

static int run_cancel(const struct args *a)
{
    struct change_bulk bulk = { .field = "documentsCancel", .verb = "cancel", .done = "cancelled" };

    return change_some(a,
                       "mutation($ids: [ID!]!, $by: String)"
                       " { cancel(ids: $ids, by: $by) { id result message } }",
                       "cancel", json_object(), &bulk);
}

static int cmd_docs_run_discard(const struct args *a)
{
    struct change_bulk bulk = { .field = "documentsDiscard",
                                .verb = "discard",
                                .done = "discarded" };

    return change_some(a,
                       "mutation($ids: [ID!]!, $by: String)"
                       " { discard(ids: $ids, by: $by) { id result message } }",
                       "discard", json_object(), &bulk);
}

static int run_resolve(const struct args *a)
{
    bool delivered = args_flag(a, "delivered");
    struct change_bulk bulk = { .field = "documentsResolve",
                                .verb = delivered ? "resolve as delivered" : "resolve and resend",
                                .done = "resolved",
                                .takes = ", $as: Resolution!, $endpoint: String, $reason: String",
                                .gives = ", as: $as, endpoint: $endpoint, reason: $reason" };

    if (delivered == args_flag(a, "resend"))
        return args_wrong(a, "say either --delivered or --resend");
    return change_some(a,
                       "mutation($ids: [ID!]!, $as: Resolution!, $endpoint: String,"
                       " $reason: String, $by: String) { resolve(ids: $ids, as: $as,"
                       " endpoint: $endpoint, reason: $reason, by: $by)"
                       " { id result message } }",
                       "resolve",
                       json_pack("{s:s,s:s?,s:s?}", "as", delivered ? "delivered" : "resend",
                                 "endpoint", args_text(a, "endpoint"), "reason",
                                 args_text(a, "reason")),
                       &bulk);
}

/* clang-format off */
#define DOCS_FILTER \
    { .name = "state", .kind = ARG_TEXT, .value = "STATE", .help = "received, delivered, dead, ..." }, \
    FILTER_PARTIES, \
    { .name = "since", .kind = ARG_TIME, .value = "T", .help = "received at T or later" }, \
    { .name = "until", .kind = ARG_TIME, .value = "T", .help = "received before T" }, \
    { .name = "key", .kind = ARG_TEXT, .value = "KEY", \
      .help = "sent with this Idempotency-Key, while it is remembered" }, \
    { .name = "min-size", .kind = ARG_TEXT, .value = "SIZE", .help = "at least so many bytes" }, \
    { .name = "max-size", .kind = ARG_TEXT, .value = "SIZE", .help = "at most so many bytes" }, \
    { .name = "parent", .kind = ARG_TEXT, .value = "ID", .help = "that come from this document" }
/* clang-format on */

static const struct arg_option ls_options[] = {
    DOCS_FILTER,
    { .name = "text",
      .kind = ARG_TEXT,
      .value = "TEXT",
      .help = "whose payload has TEXT: reads them one by one" },
    { .name = "for",
      .kind = ARG_NUMBER,
      .value = "SECONDS",
      .help = "with --text: give up after so long (60)" },
    { .name = "limit", .kind = ARG_NUMBER, .value = "N", .help = "at most so many (50)" },
    { 0 },
};

static const struct arg_option payload_options[] = {
    { .name = "o", .kind = ARG_TEXT, .value = "FILE", .help = "write to FILE instead of stdout" },
    { .name = "stage",
      .kind = ARG_NUMBER,
      .value = "N",
      .help = "bytes after the N-th step, as `docs trace` counts" },
    { .name = "answer",
      .kind = ARG_TEXT,
      .value = "ENDPOINT",
      .help = "what its receiver answered last, if that was kept" },
    { 0 },
};

static const struct arg_option retry_options[] = {
    { .name = "from",
      .kind = ARG_TEXT,
      .value = "STAGE",
      .help = "extract, route or delivery; else where it makes sense" },
    { .name = "again",
      .kind = ARG_FLAG,
      .help = "also what was delivered, under new delivery ids" },
    DOCS_FILTER,
    CHANGE_OPTIONS,
    { 0 },
};

static const struct arg_option change_options[] = { DOCS_FILTER, CHANGE_OPTIONS, { 0 } };

static const struct arg_option resolve_options[] = {
    { .name = "delivered", .kind = ARG_FLAG, .help = "its receiver has it" },
    { .name = "resend",
      .kind = ARG_FLAG,
      .help = "it does not: send it again, under the same delivery id" },
    { .name = "endpoint",
      .kind = ARG_TEXT,
      .value = "NAME",
      .help = "only its delivery to this endpoint" },
    { .name = "reason",
      .kind = ARG_TEXT,
      .value = "TEXT",
      .help = "how you found out, for the timeline" },
    DOCS_FILTER,
    CHANGE_OPTIONS,
    { 0 },
};

static const struct arg_option keep_options[] = {
    { .name = "reason", .kind = ARG_TEXT, .value = "TEXT", .help = "for whoever meets it" },
    { 0 },
};

const struct verb cmd_docs = {
    .name = "docs",
    .summary = "look at documents, and set them going again",
    .about =
        "`retry` sends what is dead or waiting again now: dead deliveries as they are, a dead\n"
        "document from the router on, with the newest configuration.  What was delivered\n"
        "goes out again only with --again.  `cancel` ends what has not been delivered.  A\n"
        "document that is being worked on or being sent at this moment is left alone: try\n"
        "again.  `resolve` settles what is in doubt: you found out whether its receiver has\n"
        "it, and what you say stands in its timeline.\n"
        "\n"
        "By a filter, `retry`, `cancel`, `discard` and `resolve` first say how many are meant,\n"
        "and ask; without a terminal they need --yes.  They touch what had come when they\n"
        "began, the newest first, a portion at a time and not faster than --rate.  `resolve`\n"
        "leaves alone what came into doubt after its count.\n"
        "\n"
        "`edit` makes a new document of FILE, or stdin, that refers to this one, and prints\n"
        "its id.  It goes through the gateway of the original again, or with --route straight\n"
        "to the router with sender, receiver, type and attributes of the original, or those\n"
        "that you give.  The original ends as superseded in the same step; that is refused\n"
        "while it is being sent, when it is in doubt and when it was delivered: then --beside\n"
        "sends the edit as well.\n"
        "\n" FILTER_ABOUT,
    .example =
        "waybill docs ls --state dead --since 2h\n"
        "waybill docs ls --type order --where po=4711\n"
        "waybill docs ls --receiver hub --since 1d --text ACME\n"
        "waybill docs trace ID\n"
        "waybill docs payload ID -o order.xml\n"
        "waybill docs retry ID --from extract\n"
        "waybill docs resolve ID --delivered\n"
        "waybill docs resolve --receiver erp --since 2h --resend --reason \"their log has none\"\n"
        "waybill docs retry --state dead --receiver hub --rate 50/s\n"
        "waybill docs payload ID -o order.xml; vi order.xml; waybill docs edit ID order.xml\n",
    .forms =
        (const struct arg_form[]){
            { .word = "ls",
              .usage = "[FILTER]... [--limit N]",
              .summary = "documents, the newest first",
              .options = ls_options,
              .common = FORM_NODE | FORM_JSON,
              .run = cmd_docs_run_ls },
            { .word = "show",
              .usage = "ID",
              .summary = "one document: what is known, its deliveries, "
                         "what helps",
              .least = 1,
              .most = 1,
              .common = FORM_NODE | FORM_JSON,
              .run = cmd_docs_run_show },
            { .word = "trace",
              .usage = "ID",
              .summary = "its timeline, and the documents it comes from and became",
              .least = 1,
              .most = 1,
              .common = FORM_NODE | FORM_JSON,
              .run = run_trace },
            { .word = "payload",
              .usage = "ID [--stage N | --answer ENDPOINT] [-o FILE]",
              .summary = "the bytes that were received, that a step made, or "
                         "that a receiver answered",
              .least = 1,
              .most = 1,
              .options = payload_options,
              .common = FORM_NODE,
              .run = run_payload },
            { .word = "retry",
              .usage = "ID...|FILTER...|--all [--from STAGE] [--again] "
                       "[--dry]",
              .summary = "send it again now, or start it again",
              .most = ARGS_OPERANDS,
              .options = retry_options,
              .common = FORM_NODE | FORM_JSON,
              .run = cmd_docs_run_retry },
            { .word = "cancel",
              .usage = "ID...|FILTER...|--all [--dry] "
                       "[--rate N/s]",
              .summary = "end what has not been delivered",
              .most = ARGS_OPERANDS,
              .options = change_options,
              .common = FORM_NODE | FORM_JSON,
              .run = run_cancel },
            { .word = "discard",
              .usage = "ID...|FILTER...|--all [--dry] "
                       "[--rate N/s]",
              .summary = "end what is dead",
              .most = ARGS_OPERANDS,
              .options = change_options,
              .common = FORM_NODE | FORM_JSON,
              .run = cmd_docs_run_discard },
            { .word = "edit",
              .usage = "ID [FILE|-] [--beside] [--route] "
                       "[--receiver S ...]",
              .summary = "send other bytes in its place, or beside it",
              .least = 1,
              .most = 2,
              .options = make_edit_options,
              .common = FORM_NODE | FORM_JSON,
              .run = make_edit },
            { .word = "resolve",
              .usage = "ID...|FILTER...|--all --delivered|--resend "
                       "[--reason TEXT]",
              .summary = "say what became of what is in doubt",
              .most = ARGS_OPERANDS,
              .options = resolve_options,
              .common = FORM_NODE | FORM_JSON,
              .run = run_resolve },
            { .word = "keep",
              .usage = "ID... --reason TEXT",
              .summary = "put documents under legal hold: they are never purged",
              .least = 1,
              .most = ARGS_OPERANDS,
              .options = keep_options,
              .common = FORM_NODE | FORM_JSON,
              .run = docs_keep },
            { .word = "unkeep",
              .usage = "ID...",
              .summary = "end the legal hold: retention applies again",
              .least = 1,
              .most = ARGS_OPERANDS,
              .common = FORM_NODE | FORM_JSON,
              .run = docs_unkeep },
            { .word = "kept",
              .summary = "documents under legal hold",
              .common = FORM_NODE | FORM_JSON,
              .run = docs_kept },
            { 0 } },
};
