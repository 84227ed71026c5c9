/* cmd_dead.c - `waybill dead`: dead letters, one by one and in groups. */
#include <string.h>

#include "app/change.h"
#include "app/client.h"
#include "app/cmd.h"
#include "app/document_print.h"
#include "app/exit_code.h"
#include "app/filter.h"
#include "app/list.h"
#include "app/print.h"
#include "base/auto.h"

enum { PAGE = 100, LIMIT = 50, PORTION = 500 };

static int list_letters(const struct args *a, struct client *c, json_t *filter)
{
    static const struct list_column columns[] = {
        { "DOCUMENT", "document" }, { "DIED", "died", LIST_TIME }, { "REASON", "code" },
        { "ENDPOINT", "endpoint" }, { "SENDER", "sender" },        { "RECEIVER", "receiver" },
        { "TYPE", "type" },         { "MESSAGE", "message" },      { 0 },
    };
    static const struct list list = {
        .query = "query($filter: DeadFilter, $first: Int, $after: String)"
                 " { deadLetters(filter: $filter, first: $first, after: $after)"
                 " { items { document delivery code message died gateway sender receiver"
                 " type endpoint } next } }",
        .field = "deadLetters",
        .columns = columns,
        .page = PAGE,
        .limit = LIMIT,
        .which = "oldest"
    };

    return list_pages(a, c, &list, json_pack("{s:O}", "filter", filter));
}

/* Prints the remedy of each code that was shown, once. */
static void print_remedies(const json_t *groups)
{
    json_auto_t *told = json_object();
    const json_t *group;
    size_t i;

    json_array_foreach(groups, i, group)
    {
        const char *code = member_text(group, "code"), *remedy = document_remedy(code);

        if (remedy == NULL || json_object_get(told, code) != NULL)
            continue;
        (void)printf("%s%s: %s\n", json_object_size(told) == 0 ? "\n" : "", code, remedy);
        (void)json_object_set_new(told, code, json_true());
    }
}

static int list_groups(const struct args *a, struct client *c, json_t *filter, const char *by)
{
    const struct list_column columns[] = {
        { strcmp(by, "type") == 0 ? "TYPE" : "RECEIVER", "key" },
        { "REASON", "code" },
        { "COUNT", "count", LIST_NUMBER },
        { "OLDEST", "oldest", LIST_TIME },
        { "NEWEST", "newest", LIST_TIME },
        { "LATEST MESSAGE", "message" },
        { 0 },
    };
    struct list list = { .columns = strcmp(by, "reason") == 0 ? columns + 1 : columns };
    json_auto_t *data = NULL;

    if (!client_graphql(c,
                        "query($by: DeadBy!, $filter: DeadFilter)"
                        " { deadGroups(by: $by, filter: $filter)"
                        " { key code count oldest newest message } }",
                        json_pack("{s:s,s:O}", "by", by, "filter", filter), &data))
        return c->exit_code;
    int code = list_answer(a, c, &list, json_object_get(data, "deadGroups"));

    if (code == EXIT_DONE && !args_flag(a, "json"))
        print_remedies(json_object_get(data, "deadGroups"));
    return code;
}

static int cmd_dead_run_ls(const struct args *a)
{
    const char *by = args_text(a, "by");
    AUTO(client_close) struct client c = { 0 };
    bool any;
    json_auto_t *filter = filter_of(a, &any);

    if (filter == NULL)
        return EXIT_USAGE;
    if (by != NULL && strcmp(by, "reason") != 0 && strcmp(by, "receiver") != 0 &&
        strcmp(by, "type") != 0)
        return args_wrong(a, "--by takes reason, receiver or type, not \"%s\"", by);
    if (!client_open(&c, a))
        return c.exit_code;
    return by != NULL ? list_groups(a, &c, filter, by) : list_letters(a, &c, filter);
}

static int cmd_dead_run_retry(const struct args *a)
{
    return change_in_bulk(a, &(struct change_bulk){ .field = "deadRetry",
                                                    .filter = "DeadFilter",
                                                    .verb = "retry",
                                                    .done = "on their way again",
                                                    .one = "dead letter",
                                                    .many = "dead letters",
                                                    .portion = PORTION });
}

static int cmd_dead_run_discard(const struct args *a)
{
    return change_in_bulk(a, &(struct change_bulk){ .field = "deadDiscard",
                                                    .filter = "DeadFilter",
                                                    .verb = "discard",
                                                    .done = "discarded",
                                                    .one = "dead letter",
                                                    .many = "dead letters",
                                                    .portion = PORTION });
}

#define DEAD_TIMES                                                                     \
    { .name = "since", .kind = ARG_TIME, .value = "T", .help = "died at T or later" }, \
    {                                                                                  \
        .name = "until", .kind = ARG_TIME, .value = "T", .help = "died before T"       \
    }

static const struct arg_option ls_options[] = {
    { .name = "by",
      .kind = ARG_TEXT,
      .value = "WHAT",
      .help = "count them by reason, receiver or type" },
    FILTER_PARTIES,
    DEAD_TIMES,
    { .name = "limit", .kind = ARG_NUMBER, .value = "N", .help = "at most so many (50)" },
    { 0 },
};

static const struct arg_option bulk_options[] = {
    FILTER_PARTIES,
    DEAD_TIMES,
    CHANGE_OPTIONS,
    { 0 },
};

const struct verb cmd_dead = {
    .name = "dead",
    .summary = "dead letters: look at them, retry them, discard them",
    .about = "A dead letter is a document, or a delivery of one, that will not go on by itself.\n"
             "`retry` and `discard` first say how many are meant, and ask; without a terminal\n"
             "they need --yes.  They touch what was dead when they began, a portion at a time\n"
             "and not faster than --rate.\n"
             "A discarded letter ends as cancelled; its bytes stay until retention.\n"
             "\n" FILTER_ABOUT,
    .example = "waybill dead ls --by reason\n"
               "waybill dead retry --receiver salsify --error rejected\n"
               "waybill dead discard --error expired --until 7d --yes\n",
    .forms = (const struct arg_form[]){ { .word = "ls",
                                          .usage = "[--by WHAT] [FILTER]... [--limit N]",
                                          .summary = "dead letters, the oldest first, or in groups",
                                          .options = ls_options,
                                          .common = FORM_NODE | FORM_JSON,
                                          .run = cmd_dead_run_ls },
                                        { .word = "retry",
                                          .usage = "FILTER...|--all [--dry] [--rate N/s] [--yes]",
                                          .summary = "send them again, or start them again",
                                          .options = bulk_options,
                                          .common = FORM_NODE | FORM_JSON,
                                          .run = cmd_dead_run_retry },
                                        { .word = "discard",
                                          .usage = "FILTER...|--all [--dry] [--rate N/s] [--yes]",
                                          .summary = "end them: nobody will send them",
                                          .options = bulk_options,
                                          .common = FORM_NODE | FORM_JSON,
                                          .run = cmd_dead_run_discard },
                                        { 0 } },
};
