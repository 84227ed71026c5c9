/* backfill.c - past times of a schedule that somebody wants to be served
 * (store/job/job_backfill.h).
 *
 * The times are those that the schedule in force names, without holidays and closed windows;
 * whether they were served before does not matter: whoever asks knows.  A version that is just
 * coming into force is waited for: the times are those of the settings that the record has.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"
#include "job/book.h"
#include "job/state.h"
#include "store/job/job_backfill.h"

struct backfill_times {
    int64_t *times;
    size_t count;
};

static void backfill_times_done(struct backfill_times *t)
{
    free(t->times);
}

static bool backfill_check(const struct book_job *job, int64_t from_us, int64_t to_us,
                           int64_t now_us, struct err *err)
{
    char now[CLOCK_TEXT];

    if (job->times_unknown)
        return err_set(err, ERR_PERMANENT, 0, "this node does not know its times: %.120s",
                       job->broken);
    if (job->schedule.form != SCHEDULE_AT)
        return err_set(err, ERR_PERMANENT, 0,
                       "only a job with `at` has past times: `waybill jobs run` makes a run now");
    if (from_us > to_us)
        return err_set(err, ERR_PERMANENT, 0, "`to` is before `from`");
    if (to_us > now_us)
        return err_set(err, ERR_PERMANENT, 0, "`to` is in the future: it is %s now",
                       clock_utc_text(now_us, now));
    return true;
}

static bool backfill_compute(const struct book_job *job, int64_t from_us, int64_t to_us,
                             struct backfill_times *ret, struct err *err)
{
    const struct schedule *s = &job->schedule;
    int64_t last_us = s->until_us != 0 && s->until_us < to_us ? s->until_us : to_us;
    int64_t at_us = nominal_next(&s->times, from_us - 1, NULL);

    ret->times = xcalloc(BACKFILL_MOST, sizeof *ret->times);
    for (; at_us != 0 && at_us <= last_us; at_us = nominal_next(&s->times, at_us, NULL)) {
        if (ret->count == BACKFILL_MOST)
            return err_set(err, ERR_LIMIT, 0,
                           "there are more than %d times between `from` and `to`: ask for a part",
                           BACKFILL_MOST);
        ret->times[ret->count++] = at_us;
    }
    return ret->count > 0 ||
           err_set(err, ERR_PERMANENT, 0,
                   "no time of the schedule lies between `from` and `to`: see `waybill jobs next "
                   "--at`");
}

/* *ret_fits false: this node does not have the settings of the record now.  What is not there, or
 * is in no version any more, is for the store to say: it has no times. */
static bool backfill_plan(struct jobs *j, struct str name, int64_t from_us, int64_t to_us,
                          struct backfill_times *ret, bool *ret_fits, struct err *err)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct job_record r;
    bool found;

    *ret_fits = true;
    if (!job_find(j->store, name, &a, &r, &found, err))
        return false;
    if (!found || r.gone_us != 0)
        return true;
    struct book *b = jobs_book(j);
    const struct book_job *job = book_find(b, name);

    *ret_fits = job != NULL && digest_same(&job->digest, &r.digest);
    bool ok = !*ret_fits || (backfill_check(job, from_us, to_us, jobs_now_us(j), err) &&
                             backfill_compute(job, from_us, to_us, ret, err));

    book_unref(b);
    return ok;
}

bool jobs_backfill(struct jobs *j, struct str name, int64_t from_us, int64_t to_us,
                   enum job_answer *ret, size_t *ret_count, struct err *err)
{
    AUTO(backfill_times_done) struct backfill_times t = { 0 };
    bool settled = jobs_settle(j), fits = false;

    for (int i = 0; i < JOBS_ORDER_TRIES && settled && !fits; i++) {
        if (i > 0)
            clock_sleep_us(JOBS_ORDER_WAIT_US);
        if (!backfill_plan(j, name, from_us, to_us, &t, &fits, err))
            return false;
    }
    if (!fits)
        return jobs_say_unsettled(err);
    struct job_order order = {
        .act = JOB_BACKFILL, .name = name, .times = t.times, .time_count = t.count
    };

    if (!jobs_order(j, &order, ret, err))
        return false;
    *ret_count = t.count;
    jobs_backfill_soon(j);
    return true;
}
