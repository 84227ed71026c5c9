/* sql.h - the SQL catalogue: every statement of the store, by name, per dialect.
 *
 * The tables are generated from the files in sql/ by tools/gen_sql.py.  Elsewhere only code that
 * works on a database without opening a store has SQL: the drivers, copies, moves, forward.c.
 *
 * How statements over arrays are written for PostgreSQL, and why.  Rows pass through doc, delivery
 * and the tables of tasks, so these are often empty.  When a vacuum finds one empty, the planner
 * assumes no rows until the next vacuum, and every index and every join seems equally cheap.  A
 * join of unnest($1) with such a table then may read a whole index instead of looking up keys, and
 * that index is full of dead entries.  At 2000 documents a second this soon takes all the time.  No
 * setting helps, and plans are kept; so a statement leaves the planner no other way:
 *
 *   t.num = @KEY(u.num)@
 *       For a lookup per row of something else: a batch, a join.  It becomes
 *       `= ANY (ARRAY[u.num])`, which allows an index lookup, but no merge or hash join.  The only
 *       alternative is a sequential scan, which is switched off (pg_connect.c).  Of a key of
 *       several columns only the first is written so.
 *   t.num = ANY ($1::bigint[])
 *       Where the parameters are only keys.
 *   (SELECT t.num FROM t WHERE t.num = u.num) IS NULL
 *       For "does not exist".  EXISTS becomes a join, which may read a whole index.
 *   LATERAL (SELECT ... FROM t WHERE t.a = u.a AND t.b = 1 OFFSET 0)
 *       Where an index for the other condition exists, too.
 *   ORDER BY t.num + 0
 *       For few rows that another index finds: keeps the planner from reading the index of t.num
 *       for its order.
 *   ORDER BY t.num LIMIT 1
 *       Instead of min(), which may read all rows.
 *
 * And no index has, behind its first column, a key that statements look up alone, unless it is a
 * partial index whose condition such statements lack (schema/0017_passing.sql).  test_16_plans.py
 * checks the plans of all statements.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "sql_catalog.h" /* enum sql_id, and the columns of results by name */

struct sql_statement {
    const char *name;
    const char *text;
    const char *types; /* one letter per parameter: i int, t text, b bytes */
    bool batch;        /* run for many rows; on PostgreSQL its parameters are arrays */
    int columns;       /* of a row, as named in the .sql file; -1: not named */
};

extern const struct sql_statement sql_sqlite[SQL_COUNT];
extern const struct sql_statement sql_postgresql[SQL_COUNT];

struct sql_step {
    const char *family; /* run for each table FAMILY_N that exists, N for @SLOT@; NULL: run once */
    const char *text;   /* NULL ends the list */
};

struct sql_migration {
    int version; /* 0 ends the table */
    const char *name;
    const struct sql_step *sqlite, *postgresql;
};

extern const struct sql_migration sql_migrations[];
