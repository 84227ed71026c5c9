/* redrive_job.c - dead letters are tried again, some of them in each iteration.
 *
 *     again: { kind: redrive, error: rejected, receiver: erp, rate: 20/s, every: 1h }
 *
 * A pass goes through the dead letters that fit and that had died when it began, each at most once:
 * one that dies again is for the next pass.  An iteration takes one batch; `rate` spreads it.  A
 * rate that lets one through in a longer time than an iteration may rest keeps the next ones
 * waiting.
 *
 * The state is where the pass stands: the number of the last letter, and when it began; and, if
 * `rate` says so, the time before which nothing more is retried.  An iteration that is run again
 * finds what it has retried already alive.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/auto.h"
#include "base/clock.h"
#include "core/job_type.h"
#include "core/state.h"
#include "core/units.h"
#include "engine/engine.h"
#include "engine/plan/plan.h"
#include "engine/road/road.h"
#include "job/ports.h"
#include "store/manual/dead.h"
#include "store/road/retain_days.h"

enum {
    REDRIVE_ARENA = 32 << 20,
    REDRIVE_LOOK_US = 100 * CLOCK_MS, /* how often a run that waits looks whether it is to stop */
    REDRIVE_REST_US = 60 * CLOCK_S    /* the longest iteration that `rate` makes */
};

struct redrive_job {
    struct dead_filter filter;
    enum retry_from from;
    struct units_rate rate;
    int64_t batch, older_us;
};

/* Where a pass stands. */
struct redrive_place {
    int64_t above, until_us; /* until_us 0: no pass is under way */
    int64_t rests_us;        /* nothing is retried before; 0: at once */
};

static const char *const redrive_from[] = { "auto", "extract", "route", "delivery", NULL };

static const struct option options[] = {
    OPTION("error", OPT_WORD, "only those that died of this; left out: of anything",
           .words = dead_codes),
    OPTION("gateway", OPT_GATEWAY, "only those that came in here"),
    OPTION("sender", OPT_TEXT, "only those of this sender"),
    OPTION("receiver", OPT_TEXT, "only those for this receiver"),
    OPTION("type", OPT_TEXT, "only those of this type"),
    OPTION("name", OPT_TEXT, "only those with this file name, which may end in *"),
    OPTION("older", OPT_DURATION, "only those that have been dead for so long",
           .most = INT64_C(3660) * 86400 * CLOCK_S, .fallback = "10m"),
    OPTION("from", OPT_WORD,
           "where they start again: a dead document at the router and a dead delivery with its "
           "stored bytes; all at extraction; all at the router; only deliveries",
           .words = redrive_from, .fallback = "auto"),
    OPTION("batch", OPT_INT, "how many in one iteration; while there are more the next one follows",
           .least = 1, .most = DEAD_PAGE_MOST, .fallback = "100"),
    OPTION("rate", OPT_RATE, "not more than so many; left out: as fast as it goes"),
    { 0 },
};

static bool redrive_job_make(const struct settings *s, void **ret_self, struct err *err)
{
    struct redrive_job *j = ARENA_NEW(s->arena, struct redrive_job);
    struct dead_filter *f = &j->filter;
    struct str from = STR(""), rate;

    *ret_self = j;
    if (!settings_text(s, "error", &f->code, err) ||
        !settings_text(s, "gateway", &f->gateway, err) ||
        !settings_text(s, "sender", &f->sender, err) ||
        !settings_text(s, "receiver", &f->receiver, err) ||
        !settings_text(s, "type", &f->type, err) || !settings_text(s, "name", &f->name, err) ||
        !settings_text(s, "from", &from, err) || !settings_text(s, "rate", &rate, err) ||
        !settings_int(s, "batch", &j->batch, err) ||
        !settings_duration(s, "older", &j->older_us, err))
        return false;
    for (int i = 0; redrive_from[i] != NULL; i++)
        if (str_is(from, redrive_from[i]))
            j->from = (enum retry_from)i;
    return rate.ptr == NULL || units_rate(rate, &j->rate, err) || err_context(err, "`rate`");
}

static void redrive_job_unmake(void *self)
{
    (void)self; /* everything is on the arena */
}

/* ---- the state ---- */

static bool redrive_job_read(struct str state, struct redrive_place *ret)
{
    struct str above, until, rests = str_cut(str_cut(state, ' ', &above), ' ', &until);

    *ret = (struct redrive_place){ 0 };
    return str_to_i64(above, &ret->above) && str_to_i64(until, &ret->until_us) &&
           (rests.len == 0 || str_to_i64(rests, &ret->rests_us));
}

static void redrive_job_write(const struct redrive_place *at, struct job_result *ret)
{
    buf_printf(&ret->state, "%" PRId64 " %" PRId64, at->above, at->until_us);
    if (at->rests_us != 0)
        buf_printf(&ret->state, " %" PRId64, at->rests_us);
    ret->has_state = true;
}

static bool redrive_job_check_state(void *self, struct str state, struct err *err)
{
    struct redrive_place at;

    (void)self;
    return redrive_job_read(state, &at) ||
           err_set(err, ERR_PERMANENT, 0,
                   "the state of a redrive is a number of a dead letter, a blank, and a time in "
                   "microseconds, and perhaps another blank and time");
}

/* ---- a batch ---- */

static int64_t redrive_job_now_us(const struct job_io *io)
{
    return road_now_us(engine_road(io->ports->engine));
}

/* How long an iteration may rest for `rate`. */
static int64_t redrive_job_rest_us(const struct job_io *io)
{
    return io->timeout_us / 2 < REDRIVE_REST_US ? io->timeout_us / 2 : REDRIVE_REST_US;
}

/* As many as `batch` says, but no more than `rate` lets through in an iteration. */
static size_t redrive_job_room(const struct redrive_job *j, const struct job_io *io)
{
    int64_t most_us = redrive_job_rest_us(io);
    double room = j->rate.count == 0
                      ? (double)j->batch
                      : (double)j->rate.count * (double)most_us / (double)j->rate.per_us;

    return room < 1 ? 1 : room > (double)j->batch ? (size_t)j->batch : (size_t)room;
}

/* How long `rate` takes for so many. */
static int64_t redrive_job_takes_us(const struct redrive_job *j, size_t count)
{
    return j->rate.count == 0
               ? 0
               : (int64_t)((double)count * (double)j->rate.per_us / (double)j->rate.count);
}

/* Waits until *io_rests_us, but not longer than the iteration may; 0: that time has come. */
static void redrive_job_rest(const struct job_io *io, int64_t end_mono_us, int64_t *io_rests_us)
{
    for (int64_t now_us, left_us; *io_rests_us != 0;) {
        now_us = clock_mono_us();
        left_us = *io_rests_us - redrive_job_now_us(io);
        if (left_us <= 0)
            *io_rests_us = 0;
        else if (now_us >= end_mono_us || call_is_over(io->call))
            return;
        else
            clock_sleep_us(left_us < REDRIVE_LOOK_US ? left_us : REDRIVE_LOOK_US);
    }
}

static bool redrive_job_retry(const struct redrive_job *j, const struct job_io *io,
                              const struct dead_letter *letters, size_t count, int64_t *ret_done,
                              struct err *err)
{
    struct operate_target *targets = ARENA_ARRAY(io->arena, struct operate_target, count);
    struct operate_answer *answers = ARENA_ARRAY(io->arena, struct operate_answer, count);
    struct road *road = engine_road(io->ports->engine);
    struct plan *p = road_plan(road);
    const struct operate_order order = { .who = str_of(
                                             arena_printf(io->arena, "job %.*s", STR_ARG(io->job))),
                                         .from = j->from,
                                         .bulk = true,
                                         .config = p->version,
                                         .keep_days = RETAIN_BY_RULE };

    plan_unref(p);
    for (size_t i = 0; i < count; i++)
        targets[i] =
            (struct operate_target){ .id = letters[i].id, .delivery = letters[i].delivery };
    if (!operate(io->ports->store, OPERATE_RETRY, targets, count, &order, answers, err))
        return false;
    for (size_t i = 0; i < count; i++)
        *ret_done += answers[i].result == OPERATE_DONE;
    if (*ret_done > 0)
        road_note_backlog(road);
    return true;
}

/* One batch; io_place goes on. */
static bool redrive_job_batch(const struct redrive_job *j, const struct job_io *io,
                              struct redrive_place *io_place, size_t *ret_count, int64_t *ret_done,
                              struct err *err)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(REDRIVE_ARENA);
    size_t room = redrive_job_room(j, io);
    struct dead_letter *letters = ARENA_ARRAY(&arena, struct dead_letter, room);
    struct dead_filter f = j->filter;

    f.until_us = io_place->until_us;
    return dead_list(io->ports->store, &f, io_place->above, room, &arena, letters, ret_count,
                     &io_place->above, err) &&
           (*ret_count == 0 || redrive_job_retry(j, io, letters, *ret_count, ret_done, err));
}

/* Where the pass stands by its state.  What `rate` is now counts, also if it was slower then. */
static struct redrive_place redrive_job_stands(const struct redrive_job *j, const struct job_io *io)
{
    int64_t most_us = redrive_job_now_us(io) + redrive_job_takes_us(j, redrive_job_room(j, io));
    struct redrive_place at = { 0 };

    if (io->state.len > 0)
        (void)redrive_job_read(io->state, &at); /* its form was checked */
    if (at.rests_us > most_us)
        at.rests_us = most_us;
    return at;
}

static void redrive_job_say(struct redrive_place *at, size_t count, int64_t done,
                            struct job_result *ret)
{
    ret->more = at->above != 0;
    ret->moved = ret->more || count > 0;
    if (at->above == 0) /* the pass is over */
        at->until_us = 0;
    redrive_job_write(at, ret);
    job_done(ret);
    if (count > 0)
        (void)snprintf(ret->message, sizeof ret->message,
                       "%" PRId64 " of %zu dead letters start again%s", done, count,
                       ret->more ? "; there are more" : "");
}

/* `rate` lets nothing through in this iteration. */
static void redrive_job_say_resting(const struct redrive_place *at, struct job_result *ret)
{
    char until[CLOCK_TEXT];

    ret->more = ret->moved = at->until_us != 0;
    redrive_job_write(at, ret);
    job_done(ret);
    (void)snprintf(ret->message, sizeof ret->message, "nothing before %s, as `rate` says",
                   clock_utc_text(at->rests_us, until));
}

static void redrive_job_run(void *self, struct job_io *io, struct job_result *ret)
{
    const struct redrive_job *j = self;
    int64_t end_mono_us = clock_mono_us() + redrive_job_rest_us(io), done = 0;
    struct redrive_place at = redrive_job_stands(j, io);
    struct err err = { 0 };
    size_t count = 0;

    redrive_job_rest(io, end_mono_us, &at.rests_us);
    if (at.rests_us != 0) {
        redrive_job_say_resting(&at, ret);
        return;
    }
    int64_t began_us = redrive_job_now_us(io);

    if (at.until_us == 0)
        at.until_us = began_us - j->older_us;
    if (!redrive_job_batch(j, io, &at, &count, &done, &err)) {
        job_fail(ret, "%s", err.text);
        return;
    }
    at.rests_us = count > 0 && j->rate.count > 0 ? began_us + redrive_job_takes_us(j, count) : 0;
    redrive_job_rest(io, end_mono_us, &at.rests_us);
    redrive_job_say(&at, count, done, ret);
}

const struct job_type job_redrive = {
    .kind = { .name = "redrive",
              .help = "retry dead letters, in batches",
              .keys = options,
              .example = "again: { kind: redrive, error: rejected, receiver: erp, rate: 20/s, "
                         "every: 1h }" },
    .make = redrive_job_make,
    .unmake = redrive_job_unmake,
    .run = redrive_job_run,
    .check_state = redrive_job_check_state,
};
