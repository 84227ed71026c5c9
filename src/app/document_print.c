#include "app/document_print.h"

#include <stdio.h>
#include <string.h>

#include "app/client.h"
#include "app/family_print.h"
#include "app/print.h"
#include "base/auto.h"
#include "base/buf.h"

/* More than the largest answer (client.h). */
enum { TEXT_MOST = 32 << 20 };

const char *document_remedy(const char *code)
{
    static const struct {
        const char *code, *remedy;
    } known[] = {
        { "extract_failed", "mend the `extract:` of its gateway, apply, then retry it" },
        { "forbidden_sender",
          "its key is bound to other systems (`waybill key ls`): have it sent with "
          "the right key, or send it by hand with `waybill docs edit`" },
        { "unknown_system", "list the name under `systems:`, as a name or in `ids`, and apply: "
                            "what waits for it goes on by itself" },
        { "no_route", "add a route for this sender, receiver and type, and apply: what waits for "
                      "it goes on by itself" },
        { "loop", "two routes send it back and forth: mend them, apply, then retry it" },
        { "service_failed", "mend the step or the document's sender, then retry it" },
        { "budget", "the document asks for too much work: simplify the step or the expression, "
                    "apply, then retry it" },
        { "decrypt_failed", "the message says what is wrong: mend the key of the step and retry "
                            "it, or let the sender send it again" },
        { "payload_missing", "its bytes are gone: restore them from a backup, or ask for it to be "
                             "sent again" },
        { "payload_corrupt", "its bytes are damaged: restore them from a backup, or ask for it to "
                             "be sent again" },
        { "rejected", "its receiver refused it: read what it says, mend the cause, then retry it" },
        { "expired", "it was not delivered in time: retry it if it is still wanted, or discard "
                     "it" },
        { "retries_exhausted", "its receiver was away too long: retry it when it is back" },
        { "poison", "the program died while it worked on it: report it, and retry it with a "
                    "version that is mended" },
        { "in_doubt", "its receiver may have it: look there, then `waybill docs resolve ID "
                      "--delivered` or `--resend`" },
        { "limit", "a limit was reached: the message names it; raise it, then retry it" },
        { "restored", "its batch may have been sent: look there, then retry it, or discard it" },
    };

    for (size_t i = 0; code != NULL && i < sizeof known / sizeof known[0]; i++)
        if (strcmp(code, known[i].code) == 0)
            return known[i].remedy;
    return NULL;
}

static void document_print_field_line(const char *name, const char *value)
{
    if (value == NULL || *value == '\0')
        return;
    (void)printf("%-13s ", name);
    if (strcmp(name, "state") == 0)
        print_coloured(print_colour_of_state(value), value);
    else
        print_text(stdout, value);
    (void)fputc('\n', stdout);
}

static void print_attributes(const json_t *attributes)
{
    const json_t *pair;
    size_t i;

    json_array_foreach(attributes, i, pair)
    {
        (void)fputs("attribute     ", stdout);
        print_text(stdout, member_text(pair, "name"));
        (void)fputc('=', stdout);
        print_text(stdout, member_text(pair, "value"));
        (void)fputc('\n', stdout);
    }
}

static void print_error(const json_t *error)
{
    const char *code = member_text(error, "code");

    if (code == NULL)
        return;
    document_print_field_line("error", code);
    document_print_field_line("", member_text(error, "message"));
    document_print_field_line("remedy", document_remedy(code));
}

/* Appends the reasons to hold, such as "breaker, window", or the result of the last attempt. */
static void put_why(const json_t *delivery, struct buf *to)
{
    const json_t *held = json_object_get(delivery, "held"), *reason;
    const char *code = member_text(delivery, "code"), *message = member_text(delivery, "message");
    const char *before = member_text(delivery, "blockedBy"),
               *what = member_text(delivery, "heldWhy");
    size_t i;

    json_array_foreach(held, i, reason)
    {
        buf_puts(to, i == 0 ? "" : ", ");
        buf_puts(to, json_is_string(reason) ? json_string_value(reason) : "?");
    }
    if (before != NULL)
        buf_printf(to, " (blocked by %s)", before);
    if (what != NULL)
        buf_printf(to, " (%s)", what);
    if (code != NULL)
        buf_printf(to, "%s%s", to->len > 0 ? "; " : "", code);
    if (message != NULL && *message != '\0')
        buf_printf(to, "%s%s", to->len > 0 ? ": " : "", message);
}

static void print_deliveries(const json_t *deliveries)
{
    static const char *const heads[] = { "ENDPOINT", "SYSTEM", "STATE", "ATTEMPTS",
                                         "NEXT",     "STATUS", "WHY",   NULL };
    AUTO(print_table_done) struct print_table t;
    char text[PRINT_SHORT];
    const json_t *d;
    size_t i;

    print_table_init(&t, heads);
    if (json_array_size(deliveries) == 0)
        return;
    t.colour_column = 2;
    json_array_foreach(deliveries, i, d)
    {
        AUTO(buf_done) struct buf why = BUF_INIT(TEXT_MOST);
        int64_t status = member_number(d, "status");
        const char *due = member_text(d, "due");

        put_why(d, &why);
        print_table_cell(&t, member_text(d, "endpoint"));
        print_table_cell(&t, member_text(d, "system"));
        print_table_cell(&t, member_text(d, "state"));
        (void)snprintf(text, sizeof text, "%lld", (long long)member_number(d, "attempts"));
        print_table_cell(&t, text);
        print_table_cell(&t, due != NULL ? print_time(due, text) : NULL);
        (void)snprintf(text, sizeof text, "%lld", (long long)status);
        print_table_cell(&t, status != 0 ? text : NULL);
        print_table_cell(&t, why.ptr);
    }
    (void)fputc('\n', stdout);
    print_table_page(&t);
}

/* Where the answers of the receivers are to be had. */
static void print_answers(const json_t *doc)
{
    const json_t *deliveries = json_object_get(doc, "deliveries"), *d;
    const char *id = member_text(doc, "id");
    char size[PRINT_SHORT];
    size_t i;

    json_array_foreach(deliveries, i, d)
    {
        const json_t *answer = json_object_get(d, "answer");
        const char *endpoint = member_text(d, "endpoint"), *type;
        AUTO(buf_done) struct buf text = BUF_INIT(TEXT_MOST);

        if (!json_is_object(answer) || endpoint == NULL || id == NULL)
            continue;
        type = member_text(answer, "contentType");
        buf_printf(&text, "%s answered %lld%s%s, %s: waybill docs payload %s --answer %s", endpoint,
                   (long long)member_number(answer, "status"), type != NULL ? ", " : "",
                   type != NULL ? type : "", print_size(member_number(answer, "size"), size), id,
                   endpoint);
        document_print_field_line("answer", text.ptr);
    }
}

static void print_parts(const json_t *parts)
{
    char text[PRINT_SHORT];

    if (!json_is_object(parts))
        return;
    long long made = (long long)member_number(parts, "made");

    if (json_is_null(json_object_get(parts, "total")))
        (void)snprintf(text, sizeof text, "%lld so far", made);
    else
        (void)snprintf(text, sizeof text, "%lld of %lld", made,
                       (long long)member_number(parts, "total"));
    document_print_field_line("parts", text);
}

static void print_lineage(const json_t *doc)
{
    const json_t *edits = json_object_get(json_object_get(doc, "edits"), "items"), *edit;
    char part[48];
    size_t i;

    document_print_field_line("edit of", member_text(json_object_get(doc, "editOf"), "id"));
    document_print_field_line("batch", member_text(json_object_get(doc, "batch"), "id"));
    document_print_field_line("part of", member_text(json_object_get(doc, "parent"), "id"));
    document_print_field_line("part", family_part(doc, part));
    document_print_field_line("copy of", member_text(json_object_get(doc, "copyOf"), "id"));
    document_print_field_line("answer to", member_text(json_object_get(doc, "answerOf"), "id"));
    print_parts(json_object_get(doc, "parts"));
    json_array_foreach(edits, i, edit)
        document_print_field_line("edited as", member_text(edit, "id"));
}

void document_print(const json_t *doc)
{
    static const char *const fields[] = { "id",          "state",  "gateway", "sender",
                                          "receiver",    "type",   "route",   "name",
                                          "contentType", "sha256", "caller",  NULL };
    char text[PRINT_SHORT];

    for (const char *const *f = fields; *f != NULL; f++)
        document_print_field_line(*f, member_text(doc, *f));
    print_attributes(json_object_get(doc, "attributes"));
    document_print_field_line("size", print_size(member_number(doc, "size"), text));
    (void)snprintf(text, sizeof text, "version %lld", (long long)member_number(doc, "config"));
    document_print_field_line("config", text);
    document_print_field_line("received", print_time(member_text(doc, "received"), text));
    document_print_field_line("updated", print_time(member_text(doc, "updated"), text));
    if (member_number(doc, "again") > 0) {
        (void)snprintf(text, sizeof text, "%lld", (long long)member_number(doc, "again"));
        document_print_field_line("sent again", text);
    }
    print_lineage(doc);
    print_error(json_object_get(doc, "error"));
    print_answers(doc);
    print_deliveries(json_object_get(doc, "deliveries"));
    family_print(doc, false);
}

/* Appends the fields of a timeline line that have no column, the most interesting first. */
static void put_details(const json_t *e, struct buf *to)
{
    const json_t *bytes = json_object_get(e, "bytes");
    int64_t attempt = member_number(e, "attempt"), status = member_number(e, "status");
    int64_t config = member_number(e, "config"), step = member_number(e, "step");
    const char *message = member_text(e, "message");
    char size[PRINT_SHORT];

    if (attempt > 1)
        buf_printf(to, "attempt %lld", (long long)attempt);
    if (status != 0)
        buf_printf(to, "%sstatus %lld", to->len > 0 ? ", " : "", (long long)status);
    if (config != 0)
        buf_printf(to, "%sversion %lld", to->len > 0 ? ", " : "", (long long)config);
    if (json_is_object(bytes))
        buf_printf(to, "%sstage %lld, %s", to->len > 0 ? ", " : "",
                   (long long)member_number(bytes, "stage"),
                   print_size(member_number(bytes, "size"), size));
    else if (step != 0)
        buf_printf(to, "%sstage %lld", to->len > 0 ? ", " : "", (long long)step);
    if (message != NULL && *message != '\0')
        buf_printf(to, "%s%s", to->len > 0 ? ": " : "", message);
}

void document_print_trace(const json_t *doc)
{
    static const char *const heads[] = { "TIME",    "NODE", "STAGE",   "WHAT",
                                         "OUTCOME", "TOOK", "DETAILS", NULL };
    AUTO(print_table_done) struct print_table t;
    char text[PRINT_SHORT];
    const json_t *e;
    size_t i;

    print_table_init(&t, heads);
    t.colour_column = 4;
    json_array_foreach(json_object_get(doc, "timeline"), i, e)
    {
        AUTO(buf_done) struct buf details = BUF_INIT(TEXT_MOST);
        bool took = json_is_integer(json_object_get(e, "duration"));

        put_details(e, &details);
        print_table_cell(&t, print_time(member_text(e, "time"), text));
        print_table_cell(&t, member_text(e, "node"));
        print_table_cell(&t, member_text(e, "stage"));
        print_table_cell(&t, member_text(e, "what"));
        print_table_cell(&t, member_text(e, "outcome"));
        print_table_cell(&t, took ? print_duration(member_number(e, "duration"), text) : NULL);
        print_table_cell(&t, details.ptr);
    }
    print_table_page(&t);
}
