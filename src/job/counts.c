/* counts.c - what is counted of jobs, for /metrics. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
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

/* When a job ended well for the last time, as far as this node knows. */
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
        .help = "When the last run of a job was done on this node, in seconds since 1970; 0: none.",
        .labels = s->label,
        .type = METRIC_GAUGE,
        .value = old != NULL ? old->metric.value : 0
    };
    return s;
}

void counts_use(const struct book *b)
{
    size_t most = b->count < SUCCESSES_MOST ? b->count : SUCCESSES_MOST;
    struct success **fresh = xcalloc(most + 1, sizeof(struct success *));

    (void)pthread_mutex_lock(&success_mutex);
    for (size_t i = 0; i < most; i++) /* in the order of the book: by name */
        fresh[i] = counts_success(b->jobs[i].name);
    counts_forget_successes();
    successes = fresh;
    success_count = most;
    for (size_t i = 0; i < most; i++)
        metrics_register(&fresh[i]->metric);
    (void)pthread_mutex_unlock(&success_mutex);
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
    struct success *s = counts_find(job->name);

    if (s != NULL)
        metric_set(&s->metric, now_us / CLOCK_S);
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
