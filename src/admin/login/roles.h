/* roles.h - the rights that the roles of a user grant. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "core/rights.h"

struct store;

struct role;

/* The union of the rights of the roles in `names`, separated by blanks.  They are looked up in
 * `roles`, as listed by store/people/role.h, and among the built-in ones; a role that was removed
 * grants nothing.  Texts of the result are lent by `roles`. */
void login_roles_rights(const struct role *roles, size_t count, struct str names,
                        struct rights *ret);
/* False with ERR_PERMANENT: one of the names is not a role; the error lists those that exist. */
bool login_roles_check(struct store *s, struct str names, struct err *err);
/* A number that changes with every change of a role. */
bool login_roles_mark(struct store *s, int64_t *ret, struct err *err);
