/* ending.c - the end of a run is planned, and written.
 *
 * The plan is computed from the record that was claimed and from the settings that ran.  When the
 * store says that the record has changed meanwhile (somebody paused the job, or a version has other
 * settings), it is planned again, with the settings that fit, until they are known here.  A store
 * that fails is asked again: the result of a run that happened is not dropped while the node lives.
 *
 * Threads: ends are begun by slots, answered by a writer, and repeated by the scheduler.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/fault.h"
#include "base/log.h"
#include "engine/road/road.h"
#include "engine/road/suspects.h"
#include "engine/tally/mishaps.h"
#include "job/book.h"
#include "job/journal.h"
#include "job/state.h"
#include "store/job/job_run.h"
#include "store/store.h"

enum { ENDING_ARENA = 1 << 20, ENDING_TRIES = 100 };

struct ending {
    struct job_end_op op;
    struct ending *next; /* in jobs.again, under its mutex */
    struct jobs *jobs;
    struct book *book; /* a reference */
    const struct book_job *job;
    struct arena arena;
    struct job_record record; /* planned from; without its texts */
    struct planning planning;
    struct planning_run run;
    struct str steps;
    int64_t due_us, claimed_us;
    bool asked, backfill, beside, suspend;
    bool unsure;    /* it may have been written already */
    bool cancelled; /* its claim was taken away by a person */
    bool outside;   /* somebody else may have ended it */
    bool late;      /* its time must be over */
    bool has_ack;
    struct job_ack ack;
    struct book_job gone; /* the job, where no configuration has it */
    char why[JOB_WHY_MOST];
    void (*told)(void *arg, bool written, bool stale);
    void *told_arg;
    unsigned tries;
    int64_t again_us; /* monotonic */
};

/* Whoever waits for it is told once. */
static void ending_tell(struct ending *e, bool written)
{
    if (e->told != NULL)
        e->told(e->told_arg, written, written && e->op.stale);
    e->told = NULL;
}

static void ending_free(struct ending *e)
{
    ending_tell(e, false);
    book_unref(e->book);
    arena_done(&e->arena);
    free(e);
}

static void ending_gone(struct ending *e)
{
    struct jobs *j = e->jobs;

    (void)pthread_mutex_lock(&j->mutex);
    j->ending_count--;
    if (j->ending_count == JOBS_ENDING_MOST - 1 || j->stopping) {
        j->asked = true;
        (void)pthread_cond_signal(&j->wake);
    }
    (void)pthread_cond_broadcast(&j->rested);
    (void)pthread_mutex_unlock(&j->mutex);
    ending_free(e);
}

static void ending_again(struct ending *e, int64_t wait_us)
{
    struct jobs *j = e->jobs;

    e->tries++;
    e->again_us = clock_mono_us() + wait_us;
    (void)pthread_mutex_lock(&j->mutex);
    e->next = j->again;
    j->again = e;
    j->asked = true;
    (void)pthread_cond_signal(&j->wake);
    (void)pthread_mutex_unlock(&j->mutex);
}

/* ---- what is told ---- */

/* A run of the schedule is repeated as its plan says; one beside others never, because the schedule
 * has moved on. */
static bool ending_is_repeated(const struct ending *e)
{
    return e->op.planned ? e->planning.again : e->backfill && !e->op.final;
}

static void ending_say_failed(const struct ending *e)
{
    char message[JOB_MESSAGE_MOST + 1], nominal[CLOCK_TEXT];
    int64_t more;

    (void)snprintf(message, sizeof message, "%.*s", STR_ARG(e->op.message));
    mishaps_note(e->jobs->mishaps, "job_failed", "job", e->job->name, message);
    if (mishaps_may_say(e->jobs->mishaps, STR("job_failed"), e->op.task.id, &more))
        log_event(LOG_WARN, "job.fail", kv_str("job", e->job->name),
                  kv_z("nominal", clock_utc_text(e->run.nominal_us, nominal)), kv_z("why", message),
                  kv_bool("again", ending_is_repeated(e)), kv_int("more", more));
}

static void ending_say(const struct ending *e)
{
    const struct job_end_op *o = &e->op;
    bool failed = o->outcome == JOB_FAILED;

    log_event(LOG_DEBUG, "job.end", kv_str("job", e->job->name),
              kv_z("outcome", job_outcomes[o->outcome]),
              kv_int("took_ms", (o->ended_us - o->began_us) / CLOCK_MS));
    if (failed)
        ending_say_failed(e);
    if (o->stale)
        log_event(LOG_WARN, "job.stale", kv_str("job", e->job->name),
                  kv_int("read", o->state_number),
                  kv_z("hint", "Its state was not stored, because another one has replaced the one "
                               "that it had read; it is in the log of the job."));
    if (o->stop == JOB_SUSPENDED && o->suspend)
        jobs_say_suspended(e->jobs, e->job->name, o->why);
    if (o->planned)
        jobs_say_plan(e->job->name, &e->planning);
}

static void ending_log(const struct ending *e)
{
    const struct job_end_op *o = &e->op;

    if (!job_log_wants(e->job->log, o->outcome, o->stale))
        return;
    journal_put(e->jobs->journal, &(struct job_log_line){ .job = o->task.id,
                                                          .claim = o->task.claim,
                                                          .node = store_node(e->jobs->store),
                                                          .nominal_us = e->run.nominal_us,
                                                          .due_us = e->due_us,
                                                          .claimed_us = e->claimed_us,
                                                          .began_us = o->began_us,
                                                          .ended_us = o->ended_us,
                                                          .outcome = o->outcome,
                                                          .message = o->message,
                                                          .steps = e->steps,
                                                          .is_stale = o->stale,
                                                          .stale = o->stale ? o->state : STR("") });
}

/* ---- the answer of the store ---- */

static void ending_written(struct ending *e)
{
    struct jobs *j = e->jobs;
    const struct job_end_op *o = &e->op;

    counts_end(e->job, o->outcome, o->stale, o->ended_us);
    suspects_forgive(road_suspects(j->road), &o->task);
    ending_say(e);
    ending_log(e);
    if (o->due_us != 0)
        jobs_token_put(j, o->queue, o->due_us);
    if (e->asked)
        jobs_backfill_soon(j);
    ending_tell(e, true);
    ending_gone(e);
}

static void ending_lost(struct ending *e)
{
    if (!e->unsure && !e->cancelled && !e->outside) {
        counts_lost();
        log_event(LOG_WARN, "job.lose", kv_str("job", e->job->name),
                  kv_int("claim", e->op.task.claim),
                  kv_z("hint", "The claim of this run was taken away while it ran: its end was not "
                               "written."));
    }
    suspects_forgive(road_suspects(e->jobs->road), &e->op.task);
    ending_gone(e);
}

static void ending_answered(struct ending *e)
{
    switch (e->op.result) {
    case JOB_END_WRITTEN:
        ending_written(e);
        break;
    case JOB_END_LOST:
        ending_lost(e);
        break;
    case JOB_END_SETTINGS:
    case JOB_END_PLAN:
        e->record = e->op.record;
        ending_again(e, e->op.result == JOB_END_PLAN ? 0 : JOBS_AGAIN_US);
        break;
    }
}

static void ending_failed(struct ending *e, const struct err *err)
{
    if (e->tries == 0 || err->kind == ERR_PERMANENT)
        log_event(LOG_WARN, "job.trouble", kv_z("what", "write the end of a run"),
                  kv_str("job", e->job->name), kv_z("why", err->text));
    e->unsure = e->unsure || err->kind == ERR_UNCERTAIN;
    if (e->late || (err->kind == ERR_PERMANENT && e->tries >= ENDING_TRIES))
        ending_gone(e); /* its row, or its claim, stays: the queue check comes again */
    else
        ending_again(e, JOBS_AGAIN_US);
}

static void ending_done(struct store_op *op)
{
    struct ending *e = container_of(op, struct ending, op.op);

    if (op->ok)
        ending_answered(e);
    else
        ending_failed(e, &op->err);
}

/* ---- plan and submit ---- */

/* Settings that fit the record: those that ran, or those of the version in force.  Where neither
 * does, the record may be older than these: the store is asked all the same, and says what it is
 * now. */
static void ending_find_settings(struct ending *e)
{
    if (e->record.gone_us != 0 || digest_same(&e->job->digest, &e->record.digest))
        return;
    struct book *b = jobs_book(e->jobs);
    const struct book_job *job = book_find(b, e->job->name);

    if (job == NULL) {
        book_unref(b);
        return;
    }
    book_unref(e->book);
    e->book = b;
    e->job = job;
}

/* Where somebody has asked for the whole, when the next one begins: at once while there is more; a
 * failed one is repeated for as long as others are.  0: none does. */
static int64_t ending_goes_on(const struct ending *e)
{
    const struct retry_rule *retry = &e->job->schedule.retry;
    const struct job_end_op *o = &e->op;

    if (!e->asked || e->backfill || !e->job->type->whole)
        return 0;
    if (o->outcome == JOB_DONE)
        return e->run.outcome == SCHEDULE_FULL ? o->ended_us : 0;
    return o->outcome == JOB_FAILED && !o->final && !e->suspend &&
                   o->ended_us - e->record.asked_us < retry->for_us
               ? o->again_us
               : 0;
}

static void ending_plan(struct ending *e)
{
    struct job_end_op *o = &e->op;

    if (e->job == &e->gone) {
        o->plan = job_plan_of(&e->record);
        return;
    }
    planning_end(e->job, &e->record, &e->run, jobs_now_us(e->jobs), &e->planning);
    o->plan = e->planning.plan;
    o->digest = e->job->digest;
    o->queue = e->job->queue;
    o->again_us = o->ended_us + e->job->schedule.retry.first_us;
    o->goes_on_us = ending_goes_on(e);
    o->suspend = e->suspend || (!e->asked && o->outcome != JOB_CANCELLED &&
                                e->planning.what == SCHEDULE_SUSPENDED);
    if (o->suspend && !e->suspend)
        o->why = job_why_failed(e->why, o->plan.past.failures, o->message);
    else if (o->suspend)
        o->why = o->message;
    else
        o->why = str_of(schedule_end_word(e->planning.why));
}

static void ending_submit_beside(struct ending *e)
{
    struct job_run_end end = { .end = &e->op,
                               .suspend_after = e->job->schedule.suspend,
                               .suspend = e->suspend,
                               .late_us = e->late ? jobs_now_us(e->jobs) : 0,
                               .ack = e->has_ack ? &e->ack : NULL };
    struct err err = { 0 };

    if (job_run_end(e->jobs->store, &end, &err))
        ending_answered(e);
    else
        ending_failed(e, &err);
}

/* Ends of runs that hold the token go to the writer, which answers later. */
static void ending_submit(struct ending *e)
{
    ending_find_settings(e);
    ending_plan(e);
    if (fault_error(JOB_END)) {
        ending_failed(e, &(struct err){ .kind = ERR_PERMANENT, .text = "a test says so" });
        return;
    }
    if (e->beside) {
        ending_submit_beside(e);
        return;
    }
    e->op.op = (struct store_op){ .verb = &job_end_verb, .done = ending_done };
    writers_submit_always(store_writers(e->jobs->store), &e->op.op, &e->op.op, 1);
}

/* ---- begin ---- */

static enum schedule_outcome ending_outcome(const struct job_result *r)
{
    return r == NULL || !r->ok   ? SCHEDULE_FAILED
           : r->more && r->moved ? SCHEDULE_FULL
           : r->more || r->moved ? SCHEDULE_MOVED
                                 : SCHEDULE_NOTHING;
}

/* A message may have been cut within a letter. */
static struct str ending_message(struct ending *e, const char *text)
{
    struct str whole = str_of(text), cut = str_first(whole, whole.len > 4 ? whole.len - 1 : 0);

    return arena_copy(&e->arena, str_is_utf8(whole) ? whole
                                 : str_is_utf8(cut) ? cut
                                                    : STR("its message is not text"));
}

static void ending_take_result(struct ending *e, const struct ending_result *r)
{
    const struct job_result *result = r->result;
    struct job_end_op *o = &e->op;
    const char *message = r->message != NULL ? r->message : result != NULL ? result->message : "";

    o->outcome = result != NULL && result->ok ? JOB_DONE : r->stopped ? JOB_CANCELLED : JOB_FAILED;
    o->message = ending_message(e, message);
    o->has_state = o->outcome == JOB_DONE && result->has_state;
    o->state = o->has_state ? arena_copy(&e->arena, buf_view(&result->state)) : STR("");
    e->suspend =
        o->outcome == JOB_FAILED && result != NULL && (result->credential || result->damaged);
    o->final = result != NULL && result->final && !e->suspend;
    e->run = (struct planning_run){ .nominal_us = r->nominal_us,
                                    .began_us = r->began_us,
                                    .ended_us = r->ended_us,
                                    .planned_us = r->claimed_us,
                                    .outcome = ending_outcome(result),
                                    .final = e->suspend || o->final };
}

void ending_begin(struct jobs *j, struct book *book, const struct book_job *job,
                  const struct job_claim *c, bool beside, bool blocks,
                  const struct ending_result *r)
{
    struct ending *e = NEW(struct ending);

    *e = (struct ending){ .jobs = j,
                          .book = book != NULL ? book_ref(book) : NULL,
                          .job = job,
                          .arena = ARENA_INIT(ENDING_ARENA),
                          .record = c->record,
                          .due_us = r->due_us,
                          .claimed_us = r->claimed_us,
                          .asked = c->record.asked_us != 0,
                          .backfill = c->backfill != 0,
                          .beside = beside,
                          .cancelled = r->cancelled,
                          .outside = r->outside,
                          .late = r->late,
                          .has_ack = r->ack != NULL,
                          .told = r->told,
                          .told_arg = r->told_arg,
                          .op = { .task = c->task,
                                  .awaited = c->awaited,
                                  .asked = c->record.asked_us != 0,
                                  .began_us = r->began_us,
                                  .ended_us = r->ended_us,
                                  .state_number = c->record.state_number } };
    if (job == NULL) {
        e->gone = (struct book_job){ .name = arena_copy(&e->arena, c->record.name),
                                     .log = JOB_LOG_ERRORS };
        e->job = &e->gone;
    }
    if (r->ack != NULL)
        e->ack = *r->ack;
    e->record.name = e->record.kind = e->record.area = STR("");
    e->steps = arena_copy(&e->arena, r->steps);
    ending_take_result(e, r);
    (void)pthread_mutex_lock(&j->mutex);
    j->ending_count++;
    (void)pthread_mutex_unlock(&j->mutex);
    if (blocks || !beside)
        ending_submit(e);
    else
        ending_again(e, 0);
}

/* ---- again ---- */

int64_t ending_look(struct jobs *j, int64_t mono_us)
{
    struct ending *ready = NULL, **at = &j->again, *e;
    int64_t next = INT64_MAX;

    (void)pthread_mutex_lock(&j->mutex);
    while ((e = *at) != NULL) {
        if (e->again_us <= mono_us) {
            *at = e->next;
            e->next = ready;
            ready = e;
            continue;
        }
        if (e->again_us < next)
            next = e->again_us;
        at = &e->next;
    }
    (void)pthread_mutex_unlock(&j->mutex);
    for (; ready != NULL; ready = e) {
        e = ready->next;
        ending_submit(ready);
    }
    return next;
}

void ending_drop(struct jobs *j)
{
    for (struct ending *e = j->again, *next; e != NULL; e = next) {
        next = e->next;
        ending_free(e);
    }
    j->again = NULL;
}
