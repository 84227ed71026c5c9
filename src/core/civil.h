/* civil.h - days of the calendar as numbers.
 *
 * A day is the number of days since 1970-01-01 in the proleptic Gregorian calendar.  Time zones
 * are in zone.h.
 *
 * Threads: pure; from any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { CIVIL_DAY_S = 86400 };

struct civil_date {
    int64_t year;
    int month, day; /* both from 1 */
};

int64_t civil_day(int64_t year, int month, int day);
struct civil_date civil_date(int64_t day);
int civil_weekday(int64_t day); /* 0 is Monday */
int civil_month_days(int64_t year, int month);

/* Division that rounds down; C rounds negative quotients up. */
static inline int64_t civil_floor(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}
