/* verify_job.c - both sides of a table of a link are compared (link/verifying.h).
 *
 *     links: { orders: { ..., verify: [ { mode: full, at: "0 2 * * sun", repair: on } ] } }
 *
 * Nobody writes such a job: the configuration makes one of each rule of `verify` for each table
 * (core/config_link_jobs.c).  A time of its schedule begins a pass, or the pass that a person has
 * ordered; each run does about a second of it, and the next one follows at once until it is over.
 * A pass that has found differences is a run that is done: people see the result of the pass, a
 * mishap `rows_differ`, and the alert of that name (job/link_check.h).
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
#include "link/verifying.h"
#include "store/job/job.h"
#include "store/job/job_states.h"

enum { VERIFY_ARENA = 256 << 20 };

struct verify_job {
    struct link_spec spec;
    struct link_verify rule;
    struct link_kept kept;
    struct link_count *count;
};

static bool verify_job_make(const struct settings *s, void **ret_self, struct err *err)
{
    struct verify_job *j = ARENA_NEW(s->arena, struct verify_job);

    if (!link_settings_read(s, &j->spec, err) || !link_settings_verify(s, &j->rule, err))
        return false;
    link_kept_init(&j->kept);
    j->count = link_counts_take(j->spec.link, j->spec.table);
    *ret_self = j;
    return true;
}

static void verify_job_unmake(void *self)
{
    struct verify_job *j = self;

    link_kept_done(&j->kept);
    link_counts_put(j->count);
}

static bool verify_job_check_state(void *self, struct str state, struct err *err)
{
    struct verify_state s;

    (void)self;
    return verify_state_read(state, &s, err);
}

/* How far replication of the table is: the state of its job.  That of one that does not run stays
 * as it is, which is as good as stopped. */
static bool verify_job_follower(const struct verify_job *j, const struct job_io *io,
                                struct arena *a, struct link_state *ret, struct err *err)
{
    struct job_state states[JOB_STATES_KEPT];
    struct job_record r;
    size_t count = 0;
    bool found;
    struct str name =
        str_of(arena_printf(a, "%.*s/%.*s", STR_ARG(j->spec.link), STR_ARG(j->spec.table)));

    if (!job_find(io->ports->store, name, a, &r, &found, err) ||
        (found && !job_states(io->ports->store, r.num, a, states, &count, err)) ||
        !link_state_read(count > 0 ? states[0].text : STR(""), a, ret, err))
        return false;
    if (!found || r.stop != JOB_GOES) {
        ret->stands = LINK_STOPPED;
        (void)snprintf(ret->message, sizeof ret->message, "its job %s",
                       !found ? "is not there" : job_stops[r.stop]);
    }
    return true;
}

static void verify_job_say(const struct verify_job *j, const struct job_io *io,
                           const struct verified *done, struct job_result *ret)
{
    const struct pass *p = &done->pass;

    (void)snprintf(ret->message, sizeof ret->message, "%s", done->message);
    if (!done->ended)
        return;
    if (p->result == PASS_OK || p->result == PASS_REPAIRED)
        link_counts_differ(j->count, 0, p->ended_us);
    if (p->result != PASS_DIVERGED)
        return;
    link_counts_differ(j->count, p->missing + p->extra + p->different - p->repaired, p->ended_us);
    mishaps_note(engine_mishaps(io->ports->engine), "rows_differ", "job", io->job, done->message);
}

static void verify_job_run(void *self, struct job_io *io, struct job_result *ret)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(VERIFY_ARENA);
    struct verify_job *j = self;
    struct link_state follower;
    struct verify_state s;
    struct verified done;
    struct err err = { 0 };

    if (!verify_state_read(io->state, &s, &err) || /* its form was checked */
        !verify_job_follower(j, io, &arena, &follower, &err) ||
        !verifying_run(&(struct verifying){ .spec = &j->spec,
                                            .kept = &j->kept,
                                            .store = io->ports->store,
                                            .call = io->call,
                                            .arena = &arena,
                                            .rule_name = io->job,
                                            .rule = &j->rule,
                                            .follower = &follower,
                                            .now_us = io->claimed_us },
                       &s, &done, &err)) {
        job_fail(ret, "%s", err.text);
        return;
    }
    verify_state_write(&s, &ret->state);
    ret->has_state = true;
    ret->more = done.more;
    ret->moved = done.more || done.ended;
    job_done(ret);
    verify_job_say(j, io, &done, ret);
}

static const struct option options[] = { { 0 } };

const struct job_type job_verify = {
    .kind = { .name = CONFIG_KIND_VERIFY,
              .help = "both sides of a table of a link are compared; made of `links`, and not "
                      "written",
              .keys = options,
              .linked = true },
    .whole = true,
    .make = verify_job_make,
    .unmake = verify_job_unmake,
    .run = verify_job_run,
    .check_state = verify_job_check_state,
};
