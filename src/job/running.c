/* running.c - a claimed job runs one iteration on a slot.
 *
 * A slot is a thread of a crew of its own: code of a job may hang, and then the crew gives it up
 * and goes on without that thread.  What the code may touch belongs to the run, which lives until
 * the code has returned; what ends the run is copied out of it (ending.c).
 *
 *     told to stop   at its timeout, by a cancel, or because the node stops: call_is_over()
 *     given up       JOBS_GRACE_US later: it has failed, `timeout`
 *
 * A run that the node itself has stopped, and that did not come to its end, is given back: it is
 * run again elsewhere, for the same time.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/fault.h"
#include "base/log.h"
#include "engine/engine.h"
#include "engine/road/road.h"
#include "engine/road/suspects.h"
#include "engine/threads/crew.h"
#include "job/book.h"
#include "job/state.h"

enum run_stop { RUN_GOES, RUN_TIMED_OUT, RUN_CANCELLED, RUN_NODE_STOPS };

struct run {
    struct crew_call call;
    struct run *next; /* under jobs.mutex */
    struct jobs *jobs;
    struct book *book; /* a reference */
    const struct book_job *job;
    struct arena arena;
    struct job_claim claim; /* its texts are in the arena */
    bool beside;
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

/* ---- the code of the job, on its slot ---- */

static void run_code(struct run *r)
{
    const struct book_job *job = r->job;
    struct err err = { 0 };

    if (job->self == NULL) {
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
    if (!r->result.ok || !r->result.has_state)
        return;
    if (r->result.state.len > JOB_STATE_MOST)
        job_fail(&r->result, "its state has %zu bytes, at most %d are kept", r->result.state.len,
                 JOB_STATE_MOST);
    else if (!str_is_utf8(buf_view(&r->result.state)) ||
             memchr(r->result.state.ptr, '\0', r->result.state.len) != NULL)
        job_fail(&r->result, "its state is not text");
    else if (job->type->check_state != NULL &&
             !job->type->check_state(job->self, buf_view(&r->result.state), &err))
        job_fail(&r->result, "the state that it left cannot be read: %s", err.text);
}

static void running_run(struct crew_call *call)
{
    struct run *r = container_of(call, struct run, call);
    struct suspects *suspects = road_suspects(r->jobs->road);

    r->began_us = jobs_now_us(r->jobs);
    atomic_store(&r->began_mono_us, clock_mono_us());
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

static bool run_give_back(struct run *r)
{
    enum job_end_result result = JOB_END_LOST;
    struct err err = { 0 };

    if (r->beside)
        return false;
    if (!job_give_back(r->jobs->store, &r->claim.task, jobs_now_us(r->jobs), NULL, STR(""), &result,
                       &err))
        log_event(LOG_WARN, "job.trouble", kv_z("what", "give a claim back"),
                  kv_str("job", r->job->name), kv_z("why", err.text));
    return true; /* what could not be given back is taken over from this node */
}

static void running_end(struct run *r, const struct job_result *result, const char *message,
                        bool blocks)
{
    int why = atomic_load(&r->why);

    ending_begin(r->jobs, r->book, r->job, &r->claim, r->beside, blocks,
                 &(struct ending_result){ .result = result,
                                          .message = message,
                                          .steps = result != NULL ? buf_view(&r->steps) : STR(""),
                                          .nominal_us = r->nominal_us,
                                          .due_us = r->claim.task.rank,
                                          .claimed_us = r->claimed_us,
                                          .began_us = r->began_us,
                                          .ended_us = jobs_now_us(r->jobs),
                                          .cancelled = why == RUN_CANCELLED });
}

static void run_done(struct crew_call *call)
{
    struct run *r = container_of(call, struct run, call);
    int why = atomic_load(&r->why);
    char message[JOB_MESSAGE_MOST + 1];

    if (why == RUN_TIMED_OUT && !r->result.ok) {
        (void)snprintf(message, sizeof message,
                       "timeout: it was stopped after %lld.%03lld s%s%.500s",
                       (long long)(r->job->timeout_us / CLOCK_S),
                       (long long)(r->job->timeout_us % CLOCK_S / CLOCK_MS),
                       r->result.message[0] != '\0' ? ": " : "", r->result.message);
        running_end(r, &r->result, message, true);
    } else if (why != RUN_NODE_STOPS || r->result.ok || !run_give_back(r)) {
        running_end(r, &r->result, NULL, true);
    }
    run_leave(r);
    run_free(r);
}

/* On the crew's timekeeper, while the code of the job still hangs. */
static void run_lost(struct crew_call *call, bool committed)
{
    struct run *r = container_of(call, struct run, call);
    int why = atomic_load(&r->why);
    char message[200];

    (void)committed;
    if (why == RUN_NODE_STOPS) { /* its claim is taken over */
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
                   const struct job_claim *c, int64_t nominal_us, int64_t now_us, bool beside)
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
                       .beside = beside,
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
                         .timeout_us = job->timeout_us,
                         .state = r->claim.state,
                         .ports = &j->ports,
                         .arena = &r->arena,
                         .steps = &r->steps };
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

void running_stop(struct jobs *j)
{
    (void)pthread_mutex_lock(&j->mutex);
    for (struct run *r = j->runs; r != NULL; r = r->next)
        run_stop(r, RUN_NODE_STOPS);
    (void)pthread_mutex_unlock(&j->mutex);
}
