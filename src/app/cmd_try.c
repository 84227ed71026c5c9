/* cmd_try.c - `waybill try STEP FILE`: one step on the bytes of a file, without a node. */
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "app/cmd.h"
#include "app/config_file.h"
#include "app/exit_code.h"
#include "app/print.h"
#include "app/scratch.h"
#include "app/scratch_records.h"
#include "app/trial_print.h"
#include "base/auto.h"
#include "base/clock.h"
#include "engine/plan/plan.h"
#include "engine/rehearse/trial.h"
#include "engine/rehearse/workbench.h"

enum { FACTS_ARENA = 1 << 20 };

/* ---- which step ---- */

/* `ROUTE:N` is one word with digits behind its last colon; no step as in a route is. */
static bool is_route_place(const char *step, struct str *ret_route, uint64_t *ret_number)
{
    const char *colon = strrchr(step, ':');

    if (colon == NULL || colon == step || strpbrk(step, " \t\n{}[]\"'") != NULL)
        return false;
    *ret_route = str_mem(step, (size_t)(colon - step));
    return str_to_u64(str_of(colon + 1), ret_number);
}

static const struct plan_step *step_of_route(const struct plan *p, struct str route,
                                             uint64_t number)
{
    for (size_t i = 0; i < p->route_count; i++) {
        const struct plan_route *r = &p->routes[i];

        if (!str_eq(r->name, route))
            continue;
        if (number >= 1 && number <= r->step_count)
            return &r->steps[number - 1];
        (void)print_fail(EXIT_NO, "route %.*s has %zu steps, and no step %llu", STR_ARG(route),
                         r->step_count, (unsigned long long)number);
        return NULL;
    }
    (void)print_fail(EXIT_NO, "there is no route %.*s", STR_ARG(route));
    return NULL;
}

/* Why a step that could be read cannot be made: a secret is missing, for example. */
static const char *broken_step(const struct plan *p, const struct plan_step *s)
{
    for (size_t i = 0; i < p->route_count; i++)
        if (s >= p->routes[i].steps && s < p->routes[i].steps + p->routes[i].step_count &&
            s == p->routes[i].steps + p->routes[i].step_count - 1)
            return p->routes[i].broken; /* a route is built up to its first broken step */
    return NULL;
}

/* ---- the document ---- */

static bool given_attributes(const struct args *a, struct arena *arena, struct facts *ret)
{
    const char *text;

    ret->attributes = ARENA_ARRAY(arena, struct fact, FACTS_ATTRIBUTES_MOST);
    for (size_t i = 0; (text = args_list_at(a, "attribute", i)) != NULL; i++) {
        struct str name, value = str_cut(str_of(text), '=', &name);

        if (strchr(text, '=') == NULL || name.len == 0) {
            (void)args_wrong(a, "--attribute is NAME=VALUE");
            return false;
        }
        if (i == FACTS_ATTRIBUTES_MOST) {
            (void)args_wrong(a, "at most %d attributes", FACTS_ATTRIBUTES_MOST);
            return false;
        }
        ret->attributes[ret->attribute_count++] = (struct fact){ name, value };
    }
    return true;
}

static struct str text_or_none(const char *text)
{
    return text != NULL ? str_of(text) : (struct str){ 0 };
}

static bool describe_document(const struct args *a, struct str bytes, struct arena *arena,
                              struct trial_document *ret)
{
    const char *file = a->operand[1], *slash = strrchr(file, '/');
    const char *name = args_text(a, "name");

    if (name == NULL && strcmp(file, "-") != 0)
        name = slash != NULL ? slash + 1 : file;
    *ret = (struct trial_document){ .bytes = bytes,
                                    .name = str_of(name != NULL ? name : ""),
                                    .facts = { .sender = text_or_none(args_text(a, "sender")),
                                               .receiver = text_or_none(args_text(a, "receiver")),
                                               .type = text_or_none(args_text(a, "type")) },
                                    .has_facts = true,
                                    .received_us = args_number(a, "received", clock_wall_us()) };
    return given_attributes(a, arena, &ret->facts);
}

/* ---- the verb ---- */

/* The most memory that this process has had, for a step that runs in it. */
static int64_t own_memory(void)
{
    struct rusage use;

    return getrusage(RUSAGE_SELF, &use) == 0 ? (int64_t)use.ru_maxrss * 1024 : 0;
}

/* The second run of a caged step is the one that counts: its process has started then. */
static bool run_warm(struct scratch *s, const struct plan_step *step,
                     const struct trial_document *d, struct trial *ret, struct err *err)
{
    struct road *road = workbench_road(s->bench);

    if (!trial_step(road, s->plan, step, d, ret, err))
        return false;
    if (step->cage == NULL || ret->end == TRIAL_DEAD)
        return true;
    trial_done(ret);
    return trial_step(road, s->plan, step, d, ret, err);
}

static int try_and_print(const struct args *a, struct scratch *s, const struct plan_step *step,
                         const struct trial_document *d)
{
    const struct trial_look look = { .json = args_flag(a, "json"),
                                     .part = args_number(a, "part", 0) };
    const char *broken = broken_step(s->plan, step);
    struct trial t;
    struct err err = { 0 };

    if (broken != NULL)
        return print_fail(EXIT_NO, "%s", broken);
    if (!run_warm(s, step, d, &t, &err))
        return print_fail(err.kind == ERR_CONFIG ? EXIT_NO : EXIT_IO, "%s", err.text);
    if (t.memory == 0 && step->cage == NULL)
        t.memory = own_memory();
    int code = trial_print(&t, &look);

    trial_done(&t);
    return code;
}

static int run_on(const struct args *a, struct scratch *s, const struct trial_document *d)
{
    const char *file = args_text(a, "c"), *secrets = args_text(a, "secrets");
    const char *records = args_text(a, "records");
    struct str route;
    uint64_t number = 0;
    bool place = is_route_place(a->operand[0], &route, &number);
    int code;

    if (place && file == NULL)
        return args_wrong(a, "%s is a step of a configuration: name that with -c", a->operand[0]);
    if ((code = scratch_open(s)) != EXIT_DONE ||
        (secrets != NULL && (code = scratch_secrets(s, secrets, true)) != EXIT_DONE) ||
        (records != NULL && (code = scratch_records(s, records, true)) != EXIT_DONE) ||
        (code = scratch_plan(s, file, place ? (struct str){ 0 } : str_of(a->operand[0]))) !=
            EXIT_DONE)
        return code;
    const struct plan_step *step =
        place ? step_of_route(s->plan, route, number) : &s->plan->routes[0].steps[0];

    return step != NULL ? try_and_print(a, s, step, d) : EXIT_NO;
}

static int run_try(const struct args *a)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(FACTS_ARENA);
    AUTO(buf_done) struct buf bytes = BUF_INIT(SERVICE_BYTES_MOST + 1);
    struct scratch s = { 0 };
    struct trial_document d;
    struct err err = { 0 };

    if (!config_file_text(a->operand[1], &bytes, &err))
        return print_fail(EXIT_IO, "%s", err.text);
    if (bytes.len > SERVICE_BYTES_MOST)
        return print_fail(EXIT_NO, "%s has more than the %d MiB that are tried here", a->operand[1],
                          SERVICE_BYTES_MOST >> 20);
    if (!describe_document(a, buf_view(&bytes), &arena, &d))
        return EXIT_USAGE;
    int code = run_on(a, &s, &d);

    scratch_close(&s);
    return code;
}

static const struct arg_option try_options[] = {
    { .name = "c", .kind = ARG_TEXT, .value = "FILE", .help = "the configuration that STEP is of" },
    { .name = "name", .kind = ARG_TEXT, .value = "NAME", .help = "of the document, if not FILE's" },
    { .name = "sender", .kind = ARG_TEXT, .value = "SYSTEM", .help = "of the document" },
    { .name = "receiver", .kind = ARG_TEXT, .value = "SYSTEM", .help = "of the document" },
    { .name = "type", .kind = ARG_TEXT, .value = "TYPE", .help = "of the document" },
    { .name = "attribute",
      .kind = ARG_LIST,
      .value = "NAME=VALUE",
      .help = "of the document; may be repeated" },
    { .name = "received", .kind = ARG_TIME, .value = "T", .help = "its time; without it now" },
    { .name = "secrets",
      .kind = ARG_TEXT,
      .value = "DIR",
      .help = "a folder whose files are secrets: name and value" },
    { .name = "records",
      .kind = ARG_TEXT,
      .value = "DIR",
      .help = "a folder with records: SET.csv, SET/KEY.json" },
    { .name = "part", .kind = ARG_NUMBER, .value = "N", .help = "print the bytes of this part" },
    { 0 },
};

const struct verb cmd_try = {
    .name = "try",
    .summary = "run one step on a file and print the result",
    .about = "No node is needed, nothing is stored or sent.  A step that runs in a process of its\n"
             "own does so here too, with the same limits.\n"
             "\n"
             "STEP is a step as in a route; with -c also the name of one of `services`, or\n"
             "ROUTE:N, the N-th step of a route.  Files that it names are beside the\n"
             "configuration, without -c in the current folder.\n"
             "\n"
             "The result is printed as it is; what it took, and what a script logs, goes to\n"
             "stderr.  Several parts have a line above each; --part prints the bytes of one.\n"
             "The exit status is 1 when the step is wrong, or refuses the document.\n",
    .example = "waybill try 'jq: .order.lines' order.json\n"
               "waybill try 'split: { json: /lines }' order.json\n"
               "waybill try -c waybill.yaml orders:2 order.xml --sender acme\n",
    .forms = (const struct arg_form[]){ { .usage = "STEP FILE|- [-c FILE] [options]",
                                          .summary = "run STEP on FILE, or stdin",
                                          .least = 2,
                                          .most = 2,
                                          .options = try_options,
                                          .common = FORM_JSON,
                                          .run = run_try },
                                        { 0 } },
};
