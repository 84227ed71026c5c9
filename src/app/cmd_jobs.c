/* cmd_jobs.c - `waybill jobs`: recurring work. */
#include <stdio.h>
#include <string.h>

#include "app/ask.h"
#include "app/cmd.h"
#include "app/exit_code.h"
#include "app/jobs_next.h"
#include "app/jobs_print.h"
#include "app/print.h"
#include "base/auto.h"

enum { JOBS_PAGE = 100, LOG_PAGE = 100, LOG_LIMIT = 50 };

/* ---- looking ---- */

/* The values of --state; NULL: one of them is no state, and the error is printed. */
static json_t *cmd_jobs_read_states(const struct args *a)
{
    static const char *const words[] = { "scheduled", "due",   "running", "paused",
                                         "suspended", "ended", "gone" };
    json_t *list = json_array();
    const char *given;

    for (size_t i = 0; (given = args_list_at(a, "state", i)) != NULL; i++) {
        bool known = false;

        for (size_t k = 0; k < sizeof words / sizeof words[0]; k++)
            known = known || strcmp(given, words[k]) == 0;
        if (!known) {
            (void)args_wrong(a,
                             "--state takes scheduled, due, running, paused, suspended, ended or "
                             "gone, not \"%s\"",
                             given);
            json_decref(list);
            return NULL;
        }
        (void)json_array_append_new(list, json_string(given));
    }
    return list;
}

/* What the node does by itself. */
static int cmd_jobs_print_duties(const struct args *a, struct client *c)
{
    static const struct list list = { .query = "{ duties { " DUTY_FIELDS " } }",
                                      .field = "duties",
                                      .columns = duty_columns };
    json_auto_t *data = NULL;

    if (!client_graphql(c, list.query, NULL, &data))
        return c->exit_code;
    if (!args_flag(a, "json"))
        (void)putchar('\n');
    return list_answer(a, c, &list, json_object_get(data, "duties"));
}

static int cmd_jobs_run_ls(const struct args *a)
{
    static const struct list list = { .query =
                                          "query($states: [JobState!], $all: Boolean,"
                                          " $first: Int, $after: String)"
                                          " { jobs(states: $states, all: $all, first: $first,"
                                          " after: $after) { items { " JOB_FIELDS " } next } }",
                                      .field = "jobs",
                                      .columns = job_columns,
                                      .page = JOBS_PAGE };
    AUTO(client_close) struct client c = { 0 };
    json_auto_t *states = cmd_jobs_read_states(a);

    if (states == NULL)
        return EXIT_USAGE;
    bool duties = args_flag(a, "all") && json_array_size(states) == 0;

    if (!client_open(&c, a))
        return c.exit_code;
    int code = list_pages(a, &c, &list,
                          json_pack("{s:b,s:o?}", "all", args_flag(a, "all"), "states",
                                    json_array_size(states) > 0 ? json_incref(states) : NULL));

    return code == EXIT_DONE && duties ? cmd_jobs_print_duties(a, &c) : code;
}

static int cmd_jobs_print_state(const struct args *a, const json_t *job, int64_t number)
{
    const json_t *states = json_object_get(job, "states"), *one;
    size_t i;

    json_array_foreach(states, i, one)
    {
        if (member_number(one, "number") != number)
            continue;
        if (args_flag(a, "json"))
            print_json(one);
        else
            (void)fputs(member_text(one, "text"), stdout);
        return EXIT_DONE;
    }
    return print_fail(EXIT_NO, "job %s does not keep state %lld; see `waybill jobs show %s`",
                      a->operand[0], (long long)number, a->operand[0]);
}

static int cmd_jobs_run_show(const struct args *a)
{
    int64_t number = args_number(a, "state", 0);
    AUTO(client_close) struct client c = { 0 };
    json_auto_t *data = NULL;

    if (!ask_named(&c, a,
                   "query($name: String!) { job(name: $name) { " JOB_FIELDS
                   " nextTimes(first: 5) open { run node nominal began until outside }"
                   " states { number stored text } backfill { left next last tries } } }",
                   "name", &data))
        return c.exit_code;
    const json_t *job = json_object_get(data, "job");

    if (!json_is_object(job))
        return print_fail(EXIT_NO, "there is no job %s; see `waybill jobs ls --all`",
                          a->operand[0]);
    if (number > 0)
        return cmd_jobs_print_state(a, job, number);
    if (args_flag(a, "json"))
        print_json(job);
    else
        jobs_print_whole(a, job);
    return EXIT_DONE;
}

static const char log_query[] = "query($job: String, $first: Int, $after: String)"
                                " { jobRuns(job: $job, first: $first, after: $after)"
                                " { items { " JOB_RUN_FIELDS " } next } }";

/* The runs with their steps, which are no table. */
static int cmd_jobs_print_steps(const struct args *a, struct client *c, const char *job)
{
    int64_t left = args_number(a, "limit", LOG_LIMIT);
    json_auto_t *after = NULL;

    do {
        json_int_t first = left < LOG_PAGE ? left : LOG_PAGE;
        json_auto_t *data = NULL, *asked = json_pack("{s:s?,s:I}", "job", job, "first", first);
        const json_t *run;
        size_t i;

        (void)json_object_set(asked, "after", after != NULL ? after : json_null());
        if (!client_graphql(c, log_query, json_incref(asked), &data) ||
            !list_next(c, json_object_get(data, "jobRuns"), "items", &after))
            return c->exit_code;
        json_array_foreach(json_object_get(json_object_get(data, "jobRuns"), "items"), i, run)
            jobs_print_run(run);
        left -= (int64_t)i;
    } while (after != NULL && left > 0);
    return EXIT_DONE;
}

static int cmd_jobs_run_log(const struct args *a)
{
    static const struct list list = { .query = log_query,
                                      .field = "jobRuns",
                                      .columns = job_run_columns,
                                      .page = LOG_PAGE,
                                      .limit = LOG_LIMIT,
                                      .which = "newest" };
    const char *job = a->operand_count > 0 ? a->operand[0] : NULL;
    AUTO(client_close) struct client c = { 0 };

    if (job != NULL && !args_name(a, 0))
        return EXIT_USAGE;
    if (!client_open(&c, a))
        return c.exit_code;
    return args_flag(a, "steps") && !args_flag(a, "json")
               ? cmd_jobs_print_steps(a, &c, job)
               : list_pages(a, &c, &list, json_pack("{s:s?}", "job", job));
}

/* ---- changing ---- */

/* Takes ownership of `variables`, to which it adds the name. */
static int cmd_jobs_change(const struct args *a, const char *query, json_t *variables)
{
    AUTO(client_close) struct client c = { 0 };
    json_auto_t *data = NULL;

    if (!args_name(a, 0)) {
        json_decref(variables);
        return EXIT_USAGE;
    }
    if (variables != NULL)
        (void)json_object_set_new(variables, "name", json_string(a->operand[0]));
    if (!ask_node(&c, a, query, variables, &data))
        return c.exit_code;
    const json_t *job = json_object_get(data, "job");

    if (member_text(job, "name") == NULL)
        return client_odd(&c, "no job in it");
    if (args_flag(a, "json"))
        print_json(job);
    else
        jobs_print_line(job);
    return EXIT_DONE;
}

static int cmd_jobs_run_run(const struct args *a)
{
    return cmd_jobs_change(a,
                           "mutation($name: String!) { job: jobRun(name: $name)"
                           " { " JOB_FIELDS " } }",
                           json_object());
}

static int cmd_jobs_run_pause(const struct args *a)
{
    char text[CLOCK_TEXT];
    const char *until;

    if (!ask_time_ahead(a, "until", text, &until))
        return EXIT_USAGE;
    return cmd_jobs_change(
        a,
        "mutation($name: String!, $reason: String, $until: Time)"
        " { job: jobPause(name: $name, reason: $reason, until: $until) { " JOB_FIELDS " } }",
        json_pack("{s:s?,s:s?}", "reason", args_text(a, "reason"), "until", until));
}

static int cmd_jobs_run_resume(const struct args *a)
{
    return cmd_jobs_change(a,
                           "mutation($name: String!) { job: jobResume(name: $name)"
                           " { " JOB_FIELDS " } }",
                           json_object());
}

static int cmd_jobs_run_cancel(const struct args *a)
{
    return cmd_jobs_change(a,
                           "mutation($name: String!, $reason: String)"
                           " { job: jobCancel(name: $name, reason: $reason) { " JOB_FIELDS " } }",
                           json_pack("{s:s?}", "reason", args_text(a, "reason")));
}

static int cmd_jobs_run_reset(const struct args *a)
{
    int64_t to = args_number(a, "to", 0);

    if (to == 0)
        return args_wrong(a, "say which state: --to N, as `waybill jobs show %s` lists them",
                          a->operand[0]);
    return cmd_jobs_change(a,
                           "mutation($name: String!, $to: Long!)"
                           " { job: jobReset(name: $name, to: $to) { " JOB_FIELDS " } }",
                           json_pack("{s:I}", "to", (json_int_t)to));
}

static int cmd_jobs_run_backfill(const struct args *a)
{
    char from[CLOCK_TEXT], to[CLOCK_TEXT];

    if (args_text(a, "from") == NULL || args_text(a, "to") == NULL)
        return args_wrong(a, "say which times: --from T --to T");
    return cmd_jobs_change(
        a,
        "mutation($name: String!, $from: Time!, $to: Time!)"
        " { job: jobBackfill(name: $name, from: $from, to: $to) { " JOB_FIELDS " } }",
        json_pack("{s:s,s:s}", "from", clock_utc_text(args_number(a, "from", 0), from), "to",
                  clock_utc_text(args_number(a, "to", 0), to)));
}

/* ---- the verb ---- */

static const struct arg_option ls_options[] = {
    { .name = "all",
      .kind = ARG_FLAG,
      .help = "also those that left the configuration, and the node's own duties" },
    { .name = "state",
      .kind = ARG_LIST,
      .value = "STATE",
      .help = "only jobs in this state, such as suspended" },
    { 0 },
};

static const struct arg_option show_options[] = {
    { .name = "state",
      .kind = ARG_NUMBER,
      .value = "N",
      .help = "the whole text of this state, and nothing else" },
    { 0 },
};

static const struct arg_option log_options[] = {
    { .name = "limit", .kind = ARG_NUMBER, .value = "N", .help = "at most N runs (50)" },
    { .name = "steps", .kind = ARG_FLAG, .help = "what each did, with durations" },
    { 0 },
};

static const struct arg_option pause_options[] = {
    { .name = "reason", .kind = ARG_TEXT, .value = "TEXT", .help = "for whoever meets it" },
    { .name = "until",
      .kind = ARG_TEXT,
      .value = "T",
      .help = "when it goes on: 2h, 22:00, 2026-11-15T04:00Z (when it is resumed)" },
    { 0 },
};

static const struct arg_option cancel_options[] = {
    { .name = "reason", .kind = ARG_TEXT, .value = "TEXT", .help = "for whoever reads the log" },
    { 0 },
};

static const struct arg_option reset_options[] = {
    { .name = "to", .kind = ARG_NUMBER, .value = "N", .help = "the number of the state" },
    { 0 },
};

static const struct arg_option backfill_options[] = {
    { .name = "from", .kind = ARG_TIME, .value = "T", .help = "times at T or later" },
    { .name = "to", .kind = ARG_TIME, .value = "T", .help = "times at T or before" },
    { 0 },
};

#define CHANGE(word_, usage_, summary_, options_, run_)                                   \
    {                                                                                     \
        .word = (word_), .usage = (usage_), .summary = (summary_), .least = 1, .most = 1, \
        .options = (options_), .common = FORM_NODE | FORM_JSON, .run = (run_)             \
    }

const struct verb cmd_jobs = {
    .name = "jobs",
    .summary = "recurring work: when it runs, what became of it",
    .about =
        "A job is scheduled, due, running, paused, suspended, ended or gone.  `run` makes one\n"
        "run at once, also while the job is paused, and does not move its schedule.  A pause\n"
        "lets no run begin; what runs goes on to its end, and times that pass meanwhile are\n"
        "left out.  `cancel` takes the claim of what runs away: whatever it still does, its end\n"
        "changes nothing.  A suspended job waits for `resume` after a problem was solved.\n"
        "\n"
        "`backfill` serves past times of a schedule in order, one run each, beside the schedule,\n"
        "which has the first right; `cancel` ends it.\n"
        "\n"
        "What a run leaves for the next one is its state.  The last 20 are kept, and `reset`\n"
        "makes an earlier one the newest.  `log` lists runs that have ended: those that the\n"
        "setting `log` of the job wants, for 14 days.\n"
        "\n"
        "`jobs next` tells when the jobs of a node run next; the times of a schedule on the\n"
        "command line, or of the jobs of a configuration file, it computes itself.  Each is\n"
        "shown on the clock of the schedule's time zone and in UTC, with what changes of the\n"
        "clock do to it.  Of a schedule or file times that are left out stand between them,\n"
        "with the reason.  Iterations count as if they took no time and had something to do.\n"
        "With --last, the last time that was served, it tells what happens to those that were\n"
        "missed since then, if nodes start again at --from.\n",
    .example = "waybill jobs ls --state suspended --state due\n"
               "waybill jobs pause nightly-call --until 2h --reason \"their release\"\n"
               "waybill jobs reset nightly-call --to 41\n"
               "waybill jobs backfill nightly-call --from 2026-11-01 --to 2026-11-08\n"
               "waybill jobs log nightly-call --steps --limit 5\n"
               "waybill jobs next nightly-call\n"
               "waybill jobs next --at \"0 2 * * *\" --zone Europe/Berlin -n 5\n"
               "waybill jobs next --at 08:00 --at 20:00 --holidays 12-25 --window mon-fri\n"
               "waybill jobs next --at @hourly --last 7h --catch-up all\n"
               "waybill jobs next --config waybill.yaml nightly-call\n",
    .forms =
        (const struct arg_form[]){
            { .word = "ls",
              .usage = "[--all] [--state STATE]...",
              .summary = "the jobs, in the order in which they came",
              .options = ls_options,
              .common = FORM_NODE | FORM_JSON,
              .run = cmd_jobs_run_ls },
            CHANGE("show", "NAME [--state N]", "one job: settings, times, last run, states",
                   show_options, cmd_jobs_run_show),
            CHANGE("run", "NAME", "one run at once", NULL, cmd_jobs_run_run),
            CHANGE("pause", "NAME [--reason TEXT] [--until T]", "let no run begin", pause_options,
                   cmd_jobs_run_pause),
            CHANGE("resume", "NAME", "end a pause, or a suspension", NULL, cmd_jobs_run_resume),
            CHANGE("cancel", "NAME [--reason TEXT]", "stop what runs", cancel_options,
                   cmd_jobs_run_cancel),
            CHANGE("backfill", "NAME --from T --to T", "serve past times of `at`, one run each",
                   backfill_options, cmd_jobs_run_backfill),
            CHANGE("reset", "NAME --to N", "go back to an earlier state", reset_options,
                   cmd_jobs_run_reset),
            { .word = "log",
              .usage = "[NAME] [--limit N] [--steps]",
              .summary = "runs that have ended, newest first",
              .most = 1,
              .options = log_options,
              .common = FORM_NODE | FORM_JSON,
              .run = cmd_jobs_run_log },
            { .word = "next",
              .usage = "[NAME...] [--at TIME|--every D|--once T|--config FILE] [-n N] ...",
              .summary = "the next times of jobs, or of a schedule",
              .most = 1000,
              .options = jobs_next_options,
              .common = FORM_NODE | FORM_JSON,
              .run = jobs_next_run },
            { 0 } },
};
