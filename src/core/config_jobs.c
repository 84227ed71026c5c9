/* config_jobs.c - checks of jobs: keys of a schedule that depend on each other, and schedules that
 * never run. */
#include "base/clock.h"
#include "core/config_check.h"
#include "core/connector.h"
#include "core/grammar.h"
#include "core/nominal.h"
#include "core/window.h"

enum {
    TIMES_MOST = 100,     /* of `at` */
    LOOKS_OF_ALL = 400000 /* bounds the search for times of schedules that never run */
};

/* The job has a key that only means something beside another one. */
static void config_jobs_needs(struct check *c, const struct yaml_node *job, const char *key,
                              bool has, const char *hint, const char *why)
{
    const struct yaml_node *value = yaml_get(job, key);

    if (value != NULL && !has)
        problem_add(c->problems, yaml_position(value), hint, "`%s` %s", key, why);
}

static bool config_jobs_duration(const struct yaml_node *node, int64_t *ret_us)
{
    struct err err;

    return node != NULL && units_duration(yaml_text(node), ret_us, &err);
}

static void config_jobs_check_waits(struct check *c, const struct yaml_node *job)
{
    const struct yaml_node *retry = yaml_get(job, "retry"), *idle = yaml_get(job, "idle_most");
    const struct yaml_node *first = yaml_get(retry, "first");
    int64_t a, b;

    if (config_jobs_duration(first, &a) && config_jobs_duration(yaml_get(retry, "most"), &b) &&
        a > b)
        problem_add(c->problems, first->place, "waits grow from `first` to `most`",
                    "`first` is longer than `most`");
    if (config_jobs_duration(idle, &a) && config_jobs_duration(yaml_get(job, "every"), &b) && a < b)
        problem_add(c->problems, idle->place, "waits grow from `every` to `idle_most`",
                    "`idle_most` is shorter than `every`");
}

/* Both times are read as if they were of one zone unless they have offsets: which is right for a
 * pair without, and off by a day at most for others, which are not compared. */
static void config_jobs_check_until(struct check *c, const struct yaml_node *job)
{
    const struct yaml_node *once = yaml_get(job, "once"), *until = yaml_get(job, "until");
    struct units_instant a, b;
    struct err err;

    if (once == NULL || until == NULL || !units_instant(yaml_text(once), &a, &err) ||
        !units_instant(yaml_text(until), &b, &err) || a.has_offset != b.has_offset)
        return;
    if (a.local_s - a.offset_s > b.local_s - b.offset_s)
        problem_add(c->problems, once->place, "leave `until` out: `once` is one run",
                    "this time never comes: `until` ends the job before");
}

static void config_jobs_check_keys(struct check *c, const struct yaml_node *job)
{
    const struct yaml_node *at = yaml_get(job, "at");
    bool every = yaml_get(job, "every") != NULL, once = yaml_get(job, "once") != NULL;

    config_jobs_needs(c, job, "idle_most", every || (at == NULL && !once),
                      "leave it out, or use `every`", "is only used with `every`");
    config_jobs_needs(c, job, "catch_up", !every || at != NULL || once, "leave it out",
                      "is only used with `at` and `once`: `every` misses nothing");
    config_jobs_needs(c, job, "catch_up_most", str_is(yaml_text(yaml_get(job, "catch_up")), "all"),
                      "add `catch_up: all`, or leave it out", "is only used with `catch_up: all`");
    config_jobs_needs(c, job, "runs", !once, "leave it out",
                      "is not used with `once`: it is one run");
    if (at != NULL && at->kind == YAML_LIST && at->count > TIMES_MOST)
        problem_add(c->problems, yaml_position(at),
                    "a schedule of five fields may stand for many of them",
                    "a job has at most %d times", TIMES_MOST);
}

/* Two runs at once must be able to do the same work. */
static void config_jobs_check_parallel(struct check *c, const struct yaml_node *job)
{
    const struct yaml_node *parallel = yaml_get(job, "parallel");
    const struct job_type *type =
        connector_job(c->options->connectors, yaml_text(yaml_get(job, "kind")));

    if (parallel != NULL && type != NULL && !type->repeatable && !str_is(yaml_text(parallel), "1"))
        problem_add(c->problems, yaml_position(parallel), "leave it out",
                    "jobs of kind `%s` run one at a time: `parallel` is for kinds whose runs may "
                    "be repeated in any order",
                    type->kind.name);
}

/* An acknowledgement must have where to go. */
static void config_jobs_check_ack(struct check *c, const struct yaml_node *job)
{
    const struct yaml_node *ack = yaml_get(job, "ack");

    if (str_is(yaml_text(ack), "later") &&
        yaml_text(yaml_get(yaml_get(c->root, "location"), "url")).len == 0)
        problem_add(c->problems, yaml_position(ack),
                    "add `location: { url: \"https://...\" }`: where the service reaches this site",
                    "`ack: later` needs `location.url`, where acknowledgements come to");
}

/* `node: { jobs: { hand_over: URL, key: secret:NAME } }` */
static void config_jobs_check_hand_over(struct check *c)
{
    const struct yaml_node *node = yaml_get(c->root, "node"), *jobs = yaml_get(node, "jobs");
    const struct yaml_node *url = yaml_get(jobs, "hand_over"), *key = yaml_get(jobs, "key");

    if (url == NULL && key != NULL)
        problem_add(c->problems, yaml_position(key), "add `hand_over`, or leave `key` out",
                    "`key` is only used with `hand_over`");
    if (url == NULL)
        return;
    if (key == NULL)
        problem_add(c->problems, yaml_position(url),
                    "`waybill key add --admin --role worker` makes one there; write `key: "
                    "secret:NAME` here",
                    "`hand_over` needs `key`, what the node shows to the farm");
    if (yaml_get(node, "store") == NULL)
        problem_add(c->problems, yaml_position(url),
                    "leave it out, or give `node.store` a PostgreSQL database",
                    "`hand_over` cannot be used with SQLite: its claims are in the memory of this "
                    "node, and no other node can take them over");
}

/* `node: { jobs: { kinds: [...] } }` */
static void config_jobs_check_node(struct check *c)
{
    const struct yaml_node *kinds = yaml_get(yaml_get(yaml_get(c->root, "node"), "jobs"), "kinds");
    char value[PROBLEM_QUOTE], text[1400];

    if (kinds == NULL || kinds->kind != YAML_LIST)
        return;
    for (const struct yaml_node *n = kinds->first; n != NULL; n = n->next) {
        struct check_hint hint;

        if (n->kind != YAML_SCALAR || kind_find(c->options->connectors, ROLE_JOB, n->text) != NULL)
            continue;
        check_hint_start(&hint, c, n->text);
        check_hint_add_kinds(&hint, c->options->connectors, ROLE_JOB);
        problem_add(c->problems, n->place, check_hint_text(&hint, "allowed", text),
                    "unknown kind of job `%s`", problem_quote(value, n->text));
    }
}

/* ---- times that never come ---- */

static bool config_jobs_read_at(struct check *c, const struct yaml_node *at, struct nominal *ret)
{
    bool list = at != NULL && at->kind == YAML_LIST;
    size_t most = at == NULL ? 0 : list ? at->count : 1;
    struct cron *crons = ARENA_ARRAY(c->scratch, struct cron, most);
    struct err err;

    if (most > TIMES_MOST)
        return false;
    ret->crons = crons;
    for (const struct yaml_node *n = list ? at->first : at; ret->count < most; n = n->next)
        if (!cron_parse_at(yaml_text(n), &crons[ret->count++], &err))
            return false;
    return true;
}

/* What the schedule excludes; false: it cannot be read, which was reported already. */
static bool config_jobs_read(struct check *c, struct window_maker *m, const struct yaml_node *job,
                             struct nominal *ret)
{
    const struct yaml_node *zone = yaml_get(job, "zone"), *window = yaml_get(job, "window");
    struct err err;

    m->zone = zone != NULL ? yaml_text(zone) : STR("UTC");
    if (!zone_shelf_get(&m->zones, m->zone, &ret->zone, &err) ||
        !config_jobs_read_at(c, yaml_get(job, "at"), ret))
        return false;
    window_holidays(m, yaml_get(job, "holidays"), &ret->holidays, &ret->holiday_count);
    return window == NULL || yaml_is_null(window) ||
           window_set_build(m, window, &ret->window, &err);
}

/* Holidays and windows leave no time of `at`, or no time at all.  Dates of one year exclude that
 * year only, so it does not matter where the search starts. */
void check_schedule_comes(struct check *c, struct window_maker *m, const struct yaml_node *job,
                          size_t *io_looks)
{
    const struct yaml_node *at = yaml_get(job, "at");
    const int64_t from_us = CLOCK_S; /* not 0, which stands for no time */
    struct nominal n = { 0 };

    if ((yaml_get(job, "holidays") == NULL && yaml_get(job, "window") == NULL) ||
        *io_looks > LOOKS_OF_ALL || !config_jobs_read(c, m, job, &n))
        return;
    if (at != NULL ? nominal_next(&n, from_us, io_looks) != 0 : nominal_open(&n, from_us) != 0)
        return;
    *io_looks += NOMINAL_LOOKS; /* a search in vain is the most expensive one */
    problem_add(c->problems, yaml_position(at != NULL ? at : job),
                "change `at`, `holidays` or `window`",
                "this time never comes: `holidays` and `window` leave none");
}

/* One that is in force already must be read: its jobs wait (store/job/job_follow.h).  Of links so
 * many could not even be counted out. */
static void config_jobs_check_count(struct check *c)
{
    const struct yaml_node *jobs = yaml_get(c->root, "jobs"), *links = yaml_get(c->root, "links");
    size_t linked = check_link_jobs(c->root), count = linked;
    bool now = c->options->ask_zones || c->options->refuse || linked > CONFIG_JOBS_MOST;

    count += jobs != NULL && jobs->kind == YAML_MAP ? jobs->count : 0;
    if (now && count > CONFIG_JOBS_MOST)
        problem_add(c->problems, yaml_position(jobs != NULL ? jobs : links), NULL,
                    "there are %zu jobs, and at most %d may be", count, CONFIG_JOBS_MOST);
}

void check_schedule(struct check *c, const struct yaml_node *map)
{
    check_windows(c, yaml_get(map, "window"));
    config_jobs_check_keys(c, map);
    config_jobs_check_waits(c, map);
    config_jobs_check_until(c, map);
}

void check_jobs(struct check *c)
{
    struct window_maker m = window_maker(c->root, c->scratch);
    const struct yaml_node *jobs = yaml_get(c->root, "jobs");
    /* The search reads the zones of this machine, and a tree without mistakes. */
    bool search = c->options->ask_zones && c->problems->count == 0;
    size_t looks = 0;

    config_jobs_check_node(c);
    config_jobs_check_hand_over(c);
    config_jobs_check_count(c);
    if (jobs == NULL || jobs->kind != YAML_MAP)
        return;
    for (const struct yaml_node *job = jobs->first; job != NULL; job = job->next) {
        if (job->kind != YAML_MAP)
            continue;
        check_schedule(c, job);
        config_jobs_check_parallel(c, job);
        config_jobs_check_ack(c, job);
        if (search)
            check_schedule_comes(c, &m, job, &looks);
    }
}
