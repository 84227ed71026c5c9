#include "job/queue_check.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/wait.h"
#include "engine/dispatch/govern.h"
#include "engine/engine.h"
#include "engine/plan/areas.h"
#include "engine/road/road.h"
#include "engine/tally/mishaps.h"
#include "engine/watch/alerts.h"
#include "job/book.h"
#include "job/check_alert.h"
#include "job/journal.h"
#include "job/link_check.h"
#include "job/state.h"
#include "job/telling.h"
#include "store/job/job_backfill.h"
#include "store/job/job_forget.h"
#include "store/job/job_late.h"
#include "store/job/job_operate.h"
#include "store/job/job_run.h"
#include "store/replica/replica_forget.h"

enum {
    CHECK_US = 10 * CLOCK_S, /* from one round to the next */
    CHECK_SOON_US = CLOCK_S, /* ... while an alert waits for another observation */
    OWN_US = 2 * CLOCK_S,    /* from one look at the runs of this node to the next */
    SOON_US = CLOCK_S / 10,  /* at least, to a round for what comes soon */
    SLACK_US = 20 * CLOCK_S, /* beyond the time-out and its grace: for the end of the run */
    LATE_US = 30 * CLOCK_S,  /* a job is not late before */
    LATE_INTERVALS = 3,      /* ... nor before it is due for so many */
    TOKENS_REST = 3,         /* rounds from one pass over all tokens to the next */
    ARENA_MOST = 16 << 20,
    PAGES_MOST = JOBS_MOST / JOB_LATE_MOST + 1,
    WHY_MOST = 400
};

#define LATE_MOST_US (INT64_C(900) * CLOCK_S)  /* and is late after that in any case */
#define SILENT_US    (INT64_C(300) * CLOCK_S)  /* a check that did not run for so long is told */
#define FORGET_US    (INT64_C(3600) * CLOCK_S) /* from one look after gone jobs to the next */

struct queue_check {
    struct jobs *jobs;
    struct telling *telling;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool stopping;
    bool hinted; /* a backfill may go on */
    _Atomic int64_t last_us, last_mono_us;

    /* The thread's own. */
    struct arena arena; /* of a round */
    struct book *book;  /* of a round; NULL: no version is followed yet */
    int64_t now_us;     /* of a round: jobs_now_us() */
    bool failing;
    int64_t above;     /* how far the pass over the tokens came */
    int64_t tokens_us; /* when the next one begins; monotonic */
    int64_t again_us;  /* when a pause is over, or a time of a backfill is tried again; monotonic */
    int64_t forget_us; /* when gone jobs are looked after again; monotonic */
    int64_t round_us;  /* when the last whole round began; monotonic */
    int64_t every_us, slack_us, late_us;
};

static int64_t queue_check_switch(const char *name, int64_t usual_us)
{
    const char *ms = fault_switch(name);
    int64_t n;

    return ms != NULL && str_to_i64(str_of(ms), &n) ? n * CLOCK_MS : usual_us;
}

/* At this time, by the clock of the store, there is something to do. */
static void queue_check_again(struct queue_check *q, int64_t us)
{
    int64_t wait_us = us - q->now_us; /* stands still while a jump of the clock is doubted */
    int64_t at_us = clock_mono_us() + (wait_us > SOON_US ? wait_us : SOON_US);

    if (at_us < q->again_us)
        q->again_us = at_us;
}

/* ---- stopped ---- */

static void queue_check_resume(struct queue_check *q, const struct job_stopped *s)
{
    struct job_order order = { .act = JOB_RESUME, .name = s->name, .until_us = s->until_us };
    enum job_answer answer = JOB_UNKNOWN;
    struct err err = { 0 };

    if (!jobs_order(q->jobs, &order, &answer, &err))
        log_event(LOG_WARN, "job.trouble", kv_z("what", "end a pause"), kv_str("job", s->name),
                  kv_z("why", err.text));
    else if (answer == JOB_OK)
        log_event(LOG_INFO, "job.resume", kv_str("job", s->name));
}

static void queue_check_one_stopped(struct queue_check *q, const struct job_stopped *s)
{
    char why[WHY_MOST];

    if (s->stop == JOB_SUSPENDED) {
        (void)snprintf(why, sizeof why, "%.*s", STR_ARG(s->why));
        telling_found(q->telling, TELLING_SUSPENDED, s->name, why);
        return;
    }
    if (s->until_us <= q->now_us)
        queue_check_resume(q, s);
    else
        queue_check_again(q, s->until_us);
}

static bool queue_check_stopped(struct queue_check *q, struct err *err)
{
    struct job_stopped *all = ARENA_ARRAY(&q->arena, struct job_stopped, JOB_LATE_MOST);
    size_t n = JOB_LATE_MOST;
    int64_t above = 0;

    for (int page = 0; page < PAGES_MOST && n == JOB_LATE_MOST; page++) {
        if (!job_stopped(q->jobs->store, above, JOB_LATE_MOST, &q->arena, all, &n, err))
            return false;
        for (size_t i = 0; i < n; i++)
            queue_check_one_stopped(q, &all[i]);
        above = n > 0 ? all[n - 1].job : 0;
    }
    telling_end(q->telling, TELLING_SUSPENDED);
    return true;
}

/* ---- claims that last ---- */

static void queue_check_say_released(struct queue_check *q, const struct job_held *h,
                                     bool suspended, const char *why)
{
    log_event(LOG_WARN, "job.release", kv_str("job", h->name), kv_int("claim", h->claim),
              kv_int("node", h->node), kv_int("s", h->held_us / CLOCK_S),
              kv_z("hint",
                   "Its node lives and does not end the run. The claim was taken away: what "
                   "the run still does changes nothing of the job. See the log of that "
                   "node."));
    mishaps_note(q->jobs->mishaps, "job_late", "job", h->name, why);
    if (!suspended)
        return;
    log_event(LOG_ERROR, "job.suspend", kv_str("job", h->name), kv_z("why", why),
              kv_z("hint", "It does not run until somebody takes it up: `waybill jobs resume`."));
    mishaps_note(q->jobs->mishaps, "job_suspended", "job", h->name, why);
}

static bool queue_check_release(struct queue_check *q, const struct job_held *h, struct err *err)
{
    int64_t timeout_us = h->lasts_us;
    char why[WHY_MOST];
    enum job_answer answer = JOB_UNKNOWN;

    (void)snprintf(why, sizeof why,
                   "a run did not end, although its node lives: claimed for %" PRId64
                   " s, its timeout is %" PRId64 ".%03" PRId64 " s",
                   h->held_us / CLOCK_S, timeout_us / CLOCK_S, timeout_us % CLOCK_S / CLOCK_MS);
    struct job_order order = {
        .act = JOB_RELEASE, .name = h->name, .claim = h->claim, .why = str_of(why)
    };

    if (!jobs_order(q->jobs, &order, &answer, err))
        return false;
    if (answer == JOB_OK || answer == JOB_SUSPENDS)
        queue_check_say_released(q, h, answer == JOB_SUSPENDS, why);
    return true;
}

/* By the time-out with which each was claimed: the book may have another version by now, and a job
 * may have left it. */
static bool queue_check_claims(struct queue_check *q, struct err *err)
{
    struct job_held *held = ARENA_ARRAY(&q->arena, struct job_held, JOB_LATE_MOST);
    int64_t slack_us = JOBS_GRACE_US + q->slack_us;
    size_t n;

    if (!job_claims(q->jobs->store, q->now_us, slack_us, JOB_LATE_MOST, &q->arena, held, &n, err))
        return false;
    for (size_t i = 0; i < n; i++)
        if (held[i].name.len > 0 && !queue_check_release(q, &held[i], err))
            return false;
    return true;
}

/* ---- the runs of this node ---- */

/* A person may have cancelled one on another node, or its claim was taken over: it is to stop, and
 * its slot is wanted. */
static bool queue_check_own(struct queue_check *q, struct err *err)
{
    struct task *claims;
    size_t count = running_claims(q->jobs, &q->arena, &claims);
    bool *hold = ARENA_ARRAY(&q->arena, bool, count + 1);

    if (!job_claims_hold(q->jobs->store, claims, count, &q->arena, hold, err))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!hold[i])
            running_lose(q->jobs, &claims[i]);
    return true;
}

/* ---- runs without the token ---- */

static void queue_check_say_ended(struct queue_check *q, const struct book_job *job,
                                  const struct job_run *r, const struct job_end_op *o)
{
    struct jobs *j = q->jobs;
    char why[WHY_MOST];

    (void)snprintf(why, sizeof why, "%.*s", STR_ARG(o->message));
    counts_end(job, JOB_FAILED, false, o->ended_us);
    mishaps_note(j->mishaps, "job_failed", "job", job->name, why);
    log_event(LOG_WARN, "job.fail", kv_str("job", job->name), kv_z("why", why));
    if (o->suspend)
        jobs_say_suspended(j, job->name, o->why);
    if (job_log_wants(job->log, JOB_FAILED, false))
        journal_put(j->journal, &(struct job_log_line){ .job = r->job,
                                                        .claim = r->claim,
                                                        .node = r->node,
                                                        .nominal_us = r->nominal_us,
                                                        .due_us = r->nominal_us,
                                                        .claimed_us = r->began_us,
                                                        .began_us = r->began_us,
                                                        .ended_us = o->ended_us,
                                                        .outcome = JOB_FAILED,
                                                        .message = o->message });
}

/* The schedule has moved on.  `job`: of one that is gone only what its end needs. */
static bool queue_check_end_beside(struct queue_check *q, const struct book_job *job,
                                   const struct job_run *r, struct err *err)
{
    struct job_end_op o = { .task = { .id = r->job, .claim = r->claim },
                            .digest = job->digest,
                            .queue = job->queue,
                            .outcome = JOB_FAILED,
                            .message = r->until_us < q->now_us
                                           ? STR("timeout: it did not end in its time")
                                           : STR("its node died"),
                            .began_us = r->began_us,
                            .ended_us = q->now_us };
    struct job_run_end end = { .end = &o,
                               .suspend_after = job->schedule.suspend,
                               .late_us = q->now_us };

    if (!job_run_end(q->jobs->store, &end, err))
        return false;
    if (o.result == JOB_END_WRITTEN)
        queue_check_say_ended(q, job, r, &o);
    return true;
}

/* The token should wait for it, but the job has none, or nobody has claimed it.  `job` NULL: it is
 * gone. */
static void queue_check_end_awaited(struct queue_check *q, const struct book_job *job,
                                    const struct job_record *record, const struct job_run *r)
{
    struct job_claim c = {
        .task = { .id = r->job, .claim = r->claim, .queue = record->queue, .kind = TASK_JOB },
        .record = *record
    };
    struct job_result result = { .state = BUF_INIT(1) };

    job_fail(&result, "timeout: nobody acknowledged it by %s",
             clock_utc_text(r->until_us, (char[CLOCK_TEXT]){ 0 }));
    ending_begin(q->jobs, job != NULL ? q->book : NULL, job, &c, true, true,
                 &(struct ending_result){ .result = &result,
                                          .steps = STR(""),
                                          .nominal_us = r->nominal_us,
                                          .due_us = r->began_us,
                                          .claimed_us = r->began_us,
                                          .began_us = r->began_us,
                                          .ended_us = jobs_now_us(q->jobs),
                                          .outside = true,
                                          .late = true });
}

static bool queue_check_end_run(struct queue_check *q, const struct job_run *r, struct err *err)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(ARENA_MOST);
    struct job_record record;
    size_t n = 0;

    if (!job_list(q->jobs->store, r->job - 1, 1, &arena, &record, &n, err))
        return false;
    if (n == 0 || record.num != r->job)
        return true; /* it goes with its job */
    const struct book_job gone = { .name = record.name, .log = JOB_LOG_ERRORS };
    const struct book_job *job = record.gone_us != 0 ? &gone : book_find(q->book, record.name);

    if (job == NULL || (job != &gone && !digest_same(&job->digest, &record.digest)))
        return true; /* this node does not have its settings: later, or another one ends it */
    if (!r->waits)
        return queue_check_end_beside(q, job, r, err);
    queue_check_end_awaited(q, job != &gone ? job : NULL, &record, r);
    return true;
}

static bool queue_check_stops(struct queue_check *q)
{
    (void)pthread_mutex_lock(&q->mutex);
    bool stopping = q->stopping;

    (void)pthread_mutex_unlock(&q->mutex);
    return stopping;
}

/* All of them: those that this node cannot end stand in nobody's way. */
static bool queue_check_runs(struct queue_check *q, bool late, struct err *err)
{
    struct job_run *runs = ARENA_ARRAY(&q->arena, struct job_run, JOB_RUNS_MOST);
    struct store *s = q->jobs->store;
    struct job_run above = { 0 };
    size_t n = JOB_RUNS_MOST;

    while (n == JOB_RUNS_MOST && !queue_check_stops(q)) {
        if (!(late ? job_run_late(s, q->now_us, q->slack_us, &above, JOB_RUNS_MOST, runs, &n, err)
                   : job_run_left(s, q->now_us, &above, JOB_RUNS_MOST, runs, &n, err)))
            return false;
        for (size_t i = 0; i < n; i++)
            if (!queue_check_end_run(q, &runs[i], err))
                return false;
        if (n > 0)
            above = runs[n - 1];
    }
    return true;
}

/* ---- due, and not taken ---- */

/* How long it may be due before that is told. */
static int64_t queue_check_patience_us(const struct queue_check *q, const struct book_job *job,
                                       int64_t due_us)
{
    int64_t interval_us = LATE_MOST_US;

    if (job != NULL && job->schedule.form == SCHEDULE_EVERY)
        interval_us = job->schedule.every_us;
    else if (job != NULL && job->schedule.form == SCHEDULE_AT) {
        int64_t next_us = nominal_any(&job->schedule.times, due_us);

        interval_us = next_us > due_us ? next_us - due_us : LATE_MOST_US;
    }
    if (interval_us > LATE_MOST_US / LATE_INTERVALS)
        return LATE_MOST_US;
    return interval_us * LATE_INTERVALS > q->late_us ? interval_us * LATE_INTERVALS : q->late_us;
}

static void queue_check_say_waiting(struct queue_check *q, const struct job_waiting *w,
                                    unsigned served)
{
    char since[CLOCK_TEXT], room[AREAS_TEXT], why[WHY_MOST];
    const char *reason = areas_why(served, areas_find(w->area), room);

    (void)snprintf(why, sizeof why, "due since %s, and no node takes it: %s",
                   clock_utc_text(w->due_us, since),
                   reason != NULL ? reason
                                  : "all slots are taken, or as many of its runs are there as "
                                    "`parallel` allows, or jobs are paused, or no node runs its "
                                    "kind (`node.jobs`) or knows its time zone");
    telling_found(q->telling, TELLING_UNCLAIMED, w->name, why);
}

static bool queue_check_waiting(struct queue_check *q, struct err *err)
{
    struct job_waiting *all = ARENA_ARRAY(&q->arena, struct job_waiting, JOB_LATE_MOST);
    unsigned served = 0;
    size_t n = 0;

    /* A restored store runs none before somebody releases it, which is told already. */
    if (!govern_is_restored(engine_govern(q->jobs->engine)) &&
        !job_unclaimed(q->jobs->store, q->now_us - q->late_us, JOB_LATE_MOST, &q->arena, all, &n,
                       err))
        return false;
    if (n > 0 && !areas_served(q->jobs->store, &served, err))
        return false;
    for (size_t i = 0; i < n; i++)
        if (q->now_us - all[i].due_us >
            queue_check_patience_us(q, book_find(q->book, all[i].name), all[i].due_us))
            queue_check_say_waiting(q, &all[i], served);
    telling_end(q->telling, TELLING_UNCLAIMED);
    return true;
}

/* ---- without a token ---- */

/* One page of a pass in each round. */
static bool queue_check_tokens(struct queue_check *q, struct err *err)
{
    struct job_waiting *all = ARENA_ARRAY(&q->arena, struct job_waiting, JOB_LATE_MOST);
    size_t n;

    if (clock_mono_us() < q->tokens_us)
        return true;
    if (!job_tokenless(q->jobs->store, &q->above, &q->arena, all, &n, err))
        return false;
    for (size_t i = 0; i < n; i++)
        telling_found(q->telling, TELLING_TOKENLESS, all[i].name,
                      "it has no token, so that no node can ever take it");
    if (q->above != 0)
        return true;
    telling_end(q->telling, TELLING_TOKENLESS);
    q->tokens_us = clock_mono_us() + TOKENS_REST * q->every_us;
    return true;
}

/* ---- backfills ---- */

static bool queue_check_give_up(struct queue_check *q, const struct job_backfill *b,
                                struct err *err)
{
    char why[WHY_MOST], at[CLOCK_TEXT];
    int64_t left;

    if (!job_backfill_drop(q->jobs->store, b->job, b->number, &left, err))
        return false;
    if (left == 0)
        return true; /* another node did */
    (void)snprintf(why, sizeof why,
                   "its backfill ends: the run for %s failed and is not repeated any more; "
                   "%" PRId64 " times are not served",
                   clock_utc_text(b->next_us, at), left);
    log_event(LOG_ERROR, "job.backfill_end", kv_str("job", b->name), kv_z("why", why),
              kv_z("from", at), kv_int("left", left),
              kv_z("hint", "Solve the problem, then ask for the rest: `waybill jobs backfill`."));
    mishaps_note(q->jobs->mishaps, "job_failed", "job", b->name, why);
    return true;
}

static bool queue_check_backfill(struct queue_check *q, const struct job_backfill *b,
                                 struct err *err)
{
    struct job_order order = { .act = JOB_NEXT, .name = b->name };
    enum job_answer answer;

    if (b->tries >= BACKFILL_TRIES)
        return queue_check_give_up(q, b, err);
    if (b->after_us <= q->now_us)
        return jobs_order(q->jobs, &order, &answer, err); /* refused: the job does not rest */
    queue_check_again(q, b->after_us);
    return true;
}

static bool queue_check_past_times(struct queue_check *q, struct err *err)
{
    struct job_backfill *all = ARENA_ARRAY(&q->arena, struct job_backfill, BACKFILL_JOBS_MOST);
    size_t n = BACKFILL_JOBS_MOST;
    int64_t above = 0;

    while (n == BACKFILL_JOBS_MOST) {
        if (!job_backfill_list(q->jobs->store, above, BACKFILL_JOBS_MOST, &q->arena, all, &n, err))
            return false;
        for (size_t i = 0; i < n; i++)
            if (!queue_check_backfill(q, &all[i], err))
                return false;
        above = n > 0 ? all[n - 1].job : 0;
    }
    return true;
}

/* ---- gone ---- */

static bool queue_check_gone(struct queue_check *q, struct err *err)
{
    int64_t now_us = jobs_now_us(q->jobs);
    size_t n = JOB_FORGET_MOST, all = 0;
    bool ok = true;

    if (clock_mono_us() < q->forget_us)
        return true;
    while (ok && n == JOB_FORGET_MOST && !queue_check_stops(q)) {
        ok = job_forget(q->jobs->store, now_us, &n, err);
        all += ok ? n : 0;
    }
    for (bool more = true; ok && more && !queue_check_stops(q);)
        ok = replica_forget(q->jobs->store, &more, err);
    if (all > 0)
        log_event(LOG_INFO, "job.forget", kv_int("count", all));
    if (ok)
        q->forget_us = clock_mono_us() + FORGET_US;
    return ok;
}

/* ---- the thread ---- */

static bool queue_check_everything(struct queue_check *q, struct err *err)
{
    return queue_check_stopped(q, err) && queue_check_claims(q, err) &&
           queue_check_runs(q, true, err) && queue_check_runs(q, false, err) &&
           queue_check_waiting(q, err) && queue_check_tokens(q, err) &&
           queue_check_past_times(q, err) && queue_check_gone(q, err) &&
           check_alert_look(q->jobs->store, engine_alerts(q->jobs->engine), &q->arena, err) &&
           link_check(q->jobs->store, engine_alerts(q->jobs->engine), q->now_us, &q->arena, err);
}

/* What of it. */
struct queue_check_what {
    bool whole;
    bool hinted; /* backfills */
};

static void queue_check_round(struct queue_check *q, const struct queue_check_what *what)
{
    struct err err = { 0 };

    if (what->whole)
        q->again_us = INT64_MAX;
    q->book = jobs_book(q->jobs);
    q->now_us = jobs_now_us(q->jobs);
    bool ok = queue_check_own(q, &err) &&
              (q->book == NULL || (what->whole    ? queue_check_everything(q, &err)
                                   : what->hinted ? queue_check_past_times(q, &err)
                                                  : true));

    book_unref(q->book);
    q->book = NULL;
    arena_reset(&q->arena);
    if (!ok && !q->failing)
        log_event(LOG_WARN, "job.trouble", kv_z("what", "check the queue"), kv_z("why", err.text));
    if (!ok || what->whole)
        q->failing = !ok;
    if (ok && what->whole) {
        atomic_store(&q->last_us, clock_wall_us());
        atomic_store(&q->last_mono_us, clock_mono_us());
    }
}

/* False: it ends. */
static bool queue_check_wait(struct queue_check *q, struct queue_check_what *ret)
{
    const unsigned ours =
        1u << ALERT_JOB_SUSPENDED | 1u << ALERT_JOB_LATE | CHECK_ALERTS | LINK_CHECK_ALERTS;
    bool soon = (alerts_wanted(engine_alerts(q->jobs->engine)) & ours) != 0;
    int64_t wait_us = soon && q->every_us > CHECK_SOON_US ? CHECK_SOON_US : q->every_us;
    int64_t whole_us = q->round_us + wait_us, own_us = clock_mono_us() + OWN_US;

    if (q->again_us < whole_us)
        whole_us = q->again_us;
    int64_t until_us = own_us < whole_us ? own_us : whole_us;

    (void)pthread_mutex_lock(&q->mutex);
    while (!q->stopping && !q->hinted && wait_until(&q->changed, &q->mutex, until_us)) {
    }
    bool go_on = !q->stopping;

    ret->hinted = q->hinted;
    q->hinted = false;
    ret->whole = clock_mono_us() >= whole_us;

    (void)pthread_mutex_unlock(&q->mutex);
    return go_on;
}

static void *queue_check_main(void *arg)
{
    struct queue_check *q = arg;
    struct queue_check_what what;

    q->round_us = clock_mono_us();
    while (queue_check_wait(q, &what)) {
        if (what.whole)
            q->round_us = clock_mono_us();
        queue_check_round(q, &what);
    }
    return NULL;
}

struct queue_check *queue_check_start(struct jobs *j)
{
    struct queue_check *q = NEW(struct queue_check);

    *q =
        (struct queue_check){ .jobs = j,
                              .telling = telling_new(engine_alerts(j->engine), j->mishaps),
                              .last_mono_us = clock_mono_us(),
                              .arena = ARENA_INIT(ARENA_MOST),
                              .again_us = INT64_MAX,
                              .every_us = queue_check_switch("WAYBILL_TEST_JOB_CHECK_MS", CHECK_US),
                              .slack_us = queue_check_switch("WAYBILL_TEST_JOB_SLACK_MS", SLACK_US),
                              .late_us = queue_check_switch("WAYBILL_TEST_JOB_LATE_MS", LATE_US) };
    (void)pthread_mutex_init(&q->mutex, NULL);
    (void)pthread_cond_init(&q->changed, NULL);
    thread_start(&q->thread, "job check", queue_check_main, q);
    return q;
}

void queue_check_stop(struct queue_check *q)
{
    if (q == NULL)
        return;
    (void)pthread_mutex_lock(&q->mutex);
    q->stopping = true;
    (void)pthread_cond_signal(&q->changed);
    (void)pthread_mutex_unlock(&q->mutex);
    (void)pthread_join(q->thread, NULL);
    telling_free(q->telling);
    arena_done(&q->arena);
    (void)pthread_mutex_destroy(&q->mutex);
    (void)pthread_cond_destroy(&q->changed);
    free(q);
}

void queue_check_backfills(struct queue_check *q)
{
    (void)pthread_mutex_lock(&q->mutex);
    q->hinted = true;
    (void)pthread_cond_signal(&q->changed);
    (void)pthread_mutex_unlock(&q->mutex);
}

int64_t queue_check_last_us(struct queue_check *q)
{
    return atomic_load(&q->last_us);
}

void queue_check_tell(struct queue_check *q, struct buf *to)
{
    int64_t silent_us = clock_mono_us() - atomic_load(&q->last_mono_us);

    if (silent_us > SILENT_US)
        buf_printf(to,
                   "the check of the queues of jobs has not come to its end for %" PRId64 " s\n",
                   silent_us / CLOCK_S);
}
