/* replicate_job.c - a table of a link goes on (link/replicating.h).
 *
 *     links: { orders: { from: erp, to: mirror, tables: { customer: {} } } }
 *
 * Nobody writes such a job: the configuration makes one of each table of a link (core/
 * config_link_jobs.c).  An iteration takes about a second at most; while there is more the next one
 * follows at once.  A table that is stopped is no failure: the state has the reason, people are
 * told of it, and each iteration looks whether it may go on.
 *
 * The fence is the time of the claim, or one more than that of the last run where the clock was put
 * back: so whoever has the table later has the larger one, and one that hangs writes no more.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/auto.h"
#include "core/config.h"
#include "core/job_type.h"
#include "engine/engine.h"
#include "engine/tally/mishaps.h"
#include "job/link_counts.h"
#include "job/ports.h"
#include "link/link_settings.h"
#include "link/replicating.h"

enum { REPLICATE_ARENA = 64 << 20, REPLICATE_STATE_ARENA = 1 << 20 };

struct replicate_job {
    struct link_spec spec;
    struct link_kept kept;
    struct link_count *count;
};

static bool replicate_job_make(const struct settings *s, void **ret_self, struct err *err)
{
    struct replicate_job *j = ARENA_NEW(s->arena, struct replicate_job);

    if (!link_settings_read(s, &j->spec, err))
        return false;
    link_kept_init(&j->kept);
    j->count = link_counts_take(j->spec.link, j->spec.table);
    *ret_self = j;
    return true;
}

static void replicate_job_unmake(void *self)
{
    struct replicate_job *j = self;

    link_kept_done(&j->kept);
    link_counts_put(j->count);
}

static bool replicate_job_check_state(void *self, struct str state, struct err *err)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(REPLICATE_STATE_ARENA);
    struct link_state s;

    (void)self;
    return link_state_read(state, &arena, &s, err);
}

/* For people, in the log of runs. */
static void replicate_job_say(const struct link_state *was, const struct link_state *s, const struct replicated *done,
                              struct job_result *ret)
{
    if (s->stands == LINK_STOPPED)
        (void)snprintf(ret->message, sizeof ret->message, "stopped, %s: %s",
                       link_reasons[s->reason], s->message);
    else if (done->moved)
        (void)snprintf(ret->message, sizeof ret->message,
                       "%" PRId64 " rows written, %" PRId64 " removed, %" PRId64 " bytes%s%s",
                       done->written, done->removed, done->bytes,
                       s->conflicts > was->conflicts ? "; some have lost against others" : "",
                       done->more ? "; there are more" : "");
}

/* What the run has found is counted; alerts are raised for what lasts (job/link_check.h). */
static void replicate_job_count(const struct link_state *was, const struct link_state *s,
                                const struct job_io *io)
{
    struct mishaps *m = engine_mishaps(io->ports->engine);
    char why[LINK_MESSAGE_MOST + 40];

    if (s->stands == LINK_STOPPED && (was->stands != LINK_STOPPED || was->reason != s->reason)) {
        (void)snprintf(why, sizeof why, "%s: %s", link_reasons[s->reason], s->message);
        mishaps_note(m, "link_stopped", "job", io->job, why);
    }
    if (s->set_aside > was->set_aside) {
        (void)snprintf(why, sizeof why, "%" PRId64 " rows are set aside", s->set_aside);
        mishaps_note(m, "quarantine", "job", io->job, why);
    }
}

static void replicate_job_run(void *self, struct job_io *io, struct job_result *ret)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(REPLICATE_ARENA);
    struct replicate_job *j = self;
    struct link_state s = { 0 }, was;
    struct replicated done;
    struct err err = { 0 };

    if (!link_state_read(io->state, &arena, &s, &err)) { /* its form was checked */
        job_fail(ret, "%s", err.text);
        return;
    }
    was = s;
    s.fence = io->claimed_us > s.fence ? io->claimed_us : s.fence + 1;
    if (!replicating_run(&(struct replicating){ .spec = &j->spec,
                                                .kept = &j->kept,
                                                .store = io->ports->store,
                                                .call = io->call,
                                                .arena = &arena,
                                                .fence = s.fence,
                                                .now_us = io->claimed_us },
                         &s, &done, &err)) {
        job_fail(ret, "%s", err.text);
        return;
    }
    link_counts_set(j->count, &s);
    replicate_job_count(&was, &s, io);
    link_state_write(&s, &ret->state);
    ret->has_state = true;
    ret->more = done.more && s.stands != LINK_STOPPED;
    ret->moved = done.moved;
    job_done(ret);
    replicate_job_say(&was, &s, &done, ret);
}

static const struct option options[] = { { 0 } };

const struct job_type job_replicate = {
    .kind = { .name = CONFIG_KIND_REPLICATE,
              .help = "a table of a link: rows go from its source to its destination; made of "
                      "`links`, and not written",
              .keys = options,
              .linked = true },
    .whole = true,
    .make = replicate_job_make,
    .unmake = replicate_job_unmake,
    .run = replicate_job_run,
    .check_state = replicate_job_check_state,
};
