/* running.c - a claimed job runs one iteration on a slot.
 *
 * A slot is a thread of a crew of its own: code of a job may hang, and then the crew gives it up
 * and goes on without that thread.  What the code may touch belongs to the run, which lives until
 * the code has returned; what ends the run is copied out of it (ending.c).
 *
 *     told to stop   at its timeout, by a cancel, because its claim was taken away on another node
 *                    (queue_check.c), or because the node stops: call_is_over()
 *     given up       JOBS_GRACE_US later: it has failed, `timeout`
 *
 * A run that may have others beside it is opened in the store before its code begins: then the
 * token is free for the next one.  One that is left to somebody outside (job_leave()) is opened
 * before anybody can know of it, and needs this node no more: an acknowledgement ends it
 * (acking.c), or its time-out, which is its token (scheduler.c).
 *
 * A run that the node itself has stopped, and that did not come to its end, is given back: it is
 * run again elsewhere, for the same time.  One beside others has nothing to give back, because the
 * schedule has moved on: it ends as cancelled, and does not count as a failure.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/chance.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/require.h"
#include "engine/engine.h"
#include "engine/road/road.h"
#include "engine/road/suspects.h"
#include "engine/threads/crew.h"
#include "job/book.h"
#include "job/state.h"
#include "store/job/job_run.h"

enum run_stop { RUN_GOES, RUN_TIMED_OUT, RUN_CANCELLED, RUN_LOST, RUN_NODE_STOPS };

struct run {
    struct crew_call call;
    struct run *next; /* under jobs.mutex */
    struct jobs *jobs;
    struct book *book; /* a reference */
    const struct book_job *job;
    struct arena arena;
    struct job_claim claim; /* its texts are in the arena */
    bool opens;             /* before its code begins */
    _Atomic bool beside;    /* it was opened: it has no token */
    _Atomic bool outside;   /* ... for somebody outside */
    _Atomic bool opened;    /* ... or it was asked whether it may begin, and may */
    bool unused;            /* its claim is given back ... */
    bool lost;              /* ... or is not ours any more */
    _Atomic bool stop;
    _Atomic int why;               /* enum run_stop */
    _Atomic int64_t began_mono_us; /* 0: it waits for its thread */
    int64_t nominal_us, claimed_us;
    _Atomic int64_t began_us;
    struct task_code mark;
    struct job_io io;
    struct job_result result;
    struct buf steps;
};

static void run_free(struct run *r)
{
    buf_done(&r->result.state);
    buf_done(&r->steps);
    book_unref(r->book);
    arena_done(&r->arena);
    free(r);
}

/* ---- without the token ---- */

enum { UNUSED_US = 500 * CLOCK_MS /* until another one may begin */ };

/* The claim is lost, perhaps because the run was opened although no answer said so. */
static bool run_look_lost(const struct run *r, struct job_run_open *o, struct err *err)
{
    struct job_run row;
    bool found = false;

    if (!job_run_get(r->jobs->store, r->claim.task.id, r->claim.task.claim, &row, &found, err))
        return false;
    if (!found || row.outside != o->outside || (row.outside && !digest_same(&row.ack, &o->ack)))
        return true;
    o->opened = JOB_OPENED;
    o->waits = row.waits;
    o->due_us = row.waits ? row.until_us : o->plan.next.due_us;
    return true;
}

static bool run_try_open(const struct run *r, struct job_run_open *o, bool unsure, struct err *err)
{
    if (!job_run_open(r->jobs->store, o, err))
        return false;
    if (fault_error(JOB_OPENED))
        return err_set(err, ERR_UNCERTAIN, 0, "a test says so");
    return !unsure || o->opened != JOB_OPEN_LOST || run_look_lost(r, o, err);
}

/* Asks the store until it is known whether the run is open.  False: it is not, and the run was told
 * to stop, or has done nothing yet and may as well begin another time. */
static bool run_ask_open(struct run *r, struct job_run_open *o)
{
    bool unsure = false, said = false;

    for (;;) {
        struct err err = { 0 };

        if (run_try_open(r, o, unsure, &err))
            return true;
        unsure = unsure || err.kind == ERR_UNCERTAIN;
        if (!said)
            log_event(LOG_WARN, "job.trouble", kv_z("what", "open a run without the token"),
                      kv_str("job", r->job->name), kv_z("why", err.text));
        said = true;
        if (call_is_given_up(r->io.call) || (!unsure && (r->opens || call_is_over(r->io.call))))
            return false;
        clock_sleep_us(JOBS_AGAIN_US);
    }
}

/* False: it must not begin. */
static bool run_open(struct run *r, struct job_run_open *o)
{
    struct planning p;

    planning_beside(r->job, &r->claim.record, r->claimed_us, &p);
    o->task = r->claim.task;
    o->nominal_us = r->nominal_us;
    o->state_number = r->claim.record.state_number;
    o->parallel = r->job->parallel;
    o->began_us = r->claimed_us; /* as it was planned */
    o->plan = p.plan;
    r->unused = !run_ask_open(r, o) || o->opened == JOB_OPEN_TOO_MANY || o->opened == JOB_OPEN_PLAN;
    r->lost = !r->unused && o->opened == JOB_OPEN_LOST;
    if (r->unused || r->lost)
        return false;
    if (o->opened == JOB_OPEN_HELD)
        return true;
    r->outside = o->outside;
    r->beside = true;
    if (!o->waits)
        jobs_say_plan(r->job->name, &p);
    if (o->due_us != 0)
        jobs_token_put(r->jobs, r->job->queue, o->due_us);
    return true;
}

/* The token goes back, if another run may begin beside this one.  False: this one must not begin,
 * or was given up. */
static bool run_open_beside(struct run *r)
{
    int64_t most_us = r->job->timeout_us + 2 * JOBS_GRACE_US;
    struct job_run_open o = { .until_us = jobs_until_us(r->jobs, most_us) };

    r->unused = call_is_over(r->io.call);
    if (r->unused)
        return false;
    if (!run_open(r, &o))
        return false;
    atomic_store(&r->opened, true); /* before the look: run_lost() goes by it */
    return !call_is_given_up(r->io.call);
}

static bool run_leave_outside(void *arg, struct str *ret_address, struct str *ret_secret)
{
    struct run *r = arg;
    char text[SHA256_TEXT];
    struct sha256 secret;

    require(r->job->leaves && !r->outside && !r->unused);
    chance_bytes(secret.bytes, sizeof secret.bytes);
    *ret_secret = arena_copy(&r->arena, str_of(digest_text(&secret, text)));
    *ret_address =
        str_of(arena_printf(&r->arena, "%.*s?run=%" PRId64 "-%" PRId64, STR_ARG(r->book->ack_url),
                            r->claim.task.id, r->claim.task.claim));
    struct job_run_open o = { .until_us = jobs_until_us(r->jobs, r->job->timeout_us),
                              .outside = true,
                              .ack = digest_of(*ret_secret) };

    if (!run_open(r, &o))
        return false;
    log_event(LOG_DEBUG, "job.leave", kv_str("job", r->job->name), kv_str("run", r->io.run),
              kv_int("for_ms", r->job->timeout_us / CLOCK_MS));
    return true;
}

/* ---- the code of the job, on its slot ---- */

void running_check_state(const struct book_job *job, struct job_result *result)
{
    struct err err = { 0 };

    if (!result->ok || !result->has_state)
        return;
    if (result->state.len > JOB_STATE_MOST)
        job_fail(result, "its state has %zu bytes, at most %d are kept", result->state.len,
                 JOB_STATE_MOST);
    else if (!str_is_utf8(buf_view(&result->state)) ||
             memchr(result->state.ptr, '\0', result->state.len) != NULL)
        job_fail(result, "its state is not text");
    else if (job != NULL && job->self != NULL && job->type->check_state != NULL &&
             !job->type->check_state(job->self, buf_view(&result->state), &err))
        job_fail(result, "the state that it left cannot be read: %s", err.text);
}

static void run_code(struct run *r)
{
    const struct book_job *job = r->job;
    struct err err = { 0 };

    if (job->self == NULL || job->broken != NULL) {
        job_fail(&r->result, "it cannot run on this node: %s",
                 job->broken != NULL ? job->broken : "its kind is not there");
        return;
    }
    if (r->io.state.len > 0 && job->type->check_state != NULL &&
        !job->type->check_state(job->self, r->io.state, &err)) {
        r->result.damaged = true;
        job_fail(&r->result, "its state cannot be read: %s", err.text);
        return;
    }
    fault_point_on(JOB_RUN, job->name);
    job->type->run(job->self, &r->io, &r->result);
    fault_point(JOB_RAN);
    if (!r->result.left)
        running_check_state(job, &r->result);
}

static void running_run(struct crew_call *call)
{
    struct run *r = container_of(call, struct run, call);
    struct suspects *suspects = road_suspects(r->jobs->road);

    atomic_store(&r->began_mono_us, clock_mono_us()); /* as its crew counts */
    if (r->opens && !run_open_beside(r))
        return;
    counts_claim(r->claimed_us - r->claim.task.rank);
    r->began_us = jobs_now_us(r->jobs);
    log_event(LOG_DEBUG, "job.begin", kv_str("job", r->job->name), kv_str("run", r->io.run),
              kv_int("late_ms", (r->began_us - r->claim.task.rank) / CLOCK_MS));
    r->mark = suspects_note(suspects, &r->claim.task);
    run_code(r);
    suspects_leave(suspects, r->mark);
}

/* ---- its end ---- */

static void run_leave(struct run *r)
{
    struct jobs *j = r->jobs;

    (void)pthread_mutex_lock(&j->mutex);
    struct run **at = &j->runs;

    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    j->run_count--;
    if (j->due != 0 || j->stopping) {
        j->asked = true;
        (void)pthread_cond_signal(&j->wake);
    }
    (void)pthread_cond_broadcast(&j->rested);
    (void)pthread_mutex_unlock(&j->mutex);
}

static void run_give_back(struct run *r, int64_t wait_us)
{
    enum job_end_result result = JOB_END_LOST;
    int64_t due_us = jobs_now_us(r->jobs) + wait_us;
    struct err err = { 0 };

    if (fault_error(JOB_BACK))
        err_set(&err, ERR_TRANSIENT, 0, "a test says so");
    else
        (void)job_give_back(r->jobs->store, &r->claim.task, due_us, NULL, STR(""), &result, &err);
    if (err.kind != ERR_NONE)
        scheduler_back_later(r->jobs, &r->claim.task, "give a claim back", r->job->name, &err);
    else if (result == JOB_END_WRITTEN)
        jobs_token_put(r->jobs, r->claim.task.queue, due_us);
}

static void running_end(struct run *r, const struct job_result *result, const char *message,
                        bool blocks)
{
    int why = atomic_load(&r->why);

    ending_begin(
        r->jobs, r->book, r->job, &r->claim, r->beside, blocks,
        &(struct ending_result){ .result = result,
                                 .message = message,
                                 .steps = result != NULL ? buf_view(&r->steps) : STR(""),
                                 .nominal_us = r->nominal_us,
                                 .due_us = r->claim.task.rank,
                                 .claimed_us = r->claimed_us,
                                 .began_us = r->began_us,
                                 .ended_us = jobs_now_us(r->jobs),
                                 .cancelled = why == RUN_CANCELLED,
                                 .stopped = why == RUN_NODE_STOPS && r->beside && !r->outside,
                                 .outside = r->outside });
}

/* It was not begun, or goes on outside. */
static bool run_is_elsewhere(struct run *r)
{
    if (r->unused)
        run_give_back(r, UNUSED_US);
    if (r->lost)
        counts_lost();
    return r->unused || r->lost || (r->outside && r->result.left);
}

static void run_done(struct crew_call *call)
{
    struct run *r = container_of(call, struct run, call);
    int why = atomic_load(&r->why);
    char message[JOB_MESSAGE_MOST + 1];

    if (run_is_elsewhere(r)) {
        suspects_forgive(road_suspects(r->jobs->road), &r->claim.task);
    } else if (why == RUN_TIMED_OUT && !r->result.ok) {
        (void)snprintf(message, sizeof message,
                       "timeout: it was stopped after %lld.%03lld s%s%.500s",
                       (long long)(r->job->timeout_us / CLOCK_S),
                       (long long)(r->job->timeout_us % CLOCK_S / CLOCK_MS),
                       r->result.message[0] != '\0' ? ": " : "", r->result.message);
        running_end(r, &r->result, message, true);
    } else if (why != RUN_NODE_STOPS || r->result.ok || r->outside) {
        running_end(r, &r->result, NULL, true);
    } else if (r->beside) {
        running_end(r, &r->result, "its node stopped", true);
    } else {
        run_give_back(r, 0);
    }
    run_leave(r);
    run_free(r);
}

/* On the crew's timekeeper, while the code of the job still hangs, or it was not told that it may
 * begin. */
static void run_lost(struct crew_call *call, bool committed)
{
    struct run *r = container_of(call, struct run, call);
    int why = atomic_load(&r->why);
    char message[200];

    (void)committed;
    if (why == RUN_NODE_STOPS || r->outside) { /* its claim is taken over, or its time is limited */
        run_leave(r);
        return;
    }
    if (r->opens && !atomic_load(&r->opened)) { /* its code has not begun */
        struct err err = { .text = "the store has not answered in the time of the run" };

        scheduler_back_later(r->jobs, &r->claim.task, "begin a run", r->job->name, &err);
        run_leave(r);
        return;
    }
    log_event(LOG_WARN, "job.hang", kv_str("job", r->job->name), kv_str("run", r->io.run),
              kv_int("ms", (clock_mono_us() - call->began_us) / CLOCK_MS),
              kv_z("hint", "It does not end although it was told to stop, and cannot be "
                           "interrupted: its thread is given up."));
    (void)snprintf(message, sizeof message, "timeout: it hangs, and was given up after %lld s",
                   (long long)((clock_mono_us() - call->began_us) / CLOCK_S));
    running_end(r, NULL, message, false);
    run_leave(r);
}

static void run_back(struct crew_call *call)
{
    run_free(container_of(call, struct run, call));
}

/* ---- begin ---- */

static void run_copy_claim(struct run *r, const struct job_claim *c)
{
    struct job_record *record = &r->claim.record;

    r->claim = *c;
    record->name = r->job->name;
    record->kind = r->job->kind;
    record->area = r->job->area;
    record->stop_by = record->stop_why = record->message = STR("");
    r->claim.state = arena_copy(&r->arena, c->state);
}

bool running_begin(struct jobs *j, struct book *book, const struct book_job *job,
                   const struct job_claim *c, int64_t nominal_us, int64_t now_us, bool opens)
{
    struct run *r = NEW(struct run);

    *r = (struct run){ .call = { .call = { .stop = &r->stop, .egress = engine_egress(j->engine) },
                                 .patience_us = job->timeout_us + JOBS_GRACE_US,
                                 .whole = true,
                                 .run = running_run,
                                 .done = run_done,
                                 .lost = run_lost,
                                 .back = run_back },
                       .jobs = j,
                       .book = book_ref(book),
                       .job = job,
                       .arena = ARENA_INIT(JOB_RUN_ARENA),
                       .opens = opens,
                       .nominal_us = nominal_us,
                       .claimed_us = now_us,
                       .result = { .state = BUF_INIT(2 * JOB_STATE_MOST) },
                       .steps = BUF_INIT(2 * JOB_STEP_BYTES) };
    run_copy_claim(r, c);
    r->began_us = r->claimed_us;
    r->io =
        (struct job_io){ .call = &r->call.call,
                         .job = job->name,
                         .run = str_of(arena_printf(&r->arena, "%lld", (long long)c->task.claim)),
                         .nominal_us = nominal_us,
                         .backfill = c->backfill,
                         .claimed_us = now_us,
                         .timeout_us = job->timeout_us,
                         .state = r->claim.state,
                         .ports = &j->ports,
                         .arena = &r->arena,
                         .steps = &r->steps,
                         .leave = job->leaves ? run_leave_outside : NULL,
                         .leave_arg = r };
    (void)pthread_mutex_lock(&j->mutex);
    bool begins = !j->stopping; /* jobs_stop() waits for those in the list */

    if (begins) {
        r->next = j->runs;
        j->runs = r;
        j->run_count++;
        crew_submit(j->crew, &r->call);
    }
    (void)pthread_mutex_unlock(&j->mutex);
    if (!begins)
        run_free(r);
    return begins;
}

/* ---- told to stop ---- */

static void run_stop(struct run *r, enum run_stop why)
{
    int goes = RUN_GOES;

    if (atomic_compare_exchange_strong(&r->why, &goes, why))
        atomic_store(&r->stop, true);
}

int64_t running_look(struct jobs *j, int64_t mono_us)
{
    int64_t next = INT64_MAX;

    (void)pthread_mutex_lock(&j->mutex);
    for (struct run *r = j->runs; r != NULL; r = r->next) {
        int64_t began = atomic_load(&r->began_mono_us);
        int64_t at = (began != 0 ? began : mono_us) + r->job->timeout_us;

        if (atomic_load(&r->why) != RUN_GOES)
            continue;
        if (at <= mono_us)
            run_stop(r, RUN_TIMED_OUT);
        else if (at < next)
            next = at;
    }
    (void)pthread_mutex_unlock(&j->mutex);
    return next;
}

void running_cancel(struct jobs *j, struct str name)
{
    (void)pthread_mutex_lock(&j->mutex);
    for (struct run *r = j->runs; r != NULL; r = r->next)
        if (str_eq(r->job->name, name))
            run_stop(r, RUN_CANCELLED);
    (void)pthread_mutex_unlock(&j->mutex);
}

void running_release(struct jobs *j, int64_t claim)
{
    (void)pthread_mutex_lock(&j->mutex);
    for (struct run *r = j->runs; r != NULL; r = r->next)
        if (r->claim.task.claim == claim)
            run_stop(r, RUN_CANCELLED);
    (void)pthread_mutex_unlock(&j->mutex);
}

size_t running_claims(struct jobs *j, struct arena *a, struct task **ret)
{
    size_t n = 0;

    (void)pthread_mutex_lock(&j->mutex);
    *ret = ARENA_ARRAY(a, struct task, j->run_count + 1);
    for (struct run *r = j->runs; r != NULL; r = r->next)
        if (!r->outside && atomic_load(&r->why) == RUN_GOES)
            (*ret)[n++] = r->claim.task;
    (void)pthread_mutex_unlock(&j->mutex);
    return n;
}

void running_lose(struct jobs *j, const struct task *t)
{
    (void)pthread_mutex_lock(&j->mutex);
    for (struct run *r = j->runs; r != NULL; r = r->next)
        if (r->claim.task.id == t->id && r->claim.task.claim == t->claim && !r->outside)
            run_stop(r, RUN_LOST);
    (void)pthread_mutex_unlock(&j->mutex);
}

void running_stop(struct jobs *j)
{
    (void)pthread_mutex_lock(&j->mutex);
    for (struct run *r = j->runs; r != NULL; r = r->next)
        run_stop(r, RUN_NODE_STOPS);
    (void)pthread_mutex_unlock(&j->mutex);
}
