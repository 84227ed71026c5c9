#include "core/civil.h"

/* Days are counted from 0000-03-01, so that 29 February is the last day of its year.  The calendar
 * repeats after a cycle of 400 years. */
enum {
    CYCLE_YEARS = 400,
    CYCLE_DAYS = 146097,
    EPOCH = 719468, /* 1970-01-01 */
};

/* Days before `month` in a year that starts in March (0 is March). */
static int days_before(int month)
{
    return (153 * month + 2) / 5;
}

/* Days before `year` in its cycle. */
static int64_t days_before_year(int64_t year)
{
    return year * 365 + year / 4 - year / 100;
}

static bool is_leap(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

int64_t civil_day(int64_t year, int month, int day)
{
    int64_t from_march = month > 2 ? year : year - 1;
    int64_t cycle = civil_floor(from_march, CYCLE_YEARS);
    int64_t in_cycle = from_march - cycle * CYCLE_YEARS;

    return cycle * CYCLE_DAYS + days_before_year(in_cycle) + days_before((month + 9) % 12) + day -
           1 - EPOCH;
}

struct civil_date civil_date(int64_t day)
{
    int64_t cycle = civil_floor(day + EPOCH, CYCLE_DAYS);
    int64_t left = day + EPOCH - cycle * CYCLE_DAYS;
    int64_t year = left / 365; /* at most one too many */

    if (year == CYCLE_YEARS || days_before_year(year) > left)
        year--;
    int in_year = (int)(left - days_before_year(year));
    int month = (5 * in_year + 2) / 153;

    return (struct civil_date){ .year = cycle * CYCLE_YEARS + year + (month > 9),
                                .month = month > 9 ? month - 9 : month + 3,
                                .day = in_year - days_before(month) + 1 };
}

int civil_weekday(int64_t day)
{
    int64_t from_monday = day + 3; /* 1970-01-01 was a Thursday */

    return (int)(from_monday - civil_floor(from_monday, 7) * 7);
}

int civil_month_days(int64_t year, int month)
{
    static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };

    return month == 2 && is_leap(year) ? 29 : days[month - 1];
}
