#include "core/retain_rule.h"

enum { STEP_US = 60 * 1000000, SHARE = 20 };

int64_t retain_days_of(int64_t keep_us)
{
    int64_t days = keep_us / RETAIN_DAY_US + (keep_us % RETAIN_DAY_US != 0);

    return days > RETAIN_DAYS_MOST ? RETAIN_DAYS_MOST : days;
}

int64_t retain_day(int64_t ended_day, int64_t keep_days)
{
    static const struct {
        int64_t over, step;
    } steps[] = { { 4000, 365 }, { 400, 28 }, { 90, 7 } };
    int64_t day = ended_day + keep_days;

    for (int i = 0; i < 3; i++)
        if (keep_days > steps[i].over)
            return (day + steps[i].step - 1) / steps[i].step * steps[i].step;
    return day;
}

int64_t retain_due_before(int64_t now_us)
{
    return (now_us - RETAIN_GRACE_US) / RETAIN_DAY_US;
}

bool retain_clock_look(struct retain_clock *c, int64_t now_us, int64_t mono_us, int64_t apart_us)
{
    int64_t off = (now_us - c->seen_us) - (mono_us - c->seen_mono_us);

    if (!c->looked || off > STEP_US || off < -STEP_US)
        c->since_mono_us = mono_us;
    c->looked = true;
    c->seen_us = now_us;
    c->seen_mono_us = mono_us;
    return mono_us - c->since_mono_us >= apart_us;
}

bool retain_guard_lets(struct retain_guard *g, int64_t now_us, int64_t day, int64_t present)
{
    if (now_us < g->since_us) /* the clock was set back: restart the hour, keep its count */
        g->since_us = now_us;
    if (now_us - g->since_us >= RETAIN_HOUR_US)
        *g = (struct retain_guard){ .since_us = now_us, .present = present };
    if (g->day == 0)
        g->day = day;
    return g->day == day || g->count < g->present / SHARE;
}
