/* secret.h - values that configurations name and nobody reads back.
 *
 * Kept sealed (XChaCha20-Poly1305) under a key that is not in the database: the file
 * `secret.key` of the data folder, mode 0600, made at the first use; or the file that
 * WAYBILL_SECRET_KEY_FILE names, so that nodes on one PostgreSQL share it.  Shown are only
 * name, time and a fingerprint.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct store;

struct secret {
    struct str name, fingerprint, made_by;
    int64_t made_us;
};

enum { SECRETS_MOST = 1000, SECRET_MOST = 64 << 10 };

/* A new one, or a new value for the name. */
bool secret_put(struct store *s, struct str name, struct str value, struct str who,
                struct err *err);
bool secret_drop(struct store *s, struct str name, bool *ret_was, struct err *err);
bool secret_list(struct store *s, struct arena *a, struct secret *ret, size_t *ret_count,
                 struct err *err);
/* False with ERR_CONFIG: there is none of that name, or its key is another one. */
bool secret_get(struct store *s, struct str name, struct arena *a, struct str *ret,
                struct err *err);
/* Changes with every put and drop. */
bool secret_mark(struct store *s, int64_t *ret, struct err *err);
