/* scheduler.c - the thread that claims jobs that are due, and never waits for their work.
 *
 * The problem.  Any number of nodes race for tokens that become due at many times; a token may be
 * put by another node, by a person, by a new version.  Jobs of tomorrow must cost nothing.
 *
 * The method.  The scheduler sleeps until somebody tells it that a queue has tokens that are due:
 * the claimer of documents, which wakes what is due and looks into the store every second for its
 * own queues anyway (road_tell_jobs()), and this node itself when it puts a token.  Then it claims
 * small batches while slots are free, from the queue of its area and from that for any in turn.
 * There is no query of its own.
 *
 * A claim begins as what the schedule says now: nodes may have been down since its time was
 * computed, the window may be closed, a later time may have come.  A node that does not know the
 * time zone of a job leaves it to others: it gives the claim back.
 *
 * Invariants
 *   (1) A hint is cleared before the claim that uses it; after a full batch or a failed claim the
 *       scheduler sets it itself.  A lost hint costs a second: the claimer looks again.
 *   (2) Every claim becomes a run, or is given back.
 *   (3) It claims at most as many as there are free slots.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/wait.h"
#include "core/config.h"
#include "engine/upkeep/controls.h"
#include "job/book.h"
#include "job/state.h"
#include "store/job/job_run.h"
#include "store/kernel/node.h"

enum {
    CLAIM_ARENA = 64 << 20,
    STRANGE_US = 500 * CLOCK_MS,    /* this node does not have the settings of a job yet */
    UNKNOWN_US = 2 * CLOCK_S,       /* it does not know its time zone: at least, ... */
    UNKNOWN_MOST_US = 60 * CLOCK_S, /* ... and at most, when nobody else takes it either */
    UNKNOWN_PART = 4,               /* of the time since it is due */
    OTHERS_US = 10 * CLOCK_S,       /* it does not run the kind, and is the only node (SQLite) */
};

/* ---- what is not run now ---- */

/* A claim that the store did not take back yet; in a list under jobs.mutex. */
struct back {
    struct back *next;
    struct task task;
};

static void scheduler_push_back(struct jobs *j, struct back *b)
{
    (void)pthread_mutex_lock(&j->mutex);
    b->next = j->backs;
    j->backs = b;
    j->back_us = clock_mono_us() + JOBS_AGAIN_US;
    j->asked = true;
    (void)pthread_cond_signal(&j->wake);
    (void)pthread_mutex_unlock(&j->mutex);
}

/* One whose time has come, or NULL; *ret_us: when to ask again (monotonic). */
static struct back *scheduler_pop_back(struct jobs *j, int64_t *ret_us)
{
    (void)pthread_mutex_lock(&j->mutex);
    struct back *b = j->backs;

    *ret_us = b != NULL ? j->back_us : INT64_MAX;
    if (b != NULL && clock_mono_us() >= j->back_us)
        j->backs = b->next;
    else
        b = NULL;
    (void)pthread_mutex_unlock(&j->mutex);
    return b;
}

void scheduler_back_later(struct jobs *j, const struct task *t, const char *what, struct str job,
                          const struct err *why)
{
    struct back *b = NEW(struct back);

    log_event(LOG_WARN, "job.trouble", kv_z("what", what), kv_str("job", job),
              kv_z("why", why->text));
    *b = (struct back){ .task = *t };
    scheduler_push_back(j, b);
}

/* Gives back what the store did not take; returns when it is to be asked again (monotonic). */
static int64_t scheduler_look_back(struct jobs *j)
{
    int64_t next_us;

    for (struct back *b; (b = scheduler_pop_back(j, &next_us)) != NULL;) {
        enum job_end_result result;
        int64_t due_us = jobs_now_us(j);
        struct err err = { 0 };

        if (job_give_back(j->store, &b->task, due_us, NULL, STR(""), &result, &err)) {
            jobs_token_put(j, b->task.queue, due_us);
            free(b);
        } else {
            scheduler_push_back(j, b);
        }
    }
    return next_us;
}

static void scheduler_drop_back(struct jobs *j)
{
    for (struct back *b = j->backs, *next; b != NULL; b = next) {
        next = b->next;
        free(b);
    }
    j->backs = NULL;
}

bool scheduler_give_back(struct jobs *j, const struct job_claim *c, int64_t due_us,
                         const struct planning *p)
{
    const struct job_plan *plan = p != NULL ? &p->plan : NULL;
    const char *why = p != NULL && p->what != SCHEDULE_DUE ? schedule_end_word(p->why) : "";
    enum job_end_result result = JOB_END_LOST;
    struct err err = { 0 };
    bool ok = job_give_back(j->store, &c->task, due_us, plan, str_of(why), &result, &err);

    if (ok && result == JOB_END_PLAN) { /* somebody has changed it meanwhile: claim it anew */
        p = NULL;
        due_us = jobs_now_us(j);
        ok = job_give_back(j->store, &c->task, due_us, NULL, STR(""), &result, &err);
    }
    if (!ok) {
        scheduler_back_later(j, &c->task, "give a claim back", c->record.name, &err);
        return true;
    }
    if (result == JOB_END_LOST)
        return false;
    if (p != NULL && result == JOB_END_WRITTEN)
        jobs_say_plan(c->record.name, p);
    if (due_us != 0)
        jobs_token_put(j, c->task.queue, due_us);
    return true;
}

bool scheduler_has_kind(const struct jobs *j, struct str kind)
{
    const struct config_texts *kinds = &j->node->job_kinds;

    for (size_t i = 0; i < kinds->count; i++)
        if (str_is(kind, kinds->items[i]))
            return true;
    return kinds->count == 0;
}

/* ---- what is run ---- */

/* Others may be beside it, or are there: of an earlier version, which allowed more, or because a
 * person has asked for one more. */
static bool scheduler_may_have_others(const struct book_job *job, const struct job_record *r)
{
    return !job->leaves && (r->open_runs > 0 || (job->parallel > 1 && r->asked_us == 0));
}

static void scheduler_begin(struct jobs *j, struct book *b, const struct book_job *job,
                            const struct job_claim *c, bool here, int64_t nominal_us,
                            int64_t now_us)
{
    if (j->farm != NULL && !here) {
        struct err err = { 0 };

        if (handover_begin(j, c, &err))
            return;
        handover_say_failed(j, c->record.name, err.text);
        (void)scheduler_give_back(j, c, now_us + STRANGE_US, NULL);
        return;
    }
    bool opens = scheduler_may_have_others(job, &c->record);

    if (!running_begin(j, b, job, c, nominal_us, now_us, opens))
        (void)scheduler_give_back(j, c, now_us, NULL);
}

/* The token was the time-out of a run outside: that one has failed. */
static void scheduler_end_awaited(struct jobs *j, struct book *b, const struct book_job *job,
                                  const struct job_claim *c, int64_t now_us)
{
    struct job_result result = { .state = BUF_INIT(1) };
    struct job_run run = { 0 };
    struct err err = { 0 };
    bool found;

    if (!job_run_get(j->store, c->task.id, c->awaited, &run, &found, &err)) {
        scheduler_back_later(j, &c->task, "end a run outside", c->record.name, &err);
        return;
    }
    if (found && run.until_us > now_us) { /* a jump of the clock has woken it */
        (void)scheduler_give_back(j, c, run.until_us, NULL);
        return;
    }
    if (!found) { /* damaged from outside: what is written then is the same */
        run.nominal_us = c->record.next.nominal_us;
        run.began_us = now_us;
    }
    job_fail(&result, "timeout: nobody acknowledged it by %s",
             clock_utc_text(run.until_us, (char[CLOCK_TEXT]){ 0 }));
    ending_begin(j, b, job, c, false, true,
                 &(struct ending_result){ .result = &result,
                                          .steps = STR(""),
                                          .nominal_us = run.nominal_us,
                                          .due_us = run.began_us,
                                          .claimed_us = run.began_us,
                                          .began_us = run.began_us,
                                          .ended_us = now_us,
                                          .outside = true });
}

/* How long a job whose times are not known here is left to other nodes.  When there are none, this
 * one comes again ever more rarely. */
static int64_t scheduler_unknown_us(const struct job_claim *c, int64_t now_us)
{
    const struct job_record *r = &c->record;
    int64_t due_us = r->asked_us != 0 ? r->asked_us : r->next.due_us;
    int64_t wait_us = (now_us - due_us) / UNKNOWN_PART;

    return wait_us < UNKNOWN_US        ? UNKNOWN_US
           : wait_us > UNKNOWN_MOST_US ? UNKNOWN_MOST_US
                                       : wait_us;
}

void scheduler_take(struct jobs *j, struct book *b, const struct job_claim *c, bool here)
{
    const struct book_job *job = book_find(b, c->record.name);
    int64_t now_us = jobs_now_us(j);
    struct planning p;

    if (job == NULL || !digest_same(&job->digest, &c->record.digest)) {
        (void)scheduler_give_back(j, c, now_us + STRANGE_US, NULL);
        return;
    }
    if (c->awaited != 0) {
        scheduler_end_awaited(j, b, job, c, now_us);
        return;
    }
    if (job->times_unknown) {
        (void)scheduler_give_back(j, c, now_us + scheduler_unknown_us(c, now_us), NULL);
        return;
    }
    if (!scheduler_has_kind(j, job->kind)) {
        (void)scheduler_give_back(j, c, now_us + OTHERS_US, NULL);
        return;
    }
    if (c->record.asked_us != 0) {
        scheduler_begin(j, b, job, c, here, c->record.asked_us, now_us);
        return;
    }
    planning_now(job, &c->record, now_us, &p);
    if (p.what == SCHEDULE_DUE && p.plan.next.due_us <= now_us)
        scheduler_begin(j, b, job, c, here, p.plan.next.nominal_us, now_us);
    else
        (void)scheduler_give_back(j, c, p.plan.next.due_us, &p);
}

/* ---- claiming ---- */

/* How many may be claimed now, and from which queues; those are taken as looked at. */
static size_t scheduler_room(struct jobs *j, int64_t queues[static JOBS_QUEUES], size_t *ret_queues)
{
    bool rests =
        j->node->job_slots == 0 || controls_jobs_rest(j->controls) || !node_may_act(j->store);
    size_t most = (size_t)j->node->job_batch, room = 0;

    *ret_queues = 0;
    (void)pthread_mutex_lock(&j->mutex);
    if (!rests)
        room = jobs_free_slots(j);
    room = room < most ? room : most;
    for (unsigned i = 0; room > 0 && i < JOBS_QUEUES; i++)
        if ((j->due & 1u << i) != 0)
            queues[(*ret_queues)++] = j->queues[i];
    if (rests || room > 0)
        j->due = 0; /* paused: the claimer tells again every second */
    (void)pthread_mutex_unlock(&j->mutex);
    return room;
}

static int64_t scheduler_lasts(const void *book, const struct job_record *r)
{
    const struct book_job *job = book_find(book, r->name);

    return job != NULL && digest_same(&job->digest, &r->digest) ? job->timeout_us : JOB_LASTS_US;
}

struct job_lease scheduler_lease(const struct jobs *j, const struct book *b)
{
    return (struct job_lease){ .now_us = jobs_until_us(j, 0), .lasts = scheduler_lasts, .arg = b };
}

static void scheduler_unref(struct book **b)
{
    book_unref(*b);
}

/* Claims one batch; if there may be more, it is asked again at once. */
static void scheduler_claim(struct jobs *j, bool *io_turn)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(CLAIM_ARENA);
    struct job_claim claims[JOB_CLAIM_MOST];
    int64_t queues[JOBS_QUEUES];
    size_t queue_count, count = 0, room = scheduler_room(j, queues, &queue_count);
    struct err err = { 0 };

    if (room == 0 || queue_count == 0)
        return;
    if (queue_count == 2 && (*io_turn = !*io_turn)) {
        int64_t first = queues[0];

        queues[0] = queues[1];
        queues[1] = first;
    }
    AUTO(scheduler_unref) struct book *b = jobs_book(j);
    const struct job_lease lease = scheduler_lease(j, b);

    if (!job_claim(j->store, queues, queue_count, buf_view(&j->kinds), room, &lease, &arena, claims,
                   &count, &err)) {
        if (!j->claim_failing)
            log_event(LOG_WARN, "job.trouble", kv_z("what", "claim"), kv_z("why", err.text));
        j->claim_failing = true; /* the claimer tells again within a second */
        return;
    }
    j->claim_failing = false;
    if (count == room)
        for (size_t i = 0; i < queue_count; i++)
            jobs_due(j, queues[i]);
    for (size_t i = 0; i < count; i++)
        scheduler_take(j, b, &claims[i], false);
}

/* ---- the thread ---- */

/* False: it ends. */
static bool scheduler_wait(struct jobs *j, int64_t until_us)
{
    (void)pthread_mutex_lock(&j->mutex);
    if (j->config != NULL && j->follow_us < until_us)
        until_us = j->follow_us;
    while (!j->ends && !j->asked) {
        if (until_us == INT64_MAX)
            (void)pthread_cond_wait(&j->wake, &j->mutex);
        else if (!wait_until(&j->wake, &j->mutex, until_us))
            break;
    }
    j->asked = false;
    bool go_on = !j->ends;

    (void)pthread_mutex_unlock(&j->mutex);
    return go_on;
}

static int64_t scheduler_sooner(int64_t a_us, int64_t b_us)
{
    return a_us < b_us ? a_us : b_us;
}

void *scheduler_main(void *jobs)
{
    struct jobs *j = jobs;
    int64_t next_us;
    bool turn = false;

    do {
        following_look(j);
        handover_run_taken(j);
        scheduler_claim(j, &turn);
        /* With the runs that have just begun: nobody else knows when their time is over. */
        next_us =
            scheduler_sooner(ending_look(j, clock_mono_us()), running_look(j, clock_mono_us()));
        next_us = scheduler_sooner(next_us, scheduler_look_back(j));
        next_us = scheduler_sooner(next_us, handover_look(j, clock_mono_us()));
    } while (scheduler_wait(j, next_us));
    scheduler_drop_back(j); /* what is claimed is taken over from this node */
    return NULL;
}
