/* window.h - when a system may be sent to.
 *
 * A window opens on some days of the week at a local time of its zone and closes at another; if
 * that is not later, it closes on the next day.  A window belongs to the day on which it opens:
 * `days` and `holidays` are checked for that day only.  A set is open when any of its windows is.
 *
 * Whether a set is open depends on the time alone: there is no timer to lose.
 * Clock changes: both ends follow the rule of zone.h (the first instant at which the clock
 * shows this time or a later one), so a window whose both ends are skipped does not open.
 *
 * Ownership: sets live in the arena of their maker.
 * Threads: immutable once built; building one may block on the disk (zones).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "core/calendar.h"
#include "core/yaml.h"
#include "core/zone.h"

enum {
    WINDOW_MOST = 64,           /* of one system */
    WINDOW_HORIZON_DAYS = 3653, /* how far ahead a change is searched: ten years */
};

struct window {
    unsigned days;                 /* of opening; bit 0 is Monday */
    int open_minute, close_minute; /* after the midnight of the day of opening; open < close */
    const struct zone *zone;
    const struct calendar **holidays;
    size_t holiday_count;
};

struct window_set {
    const struct window *windows;
    size_t count;
    const char *broken; /* why the set never opens: its times are unknown; or NULL */
};

/* Is the set open at now_us?  *ret_change_us: the next change; 0: none within ten years.  NULL is
 * always open. */
bool window_set_open(const struct window_set *s, int64_t now_us, int64_t *ret_change_us);

/* The same without the next change, which is searched for ten years ahead in a set that never
 * closes.
 */
bool window_set_is_open(const struct window_set *s, int64_t now_us);

/* Work of takes_us that starts at from_us, or at the next opening, ends before the set closes. */
bool window_set_fits(const struct window_set *s, int64_t from_us, int64_t takes_us);

/* Makes the sets of one configuration, which share zones and calendars. */
struct window_maker {
    const struct yaml_node *root; /* with its `calendars` */
    struct arena *arena;
    struct zone_shelf zones;
    struct window_calendar *calendars;
    struct str zone; /* of windows that name none; empty: UTC */
};

struct window_maker window_maker(const struct yaml_node *root, struct arena *arena);

/* The calendars that the value of a key `holidays` names: a text or a list, or NULL for none. */
void window_holidays(struct window_maker *m, const struct yaml_node *node,
                     const struct calendar ***ret, size_t *ret_count);

/* `node` is the value of `window`, a map or a list, that was checked already.  On failure
 * (ERR_CONFIG: this machine does not know the zone) *ret is a broken set. */
bool window_set_build(struct window_maker *m, const struct yaml_node *node,
                      const struct window_set **ret, struct err *err);
