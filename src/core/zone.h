/* zone.h - time zones by name, from the machine's IANA database (tzdata).
 *
 * Reads the compiled files (TZif, RFC 9636) itself: a zone is then an array that nobody
 * changes, so there is no TZ variable, no cache and no lock behind it, and the moments at which its
 * clocks are put forward or back are plain data, which a library would not show.
 *
 * Local time is counted in seconds since 1970-01-01 00:00 on the zone's own clock.
 *
 * The rule of gaps and overlaps: a local time means the first instant at which the zone's
 * clock shows this time or a later one.  So a time that is left out when clocks go forward
 * is the instant of the change, and of a time that comes twice the first one counts.
 *
 * Invariants
 *   (1) changes are in order, and each one changes the offset.
 *   (2) no offset is further from UTC than ZONE_OFFSET_MOST.
 *   (3) zone_utc() never goes down while its local time goes up.
 *
 * Beyond the year ZONE_YEAR_MOST no change is known any more.
 *
 * Ownership: a zone lives in the arena that was given.
 * Threads: a zone may be shared; reading one may block on the disk.
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

/* The bytes of such a file. */
bool zone_read(struct str bytes, struct arena *a, const struct zone **ret, struct err *err);

/* Append the names of this machine's zones, each with a newline; nothing when their list
 * cannot be read. */
void zone_names(struct buf *to);

/* Seconds that the zone's clock is ahead of UTC at this instant, and when that ends
 * (INT64_MAX: never). */
int64_t zone_offset(const struct zone *z, int64_t utc_s, int64_t *ret_until_s);

int64_t zone_local(const struct zone *z, int64_t utc_s);
int64_t zone_utc(const struct zone *z, int64_t local_s);

/* Zones that were read already, for who needs many; one arena for all. */
struct zone_shelf {
    struct arena *arena;
    struct zone_held *first;
};

bool zone_shelf_get(struct zone_shelf *shelf, struct str name, const struct zone **ret,
                    struct err *err);
