/* id.h - document ids: UUIDv7 that carry their row number.
 *
 * Format (RFC 9562, version 7)
 *   48 bits  wall time in milliseconds
 *    4 bits  version 7
 *   12 bits  random
 *    2 bits  variant
 *   44 bits  row number
 *   18 bits  random
 * So ids sort by time, and a document is found by its id without an index.  An
 * id is a name, not a secret: rights decide who sees a document.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct id {
    uint8_t bytes[16];
};

enum { ID_TEXT = 37 };
#define ID_ROW_MOST ((int64_t)((UINT64_C(1) << 44) - 1))

struct id id_make(int64_t wall_us, int64_t row, uint64_t random);
int64_t id_row(const struct id *id);
bool id_eq(const struct id *a, const struct id *b);

const char *id_text(const struct id *id, char text[static ID_TEXT]); /* lower case, 36 characters */
bool id_parse(struct str text, struct id *ret); /* that form only, and version 7 */
