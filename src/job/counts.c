/* counts.c - what is counted of jobs, for /metrics. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "job/book.h"
#include "job/state.h"

enum {
    KINDS_MOST = 32,
    SUCCESSES_MOST = 1000, /* jobs with a line of their own; others have none */
    LABEL_MOST = 200
};

/* Runs of a kind, by outcome. */
struct kind_counts {
    const struct job_type *type;
    struct metric runs[JOB_OUTCOMES];
    char labels[JOB_OUTCOMES][LABEL_MOST];
};

/* When a job ended well for the last time, as far as this node knows: by its record when a
 * version was followed, or later, here.  It is shown as soon as there is one. */
struct success {
    struct metric metric;
    char label[LABEL_MOST];
    struct str name; /* in `label` */
};

static struct kind_counts kinds[KINDS_MOST];
static size_t kind_count;

static pthread_mutex_t success_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct success **successes; /* by name */
static size_t success_count;

static struct metric claim_lag = { .name = "waybill_job_claim_lag_seconds",
                                   .help = "How long after they were due runs of jobs began.",
                                   .type = METRIC_HISTOGRAM,
                                   .slow = true };
static struct metric stale = {
    .name = "waybill_job_stale_total",
    .help = "States of jobs that were not stored because another one had come before."
};
static struct metric lost = {
    .name = "waybill_job_lost_total",
    .help = "Runs of jobs whose claim was taken away before their end was written."
};

void counts_start(struct jobs *j)
{
    const struct job_type *type;

    for (kind_count = 0;
         kind_count < KINDS_MOST && (type = j->connectors->jobs[kind_count]) != NULL;
         kind_count++) {
        struct kind_counts *k = &kinds[kind_count];

        k->type = type;
        for (enum job_outcome o = JOB_DONE; o < JOB_OUTCOMES; o++) {
            (void)snprintf(k->labels[o], LABEL_MOST, "kind=\"%s\",outcome=\"%s\"", type->kind.name,
                           job_outcomes[o]);
            k->runs[o] = (struct metric){ .name = "waybill_job_runs_total",
                                          .help = "Runs of jobs on this node.",
                                          .labels = k->labels[o] };
            metrics_register(&k->runs[o]);
        }
    }
    metrics_register(&claim_lag);
    metrics_register(&stale);
    metrics_register(&lost);
}

static void counts_forget_successes(void)
{
    for (size_t i = 0; i < success_count; i++) {
        metrics_forget(&successes[i]->metric);
        free(successes[i]);
    }
    free(successes);
    successes = NULL;
    success_count = 0;
}

void counts_stop(struct jobs *j)
{
    (void)j;
    (void)pthread_mutex_lock(&success_mutex);
    counts_forget_successes();
    (void)pthread_mutex_unlock(&success_mutex);
    for (size_t i = 0; i < kind_count; i++)
        for (enum job_outcome o = JOB_DONE; o < JOB_OUTCOMES; o++)
            metrics_forget(&kinds[i].runs[o]);
    metrics_forget(&claim_lag);
    metrics_forget(&stale);
    metrics_forget(&lost);
}

static int counts_by_name(const void *a, const void *b)
{
    const struct success *const *x = a, *const *y = b;

    return str_cmp((*x)->name, (*y)->name);
}

static struct success *counts_find(struct str name)
{
    struct success key = { .name = name };
    const struct success *at = &key;
    struct success **found = successes == NULL ? NULL
                                               : bsearch(&at, successes, success_count,
                                                         sizeof *successes, counts_by_name);

    return found != NULL ? *found : NULL;
}

/* The value of a job that was there before goes on. */
static struct success *counts_success(struct str name)
{
    struct success *s = NEW(struct success);
    const struct success *old = counts_find(name);
    int n = snprintf(s->label, sizeof s->label, "job=\"%.*s\"", STR_ARG(name));

    s->name = str_mem(s->label + 5, (size_t)n - 6);
    s->metric = (struct metric){
        .name = "waybill_job_last_success_seconds",
        .help = "When the last run of a job was done, in seconds since 1970: on this node, or "
                "before this node began to follow the configuration.",
        .labels = s->label,
        .type = METRIC_GAUGE,
        .value = old != NULL ? old->metric.value : 0
    };
    return s;
}

/* With success_mutex held. */
static void counts_succeeded(struct success *s, int64_t at_us)
{
    if (s == NULL || at_us / CLOCK_S <= s->metric.value)
        return;
    metric_set(&s->metric, at_us / CLOCK_S);
    metrics_register(&s->metric);
}

/* What was known before this process began, and of runs on other nodes. */
static bool counts_read(struct store *store, struct err *err)
{
    enum { PAGE = 200 };
    AUTO(arena_done) struct arena arena = ARENA_INIT(16 << 20);
    int64_t above = 0;
    size_t n = PAGE;

    while (n == PAGE) {
        struct job_record *page = ARENA_ARRAY(&arena, struct job_record, PAGE);

        if (!job_list(store, above, PAGE, &arena, page, &n, err))
            return false;
        (void)pthread_mutex_lock(&success_mutex);
        for (size_t i = 0; i < n; i++)
            counts_succeeded(counts_find(page[i].name), page[i].ok_us);
        (void)pthread_mutex_unlock(&success_mutex);
        above = n > 0 ? page[n - 1].num : 0;
        arena_reset(&arena);
    }
    return true;
}

void counts_use(struct store *store, const struct book *b)
{
    struct err err = { 0 };
    size_t most = b->count < SUCCESSES_MOST ? b->count : SUCCESSES_MOST;
    struct success **fresh = xcalloc(most + 1, sizeof(struct success *));

    (void)pthread_mutex_lock(&success_mutex);
    for (size_t i = 0; i < most; i++) /* in the order of the book: by name */
        fresh[i] = counts_success(b->jobs[i].name);
    counts_forget_successes();
    successes = fresh;
    success_count = most;
    for (size_t i = 0; i < most; i++)
        if (fresh[i]->metric.value != 0)
            metrics_register(&fresh[i]->metric);
    (void)pthread_mutex_unlock(&success_mutex);
    if (!counts_read(store, &err))
        log_event(LOG_WARN, "job.trouble", kv_z("what", "read when jobs succeeded last"),
                  kv_z("why", err.text));
}

void counts_end(const struct book_job *job, enum job_outcome outcome, bool was_stale,
                int64_t now_us)
{
    for (size_t i = 0; i < kind_count; i++)
        if (kinds[i].type == job->type)
            metric_add(&kinds[i].runs[outcome], 1);
    if (was_stale)
        metric_add(&stale, 1);
    if (outcome != JOB_DONE)
        return;
    (void)pthread_mutex_lock(&success_mutex);
    counts_succeeded(counts_find(job->name), now_us);
    (void)pthread_mutex_unlock(&success_mutex);
}

void counts_lost(void)
{
    metric_add(&lost, 1);
}

void counts_claim(int64_t lag_us)
{
    metric_observe_us(&claim_lag, lag_us);
}
