/* hmac.h - HMAC-SHA256 (RFC 2104): a signature that both sides can make with a shared secret.
 *
 * Threads: any.
 */
#pragma once

#include "base/digest.h"

void hmac_sha256(struct str key, struct str data, uint8_t out[static SHA256_SIZE]);
