/* cmd_records.c - `waybill records`: reference tables, and the records that steps `store` keep. */
#include <string.h>
#include <unistd.h>

#include "app/ask.h"
#include "app/client.h"
#include "app/cmd.h"
#include "app/csv_records.h"
#include "app/exit_code.h"
#include "app/list.h"
#include "app/print.h"
#include "base/auto.h"

enum { PORTION = 200, PORTION_BYTES = 256 << 10, PAGE = 200, LIMIT = 50 };

/* ---- import ---- */

struct import {
    struct client *client;
    const char *set;
    json_t *portion;
    size_t bytes;
    int64_t all, sent, changed;
};

static void import_progress(const struct import *i)
{
    if (isatty(STDERR_FILENO))
        (void)fprintf(stderr, "\r%lld of %lld records%s", (long long)i->sent, (long long)i->all,
                      i->sent == i->all ? "\n" : "");
}

/* One commit.  The client has printed what went wrong. */
static bool import_send(struct import *i, struct err *err)
{
    json_auto_t *data = NULL;
    size_t count = json_array_size(i->portion);

    if (count == 0)
        return true;
    json_t *variables = json_pack("{s:s,s:o}", "set", i->set, "records", i->portion);

    i->portion = json_array();
    i->bytes = 0;
    if (!client_graphql(i->client,
                        "mutation($set: String!, $records: [RecordInput!]!)"
                        " { recordsImport(set: $set, records: $records) }",
                        variables, &data))
        return err_set(err, ERR_TRANSIENT, 0, "the node did not take them");
    i->sent += (int64_t)count;
    i->changed += member_number(data, "recordsImport");
    import_progress(i);
    return true;
}

static bool import_give(void *arg, struct str key, struct str value, struct err *err)
{
    struct import *i = arg;

    if ((json_array_size(i->portion) == PORTION || i->bytes + value.len > PORTION_BYTES) &&
        !import_send(i, err))
        return false;
    (void)json_array_append_new(i->portion, json_pack("{s:s%,s:s%}", "key", key.ptr, key.len,
                                                      "value", value.ptr, value.len));
    i->bytes += value.len;
    return true;
}

/* Portions are commits: what is there stays, and a second run changes nothing of it. */
static int import_broken(const struct import *i, const struct err *err)
{
    int code = i->client->exit_code != EXIT_DONE ? i->client->exit_code : EXIT_NO;

    if (err->kind != ERR_TRANSIENT)
        (void)print_fail(code, "%s", err->text);
    return print_fail(code,
                      "%lld of %lld records are imported; run it again to go on: those that are "
                      "there stay as they are",
                      (long long)i->sent, (long long)i->all);
}

static int import_tell(const struct args *a, const struct import *i)
{
    if (args_flag(a, "json")) {
        json_auto_t *made = json_pack("{s:s,s:I,s:I}", "set", i->set, "records",
                                      (json_int_t)i->sent, "changed", (json_int_t)i->changed);

        print_json(made);
        return EXIT_DONE;
    }
    print_text(stdout, i->set);
    (void)printf(": %lld record%s, %lld new or changed\n", (long long)i->sent,
                 i->sent == 1 ? "" : "s", (long long)i->changed);
    return EXIT_DONE;
}

static int cmd_records_run_import(const struct args *a)
{
    AUTO(client_close) struct client c = { 0 };
    struct import i = { .client = &c, .set = a->operand[0] };
    struct csv_records csv = {
        .path = a->operand[1], .key = args_text(a, "key"), .give = import_give, .arg = &i
    };
    struct err err = { 0 };

    if (!args_name(a, 0))
        return EXIT_USAGE;
    if (!csv_records_check(&csv, &err))
        return print_fail(err.sys != 0 ? EXIT_IO : EXIT_NO, "%s", err.text);
    i.all = csv.count;
    if (!client_open(&c, a))
        return c.exit_code;
    i.portion = json_array();
    bool ok = csv_records_give(&csv, &err) && import_send(&i, &err);

    json_decref(i.portion);
    return ok ? import_tell(a, &i) : import_broken(&i, &err);
}

/* ---- looking ---- */

static int list_sets(const struct args *a)
{
    static const struct list_column columns[] = { { "SET", "name" },
                                                  { "RECORDS", "records", .kind = LIST_NUMBER },
                                                  { "UPDATED", "updated", .kind = LIST_TIME },
                                                  { 0 } };
    static const struct list list = { .query = "{ recordSets { name records updated } }",
                                      .field = "recordSets",
                                      .columns = columns };

    return list_whole(a, &list, json_object());
}

static int cmd_records_run_ls(const struct args *a)
{
    static const struct list_column columns[] = { { "KEY", "key" },
                                                  { "SIZE", "size", .kind = LIST_SIZE },
                                                  { "UPDATED", "updated", .kind = LIST_TIME },
                                                  { 0 } };
    static const struct list list = {
        .query = "query($set: String!, $first: Int, $after: String)"
                 " { records(set: $set, first: $first, after: $after)"
                 " { items { key size updated } next } }",
        .field = "records",
        .columns = columns,
        .page = PAGE,
        .limit = LIMIT,
        .which = "first",
    };
    AUTO(client_close) struct client c = { 0 };

    if (a->operand_count == 0)
        return list_sets(a);
    if (!args_name(a, 0))
        return EXIT_USAGE;
    if (!client_open(&c, a))
        return c.exit_code;
    return list_pages(a, &c, &list, json_pack("{s:s}", "set", a->operand[0]));
}

static int cmd_records_run_get(const struct args *a)
{
    AUTO(client_close) struct client c = { 0 };
    json_auto_t *data = NULL;

    if (!args_name(a, 0))
        return EXIT_USAGE;
    if (!ask_node(&c, a,
                  "query($set: String!, $key: String!)"
                  " { record(set: $set, key: $key) { key value size updated } }",
                  json_pack("{s:s,s:s}", "set", a->operand[0], "key", a->operand[1]), &data))
        return c.exit_code;
    const json_t *record = json_object_get(data, "record");
    const char *value = member_text(record, "value");

    if (!json_is_object(record))
        return print_fail(EXIT_NO, "the set %s has no record %s", a->operand[0], a->operand[1]);
    if (args_flag(a, "json")) {
        print_json(record);
        return EXIT_DONE;
    }
    if (value == NULL)
        return print_fail(EXIT_NO, "the record is not text in UTF-8");
    (void)fwrite(value, 1, json_string_length(json_object_get(record, "value")), stdout);
    (void)fputc('\n', stdout);
    return EXIT_DONE;
}

/* ---- removing ---- */

/* *ret_count: of one request. */
static bool remove_some(struct client *c, const struct args *a, const char *key, int64_t *ret_count)
{
    json_auto_t *data = NULL;
    json_t *variables = json_pack("{s:s,s:s?}", "set", a->operand[0], "key", key);

    if (variables == NULL) {
        c->exit_code = print_fail(EXIT_NO, "a set and a key are text in UTF-8");
        return false;
    }
    if (!client_graphql(c,
                        "mutation($set: String!, $key: String)"
                        " { recordsRemove(set: $set, key: $key) }",
                        variables, &data))
        return false;
    *ret_count = member_number(data, "recordsRemove");
    return true;
}

static int remove_tell(const struct args *a, int64_t count)
{
    if (args_flag(a, "json")) {
        json_auto_t *gone =
            json_pack("{s:s,s:I}", "set", a->operand[0], "removed", (json_int_t)count);

        print_json(gone);
    } else {
        print_text(stdout, a->operand[0]);
        (void)printf(": %lld record%s removed\n", (long long)count, count == 1 ? "" : "s");
    }
    return EXIT_DONE;
}

static int cmd_records_run_rm(const struct args *a)
{
    AUTO(client_close) struct client c = { 0 };
    const char *key = a->operand[1];
    int64_t some, count = 0;

    if (!args_name(a, 0))
        return EXIT_USAGE;
    if ((key == NULL) != args_flag(a, "all"))
        return args_wrong(a, "either a KEY or --all");
    if (!client_open(&c, a))
        return c.exit_code;
    do {
        if (!remove_some(&c, a, key, &some))
            return c.exit_code;
        count += some;
    } while (key == NULL && some > 0);
    if (key != NULL && count == 0)
        return print_fail(EXIT_NO, "the set %s has no record %s", a->operand[0], key);
    return remove_tell(a, count);
}

/* ---- the verb ---- */

static const struct arg_option import_options[] = {
    { .name = "key",
      .kind = ARG_TEXT,
      .value = "COLUMN",
      .help = "the column with the key of a record (the first one)" },
    { 0 },
};

static const struct arg_option ls_options[] = {
    { .name = "limit", .kind = ARG_NUMBER, .value = "N", .help = "so many records at most (50)" },
    { 0 },
};

static const struct arg_option rm_options[] = {
    { .name = "all", .kind = ARG_FLAG, .help = "every record of the set" },
    { 0 },
};

const struct verb cmd_records = {
    .name = "records",
    .summary = "reference tables, and the records that steps keep",
    .about = "A record is a key and a value, JSON or XML, in a set.  A step `store` keeps the\n"
             "last value that documents brought for a key; a step `enrich` adds a record to a\n"
             "document.  A set may also be a reference table: `import` makes each row of a CSV\n"
             "file a record, a JSON object with the texts of its columns.\n"
             "\n"
             "The file is checked whole before the first record is written.  It is imported in\n"
             "commits of 200 records; if it ends in between, run it again.  A record whose key\n"
             "is there already is replaced.  Records that are not in the file stay.\n",
    .example = "waybill records import customers customers.csv --key id\n"
               "waybill records get customers 4711\n",
    .forms =
        (const struct arg_form[]){
            { .word = "import",
              .usage = "SET FILE.csv [--key COLUMN]",
              .summary = "put the rows of a CSV file into a set; the first row names the columns",
              .least = 2,
              .most = 2,
              .options = import_options,
              .common = FORM_NODE | FORM_JSON,
              .run = cmd_records_run_import },
            { .word = "ls",
              .usage = "[SET] [--limit N]",
              .summary = "the records of a set, or all sets",
              .most = 1,
              .options = ls_options,
              .common = FORM_NODE | FORM_JSON,
              .run = cmd_records_run_ls },
            { .word = "get",
              .usage = "SET KEY",
              .summary = "print the value of a record",
              .least = 2,
              .most = 2,
              .common = FORM_NODE | FORM_JSON,
              .run = cmd_records_run_get },
            { .word = "rm",
              .usage = "SET KEY | SET --all",
              .summary = "remove a record, or all of a set",
              .least = 1,
              .most = 2,
              .options = rm_options,
              .common = FORM_NODE | FORM_JSON,
              .run = cmd_records_run_rm },
            { 0 } },
};
