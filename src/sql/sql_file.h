/* sql_file.h - which file may be a database: one in `node.folders`, and none of the node's own.
 *
 * A driver opens what a connection string names, in the name of the node's user.  So the folder of
 * the file is asked about before a process is started, and before anybody is told whether there is
 * such a file.
 *
 * Threads: sql_file_prepare() before the first link is opened; then any.  It may block.
 */
#pragma once

#include <stdbool.h>

#include "base/folder_rule.h"
#include "sql/sql_failure.h"
#include "sql/sql_place.h"

/* data: the data folder of the node.  rule: its roots count; NULL: any folder, as for a program
 * that is no node.  Both are copied. */
void sql_file_prepare(const char *data, const struct folder_rule *rule);

/* A database that is no file is fine.  False with CONFIG and `ours`: it may not be used, and the
 * text says what to change; with LOST: its folder cannot be looked at. */
bool sql_file_may_use(const struct sql_place *place, struct sql_failure *f);
