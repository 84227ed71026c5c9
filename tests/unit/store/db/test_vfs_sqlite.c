#include "test.h"

#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>

#include "again.h"
#include "base/auto.h"
#include "base/file.h"
#include "folder.h"
#include "store/db/vfs_sqlite.h"

static sqlite3 *open_at(const char *folder, const char *mode)
{
    char path[300], pragma[60];
    sqlite3 *db = NULL;

    vfs_sqlite_register();
    (void)snprintf(path, sizeof path, "%s/test.db", folder);
    (void)snprintf(pragma, sizeof pragma, "PRAGMA journal_mode=%s", mode);
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, VFS_SQLITE_NAME) !=
            SQLITE_OK ||
        sqlite3_exec(db, pragma, NULL, NULL, NULL) != SQLITE_OK)
        exit(1);
    return db;
}

static int run(sqlite3 *db, const char *sql)
{
    return sqlite3_exec(db, sql, NULL, NULL, NULL);
}

TEST(vfs_counts_at_least_one_sync_for_a_commit)
{
    static const struct {
        const char *mode, *synchronous;
        bool syncs;
    } cases[] = {
        { "WAL", "FULL", true },
        { "DELETE", "FULL", true },
        { "WAL", "OFF", false },
        { "DELETE", "OFF", false },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(folder_done) struct folder f = folder_make();
        sqlite3 *db = open_at(f.path, cases[i].mode);
        char pragma[40];

        (void)snprintf(pragma, sizeof pragma, "PRAGMA synchronous=%s", cases[i].synchronous);
        CHECK(run(db, pragma) == SQLITE_OK && run(db, "CREATE TABLE t(x)") == SQLITE_OK);
        for (int n = 0; n < 5; n++) {
            uint64_t before = file_syncs();

            CHECK(run(db, "BEGIN; INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)") ==
                  SQLITE_OK);
            uint64_t inside = file_syncs() - before;

            CHECK(run(db, "COMMIT") == SQLITE_OK);
            CHECK(inside == 0 && (file_syncs() > before) == cases[i].syncs);
        }
        uint64_t before = file_syncs();

        CHECK(run(db, "SELECT count(*) FROM t") == SQLITE_OK);
        CHECK(run(db, "BEGIN; INSERT INTO t VALUES (3); ROLLBACK") == SQLITE_OK);
        CHECK(file_syncs() == before);
        (void)sqlite3_close(db);
    }
}

TEST(vfs_counts_a_checkpoint_and_serves_two_connections)
{
    AUTO(folder_done) struct folder f = folder_make();
    sqlite3 *a = open_at(f.path, "WAL"), *b = open_at(f.path, "WAL");

    CHECK(run(a, "PRAGMA synchronous=FULL; CREATE TABLE t(x); INSERT INTO t VALUES (1)") ==
          SQLITE_OK);
    CHECK(run(b, "INSERT INTO t VALUES (2)") == SQLITE_OK);
    uint64_t before = file_syncs();

    CHECK(sqlite3_wal_checkpoint_v2(a, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL) == SQLITE_OK);
    CHECK(file_syncs() >= before + 2); /* the log, then the database */
    (void)sqlite3_close(a);
    (void)sqlite3_close(b);
}

TEST(vfs_is_not_the_default)
{
    vfs_sqlite_register();
    vfs_sqlite_register();
    CHECK(strcmp(sqlite3_vfs_find(NULL)->zName, VFS_SQLITE_NAME) != 0);
    CHECK(sqlite3_vfs_find(VFS_SQLITE_NAME) != NULL);
}

#ifdef WAYBILL_FAULTS

static int commit_in(const char *folder)
{
    sqlite3 *db = open_at(folder, "WAL");

    return run(db, "PRAGMA synchronous=FULL; CREATE TABLE IF NOT EXISTS t(x);"
                   "INSERT INTO t VALUES (1)") &
           0xff;
}

TEST(vfs_sync_can_fail_and_kill)
{
    AUTO(folder_done) struct folder f = folder_make();

    CHECK(again("commit", NULL, f.path).status == 0);
    CHECK(again("commit", "db.sync:error:0", f.path).status == SQLITE_IOERR);
    CHECK(again("commit", "db.sync:kill:1", f.path).signal == SIGKILL);
    CHECK(again("commit", NULL, f.path).status == 0);
}

#endif

int main(int argc, char **argv)
{
#ifdef WAYBILL_FAULTS
    if (again_scene(argc, argv) != NULL)
        _exit(commit_in(argv[2]));
#endif
    (void)argc;
    (void)argv;
    return test_main();
}
