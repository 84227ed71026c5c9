/* What is special of SQLite files; what all databases have to do is in tests/table. */
#include <math.h>
#include <sys/stat.h>

#include "sqlite_scene.h"

#define INT(v)                     \
    {                              \
        .type = CELL_INT, .i = (v) \
    }
#define DEC(v)                        \
    {                                 \
        .type = CELL_DEC, .s = STR(v) \
    }
#define TEXT_(v)                       \
    {                                  \
        .type = CELL_TEXT, .s = STR(v) \
    }

/* ---- files ---- */

TEST(a_file_that_is_not_there_is_not_made)
{
    AUTO(file_done) struct file f = { .folder = folder_make(), .a = ARENA_INIT(1 << 20) };
    struct stat st;

    (void)snprintf(f.path, sizeof f.path, "%s/none.db", f.folder.path);
    CHECK(!file_open(&f) && err.kind == ERR_CONFIG);
    CHECK(stat(f.path, &st) != 0);
    (void)snprintf(f.path, sizeof f.path, "%s", f.folder.path);
    CHECK(!file_open(&f) && err.kind == ERR_CONFIG);
    (void)snprintf(f.path, sizeof f.path, ":memory:");
    CHECK(!file_open(&f) && err.kind == ERR_CONFIG);
    f.path[0] = '\0';
    CHECK(!file_open(&f) && err.kind == ERR_CONFIG);
}

TEST(a_file_that_is_no_database)
{
    AUTO(file_done) struct file f = { .folder = folder_make(), .a = ARENA_INIT(1 << 20) };

    (void)snprintf(f.path, sizeof f.path, "%s/text.db", f.folder.path);
    FILE *text = fopen(f.path, "w");

    CHECK(text != NULL);
    for (int i = 0; i < 1000; i++)
        CHECK(fputs("no database\n", text) >= 0);
    CHECK(fclose(text) == 0);
    CHECK(!file_open(&f) && err.kind == ERR_CONFIG);
}

TEST(the_log_of_a_source_stays_as_it_is)
{
    AUTO(file_done) struct file f;
    char path[320];
    struct stat before, now;

    CHECK(file_make(&f, "CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT);"
                        "INSERT INTO t VALUES (1, hex(randomblob(9000))), (2, 'b')"));
    (void)snprintf(path, sizeof path, "%s-wal", f.path);
    CHECK(stat(path, &before) == 0 && before.st_size > 0);
    CHECK(file_rows(&f) && f.count > 0);
    type->close(f.db);
    f.db = NULL;
    CHECK(stat(path, &now) == 0 && now.st_size == before.st_size);
    CHECK(stat(f.path, &before) == 0);
    CHECK(file_open(&f) && file_rows(&f));
    CHECK(stat(f.path, &now) == 0 && now.st_size == before.st_size);
}

TEST(the_log_of_a_destination_is_moved_into_it)
{
    AUTO(file_done) struct file f;
    static char large[1 << 20];
    struct stat before, now;

    CHECK(file_make(&f, "CREATE TABLE t (id INTEGER PRIMARY KEY, v BLOB)"));
    CHECK(stat(f.path, &before) == 0);
    for (int64_t i = 0; i < 12; i++) {
        const struct cell row[] = { INT(i), { .type = CELL_BYTES, .s = { large, sizeof large } } };

        CHECK(file_write(&f, row));
    }
    CHECK(stat(f.path, &now) == 0 && now.st_size >= before.st_size + (4 << 20));
}

TEST(a_file_that_is_locked_is_for_later)
{
    AUTO(file_done) struct file f;

    CHECK(file_make(&f, "CREATE TABLE t (id INTEGER PRIMARY KEY)"));
    CHECK(others_run(&f, "BEGIN IMMEDIATE"));
    CHECK(!type->begin(f.db, DATABASE_WRITE, &err) && err.kind == ERR_TRANSIENT);
    type->rollback(f.db);
    CHECK(!type->broken(f.db));
    CHECK(file_rows(&f)); /* who reads does not wait */
    CHECK(others_run(&f, "COMMIT"));
    CHECK(type->begin(f.db, DATABASE_WRITE, &err) && type->commit(f.db, &err));
}

/* ---- shapes ---- */

TEST(types_are_those_that_are_declared)
{
    static const enum cell_type want[] = { CELL_INT,   CELL_INT,     CELL_FLOAT, CELL_FLOAT,
                                           CELL_TEXT,  CELL_TEXT,    CELL_TEXT,  CELL_BYTES,
                                           CELL_DEC,   CELL_DEC,     CELL_BOOL,  CELL_LOCAL,
                                           CELL_LOCAL, CELL_INSTANT, CELL_DATE,  CELL_TIME,
                                           CELL_UUID,  CELL_JSON,    CELL_NULL,  CELL_NULL };
    AUTO(file_done) struct file f;

    CHECK(file_make(&f, "CREATE TABLE t (a INTEGER PRIMARY KEY, b BIGINT, c REAL, d DOUBLE "
                        "PRECISION, e TEXT, f VARCHAR(20), g CLOB, h BLOB, i NUMERIC(12,2), j "
                        "DECIMAL TEXT, k BOOLEAN, l DATETIME, m timestamp(6), n TIMESTAMP WITH "
                        "TIME ZONE, o DATE, p TIME, q UUID, r JSON, s, t STRING)"));
    CHECK(f.fit->count == sizeof want / sizeof *want);
    for (size_t i = 0; i < f.fit->count; i++)
        CHECK(f.fit->shape->columns[i].natural == want[i]);
    CHECK(!f.fit->shape->columns[0].nullable && f.fit->shape->columns[1].nullable);
}

TEST(keys_generated_columns_and_collations)
{
    AUTO(file_done) struct file f;
    const struct shape_column *c;

    CHECK(file_make(&f, "CREATE TABLE t (a TEXT COLLATE NOCASE, b TEXT NOT NULL, c INT AS (1) "
                        "STORED, d TEXT DEFAULT 'x', PRIMARY KEY (b, a))"));
    c = f.fit->shape->columns;
    CHECK(c[0].key_place == 2 && !c[0].bytewise && c[0].nullable);
    CHECK(c[1].key_place == 1 && c[1].bytewise && !c[1].nullable);
    CHECK(c[2].generated && c[3].has_default);
    CHECK(others_run(&f, "CREATE TABLE u (a TEXT PRIMARY KEY) WITHOUT ROWID"));
    CHECK(file_describe(&f, "main.U") && !f.fit->shape->columns[0].nullable);
    CHECK(others_run(&f, "CREATE VIRTUAL TABLE v USING fts5(x)") && !file_describe(&f, "v") &&
          err.kind == ERR_CONFIG);
    CHECK(!file_describe(&f, "sqlite_schema") && err.kind == ERR_CONFIG);
}

TEST(text_of_a_wide_file_is_not_in_order_of_bytes)
{
    AUTO(file_done) struct file f = { .folder = folder_make(), .a = ARENA_INIT(1 << 20) };

    (void)snprintf(f.path, sizeof f.path, "%s/wide.db", f.folder.path);
    CHECK(sqlite3_open(f.path, &f.others) == SQLITE_OK);
    CHECK(others_run(&f, "PRAGMA encoding = 'UTF-16'; CREATE TABLE t (a TEXT PRIMARY KEY, b "
                         "TEXT); INSERT INTO t VALUES ('\xc3\xa4', '\xf0\x9d\x84\x9e')"));
    CHECK(file_open(&f) && file_describe(&f, "t") && !f.fit->shape->columns[0].bytewise);
    CHECK(file_rows(&f) && str_is(f.cells[0][1].s, "\xf0\x9d\x84\x9e"));
}

/* ---- values ---- */

TEST(values_of_another_kind_are_what_they_are)
{
    AUTO(file_done) struct file f;

    CHECK(file_make(&f, "CREATE TABLE t (id INTEGER PRIMARY KEY, i INTEGER, f REAL, d NUMERIC, l "
                        "DATETIME, s TEXT, o BOOLEAN);"
                        "INSERT INTO t VALUES (1, 'abc', 3, 1.10, 1700000000, x'ff', 2),"
                        "(2, 1.5, 'NaN', 12, '2026-11-19 07:00:00.50', 'a', 1),"
                        "(3, 4, 0.5, 0.1 + 0.2, '2026-11-19T07:00:00', CAST(x'ff' AS TEXT), 0)"));
    CHECK(file_rows(&f) && f.count == 3);
    CHECK(f.cells[0][1].type == CELL_TEXT);
    CHECK(f.cells[0][2].type == CELL_FLOAT && f.cells[0][2].f == 3);
    CHECK(f.cells[0][3].type == CELL_DEC && str_is(f.cells[0][3].s, "1.1"));
    CHECK(f.cells[0][4].type == CELL_TEXT && str_is(f.cells[0][4].s, "1700000000"));
    CHECK(f.cells[0][5].type == CELL_BYTES && f.cells[0][6].type == CELL_INT);
    CHECK(f.cells[1][1].type == CELL_FLOAT && f.cells[1][1].f == 1.5);
    CHECK(f.cells[1][2].type == CELL_FLOAT && isnan(f.cells[1][2].f));
    CHECK(f.cells[1][3].type == CELL_DEC && str_is(f.cells[1][3].s, "12"));
    CHECK(f.cells[1][4].type == CELL_LOCAL && f.cells[1][6].type == CELL_BOOL);
    CHECK(f.cells[1][4].i - f.cells[2][4].i == 500000);
    CHECK(str_is(f.cells[2][3].s, "0.30000000000000004"));
    CHECK(f.cells[2][5].type == CELL_BYTES);
}

TEST(numbers_that_would_lose_digits_are_refused)
{
    AUTO(file_done) struct file f;
    static const struct {
        struct str dec;
        bool kept;
    } tries[] = { { STR("1.1"), true },
                  { STR("123456789012.345"), true },
                  { STR("9223372036854775807"), true },
                  { STR("9223372036854775808"), false },
                  { STR("10000000000000000000"), true },
                  { STR("0.12345678901234567"), false },
                  { STR("12345678901234567.5"), false },
                  { STR("-0.000000000000000000000001"), true } };

    CHECK(file_make(&f, "CREATE TABLE t (id INTEGER PRIMARY KEY, d NUMERIC)"));
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        const struct cell row[] = { INT((int64_t)i), { .type = CELL_DEC, .s = tries[i].dec } };

        CHECK(file_write(&f, row) == tries[i].kept);
        CHECK(tries[i].kept || err.kind == ERR_PERMANENT);
        const struct cell gone[] = { INT((int64_t)i), { .type = CELL_NULL } };

        CHECK(file_rows(&f) && (!tries[i].kept || str_eq(f.cells[f.count - 1][1].s, tries[i].dec)));
        CHECK(!tries[i].kept || file_write(&f, gone));
    }
}

TEST(keys_are_what_they_would_be_written_as)
{
    AUTO(file_done) struct file f;

    CHECK(file_make(&f, "CREATE TABLE t (k DATETIME PRIMARY KEY); INSERT INTO t VALUES (NULL), "
                        "('2026-11-19T07:00:00')"));
    CHECK(file_rows(&f) && f.count == 2);
    CHECK(f.cells[0][0].type == CELL_NULL && f.cells[1][0].type == CELL_LOCAL);
    CHECK(others_run(&f, "INSERT INTO t VALUES ('2026-11-19 08:00:00')"));
    CHECK(!file_rows(&f) && err.kind == ERR_PERMANENT);
    CHECK(others_run(&f, "CREATE TABLE u (k INT PRIMARY KEY); INSERT INTO u VALUES ('abc')"));
    CHECK(file_describe(&f, "u") && !file_rows(&f) && err.kind == ERR_PERMANENT);
}

/* ---- writing ---- */

TEST(foreign_keys_count_at_the_end_of_a_call)
{
    AUTO(file_done) struct file f;
    const struct cell rows[] = { INT(1), INT(2), INT(2), INT(1), INT(3), INT(9) };

    CHECK(file_make(&f, "CREATE TABLE t (id INTEGER PRIMARY KEY, parent INTEGER REFERENCES t)"));
    CHECK(type->begin(f.db, DATABASE_WRITE, &err) && type->save(f.db, &err));
    CHECK(!type->upsert(f.db, f.fit, rows, 3, &err) && err.kind == ERR_PERMANENT);
    CHECK(type->back(f.db, &err) && type->upsert(f.db, f.fit, rows, 2, &err) &&
          type->commit(f.db, &err));
    CHECK(file_rows(&f) && f.count == 2);
}

TEST(no_row_gives_way_to_one_that_is_written)
{
    AUTO(file_done) struct file f;
    const struct cell row[] = { INT(2), TEXT_("a") };

    CHECK(file_make(&f, "CREATE TABLE t (id INTEGER PRIMARY KEY, u TEXT UNIQUE ON CONFLICT "
                        "REPLACE); INSERT INTO t VALUES (1, 'a')"));
    CHECK(!file_write(&f, row) && err.kind == ERR_PERMANENT);
    CHECK(file_rows(&f) && f.count == 1 && f.cells[0][0].i == 1);
}

TEST(a_table_that_rolls_everything_back)
{
    AUTO(file_done) struct file f;
    const struct cell row[] = { INT(1) };

    CHECK(file_make(&f, "CREATE TABLE t (id INTEGER PRIMARY KEY); CREATE TRIGGER g BEFORE INSERT "
                        "ON t BEGIN SELECT RAISE(ROLLBACK, 'no'); END"));
    CHECK(type->begin(f.db, DATABASE_WRITE, &err) && type->save(f.db, &err));
    CHECK(!type->upsert(f.db, f.fit, row, 1, &err) && err.kind == ERR_PERMANENT);
    CHECK(!type->back(f.db, &err));
    type->rollback(f.db);
    CHECK(!type->broken(f.db) && file_rows(&f) && f.count == 0);
}

int main(void)
{
    return test_main();
}
