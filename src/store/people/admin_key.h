/* admin_key.h - keys with which programs use the admin API.
 *
 * A key is `wbk_NAME_SECRET`, like those of gateways (caller.h): NAME identifies it, the SHA-256 of
 * the whole key proves it.  The key itself is shown once, when it is made, and not stored.  Its
 * rights are those of its roles at the moment of a request (role.h).
 *
 * Titles are unique: what a key does is recorded under its title.
 *
 * Bounded: ADMIN_KEYS_MOST keys.
 * Threads: any that may block; changes run in the writer and raise role_mark().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/key.h"
#include "store/people/role.h"

struct store;

enum { ADMIN_KEYS_MOST = 1000, ADMIN_KEY_TITLE_MOST = 64 };

struct admin_key {
    struct str name, title;
    struct sha256 secret;
    struct str *roles; /* names */
    size_t role_count;
    int64_t expires_us; /* 0: never */
    int64_t used_us;    /* to the minute; 0: never */
    int64_t made_us;
    struct str by;
};

/* Uses title, roles, expires_us and by of `key`.  ERR_LIMIT: there are ADMIN_KEYS_MOST. */
bool admin_key_add(struct store *s, const struct admin_key *key, char ret_name[static KEY_NAME],
                   char ret_key[static KEY_TEXT], struct err *err);
bool admin_key_remove(struct store *s, struct str name, bool *ret_was_there, struct err *err);
/* Records the last use; raises no mark. */
bool admin_key_use(struct store *s, struct str name, int64_t used_us, struct err *err);
/* Sorted by name. */
bool admin_key_list(struct store *s, struct arena *a, struct admin_key **ret, size_t *ret_count,
                    struct err *err);
