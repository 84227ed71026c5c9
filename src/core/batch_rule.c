#include "core/batch_rule.h"

#include "base/clock.h"

enum { LOOKS_MOST = 20000, DAY_S = 86400 };

#define DAY_US (INT64_C(86400) * CLOCK_S)

/* The local day of at_us is in one of the calendars; *ret_end_us is the last instant of that day.
 */
static bool is_excepted(const struct batch_schedule *s, int64_t at_us, int64_t *ret_end_us)
{
    int64_t local = zone_local(s->zone, at_us / CLOCK_S);
    int64_t day = local / DAY_S - (local % DAY_S < 0);

    for (size_t i = 0; i < s->except_count; i++)
        if (calendar_has(s->except[i], day)) {
            *ret_end_us = zone_utc(s->zone, (day + 1) * DAY_S) * CLOCK_S - 1;
            return true;
        }
    return false;
}

int64_t batch_next(const struct batch_schedule *s, int64_t after_us)
{
    int64_t at = after_us, end_us;

    /* Each step skips a whole excluded day, so that LOOKS_MOST steps reach decades; minute by
     * minute they would reach two weeks. */
    for (int i = 0; i < LOOKS_MOST; i++) {
        at = cron_next(&s->cron, s->zone, at);
        if (at == 0 || !is_excepted(s, at, &end_us))
            return at;
        if (end_us > at)
            at = end_us;
    }
    return 0;
}

/* Where the search for the latest slot starts.  Not at last_us if a slot lies closer to now: an
 * every-minute schedule that was not served for months would take too many steps. */
static int64_t near_now(const struct batch_schedule *s, int64_t last_us, int64_t now_us)
{
    static const int64_t back[] = { DAY_US / 24, DAY_US, 32 * DAY_US, 400 * DAY_US };

    for (size_t i = 0; i < sizeof back / sizeof back[0]; i++) {
        int64_t from = now_us - back[i], next;

        if (from <= last_us)
            break;
        next = batch_next(s, from);
        if (next != 0 && next <= now_us)
            return from;
    }
    return last_us;
}

int64_t batch_due(const struct batch_schedule *s, bool each, int64_t last_us, int64_t now_us)
{
    int64_t due = 0, next = batch_next(s, last_us);

    if (next == 0 || next > now_us)
        return 0;
    if (each)
        return next;
    next = batch_next(s, near_now(s, last_us, now_us));
    for (int i = 0; i < LOOKS_MOST && next != 0 && next <= now_us; i++) {
        due = next;
        next = batch_next(s, due);
    }
    return due;
}

bool batch_slot_is_wrong(int64_t last_us, int64_t now_us)
{
    return last_us - now_us > DAY_US;
}
