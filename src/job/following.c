/* following.c - this node follows the version that is in force: its book, and the records.
 *
 * The live tells of a version on its own thread, and locked; the scheduler does the rest.  First
 * the records follow, in one commit, by whichever node is first (store/job/job_follow.h); then the
 * book is used.  In between, and while another node is ahead, a claim meets a record whose settings
 * this node does not have: it gives the claim back.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "job/book.h"
#include "job/state.h"
#include "store/job/job_follow.h"

#include <stdio.h>
#include <stdlib.h>

struct following {
    const struct book *book;
    struct job_follow follow;
    struct planning *plans; /* of each job that is wanted */
    int64_t now_us;
};

static void following_plan(void *arg, struct job_wanted *wanted, const struct job_record *now)
{
    const struct following *f = arg;
    size_t i = (size_t)(wanted - f->follow.jobs);

    planning_changed(&f->book->jobs[i], now, f->now_us, &f->plans[i]);
    wanted->plan = f->plans[i].plan;
}

static void following_want(struct following *f, size_t i)
{
    const struct book_job *job = &f->book->jobs[i];

    planning_new(job, f->now_us, &f->plans[i]);
    f->follow.jobs[i] = (struct job_wanted){ .name = job->name,
                                             .kind = job->kind,
                                             .area = job->area,
                                             .queue = job->queue,
                                             .digest = job->digest,
                                             .plan = f->plans[i].plan };
}

static void following_say(const struct following *f)
{
    const struct job_follow *o = &f->follow;

    if (o->came + o->changed + o->left > 0)
        log_event(LOG_INFO, "job.follow", kv_int("version", o->version), kv_int("came", o->came),
                  kv_int("changed", o->changed), kv_int("left", o->left));
    for (size_t i = 0; i < o->count; i++)
        if (o->jobs[i].written)
            jobs_say_plan(o->jobs[i].name, &f->plans[i]);
}

static bool following_follow(struct jobs *j, const struct book *b, struct err *err)
{
    struct following f = { .book = b, .now_us = jobs_now_us(j) };

    f.plans = xcalloc(b->count + 1, sizeof *f.plans);
    f.follow = (struct job_follow){ .version = b->version,
                                    .jobs = xcalloc(b->count + 1, sizeof(struct job_wanted)),
                                    .count = b->count,
                                    .again = following_plan,
                                    .arg = &f };
    for (size_t i = 0; i < b->count; i++)
        following_want(&f, i);
    bool ok = job_follow(j->store, &f.follow, err);

    if (ok && f.follow.first)
        following_say(&f);
    if (ok && f.follow.crowded_out > 0)
        log_event(LOG_WARN, "job.crowd_out", kv_int("count", f.follow.crowded_out),
                  kv_z("hint",
                       "So many jobs have left the configuration that those that left first "
                       "were forgotten early, with their states."));
    free(f.follow.jobs);
    free(f.plans);
    return ok;
}

static void following_use(struct jobs *j, struct book *b)
{
    (void)pthread_mutex_lock(&j->mutex);
    struct book *old = j->book;

    j->book = b;
    j->follows = false;
    j->trouble[0] = '\0';
    j->due |= (1u << JOBS_QUEUES) - 1;
    (void)pthread_cond_broadcast(&j->rested);
    (void)pthread_mutex_unlock(&j->mutex);
    counts_use(j->store, b);
    jobs_say_unknown(b);
    book_unref(old);
    /* Whatever was put is due at the earliest now. */
    jobs_token_put(j, j->queues[JOBS_ANY], jobs_now_us(j));
}

/* It is tried again, unless another version has come meanwhile. */
static void following_later(struct jobs *j, struct config *c, int64_t version,
                            const struct err *why)
{
    (void)pthread_mutex_lock(&j->mutex);
    bool first = j->trouble[0] == '\0', other = j->config != NULL;

    j->follows = false;
    if (!other) {
        j->config = c;
        j->version = version;
        j->follow_us = clock_mono_us() + CLOCK_S;
    }
    (void)snprintf(j->trouble, sizeof j->trouble, "version %lld: %s", (long long)version,
                   why->text);
    (void)pthread_mutex_unlock(&j->mutex);
    if (other)
        config_unref(c);
    if (first)
        log_event(LOG_WARN, "job.wait", kv_int("version", version), kv_z("why", why->text),
                  kv_z("hint", "The jobs go on as before; it is tried again every second."));
}

void following_look(struct jobs *j)
{
    struct book *b = NULL;
    struct err err = { 0 };

    (void)pthread_mutex_lock(&j->mutex);
    struct config *c = clock_mono_us() >= j->follow_us ? j->config : NULL;
    int64_t version = j->version;

    if (c != NULL)
        j->config = NULL;
    j->follows = c != NULL;
    (void)pthread_mutex_unlock(&j->mutex);
    if (c == NULL)
        return;
    if (!book_build(c, version, j->connectors, j->store, &b, &err) ||
        !following_follow(j, b, &err)) {
        book_unref(b);
        following_later(j, c, version, &err);
        return;
    }
    config_unref(c);
    following_use(j, b);
}
