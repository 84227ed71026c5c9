/* cmd_retention.c - `waybill retention`, and `docs keep`: how long documents are stored. */
#include "app/ask.h"
#include "app/change.h"
#include "app/client.h"
#include "app/cmd.h"
#include "app/docs_keep.h"
#include "app/exit_code.h"
#include "app/list.h"
#include "app/print.h"
#include "base/auto.h"

#define RETENTION_FIELDS                                                                    \
    "state documents kept dueDays gone goneBytes freedBytes waiting deadDiscarded deadSoon" \
    " steady guarded lastLook trouble archives(first: 5) { day folder name documents bytes" \
    " made sha256 }"

enum { PAGE = 100 };

/* ---- retention ---- */

static void print_archives(const json_t *archives)
{
    char size[PRINT_SHORT];
    const json_t *one;
    size_t i;

    json_array_foreach(archives, i, one)
    {
        (void)printf("archive    ");
        print_text(stdout, member_text(one, "name"));
        (void)printf(": %lld documents, %s, in ", (long long)member_number(one, "documents"),
                     print_size(member_number(one, "bytes"), size));
        print_text(stdout, member_text(one, "folder"));
        (void)fputc('\n', stdout);
    }
}

static void print_retention(const json_t *r)
{
    char gone[PRINT_SHORT], freed[PRINT_SHORT], text[PRINT_SHORT];

    (void)fputs("now        ", stdout);
    print_text(stdout, member_text(r, "state"));
    (void)printf("\ndocuments  %lld, of which %lld are kept whatever their age\n",
                 (long long)member_number(r, "documents"), (long long)member_number(r, "kept"));
    (void)printf("may go     %lld days%s\n", (long long)member_number(r, "dueDays"),
                 member_true(r, "guarded")   ? "; the guard lets the rest go later"
                 : !member_true(r, "steady") ? "; the clock has not been steady for long enough"
                                             : "");
    (void)printf("went       %lld documents, %s; %s came back to the disk\n",
                 (long long)member_number(r, "gone"),
                 print_size(member_number(r, "goneBytes"), gone),
                 print_size(member_number(r, "freedBytes"), freed));
    if (member_number(r, "waiting") > 0)
        (void)printf("waiting    %lld payloads whose bytes are still there\n",
                     (long long)member_number(r, "waiting"));
    if (member_number(r, "deadDiscarded") + member_number(r, "deadSoon") > 0)
        (void)printf("dead       %lld discarded, %lld will be within three days\n",
                     (long long)member_number(r, "deadDiscarded"),
                     (long long)member_number(r, "deadSoon"));
    if (member_text(r, "lastLook") != NULL)
        (void)printf("last look  %s\n", print_time(member_text(r, "lastLook"), text));
    print_archives(json_object_get(r, "archives"));
    if (member_text(r, "trouble") != NULL) {
        (void)fputs("trouble    ", stdout);
        print_text(stdout, member_text(r, "trouble"));
        (void)fputc('\n', stdout);
    }
}

static int cmd_retention_ask(const struct args *a, const char *query, json_t *variables,
                             const char *field)
{
    AUTO(client_close) struct client c = { 0 };
    json_auto_t *data = NULL;

    if (!ask_node(&c, a, query, variables, &data))
        return c.exit_code;
    const json_t *r = json_object_get(data, field);

    if (!json_is_object(r))
        return client_odd(&c, "nothing about retention in it");
    if (args_flag(a, "json"))
        print_json(r);
    else
        print_retention(r);
    return EXIT_DONE;
}

static int cmd_retention_run_show(const struct args *a)
{
    return cmd_retention_ask(a, "{ retention { " RETENTION_FIELDS " } }", json_object(),
                             "retention");
}

static int run_run(const struct args *a)
{
    return cmd_retention_ask(
        a, "mutation($all: Boolean) { retentionRun(all: $all) { " RETENTION_FIELDS " } }",
        json_pack("{s:b}", "all", args_flag(a, "all")), "retentionRun");
}

/* ---- docs keep ---- */

int docs_keep(const struct args *a)
{
    const char *reason = args_text(a, "reason");

    if (reason == NULL)
        return args_wrong(a, "--reason is missing: whoever meets it wants to know why");
    json_t *variables = json_pack("{s:s}", "reason", reason);

    if (variables == NULL)
        return args_wrong(a, "a reason is text in UTF-8");
    return change_documents(a,
                            "mutation($ids: [ID!]!, $reason: String!)"
                            " { keep(ids: $ids, reason: $reason) { id result message } }",
                            "keep", variables);
}

int docs_unkeep(const struct args *a)
{
    return change_documents(a, "mutation($ids: [ID!]!) { unkeep(ids: $ids) { id result message } }",
                            "unkeep", json_object());
}

int docs_kept(const struct args *a)
{
    static const struct list_column columns[] = {
        { "ID", "id" }, { "SINCE", "made", LIST_TIME }, { "BY", "by" }, { "REASON", "reason" },
        { 0 },
    };
    static const struct list list = {
        .query = "query($first: Int, $after: String) { kept(first: $first, after: $after)"
                 " { items { id reason by made } next } }",
        .field = "kept",
        .columns = columns,
        .page = PAGE
    };
    AUTO(client_close) struct client c = { 0 };

    if (!client_open(&c, a))
        return c.exit_code;
    return list_pages(a, &c, &list, json_object());
}

static const struct arg_option run_options[] = {
    { .name = "all",
      .kind = ARG_FLAG,
      .help = "ignore the hourly purge limit; only if the system clock is right" },
    { 0 },
};

const struct verb cmd_retention = {
    .name = "retention",
    .summary = "how long documents are kept: what was purged, what may be",
    .about =
        "A node purges documents that ended longer ago than `retention` in the configuration\n"
        "says; dead letters only when it says so.  `run` starts a purge now, also right after\n"
        "the clock was set.  Per hour the purger deletes one day, and of other days at most a\n"
        "twentieth of all documents.  `run --all` lifts this limit, and resets the latest\n"
        "known day if the clock had been ahead; else documents count from that day.\n"
        "\n"
        "`waybill docs keep` keeps single documents whatever their age.\n",
    .example = "waybill retention show\nwaybill retention run\n",
    .forms = (const struct arg_form[]){ { .word = "show",
                                          .summary = "what there is, what may be purged, what was",
                                          .common = FORM_NODE | FORM_JSON,
                                          .run = cmd_retention_run_show },
                                        { .word = "run",
                                          .usage = "[--all]",
                                          .summary = "purge expired documents now",
                                          .options = run_options,
                                          .common = FORM_NODE | FORM_JSON,
                                          .run = run_run },
                                        { 0 } },
};
