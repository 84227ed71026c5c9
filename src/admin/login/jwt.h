/* jwt.h - verifies the ID token of an OpenID Connect provider: signature, issuer, audience, expiry.
 *
 * Accepts signatures RS256 and ES256 by a key of the provider's set, and nothing else: never
 * `none`, never an HMAC, whatever the header of the token says.  The claims are compared with what
 * the caller expects; an error says which one is wrong.  Pure: the time is a parameter.
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

/* Reads a set of keys (RFC 7517).  Keys of other algorithms or uses are skipped. */
bool jwt_keys_read(struct str json, struct jwt_keys **ret, struct err *err);
void jwt_keys_free(struct jwt_keys *k);

struct jwt_rules {
    struct str iss, aud, nonce; /* expected values */
    int64_t now_s;              /* Unix time */
};

/* *ret_claims: json_decref() it.  ERR_PERMANENT: the token is refused; sys is ENOKEY when its key
 * is not in the set: the provider may have new keys. */
bool jwt_check(const struct jwt_keys *k, struct str token, const struct jwt_rules *rules,
               json_t **ret_claims, struct err *err);
