/* cmd_dead.c - `waybill dead`: what could not go on, by itself and in groups. */
#include <string.h>

#include "app/change.h"
#include "app/client.h"
#include "app/cmd.h"
#include "app/document_print.h"
#include "app/exit_code.h"
#include "app/filter.h"
#include "app/print.h"
#include "base/auto.h"

enum { PAGE = 100, LIMIT = 50, PORTION = 500 };

static void add_letter(struct print_table *t, const json_t *letter)
{
    static const char *const fields[] = { "code", "endpoint", "sender", "receiver",
                                          "type", "message",  NULL };
    char text[PRINT_SHORT];

    print_table_cell(t, member_text(letter, "document"));
    print_table_cell(t, print_time(member_text(letter, "died"), text));
    for (const char *const *f = fields; *f != NULL; f++)
        print_table_cell(t, member_text(letter, *f));
}

static bool fetch_page(struct client *c, json_t *filter, int64_t first, json_t **io_after,
                       json_t **ret_data)
{
    json_t *variables = json_pack("{s:O,s:I,s:O?}", "filter", filter, "first", (json_int_t)first,
                                  "after", *io_after);
    json_t *next;

    if (!client_graphql(c,
                        "query($filter: DeadFilter, $first: Int, $after: String)"
                        " { deadLetters(filter: $filter, first: $first, after: $after)"
                        " { items { document delivery code message died gateway sender receiver"
                        " type endpoint } next } }",
                        variables, ret_data))
        return false;
    const json_t *page = json_object_get(*ret_data, "deadLetters");

    if (!json_is_array(json_object_get(page, "items")))
        return client_odd(c, "no list of dead letters") == EXIT_DONE;
    next = json_object_get(page, "next");
    if (json_is_string(next) && *io_after != NULL && json_equal(next, *io_after))
        return client_odd(c, "the next page is the same page") == EXIT_DONE;
    json_decref(*io_after);
    *io_after = json_is_string(next) ? json_incref(next) : NULL;
    return true;
}

static int list_letters(const struct args *a, struct client *c, json_t *filter)
{
    static const char *const heads[] = { "DOCUMENT", "DIED", "REASON",  "ENDPOINT", "SENDER",
                                         "RECEIVER", "TYPE", "MESSAGE", NULL };
    int64_t limit = args_number(a, "limit", LIMIT), shown = 0;
    AUTO(print_table_done) struct print_table t;
    json_auto_t *after = NULL;

    print_table_init(&t, heads);
    do {
        json_auto_t *data = NULL;
        const json_t *letter;
        size_t i;

        if (!fetch_page(c, filter, limit - shown < PAGE ? limit - shown : PAGE, &after, &data))
            return c->exit_code;
        json_array_foreach(json_object_get(json_object_get(data, "deadLetters"), "items"), i,
                           letter)
        {
            shown++;
            if (args_flag(a, "json"))
                print_json(letter);
            else
                add_letter(&t, letter);
        }
        if (!args_flag(a, "json"))
            print_table_page(&t);
    } while (after != NULL && shown < limit);
    if (after != NULL && !args_flag(a, "json")) {
        (void)fflush(stdout);
        (void)fprintf(stderr, "the oldest %lld; there are more (--limit N)\n", (long long)shown);
    }
    return EXIT_DONE;
}

static void add_group(struct print_table *t, const json_t *group, bool by_reason)
{
    char text[PRINT_SHORT];

    if (!by_reason)
        print_table_cell(t, member_text(group, "key"));
    print_table_cell(t, member_text(group, "code"));
    (void)snprintf(text, sizeof text, "%lld", (long long)member_number(group, "count"));
    print_table_cell(t, text);
    print_table_cell(t, print_time(member_text(group, "oldest"), text));
    print_table_cell(t, print_time(member_text(group, "newest"), text));
    print_table_cell(t, member_text(group, "message"));
}

/* What helps, once for each reason that was shown. */
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
    static const char *const of_reason[] = { "REASON", "COUNT",          "OLDEST",
                                             "NEWEST", "LATEST MESSAGE", NULL };
    static const char *const of_receiver[] = { "RECEIVER", "REASON",         "COUNT", "OLDEST",
                                               "NEWEST",   "LATEST MESSAGE", NULL };
    static const char *const of_type[] = { "TYPE",   "REASON",         "COUNT", "OLDEST",
                                           "NEWEST", "LATEST MESSAGE", NULL };
    bool by_reason = strcmp(by, "reason") == 0;
    AUTO(print_table_done) struct print_table t;
    json_auto_t *data = NULL;
    const json_t *group;
    size_t i;

    print_table_init(&t, by_reason ? of_reason : strcmp(by, "type") == 0 ? of_type : of_receiver);
    if (!client_graphql(c,
                        "query($by: DeadBy!, $filter: DeadFilter)"
                        " { deadGroups(by: $by, filter: $filter)"
                        " { key code count oldest newest message } }",
                        json_pack("{s:s,s:O}", "by", by, "filter", filter), &data))
        return c->exit_code;
    if (!json_is_array(json_object_get(data, "deadGroups")))
        return client_odd(c, "no list of groups");
    json_array_foreach(json_object_get(data, "deadGroups"), i, group)
    {
        if (args_flag(a, "json"))
            print_json(group);
        else
            add_group(&t, group, by_reason);
    }
    if (!args_flag(a, "json")) {
        print_table_page(&t);
        print_remedies(json_object_get(data, "deadGroups"));
    }
    return EXIT_DONE;
}

static int run_ls(const struct args *a)
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

static int run_retry(const struct args *a)
{
    return change_in_bulk(a, &(struct change_bulk){ .field = "deadRetry",
                                                    .filter = "DeadFilter",
                                                    .verb = "retry",
                                                    .done = "on their way again",
                                                    .one = "dead letter",
                                                    .many = "dead letters",
                                                    .portion = PORTION });
}

static int run_discard(const struct args *a)
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
                                          .run = run_ls },
                                        { .word = "retry",
                                          .usage = "FILTER...|--all [--dry] [--rate N/s] [--yes]",
                                          .summary = "send them again, or start them again",
                                          .options = bulk_options,
                                          .common = FORM_NODE | FORM_JSON,
                                          .run = run_retry },
                                        { .word = "discard",
                                          .usage = "FILTER...|--all [--dry] [--rate N/s] [--yes]",
                                          .summary = "end them: nobody will send them",
                                          .options = bulk_options,
                                          .common = FORM_NODE | FORM_JSON,
                                          .run = run_discard },
                                        { 0 } },
};
