/* login_roles.h - what the roles of a user allow: the one place where users meet roles. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "core/rights.h"

struct store;

/* The rights of all these roles together; a name that is no role's any more gives none.  `names`
 * has blanks between them; texts of the result are in the arena. */
bool login_roles_rights(struct store *s, struct str names, struct arena *a, struct rights *ret,
                        struct err *err);
/* False with ERR_PERMANENT: there is no such role; the error tells which there are. */
bool login_roles_check(struct store *s, struct str names, struct err *err);
/* Changes with every change of a role. */
bool login_roles_mark(struct store *s, int64_t *ret, struct err *err);
