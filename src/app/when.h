/* when.h - parses points in time as people write them.
 *
 * Relative: `15m`, `2h`, `3d` (units ms s m h d) before now, or after now where a future time is
 * expected; there `22:00` is the next such local time, today or tomorrow.
 * Absolute: `2026-11-15`, `2026-11-15T02:52`, `2026-11-15 02:52:10.123456`, each
 * with `Z` or an offset (`+01:00`, `+0100`, `+01`), or without: then it is local
 * time.  The times that `docs ls` prints are accepted.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

bool when_parse(struct str text, int64_t now_us, int64_t *ret_us, struct err *err);
bool when_parse_ahead(struct str text, int64_t now_us, int64_t *ret_us, struct err *err);
