#include "core/window.h"

#include "base/clock.h"
#include "base/require.h"
#include "core/civil.h"
#include "core/grammar.h"
#include "core/units.h"

enum { DAY_MINUTES = 1440 };

/* The years 1 to 9999; times beyond are clamped. */
#define LEAST_S (INT64_C(-719162) * CIVIL_DAY_S)
#define MOST_S  (INT64_C(2932896) * CIVIL_DAY_S)

/* ---- queries ---- */

struct span {
    int64_t from_s, to_s;
};

static bool is_holiday(const struct window *w, int64_t day)
{
    for (size_t i = 0; i < w->holiday_count; i++)
        if (calendar_has(w->holidays[i], day))
            return true;
    return false;
}

/* When the window of this day opens and closes; false: it does not open. */
static bool window_span_of(const struct window *w, int64_t day, struct span *ret)
{
    if ((w->days >> civil_weekday(day) & 1) == 0 || is_holiday(w, day))
        return false;
    ret->from_s = zone_utc(w->zone, day * CIVIL_DAY_S + w->open_minute * INT64_C(60));
    ret->to_s = zone_utc(w->zone, day * CIVIL_DAY_S + w->close_minute * INT64_C(60));
    return ret->from_s < ret->to_s;
}

static int64_t day_at(const struct window *w, int64_t at_s)
{
    return civil_floor(zone_local(w->zone, at_s), CIVIL_DAY_S);
}

/* The latest end of the windows that are open at this instant; at_s if none is open. */
static int64_t open_until(const struct window_set *s, int64_t at_s)
{
    int64_t until_s = at_s;

    for (size_t i = 0; i < s->count; i++) {
        const struct window *w = &s->windows[i];
        int64_t today = day_at(w, at_s);
        struct span span;

        /* A window may end two days after its own day, and a zone may skip a whole day. */
        for (int64_t day = today - 3; day <= today + 1; day++)
            if (window_span_of(w, day, &span) && span.from_s <= at_s && span.to_s > until_s)
                until_s = span.to_s;
    }
    return until_s;
}

/* The next opening of any window; 0: none within the horizon. */
static int64_t next_opening(const struct window_set *s, int64_t after_s)
{
    int64_t next_s = 0;

    for (size_t i = 0; i < s->count; i++) {
        const struct window *w = &s->windows[i];
        int64_t today = day_at(w, after_s);
        struct span span = { 0 };
        int64_t day = today - 3, end = today + WINDOW_HORIZON_DAYS;

        while (day < end && (!window_span_of(w, day, &span) || span.from_s <= after_s))
            day++;
        if (day < end && (next_s == 0 || span.from_s < next_s))
            next_s = span.from_s;
    }
    return next_s;
}

/* When the set closes; 0: not within the horizon.  Adjacent windows count as one. */
static int64_t next_closing(const struct window_set *s, int64_t now_s, int64_t until_s)
{
    int64_t end_s = now_s + (int64_t)WINDOW_HORIZON_DAYS * CIVIL_DAY_S;

    while (until_s < end_s) {
        int64_t further_s = open_until(s, until_s);

        if (further_s == until_s)
            return until_s;
        until_s = further_s;
    }
    return 0;
}

/* In seconds, and in a year that calendars know. */
static int64_t window_clamp(int64_t now_us)
{
    int64_t now_s = civil_floor(now_us, CLOCK_S);

    return now_s < LEAST_S ? LEAST_S : now_s > MOST_S ? MOST_S : now_s;
}

bool window_set_is_open(const struct window_set *s, int64_t now_us)
{
    int64_t now_s = window_clamp(now_us);

    return s == NULL || (s->broken == NULL && open_until(s, now_s) > now_s);
}

bool window_set_open(const struct window_set *s, int64_t now_us, int64_t *ret_change_us)
{
    int64_t now_s = window_clamp(now_us);

    *ret_change_us = 0;
    if (s == NULL)
        return true;
    if (s->broken != NULL)
        return false;
    int64_t until_s = open_until(s, now_s);
    bool open = until_s > now_s;

    *ret_change_us = CLOCK_S * (open ? next_closing(s, now_s, until_s) : next_opening(s, now_s));
    return open;
}

bool window_set_fits(const struct window_set *s, int64_t from_us, int64_t takes_us)
{
    int64_t change_us;

    if (!window_set_open(s, from_us, &change_us)) {
        if (change_us == 0)
            return false; /* the set never opens */
        from_us = change_us;
        if (!window_set_open(s, from_us, &change_us))
            return false;
    }
    return change_us == 0 || takes_us <= change_us - from_us;
}

/* ---- building ---- */

struct window_calendar {
    struct str name;
    const struct calendar *calendar;
    struct window_calendar *next;
};

struct window_maker window_maker(const struct yaml_node *root, struct arena *arena)
{
    return (struct window_maker){ .root = root, .arena = arena, .zones = { .arena = arena } };
}

static const struct calendar *find_calendar(struct window_maker *m, struct str name)
{
    for (const struct window_calendar *c = m->calendars; c != NULL; c = c->next)
        if (str_eq(c->name, name))
            return c->calendar;
    struct window_calendar *one = ARENA_NEW(m->arena, struct window_calendar);

    one->name = arena_copy(m->arena, name);
    one->calendar =
        calendar_build(yaml_get(yaml_get(m->root, "calendars"), one->name.ptr), m->arena);
    one->next = m->calendars;
    m->calendars = one;
    return one->calendar;
}

/* The text of a key, or the fallback of the grammar. */
static struct str window_text_of(const struct yaml_node *map, const char *key)
{
    const struct option *window = option_find(grammar_system, STR("window"));
    const struct option *o = option_find(window->keys, str_of(key));
    const struct yaml_node *node = yaml_get(map, key);

    require(o != NULL && o->fallback != NULL);
    return node != NULL && !yaml_is_null(node) ? node->text : str_of(o->fallback);
}

static bool window_read_days(const struct yaml_node *map, unsigned *ret, struct err *err)
{
    const struct yaml_node *node = yaml_get(map, "days");
    unsigned some;

    if (node == NULL || node->kind != YAML_LIST)
        return units_days(window_text_of(map, "days"), ret, err);
    for (const struct yaml_node *n = node->first; n != NULL; n = n->next) {
        if (!units_days(n->text, &some, err))
            return false;
        *ret |= some;
    }
    return true;
}

void window_holidays(struct window_maker *m, const struct yaml_node *node,
                     const struct calendar ***ret, size_t *ret_count)
{
    bool list = node != NULL && node->kind == YAML_LIST;

    *ret = NULL;
    *ret_count = 0;
    if (node == NULL)
        return;
    *ret = ARENA_ARRAY(m->arena, const struct calendar *, list ? node->count : 1);
    for (const struct yaml_node *n = list ? node->first : node; n != NULL; n = n->next) {
        (*ret)[(*ret_count)++] = find_calendar(m, n->text);
        if (!list)
            return; /* the sibling of a scalar is another key */
    }
}

static bool build_window(struct window_maker *m, const struct yaml_node *map, struct window *w,
                         struct err *err)
{
    struct str zone =
        yaml_get(map, "zone") == NULL && m->zone.len > 0 ? m->zone : window_text_of(map, "zone");

    if (!window_read_days(map, &w->days, err) ||
        !units_time(window_text_of(map, "open"), &w->open_minute, err) ||
        !units_time(window_text_of(map, "close"), &w->close_minute, err) ||
        !zone_shelf_get(&m->zones, zone, &w->zone, err))
        return false;
    if (w->close_minute <= w->open_minute)
        w->close_minute += DAY_MINUTES;
    window_holidays(m, yaml_get(map, "holidays"), &w->holidays, &w->holiday_count);
    return true;
}

bool window_set_build(struct window_maker *m, const struct yaml_node *node,
                      const struct window_set **ret, struct err *err)
{
    struct window_set *s = ARENA_NEW(m->arena, struct window_set);
    bool list = node->kind == YAML_LIST;
    struct window *windows = ARENA_ARRAY(m->arena, struct window, list ? node->count : 1);

    s->windows = windows;
    *ret = s;
    for (const struct yaml_node *n = list ? node->first : node; n != NULL; n = n->next) {
        if (!build_window(m, n, &windows[s->count++], err)) {
            s->broken = arena_text(m->arena, str_of(err->text));
            return false;
        }
        if (!list)
            break;
    }
    return true;
}
