#include "core/nominal.h"

#include "base/clock.h"
#include "base/require.h"
#include "core/civil.h"

#define HUNDRED_YEARS_US (INT64_C(36525) * CIVIL_DAY_S * CLOCK_S)

int64_t nominal_any(const struct nominal *n, int64_t after_us)
{
    int64_t first = 0;

    for (size_t i = 0; i < n->count; i++) {
        int64_t at = cron_next(&n->crons[i], n->zone, after_us);

        if (at != 0 && (first == 0 || at < first))
            first = at;
    }
    return first;
}

static int64_t nominal_day(const struct nominal *n, int64_t at_us)
{
    return civil_floor(zone_local(n->zone, civil_floor(at_us, CLOCK_S)), CIVIL_DAY_S);
}

static bool nominal_is_holiday(const struct nominal *n, int64_t day)
{
    for (size_t i = 0; i < n->holiday_count; i++)
        if (calendar_has(n->holidays[i], day))
            return true;
    return false;
}

enum nominal_why nominal_why(const struct nominal *n, int64_t at_us)
{
    if (n->holiday_count > 0 && nominal_is_holiday(n, nominal_day(n, at_us)))
        return NOMINAL_HOLIDAY;
    return window_set_is_open(n->window, at_us) ? NOMINAL_COUNTS : NOMINAL_WINDOW;
}

/* Work may not run at at_us: the first instant at which that reason is over; 0: it never is. */
static int64_t nominal_skip(const struct nominal *n, int64_t at_us)
{
    int64_t change, day = nominal_day(n, at_us);

    if (!nominal_is_holiday(n, day))
        return window_set_open(n->window, at_us, &change) ? at_us : change;
    int64_t end = zone_utc(n->zone, (day + 1) * CIVIL_DAY_S) * CLOCK_S;

    /* Clocks that go back over midnight return to a day that has ended before: step by minutes. */
    return end > at_us ? end
                       : (civil_floor(at_us, INT64_C(60) * CLOCK_S) + 1) * INT64_C(60) * CLOCK_S;
}

int64_t nominal_next(const struct nominal *n, int64_t after_us, size_t *looks)
{
    int64_t at = after_us, skip;
    size_t i = 0;

    /* Each step skips a whole holiday or closed window: minute by minute the bound on the steps
     * would be two weeks. */
    for (; i < NOMINAL_LOOKS; i++) {
        at = nominal_any(n, at);
        if (at == 0 || at - after_us > HUNDRED_YEARS_US) {
            at = 0;
            break;
        }
        if (nominal_why(n, at) == NOMINAL_COUNTS)
            break;
        if ((skip = nominal_skip(n, at)) == 0) {
            at = 0;
            break;
        }
        if (skip - 1 > at)
            at = skip - 1;
    }
    if (looks != NULL)
        *looks += i + 1;
    return i < NOMINAL_LOOKS ? at : 0;
}

int64_t nominal_open(const struct nominal *n, int64_t from_us)
{
    int64_t at = from_us;

    for (int i = 0; i < NOMINAL_LOOKS; i++) {
        if (nominal_why(n, at) == NOMINAL_COUNTS)
            return at;
        at = nominal_skip(n, at);
        if (at == 0 || at - from_us > HUNDRED_YEARS_US)
            return 0;
    }
    return 0;
}

/* One of the cron expressions names this local time.  Local time is treated as UTC here. */
static bool nominal_names(const struct nominal *n, int64_t local_s)
{
    const struct zone *utc;
    struct err err;

    if (!zone_load(STR("UTC"), NULL, &utc, &err))
        unreachable("UTC is always known");
    for (size_t i = 0; i < n->count; i++)
        if (cron_next(&n->crons[i], utc, local_s * CLOCK_S - 1) == local_s * CLOCK_S)
            return true;
    return false;
}

enum nominal_clock nominal_clock(const struct nominal *n, int64_t at_us)
{
    int64_t at_s = civil_floor(at_us, CLOCK_S), until_s, ignored_s;
    int64_t offset_s = zone_offset(n->zone, at_s, &until_s);

    if (zone_offset(n->zone, at_s - 1, &ignored_s) < offset_s && !nominal_names(n, at_s + offset_s))
        return NOMINAL_SKIPPED;
    if (zone_utc(n->zone, at_s + offset_s) < at_s)
        return NOMINAL_SECOND;
    if (until_s == INT64_MAX)
        return NOMINAL_PLAIN;
    /* The clock goes back at until_s, to a local time before or at this one. */
    return until_s + zone_offset(n->zone, until_s, &ignored_s) <= at_s + offset_s ? NOMINAL_FIRST
                                                                                  : NOMINAL_PLAIN;
}
