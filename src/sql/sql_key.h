/* sql_key.h - whether the table of `inbox` refuses a delivery that it has, for `waybill probe`.
 *
 * Without a key over the column alone, or in a table that does not know transactions, an inbox
 * keeps nobody from running a statement twice.  The catalogue of the database is asked; nothing is
 * tried.
 *
 * Threads: one that may block.
 */
#pragma once

#include "sql/sql_probe.h"

/* Reports the step `key`.  table: letters, digits and _, with a schema and a dot before it if need
 * be; terminated.  False: the step has failed. */
bool sql_key_probe(struct sql_probe *s, struct str table);
