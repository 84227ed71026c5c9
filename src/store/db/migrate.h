/* migrate.h - schema migrations, forward only.
 *
 * Each migration runs in one transaction with its version number, so a
 * kill at any point leaves the store before or after it.  Nodes that start
 * together wait for each other.  A store that is newer than this program is
 * refused.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "store/db/db.h"

/* `all` is sql_migrations, except in tests. */
bool migrate(struct db *db, const struct sql_migration *all, struct err *err);
int migrate_newest(void);
