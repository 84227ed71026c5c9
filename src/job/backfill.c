/* backfill.c - past times of a schedule that somebody wants to be served
 * (store/job/job_backfill.h).
 *
 * The times are those that the schedule in force names, without holidays and closed windows;
 * whether they were served before does not matter: whoever asks knows.
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

bool jobs_backfill(struct jobs *j, struct str name, int64_t from_us, int64_t to_us,
                   enum job_answer *ret, size_t *ret_count, struct err *err)
{
    AUTO(backfill_times_done) struct backfill_times t = { 0 };
    struct book *b = jobs_book(j);
    const struct book_job *job = book_find(b, name);
    /* One that no version has is for the store to say. */
    bool ok = job == NULL || (backfill_check(job, from_us, to_us, jobs_now_us(j), err) &&
                              backfill_compute(job, from_us, to_us, &t, err));

    book_unref(b);
    if (!ok)
        return false;
    struct job_order order = {
        .act = JOB_BACKFILL, .name = name, .times = t.times, .time_count = t.count
    };

    if (!jobs_order(j, &order, ret, err))
        return false;
    *ret_count = t.count;
    jobs_backfill_soon(j);
    return true;
}
