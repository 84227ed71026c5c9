/* hmac.h - keyed digests (RFC 2104), piece by piece.
 *
 * A started hmac must be ended by hmac_end() or hmac_drop(), once.
 *
 * Threads: a struct hmac belongs to one thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/str.h"

enum hmac_kind { HMAC_SHA256, HMAC_SHA512 };

enum { HMAC_MOST = 64 };

struct hmac_value {
    uint8_t bytes[HMAC_MOST];
    size_t size; /* 32 or 64 */
};

struct hmac {
    void *state; /* EVP_MAC_CTX */
};

struct hmac hmac_start(enum hmac_kind kind, struct str key); /* the key is copied; not empty */
void hmac_add(struct hmac *h, struct str bytes);
struct hmac_value hmac_end(struct hmac *h);
void hmac_drop(struct hmac *h); /* safe after hmac_end(), and on a zeroed hmac */

size_t hmac_size(enum hmac_kind kind);
bool hmac_same(const struct hmac_value *a, const struct hmac_value *b); /* in constant time */

/* All at once, of bytes in memory. */
void hmac_sha256(struct str key, struct str bytes, uint8_t out[static SHA256_SIZE]);
