#include "job/book.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fault.h"
#include "core/config.h"
#include "core/connector.h"
#include "core/grammar.h"
#include "core/schedule/schedule_build.h"
#include "core/window.h"
#include "store/job/job.h"
#include "store/people/secret.h"

#define BOOK_ARENA   ((size_t)512 << 20)
#define BOOK_LEFT_US (INT64_C(3600) * CLOCK_S) /* for a run outside, when nothing is said */

/* ---- the digest ---- */

static void book_digest_text(struct digest *d, char what, struct str text)
{
    char head[24];
    int n = snprintf(head, sizeof head, "%c%zu:", what, text.len);

    digest_add(d, str_mem(head, (size_t)n));
    digest_add(d, text);
}

/* All of a tree, whose depth is bounded by its reader.  `but`: keys of its root that are left out.
 */
static void book_digest_tree(struct digest *d, const struct yaml_node *root, const char *const *but)
{
    const struct yaml_node *stack[YAML_DEPTH + 1], *n = root;
    size_t depth = 0;

    while (n != NULL) {
        bool skip = false;

        for (size_t i = 0; depth == 1 && but != NULL && n->key != NULL && but[i] != NULL; i++)
            skip = skip || str_is(n->key->text, but[i]);
        if (!skip && n->key != NULL && n != root)
            book_digest_text(d, 'k', n->key->text);
        if (!skip)
            book_digest_text(d,
                             n->kind == YAML_SCALAR ? 's'
                             : n->kind == YAML_MAP  ? 'm'
                                                    : 'l',
                             n->text);
        if (!skip && n->first != NULL && depth < YAML_DEPTH) {
            stack[depth++] = n;
            n = n->first;
            continue;
        }
        while (depth > 0 && n->next == NULL) {
            n = stack[--depth];
            digest_add(d, STR("."));
        }
        n = depth == 0 ? NULL : n->next;
    }
}

/* The calendars that a value of `holidays` names. */
static void book_digest_holidays(struct digest *d, const struct yaml_node *root,
                                 const struct yaml_node *holidays)
{
    const struct yaml_node *calendars = yaml_get(root, "calendars");
    const struct yaml_node *n = holidays;

    if (holidays != NULL && holidays->kind == YAML_LIST)
        n = holidays->first;
    for (; n != NULL; n = holidays->kind == YAML_LIST ? n->next : NULL) {
        struct str name = yaml_text(n);
        const struct yaml_node *c = calendars != NULL ? calendars->first : NULL;

        while (c != NULL && !str_eq(c->key->text, name))
            c = c->next;
        if (c != NULL)
            book_digest_tree(d, c, NULL);
    }
}

static struct sha256 book_digest(const struct yaml_node *root, const struct yaml_node *job)
{
    static const char *const but[] = { "title", "log", NULL };
    const struct yaml_node *window = yaml_get(job, "window"), *one = window;
    struct digest d = digest_start();

    book_digest_tree(&d, job, but);
    book_digest_holidays(&d, root, yaml_get(job, "holidays"));
    if (window != NULL && window->kind == YAML_LIST)
        one = window->first;
    for (; one != NULL; one = window->kind == YAML_LIST ? one->next : NULL)
        book_digest_holidays(&d, root, yaml_get(one, "holidays"));
    return digest_end(&d);
}

/* ---- one job ---- */

static bool book_secret(void *arg, struct str name, struct arena *a, struct str *ret,
                        struct err *err)
{
    return secret_get(arg, name, a, ret, err);
}

static struct str book_word(const struct settings *s, const char *key)
{
    struct str text = { 0 };
    struct err err = { 0 };

    return settings_text(s, key, &text, &err) && text.ptr != NULL ? text : STR("");
}

/* "0 2 * * *, 14:00", "every 10m", "once 2026-12-24T22:00" */
static struct str book_times(struct arena *a, const struct yaml_node *job)
{
    static const char *const forms[] = { "every", "once" };
    const struct yaml_node *at = yaml_get(job, "at"), *n = at;
    struct str text = STR("");

    for (size_t i = 0; i < 2; i++)
        if (yaml_get(job, forms[i]) != NULL)
            return str_of(
                arena_printf(a, "%s %.*s", forms[i], STR_ARG(yaml_text(yaml_get(job, forms[i])))));
    if (at != NULL && at->kind == YAML_LIST)
        n = at->first;
    for (; n != NULL; n = at->kind == YAML_LIST ? n->next : NULL)
        text = str_of(arena_printf(a, "%.*s%s%.*s", STR_ARG(text), text.len > 0 ? ", " : "",
                                   STR_ARG(yaml_text(n))));
    return text;
}

static uint64_t book_seed(struct str name)
{
    struct sha256 d = digest_of(name);
    uint64_t seed = 0;

    for (size_t i = 0; i < sizeof seed; i++)
        seed = seed << 8 | d.bytes[i];
    return seed;
}

static enum job_log_level book_log(struct str word)
{
    for (enum job_log_level l = 0; l < JOB_LOG_LEVELS; l++)
        if (str_is(word, job_log_levels[l]))
            return l;
    return JOB_LOG_ERRORS;
}

/* Test builds: this machine has no time zones. */
static bool book_hides_zone(const struct book_job *j, struct err *err)
{
    return fault_switch("WAYBILL_TEST_JOB_NO_ZONES") != NULL && !str_is(j->zone, "UTC") &&
           !err_set(err, ERR_CONFIG, 0, "this machine does not know the time zone %.*s",
                    STR_ARG(j->zone));
}

/* False: the store failed. */
static bool book_times_build(struct book *b, const struct config_entry *e, struct window_maker *m,
                             struct book_job *j, struct err *err)
{
    struct err why = { 0 };

    if (schedule_build(e->node, m, &j->schedule, &why) && !book_hides_zone(j, &why))
        return true;
    j->broken = arena_text(&b->arena, str_of(why.text));
    j->times_unknown = true;
    b->unknown_count++;
    j->schedule.times.window = NULL;
    return zone_shelf_get(&m->zones, STR("UTC"), &j->schedule.times.zone, err);
}

/* False: the store failed.  A job that cannot run here is broken. */
static bool book_job_build(struct book *b, const struct config_entry *e,
                           const struct connectors *connectors, struct window_maker *m,
                           struct store *store, struct book_job *j, struct err *err)
{
    const struct job_type *type = connector_job(connectors, str_of(e->kind));
    const struct settings s = { .node = e->node,
                                .common = grammar_job,
                                .own = type != NULL ? type->kind.keys : NULL,
                                .file = b->config->file,
                                .secret = book_secret,
                                .secret_arg = store,
                                .reach = &b->config->node,
                                .files = &b->config->files,
                                .connectors = connectors,
                                .arena = &b->arena };
    struct err why = { 0 };

    *j = (struct book_job){ .name = str_of(e->name),
                            .kind = str_of(e->kind),
                            .type = type,
                            .title = book_word(&s, "title"),
                            .area = book_word(&s, "area"),
                            .zone = book_word(&s, "zone"),
                            .times = book_times(&b->arena, e->node),
                            .digest = book_digest(b->config->root, e->node),
                            .seed = book_seed(str_of(e->name)),
                            .log = book_log(book_word(&s, "log")),
                            .parallel = 1 };
    if (!book_times_build(b, e, m, j, err))
        return false;
    if (!settings_int(&s, "parallel", &j->parallel, &why) ||
        !settings_duration(&s, "timeout", &j->timeout_us, &why) || type == NULL ||
        !type->make(&s, &j->self, &why)) {
        if (why.kind == ERR_TRANSIENT || why.kind == ERR_UNCERTAIN) {
            *err = why;
            return false;
        }
        j->self = NULL;
        if (j->broken == NULL)
            j->broken =
                arena_text(&b->arena, type == NULL ? STR("this build does not have its kind")
                                                   : str_of(why.text));
    }
    j->leaves = j->self != NULL && type->leaves != NULL && type->leaves(j->self);
    if (j->leaves && !settings_has(&s, "timeout"))
        j->timeout_us = BOOK_LEFT_US;
    if (j->leaves && b->ack_url.len == 0) /* the configuration is checked: a reference is empty */
        j->broken = "`ack: later` needs `location.url`";
    return job_queue(store, j->area, &j->queue, err);
}

/* ---- all of them ---- */

/* Below `location.url`. */
static bool book_read_ack_url(struct book *b, struct store *store, struct err *err)
{
    const struct yaml_node *url = yaml_get(yaml_get(b->config->root, "location"), "url");
    const struct settings s = {
        .secret = book_secret, .secret_arg = store, .reach = &b->config->node, .arena = &b->arena
    };
    struct err why = { 0 };
    struct str base;

    b->ack_url = STR("");
    if (url == NULL || yaml_is_null(url))
        return true;
    if (!settings_expand(&s, url, &base, &why)) {
        if (why.kind != ERR_TRANSIENT && why.kind != ERR_UNCERTAIN)
            return true; /* jobs that need it are broken */
        *err = why;
        return false;
    }
    while (base.len > 0 && base.ptr[base.len - 1] == '/')
        base.len--;
    b->ack_url = str_of(arena_printf(&b->arena, "%.*s/work/ack", STR_ARG(base)));
    return true;
}

static int book_by_name(const void *a, const void *b)
{
    const struct book_job *x = a, *y = b;

    return str_cmp(x->name, y->name);
}

bool book_build(struct config *config, int64_t version, const struct connectors *connectors,
                struct store *store, struct book **ret, struct err *err)
{
    struct book *b = NEW(struct book);

    *b = (struct book){ .refs = 1, .version = version, .arena = ARENA_INIT(BOOK_ARENA) };
    b->config = config_ref(config);
    b->jobs = ARENA_ARRAY(&b->arena, struct book_job, config->job_count + 1);
    struct window_maker m = window_maker(config->root, &b->arena);

    if (!book_read_ack_url(b, store, err)) {
        book_unref(b);
        return false;
    }
    for (size_t i = 0; i < config->job_count; i++) {
        if (!book_job_build(b, &config->jobs[i], connectors, &m, store, &b->jobs[i], err)) {
            book_unref(b);
            return false;
        }
        b->count++;
    }
    qsort(b->jobs, b->count, sizeof *b->jobs, book_by_name);
    *ret = b;
    return true;
}

struct book *book_ref(struct book *b)
{
    atomic_fetch_add(&b->refs, 1);
    return b;
}

void book_unref(struct book *b)
{
    if (b == NULL || atomic_fetch_sub(&b->refs, 1) > 1)
        return;
    for (size_t i = 0; i < b->count; i++)
        if (b->jobs[i].self != NULL)
            b->jobs[i].type->unmake(b->jobs[i].self);
    config_unref(b->config);
    arena_done(&b->arena);
    free(b);
}

const struct book_job *book_find(const struct book *b, struct str name)
{
    const struct book_job key = { .name = name };

    return b == NULL ? NULL : bsearch(&key, b->jobs, b->count, sizeof *b->jobs, book_by_name);
}
