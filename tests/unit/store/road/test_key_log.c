/* proves: IN6 */
#include "store/road/key_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "folder.h"
#include "store/db/migrate.h"
#include "store/kernel/store_state.h"
#include "test.h"

static struct db *fresh_db(const struct folder *f)
{
    char path[300];
    struct db_sqlite_options o = { .path = path };
    struct db *db;
    struct err err = { 0 };

    (void)snprintf(path, sizeof path, "%s/keys.db", f->path);
    if (!db_open_sqlite(&o, &db, &err) || !migrate(db, sql_migrations, &err)) {
        printf("# %s\n", err.text);
        exit(1);
    }
    return db;
}

static bool make_slot(struct db *db, int64_t slot, struct err *err)
{
    return db_run(db, SQL_PART_ADD, DB_ARGS(db_int(TABLES_IDEMPOTENCY), db_int(slot)), NULL, err) &&
           db_run_slot(db, SQL_IDEM_MAKE, slot, DB_NO_ARGS, NULL, err) &&
           db_run_slot(db, SQL_KEY_INDEX_MAKE, slot, DB_NO_ARGS, NULL, err);
}

/* Key number n; every seventh shares its first eight bytes with its neighbour. */
static struct key_row row_of(int64_t n, int64_t slot, int64_t until_us)
{
    struct key_row r = { .slot = slot, .until_us = until_us };
    uint64_t seed = (uint64_t)(n % 7 == 0 ? n + 1 : n) * UINT64_C(0x9e3779b97f4a7c15);

    memcpy(r.key.bytes, &seed, sizeof seed);
    memcpy(r.key.bytes + 16, &n, sizeof n);
    memcpy(r.id.bytes, &n, sizeof n);
    return r;
}

static bool add(struct key_log *k, struct db *db, struct key_row *rows, size_t count,
                struct err *err)
{
    if (!db_begin(db, err) || !key_log_number(k, rows, count, err) ||
        !key_log_add(db, rows, count, err) || !db_commit(db, err))
        return false;
    for (size_t i = 0; i < count; i++)
        key_log_added(k, &rows[i]);
    return true;
}

static bool is_there(struct key_log *k, struct db *db, int64_t n, int64_t now_us)
{
    struct key_row want = row_of(n, 0, 0), got;
    struct err err = { 0 };
    bool found = false;

    return key_log_find(k, db, &want.key, now_us, &got, &found, &err) && found &&
           memcmp(got.id.bytes, &n, sizeof n) == 0;
}

enum { KEYS = 36000, GROUP = 500 };

static bool fill(struct key_log *k, struct db *db, struct err *err)
{
    static struct key_row rows[GROUP];
    bool waiting;

    for (int64_t n = 0; n < KEYS; n += GROUP) {
        for (int64_t i = 0; i < GROUP; i++)
            rows[i] = row_of(n + i, 5 + (n + i) % 2, 1000 + (n + i) % 3);
        if (!add(k, db, rows, GROUP, err) || !key_log_slice(k, db, &waiting, err))
            return false;
    }
    return true;
}

TEST(keys_are_found_in_memory_and_in_the_trees_and_after_a_restart)
{
    AUTO(folder_done) struct folder f = folder_make();
    struct db *db = fresh_db(&f);
    struct key_log *k = key_log_new();
    struct err err = { 0 };

    CHECK(make_slot(db, 5, &err) && make_slot(db, 6, &err) && key_log_load(k, db, &err));
    CHECK(fill(k, db, &err));
    for (int again = 0; again < 2; again++) {
        for (int64_t n = 0; n < KEYS; n += 13) {
            CHECK(is_there(k, db, n, 999));
            CHECK(is_there(k, db, n, 1001) == (n % 3 == 2)); /* the others are over */
        }
        for (int64_t n = KEYS; n < KEYS + 500; n++)
            CHECK(!is_there(k, db, n, 999));
        key_log_free(k); /* what was in memory is read back */
        k = key_log_new();
        CHECK(key_log_load(k, db, &err));
    }
    key_log_free(k);
    db_close(db);
}

TEST(keys_of_a_table_that_is_gone_are_forgotten)
{
    AUTO(folder_done) struct folder f = folder_make();
    struct db *db = fresh_db(&f);
    struct key_log *k = key_log_new();
    struct key_row row = row_of(1, 5, 1000), late = row_of(2, 9, 1000);
    struct err err = { 0 };

    CHECK(make_slot(db, 5, &err) && key_log_load(k, db, &err));
    CHECK(add(k, db, &row, 1, &err) && is_there(k, db, 1, 0));
    key_log_slot_gone(k, 5);
    CHECK(!is_there(k, db, 1, 0));
    CHECK(!key_log_number(k, &late, 1, &err) && err.kind == ERR_TRANSIENT);
    key_log_free(k);
    db_close(db);
}

int main(void)
{
    return test_main();
}
