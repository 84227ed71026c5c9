#include "core/calendar.h"

#include <stdlib.h>

#include "core/civil.h"
#include "core/units.h"

struct calendar {
    uint32_t every_year[13]; /* by month, from 1: bits of its days */
    int64_t *days;           /* dates of one year, as in civil.h, sorted */
    size_t count;
};

static int calendar_by_number(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

const struct calendar *calendar_build(const struct yaml_node *node, struct arena *a)
{
    const struct yaml_node *dates = yaml_get(node, "dates");
    struct calendar *c = ARENA_NEW(a, struct calendar);
    struct units_date date;
    struct err err;

    if (dates == NULL || dates->kind != YAML_LIST)
        return c;
    c->days = ARENA_ARRAY(a, int64_t, dates->count);
    for (const struct yaml_node *n = dates->first; n != NULL; n = n->next) {
        if (!units_date(yaml_text(n), &date, &err))
            continue;
        if (date.year == 0)
            c->every_year[date.month] |= UINT32_C(1) << date.day;
        else
            c->days[c->count++] = civil_day(date.year, date.month, date.day);
    }
    if (c->count > 1)
        qsort(c->days, c->count, sizeof c->days[0], calendar_by_number);
    return c;
}

bool calendar_has(const struct calendar *c, int64_t day)
{
    struct civil_date date = civil_date(day);

    if ((c->every_year[date.month] >> date.day & 1) != 0)
        return true;
    return c->count > 0 &&
           bsearch(&day, c->days, c->count, sizeof c->days[0], calendar_by_number) != NULL;
}
