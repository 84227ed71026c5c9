/* sql.h - the SQL catalogue: every statement of the store, by name, per dialect.
 *
 * The tables are generated from the files in sql/ by tools/gen_sql.py; nothing else in
 * the house contains SQL.
 *
 * How statements over arrays are written for PostgreSQL, and why.  Everything passes through doc,
 * delivery and the tables of tasks, so they are empty again and again.  When a vacuum finds one
 * empty, the planner believes that until the next: no rows, whichever index, whichever join.  Then
 * a join of unnest($1) with such a table reads an index whole, as happily as it looks up a key; and
 * the index is full of entries that are dead.  At 2000 documents a second nothing else gets done
 * soon.  No setting helps, and plans are kept; so a statement leaves the planner no other way:
 *
 *   t.num = @KEY(u.num)@
 *       A row for each row of something else: a batch, a join.  It becomes `= ANY (ARRAY[u.num])`,
 *       by which an index can be searched, but nothing sorted or hashed: the only other way to read
 *       the table is from end to end, and that is switched off (pg_connect.c).  Of a key of
 *       several columns only the first is written so.
 *   t.num = ANY ($1::bigint[])
 *       Where nothing stands beside the keys.
 *   (SELECT t.num FROM t WHERE t.num = u.num) IS NULL
 *       Whether there is one.  EXISTS is made a join, which an index alone can answer, whole.
 *   LATERAL (SELECT ... FROM t WHERE t.a = u.a AND t.b = 1 OFFSET 0)
 *       Where an index could be searched by the other condition, too.
 *   ORDER BY t.num + 0
 *       Of the few rows that another index finds: none is read for its order.
 *   ORDER BY t.num LIMIT 1
 *       Instead of min(), which may look at all of them.
 *
 * And no index has, behind its first column, a key that is asked for alone, unless it has a
 * condition that such a question lacks (schema/0017_passing.sql).  The test test_16_plans.py looks
 * at the plans of all statements.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "sql_catalog.h" /* enum sql_id, and the columns of results by name */

struct sql_statement {
    const char *name;
    const char *text;
    const char *types; /* one letter a parameter: i int, t text, b bytes */
    bool batch;        /* run for many rows; on PostgreSQL its parameters are arrays */
    int columns;       /* of a row, as they are named in the .sql file; -1: they are not */
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
