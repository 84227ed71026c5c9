#include "engine/walk/caging.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "engine/road/state.h"
#include "engine/threads/pool.h"

enum {
    THREADS_MOST = 64,
    LINES_MOST = FLIGHTS_MOST / 4 * 3, /* flights in all lines */
    LINE_MOST = FLIGHTS_MOST / 2,      /* in one, if it is fast ... */
    LINE_FIRST = FLIGHTS_MOST / 8,     /* ... if nobody knows yet ... */
    LINE_LEAST = FLIGHTS_MOST / 32,    /* ... and if it is slow */
    LINE_US = 5 * CLOCK_S,             /* of work that may stand in a line */
    GROUP_US = 50 * CLOCK_MS,          /* of work that one thread takes at once */
    FAST_US = 5 * CLOCK_MS,            /* a step that takes less is fast */
    WAIT_LEAST_US = 1 * CLOCK_S,
    WAIT_MOST_S = 900,
    SMOOTH = 8 /* a new time counts for so much of the estimate */
};

/* The flights that wait for one step of one version.  It exists while there are some. */
struct line {
    struct line *next;
    const struct plan_step *step;
    struct plan *plan; /* a reference: the step belongs to it */
    struct flight *first, **end;
    size_t count;         /* that wait */
    size_t running;       /* threads */
    int64_t each_us;      /* what a document takes; 0: not known yet */
    int64_t sent_back_us; /* monotonic: the turn of who was sent away last */
};

struct caging {
    struct road *road;
    struct caging_calls calls;
    struct pool *pool;
    pthread_mutex_t mutex; /* guards the lines */
    struct line *lines;
    size_t waiting;             /* in all of them */
    atomic_size_t waiting_fast; /* as of the last change of a line */
    bool closed;
};

/* A thread of a line. */
struct turn {
    struct pool_job job;
    struct caging *caging;
    struct line *line;
};

struct caging *caging_new(struct road *r, const struct caging_calls *calls)
{
    struct caging *c = NEW(struct caging);

    *c = (struct caging){ .road = r, .calls = *calls, .pool = pool_new(THREADS_MOST) };
    (void)pthread_mutex_init(&c->mutex, NULL);
    return c;
}

void caging_free(struct caging *c)
{
    if (c == NULL)
        return;
    (void)pthread_mutex_destroy(&c->mutex);
    free(c);
}

/* ---- lines; with the mutex held ---- */

static struct line *line_of(struct caging *c, struct flight *f, const struct plan_step *s)
{
    for (struct line *l = c->lines; l != NULL; l = l->next)
        if (l->step == s)
            return l;
    struct line *l = NEW(struct line);

    *l = (struct line){ .next = c->lines, .step = s, .plan = plan_ref(f->plan) };
    l->end = &l->first;
    c->lines = l;
    return l;
}

static void take_out(struct caging *c, struct line *l)
{
    struct line **at = &c->lines;

    while (*at != l)
        at = &(*at)->next;
    *at = l->next;
}

static size_t line_width(const struct line *l)
{
    return (size_t)l->step->concurrency;
}

/* How many may stand in it. */
static size_t room_in(const struct line *l)
{
    if (l->each_us == 0)
        return LINE_FIRST;
    int64_t most = LINE_US * (int64_t)line_width(l) / l->each_us;

    return most > LINE_MOST ? LINE_MOST : most < LINE_LEAST ? LINE_LEAST : (size_t)most;
}

/* Until those that are there now, and those that were sent away before, are through: a backlog
 * comes back one after the other, and not as a whole again and again. */
static int64_t line_wait_us(struct line *l)
{
    int64_t now = clock_mono_us(), most = (int64_t)WAIT_MOST_S * CLOCK_S;
    int64_t each = l->each_us / (int64_t)line_width(l) + 1;
    int64_t turn = now + (int64_t)l->count * each;

    if (l->sent_back_us > turn)
        turn = l->sent_back_us;
    if (turn < now + most)
        turn += each;
    l->sent_back_us = turn;
    return turn - now < WAIT_LEAST_US ? WAIT_LEAST_US : turn - now;
}

static void note_waiting(struct caging *c)
{
    size_t fast = 0;

    for (const struct line *l = c->lines; l != NULL; l = l->next)
        fast += l->each_us > 0 && l->each_us < FAST_US ? l->count : 0;
    atomic_store_explicit(&c->waiting_fast, fast, memory_order_relaxed);
}

static void line_add(struct caging *c, struct line *l, struct flight *f)
{
    f->next = NULL;
    *l->end = f;
    l->end = &f->next;
    l->count++;
    c->waiting++;
    note_waiting(c);
}

/* A share for each thread, and not more than is done in a moment. */
static size_t line_take(struct caging *c, struct line *l, struct flight *ret[CAGE_JOBS_MOST])
{
    size_t most = l->count / line_width(l) + 1, n = 0;
    int64_t soon = l->each_us > 0 ? GROUP_US / l->each_us + 1 : 1;

    if (most > CAGE_JOBS_MOST)
        most = CAGE_JOBS_MOST;
    if ((int64_t)most > soon)
        most = (size_t)soon;
    for (; n < most && l->first != NULL; n++) {
        ret[n] = l->first;
        l->first = ret[n]->next;
        ret[n]->next = NULL;
    }
    if (l->first == NULL)
        l->end = &l->first;
    l->count -= n;
    c->waiting -= n;
    note_waiting(c);
    return n;
}

/* ---- on a thread of a line ---- */

static void learn_time(struct caging *c, struct line *l, int64_t took_us, size_t count)
{
    int64_t each = took_us / (int64_t)count + 1;

    (void)pthread_mutex_lock(&c->mutex);
    l->each_us = l->each_us == 0 ? each : l->each_us + (each - l->each_us) / SMOOTH;
    (void)pthread_mutex_unlock(&c->mutex);
}

static void run_caged_group(struct caging *c, struct line *l, struct flight **flights, size_t count)
{
    struct cage_job jobs[CAGE_JOBS_MOST];
    int64_t from = clock_mono_us();

    for (size_t i = 0; i < count; i++) {
        flights[i]->may_block = true;
        jobs[i] = flights[i]->caged->job;
    }
    jobs[0].waited_us = 0;
    c->calls.run(l->step->cage, jobs, count);
    /* A start says nothing about the documents, and there is one for a thousand. */
    learn_time(c, l, clock_mono_us() - from - jobs[0].waited_us, count);
    for (size_t i = 0; i < count; i++)
        flights[i]->caged->job = jobs[i];
    c->calls.go_on(c->road, flights, count);
}

/* With the mutex held.  True: the line is empty, and nobody else works on it. */
static bool end_turn(struct caging *c, struct line *l)
{
    l->running--;
    if (l->running > 0 || l->count > 0)
        return false;
    take_out(c, l);
    return true;
}

/* Group after group, with the mutex held between two of them.  False: the line is empty.  True: it
 * is not, and others wait for a thread. */
static bool run_groups(struct caging *c, struct line *l)
{
    struct flight *flights[CAGE_JOBS_MOST];

    do {
        size_t count = line_take(c, l, flights);

        (void)pthread_mutex_unlock(&c->mutex);
        if (count > 0)
            run_caged_group(c, l, flights, count);
        (void)pthread_mutex_lock(&c->mutex);
    } while (l->count > 0 && !pool_is_short(c->pool)); /* 0 after caging_close() */
    return l->count > 0;
}

/* When others wait for a thread, the turn goes to the end of the queue of the pool: the threads are
 * for all lines. */
static void run_line(struct pool_job *job)
{
    struct turn *t = container_of(job, struct turn, job);
    struct caging *c = t->caging;
    struct line *l = t->line;

    (void)pthread_mutex_lock(&c->mutex);
    if (run_groups(c, l)) {
        pool_submit(c->pool, &t->job);
        (void)pthread_mutex_unlock(&c->mutex);
        return;
    }
    bool over = end_turn(c, l);

    (void)pthread_mutex_unlock(&c->mutex);
    free(t);
    if (!over)
        return;
    plan_unref(l->plan); /* perhaps the last one, which ends the processes */
    free(l);
}

/* ---- for the road ---- */

/* With the mutex held, so that caging_stop() finds every thread. */
static void begin_turn(struct caging *c, struct line *l)
{
    struct turn *t = NEW(struct turn);

    l->running++;
    *t = (struct turn){ .job = { .run = run_line }, .caging = c, .line = l };
    pool_submit(c->pool, &t->job);
}

bool caging_put(struct flight *f, int64_t *ret_wait_us)
{
    struct caging *c = f->road->caging;
    const struct plan_step *s = &f->route->steps[f->walk.step];

    (void)pthread_mutex_lock(&c->mutex);
    if (c->closed) {
        (void)pthread_mutex_unlock(&c->mutex);
        *ret_wait_us = 0;
        return false;
    }
    struct line *l = line_of(c, f, s);
    bool fits = l->count < room_in(l) && c->waiting < LINES_MOST;

    if (fits)
        line_add(c, l, f);
    else
        *ret_wait_us = line_wait_us(l);
    if (fits ? l->running < line_width(l) : l->running == 0)
        begin_turn(c, l);
    (void)pthread_mutex_unlock(&c->mutex);
    return fits;
}

void caging_run(struct caging *c, const struct plan_step *s, struct cage_job *job)
{
    c->calls.run(s->cage, job, 1);
}

struct flight *caging_close(struct caging *c)
{
    struct flight *all = NULL, **end = &all;

    (void)pthread_mutex_lock(&c->mutex);
    c->closed = true;
    for (struct line *l = c->lines; l != NULL; l = l->next) {
        *end = l->first;
        while (*end != NULL)
            end = &(*end)->next;
        l->first = NULL;
        l->end = &l->first;
        l->count = 0;
        if (c->calls.stop != NULL)
            c->calls.stop(l->step->cage); /* its threads come back with what was not run */
    }
    c->waiting = 0;
    note_waiting(c);
    (void)pthread_mutex_unlock(&c->mutex);
    return all;
}

size_t caging_waiting_fast(struct caging *c)
{
    return atomic_load_explicit(&c->waiting_fast, memory_order_relaxed);
}

void caging_stop(struct caging *c)
{
    if (c == NULL)
        return;
    (void)caging_close(c); /* what is left is given up: its task is claimed, and is rescued */
    pool_free(c->pool);
    c->pool = NULL;
}
