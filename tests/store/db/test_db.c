/* The drivers themselves, through db.h. */
#include <pthread.h>
#include <stdio.h>

#include "base/auto.h"
#include "store/kernel/store_state.h"
#include "store_test.h"

/* The end of the arguments of SQL_CALLER_ADD: any sender, from anywhere, for good. */
#define NOT_BOUND db_text(STR("")), db_text(STR("")), db_int(0)

struct bench {
    struct home home;
    struct store *store;
    struct db *db; /* SQLite: the writer's own, which is idle */
};

static bool set_up(struct bench *b)
{
    struct err err = { 0 };

    *b = (struct bench){ .home = fresh_home() };
    b->store = open_store(&b->home);
    if (b->store == NULL)
        return false;
    if (on_sqlite())
        b->db = b->store->writer_dbs[0];
    return on_sqlite() || store_connect(b->store, false, &b->db, &err);
}

static void tear_down(struct bench *b)
{
    if (on_postgres())
        db_close(b->db);
    store_close(b->store);
}

static int64_t mark(struct db *db, const char *name)
{
    struct err err = { 0 };
    int64_t v = -1;

    if (!db_one_int(db, SQL_MARK_GET, DB_ARGS(db_text(str_of(name))), -1, &v, &err))
        printf("# mark: %s\n", err.text);
    return v;
}

static bool set_mark(struct db *db, const char *name, int64_t v, struct err *err)
{
    return db_send(db, SQL_MARK_SET, DB_ARGS(db_text(str_of(name)), db_int(v)), err);
}

TEST(numbers_keep_their_value)
{
    static const int64_t values[] = { 0, 1, -1, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN };
    struct bench b;
    struct err err = { 0 };

    CHECK(set_up(&b));
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        CHECK(set_mark(b.db, "word", values[i], &err));
        CHECK(mark(b.db, "word") == values[i]);
    }
    CHECK(mark(b.db, "no such mark") == -1);
    tear_down(&b);
}

TEST(text_bytes_and_null_keep_their_value)
{
    struct bench b;
    struct err err = { 0 };
    struct db_rows rows;
    bool row = false;
    struct str bytes = str_mem("\0\x01\xff\0", 4);

    CHECK(set_up(&b));
    CHECK(db_begin(b.db, &err));
    CHECK(db_send(
        b.db, SQL_CALLER_ADD,
        DB_ARGS(db_int(1), db_text(STR("")), db_int(7), db_null(), db_bytes(bytes), NOT_BOUND),
        &err));
    CHECK(db_send(b.db, SQL_CALLER_ADD,
                  DB_ARGS(db_int(2), db_text(STR("n\xc3\xa4me")), db_int(-7), db_text(STR("title")),
                          db_bytes(STR("")), NOT_BOUND),
                  &err));
    CHECK(db_query(b.db, SQL_CALLER_ALL, DB_NO_ARGS, &rows, &err));
    CHECK(db_next(&rows, &row, &err) && row);
    CHECK(db_get_int(&rows, 0) == 1 && db_get_str(&rows, 1).len == 0 && !db_is_null(&rows, 1));
    CHECK(db_is_null(&rows, 3) && db_get_str(&rows, 3).len == 0 && db_get_int(&rows, 3) == 0);
    CHECK(str_eq(db_get_str(&rows, 4), bytes));
    CHECK(db_next(&rows, &row, &err) && row);
    CHECK(str_is(db_get_str(&rows, 1), "n\xc3\xa4me") && db_get_int(&rows, 2) == -7);
    CHECK(!db_is_null(&rows, 4) && db_get_str(&rows, 4).len == 0);
    CHECK(db_next(&rows, &row, &err) && !row);
    db_rows_done(&rows);
    db_rows_done(&rows);
    CHECK(db_commit(b.db, &err));
    tear_down(&b);
}

TEST(what_is_rolled_back_never_was)
{
    struct bench b;
    struct err err = { 0 };

    CHECK(set_up(&b));
    int64_t before = mark(b.db, "word");

    CHECK(db_begin(b.db, &err) && set_mark(b.db, "word", 77, &err));
    db_rollback(b.db);
    db_rollback(b.db);
    CHECK(mark(b.db, "word") == before);
    CHECK(db_begin(b.db, &err) && set_mark(b.db, "word", 78, &err) && mark(b.db, "word") == 78);
    db_rollback(b.db);
    CHECK(db_begin(b.db, &err));
    db_rollback(b.db);
    CHECK(db_begin(b.db, &err) && set_mark(b.db, "word", 79, &err) && db_commit(b.db, &err));
    CHECK(mark(b.db, "word") == 79);
    tear_down(&b);
}

static bool add_caller(struct db *db, int64_t id, struct err *err)
{
    char name[20];

    (void)snprintf(name, sizeof name, "caller %lld", (long long)id);
    return db_send(db, SQL_CALLER_ADD,
                   DB_ARGS(db_int(id), db_text(str_of(name)), db_int(1), db_null(),
                           db_bytes(STR("secret")), NOT_BOUND),
                   err);
}

/* An error of what was only queued shows at the commit at the latest, by its name, and
 * nothing of the transaction is kept. */
TEST(no_error_gets_lost_before_the_commit)
{
    struct bench b;

    CHECK(set_up(&b));
    for (int how = 0; how < 3; how++) {
        struct err err = { 0 };
        int64_t v;

        CHECK(db_begin(b.db, &err));
        bool ok = add_caller(b.db, 1, &err) && add_caller(b.db, 1, &err) &&
                  set_mark(b.db, "word", 99, &err);

        if (how == 1)
            ok = ok && db_one_int(b.db, SQL_MARK_GET, DB_ARGS(db_text(STR("num"))), 0, &v, &err);
        if (how == 2)
            ok =
                ok && db_run(b.db, SQL_MARK_SET, DB_ARGS(db_text(STR("num")), db_int(1)), &v, &err);
        ok = ok && db_commit(b.db, &err);
        CHECK(!ok && err.kind == ERR_PERMANENT && strstr(err.text, "caller_add") != NULL);
        db_rollback(b.db);
        CHECK(mark(b.db, "word") == 0);
        CHECK(ask(&b.home, "SELECT count(*) FROM caller") == 0);
    }
    tear_down(&b);
}

/* COMMIT after an error is a rollback, and is not taken for a commit. */
TEST(postgres_a_failed_transaction_does_not_commit)
{
    struct bench b;
    struct err err = { 0 };
    int64_t v;

    CHECK(set_up(&b));
    CHECK(db_begin(b.db, &err) && add_caller(b.db, 1, &err) && add_caller(b.db, 1, &err));
    CHECK(!db_one_int(b.db, SQL_MARK_GET, DB_ARGS(db_text(STR("num"))), 0, &v, &err));
    err = (struct err){ 0 };
    CHECK(!db_commit(b.db, &err) && err.kind != ERR_NONE);
    db_rollback(b.db);
    CHECK(ask(&b.home, "SELECT count(*) FROM caller") == 0);
    err = (struct err){ 0 };
    CHECK(db_begin(b.db, &err) && add_caller(b.db, 1, &err) && db_commit(b.db, &err));
    CHECK(ask(&b.home, "SELECT count(*) FROM caller") == 1);
    tear_down(&b);
}

TEST(a_long_transaction_is_one)
{
    enum { COUNT = 1000 };
    struct bench b;
    struct err err = { 0 };
    int64_t changed = -1;

    CHECK(set_up(&b));
    CHECK(db_begin(b.db, &err));
    for (int i = 1; i <= COUNT; i++)
        CHECK(add_caller(b.db, i, &err));
    CHECK(ask(&b.home, "SELECT count(*) FROM caller") == 0); /* for everybody else */
    CHECK(db_run(b.db, SQL_CALLER_DROP, DB_ARGS(db_text(STR("caller 5"))), &changed, &err));
    CHECK(changed == 1);
    CHECK(db_run(b.db, SQL_CALLER_DROP, DB_ARGS(db_text(STR("caller 5"))), &changed, &err));
    CHECK(changed == 0);
    CHECK(db_commit(b.db, &err));
    CHECK(ask(&b.home, "SELECT count(*) FROM caller") == COUNT - 1);
    tear_down(&b);
}

/* A row of a numbered table; seq is SQLite's key of it, key PostgreSQL's. */
static bool put_key(struct db *db, int64_t slot, int64_t seq, struct str key, int64_t until_us,
                    struct err *err)
{
    struct db_value row[5] = { db_int(seq), db_bytes(key), db_bytes(STR("0123456789abcdef")),
                               db_bytes(STR("sha")), db_int(until_us) };

    if (db->kind == DB_SQLITE)
        return db_batch(db, SQL_KEY_ADD, slot, row, 5, 1, err);
    return db_batch(db, SQL_IDEM_ADD, slot, row + 1, 4, 1, err);
}

/* More numbered tables than statements are kept prepared. */
TEST(numbered_tables_have_statements_of_their_own)
{
    enum { TABLES = 150 };
    struct bench b;
    struct err err = { 0 };

    CHECK(set_up(&b));
    for (int i = 0; i < TABLES; i++)
        CHECK(db_run_slot(b.db, SQL_IDEM_MAKE, i, DB_NO_ARGS, NULL, &err));
    for (int round = 0; round < 3; round++) {
        if (round != 1)
            CHECK(db_begin(b.db, &err));
        for (int i = 0; i < TABLES; i++) {
            char key[2] = { (char)i, (char)round };

            CHECK(put_key(b.db, i, round + 1, str_mem(key, 2), i, &err));
        }
        if (round != 1)
            CHECK(db_commit(b.db, &err));
    }
    for (int i = 0; i < TABLES; i += 50) {
        char sql[60];

        (void)snprintf(sql, sizeof sql, "SELECT sum(until_us) FROM idem_%d", i);
        CHECK(ask(&b.home, sql) == 3 * i);
    }
    tear_down(&b);
}

/* A statement that cannot be prepared harms neither the connection nor those after it. */
TEST(a_table_that_is_not_there_is_an_error_and_no_more)
{
    struct bench b;
    struct err err = { 0 };

    CHECK(set_up(&b));
    for (int i = 0; i < 3; i++) {
        bool ok = db_begin(b.db, &err) && put_key(b.db, 4711, 1, STR("k"), 1, &err) &&
                  set_mark(b.db, "word", 5, &err) && db_commit(b.db, &err);

        CHECK(!ok && err.kind == ERR_PERMANENT);
        db_rollback(b.db);
        err = (struct err){ 0 };
    }
    CHECK(db_run_slot(b.db, SQL_IDEM_MAKE, 4711, DB_NO_ARGS, NULL, &err));
    CHECK(db_begin(b.db, &err) && put_key(b.db, 4711, 1, STR("k"), 1, &err) &&
          db_commit(b.db, &err));
    CHECK(mark(b.db, "word") == 0);
    tear_down(&b);
}

struct found {
    bool seen[50];
    int count;
};

static bool note(void *arg, int64_t slot, size_t at, struct db_rows *row, struct err *err)
{
    struct found *f = arg;

    (void)err;
    f->seen[at] = slot == (at % 2 == 0 ? 1 : 3) && db_get_int(row, 3) == (int64_t)at;
    f->count++;
    return true;
}

TEST(many_are_looked_for_at_once)
{
    enum { COUNT = 50 };
    struct bench b;
    struct err err = { 0 };
    struct db_value keys[COUNT];
    char texts[COUNT][16];

    CHECK(set_up(&b));
    if (b.db->kind == DB_SQLITE) { /* PostgreSQL's alone: it saves trips */
        tear_down(&b);
        return;
    }
    for (int slot = 1; slot <= 4; slot++)
        CHECK(db_run_slot(b.db, SQL_IDEM_MAKE, slot, DB_NO_ARGS, NULL, &err));
    for (int i = 0; i < COUNT; i++) {
        (void)snprintf(texts[i], sizeof texts[i], "k%d", i);
        keys[i] = db_bytes(str_of(texts[i]));
        struct db_value row[4] = { keys[i], db_bytes(STR("x")), db_bytes(STR("x")), db_int(i) };

        CHECK(i >= COUNT / 2 || db_batch(b.db, SQL_IDEM_ADD, i % 2 == 0 ? 1 : 3, row, 4, 1, &err));
    }
    for (int in_tx = 0; in_tx < 2; in_tx++) {
        struct found f = { 0 };

        CHECK(in_tx == 0 || db_begin(b.db, &err));
        CHECK(db_find(b.db, SQL_IDEM_FIND, 1, 4, keys, 1, COUNT, note, &f, &err));
        CHECK(in_tx == 0 || db_commit(b.db, &err));
        CHECK(f.count == COUNT / 2);
        for (int i = 0; i < COUNT; i++)
            CHECK(f.seen[i] == (i < COUNT / 2));
        /* A table that is not there fails it all. */
        err = (struct err){ 0 };
        CHECK(in_tx == 0 || db_begin(b.db, &err));
        CHECK(!db_find(b.db, SQL_IDEM_FIND, 2, 4, keys, 1, COUNT, note, &f, &err));
        CHECK(err.kind == ERR_PERMANENT);
        db_rollback(b.db);
        err = (struct err){ 0 };
    }
    tear_down(&b);
}

/* ---- against each other ---- */

static struct rival {
    struct db *db;
    const char *first, *second;
    struct err err;
    bool ok;
} rivals[2];
static pthread_barrier_t both_began;

static void *rival_main(void *arg)
{
    struct rival *r = arg;
    int64_t n;

    r->ok = db_begin(r->db, &r->err) &&
            db_run(r->db, SQL_MARK_SET, DB_ARGS(db_text(str_of(r->first)), db_int(1)), &n, &r->err);
    (void)pthread_barrier_wait(&both_began); /* each has a row that the other wants */
    r->ok = r->ok && set_mark(r->db, r->second, 1, &r->err) && db_commit(r->db, &r->err);
    if (!r->ok)
        db_rollback(r->db);
    return NULL;
}

/* proves: PR15 */
TEST(postgres_of_two_that_block_each_other_one_may_try_again)
{
    struct bench b;
    struct err err = { 0 };
    pthread_t threads[2];

    CHECK(set_up(&b));
    CHECK(pthread_barrier_init(&both_began, NULL, 2) == 0);
    for (int i = 0; i < 2; i++) {
        rivals[i] =
            (struct rival){ .first = i == 0 ? "word" : "num", .second = i == 0 ? "num" : "word" };
        CHECK(store_connect(b.store, false, &rivals[i].db, &err));
    }
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&threads[i], NULL, rival_main, &rivals[i]) == 0);
    for (int i = 0; i < 2; i++)
        (void)pthread_join(threads[i], NULL);
    CHECK(rivals[0].ok != rivals[1].ok);
    struct rival *loser = rivals[0].ok ? &rivals[1] : &rivals[0];

    CHECK(loser->err.kind == ERR_TRANSIENT && db_should_retry(&loser->err));
    CHECK(db_begin(loser->db, &err) && set_mark(loser->db, "num", 2, &err) &&
          db_commit(loser->db, &err));
    for (int i = 0; i < 2; i++)
        db_close(rivals[i].db);
    (void)pthread_barrier_destroy(&both_began);
    tear_down(&b);
}

TEST(postgres_a_reader_changes_nothing)
{
    struct bench b;
    struct err err = { 0 };
    struct db *reader;

    CHECK(set_up(&b));
    CHECK((reader = store_reader(b.store, &err)) != NULL);
    CHECK(!set_mark(reader, "word", 1, &err) && err.kind == ERR_TRANSIENT);
    store_reader_back(b.store, reader);
    tear_down(&b);
}

STORE_TEST_MAIN
