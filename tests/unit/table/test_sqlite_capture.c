/* What is special of changes in SQLite files: rows that give way, tables that are made anew, and
 * changes by a column. */
#include "base/clock.h"
#include "sqlite_scene.h"

static bool look_is(struct file *f, enum capture_state state, struct capture_look *ret)
{
    return type->look(f->db, f->fit, &journal, &f->a, ret, &err) && ret->state == state;
}

static bool others_schema(struct file *f, char *to, size_t size)
{
    sqlite3_stmt *stmt;
    size_t len = 0;

    if (sqlite3_prepare_v2(f->others, "SELECT sql FROM sqlite_schema ORDER BY rowid", -1, &stmt,
                           NULL) != SQLITE_OK)
        return false;
    while (sqlite3_step(stmt) == SQLITE_ROW && len < size)
        len += (size_t)snprintf(to + len, size - len, "%s;\n",
                                (const char *)sqlite3_column_text(stmt, 0));
    return sqlite3_finalize(stmt) == SQLITE_OK && len < size;
}

TEST(rows_that_give_way_are_changes)
{
    AUTO(file_done) struct file f;

    CHECK(file_make(&f, "CREATE TABLE t (id INTEGER PRIMARY KEY, u TEXT COLLATE NOCASE UNIQUE, a "
                        "INT, b INT); CREATE UNIQUE INDEX two ON t (a, b);"
                        "INSERT INTO t VALUES (1, 'a', 1, 1), (2, 'b', 2, 2), (3, 'c', 3, 3)"));
    CHECK(file_install(&f));
    CHECK(others_run(&f, "REPLACE INTO t VALUES (10, 'A', 2, 2)")); /* 1 and 2 give way */
    CHECK(file_changes(&f, 0));
    CHECK(file_has_change(&f, 1, true) && file_has_change(&f, 2, true));
    CHECK(file_has_change(&f, 10, false) && f.count == 3);
    CHECK(others_run(&f, "UPDATE OR REPLACE t SET u = 'C' WHERE id = 10")); /* 3 does */
    CHECK(file_changes(&f, 0));
    CHECK(file_has_change(&f, 3, true) && file_has_change(&f, 10, false) && f.count == 4);
    CHECK(others_run(&f, "INSERT OR IGNORE INTO t VALUES (11, 'C', 9, 9)"));
    CHECK(file_changes(&f, 0) && file_has_change(&f, 10, false));
    CHECK(others_run(&f, "REPLACE INTO t VALUES (10, 'z', 7, 7)")); /* itself */
    CHECK(file_changes(&f, 0) && file_has_change(&f, 10, false));
    for (size_t i = 1; i < f.count; i++)
        CHECK(f.x[i - 1] < f.x[i]);
}

TEST(statements_of_every_policy_are_captured)
{
    static const char *const policies[] = { "OR IGNORE", "OR REPLACE",  "OR ABORT",
                                            "OR FAIL",   "OR ROLLBACK", "" };
    AUTO(file_done) struct file f;
    char sql[200];

    CHECK(file_make(&f, "CREATE TABLE t (id INTEGER PRIMARY KEY, v INT)") && file_install(&f));
    for (int i = 0; i < 12; i++) {
        struct ceiling before;

        CHECK(type->ceiling(f.db, f.fit, &journal, &before, &err));
        (void)snprintf(sql, sizeof sql,
                       "INSERT %s INTO t VALUES (%d, 1); UPDATE %s t SET v = 2 WHERE id = 0",
                       policies[i % 6], i, policies[i % 6]);
        CHECK(others_run(&f, sql) && file_changes(&f, before.below));
        CHECK(file_has_change(&f, i, false) && file_has_change(&f, 0, false));
    }
    struct ceiling before;

    CHECK(type->ceiling(f.db, f.fit, &journal, &before, &err));
    CHECK(others_run(&f, "INSERT INTO t VALUES (3, 9) ON CONFLICT DO UPDATE SET v = 9"));
    CHECK(others_run(&f, "UPDATE t SET rowid = 300 WHERE id = 4"));
    CHECK(file_changes(&f, before.below) && f.count == 3);
    CHECK(file_has_change(&f, 3, false) && file_has_change(&f, 300, false) &&
          file_has_change(&f, 4, true));
    CHECK(others_run(&f, "DELETE FROM t") && file_changes(&f, 0) && f.count == 13);
    CHECK(file_has_change(&f, 300, true) && file_has_change(&f, 11, true));
}

TEST(rows_with_null_in_the_key_stay_apart)
{
    AUTO(file_done) struct file f;

    CHECK(file_make(&f, "CREATE TABLE t (k TEXT PRIMARY KEY, v INT)") && file_install(&f));
    CHECK(others_run(&f, "INSERT INTO t VALUES (NULL, 1), (NULL, 2), ('a', 3)"));
    CHECK(file_changes(&f, 0) && f.count == 2);
    CHECK(f.cells[0][0].type == CELL_NULL && !f.gone[0]);
    CHECK(others_run(&f, "UPDATE t SET k = 'b' WHERE v = 1; DELETE FROM t WHERE v = 2"));
    CHECK(file_changes(&f, 0) && f.count == 2);
    CHECK(str_is(f.cells[0][0].s, "a") && str_is(f.cells[1][0].s, "b"));
}

TEST(a_table_that_is_made_anew)
{
    AUTO(file_done) struct file f;
    struct capture_look before, now;

    CHECK(file_make(&f, "CREATE TABLE t (id INTEGER PRIMARY KEY, v INT)") && file_install(&f));
    CHECK(look_is(&f, CAPTURE_IS_FINE, &before));
    CHECK(others_run(&f, "INSERT INTO t VALUES (1, 1); DROP TABLE t; CREATE TABLE t (id INTEGER "
                         "PRIMARY KEY, v INT)"));
    CHECK(look_is(&f, CAPTURE_IS_MISSING, &now));
    CHECK(file_install(&f) && look_is(&f, CAPTURE_IS_FINE, &now));
    CHECK(str_eq(before.epoch, now.epoch) && !str_eq(before.life, now.life));
    CHECK(others_run(&f, "INSERT INTO t VALUES (2, 1)") && file_changes(&f, 0) && f.count == 2);
    CHECK(f.x[0] < f.x[1]); /* numbers are not used again */
}

TEST(another_key_is_another_journal)
{
    AUTO(file_done) struct file f;
    struct capture_look look;

    CHECK(file_make(&f, "CREATE TABLE t (id INTEGER PRIMARY KEY, v INT)") && file_install(&f));
    CHECK(others_run(&f, "DROP TABLE t; CREATE TABLE t (id INTEGER, v INT, PRIMARY KEY (id, v))"));
    CHECK(file_describe(&f, "t") && look_is(&f, CAPTURE_IS_OTHER, &look));
    CHECK(file_install(&f) && look_is(&f, CAPTURE_IS_FINE, &look));
    CHECK(others_run(&f, "INSERT INTO t VALUES (1, 2)") && file_changes(&f, 0) && f.count == 1);
}

TEST(a_unique_index_that_comes_and_goes)
{
    AUTO(file_done) struct file f;
    struct capture_look before, now;

    CHECK(file_make(&f, "CREATE TABLE t (id INTEGER PRIMARY KEY, v INT)") && file_install(&f));
    CHECK(look_is(&f, CAPTURE_IS_FINE, &before));
    CHECK(others_run(&f, "CREATE UNIQUE INDEX u ON t (v)"));
    CHECK(look_is(&f, CAPTURE_IS_MISSING, &now) && file_install(&f));
    CHECK(look_is(&f, CAPTURE_IS_FINE, &now) && str_eq(before.life, now.life));
    CHECK(others_run(&f, "DROP INDEX u"));
    CHECK(look_is(&f, CAPTURE_IS_OTHER, &now) && file_install(&f));
    CHECK(look_is(&f, CAPTURE_IS_FINE, &now) && str_eq(before.life, now.life));
}

TEST(what_is_installed_and_removed_leaves_the_schema_as_it_was)
{
    AUTO(file_done) struct file f;
    static char before[1 << 16], now[1 << 16];
    struct ddl ddl;

    CHECK(file_make(&f, "CREATE TABLE t (\"i d\" INTEGER PRIMARY KEY, v /* a */ TEXT UNIQUE);"
                        "CREATE VIEW w AS SELECT * FROM t; CREATE TABLE u (x)"));
    CHECK(others_schema(&f, before, sizeof before));
    CHECK(file_install(&f));
    CHECK(type->plan_mark(f.db, &f.a, &ddl, &err) && file_run_ddl(&f, &ddl));
    CHECK(others_schema(&f, now, sizeof now) && strcmp(before, now) != 0);
    CHECK(type->plan_capture_removal(f.db, f.fit, &f.a, &ddl, &err) && file_run_ddl(&f, &ddl));
    CHECK(type->plan_mark_removal(f.db, STR("l"), STR("t"), &f.a, &ddl, &err) &&
          file_run_ddl(&f, &ddl));
    CHECK(others_schema(&f, now, sizeof now) && strcmp(before, now) == 0);
}

/* ---- by a column ---- */

TEST(changes_by_a_number)
{
    const struct capture by = { .kind = CAPTURE_COLUMN, .column = STR("n"), .safety_us = 2 };
    AUTO(file_done) struct file f;

    CHECK(file_make(&f, "CREATE TABLE t (id INTEGER PRIMARY KEY, n INT); INSERT INTO t VALUES (1, "
                        "5), (2, 3), (3, NULL), (4, 7), (5, 6)"));
    CHECK(file_changes_by(&f, &by, 0) && f.count == 2);
    CHECK(f.x[0] == 3 && f.x[1] == 5 && f.cells[1][0].i == 1);
    CHECK(file_changes_by(&f, &by, 4) && f.count == 1);
}

TEST(changes_by_a_time)
{
    const struct capture by = { .kind = CAPTURE_COLUMN,
                                .column = STR("at"),
                                .safety_us = 60 * CLOCK_S };
    AUTO(file_done) struct file f;

    CHECK(file_make(&f, "CREATE TABLE t (id INTEGER PRIMARY KEY, at DATETIME); CREATE INDEX i ON t "
                        "(at); INSERT INTO t VALUES (1, '2020-01-01 10:00:00'), (2, "
                        "'2020-01-01T09:00:00.5'), (3, 'soon'), (4, 17), (5, '2999-01-01'), (6, "
                        "'2020-01-01T10:00:00')"));
    CHECK(file_changes_by(&f, &by, 0) && f.count == 3);
    CHECK(f.cells[0][0].i == 2 && f.cells[1][0].i == 1 && f.cells[2][0].i == 6);
    CHECK(file_changes_by(&f, &by, f.x[0] + 1) && f.count == 2);
    const struct capture none = { .kind = CAPTURE_COLUMN, .column = STR("none") };

    CHECK(!file_changes_by(&f, &none, 0) && err.kind == ERR_CONFIG);
}

int main(void)
{
    return test_main();
}
