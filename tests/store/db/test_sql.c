/* The catalogue: what statements return, and migrations that pass over a family of tables. */
#include <libpq-fe.h>
#include <sqlite3.h>
#include <stdio.h>

#include "base/auto.h"
#include "store/db/migrate.h"
#include "store/db/rows.h"
#include "store_test.h"

static struct db *connect_to(const struct home *h)
{
    char path[300];
    struct db_sqlite_options o = { .path = path };
    struct db *db = NULL;
    struct err err = { 0 };

    (void)snprintf(path, sizeof path, "%s/waybill.db", h->folder);
    if (!(on_sqlite() ? db_open_sqlite(&o, &db, &err)
                      : db_open_postgres(h->url, false, NULL, &db, &err)))
        printf("# %s\n", err.text);
    return db;
}

/* One of each family of numbered tables, and the one of what is kept. */
static bool make_tables(struct db *db)
{
    const enum sql_id all[] = { SQL_DONE_MAKE, SQL_IDEM_MAKE, SQL_JOB_LOG_MAKE,
                                on_sqlite() ? SQL_KEY_INDEX_MAKE : SQL_PAYLOAD_MAKE };
    struct err err = { 0 };

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (!db_run_slot(db, all[i], 1, DB_NO_ARGS, NULL, &err))
            return false;
    return db_run_slot(db, SQL_DONE_MAKE, 1000000, DB_NO_ARGS, NULL, &err);
}

static int columns_on_sqlite(struct db *db, const char *sql)
{
    sqlite3_stmt *stmt = NULL;
    int n = -1;

    if (sqlite3_prepare_v2(db_sqlite_handle(db), sql, -1, &stmt, NULL) == SQLITE_OK)
        n = sqlite3_column_count(stmt);
    (void)sqlite3_finalize(stmt);
    return n;
}

static int columns_on_postgres(PGconn *conn, const char *sql)
{
    PGresult *prepared = PQprepare(conn, "", sql, 0, NULL);
    PGresult *described = PQdescribePrepared(conn, "");
    int n = PQresultStatus(prepared) == PGRES_COMMAND_OK ? PQnfields(described) : -1;

    PQclear(prepared);
    PQclear(described);
    return n;
}

/* The text, with the number 1 for @SLOT@. */
static void put_slot(const char *text, char *to, size_t room)
{
    size_t n = 0;

    for (const char *at; (at = strstr(text, "@SLOT@")) != NULL; text = at + strlen("@SLOT@"))
        n += (size_t)snprintf(to + n, room - n, "%.*s1", (int)(at - text), text);
    (void)snprintf(to + n, room - n, "%s", text);
}

TEST(every_statement_returns_the_columns_that_it_names)
{
    static char sql[8000];
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct db *db = connect_to(&h);
    PGconn *conn = on_postgres() ? PQconnectdb(h.url) : NULL;
    int looked_at = 0;

    CHECK(s != NULL && db != NULL && make_tables(db));
    for (int i = 0; i < SQL_COUNT; i++) {
        const struct sql_statement *st = on_sqlite() ? &sql_sqlite[i] : &sql_postgresql[i];

        if (st->text == NULL || st->columns < 0)
            continue;
        put_slot(st->text, sql, sizeof sql);
        int n = on_sqlite() ? columns_on_sqlite(db, sql) : columns_on_postgres(conn, sql);

        if (n != st->columns)
            printf("# %s returns %d columns and names %d\n", st->name, n, st->columns);
        CHECK(n == st->columns);
        looked_at++;
    }
    CHECK(looked_at > 80);
    PQfinish(conn);
    db_close(db);
    store_close(s);
}

TEST(a_migration_passes_over_every_table_of_a_family)
{
    static const struct sql_step steps[] = {
        { .text = "CREATE TABLE passed(n BIGINT);" },
        { .family = "done",
          .text = "INSERT INTO passed(n) VALUES (@SLOT@);\n"
                  "ALTER TABLE done_@SLOT@ ADD COLUMN passed_@SLOT@ INTEGER;" },
        { .text = "INSERT INTO passed(n) VALUES (-1);" },
        { 0 },
    };
    static const struct sql_migration all[] = {
        { .version = 9001, .name = "9001_passes", .sqlite = steps, .postgresql = steps },
        { .version = 0 },
    };
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct db *db = connect_to(&h);
    struct err err = { 0 };

    CHECK(s != NULL && db != NULL && make_tables(db));
    store_close(s);
    CHECK(tell(&h, "CREATE TABLE done_again(n BIGINT)")); /* none of the family */
    CHECK(migrate(db, all, &err));
    CHECK(ask(&h, "SELECT count(*) FROM passed WHERE n IN (1, 1000000, -1)") == 3);
    CHECK(ask(&h, "SELECT count(*) FROM passed") >= 3); /* and the tables that opening made */
    CHECK(ask(&h, "SELECT count(passed_1) FROM done_1") == 0);
    CHECK(ask(&h, "SELECT count(passed_1000000) FROM done_1000000") == 0);
    CHECK(ask(&h, "SELECT max(version) FROM schema_version") == 9001);
    db_close(db);
}

/* ---- rows ---- */

struct named {
    int64_t id, kind;
    struct str name;
};

static void read_named(struct db_rows *row, struct arena *a, void *to)
{
    *(struct named *)to = (struct named){ .id = db_get_int(row, WORD_ALL_ID),
                                          .kind = db_get_int(row, WORD_ALL_KIND),
                                          .name = row_text(row, WORD_ALL_NAME, a) };
}

static bool count_to_ten(void *arg, struct db_rows *row, struct err *err)
{
    (void)row;
    (void)err;
    return ++*(int *)arg < 10;
}

static bool refuse(void *arg, struct db_rows *row, struct err *err)
{
    (void)arg;
    return err_set(err, ERR_LIMIT, 0, "not %lld", (long long)db_get_int(row, WORD_ALL_ID));
}

TEST(rows_are_collected_up_to_a_number)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct db *db = connect_to(&h);
    struct named few[7] = { 0 };
    struct rows_into all = {
        .read = read_named, .arena = &a, .size = sizeof(struct named), .most = 1000
    };
    struct err err = { 0 };
    char name[32];
    int64_t id;
    size_t n;
    bool found;
    int seen = 0;

    CHECK(s != NULL && db != NULL);
    for (int i = 0; i < 50; i++) {
        (void)snprintf(name, sizeof name, "name%02d", i);
        CHECK(name_add(s, NAME_TYPE, str_of(name), &id, &err));
    }
    CHECK(rows_collect(db, SQL_WORD_ALL, DB_NO_SLOT, DB_NO_ARGS, ROWS_INTO(few, 7, &a, read_named),
                       &n, &err));
    CHECK(n == 7 && str_is(few[6].name, "name06") && few[6].kind == NAME_TYPE);
    CHECK(rows_collect(db, SQL_WORD_ALL, DB_NO_SLOT, DB_NO_ARGS, &all, NULL, &err));
    CHECK(all.count == 50);
    for (size_t i = 0; i < all.count; i++) {
        (void)snprintf(name, sizeof name, "name%02zu", i);
        CHECK(str_is(((struct named *)all.items)[i].name, name));
    }
    CHECK(rows_one(db, SQL_WORD_ALL, DB_NO_SLOT, DB_NO_ARGS, read_named, &a, few, &found, &err));
    CHECK(found && str_is(few[0].name, "name00"));
    CHECK(rows_each(db, SQL_WORD_ALL, DB_NO_SLOT, DB_NO_ARGS, count_to_ten, &seen, &err));
    CHECK(seen == 10);
    CHECK(!rows_each(db, SQL_WORD_ALL, DB_NO_SLOT, DB_NO_ARGS, refuse, NULL, &err));
    CHECK(err.kind == ERR_LIMIT);
    db_close(db);
    store_close(s);
}

STORE_TEST_MAIN
