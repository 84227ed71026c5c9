/* admin_keys.h - who holds a key for the admin API, in memory.
 *
 * Keys and what their roles allow, as the store had them at the last look; looked at again when the
 * store says that something changed.  When a key was last used is noted here and goes to the store
 * by the minute.
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

/* Use what changed, here or elsewhere; cheap when nothing did. */
bool admin_keys_follow(struct admin_keys *k, struct err *err);

/* False: there is no such key, or its time is over.  Texts are on the arena. */
bool admin_keys_find(struct admin_keys *k, struct str key, struct arena *a, struct str *ret_title,
                     struct rights *ret_rights);
