/* role.h - roles that somebody made: rights, for all systems or for named ones.
 *
 * Built-in roles (core/rights.h) have no row and cannot be changed.  A right is kept as its word,
 * so that rows outlive programs; words that this program does not know are left out.
 *
 * Bounded: ROLES_MOST roles, RIGHTS_SYSTEMS_MOST systems of each.
 * Threads: any that may block; changes run in the writer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "core/rights.h"

struct store;

enum { ROLES_MOST = 200, ROLE_NAME_MOST = 64, ROLE_TITLE_MOST = 200, ROLES_OF_ONE_MOST = 50 };

struct role {
    struct str name, title;
    unsigned bits; /* 1 << right */
    bool everywhere;
    struct str *systems; /* unless everywhere */
    size_t system_count;
    int64_t made_us;
    struct str by;
};

/* A name that a role, a user or a key may have: letters, digits, '-', '_', '.', up to
 * ROLE_NAME_MOST. */
bool role_name_fits(struct str name);

/* In place of the one before; the same again changes nothing.  ERR_PERMANENT, with the reason: it
 * is built in; it has no right, one that is about the whole node beside named systems, one about
 * documents without `see`, or `edit` without `payload`. ERR_LIMIT: there are too many. */
bool role_put(struct store *s, const struct role *role, struct err *err);
bool role_drop(struct store *s, struct str name, bool *ret_was_there, struct err *err);
/* By name, without the built-in ones. */
bool role_list(struct store *s, struct arena *a, struct role **ret, size_t *ret_count,
               struct err *err);

/* What all of these roles together allow, of those that were listed and of built-in ones; a name
 * that no role has allows nothing, and systems beyond RIGHTS_SYSTEMS_MOST are left out.  Texts are
 * the list's. */
void role_rights_of(const struct role *roles, size_t role_count, const struct str *names,
                    size_t count, struct rights *ret);

/* Grows with every change of roles and of who has them, on whatever node. */
bool role_mark(struct store *s, int64_t *ret, struct err *err);
