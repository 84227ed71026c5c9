/* acking.c - somebody outside acknowledges a run that was left to him (core/job_type.h).
 *
 * He proves that he is meant by the secret of the run, of which the store has the digest.  What he
 * says ends the run like the answer of a service: planned, and written in one commit with its next
 * time, on whichever node he speaks to.  The commit keeps the digest of what he said, so that the
 * same acknowledgement gets the same answer (store/job/job_ack.h); another one, or one behind the
 * end of the run, is too late.
 *
 * While the store does not take the end of a run, whoever acknowledges it once more waits for that
 * end: there is one for each run, however often he repeats it, and with JOBS_ENDING_MOST on their
 * way no other acknowledgement is begun.
 *
 * A state that cannot be kept is refused, and the run goes on: he may acknowledge it once more.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/wait.h"
#include "job/book.h"
#include "job/service_answer.h"
#include "job/state.h"
#include "store/job/job_run.h"

#define ACKING_WAIT_US (10 * CLOCK_S) /* for the commit; then he is to ask again */
/* A beat of a job that has left the configuration gets no more than that. */
#define ACKING_GONE_US (INT64_C(86400) * CLOCK_S)

/* ---- whoever waits for the end of the run ---- */

struct acking {
    struct acking *next; /* in jobs.acks, under its mutex */
    struct jobs *jobs;
    int64_t job, claim;
    _Atomic unsigned refs; /* he who waits, and the end */
    pthread_mutex_t mutex;
    pthread_cond_t over;
    bool done, written, stale;
};

/* In the list; with the mutex of the jobs held. */
static struct acking *acking_new(struct jobs *j, int64_t job, int64_t claim)
{
    struct acking *a = NEW(struct acking);

    *a = (struct acking){ .next = j->acks, .jobs = j, .job = job, .claim = claim, .refs = 2 };
    (void)pthread_mutex_init(&a->mutex, NULL);
    (void)pthread_cond_init(&a->over, NULL);
    j->acks = a;
    return a;
}

static bool acking_is_under_way(const struct jobs *j, int64_t job, int64_t claim)
{
    const struct acking *a = j->acks;

    while (a != NULL && (a->job != job || a->claim != claim))
        a = a->next;
    return a != NULL;
}

/* Waits for another end of this run.  NULL: it is not over by until_us, or there are too many. */
static struct acking *acking_enter(struct jobs *j, int64_t job, int64_t claim, int64_t until_us)
{
    struct acking *a = NULL;

    (void)pthread_mutex_lock(&j->mutex);
    while (acking_is_under_way(j, job, claim) && !j->stopping &&
           wait_until(&j->rested, &j->mutex, until_us)) {
    }
    if (!acking_is_under_way(j, job, claim) && j->ending_count < JOBS_ENDING_MOST)
        a = acking_new(j, job, claim);
    (void)pthread_mutex_unlock(&j->mutex);
    return a;
}

static void acking_leave(struct acking *a)
{
    struct jobs *j = a->jobs;

    (void)pthread_mutex_lock(&j->mutex);
    struct acking **at = &j->acks;

    while (*at != a)
        at = &(*at)->next;
    *at = a->next;
    (void)pthread_cond_broadcast(&j->rested);
    (void)pthread_mutex_unlock(&j->mutex);
}

static void acking_unref(struct acking *a)
{
    if (atomic_fetch_sub(&a->refs, 1) > 1)
        return;
    (void)pthread_mutex_destroy(&a->mutex);
    (void)pthread_cond_destroy(&a->over);
    free(a);
}

static void acking_told(void *arg, bool written, bool stale)
{
    struct acking *a = arg;

    acking_leave(a);
    (void)pthread_mutex_lock(&a->mutex);
    a->done = true;
    a->written = written;
    a->stale = stale;
    (void)pthread_cond_signal(&a->over);
    (void)pthread_mutex_unlock(&a->mutex);
    acking_unref(a);
}

/* False: it is not known yet. */
static bool acking_wait(struct acking *a, int64_t until_us, bool *ret_written, bool *ret_stale)
{
    (void)pthread_mutex_lock(&a->mutex);
    while (!a->done && wait_until(&a->over, &a->mutex, until_us)) {
    }
    bool done = a->done;

    *ret_written = a->written;
    *ret_stale = a->stale;
    (void)pthread_mutex_unlock(&a->mutex);
    return done;
}

/* ---- which run ---- */

static bool acking_parse_run(struct str text, int64_t *ret_job, int64_t *ret_claim)
{
    struct str job, claim = str_cut(text, '-', &job);

    return str_to_i64(job, ret_job) && str_to_i64(claim, ret_claim) && *ret_job > 0 &&
           *ret_claim > 0;
}

/* One acknowledgement, and what is known of its run. */
struct acked {
    struct jobs *jobs;
    struct jobs_ack *ack;
    struct job_ack mine;
    struct job_run run;
    struct job_record record;
    struct book *book;          /* a reference */
    const struct book_job *job; /* NULL: it is gone */
};

/* The run is not open: it was acknowledged, or is over. */
static bool acking_over(struct acked *x, struct err *err)
{
    struct jobs_ack *a = x->ack;
    struct job_ack kept;
    bool found = false;

    if (!job_ack_get(x->jobs->store, x->mine.job, x->mine.claim, &kept, &found, err))
        return false;
    a->what = JOBS_ACK_LATE;
    if (!found)
        return true;
    if (!digest_same(&kept.secret, &x->mine.secret)) {
        a->what = JOBS_ACK_STRANGER;
    } else if (digest_same(&kept.said, &x->mine.said)) {
        a->what = JOBS_ACK_TAKEN;
        a->outcome = kept.outcome;
        a->stale = kept.stale;
    }
    return true;
}

/* *ret_there false: its job is forgotten. */
static bool acking_find(struct acked *x, struct arena *arena, bool *ret_there, struct err *err)
{
    size_t count = 0;

    if (!job_list(x->jobs->store, x->mine.job - 1, 1, arena, &x->record, &count, err))
        return false;
    *ret_there = count == 1 && x->record.num == x->mine.job;
    if (!*ret_there)
        return true;
    x->book = jobs_book(x->jobs);
    x->job = book_find(x->book, x->record.name);
    return x->job != NULL || x->record.gone_us != 0 ||
           err_set(err, ERR_TRANSIENT, 0,
                   "this node does not have the settings of the job yet; try again");
}

/* ---- what he says ---- */

/* How long a beat lets the run go on: `timeout`, which nobody knows any more of a job that has left
 * the configuration.  It is no longer than what its run had so far. */
static int64_t acking_more_us(const struct acked *x)
{
    int64_t had_us = x->run.until_us - x->run.began_us;

    return x->job != NULL ? x->job->timeout_us : had_us < ACKING_GONE_US ? had_us : ACKING_GONE_US;
}

static bool acking_beat(struct acked *x, struct err *err)
{
    bool open = false;

    x->ack->what = JOBS_ACK_LATE;
    x->ack->until_us = jobs_until_us(x->jobs, acking_more_us(x));
    if (!job_run_beat(x->jobs->store, x->mine.job, x->mine.claim, x->ack->until_us, &open, err))
        return false;
    if (open)
        x->ack->what = JOBS_ACK_BEAT;
    return true;
}

/* It ends with this result. */
static void acking_begin_end(struct acked *x, const struct job_result *result, struct acking *wait)
{
    struct job_claim c = { .task = { .id = x->mine.job,
                                     .claim = x->mine.claim,
                                     .queue = x->record.queue,
                                     .kind = TASK_JOB },
                           .record = x->record };

    c.record.state_number = x->run.state_number;
    ending_begin(x->jobs, x->job != NULL ? x->book : NULL, x->job, &c, true, true,
                 &(struct ending_result){ .result = result,
                                          .steps = STR(""),
                                          .nominal_us = x->run.nominal_us,
                                          .due_us = x->run.began_us,
                                          .claimed_us = x->run.began_us,
                                          .began_us = x->run.began_us,
                                          .ended_us = jobs_now_us(x->jobs),
                                          .outside = true,
                                          .ack = &x->mine,
                                          .told = acking_told,
                                          .told_arg = wait });
}

static bool acking_end(struct acked *x, const struct job_result *result, struct err *err)
{
    int64_t until_us = clock_mono_us() + ACKING_WAIT_US;
    struct acking *wait = acking_enter(x->jobs, x->mine.job, x->mine.claim, until_us);
    bool known = false, written = false;

    if (wait != NULL) {
        acking_begin_end(x, result, wait);
        known = acking_wait(wait, until_us, &written, &x->ack->stale);
        acking_unref(wait);
    }
    if (!known)
        return err_set(err, ERR_TRANSIENT, 0, "it is not known yet what becomes of it; try again");
    if (!written)
        return acking_over(x, err);
    x->ack->what = JOBS_ACK_TAKEN;
    x->ack->outcome = result->ok ? JOB_DONE : JOB_FAILED;
    log_event(LOG_DEBUG, "job.ack", kv_str("job", x->record.name), kv_str("run", x->ack->run),
              kv_z("outcome", job_outcomes[x->ack->outcome]));
    return true;
}

/* False: he is told what is wrong, and the run goes on. */
static bool acking_read(struct acked *x, json_t *said, struct job_result *result)
{
    job_done(result);
    service_answer_take(said, result);
    running_check_state(x->job, result);
    if (result->ok || service_answer_has_failed(said))
        return true;
    x->ack->what = JOBS_ACK_WRONG;
    (void)snprintf(x->ack->why, sizeof x->ack->why, "%.200s", result->message);
    return false;
}

static bool acking_take(struct acked *x, json_t *said, struct err *err)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(1 << 20);
    struct job_result result = { .state = BUF_INIT(2 * JOB_STATE_MOST) };
    bool there = false, ok = acking_find(x, &arena, &there, err);

    if (ok && !there)
        x->ack->what = JOBS_ACK_LATE;
    else if (ok && json_is_true(json_object_get(said, "beat")))
        ok = acking_beat(x, err);
    else if (ok && acking_read(x, said, &result))
        ok = acking_end(x, &result, err);
    buf_done(&result.state);
    book_unref(x->book);
    return ok;
}

/* ---- one acknowledgement ---- */

bool jobs_acknowledge(struct jobs *j, struct jobs_ack *a, struct err *err)
{
    struct acked x = { .jobs = j,
                       .ack = a,
                       .mine = { .secret = digest_of(a->secret), .said = digest_of(a->said) } };
    bool found = false;

    a->what = JOBS_ACK_UNKNOWN;
    if (!acking_parse_run(a->run, &x.mine.job, &x.mine.claim))
        return true;
    if (!job_run_get(j->store, x.mine.job, x.mine.claim, &x.run, &found, err))
        return false;
    if (!found || !x.run.outside)
        return acking_over(&x, err);
    if (!digest_same(&x.run.ack, &x.mine.secret)) {
        a->what = JOBS_ACK_STRANGER;
        return true;
    }
    struct err why = { 0 };
    AUTO(service_answer_drop) json_t *said = service_answer_parse(a->said, &why);

    if (json_is_object(said))
        return acking_take(&x, said, err);
    a->what = JOBS_ACK_WRONG;
    (void)snprintf(a->why, sizeof a->why, "a JSON object is expected, such as {}%s%s",
                   why.text[0] != '\0' ? ": " : "", why.text);
    return true;
}
