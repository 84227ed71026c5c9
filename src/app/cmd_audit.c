/* cmd_audit.c - `waybill audit`: who did what, and whether the hash chain of the log is intact. */
#include <string.h>

#include "app/checkpoint_keep.h"
#include "app/client.h"
#include "app/cmd.h"
#include "app/exit_code.h"
#include "app/filter.h"
#include "app/list.h"
#include "app/print.h"
#include "base/auto.h"

enum { PAGE = 200, LIMIT = 50, PATIENCE_S = 900 /* verifying a long log is slow */ };

#define LINE_FIELDS "seq time actor kind address action object before after reason hash"

static int cmd_audit_run_ls(const struct args *a)
{
    static const struct list_column columns[] = {
        { "SEQ", "seq", LIST_NUMBER }, { "TIME", "time", LIST_TIME },
        { "ACTOR", "actor" },          { "KIND", "kind" },
        { "ADDRESS", "address" },      { "ACTION", "action" },
        { "OBJECT", "object" },        { "BEFORE", "before" },
        { "AFTER", "after" },          { 0 },
    };
    static const struct list list = { .query =
                                          "query($filter: AuditFilter, $first: Int, $after: String)"
                                          " { audit(filter: $filter, first: $first, after: $after)"
                                          " { items { " LINE_FIELDS " } next } }",
                                      .field = "audit",
                                      .columns = columns,
                                      .page = PAGE,
                                      .limit = LIMIT,
                                      .which = "newest" };
    AUTO(client_close) struct client c = { 0 };
    bool any;
    json_auto_t *filter = filter_of(a, &any);

    if (filter == NULL)
        return EXIT_USAGE;
    if (!client_open(&c, a))
        return c.exit_code;
    return list_pages(a, &c, &list, json_pack("{s:O}", "filter", filter));
}

static int cmd_audit_print_verdict(const json_t *check)
{
    const char *hash = member_text(check, "hash");
    long long lines = (long long)member_number(check, "lines"),
              seq = (long long)member_number(check, "seq");

    if (!member_true(check, "ok")) {
        print_coloured(PRINT_BAD, "BROKEN");
        (void)fputs("  ", stdout);
        print_text(stdout, member_text(check, "message"));
        (void)printf("\n%lld lines before it hold\n", lines);
        return EXIT_NO;
    }
    print_coloured(PRINT_GOOD, "ok");
    (void)printf("  %lld lines, each follows the one before\n", lines);
    if (hash != NULL)
        (void)printf("head  %lld:%s\n", seq, hash);
    return EXIT_DONE;
}

/* Reads --head, "SEQ:HASH" as verify prints it. */
static bool read_head(const struct args *a, json_t **ret)
{
    const char *head = args_text(a, "head");
    struct str seq, hash = str_cut(str_of(head != NULL ? head : ""), ':', &seq);
    int64_t n;

    *ret = NULL;
    if (head == NULL)
        return true;
    if (!str_to_i64(seq, &n) || n < 1 || hash.len == 0 ||
        (*ret = json_pack("{s:I,s:s%}", "seq", (json_int_t)n, "hash", hash.ptr, hash.len)) ==
            NULL) {
        (void)args_wrong(a, "--head takes SEQ:HASH as verify prints it, not \"%s\"", head);
        return false;
    }
    return true;
}

/* Reads --checkpoint into *io_variables, if it is given; the exit status. */
static int read_checkpoint(const struct args *a, struct checkpoint *ret, json_t **io_variables)
{
    const char *path = args_text(a, "checkpoint");
    char hash[SHA256_TEXT];

    ret->seq = 0;
    if (path == NULL)
        return EXIT_DONE;
    if (*io_variables != NULL)
        return args_wrong(a, "--head or --checkpoint, not both");
    int code = checkpoint_keep_read(path, ret);

    if (code == EXIT_DONE)
        *io_variables = json_pack("{s:I,s:s}", "seq", (json_int_t)ret->seq, "hash",
                                  digest_text(&ret->hash, hash));
    return code;
}

/* A good signature of an unknown key says nothing: the key must be the node's, or the one given. */
static int check_key(const struct args *a, const struct checkpoint *point, const json_t *check)
{
    const char *given = args_text(a, "key"), *own = member_text(check, "key");
    const char *want = given != NULL ? given : own;

    if (point->seq == 0 || (want != NULL && strcmp(want, point->key) == 0))
        return EXIT_DONE;
    if (given != NULL)
        return print_fail(EXIT_NO, "the checkpoint is signed with another key: %s", point->key);
    return print_fail(EXIT_NO,
                      "the checkpoint is not signed with the key of this node, but with %s: if you "
                      "trust that key, say --key %s",
                      point->key, point->key);
}

static int run_verify(const struct args *a)
{
    AUTO(client_close) struct client c = { 0 };
    json_auto_t *data = NULL;
    struct checkpoint point;
    json_t *variables;

    if (!read_head(a, &variables))
        return EXIT_USAGE;
    int code = read_checkpoint(a, &point, &variables);

    if (code != EXIT_DONE) {
        json_decref(variables);
        return code;
    }
    if (!client_open(&c, a)) {
        json_decref(variables);
        return c.exit_code;
    }
    c.patience_s = args_number(a, "timeout", PATIENCE_S);
    if (!client_graphql(&c,
                        "query($seq: Long, $hash: String) { auditVerify(seq: $seq, hash: $hash)"
                        " { ok lines seq hash broken message key } }",
                        variables, &data))
        return c.exit_code;
    const json_t *check = json_object_get(data, "auditVerify");

    if (!json_is_object(check))
        return client_odd(&c, "no check in it");
    code = check_key(a, &point, check);
    if (code != EXIT_DONE)
        return code;
    if (!args_flag(a, "json"))
        return cmd_audit_print_verdict(check);
    print_json(check);
    return member_true(check, "ok") ? EXIT_DONE : EXIT_NO;
}

/* ---- checkpoints ---- */

static int keep_checkpoint(const struct args *a, const char *text)
{
    const char *file = args_text(a, "out"), *url = args_text(a, "webhook");
    int code = EXIT_DONE;

    if (file == NULL && url == NULL)
        (void)fputs(text, stdout);
    if (file != NULL)
        code = checkpoint_keep_file(file, text);
    if (code == EXIT_DONE && url != NULL)
        code = checkpoint_keep_post(url, text);
    return code;
}

static int run_checkpoint(const struct args *a)
{
    AUTO(client_close) struct client c = { 0 };
    json_auto_t *data = NULL;

    if (!client_open(&c, a))
        return c.exit_code;
    c.patience_s = args_number(a, "timeout", PATIENCE_S);
    if (!client_graphql(&c, "mutation { auditCheckpoint { seq hash key text } }", json_object(),
                        &data))
        return c.exit_code;
    const json_t *made = json_object_get(data, "auditCheckpoint");
    const char *text = member_text(made, "text");

    if (text == NULL)
        return client_odd(&c, "no checkpoint in it");
    int code =
        args_flag(a, "json") && args_text(a, "out") == NULL && args_text(a, "webhook") == NULL
            ? EXIT_DONE
            : keep_checkpoint(a, text);

    if (code == EXIT_DONE && args_flag(a, "json"))
        print_json(made);
    return code;
}

static const struct arg_option checkpoint_options[] = {
    { .name = "out", .kind = ARG_TEXT, .value = "FILE", .help = "write it to a new file" },
    { .name = "webhook", .kind = ARG_TEXT, .value = "URL", .help = "post it there, as text" },
    { 0 },
};

static const struct arg_option ls_options[] = {
    { .name = "actor", .kind = ARG_TEXT, .value = "NAME", .help = "what they did" },
    { .name = "action", .kind = ARG_TEXT, .value = "ACTION", .help = "holdAdd, payloadView, ..." },
    { .name = "object", .kind = ARG_TEXT, .value = "ID|NAME", .help = "what was done to it" },
    { .name = "since", .kind = ARG_TIME, .value = "T", .help = "at T or later" },
    { .name = "until", .kind = ARG_TIME, .value = "T", .help = "before T" },
    { .name = "limit", .kind = ARG_NUMBER, .value = "N", .help = "at most so many (50)" },
    { 0 },
};

static const struct arg_option verify_options[] = {
    { .name = "head",
      .kind = ARG_TEXT,
      .value = "SEQ:HASH",
      .help = "a head that was noted elsewhere: it must still be in the log" },
    { .name = "checkpoint",
      .kind = ARG_TEXT,
      .value = "FILE",
      .help = "the same, as `audit checkpoint` signed it (- is the input)" },
    { .name = "key",
      .kind = ARG_TEXT,
      .value = "KEY",
      .help = "the key it must be signed with (that of the node)" },
    { 0 },
};

const struct verb cmd_audit = {
    .name = "audit",
    .summary = "who did what, and whether the log of it is whole",
    .about = "Every change that somebody makes is written down in the same commit as the change,\n"
             "and every look into a payload before it is shown.  Each line carries a hash of\n"
             "itself and of the line before: one that was changed or removed breaks the chain.\n"
             "Keep a signed head (`checkpoint`), or the one that `verify` prints, somewhere else,\n"
             "and give it back with --checkpoint or --head: then nobody can write the whole log\n"
             "anew either.\n"
             "\n" FILTER_ABOUT,
    .example = "waybill audit ls --since 1d\n"
               "waybill audit ls --action payloadDownload --until 7d\n"
               "waybill audit verify\n"
               "waybill audit checkpoint --out /mnt/elsewhere/2026-11-17.checkpoint\n"
               "waybill audit verify --checkpoint /mnt/elsewhere/2026-11-17.checkpoint\n",
    .forms = (const struct arg_form[]){ { .word = "ls",
                                          .usage = "[FILTER]... [--limit N]",
                                          .summary = "who did what, the newest first",
                                          .options = ls_options,
                                          .common = FORM_NODE | FORM_JSON,
                                          .run = cmd_audit_run_ls },
                                        { .word = "verify",
                                          .usage = "[--head SEQ:HASH | --checkpoint FILE]",
                                          .summary = "follow the chain to its end",
                                          .options = verify_options,
                                          .common = FORM_NODE | FORM_JSON,
                                          .run = run_verify },
                                        { .word = "checkpoint",
                                          .usage = "[--out FILE] [--webhook URL]",
                                          .summary = "verify the log and sign its head",
                                          .options = checkpoint_options,
                                          .common = FORM_NODE | FORM_JSON,
                                          .run = run_checkpoint },
                                        { 0 } },
};
