/* retain_job.c - retention at the times of a schedule.
 *
 *     purge: { kind: retain, at: "22:00", window: { open: "22:00", close: "06:00" }, timeout: 8h }
 *
 * With such a job retention works in its runs only, and for people; what is kept for how long says
 * the section `retention`, as always.  The work is that of the node's purger, with its rests and
 * guards: a run asks it for one round and waits.  When its time is nearly over the round is halted;
 * the next iteration then follows at once.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "core/job_type.h"
#include "engine/engine.h"
#include "engine/upkeep/purger.h"
#include "job/ports.h"

enum {
    RETAIN_LOOK_US = 50 * CLOCK_MS,
    RETAIN_SPARE = 10 /* a round is halted when a tenth of the time of the run is left */
};

static const struct option options[] = {
    { 0 },
};

static bool retain_job_make(const struct settings *s, void **ret_self, struct err *err)
{
    static int nothing;

    (void)s, (void)err;
    *ret_self = &nothing;
    return true;
}

static void retain_job_unmake(void *self)
{
    (void)self; /* it has nothing */
}

/* Until the round has ended, or the job was told to stop. */
static void retain_job_wait(const struct job_io *io, struct purger *p, struct purger_round *ret)
{
    int64_t until_us = clock_mono_us() + io->timeout_us - io->timeout_us / RETAIN_SPARE;
    int64_t number = purger_begin(p);

    for (;; clock_sleep_us(RETAIN_LOOK_US)) {
        purger_look_at_round(p, number, ret);
        if (ret->over)
            return;
        if (call_is_over(io->call) || clock_mono_us() > until_us)
            purger_halt(p, number);
        if (call_is_over(io->call))
            return;
    }
}

static void retain_job_run(void *self, struct job_io *io, struct job_result *ret)
{
    int64_t began_us = clock_mono_us();
    struct purger_round round;

    (void)self;
    retain_job_wait(io, engine_purger(io->ports->engine), &round);
    if (!round.over)
        job_fail(ret, "it was told to stop");
    else if (!round.ok)
        job_fail(ret, "%s", round.trouble);
    else if (round.unsteady)
        job_fail(ret, "nothing is purged before the clock was steady for ten minutes");
    else
        job_done(ret);
    if (!ret->ok)
        return;
    job_step(io, "purged", clock_mono_us() - began_us);
    ret->more = round.halted;
    ret->moved = round.documents > 0 || round.dead > 0;
    (void)snprintf(ret->message, sizeof ret->message,
                   "purged %" PRId64 " documents, discarded %" PRId64 " dead letters%s",
                   round.documents, round.dead,
                   round.guarded  ? "; the guard lets no more go in this hour"
                   : round.halted ? "; there may be more"
                                  : "");
}

const struct job_type job_retain = {
    .kind = { .name = "retain",
              .help = "purge what was kept long enough, at these times only",
              .keys = options,
              .example = "purge: { kind: retain, at: \"22:00\", timeout: 8h }" },
    .retains = true,
    .make = retain_job_make,
    .unmake = retain_job_unmake,
    .run = retain_job_run,
};
