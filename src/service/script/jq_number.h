/* jq_number.h - which numbers libjq leaves as they are.
 *
 * libjq reads a number as a double and writes the shortest text that reads as the same double.  A
 * number is kept when that text has the same value: 1.10, which becomes 1.1, is; 12345678901234567,
 * which becomes 12345678901234568, is not.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

/* `text` is a number of JSON. */
bool jq_number_is_kept(struct str text);
