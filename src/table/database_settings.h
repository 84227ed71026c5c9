/* database_settings.h - where a database of the configuration is, ready to be opened.
 *
 * Settings of a job that uses databases have a map `databases` with those that it names, as the
 * configuration has them.
 *
 * Ownership: texts are on the arena of the settings.
 * Threads: any; reading ${file:} may block.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"
#include "core/settings.h"
#include "table/database.h"

/* The database `name`, with the secrets in its address.  The settings have `connectors`.
 * ERR_CONFIG, or the error of a secret: it cannot be used here. */
bool database_settings(const struct settings *s, struct str name, const struct database_type **ret,
                       struct database_address *ret_address, struct err *err);
