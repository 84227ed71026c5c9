/* role.h - roles that users define: rights, for all systems or for named ones.
 *
 * Built-in roles (core/rights.h) have no row and cannot be changed.  A right is stored by its name,
 * so that rows outlive program versions; unknown names are ignored.
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

/* A valid name of a role: letters, digits, '-', '_', '.', up to ROLE_NAME_MOST. */
bool role_name_fits(struct str name);

/* Adds a role or replaces the one of that name; an equal role changes nothing.  ERR_PERMANENT, with
 * the reason: the name is built in; no rights; a right over the whole node for named systems; a
 * right on documents without `see`; `edit` without `payload`.  ERR_LIMIT: too many. */
bool role_put(struct store *s, const struct role *role, struct err *err);
bool role_drop(struct store *s, struct str name, bool *ret_was_there, struct err *err);
/* Sorted by name, without the built-in roles. */
bool role_list(struct store *s, struct arena *a, struct role **ret, size_t *ret_count,
               struct err *err);

/* The union of the rights of the named roles, from `roles` and the built-in ones.  An unknown name
 * adds nothing; systems beyond RIGHTS_SYSTEMS_MOST are left out.  Texts are borrowed from `roles`.
 */
void role_rights_of(const struct role *roles, size_t role_count, const struct str *names,
                    size_t count, struct rights *ret);

/* A mark that grows with every change of roles and of their holders, on any node. */
bool role_mark(struct store *s, int64_t *ret, struct err *err);
