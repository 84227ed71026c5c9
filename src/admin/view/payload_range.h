/* payload_range.h - the Range field of a download: one range of bytes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum range_result { RANGE_WHOLE, RANGE_PART, RANGE_UNSATISFIABLE };

/* Reads "bytes=5-9", "bytes=5-" or "bytes=-5" for a payload of `size` bytes.  An invalid field,
 * and one with several ranges, means the whole payload (RFC 9110). */
enum range_result payload_range(struct str field, int64_t size, int64_t *ret_from,
                                int64_t *ret_length);
