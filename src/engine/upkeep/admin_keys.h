/* admin_keys.h - the keys of the admin API, in memory.
 *
 * Caches keys and the rights of their roles; reloaded when the store's mark changes.  The time of
 * last use is noted here and written to the store about once a minute.
 *
 * Threads: admin_keys_find() any, it never blocks on the store; admin_keys_follow() any that may
 * block.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "core/rights.h"

struct admin_keys;
struct store;

struct admin_keys *admin_keys_new(struct store *store);
void admin_keys_free(struct admin_keys *k);

/* Loads what changed, here or on another node; cheap when nothing did. */
bool admin_keys_follow(struct admin_keys *k, struct err *err);

/* False: there is no such key, or it has expired.  Texts are on the arena. */
bool admin_keys_find(struct admin_keys *k, struct str key, struct arena *a, struct str *ret_title,
                     struct rights *ret_rights);
