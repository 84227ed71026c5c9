#include "engine/upkeep/live.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/log.h"
#include "core/connector.h"
#include "engine/intake/deposit.h"
#include "engine/intake/intake.h"
#include "engine/intake/listeners.h"
#include "engine/intake/poller.h"
#include "engine/intake/served.h"
#include "engine/plan/areas.h"
#include "engine/plan/folders.h"
#include "engine/plan/outside.h"
#include "engine/plan/plan.h"
#include "engine/run/life.h"
#include "engine/upkeep/live_files.h"
#include "engine/upkeep/removal.h"
#include "store/audit/audit.h"
#include "store/govern/version.h"
#include "store/govern/version_file.h"
#include "store/people/caller.h"
#include "store/people/secret.h"
#include "store/road/accept.h"
#include "store/road/retain_days.h"

enum { TEXT_MOST = 8 << 20, ARENA_MOST = 64 << 20 };

struct live {
    struct live_options o;
    pthread_mutex_t mutex;
    struct config *config;
    int64_t version, callers, secrets, key_period_us;
    int64_t refused; /* the newest version that could not be used */
    size_t missing;  /* secrets, variables and files that the plan in force could not read */
    bool is_back;    /* some of them can be read now: the plan is made anew */
    char trouble[300];
    void (*used)(void *arg, struct config *c, int64_t version); /* live_tell() */
    void *used_arg;
};

struct live *live_new(const struct live_options *options)
{
    struct live *l = NEW(struct live);

    *l = (struct live){ .o = *options };
    (void)pthread_mutex_init(&l->mutex, NULL);
    return l;
}

void live_free(struct live *l)
{
    if (l == NULL)
        return;
    config_unref(l->config);
    free(l);
}

const char *live_trouble(struct live *l)
{
    return l->trouble[0] != '\0' ? l->trouble : NULL;
}

int64_t live_key_period_us(struct live *l)
{
    (void)pthread_mutex_lock(&l->mutex);
    int64_t period = l->key_period_us;

    (void)pthread_mutex_unlock(&l->mutex);
    return period;
}

static int64_t longest_key_period(const struct live *l, const struct config *c)
{
    int64_t most = 0;

    for (size_t i = 0; i < c->gateway_count; i++) {
        const struct gateway_type *type =
            connector_gateway(l->o.connectors, str_of(c->gateways[i].kind));
        bool served = type != NULL && (type->path != NULL || type->stream != NULL);
        int64_t period = served ? c->gateways[i].idempotency_us : DEPOSIT_KEY_PERIOD_US;

        if (period > most)
            most = period;
    }
    for (size_t i = 0; i < c->job_count && most < DEPOSIT_KEY_PERIOD_US; i++) {
        const struct job_type *type = connector_job(l->o.connectors, str_of(c->jobs[i].kind));

        if (type != NULL && type->deposits)
            most = DEPOSIT_KEY_PERIOD_US;
    }
    return most;
}

/* ---- use ---- */

struct asking {
    struct live *live;
    const char *file;
    bool force, failed;
    struct str step; /* of struct live_change */
    struct err err;
};

static void ask_outside(void *arg, const struct yaml_node *root, struct problem_list *problems)
{
    struct asking *a = arg;

    a->failed = !outside_check(a->live->o.store, root, a->live->o.node, problems, &a->err);
}

/* With `asking`, these are problems like any other: missing secrets, variables and files, folders
 * that this node must not use, and keys that this build does not run, unless they are forced. */
static struct config *live_load(struct live *l, struct str text, const char *name,
                                const struct config_files *files, struct asking *asking,
                                struct config_report *report)
{
    const struct config_options options = { .connectors = l->o.connectors,
                                            .files = files,
                                            .ask_zones = asking != NULL,
                                            .refuse = asking != NULL && !asking->force,
                                            .node = l->o.node,
                                            .step =
                                                asking != NULL ? asking->step : (struct str){ 0 },
                                            .also = asking != NULL ? ask_outside : NULL,
                                            .also_arg = asking };
    struct config *c = config_load(text, name, &options, report);

    if (c != NULL && asking != NULL) {
        config_ask_files(c, &report->problems);
        folders_ask(c, &report->problems);
        problem_sort(&report->problems);
    }
    if (c == NULL ||
        (config_fits_node(c, l->o.node, &report->problems) && report->problems.count == 0))
        return c;
    config_unref(c);
    return NULL;
}

static bool count_missing(struct live *l, const struct config *c, size_t *ret, struct err *err)
{
    struct problem_list missing = PROBLEM_LIST_INIT;
    bool ok = outside_check(l->o.store, c->root, l->o.node, &missing, err);

    *ret = missing.count;
    problem_list_done(&missing);
    return ok;
}

/* With the mutex held: puts `c` into force.  The tables of keys exist before the first document
 * that needs them, and the road has the plan before the intake names its version. */
static bool use(struct live *l, struct config *c, int64_t version, struct err *err)
{
    int64_t callers, secrets, period = longest_key_period(l, c);
    size_t missing = l->missing;
    bool same;
    struct plan *plan = NULL;

    if (!caller_mark(l->o.store, &callers, err) || !secret_mark(l->o.store, &secrets, err) ||
        !accept_keep_tables(l->o.store, period, err))
        return false;
    same = c == l->config && version == l->version && secrets == l->secrets && !l->is_back;
    if (!same) {
        if (!count_missing(l, c, &missing, err) ||
            !plan_build(c, version, l->o.connectors, l->o.store, NULL, &plan, err))
            return false;
        retain_use(l->o.store, &plan->retention.rules);
        road_use(l->o.road, plan);
        plan_unref(plan);
    }
    if (!intake_use(l->o.intake, c, version, err))
        return false;
    if (!same) {
        poller_use(l->o.poller, c, version);
        listeners_use(l->o.listeners, c);
    }
    if (c != l->config) {
        config_unref(l->config);
        l->config = config_ref(c);
    }
    if (version != l->version)
        log_event(LOG_INFO, "config.use", kv_int("version", version));
    l->version = version;
    l->callers = callers;
    l->secrets = secrets;
    l->missing = missing;
    l->is_back = false;
    l->key_period_us = period;
    l->trouble[0] = '\0';
    if (!same && l->used != NULL)
        l->used(l->used_arg, c, version);
    return true;
}

void live_tell(struct live *l, void (*used)(void *arg, struct config *c, int64_t version),
               void *arg)
{
    (void)pthread_mutex_lock(&l->mutex);
    l->used = used;
    l->used_arg = arg;
    if (used != NULL && l->config != NULL)
        used(arg, l->config, l->version);
    (void)pthread_mutex_unlock(&l->mutex);
}

static void say_warnings(const struct problem_list *warnings)
{
    for (size_t i = 0; i < warnings->count; i++)
        log_event(LOG_WARN, "config.warn", kv_z("what", warnings->items[i].message),
                  kv_int("line", warnings->items[i].place.line));
}

/* A version in force stays in force: missing secrets, variables and files are logged, and folders
 * that this node must not use; the parts that need them wait. */
static bool live_say_missing(struct live *l, struct config *c, struct err *err)
{
    struct problem_list missing = PROBLEM_LIST_INIT;
    bool ok = outside_check(l->o.store, c->root, l->o.node, &missing, err);

    config_ask_files(c, &missing);
    folders_ask(c, &missing);
    say_warnings(&missing);
    problem_list_done(&missing);
    return ok;
}

static struct config *live_load_stored(struct live *l, int64_t number, struct config_report *report,
                                       struct err *err)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(ARENA_MOST);
    struct config_files files;
    struct version v;
    char name[40];

    if (!version_get(l->o.store, number, &arena, &v, err)) {
        if (err->kind == ERR_NONE)
            (void)err_set(err, ERR_PERMANENT, 0, "version %lld is gone", (long long)number);
        return NULL;
    }
    if (!version_files(l->o.store, number, &arena, &files, err))
        return NULL;
    (void)snprintf(name, sizeof name, "version %lld", (long long)number);
    struct config *c = live_load(l, v.body, name, &files, NULL, report);

    if (c == NULL) {
        const struct problem *p = &report->problems.items[0];

        (void)err_set(err, ERR_CONFIG, 0, "version %lld cannot be used: line %u: %.120s",
                      (long long)number, p->place.line, p->message);
    }
    return c;
}

/* Lets every connector read its options: a refusal is a problem with a place. */
static bool try_plan(struct live *l, struct config *c, struct config_report *report,
                     struct err *err)
{
    struct plan *plan = NULL;

    poller_try(l->o.poller, c, &report->problems);
    served_try(l->o.store, l->o.connectors, c, &report->problems);
    listeners_try(l->o.listeners, c, &report->problems);
    if (plan_build(c, 0, l->o.connectors, l->o.store, &report->problems, &plan, err)) {
        plan_unref(plan);
        return report->problems.count == 0;
    }
    if (report->problems.count > 0)
        *err = (struct err){ 0 };
    return false;
}

static bool use_stored(struct live *l, int64_t number, struct err *err)
{
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
    struct config *c = live_load_stored(l, number, &report, err);

    if (c == NULL)
        return false;
    if (l->version == 0)
        say_warnings(&report.warnings);
    bool ok = (number == l->version || live_say_missing(l, c, err)) && use(l, c, number, err);

    config_unref(c);
    return ok;
}

struct plan *live_plan_of(void *live, int64_t version, struct err *err)
{
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
    struct live *l = live;
    struct config *c = live_load_stored(l, version, &report, err);
    struct plan *plan = NULL;

    if (c == NULL)
        return NULL;
    if (!plan_build(c, version, l->o.connectors, l->o.store, NULL, &plan, err))
        plan = NULL;
    config_unref(c);
    return plan;
}

/* ---- start ---- */

/* False: there are some; `where` is the text that their lines count in. */
static bool refuse_first(const struct problem_list *problems, const char *file, const char *where,
                         struct err *err)
{
    for (size_t i = 0; i < problems->count; i++)
        log_event(LOG_ERROR, "config.refuse", kv_z("file", file),
                  kv_int("line", problems->items[i].place.line),
                  kv_z("why", problems->items[i].message),
                  kv_z("hint", problems->items[i].hint != NULL ? problems->items[i].hint : ""));
    return problems->count == 0 ||
           err_set(err, ERR_CONFIG, 0, "line %u of %s: %.150s", problems->items[0].place.line,
                   where, problems->items[0].message);
}

/* The first version is applied like any other, by nobody who could force it.  NULL: refused. */
static struct config *load_first(struct live *l, struct str body, const struct config_files *files,
                                 struct err *err)
{
    const struct config_options options = {
        .connectors = l->o.connectors, .files = files, .refuse = true, .node = l->o.node
    };
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
    struct config *c = config_load(body, "the first version", &options, &report);

    if (c != NULL) {
        config_ask_exposed(c, &report.problems);
        folders_ask(c, &report.problems);
        problem_sort(&report.problems);
    }
    if (refuse_first(&report.problems, "without `node:`", "what follows `node:`", err))
        return c;
    config_unref(c);
    return NULL;
}

static bool make_first(struct live *l, struct str body, struct str file_text, struct err *err)
{
    static const struct audit_entry begun = { .actor = { "first start", 11 },
                                              .kind = { "node", 4 },
                                              .action = { "configApply", 11 } };
    AUTO(arena_done) struct arena arena = ARENA_INIT(ARENA_MOST);
    struct problem_list problems = PROBLEM_LIST_INIT;
    struct config_files files;
    int64_t number;

    live_files_beside(&l->o, file_text, &arena, &files, &problems);
    bool ok = refuse_first(&problems, l->o.node->file, "the file", err);

    problem_list_done(&problems);
    struct config *c = ok ? load_first(l, body, &files, err) : NULL;

    if (c == NULL)
        return false;
    const struct version_draft draft = { .body = body, .by = begun.actor, .files = &c->files };

    audit_begin(&begun);
    ok = version_add(l->o.store, 0, &draft, &number, err);
    audit_end();
    config_unref(c);
    if (ok)
        return true;
    if (err->kind != ERR_TRANSIENT)
        return false;
    *err = (struct err){ 0 }; /* another node was first: use its version */
    return true;
}

/* Files that cannot be read differ: whoever applies the file says why. */
static bool has_files_beside(struct live *l, struct str text, int64_t number, bool *ret,
                             struct err *err)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(ARENA_MOST);
    struct problem_list problems = PROBLEM_LIST_INIT;
    struct config_files files;

    live_files_beside(&l->o, text, &arena, &files, &problems);
    bool all = problems.count == 0;

    problem_list_done(&problems);
    return !all || version_has_files(l->o.store, number, &files, ret, err);
}

bool live_is_newest(struct live *l, struct str text, bool *ret, struct err *err)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(ARENA_MOST);
    AUTO(buf_done) struct buf body = BUF_INIT(TEXT_MOST);
    struct version v;
    int64_t newest;

    *ret = false;
    if (!config_without_node(text, &body, err) || !version_newest(l->o.store, &newest, err))
        return false;
    struct sha256 sha = digest_of(buf_view(&body));

    if (!version_get(l->o.store, newest, &arena, &v, err))
        return err->kind == ERR_NONE;
    return !digest_same(&sha, &v.sha256) || has_files_beside(l, text, newest, ret, err);
}

static bool live_compare(struct live *l, struct str text, int64_t newest, struct err *err)
{
    bool same;

    if (!live_is_newest(l, text, &same, err))
        return false;
    if (!same && !l->o.file_rules)
        log_event(LOG_WARN, "config.differ", kv_int("version", newest),
                  kv_z("hint", "The file differs from the version in force and is ignored. See "
                               "`waybill config diff file FILE`; make it the version in force with "
                               "`waybill apply FILE`."));
    return true;
}

bool live_start(struct live *l, struct str file_text, struct err *err)
{
    AUTO(buf_done) struct buf body = BUF_INIT(TEXT_MOST);
    int64_t newest;

    if (!config_without_node(file_text, &body, err) || !version_newest(l->o.store, &newest, err))
        return false;
    (void)pthread_mutex_lock(&l->mutex);
    bool ok = newest == 0 ? make_first(l, buf_view(&body), file_text, err)
                          : live_compare(l, file_text, newest, err);

    ok = ok && version_newest(l->o.store, &newest, err) && use_stored(l, newest, err);
    (void)pthread_mutex_unlock(&l->mutex);
    return ok;
}

/* ---- propose ---- */

static bool losses_of(struct live *l, const struct config *fresh, struct arena *a,
                      struct losses *ret, struct err *err)
{
    (void)pthread_mutex_lock(&l->mutex);
    struct config *old = l->config != NULL ? config_ref(l->config) : NULL;

    (void)pthread_mutex_unlock(&l->mutex);
    *ret = (struct losses){ 0 };
    bool ok = old == NULL || removal_find(l->o.store, old, fresh, a, ret, err);

    config_unref(old);
    return ok;
}

bool live_losses(struct live *l, const struct plan *proposed, struct arena *a, struct losses *ret,
                 struct err *err)
{
    return losses_of(l, proposed->config, a, ret, err);
}

/* Loads a proposed text with the files that belong to it, and asks for everything that it needs.
 * NULL: with problems in the report, or with err set. */
static struct config *load_change(struct live *l, const struct live_change *change,
                                  struct config_report *report, struct err *err)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(ARENA_MOST);
    struct asking asking = {
        .live = l, .file = "the text", .force = change->force, .step = change->step
    };
    struct config_files files = { 0 };
    bool ok = true;

    (void)pthread_mutex_lock(&l->mutex);
    struct config *in_force = l->config != NULL ? config_ref(l->config) : NULL;

    (void)pthread_mutex_unlock(&l->mutex);
    if (change->beside_file)
        live_files_beside(&l->o, change->text, &arena, &files, &report->problems);
    else
        ok = live_files_of(&l->o, change, in_force, &arena, &files, err);
    config_unref(in_force);
    if (!ok || report->problems.count > 0)
        return NULL;
    struct config *c = live_load(l, change->text, asking.file, &files, &asking, report);

    if (!asking.failed)
        return c;
    *err = asking.err;
    config_unref(c);
    return NULL;
}

/* What nobody runs now waits for a node of its area; one may come.  Whether it does is no reason
 * to refuse anything, and neither is a store that does not say. */
static void live_warn(struct live *l, const struct config *c, struct config_report *report)
{
    struct err err = { 0 };

    if (!areas_warn(l->o.store, l->o.node->area, c, &report->warnings, &err))
        problem_add(&report->warnings, (struct place){ .line = 1, .column = 1 }, NULL,
                    "which areas have a node could not be read: %.150s", err.text);
}

bool live_propose(struct live *l, const struct live_change *change, struct config_report *report,
                  struct plan **ret, struct err *err)
{
    struct config *c = load_change(l, change, report, err);
    struct plan *plan = NULL;

    bool ok = c != NULL;

    if (ok) {
        live_warn(l, c, report);
        (void)pthread_mutex_lock(&l->mutex);
        struct config *in_force = config_ref(l->config);

        (void)pthread_mutex_unlock(&l->mutex);
        if (change->step.ptr == NULL) {
            poller_try(l->o.poller, c, &report->problems);
            served_try(l->o.store, l->o.connectors, c, &report->problems);
            listeners_try(l->o.listeners, c, &report->problems);
        }
        ok = plan_build_apart(c, l->o.connectors, l->o.store, in_force, &report->problems, &plan,
                              err);
        config_unref(in_force);
    }
    config_unref(c);
    if (report->problems.count > 0) {
        *err = (struct err){ 0 };
        plan_unref(plan);
        return false;
    }
    if (ok)
        *ret = plan;
    return ok;
}

/* ---- change and follow ---- */

/* Something that is in use is taken away only by who has confirmed exactly that. */
static bool may_remove(const struct live_change *change, const struct losses *losses,
                       struct config_report *report)
{
    bool confirmed =
        losses->grave == 0 || change->confirmed || str_is(change->confirm, losses->confirm);

    if (!confirmed)
        removal_tell(losses, &report->problems);
    if (!confirmed && change->confirm.len > 0)
        problem_add(&report->problems, (struct place){ .line = 1, .column = 1 }, NULL,
                    "what was confirmed is not what would be removed now: it changed meanwhile");
    return confirmed;
}

/* With the mutex held: stores the version and puts it into force. */
static bool live_add(struct live *l, const struct live_change *change, const struct config *c,
                     int64_t over, int64_t *ret_version, struct err *err)
{
    AUTO(buf_done) struct buf body = BUF_INIT(TEXT_MOST);

    if (!config_without_node(change->text, &body, err))
        return false;
    const struct version_draft draft = {
        .body = buf_view(&body), .by = change->by, .note = change->note, .files = &c->files
    };

    if (!version_add(l->o.store, over, &draft, ret_version, err))
        return false;
    if (!use_stored(l, *ret_version, err)) {
        /* Stored, and in force everywhere; this node retries every second. */
        log_event(LOG_WARN, "config.wait", kv_int("version", *ret_version), kv_z("why", err->text));
        *err = (struct err){ 0 };
    }
    return true;
}

/* What is lost is found by comparing with the version that is replaced, so this is read first and
 * named to version_add().  *ret_again: another version came in between. */
static bool live_apply_once(struct live *l, const struct live_change *change,
                            const struct config *c, struct config_report *report, struct arena *a,
                            struct losses *ret_losses, int64_t *ret_version, bool *ret_again,
                            struct err *err)
{
    struct err ignored = { 0 };
    int64_t over, newest;

    *ret_again = false;
    if (!version_newest(l->o.store, &over, err))
        return false;
    (void)live_follow(l, &ignored); /* a version that cannot be used here stays unused */
    if (!losses_of(l, c, a, ret_losses, err) || !may_remove(change, ret_losses, report))
        return false;
    if (change->over != 0)
        over = change->over;
    (void)pthread_mutex_lock(&l->mutex);
    bool ok = live_add(l, change, c, over, ret_version, err);

    (void)pthread_mutex_unlock(&l->mutex);
    *ret_again = !ok && err->kind == ERR_TRANSIENT && change->over == 0 &&
                 version_newest(l->o.store, &newest, &ignored) && newest != over;
    return ok;
}

bool live_apply(struct live *l, const struct live_change *change, struct config_report *report,
                struct arena *a, struct losses *ret_losses, int64_t *ret_version, struct err *err)
{
    enum { TRIES = 10 };
    struct config *c = load_change(l, change, report, err);
    bool ok, again;
    int tries = 0;

    *ret_losses = (struct losses){ 0 };
    if (c == NULL || !try_plan(l, c, report, err)) {
        config_unref(c);
        return false;
    }
    do {
        *err = (struct err){ 0 };
        ok = live_apply_once(l, change, c, report, a, ret_losses, ret_version, &again, err);
    } while (again && ++tries < TRIES);
    if (ok) {
        removal_tell(ret_losses, &report->warnings);
        live_warn(l, c, report);
    }
    config_unref(c);
    return ok;
}

/* Only a higher version is used.  A lower one was read before a later one was stored; unless the
 * store went back in time (a failover, a restore) and does not have the version in force. */
static bool is_overtaken(struct live *l, int64_t newest)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(ARENA_MOST);
    struct err ignored = { 0 };
    struct version v;

    return newest < l->version &&
           (version_get(l->o.store, l->version, &arena, &v, &ignored) || ignored.kind != ERR_NONE);
}

/* A key file on a share that is mounted later, for one.  Nothing is read while nothing is missing.
 */
static bool look_for_missing(struct live *l, struct err *err)
{
    size_t missing = 0;

    if (l->missing == 0)
        return true;
    if (!count_missing(l, l->config, &missing, err))
        return false;
    l->is_back = missing < l->missing;
    return true;
}

static bool upkeep_live_follow(struct live *l, struct err *err)
{
    int64_t newest, callers, secrets;

    if (!version_newest(l->o.store, &newest, err) || !caller_mark(l->o.store, &callers, err) ||
        !secret_mark(l->o.store, &secrets, err) || !look_for_missing(l, err))
        return false;
    if (newest == l->version || newest == l->refused || is_overtaken(l, newest))
        return (callers == l->callers && secrets == l->secrets && !l->is_back) ||
               use(l, l->config, l->version, err);
    if (use_stored(l, newest, err))
        return true;
    if (err->kind == ERR_CONFIG) {
        l->refused = newest; /* report once; a newer version may work */
        (void)snprintf(l->trouble, sizeof l->trouble, "%s", err->text);
    }
    return false;
}

/* Read the newest version under the lock.  Read before it, a version that live_apply() puts into
 * force meanwhile would be replaced by its predecessor until the next call. */
bool live_follow(struct live *l, struct err *err)
{
    (void)pthread_mutex_lock(&l->mutex);
    bool ok = upkeep_live_follow(l, err);

    (void)pthread_mutex_unlock(&l->mutex);
    listeners_look(l->o.listeners);
    return ok;
}

bool live_refresh(struct live *l, struct err *err)
{
    (void)pthread_mutex_lock(&l->mutex);
    bool ok = use(l, l->config, l->version, err);

    (void)pthread_mutex_unlock(&l->mutex);
    return ok;
}

bool live_names_secret(struct live *l, struct str name, unsigned *ret_line)
{
    struct config_outside_walk walk = { 0 };
    struct config_reference r;
    bool found = false;

    (void)pthread_mutex_lock(&l->mutex);
    while (!found && config_outside_next(l->config->root, &walk, &r))
        found = r.kind == CONFIG_SECRET && str_eq(r.name, name);
    (void)pthread_mutex_unlock(&l->mutex);
    if (found)
        *ret_line = r.place.line;
    return found;
}
