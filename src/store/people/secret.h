/* secret.h - secrets: values that configurations refer to by name and that are never shown.
 *
 * A value is stored sealed (XChaCha20-Poly1305) under a key that is not in the database: the file
 * `secret.key` of the data folder, mode 0600, created at the first use; or the file that
 * WAYBILL_SECRET_KEY_FILE names, so that the nodes of a PostgreSQL store share it.  Lists show
 * only name, time and a fingerprint.
 *
 * A key file has 64 hex digits.  One that others than its owner and group may read is refused.  A
 * key is created only while nothing is sealed, so that a lost key is noticed and not replaced; the
 * file of the environment is never created.
 *
 * Format of a sealed value: the byte 1, eight bytes of key id, 24 of nonce, the ciphertext with its
 * 16 bytes of tag.  The name is authenticated with it, so that rows cannot be swapped.  A
 * fingerprint is a keyed digest of name and value: equal values of one secret under the same key
 * have equal fingerprints, and it can be brute-forced neither without the key nor by storing
 * guesses under other names.
 *
 * Threads: any that may block; the key file is read at each call.
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

/* Adds a secret or replaces its value.  ERR_CONFIG: the name or value is invalid, or the key file
 * cannot be used; ERR_LIMIT: there are SECRETS_MOST others. */
bool secret_put(struct store *s, struct str name, struct str value, struct str who,
                struct err *err);
bool secret_drop(struct store *s, struct str name, bool *ret_was, struct err *err);
/* Sorted by name; `ret` has room for SECRETS_MOST. */
bool secret_list(struct store *s, struct arena *a, struct secret *ret, size_t *ret_count,
                 struct err *err);
/* ERR_CONFIG: there is no such secret, or it is sealed under another key.  The caller clears the
 * value after use. */
bool secret_get(struct store *s, struct str name, struct arena *a, struct str *ret,
                struct err *err);
void secret_clear(struct str value);
/* The id of the key, 16 hex digits; empty: there is no key, and nothing is sealed. */
enum { SECRET_KEY_ID = 17 };
bool secret_key_id(struct store *s, char ret[static SECRET_KEY_ID], struct err *err);
/* Copies the key file to secret.key in this folder, which must not have one. */
bool secret_key_copy(struct store *s, int dirfd, struct err *err);
/* The id of the key in a file. */
bool secret_key_id_of(int dirfd, const char *path, char ret[static SECRET_KEY_ID], struct err *err);

/* A mark that changes with every put and drop. */
bool secret_mark(struct store *s, int64_t *ret, struct err *err);

/* Replaces a digest by a keyed one.  A plain digest of something secret could be brute-forced; this
 * one cannot without the key file. */
bool secret_blind(struct store *s, struct sha256 *io, struct err *err);
