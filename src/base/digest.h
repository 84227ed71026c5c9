/* digest.h - incremental SHA-256, and its text.
 *
 * The only digest we use: payload integrity, keys, configuration versions.
 * A started digest must be ended by digest_end() or digest_drop(), once.
 *
 * Threads: a struct digest belongs to one thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum { SHA256_SIZE = 32, SHA256_TEXT = 65 };

struct sha256 {
    uint8_t bytes[SHA256_SIZE];
};

struct digest {
    void *state; /* EVP_MD_CTX */
};

struct digest digest_start(void);
void digest_add(struct digest *d, struct str bytes);
struct sha256 digest_end(struct digest *d);
void digest_drop(struct digest *d); /* safe after digest_end(), and on a zeroed digest */

struct sha256 digest_of(struct str bytes);                        /* in one call */
bool digest_same(const struct sha256 *a, const struct sha256 *b); /* in constant time */

const char *digest_text(const struct sha256 *d, char text[static SHA256_TEXT]);
bool digest_parse(struct str text, struct sha256 *ret); /* 64 lower-case hex digits */
