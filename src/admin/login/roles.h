/* roles.h - what the roles of a user allow: the one place where users meet roles. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "core/rights.h"

struct store;

struct role;

/* The rights of all these roles together, of those that were listed (store/people/role.h) and of
 * built-in ones; a name that is no role's any more gives none.  `names` has blanks between them;
 * texts of the result are the list's. */
void login_roles_rights(const struct role *roles, size_t count, struct str names,
                        struct rights *ret);
/* False with ERR_PERMANENT: there is no such role; the error tells which there are. */
bool login_roles_check(struct store *s, struct str names, struct err *err);
/* Changes with every change of a role. */
bool login_roles_mark(struct store *s, int64_t *ret, struct err *err);
