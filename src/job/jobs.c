#include "job/jobs.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/wait.h"
#include "core/config.h"
#include "core/grammar.h"
#include "engine/engine.h"
#include "engine/road/road.h"
#include "engine/threads/crew.h"
#include "engine/upkeep/live.h"
#include "job/book.h"
#include "job/journal.h"
#include "job/queue_check.h"
#include "job/state.h"
#include "store/job/job_run.h"
#include "store/store.h"

_Static_assert((int)CONFIG_JOBS_MOST == (int)JOBS_MOST, "what is applied can be followed");

enum {
    STOP_US = 5 * CLOCK_S,  /* for runs when the node stops */
    WRITE_US = 5 * CLOCK_S, /* for their ends after that */
};

/* ---- life ---- */

static void jobs_live_used(void *arg, struct config *c, int64_t version)
{
    struct jobs *j = arg;

    (void)pthread_mutex_lock(&j->mutex);
    struct config *old = j->config;

    j->config = config_ref(c);
    j->version = version;
    j->follow_us = 0;
    j->asked = true;
    (void)pthread_cond_signal(&j->wake);
    (void)pthread_mutex_unlock(&j->mutex);
    config_unref(old);
}

static void jobs_road_due(void *arg, int64_t queue)
{
    jobs_due(arg, queue);
}

static bool jobs_find_queues(struct jobs *j, struct err *err)
{
    return job_queue(j->store, STR(""), &j->queues[JOBS_ANY], err) &&
           job_queue(j->store, str_of(grammar_areas[j->node->area]), &j->queues[JOBS_AREA], err);
}

static void jobs_list_kinds(struct jobs *j)
{
    const struct config_texts *kinds = &j->node->job_kinds;

    for (size_t i = 0; i < kinds->count; i++)
        buf_printf(&j->kinds, "%s%s,", i == 0 ? "," : "", kinds->items[i]);
}

bool jobs_start(struct engine *e, struct jobs **ret, struct err *err)
{
    struct jobs *j = NEW(struct jobs);
    const struct config_node *node = engine_node(e);

    *j = (struct jobs){ .engine = e,
                        .store = engine_store(e),
                        .road = engine_road(e),
                        .controls = engine_controls(e),
                        .mishaps = engine_mishaps(e),
                        .connectors = engine_connectors(e),
                        .node = node,
                        .kinds = BUF_INIT(1 << 20),
                        .ports = { .engine = e, .store = engine_store(e) } };
    (void)pthread_mutex_init(&j->mutex, NULL);
    (void)pthread_cond_init(&j->wake, NULL);
    (void)pthread_cond_init(&j->rested, NULL);
    jobs_list_kinds(j);
    *ret = j;
    if (!jobs_find_queues(j, err))
        return false;
    if (node->job_slots > 0)
        j->crew = crew_new("job", (size_t)node->job_slots, (size_t)node->job_slots);
    j->journal = journal_start(j->store);
    counts_start(j);
    handover_start(j);
    j->check_backfills = queue_check_backfills;
    j->check = queue_check_start(j);
    j->running = true;
    thread_start(&j->thread, "job scheduler", scheduler_main, j);
    live_tell(engine_live(e), jobs_live_used, j);
    road_tell_jobs(j->road, jobs_road_due, j);
    return true;
}

/* Ends that the store does not take by then stay with their claims, which are taken over. */
static void jobs_wait_for_ends(struct jobs *j)
{
    int64_t until_us = clock_mono_us() + WRITE_US;

    (void)pthread_mutex_lock(&j->mutex);
    while ((j->ending_count > 0 || j->handed_count > 0 || j->taking > 0) &&
           wait_until(&j->rested, &j->mutex, until_us)) {
    }
    j->ends = true;
    (void)pthread_cond_signal(&j->wake);
    (void)pthread_mutex_unlock(&j->mutex);
}

void jobs_stop(struct jobs *j)
{
    if (j == NULL || !j->running)
        return;
    live_tell(engine_live(j->engine), NULL, NULL);
    road_tell_jobs(j->road, NULL, NULL);
    (void)pthread_mutex_lock(&j->mutex);
    struct queue_check *check = j->check;
    struct crew *crew = j->crew;

    j->stopping = true;
    j->check = NULL;
    j->crew = NULL;
    (void)pthread_mutex_unlock(&j->mutex);
    queue_check_stop(check);
    running_stop(j);
    crew_hurry(crew, STOP_US);
    size_t lost = crew_free(crew);

    jobs_wait_for_ends(j);
    (void)pthread_join(j->thread, NULL);
    journal_stop(j->journal);
    counts_stop(j);
    j->running = false;
    engine_add_lost(j->engine, lost);
}

void jobs_free(struct jobs *j)
{
    if (j == NULL || engine_lost(j->engine) > 0)
        return; /* a thread that hangs may wake up: what it reads stays, until _exit() */
    ending_drop(j);
    handover_free(j);
    journal_free(j->journal);
    buf_done(&j->kinds);
    book_unref(j->book);
    config_unref(j->config);
    (void)pthread_cond_destroy(&j->wake);
    (void)pthread_cond_destroy(&j->rested);
    (void)pthread_mutex_destroy(&j->mutex);
    free(j);
}

/* With the mutex held. */
static void jobs_tell_unknown(const struct jobs *j, struct buf *to)
{
    const struct book *b = j->book;

    for (size_t i = 0; b != NULL && b->unknown_count > 0 && i < b->count; i++)
        if (b->jobs[i].times_unknown) {
            buf_printf(to, "%zu jobs are left to other nodes, such as %.*s: %s\n", b->unknown_count,
                       STR_ARG(b->jobs[i].name), b->jobs[i].broken);
            return;
        }
}

void jobs_tell(struct jobs *j, struct buf *to)
{
    struct crew_look look = { 0 };

    if (j == NULL)
        return;
    (void)pthread_mutex_lock(&j->mutex);
    if (j->trouble[0] != '\0')
        buf_printf(to, "the jobs do not follow the configuration: %s\n", j->trouble);
    jobs_tell_unknown(j, to);
    if (j->crew != NULL)
        crew_look(j->crew, &look);
    if (j->check != NULL)
        queue_check_tell(j->check, to);
    (void)pthread_mutex_unlock(&j->mutex);
    if (look.lost > 0)
        buf_printf(to, "%zu jobs hang and were given up\n", look.lost);
}

int64_t jobs_checked_us(struct jobs *j)
{
    if (j == NULL)
        return 0;
    (void)pthread_mutex_lock(&j->mutex);
    int64_t us = j->check != NULL ? queue_check_last_us(j->check) : 0;

    (void)pthread_mutex_unlock(&j->mutex);
    return us;
}

/* ---- orders ---- */

bool jobs_settle(struct jobs *j)
{
    int64_t until_us = clock_mono_us() + JOBS_ORDER_TRIES * JOBS_ORDER_WAIT_US;
    bool settled;

    (void)pthread_mutex_lock(&j->mutex);
    while (!(settled = j->config == NULL && !j->follows && j->book != NULL) && !j->stopping &&
           wait_until(&j->rested, &j->mutex, until_us)) {
    }
    (void)pthread_mutex_unlock(&j->mutex);
    return settled;
}

bool jobs_say_unsettled(struct err *err)
{
    return err_set(err, ERR_TRANSIENT, 0,
                   "this node does not have the settings of the job now: another version is just "
                   "coming into force; try again");
}

/* *ret_fits false: this node does not have the settings of the record now. */
static bool jobs_plan_order(struct jobs *j, struct job_order *order, struct arena *a,
                            struct planning *ret_plan, bool *ret_fits, struct err *err)
{
    struct job_record r;
    bool found;

    *ret_fits = true;
    *ret_plan = (struct planning){ 0 };
    if (!job_find(j->store, order->name, a, &r, &found, err))
        return false;
    if (!found)
        return true; /* the store says so */
    order->plan = job_plan_of(&r);
    if (r.gone_us != 0)
        return true; /* its times do not matter */
    struct book *b = jobs_book(j);
    const struct book_job *job = book_find(b, r.name);

    *ret_fits = job != NULL && digest_same(&job->digest, &r.digest);
    if (*ret_fits) {
        (order->act == JOB_RESUME ? planning_resumed : planning_cancelled)(job, &r, jobs_now_us(j),
                                                                           ret_plan);
        order->plan = ret_plan->plan;
        order->unheld = r.held_us == 0;
    }
    book_unref(b);
    return true;
}

/* The answer is JOB_OK, or JOB_SUSPENDS. */
static void jobs_ordered(struct jobs *j, const struct job_order *order, int64_t nominal_us)
{
    if (order->over != NULL)
        over_log(j, order, nominal_us);
    if (order->act == JOB_CANCEL)
        running_cancel(j, order->name);
    if (order->act == JOB_RELEASE)
        running_release(j, order->claim);
    for (unsigned i = 0; i < JOBS_QUEUES; i++) /* wherever its token is now */
        jobs_due(j, j->queues[i]);
    if (order->plan.next.due_us != 0)
        road_token_due(j->road, order->plan.next.due_us);
}

bool jobs_order(struct jobs *j, struct job_order *order, enum job_answer *ret, struct err *err)
{
    bool plans = order->act == JOB_RESUME || order->act == JOB_CANCEL, fits = true;
    struct job_over over;
    int64_t nominal_us = order->act == JOB_RELEASE ? over_nominal(j, order->name) : 0;

    if (order->act == JOB_CANCEL || order->act == JOB_RELEASE)
        order->over = &over;
    (void)jobs_settle(j);
    for (int i = 0; i < JOBS_ORDER_TRIES; i++) {
        struct planning plan = { 0 };
        struct arena arena = ARENA_INIT(1 << 20);
        bool ok = !plans || jobs_plan_order(j, order, &arena, &plan, &fits, err);

        ok = ok && (!fits || job_operate(j->store, order, ret, err));
        arena_done(&arena);
        if (!ok)
            return false;
        if (fits && *ret != JOB_OLD_PLAN) {
            if (*ret == JOB_OK || *ret == JOB_SUSPENDS) {
                jobs_say_plan(order->name, &plan);
                jobs_ordered(j, order, plans ? plan.served_us : nominal_us);
            }
            return true;
        }
        clock_sleep_us(JOBS_ORDER_WAIT_US);
    }
    return jobs_say_unsettled(err);
}

/* ---- what is known ---- */

bool jobs_describe(struct jobs *j, struct str name, struct arena *a, struct jobs_entry *ret)
{
    struct book *b = jobs_book(j);
    const struct book_job *job = book_find(b, name);

    if (job != NULL)
        *ret =
            (struct jobs_entry){ .title = arena_copy(a, job->title),
                                 .schedule = arena_copy(a, job->times),
                                 .zone = arena_copy(a, job->zone),
                                 .log = job->log,
                                 .parallel = job->parallel,
                                 .timeout_us = job->timeout_us,
                                 .planned = job->type == NULL,
                                 .broken = job->broken != NULL ? arena_copy(a, str_of(job->broken))
                                                               : STR("") };
    book_unref(b);
    return job != NULL;
}

size_t jobs_forecast(struct jobs *j, const struct job_record *r, size_t most,
                     struct planning_coming *ret)
{
    struct book *b = jobs_book(j);
    const struct book_job *job = book_find(b, r->name);
    size_t n =
        job == NULL || r->gone_us != 0 ? 0 : planning_forecast(job, r, jobs_now_us(j), most, ret);

    book_unref(b);
    return n;
}
