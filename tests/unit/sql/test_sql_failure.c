/* What a driver's error means. */
#include "sql/sql_failure.h"
#include "test.h"

static enum sql_fault running(const char *state, int32_t native, const char *text)
{
    return sql_failure_class(state, native, str_of(text), false);
}

static enum sql_fault opening(const char *state, int32_t native, const char *text)
{
    return sql_failure_class(state, native, str_of(text), true);
}

TEST(sql_failure_of_statements)
{
    CHECK(running("23505", 1, "ERROR: duplicate key") == SQL_FAULT_STATEMENT);
    CHECK(running("42P01", 1, "no such relation") == SQL_FAULT_STATEMENT);
    CHECK(running("22P02", 1, "") == SQL_FAULT_STATEMENT);
    CHECK(running("P0001", 1, "raised") == SQL_FAULT_STATEMENT);
    CHECK(running("23000", 1062, "Duplicate entry") == SQL_FAULT_STATEMENT);
    CHECK(running("HY000", 19, "UNIQUE constraint failed: t.id (19)") == SQL_FAULT_STATEMENT);
    CHECK(running("HY000", 1, "no such table: t (1)") == SQL_FAULT_STATEMENT);
    CHECK(running("HY000", 1364, "no default value") == SQL_FAULT_STATEMENT);
}

TEST(sql_failure_of_the_moment)
{
    CHECK(running("40P01", 1, "deadlock detected") == SQL_FAULT_LATER);
    CHECK(running("40001", 1, "could not serialize") == SQL_FAULT_LATER);
    CHECK(running("40001", 1213, "Deadlock found") == SQL_FAULT_LATER);
    CHECK(running("HY000", 1205, "Lock wait timeout exceeded") == SQL_FAULT_LATER);
    CHECK(running("53100", 1, "disk full") == SQL_FAULT_LATER);
    CHECK(running("57014", 1, "canceling statement") == SQL_FAULT_LATER);
    CHECK(running("25006", 1, "read-only transaction") == SQL_FAULT_LATER);
    CHECK(running("HY000", 5, "database is locked (5)") == SQL_FAULT_LATER);
    CHECK(running("HY000", 13, "database or disk is full (13)") == SQL_FAULT_LATER);
    /* What nobody knows is tried again, and ends when the attempts do. */
    CHECK(running("HY000", 1, "something of the driver") == SQL_FAULT_LATER);
    CHECK(running("", 0, "") == SQL_FAULT_LATER);
}

TEST(sql_failure_of_connections)
{
    CHECK(running("08S01", 2013, "Lost connection") == SQL_FAULT_LOST);
    CHECK(running("HY000", 2006, "server has gone away") == SQL_FAULT_LOST);
    CHECK(running("57P01", 1, "terminating connection") == SQL_FAULT_LOST);
    CHECK(running("08006", 1, "") == SQL_FAULT_LOST);
    CHECK(opening("08001", 101, "Connection refused") == SQL_FAULT_LOST);
    CHECK(opening("HY000", 2002, "Can't connect") == SQL_FAULT_LOST);
    CHECK(opening("08001", 101, "FATAL: database \"x\" does not exist") == SQL_FAULT_LOST);
    CHECK(opening("HY000", 14, "connect failed") == SQL_FAULT_LOST);
}

TEST(sql_failure_of_logins)
{
    CHECK(opening("08001", 101, "FATAL: password authentication failed for user \"u\"") ==
          SQL_FAULT_LOGIN);
    CHECK(opening("08001", 101, "FATAL: role \"u\" does not exist") == SQL_FAULT_LOGIN);
    CHECK(opening("28000", 1045, "Access denied for user") == SQL_FAULT_LOGIN);
    CHECK(running("42501", 1, "permission denied for table t") == SQL_FAULT_LOGIN);
    CHECK(running("42000", 1142, "INSERT command denied to user") == SQL_FAULT_LOGIN);
    CHECK(opening("IM002", 0, "Data source name not found") == SQL_FAULT_CONFIG);
    CHECK(opening("01000", 0, "Can't open lib 'x.so'") == SQL_FAULT_CONFIG);
}

TEST(sql_failure_as_an_error)
{
    struct sql_failure f;
    struct err err = { 0 };

    CHECK(!sql_fail(&f, SQL_FAULT_STATEMENT, "a\nb %d", 5));
    CHECK(strcmp(f.text, "a b 5") == 0);
    CHECK(!sql_failure_err(&f, &err) && err.kind == ERR_PERMANENT);
    (void)sql_fail(&f, SQL_FAULT_DOUBT, "x");
    CHECK(!sql_failure_err(&f, &err) && err.kind == ERR_UNCERTAIN);
    (void)sql_fail(&f, SQL_FAULT_LOST, "x");
    CHECK(!sql_failure_err(&f, &err) && err.kind == ERR_TRANSIENT && strcmp(err.text, "x") == 0);
    (void)sql_fail(&f, SQL_FAULT_CONFIG, "x");
    CHECK(!sql_failure_err(&f, &err) && err.kind == ERR_CONFIG);
}

int main(void)
{
    return test_main();
}
