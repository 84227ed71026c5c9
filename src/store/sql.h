/* sql.h - the SQL catalogue: every statement of the store, by name, per dialect.
 *
 * The tables are generated from the files in sql/ by tools/gen_sql.py; nothing else in
 * the house contains SQL.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "sql_catalog.h" /* enum sql_id */

struct sql_statement {
    const char *name;
    const char *text;
    const char *types; /* one letter a parameter: i int, t text, b bytes */
    bool batch;        /* run for many rows; on PostgreSQL its parameters are arrays */
};

extern const struct sql_statement sql_sqlite[SQL_COUNT];
extern const struct sql_statement sql_postgresql[SQL_COUNT];

struct sql_migration {
    int version; /* 0 ends the table */
    const char *name, *sqlite, *postgresql;
};

extern const struct sql_migration sql_migrations[];
