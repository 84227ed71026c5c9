/* cell_time.h - times as ISO 8601, and back: the inside of cell.h.
 *
 *     INSTANT  2026-11-19T07:00:00.25Z     LOCAL  2026-11-19T07:00:00.25
 *     DATE     2026-11-19                  TIME   07:00:00.25
 *
 * Years beyond 0 to 9999 have a sign.  Zeros at the end of a fraction are left out.
 *
 * Read is more: a blank for the T, no seconds, no time at all (midnight), a zone as +1, +01:30 or
 * +013000 of an INSTANT (without one it is UTC, as LOCAL is taken for INSTANT), "BC" behind,
 * `infinity` and `-infinity`.  Refused: a zone of a LOCAL, more than microseconds, a day that the
 * calendar does not have.  A TIME may be a span: as MariaDB has it, up to 838 hours either way.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "table/cell.h"

enum { CELL_TIME_TEXT = 48 };
#define CELL_DAY_US  (INT64_C(86400) * 1000000)
#define CELL_TIME_US (INT64_C(839) * 3600 * 1000000) /* below this */

/* Of INSTANT, LOCAL, DATE and TIME: a value that is one. */
bool cell_time_is_fine(enum cell_type type, int64_t v);
/* Returns the length. */
size_t cell_time_put(enum cell_type type, int64_t v, char to[static CELL_TIME_TEXT]);
bool cell_time_take(enum cell_type type, struct str text, int64_t *ret);
