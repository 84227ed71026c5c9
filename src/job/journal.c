#include "job/journal.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/thread.h"
#include "base/wait.h"

enum {
    JOURNAL_GATHER_US = 200 * CLOCK_MS, /* lines of so long are written together */
    JOURNAL_AGAIN_US = CLOCK_S,
    JOURNAL_LINE = 256 /* what a line takes beside its texts */
};

#define JOURNAL_SWEEP_US (INT64_C(3600) * CLOCK_S)

struct journal_line {
    struct journal_line *next;
    struct arena arena;
    struct job_log_line line;
    size_t bytes;
};

struct journal {
    struct store *store;
    pthread_t thread;
    pthread_mutex_t mutex; /* guards the fields below */
    pthread_cond_t filled;
    struct journal_line *first, **end;
    size_t count, bytes;
    bool stopping;
    bool failing; /* the thread's own */
    int64_t swept_us;
};

static struct metric journal_dropped = {
    .name = "waybill_job_log_dropped_total",
    .help = "Lines of the log of job runs that were lost because it could not be written."
};

static void journal_line_free(struct journal_line *l)
{
    arena_done(&l->arena);
    free(l);
}

void journal_put(struct journal *g, const struct job_log_line *line)
{
    struct journal_line *l = NEW(struct journal_line);

    *l = (struct journal_line){ .arena = ARENA_INIT(1 << 20), .line = *line };
    l->line.message = arena_copy(&l->arena, line->message);
    l->line.steps = arena_copy(&l->arena, line->steps);
    l->line.stale = arena_copy(&l->arena, line->stale);
    l->bytes = JOURNAL_LINE + line->message.len + line->steps.len + line->stale.len;
    (void)pthread_mutex_lock(&g->mutex);
    bool room = g->count < JOURNAL_LINES && g->bytes + l->bytes <= JOURNAL_BYTES;

    if (room) {
        *g->end = l;
        g->end = &l->next;
        g->bytes += l->bytes;
        if (++g->count == 1 || g->count == JOB_LOG_MOST)
            (void)pthread_cond_signal(&g->filled);
    }
    (void)pthread_mutex_unlock(&g->mutex);
    if (!room) {
        metric_add(&journal_dropped, 1);
        journal_line_free(l);
    }
}

/* The first lines, still in the list; only this thread removes some. */
static size_t journal_look(struct journal *g, struct job_log_line *ret)
{
    size_t n = 0;

    (void)pthread_mutex_lock(&g->mutex);
    for (const struct journal_line *l = g->first; l != NULL && n < JOB_LOG_MOST; l = l->next)
        ret[n++] = l->line;
    (void)pthread_mutex_unlock(&g->mutex);
    return n;
}

static void journal_drop(struct journal *g, size_t count)
{
    for (; count > 0; count--) {
        (void)pthread_mutex_lock(&g->mutex);
        struct journal_line *l = g->first;

        g->first = l->next;
        if (g->first == NULL)
            g->end = &g->first;
        g->count--;
        g->bytes -= l->bytes;
        (void)pthread_mutex_unlock(&g->mutex);
        journal_line_free(l);
    }
}

static void journal_lose(size_t count, const struct job_log_line *first, const struct err *why)
{
    metric_add(&journal_dropped, (int64_t)count);
    if (first != NULL)
        log_event(LOG_WARN, "job.log_drop", kv_int("count", count), kv_int("claim", first->claim),
                  kv_z("why", why->text),
                  kv_z("hint", "The store refuses these lines of the log of runs for good, so they "
                               "are lost; `claim` is the run of the first one."));
}

/* Each by itself, because one of them may be refused for good; *ret_done: so many of the first need
 * not be written any more.  If all are refused, that may be the fault of none: the first one is
 * lost, so that it goes on in any case, and the others are tried again.  False: the store does not
 * take them. */
static bool journal_write_each(struct journal *g, const struct job_log_line *lines, size_t n,
                               size_t *ret_done, struct err *err)
{
    const struct job_log_line *first = NULL;
    size_t refused = 0;

    for (size_t i = 0; i < n; i++) {
        struct err why = { 0 };

        if (job_log_add(g->store, &lines[i], 1, &why))
            continue;
        *err = why;
        if (why.kind != ERR_PERMANENT)
            return false;
        first = refused++ == 0 ? &lines[i] : first;
    }
    *ret_done = refused == n ? 1 : n;
    if (refused == n)
        journal_lose(1, NULL, err);
    else if (refused > 0)
        journal_lose(refused, first, err);
    return refused < n;
}

/* Writes all that waits.  False: the store does not take it. */
static bool journal_write(struct journal *g)
{
    struct job_log_line lines[JOB_LOG_MOST];
    size_t n, done;

    while ((n = journal_look(g, lines)) > 0) {
        struct err err = { 0 };
        bool ok = job_log_add(g->store, lines, n, &err);

        done = ok ? n : 0;
        if (!ok && err.kind == ERR_PERMANENT)
            ok = journal_write_each(g, lines, n, &done, &err);
        if (!ok && !g->failing)
            log_event(LOG_WARN, "job.trouble", kv_z("what", "write the log of runs"),
                      kv_z("why", err.text));
        g->failing = !ok;
        journal_drop(g, done);
        if (!ok)
            return false;
    }
    return true;
}

static void journal_sweep(struct journal *g)
{
    struct err err = { 0 };
    int64_t dropped;

    if (clock_mono_us() < g->swept_us)
        return;
    g->swept_us = clock_mono_us() + JOURNAL_SWEEP_US;
    if (!job_log_drop(g->store, &dropped, &err))
        log_event(LOG_WARN, "job.trouble", kv_z("what", "drop old logs of runs"),
                  kv_z("why", err.text));
}

/* Until something waits and could gather, or it is time to sweep.  False: it ends. */
static bool journal_wait(struct journal *g, bool failed)
{
    (void)pthread_mutex_lock(&g->mutex);
    while (g->count == 0 && !g->stopping && wait_until(&g->filled, &g->mutex, g->swept_us)) {
    }
    int64_t until_us = clock_mono_us() + (failed ? JOURNAL_AGAIN_US : JOURNAL_GATHER_US);

    while (!g->stopping && (failed || (g->count > 0 && g->count < JOB_LOG_MOST)) &&
           wait_until(&g->filled, &g->mutex, until_us)) {
    }
    bool go_on = !g->stopping;

    (void)pthread_mutex_unlock(&g->mutex);
    return go_on;
}

static void *journal_main(void *journal)
{
    struct journal *g = journal;
    bool failed = false;

    journal_sweep(g);
    while (journal_wait(g, failed)) {
        failed = !journal_write(g);
        journal_sweep(g);
    }
    (void)journal_write(g);
    return NULL;
}

struct journal *journal_start(struct store *s)
{
    struct journal *g = NEW(struct journal);

    *g = (struct journal){ .store = s };
    g->end = &g->first;
    (void)pthread_mutex_init(&g->mutex, NULL);
    (void)pthread_cond_init(&g->filled, NULL);
    metrics_register(&journal_dropped);
    thread_start(&g->thread, "job log", journal_main, g);
    return g;
}

void journal_stop(struct journal *g)
{
    (void)pthread_mutex_lock(&g->mutex);
    g->stopping = true;
    (void)pthread_cond_signal(&g->filled);
    (void)pthread_mutex_unlock(&g->mutex);
    (void)pthread_join(g->thread, NULL);
    metrics_forget(&journal_dropped);
}

void journal_free(struct journal *g)
{
    if (g == NULL)
        return;
    metric_add(&journal_dropped, (int64_t)g->count);
    journal_drop(g, g->count);
    (void)pthread_cond_destroy(&g->filled);
    (void)pthread_mutex_destroy(&g->mutex);
    free(g);
}
