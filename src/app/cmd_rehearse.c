/* cmd_rehearse.c - `waybill rehearse`: runs past documents through a proposed configuration. */
#include <string.h>
#include <unistd.h>

#include "app/client.h"
#include "app/cmd.h"
#include "app/config_file.h"
#include "app/exit_code.h"
#include "app/filter.h"
#include "app/print.h"
#include "app/rehearse_print.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/str.h"

enum { PORTION = 1000, LEFT_SHOWN = 10 };

#define QUERY                                                                        \
    "query($text: String!, $files: [ConfigFileInput!], $since: Time, $until: Time,"  \
    " $gateway: String,"                                                             \
    " $against: RehearseAgainst, $most: Int, $after: String)"                        \
    " { rehearsePast(text: $text, files: $files, since: $since, until: $until,"      \
    " gateway: $gateway,"                                                            \
    " against: $against, most: $most, after: $after)"                                \
    " { problems { line column message hint } warnings { line column message hint }" \
    " looked left leftSome { id message } next differences { " REHEARSE_FIELDS " } } }"

struct rehearsal {
    const struct args *args;
    struct client client;
    json_t *variables; /* without `most` and `after` */
    json_t *after;     /* cursor of the next portion; NULL at the start and at the end */
    struct rehearse_sum sum;
    bool begun;
};

static void rehearsal_done(struct rehearsal *r)
{
    rehearse_sum_done(&r->sum);
    json_decref(r->variables);
    json_decref(r->after);
    client_close(&r->client);
}

/* False: the error is printed. */
static bool make_variables(struct rehearsal *r, int *ret_exit)
{
    const struct args *a = r->args;
    const char *against = args_text(a, "against"), *gateway = args_text(a, "gateway");
    int64_t day = INT64_C(86400) * CLOCK_S;
    char since[CLOCK_TEXT], until[CLOCK_TEXT];
    json_t *text, *files;

    *ret_exit = EXIT_USAGE;
    if (against != NULL && strcmp(against, "happened") != 0 && strcmp(against, "live") != 0) {
        (void)args_wrong(a, "--against is `happened` or `live`");
        return false;
    }
    (void)clock_utc_text(args_number(a, "since", clock_wall_us() - day), since);
    (void)clock_utc_text(args_number(a, "until", 0), until);
    text = config_file_read(a->operand[0], ret_exit);
    if (text == NULL)
        return false;
    files = args_flag(a, "keep-files")
                ? json_array()
                : config_file_along(a->operand[0], text, args_flag(a, "json"), ret_exit);
    if (files == NULL) {
        json_decref(text);
        return false;
    }
    r->variables = json_pack("{s:o,s:s,s:s?,s:s?,s:s}", "text", text, "since", since, "until",
                             args_text(a, "until") != NULL ? until : NULL, "gateway", gateway,
                             "against", against != NULL ? against : "happened");
    if (r->variables == NULL) {
        json_decref(files);
        *ret_exit = args_wrong(a, "--gateway is not text in UTF-8");
        return false;
    }
    config_file_attach(r->variables, files);
    return true;
}

static void add_left(struct rehearse_sum *s, const json_t *page)
{
    json_t *one;
    size_t i;

    s->left += member_number(page, "left");
    json_array_foreach(json_object_get(page, "leftSome"), i, one)
    {
        if (json_array_size(s->first) < LEFT_SHOWN)
            (void)json_array_append(s->first, one);
    }
}

static void add_page(struct rehearsal *r, const json_t *page)
{
    bool as_json = args_flag(r->args, "json"), sum = args_flag(r->args, "sum");
    const json_t *one;
    size_t i;

    json_array_foreach(json_object_get(page, "differences"), i, one)
    {
        if (as_json && !sum)
            print_json(one);
        rehearse_print(one, &r->sum, as_json || sum);
    }
    r->sum.looked += member_number(page, "looked");
    add_left(&r->sum, page);
}

/* Prints the problems of the configuration, once; true: there are some. */
static bool tell_problems(struct rehearsal *r, const json_t *page)
{
    const json_t *problems = json_object_get(page, "problems");
    const char *file = r->args->operand[0];
    bool as_json = args_flag(r->args, "json");
    size_t count = json_array_size(problems);

    if (r->begun)
        return count > 0;
    r->begun = true;
    config_file_problems(problems, file, "error", as_json);
    config_file_problems(json_object_get(page, "warnings"), file, "warning", as_json);
    if (count > 0)
        r->client.exit_code = print_fail(EXIT_NO, "%s: %zu problem%s; nothing was rehearsed", file,
                                         count, count == 1 ? "" : "s");
    return count > 0;
}

/* Rehearses one portion; false: the exit status is in r->client.exit_code. */
static bool cmd_rehearse_play(struct rehearsal *r, int64_t most)
{
    json_auto_t *data = NULL;
    json_t *variables = json_copy(r->variables), *next;

    (void)json_object_set_new(variables, "most", json_integer(most));
    if (r->after != NULL)
        (void)json_object_set(variables, "after", r->after);
    if (!client_graphql(&r->client, QUERY, variables, &data))
        return false;
    const json_t *page = json_object_get(data, "rehearsePast");

    if (!json_is_array(json_object_get(page, "differences")) ||
        !json_is_array(json_object_get(page, "problems")))
        return client_odd(&r->client, "no result of a rehearsal") == EXIT_DONE;
    if (tell_problems(r, page))
        return false;
    add_page(r, page);
    next = json_object_get(page, "next");
    if (json_is_string(next) && r->after != NULL && json_equal(next, r->after))
        return client_odd(&r->client, "the next portion is the same one") == EXIT_DONE;
    json_decref(r->after);
    r->after = json_is_string(next) ? json_incref(next) : NULL;
    return true;
}

static void show_progress(const struct rehearsal *r, bool last)
{
    if (!isatty(STDERR_FILENO) || (isatty(STDOUT_FILENO) && !args_flag(r->args, "sum")))
        return;
    (void)fprintf(stderr, "\r%lld looked at, %lld different%s", (long long)r->sum.looked,
                  (long long)r->sum.different, last ? "\n" : "");
}

static int cmd_rehearse_tell_end(struct rehearsal *r)
{
    if (args_flag(r->args, "json")) {
        json_auto_t *line = json_pack("{s:o}", "sum", rehearse_sum_json(&r->sum));

        print_json(line);
    } else
        rehearse_sum_print(&r->sum);
    if (r->after != NULL) {
        (void)fflush(stdout);
        (void)fprintf(stderr, "the newest %lld; there are older ones (--limit N)\n",
                      (long long)r->sum.looked);
    }
    return r->sum.different > 0 ? EXIT_NO : EXIT_DONE;
}

static int run_rehearse(const struct args *a)
{
    AUTO(rehearsal_done) struct rehearsal r = { .args = a };
    int64_t limit = args_number(a, "limit", INT64_MAX);
    int code = EXIT_DONE;

    rehearse_sum_init(&r.sum);
    if (!make_variables(&r, &code))
        return code;
    if (!client_open(&r.client, a))
        return r.client.exit_code;
    do {
        int64_t left = limit - r.sum.looked;

        if (!cmd_rehearse_play(&r, left < PORTION ? left : PORTION))
            return r.client.exit_code;
        show_progress(&r, r.after == NULL || r.sum.looked >= limit);
    } while (r.after != NULL && r.sum.looked < limit);
    return cmd_rehearse_tell_end(&r);
}

static const struct arg_option options[] = {
    { .name = "since", .kind = ARG_TIME, .value = "T", .help = "received since then (24h)" },
    { .name = "until", .kind = ARG_TIME, .value = "T", .help = "received before then" },
    { .name = "limit", .kind = ARG_NUMBER, .value = "N", .help = "only the newest N of them" },
    { .name = "gateway", .kind = ARG_TEXT, .value = "GATEWAY", .help = "where they came in" },
    { .name = "against",
      .kind = ARG_TEXT,
      .value = "WHAT",
      .help = "compare with what `happened` (default), or with the `live` version" },
    { .name = "sum", .kind = ARG_FLAG, .help = "only the sum, not each document" },
    { .name = "keep-files",
      .kind = ARG_FLAG,
      .help = "take the files that it names from the live version, not beside FILE" },
    { 0 },
};

const struct verb cmd_rehearse = {
    .name = "rehearse",
    .summary = "run a proposed configuration over past documents: what would change",
    .about = "Each document is extracted, routed and transformed again in the node's memory,\n"
             "as it was and with FILE; those for which something would be different are\n"
             "shown, then the sum.  Nothing is stored or sent.  The exit status is 1 when\n"
             "something would be different, or FILE has problems.\n"
             "\n" FILTER_ABOUT,
    .example = "waybill rehearse waybill.yaml --since 24h\n"
               "waybill rehearse waybill.yaml --since 7d --against live --sum\n",
    .forms =
        (const struct arg_form[]){ { .usage = "FILE|- [--since T] [--limit N] [--against WHAT] "
                                              "[--sum] ...",
                                     .summary = "what FILE would do with past documents",
                                     .least = 1,
                                     .most = 1,
                                     .options = options,
                                     .common = FORM_NODE | FORM_JSON,
                                     .run = run_rehearse },
                                   { 0 } },
};
