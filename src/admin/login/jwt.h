/* jwt.h - the ID token of a provider: who signed it, for whom, for how long.
 *
 * Taken are signatures RS256 and ES256 by a key of the provider's set, and nothing else: never
 * none, never an HMAC, whatever a header says.  Everything that a token claims is checked here,
 * against what the caller expects; an error says which of it is wrong.  Pure: the time is given.
 *
 * Limits: tokens of 64 KiB, sets of 100 keys, RSA from 2048 to 8192 bits.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

struct jwt_keys;

enum { JWT_MOST = 64 << 10, JWT_KEYS_MOST = 100, JWT_LEEWAY_S = 60 };

/* A set of keys (RFC 7517).  Keys that are not for signatures, or of other kinds, are left out. */
bool jwt_keys_read(struct str json, struct jwt_keys **ret, struct err *err);
void jwt_keys_free(struct jwt_keys *k);

struct jwt_rules {
    struct str iss, aud, nonce; /* exactly these */
    int64_t now_s;              /* since 1970 */
};

/* The claims, json_decref() them.  ERR_PERMANENT: it is refused; sys is ENOKEY when its key is not
 * in the set, which may have changed. */
bool jwt_check(const struct jwt_keys *k, struct str token, const struct jwt_rules *rules,
               json_t **ret_claims, struct err *err);
