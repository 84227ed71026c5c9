/* A connection in a process of its own, with SQLite's driver: values, transactions, failures. */
#include <signal.h>
#include <unistd.h>

#include "app/registry.h"
#include "base/auto.h"
#include "base/clock.h"
#include "cage/cage_main.h"
#include "folder.h"
#include "sql/sql_file.h"
#include "sql/sql_link.h"
#include "sql/sql_main.h"
#include "test.h"

enum { LONG_US = 60 * CLOCK_S };

static struct sql_failure f;

static struct sql_link *opened(const char *folder)
{
    static char dsn[300];
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct sql_place p;
    struct sql_link *l = NULL;
    struct err err = { 0 };

    (void)snprintf(dsn, sizeof dsn, "Driver=SQLite3;Database=%s/a.db", folder);
    if (!sql_place_parse(str_of(dsn), &a, &p, &err) ||
        !sql_link_open(&p, NULL, clock_mono_us() + LONG_US, &l, &f))
        printf("# %s %s\n", err.text, f.text);
    return l;
}

static bool does(struct sql_link *l, const char *statement)
{
    struct sql_result r;

    if (sql_link_run(l, str_of(statement), NULL, 0, &r, &f))
        return true;
    printf("# %s\n", f.text);
    return false;
}

/* The only value of the only row. */
static bool tells(struct sql_link *l, const char *statement, const char *value)
{
    const struct datum *row = NULL;
    bool same = does(l, statement) && sql_link_next(l, &row, &f) && row != NULL &&
                str_is(row[0].bytes, value);

    if (!same && row != NULL)
        printf("# %.*s\n", STR_ARG(row[0].bytes));
    return same && sql_link_next(l, &row, &f) && row == NULL;
}

TEST(sql_link_keeps_what_it_is_given)
{
    static char large[1 << 20];
    AUTO(folder_done) struct folder home = folder_make();
    struct sql_link *l = opened(home.path);
    const struct datum values[] = {
        { DATUM_INTEGER, STR("9007199254740993") },
        { DATUM_TEXT, STR("it's \xc3\xa9 ? :x") },
        { DATUM_BYTES, str_mem(large, sizeof large) },
        { DATUM_NULL, STR("") },
        { DATUM_TIMESTAMP, STR("2026-03-29T02:30:00.123456") },
    };
    const struct datum *row = NULL;
    struct sql_result r;

    for (size_t i = 0; i < sizeof large; i++)
        large[i] = (char)(i * 7);
    CHECK(l != NULL);
    CHECK(does(l, "create table t (i integer, t varchar(99), b blob, n integer, s timestamp)"));
    CHECK(sql_link_run(l, STR("insert into t values (?, ?, ?, ?, ?)"), values, 5, &r, &f));
    CHECK(r.column_count == 0 && r.affected == 1);
    CHECK(sql_link_commit(l, &f));
    CHECK(sql_link_run(l, STR("select * from t"), NULL, 0, &r, &f) && r.column_count == 5);
    CHECK(str_is(r.columns[0].name, "i") && r.columns[0].kind == DATUM_INTEGER);
    CHECK(sql_link_next(l, &row, &f) && row != NULL);
    for (int i = 0; i < 4; i++)
        CHECK(row[i].kind == values[i].kind && str_eq(row[i].bytes, values[i].bytes));
    CHECK(row[4].kind == DATUM_TEXT && str_is(row[4].bytes, "2026-03-29 02:30:00.123456"));
    CHECK(sql_link_next(l, &row, &f) && row == NULL);
    CHECK(sql_link_is_open(l) && !sql_link_is_lost(l));
    sql_link_close(l);
}

TEST(sql_link_gives_many_rows_and_may_be_left_early)
{
    AUTO(folder_done) struct folder home = folder_make();
    struct sql_link *l = opened(home.path);
    const struct datum *row = NULL;
    size_t rows = 0;

    CHECK(l != NULL);
    CHECK(does(l, "with recursive c(n) as (select 1 union all select n + 1 from c where n < 20000) "
                  "select n, 'some text' from c"));
    while (rows < 20000 && sql_link_next(l, &row, &f) && row != NULL)
        rows++;
    CHECK(rows == 20000 && sql_link_next(l, &row, &f) && row == NULL);
    CHECK(does(l, "with recursive c(n) as (select 1 union all select n + 1 from c where n < 20000) "
                  "select n from c"));
    CHECK(sql_link_next(l, &row, &f) && row != NULL);
    CHECK(tells(l, "select 5", "5"));
    sql_link_close(l);
}

TEST(sql_link_what_was_not_committed_never_happened)
{
    AUTO(folder_done) struct folder home = folder_make();
    struct sql_link *l = opened(home.path);

    CHECK(l != NULL && does(l, "create table t (i integer primary key)") && sql_link_commit(l, &f));
    CHECK(does(l, "insert into t values (1)") && sql_link_rollback(l, &f));
    CHECK(tells(l, "select count(*) from t", "0") && sql_link_rollback(l, &f));
    CHECK(does(l, "insert into t values (1)"));
    sql_link_close(l);
    l = opened(home.path);
    CHECK(l != NULL && tells(l, "select count(*) from t", "0"));
    sql_link_close(l);
}

TEST(sql_link_failures_leave_it_open)
{
    AUTO(folder_done) struct folder home = folder_make();
    struct sql_link *l = opened(home.path);
    struct sql_result r;

    CHECK(l != NULL && does(l, "create table t (i integer primary key)") &&
          does(l, "insert into t values (1)"));
    CHECK(!sql_link_run(l, STR("insert into t values (1)"), NULL, 0, &r, &f));
    CHECK(f.kind == SQL_FAULT_STATEMENT && strstr(f.text, "UNIQUE") != NULL);
    CHECK(!sql_link_run(l, STR("nonsense"), NULL, 0, &r, &f) && f.kind == SQL_FAULT_STATEMENT);
    CHECK(!sql_link_is_lost(l) && tells(l, "select count(*) from t", "1"));
    sql_link_close(l);
}

TEST(sql_link_ends_when_its_time_is_over)
{
    AUTO(folder_done) struct folder home = folder_make();
    struct sql_link *l = opened(home.path);
    struct sql_result r;

    CHECK(l != NULL);
    sql_link_set_pace(l, NULL, clock_mono_us() + CLOCK_S / 10);
    CHECK(!sql_link_run(l,
                        STR("with recursive c(n) as (select 1 union all select n + 1 from c) "
                            "select count(*) from c"),
                        NULL, 0, &r, &f) ||
          !sql_link_next(l, &(const struct datum *){ NULL }, &f));
    CHECK(f.kind == SQL_FAULT_TIME && f.hung && sql_link_is_lost(l));
    CHECK(!sql_link_commit(l, &f) && f.kind == SQL_FAULT_TIME);
    sql_link_close(l);
}

TEST(sql_link_says_what_cannot_be_opened)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct sql_place p;
    struct sql_link *l;
    struct err err = { 0 };

    CHECK(sql_place_parse(STR("Driver=Nobody;Server=127.0.0.1"), &a, &p, &err));
    CHECK(!sql_link_open(&p, NULL, clock_mono_us() + LONG_US, &l, &f));
    CHECK(f.kind == SQL_FAULT_CONFIG && strstr(f.text, "Nobody") != NULL);
    CHECK(sql_place_parse(STR("Driver=SQLite3;Database=/nonexistent/a.db"), &a, &p, &err));
    CHECK(!sql_link_open(&p, NULL, clock_mono_us() + LONG_US, &l, &f) && f.kind == SQL_FAULT_LOST);
}

TEST(sql_link_is_not_in_the_data_folder)
{
    AUTO(folder_done) struct folder home = folder_make();

    sql_file_prepare(home.path, NULL);
    CHECK(opened(home.path) == NULL && f.kind == SQL_FAULT_CONFIG);
    sql_file_prepare("/nonexistent", NULL);
}

TEST(sql_link_describes_and_does_not_run)
{
    AUTO(folder_done) struct folder home = folder_make();
    struct sql_link *l = opened(home.path);
    const struct datum *row = NULL;
    struct sql_result r;

    CHECK(l != NULL && strstr(sql_link_database(l), "SQLite 3") != NULL);
    CHECK(does(l, "create table t (i integer, n text)") && sql_link_commit(l, &f));
    CHECK(sql_link_describe(l, STR("select n, i from t where i > ?"), 1, &r, &f));
    CHECK(r.column_count == 2 && str_is(r.columns[0].name, "n"));
    CHECK(sql_link_next(l, &row, &f) && row == NULL);
    CHECK(sql_link_describe(l, STR("insert into t (i) values (?)"), 1, &r, &f) &&
          r.column_count == 0);
    CHECK(!sql_link_describe(l, STR("select x from t"), 0, &r, &f));
    CHECK(f.kind == SQL_FAULT_STATEMENT && !sql_link_is_lost(l));
    CHECK(tells(l, "select count(*) from t", "0"));
    sql_link_close(l);
}

int main(int argc, char **argv)
{
    if (cage_main_is(argc, argv))
        return cage_main(argc, argv, &registry);
    if (sql_main_is(argc, argv))
        _exit(sql_main());
    return test_main();
}
