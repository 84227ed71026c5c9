/* zone.h - time zones by name, from the machine's IANA database (tzdata).
 *
 * Reads the compiled files (TZif, RFC 9636) itself: a zone is an immutable array, without a TZ
 * variable, a cache or a lock, and the instants of its clock changes are plain data, which the C
 * library does not expose.
 *
 * Local time is counted in seconds since 1970-01-01 00:00 on the zone's own clock.
 *
 * The rule of gaps and overlaps: a local time means the first instant at which the zone's
 * clock shows this time or a later one.  So a time that is skipped when clocks go forward
 * means the instant of the change, and of a repeated time the first one counts.
 *
 * Invariants
 *   (1) changes are sorted by time, and each one changes the offset.
 *   (2) no offset is further from UTC than ZONE_OFFSET_MOST.
 *   (3) zone_utc() is monotonic in its local time.
 *
 * After the year ZONE_YEAR_MOST no change is known.
 *
 * Ownership: a zone lives in the arena it was loaded into.
 * Threads: a zone may be shared; loading one may block on the disk.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

enum {
    ZONE_OFFSET_MOST = 26 * 3600 - 1, /* seconds */
    ZONE_YEAR_MOST = 2500,
    ZONE_BYTES_MOST = 128 * 1024, /* of a file */
};

struct zone;

/* UTC is always known; any other name is a file below /usr/share/zoneinfo.  ERR_CONFIG: this
 * machine does not know the name, or its file is damaged. */
bool zone_load(struct str name, struct arena *a, const struct zone **ret, struct err *err);

/* The same from the bytes of a file. */
bool zone_read(struct str bytes, struct arena *a, const struct zone **ret, struct err *err);

/* Appends the names of the zones of this machine, each with a newline; nothing if the list cannot
 * be read. */
void zone_names(struct buf *to);

/* Seconds by which the local clock is ahead of UTC at this instant, and when that offset ends
 * (INT64_MAX: never). */
int64_t zone_offset(const struct zone *z, int64_t utc_s, int64_t *ret_until_s);

int64_t zone_local(const struct zone *z, int64_t utc_s);
int64_t zone_utc(const struct zone *z, int64_t local_s);

/* A cache of loaded zones, in one arena. */
struct zone_shelf {
    struct arena *arena;
    struct zone_held *first;
};

bool zone_shelf_get(struct zone_shelf *shelf, struct str name, const struct zone **ret,
                    struct err *err);
