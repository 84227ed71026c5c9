#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "store/db/migrate.h"
#include "store/kernel/node.h"
#include "store_test.h"

static bool open_fails(const struct home *h, struct err *err)
{
    struct store_options o = options_of(h);
    struct store *s = NULL;

    if (!store_open(&o, &s, err))
        return true;
    store_close(s);
    return false;
}

TEST(a_fresh_store_has_the_newest_schema)
{
    struct home h = empty_home();
    struct store *s = open_store(&h);

    CHECK(s != NULL);
    CHECK(store_kind(s) == (on_sqlite() ? DB_SQLITE : DB_POSTGRESQL));
    store_close(s);
    CHECK(ask(&h, "SELECT max(version) FROM schema_version") == migrate_newest());
    CHECK(ask(&h, "SELECT count(*) FROM doc") == 0);
}

/* proves: XC9 */
TEST(opening_again_changes_nothing)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);

    CHECK(s != NULL && accept_many(s, 0, 10, 10));
    store_close(s);
    int64_t made = ask(&h, "SELECT max(made_us) FROM schema_version");

    for (int i = 0; i < 3; i++) {
        s = open_store(&h);
        CHECK(s != NULL);
        store_close(s);
    }
    CHECK(ask(&h, "SELECT max(made_us) FROM schema_version") == made);
    CHECK(ask(&h, "SELECT count(*) FROM doc") == 10);
}

/* proves: XC9 */
TEST(a_store_of_a_newer_program_is_refused)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct err err = { 0 };
    char want[200];

    CHECK(s != NULL);
    store_close(s);
    CHECK(
        tell(&h, "INSERT INTO schema_version(version, name, made_us) VALUES (9001, 'future', 0)"));
    CHECK(open_fails(&h, &err));
    CHECK(err.kind == ERR_CONFIG);
    (void)snprintf(want, sizeof want,
                   "the store has schema version 9001, this program knows up to %d: use the newer "
                   "waybill that wrote it",
                   migrate_newest());
    CHECK(strcmp(err.text, want) == 0);
}

CHILD(open)
{
    struct store *s = open_store(h);

    (void)arg;
    if (s == NULL)
        return 1;
    store_close(s);
    return 0;
}

/* proves: XC9 FO12 */
TEST(a_migration_that_is_killed_leaves_nothing_half_done)
{
    struct home h = empty_home();

    for (int i = 0; i < 3; i++) {
        CHECK(was_killed(run_child("open", &h, "migrate.step:kill", NULL, NULL)));
        CHECK(ask(&h, on_sqlite() ? "SELECT count(*) FROM sqlite_master WHERE name = 'doc'"
                                  : "SELECT count(*) FROM pg_tables WHERE tablename = 'doc' AND "
                                    "schemaname = current_schema()") == 0);
    }
    struct store *s = open_store(&h);

    CHECK(s != NULL && accept_many(s, 0, 1, 1));
    store_close(s);
}

/* Each time in the fourth of those that are left.  proves: XC9 */
TEST(an_upgrade_that_is_killed_goes_on_with_the_migration_it_was_in)
{
    struct home h = empty_home();
    int64_t done = 0;

    for (; done + 4 <= migrate_newest(); done += 3) {
        CHECK(was_killed(run_child("open", &h, "migrate.step:kill:4", NULL, NULL)));
        CHECK(ask(&h, "SELECT max(version) FROM schema_version") == done + 3);
        CHECK(ask(&h, "SELECT count(*) FROM schema_version") == done + 3);
    }
    struct store *s = open_store(&h);

    CHECK(s != NULL && done > 0 && accept_many(s, 0, 1, 1));
    CHECK(ask(&h, "SELECT max(version) FROM schema_version") == migrate_newest());
    store_close(s);
}

TEST(postgres_nodes_that_start_together_migrate_once)
{
    enum { NODES = 6 };
    struct home h = fresh_home(), homes[NODES];
    struct running r[NODES];
    int well = 0;

    for (int i = 0; i < NODES; i++) {
        homes[i] = home_beside(&h);
        r[i] = start_child("open", &homes[i], "migrate.step:delay_ms:100", NULL);
    }
    for (int i = 0; i < NODES; i++)
        well += ended_well(end_child(&r[i], NULL));
    CHECK(well == NODES);
    CHECK(ask(&h, "SELECT count(*) FROM schema_version") ==
          ask(&h, "SELECT max(version) FROM schema_version"));
    CHECK(ask(&h, "SELECT count(*) FROM node") == NODES);
}

TEST(the_folder_belongs_to_one_process)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    AUTO(buf_done) struct buf said = BUF_INIT(1000);
    struct err err = { 0 };

    CHECK(s != NULL);
    CHECK(open_fails(&h, &err));
    CHECK(err.kind == ERR_CONFIG);
    CHECK(strstr(err.text, "in use by another process") != NULL);
    CHECK(!ended_well(run_child("open", &h, NULL, NULL, &said)));
    CHECK(strstr(said.ptr, "in use by another process") != NULL);
    store_close(s);
    CHECK(ended_well(run_child("open", &h, NULL, NULL, NULL)));
}

TEST(a_folder_that_cannot_be_made_is_a_matter_of_configuration)
{
    struct home h = fresh_home();
    struct err err = { 0 };

    (void)snprintf(h.folder, sizeof h.folder, "/proc/no-such-place");
    CHECK(open_fails(&h, &err));
    CHECK(err.kind == ERR_CONFIG);
}

/* proves: XC4 */
TEST(sqlite_a_file_that_is_no_database_is_refused_and_left_alone)
{
    struct home h = fresh_home();
    char path[260];
    struct err err = { 0 };
    struct stat before, after;

    CHECK(mkdir(h.folder, 0700) == 0);
    (void)snprintf(path, sizeof path, "%s/waybill.db", h.folder);
    FILE *f = fopen(path, "w");

    CHECK(f != NULL);
    for (int i = 0; i < 3000; i++)
        (void)fputs("this is no database ", f);
    (void)fclose(f);
    CHECK(stat(path, &before) == 0);
    CHECK(open_fails(&h, &err));
    CHECK(strstr(err.text, "not a database") != NULL || strstr(err.text, "damaged") != NULL);
    CHECK(stat(path, &after) == 0 && before.st_size == after.st_size);
}

/* proves: XC5 */
TEST(postgres_a_server_that_is_not_there_is_said_without_the_password)
{
    static const struct {
        const char *url;
        enum err_kind kind;
    } cases[] = {
        { "postgres://me:sesame@127.0.0.1:1/db", ERR_TRANSIENT },
        { "postgres://me:sesame@no-such-host.invalid/db?connect_timeout=2", ERR_TRANSIENT },
        { "host=127.0.0.1 port=1 user=me password=sesame", ERR_TRANSIENT },
        { "postgres://me:se@sesame@host/db", ERR_CONFIG },
        { "postgres://me:sesame/x@host/db", ERR_CONFIG },
        { "postgres://me:sesame%zz@host/db", ERR_CONFIG },
        { "postgres://me:sesame@host/db?sesame", ERR_CONFIG },
        { "postgres me sesame", ERR_CONFIG },
        { "password='sesame", ERR_CONFIG },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct home h = fresh_home();
        struct err err = { 0 };

        (void)snprintf(h.url, sizeof h.url, "%s", cases[i].url);
        CHECK(open_fails(&h, &err));
        CHECK(err.kind == cases[i].kind);
        CHECK(err.text[0] != '\0' && strstr(err.text, "sesame") == NULL);
    }
}

TEST(postgres_sessions_are_set_up_as_they_should)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct err err = { 0 };
    static const struct {
        const char *name, *writer, *reader;
    } cases[] = {
        { "synchronous_commit", "on", "on" },
        { "plan_cache_mode", "force_generic_plan", "force_generic_plan" },
        { "enable_seqscan", "off", "off" },
        { "enable_hashjoin", "on", "on" },
        { "enable_mergejoin", "off", "on" },
        { "jit", "off", "off" },
        { "transaction_isolation", "read committed", "read committed" },
        { "default_transaction_read_only", "off", "on" },
        { "statement_timeout", "8s", "2s" },
        { "lock_timeout", "6s", "2s" },
        { "idle_in_transaction_session_timeout", "4s", "8s" },
        { "client_min_messages", "warning", "warning" },
        { "application_name", "waybill", "waybill" },
        { "client_encoding", "UTF8", "UTF8" },
    };

    CHECK(s != NULL);
    for (int reader = 0; reader < 2; reader++) {
        struct db *db;

        CHECK(db_open_postgres(h.url, reader == 1, NULL, &db, &err));
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            struct db_rows rows;
            bool row;

            CHECK(db_query(db, SQL_SESSION_EXAMINE, DB_ARGS(db_text(str_of(cases[i].name))), &rows,
                           &err) &&
                  db_next(&rows, &row, &err) && row);
            CHECK(str_is(db_get_str(&rows, 0), reader == 1 ? cases[i].reader : cases[i].writer));
            db_rows_done(&rows);
        }
        db_close(db);
    }
    store_close(s);
}

CHILD(open_unsafe)
{
    (void)arg;
    (void)setenv("WAYBILL_TEST_SYNCHRONOUS", "off", 1);
    struct db *db;
    struct db_rows rows;
    struct err err = { 0 };
    bool row;

    if (!db_open_postgres(h->url, false, NULL, &db, &err) ||
        !db_query(db, SQL_SESSION_EXAMINE, DB_ARGS(db_text(STR("synchronous_commit"))), &rows,
                  &err) ||
        !db_next(&rows, &row, &err) || !row || !str_is(db_get_str(&rows, 0), "off"))
        return 1;
    db_rows_done(&rows);
    db_close(db);
    return 0;
}

TEST(postgres_a_test_build_may_lower_durability)
{
    struct home h = fresh_home();

    CHECK(ended_well(run_child("open_unsafe", &h, NULL, NULL, NULL)));
}

static _Atomic int done_count;

static void count_done(struct store_op *op)
{
    done_count += op->ok;
}

TEST(work_that_is_queued_when_the_store_closes_is_done)
{
    enum { COUNT = 500 };
    static struct accept_op ops[COUNT];
    struct home h = fresh_home();
    struct store *s = open_store(&h);

    CHECK(s != NULL);
    for (int i = 0; i < COUNT; i++) {
        ops[i] = doc_of(STR("late"));
        ops[i].op.done = count_done;
        CHECK(writers_submit(store_writers(s), &ops[i].op, &ops[i].op, 1));
    }
    store_close(s);
    CHECK(done_count == COUNT);
    CHECK(ask(&h, "SELECT count(*) FROM doc") == COUNT);
}

TEST(words_are_small_numbers_for_ever)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct err err = { 0 };
    int64_t orders, again, endpoint, found;
    char name[40];

    CHECK(s != NULL);
    CHECK(name_add(s, NAME_GATEWAY, STR("orders"), &orders, &err) && orders > 0);
    CHECK(name_add(s, NAME_GATEWAY, STR("orders"), &again, &err) && again == orders);
    CHECK(name_add(s, NAME_ENDPOINT, STR("orders"), &endpoint, &err) && endpoint != orders);
    for (int i = 0; i < 50; i++) {
        (void)snprintf(name, sizeof name, "name \xc3\xa4 %d", i);
        CHECK(name_add(s, NAME_TYPE, str_of(name), &again, &err));
    }
    store_close(s);
    s = open_store(&h);
    CHECK(s != NULL);
    CHECK(name_find(s, NAME_GATEWAY, STR("orders"), &found) && found == orders);
    CHECK(name_find(s, NAME_TYPE, str_of(name), &found) && found == again);
    CHECK(str_is(name_text(s, endpoint), "orders"));
    CHECK(!name_find(s, NAME_SYSTEM, STR("orders"), &found));
    CHECK(name_text(s, 4711).len == 0);
    store_close(s);
}

TEST(postgres_two_nodes_agree_on_words)
{
    struct home h = fresh_home(), other = home_beside(&h);
    struct store *a = open_store(&h), *b = open_store(&other);
    struct err err = { 0 };

    CHECK(a != NULL && b != NULL);
    for (int i = 0; i < 20; i++) {
        char name[40];
        int64_t first, second;

        (void)snprintf(name, sizeof name, "gateway %d", i);
        CHECK(name_add(i % 2 == 0 ? a : b, NAME_GATEWAY, str_of(name), &first, &err));
        CHECK(name_add(i % 2 == 0 ? b : a, NAME_GATEWAY, str_of(name), &second, &err));
        CHECK(first == second);
    }
    store_close(a);
    store_close(b);
}

STORE_TEST_MAIN
