/* secret.h - values that configurations name and nobody reads back.
 *
 * Kept sealed (XChaCha20-Poly1305) under a key that is not in the database: the file
 * `secret.key` of the data folder, mode 0600, made at the first use; or the file that
 * WAYBILL_SECRET_KEY_FILE names, so that nodes on one PostgreSQL share it.  Shown are only
 * name, time and a fingerprint.
 *
 * A key file is 64 hex digits and no one's but its owner's (or group's): one that others
 * may read is refused.  A key is made only when nothing is sealed yet, so that a lost key
 * is noticed and not papered over; the file of the environment is never made.
 *
 * Format of a sealed value: the byte 1, eight bytes that tell the key, 24 of nonce, the
 * ciphertext with its 16 bytes of tag.  The name is sealed in: rows cannot change places.
 * A fingerprint is a keyed digest: the same value under the same key has the same one, and
 * without the key nobody can try values on it.
 *
 * Threads: any that may block; files are read at each call.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/str.h"

struct store;

struct secret {
    struct str name, fingerprint, made_by;
    int64_t made_us;
};

enum { SECRETS_MOST = 1000, SECRET_MOST = 64 << 10 };

/* A new one, or a new value for the name.  ERR_CONFIG: the name or value is not one, or the
 * key file cannot be used; ERR_LIMIT: there are SECRETS_MOST others. */
bool secret_put(struct store *s, struct str name, struct str value, struct str who,
                struct err *err);
bool secret_drop(struct store *s, struct str name, bool *ret_was, struct err *err);
/* Sorted by name; `ret` has room for SECRETS_MOST. */
bool secret_list(struct store *s, struct arena *a, struct secret *ret, size_t *ret_count,
                 struct err *err);
/* False with ERR_CONFIG: there is none of that name, or its key is another one.  The value
 * is the caller's, who clears it when it is done with. */
bool secret_get(struct store *s, struct str name, struct arena *a, struct str *ret,
                struct err *err);
void secret_clear(struct str value);
/* Which key it is, 16 hex digits; empty: there is none, and nothing is sealed. */
enum { SECRET_KEY_ID = 17 };
bool secret_key_id(struct store *s, char ret[static SECRET_KEY_ID], struct err *err);
/* A copy of the key file, for somebody who keeps it: secret.key in this folder, which has none. */
bool secret_key_copy(struct store *s, int dirfd, struct err *err);
/* The key in a file; the same form. */
bool secret_key_id_of(int dirfd, const char *path, char ret[static SECRET_KEY_ID], struct err *err);

/* Changes with every put and drop. */
bool secret_mark(struct store *s, int64_t *ret, struct err *err);

/* A digest of something secret in a form that tells nothing without the key file: what is kept of
 * it cannot be used to try values out. */
bool secret_blind(struct store *s, struct sha256 *io, struct err *err);
