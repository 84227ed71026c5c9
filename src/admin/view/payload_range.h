/* payload_range.h - the Range field of a download: one range of bytes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum range_result { RANGE_WHOLE, RANGE_PART, RANGE_UNSATISFIABLE };

/* "bytes=5-9", "bytes=5-", "bytes=-5" of a payload of `size`; what is not understood, or
 * asks for several ranges, means the whole (RFC 9110). */
enum range_result payload_range(struct str field, int64_t size, int64_t *ret_from,
                                int64_t *ret_length);
