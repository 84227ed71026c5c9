#include "core/zone.h"

#include <fcntl.h>
#include <stdio.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/require.h"
#include "core/units.h"
#include "core/zone_data.h"

#define FOLDER "/usr/share/zoneinfo/"

static const struct zone zone_of_utc = { 0 };

/* ---- names ---- */

bool zone_load(struct str name, struct arena *a, const struct zone **ret, struct err *err)
{
    AUTO(buf_done) struct buf bytes = BUF_INIT(ZONE_BYTES_MOST);
    char path[sizeof FOLDER + UNITS_NAME_MOST];

    if (!units_zone(name, err)) /* which also keeps the path below FOLDER */
        return false;
    if (str_is(name, "UTC")) {
        *ret = &zone_of_utc;
        return true;
    }
    (void)snprintf(path, sizeof path, FOLDER "%.*s", STR_ARG(name));
    if (!file_read_whole(AT_FDCWD, path, &bytes, err))
        return err_set(err, ERR_CONFIG, 0, "this machine does not know the time zone %.*s",
                       STR_ARG(name));
    if (!zone_read(buf_view(&bytes), a, ret, err))
        return err_context(err, "time zone %.*s", STR_ARG(name));
    return true;
}

/* tzdata.zi is the compact source of tzdata: "Z NAME ..." defines a zone, "L NAME OTHER" an
 * alias. */
void zone_names(struct buf *to)
{
    AUTO(buf_done) struct buf text = BUF_INIT(1 << 20);
    struct str line, kind, name;
    struct err err;

    if (!file_read_whole(AT_FDCWD, FOLDER "tzdata.zi", &text, &err))
        return;
    for (struct str rest = buf_view(&text); rest.len > 0;) {
        rest = str_cut(rest, '\n', &line);
        line = str_cut(line, ' ', &kind);
        line = str_cut(line, ' ', &name);
        if (str_is(kind, "L"))
            (void)str_cut(line, ' ', &name);
        else if (!str_is(kind, "Z"))
            continue;
        if (!buf_append(to, name, &err) || !buf_append(to, STR("\n"), &err))
            return;
    }
}

struct zone_held {
    struct str name;
    const struct zone *zone;
    struct zone_held *next;
};

bool zone_shelf_get(struct zone_shelf *shelf, struct str name, const struct zone **ret,
                    struct err *err)
{
    const struct zone *zone;

    for (const struct zone_held *h = shelf->first; h != NULL; h = h->next)
        if (str_eq(h->name, name)) {
            *ret = h->zone;
            return true;
        }
    if (!zone_load(name, shelf->arena, &zone, err))
        return false;
    struct zone_held *held = ARENA_NEW(shelf->arena, struct zone_held);

    *held = (struct zone_held){ arena_copy(shelf->arena, name), zone, shelf->first };
    shelf->first = held;
    *ret = zone;
    return true;
}

/* ---- conversion ---- */

/* The number of changes up to this instant. */
static size_t changes_until(const struct zone *z, int64_t utc_s)
{
    size_t low = 0, high = z->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (z->changes[middle].at_s <= utc_s)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int64_t zone_offset(const struct zone *z, int64_t utc_s, int64_t *ret_until_s)
{
    size_t n = changes_until(z, utc_s);

    *ret_until_s = n < z->count ? z->changes[n].at_s : INT64_MAX;
    return n > 0 ? z->changes[n - 1].offset_s : z->first_offset_s;
}

int64_t zone_local(const struct zone *z, int64_t utc_s)
{
    int64_t until_s;

    return utc_s + zone_offset(z, utc_s, &until_s);
}

int64_t zone_utc(const struct zone *z, int64_t local_s)
{
    int64_t from_s = local_s - ZONE_OFFSET_MOST; /* no local clock shows local_s before that */

    for (;;) {
        int64_t until_s, utc_s = local_s - zone_offset(z, from_s, &until_s);

        if (utc_s < from_s)
            utc_s = from_s; /* skipped: the local clock jumped over local_s */
        if (utc_s < until_s)
            return utc_s;
        from_s = until_s;
    }
}
