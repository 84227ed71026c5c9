/* cage.c - the processes of a step: started when they are needed, lent to one caller at a time.
 *
 * One lock is over the processes of all cages.  It is held for a moment before and after a run,
 * never during one, and never while a process starts or ends.
 *
 * Invariants
 *   (1) of a cage, idle + busy <= concurrency; busy counts who is starting or ending, too.
 *   (2) over all cages, at most IDLE_MOST processes are idle: the one that is idle for the longest
 *       time goes first.
 *   (3) who waits for a process is woken when one of its cage becomes free or ends.
 *   (4) over all cages there are at most MOULDS_MOST moulds.  A cage that finds no room for one
 *       does without.  A mould ends only while nobody of its cage is busy, or by the one who is:
 *       so whoever is busy may use it without the lock.
 */
#include "cage/cage.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/metrics.h"
#include "base/require.h"
#include "cage/keeper.h"
#include "cage/process.h"
#include "cage/process_end.h"

enum {
    IDLE_MOST = 128,
    MOULDS_MOST = 128,
    CONCURRENCY_MOST = 256,
    /* A little before the process ends by itself. */
    IDLE_US = PROCESS_IDLE_US - 5 * CLOCK_S
};

struct idle {
    struct process *process;
    struct cage *cage;
    int64_t since_us;
};

struct cage {
    struct cage_recipe recipe;
    struct cage_limits limits;
    size_t concurrency, busy, idle;
    struct process *mould; /* makes the others; NULL: there is none */
    bool has_place;        /* among the moulds, also while it starts */
    int64_t mould_used_us;
    _Atomic bool stopped;
    _Atomic bool suspected; /* its last document used up its budget */
    bool conceals;
    pthread_cond_t freed;
};

static struct {
    pthread_mutex_t lock;
    struct idle idle[IDLE_MOST]; /* the one idle for the longest time first */
    size_t idle_count;
    struct cage *moulds[MOULDS_MOST]; /* those that have a place */
    size_t mould_count;
} pool = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int64_t read_processes(void *arg);

static struct metric processes = { .name = "waybill_cage_processes",
                                   .help = "processes of cages, each for one step",
                                   .type = METRIC_GAUGE,
                                   .read = read_processes };
static struct metric started = { .name = "waybill_cage_started_total",
                                 .help = "processes of cages that were started",
                                 .type = METRIC_COUNTER };
static struct metric killed = { .name = "waybill_cage_lost_total",
                                .help = "processes of cages that died of a document or were killed",
                                .type = METRIC_COUNTER };
static struct metric *const metrics[] = { &processes, &started, &killed };

/* ---- made and freed ---- */

bool cage_prepare(const char *const *folders, size_t count, struct err *err)
{
    return keeper_open(folders, count, err);
}

static size_t cage_concurrency(int64_t wanted)
{
    int64_t n = wanted > 0 ? wanted : sysconf(_SC_NPROCESSORS_ONLN);

    return n < 1 ? 1 : n < CONCURRENCY_MOST ? (size_t)n : CONCURRENCY_MOST;
}

struct cage *cage_new(const struct cage_recipe *recipe, const struct cage_limits *limits)
{
    struct cage *c = NEW(struct cage);

    require(limits->time_us > 0 && limits->memory > 0 && limits->output >= 0);
    for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++)
        metrics_register(metrics[i]);
    c->recipe.service = str_mem(xstrndup(recipe->service), recipe->service.len);
    c->recipe.options = str_mem(xstrndup(recipe->options), recipe->options.len);
    c->limits = *limits;
    c->concurrency = cage_concurrency(limits->concurrency);
    (void)pthread_cond_init(&c->freed, NULL);
    return c;
}

/* ---- idle processes; the lock is held ---- */

static struct process *idle_remove(size_t at)
{
    struct idle one = pool.idle[at];

    pool.idle_count--;
    memmove(&pool.idle[at], &pool.idle[at + 1], (pool.idle_count - at) * sizeof one);
    one.cage->idle--;
    return one.process;
}

/* The one of this cage that was used last, or NULL. */
static struct process *idle_of(const struct cage *c)
{
    for (size_t i = pool.idle_count; i-- > 0;)
        if (pool.idle[i].cage == c)
            return idle_remove(i);
    return NULL;
}

/* One that is idle for too long, or NULL.  `room`: so many places must be free. */
static struct process *idle_expired(int64_t now_us, size_t room)
{
    bool old = pool.idle_count > 0 && now_us - pool.idle[0].since_us > IDLE_US;

    return old || pool.idle_count + room > IDLE_MOST ? idle_remove(0) : NULL;
}

/* ---- moulds; the lock is held ---- */

static bool mould_place(struct cage *c)
{
    if (c->has_place || pool.mould_count == MOULDS_MOST)
        return false;
    pool.moulds[pool.mould_count++] = c;
    c->has_place = true;
    return true;
}

/* The caller ends it. */
static struct process *mould_remove(struct cage *c)
{
    struct process *p = c->mould;
    size_t at = 0;

    if (!c->has_place)
        return NULL;
    while (pool.moulds[at] != c)
        at++;
    pool.moulds[at] = pool.moulds[--pool.mould_count];
    c->has_place = false;
    c->mould = NULL;
    return p;
}

/* One of a cage that has had no process for a while, or that has none when there is no room. */
static struct process *mould_expired(int64_t now_us)
{
    bool full = pool.mould_count == MOULDS_MOST;

    for (size_t i = 0; i < pool.mould_count; i++) {
        struct cage *c = pool.moulds[i];

        if (c->busy == 0 && c->idle == 0 && (full || now_us - c->mould_used_us > IDLE_US))
            return mould_remove(c);
    }
    return NULL;
}

/* ---- ends ---- */

static void end_process(struct process *p)
{
    metric_add(&processes, -1);
    process_free(p);
}

/* Ends what is idle for too long, of any cage. */
static void sweep_idle(size_t room)
{
    struct process *p, *mould;

    do {
        int64_t now_us = clock_mono_us();

        (void)pthread_mutex_lock(&pool.lock);
        p = idle_expired(now_us, room);
        mould = mould_expired(now_us);
        (void)pthread_mutex_unlock(&pool.lock);
        if (p != NULL)
            end_process(p);
        process_free(mould);
    } while (p != NULL || mould != NULL);
}

/* Without this, processes that ended by themselves would count until the next document. */
static int64_t read_processes(void *arg)
{
    (void)arg;
    sweep_idle(0);
    return metric_value(&processes);
}

void cage_free(struct cage *c)
{
    union { /* the copies of cage_new() */
        const char *lent;
        char *own;
    } service, options;
    struct process *p, *mould;

    if (c == NULL)
        return;
    do {
        (void)pthread_mutex_lock(&pool.lock);
        require(c->busy == 0);
        p = idle_of(c);
        mould = p == NULL ? mould_remove(c) : NULL;
        (void)pthread_mutex_unlock(&pool.lock);
        if (p != NULL)
            end_process(p);
    } while (p != NULL);
    process_free(mould);
    service.lent = c->recipe.service.ptr;
    options.lent = c->recipe.options.ptr;
    free(service.own);
    free(options.own);
    (void)pthread_cond_destroy(&c->freed);
    free(c);
}

/* ---- lending ---- */

/* An idle process, or NULL: the caller may start one. */
static struct process *cage_borrow(struct cage *c)
{
    struct process *p;

    (void)pthread_mutex_lock(&pool.lock);
    while (c->busy == c->concurrency)
        (void)pthread_cond_wait(&c->freed, &pool.lock);
    p = idle_of(c);
    /* (1): one that is idle counts, too; idle_of() has taken one if there was any. */
    c->busy++;
    (void)pthread_mutex_unlock(&pool.lock);
    return p;
}

static void cage_give_back(struct cage *c, struct process *p)
{
    sweep_idle(1);
    (void)pthread_mutex_lock(&pool.lock);
    if (p != NULL && pool.idle_count < IDLE_MOST) {
        pool.idle[pool.idle_count++] =
            (struct idle){ .process = p, .cage = c, .since_us = clock_mono_us() };
        c->idle++;
        p = NULL;
    }
    c->busy--;
    (void)pthread_cond_signal(&c->freed);
    (void)pthread_mutex_unlock(&pool.lock);
    if (p != NULL)
        end_process(p);
}

/* ---- starting ---- */

static bool cage_take_place(struct cage *c)
{
    (void)pthread_mutex_lock(&pool.lock);
    bool taken = mould_place(c);

    c->mould_used_us = clock_mono_us();
    (void)pthread_mutex_unlock(&pool.lock);
    return taken;
}

static void cage_set_mould(struct cage *c, struct process *mould)
{
    (void)pthread_mutex_lock(&pool.lock);
    if (mould != NULL)
        c->mould = mould;
    else
        (void)mould_remove(c);
    (void)pthread_mutex_unlock(&pool.lock);
}

/* The mould does not answer.  Another thread may be asking it as well: (4). */
static void cage_drop_mould(struct cage *c)
{
    (void)pthread_mutex_lock(&pool.lock);
    struct process *mould = c->busy == 1 ? mould_remove(c) : NULL;

    (void)pthread_mutex_unlock(&pool.lock);
    process_free(mould);
}

/* The first process of a cage: its mould and a copy of it, or one that serves itself if the step
 * cannot be copied. */
static bool start_first(struct cage *c, struct process **ret, struct err *err)
{
    struct process *p = NULL;
    bool is_mould = false;
    bool ok = process_start_mould(&c->recipe, &c->limits, &p, &is_mould, err);

    cage_set_mould(c, is_mould ? p : NULL);
    if (ok && is_mould)
        return process_copy(p, ret, err);
    *ret = p;
    return ok;
}

static struct process *mould_of(struct cage *c)
{
    (void)pthread_mutex_lock(&pool.lock);
    struct process *mould = c->mould;

    (void)pthread_mutex_unlock(&pool.lock);
    return mould;
}

static bool start_somehow(struct cage *c, struct process **ret, struct err *err)
{
    bool taken = cage_take_place(c);
    struct process *mould = mould_of(c);

    if (taken)
        return start_first(c, ret, err);
    if (mould != NULL && process_copy(mould, ret, err))
        return true;
    if (mould != NULL)
        cage_drop_mould(c);
    return process_start(&c->recipe, &c->limits, ret, err);
}

static bool start_another(struct cage *c, struct process **ret, struct err *err)
{
    if (!start_somehow(c, ret, err)) {
        if (c->conceals && err->kind == ERR_CONFIG)
            (void)err_set(err, ERR_CONFIG, 0, "it cannot be made with the secrets it names");
        return false;
    }
    metric_add(&started, 1);
    metric_add(&processes, 1);
    return true;
}

/* ---- runs ---- */

static void cage_judge(struct cage *c, const struct cage_job *jobs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (jobs[i].result == CAGE_DONE)
            c->suspected = false;
        else if (jobs[i].result == CAGE_FAILED && jobs[i].failure.code == DEAD_BUDGET)
            c->suspected = true;
}

/* True: the jobs have their results.  False: the process was gone before, another one has to run
 * them.  *p is NULL if it is gone. */
static bool cage_run_in(struct cage *c, struct process **p, struct cage_job *jobs, size_t count,
                        int64_t from_us)
{
    jobs[0].waited_us = clock_mono_us() - from_us;
    process_suspect(*p, c->suspected);
    enum process_state state = process_run(*p, jobs, count, &c->limits, &c->stopped);

    cage_judge(c, jobs, count);
    if (state == PROCESS_ALIVE) {
        if (jobs[0].ret_memory != NULL)
            *jobs[0].ret_memory = process_memory(*p);
        return true;
    }
    metric_add(&killed, state == PROCESS_GONE);
    end_process(*p);
    *p = NULL;
    return state == PROCESS_GONE;
}

/* Ends a process that cannot serve so many more. */
static void cage_retire(struct process **p, size_t next)
{
    if (*p == NULL || process_lasts(*p, next))
        return;
    end_process(*p);
    *p = NULL;
}

void cage_conceal(struct cage *c)
{
    c->conceals = true;
}

void cage_stop(struct cage *c)
{
    atomic_store(&c->stopped, true);
}

void cage_run(struct cage *c, struct cage_job *jobs, size_t count)
{
    int64_t from_us = clock_mono_us();
    struct process *p = cage_borrow(c);
    struct err err = { 0 };

    require(count > 0 && count <= CAGE_JOBS_MOST);
    cage_retire(&p, count);
    /* A process that was idle may have ended meanwhile; a new one has no excuse. */
    if (p == NULL || !cage_run_in(c, &p, jobs, count, from_us)) {
        if (!start_another(c, &p, &err)) {
            process_blame_start(jobs, count, &err);
        } else if (!cage_run_in(c, &p, jobs, count, from_us)) {
            (void)err_set(&err, ERR_TRANSIENT, 0, "its process ended at once");
            process_blame_start(jobs, count, &err);
        }
    }
    cage_retire(&p, 1);
    cage_give_back(c, p);
}

bool cage_check(const struct cage_recipe *recipe, struct err *err)
{
    const struct cage_limits limits = { .time_us = 2 * CLOCK_S, .memory = 256 << 20, .output = 0 };
    struct process *p;

    if (!process_start(recipe, &limits, &p, err))
        return false;
    process_free(p);
    return true;
}
