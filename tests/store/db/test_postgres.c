/* What a PostgreSQL store does when the server or the way to it is in trouble. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>

#include "base/auto.h"
#include "store/govern/version.h"
#include "store/road/lease_rows.h"
#include "store/road/order.h"
#include "store_test.h"

/* From now on inserting a document with this body size fails with a SQLSTATE, the first
 * `times` times; a sequence counts them, for it is not rolled back. */
static bool make_trouble(const struct home *h, const char *state, int times, int size)
{
    char sql[1000];

    (void)snprintf(sql, sizeof sql,
                   "SET client_min_messages = warning; CREATE SEQUENCE IF NOT EXISTS troubles;"
                   "SELECT setval('troubles', 1, false);"
                   "CREATE OR REPLACE FUNCTION trouble() RETURNS trigger LANGUAGE plpgsql AS $$"
                   "BEGIN IF NEW.size = %d AND nextval('troubles') <= %d THEN"
                   " RAISE EXCEPTION 'made by the test' USING ERRCODE = '%s'; END IF;"
                   "RETURN NEW; END $$;"
                   "CREATE OR REPLACE TRIGGER trouble BEFORE INSERT ON doc FOR EACH ROW EXECUTE"
                   " FUNCTION trouble()",
                   size, times, state);
    return tell(h, sql);
}

/* The text of a statement with its numbered table put in; false for what cannot be
 * prepared (transactions, tables). */
static bool preparable(const char *text, char *to, size_t room)
{
    static const char *const others[] = { "BEGIN",  "COMMIT", "ROLLBACK", "LOCK",
                                          "CREATE", "DROP",   "ALTER",    "DEALLOCATE" };
    size_t n = (size_t)snprintf(to, room, "PREPARE p AS ");

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (str_starts(str_of(text), str_of(others[i])))
            return false;
    for (const char *at; (at = strstr(text, "@SLOT@")) != NULL; text = at + strlen("@SLOT@"))
        n += (size_t)snprintf(to + n, room - n, "%.*s1", (int)(at - text), text);
    (void)snprintf(to + n, room - n, "%s; DEALLOCATE p", text);
    return true;
}

/* As if the migrations from `version` on had not run.  The statement has the tables that later ones
 * made; 20 and 21 run twice without harm. */
static bool go_back(const struct home *h, const char *version)
{
    char sql[100];

    (void)snprintf(sql, sizeof sql, "DELETE FROM schema_version WHERE version >= %s", version);
    return tell(h, sql) &&
           tell(h, "DROP TABLE IF EXISTS aloft, folder, node_name, allot, chart, chart_count, "
                   "failing; DROP INDEX IF EXISTS delivery_retrying; "
                   "ALTER TABLE IF EXISTS payload_0 RENAME TO payload; "
                   "ALTER TABLE IF EXISTS payload_piece_0 RENAME TO payload_piece");
}

/* Also those that an older program made. */
TEST(postgres_tables_of_days_are_vacuumed_calmly_after_an_upgrade)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);

    CHECK(s != NULL);
    store_close(s);
    CHECK(tell(&h, "INSERT INTO part(family, slot) VALUES (2, 7), (3, 8), (2, 9)"));
    CHECK(tell(
        &h, "CREATE TABLE done_7 AS SELECT *, 1::bigint AS state, 1::bigint AS ended_us FROM doc"));
    CHECK(tell(&h, "CREATE TABLE done_8 AS SELECT * FROM done_7")); /* and none for the 9 */
    CHECK(go_back(&h, "20"));
    s = open_store(&h);
    CHECK(s != NULL);
    CHECK(ask(&h, "SELECT count(*) FROM pg_class WHERE relname IN ('done_7', 'done_8') "
                  "AND 'autovacuum_vacuum_scale_factor=100' = ANY (reloptions)") == 2);
    store_close(s);
}

TEST(postgres_tables_of_days_are_found_by_size_after_an_upgrade)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);

    CHECK(s != NULL);
    store_close(s);
    CHECK(tell(&h, "CREATE TABLE done_7 AS SELECT * FROM doc"));
    CHECK(tell(&h, "CREATE INDEX done_7_by_size "
                   "ON done_7((floor(ln(size::float8 + 1) * 8)::bigint), num)"));
    CHECK(go_back(&h, "21"));
    s = open_store(&h);
    CHECK(s != NULL);
    CHECK(ask(&h,
              "SELECT count(*) FROM pg_indexes WHERE schemaname = current_schema() "
              "AND indexname = 'done_7_by_size' AND indexdef LIKE '%<< 40%INCLUDE (num, size)'") ==
          1);
    store_close(s);
}

/* What no other test happens to run is at least understood by the server. */
TEST(postgres_every_statement_can_be_prepared)
{
    static char sql[8000];
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int prepared = 0;

    CHECK(s != NULL);
    CHECK(tell(
        &h, "CREATE TABLE idem_1(key bytea PRIMARY KEY, id bytea, sha256 bytea, until_us bigint)"));
    CHECK(tell(
        &h, "CREATE TABLE done_1 AS SELECT *, 1::bigint AS state, 1::bigint AS ended_us FROM doc"));
    CHECK(tell(&h, "CREATE TABLE done_1000000 AS SELECT * FROM done_1"));
    CHECK(tell(&h, "CREATE TABLE payload_1 (LIKE payload_0 INCLUDING ALL)"));
    CHECK(tell(&h, "CREATE TABLE payload_old_1 (LIKE payload_0 INCLUDING ALL)"));
    CHECK(tell(&h, "CREATE TABLE payload_piece_1 (LIKE payload_piece_0 INCLUDING ALL)"));
    CHECK(tell(&h, "CREATE TABLE payload_piece_old_1 (LIKE payload_piece_0 INCLUDING ALL)"));
    CHECK(tell(&h,
               "CREATE TABLE job_log_1 (ended_us bigint, job bigint, claim bigint, node_id bigint, "
               "nominal_us bigint, due_us bigint, claimed_us bigint, began_us bigint, "
               "outcome bigint, message text, steps text, is_stale bigint, stale text, "
               "PRIMARY KEY(ended_us, job, claim))"));
    for (int i = 0; i < SQL_COUNT; i++) {
        const char *text = sql_postgresql[i].text;

        if (text == NULL || !preparable(text, sql, sizeof sql))
            continue;
        CHECK(tell(&h, sql)); /* says the text and what is wrong with it */
        prepared++;
    }
    CHECK(prepared > 40);
    store_close(s);
}

/* proves: XC2 XC5 PR15 */
TEST(postgres_every_kind_of_error_has_its_meaning)
{
    static const struct {
        const char *state;
        int times;
        bool ok;
        enum err_kind kind;
        int sys;
    } cases[] = {
        { "53100", 1, false, ERR_LIMIT, ENOSPC }, /* disk full */
        { "53200", 1, false, ERR_TRANSIENT, 0 },  /* out of memory */
        { "57014", 1, false, ERR_TRANSIENT, 0 },  /* canceled: time-out */
        { "55P03", 1, false, ERR_TRANSIENT, 0 },  /* lock time-out */
        { "58030", 1, false, ERR_TRANSIENT, 0 },  /* input or output error */
        { "40001", 1, true, ERR_NONE, 0 },        /* lost against another: again */
        { "40P01", 3, true, ERR_NONE, 0 },        { "40P01", 99, false, ERR_TRANSIENT, DB_AGAIN },
        { "23505", 1, true, ERR_NONE, 0 },        { "23505", 99, false, ERR_PERMANENT, DB_AGAIN },
        { "23514", 1, false, ERR_PERMANENT, 0 }, /* a check */
        { "22012", 1, false, ERR_PERMANENT, 0 }, /* not the fence's division by zero */
        { "P0001", 1, false, ERR_PERMANENT, 0 },
    };
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int stored = 0;

    CHECK(s != NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct accept_op op = doc_of(STR("x"));

        CHECK(make_trouble(&h, cases[i].state, cases[i].times, 1));
        if (accept_doc(s, &op) != cases[i].ok || op.op.err.kind != cases[i].kind ||
            op.op.err.sys != cases[i].sys)
            printf("# %s: kind %d sys %d: %s\n", cases[i].state, (int)op.op.err.kind, op.op.err.sys,
                   op.op.err.text);
        CHECK(op.op.ok == cases[i].ok);
        CHECK(op.op.err.kind == cases[i].kind && op.op.err.sys == cases[i].sys);
        CHECK(cases[i].ok || strstr(op.op.err.text, "doc_add") != NULL);
        stored += cases[i].ok;
    }
    CHECK(ask(&h, "SELECT count(*) FROM doc") == stored);
    CHECK(ask(&h, "SELECT count(*) FROM payload_0") == stored);
    store_close(s);
}

TEST(postgres_a_row_that_is_refused_fails_alone)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op ops[40];

    CHECK(s != NULL && make_trouble(&h, "23514", 1000, 7));
    for (int i = 0; i < 40; i++)
        ops[i] = doc_of(i == 17 ? STR("7 bytes") : STR("innocent"));
    CHECK(!accept_docs(s, ops, 40));
    for (int i = 0; i < 40; i++)
        CHECK(ops[i].op.ok == (i != 17));
    CHECK(ask(&h, "SELECT count(*) FROM doc") == 39);
    store_close(s);
}

/* Text that the database does not take is the fault of its document only. */
TEST(postgres_text_that_is_no_text_fails_alone)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op ops[5];

    CHECK(s != NULL);
    for (int i = 0; i < 5; i++)
        ops[i] = doc_of(STR("x"));
    ops[1].name = str_mem("a\0b", 3);
    ops[3].name = STR("\xff\xfe");
    CHECK(!accept_docs(s, ops, 5));
    for (int i = 0; i < 5; i++)
        CHECK(ops[i].op.ok == (i != 1 && i != 3));
    store_close(s);
}

/* ---- connections ---- */

static const char terminate_all[] =
    "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity WHERE application_name = "
    "'waybill' AND datname = current_database() AND pid <> pg_backend_pid()";

static const char idle_in_transaction[] =
    "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'waybill' AND "
    "datname = current_database() AND state LIKE 'idle in transaction%'";

/* proves: XC5 */
TEST(postgres_sessions_that_were_ended_are_not_noticed_by_senders)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct err err = { 0 };
    int64_t newest;

    CHECK(s != NULL);
    for (int i = 0; i < 5; i++) {
        CHECK(accept_many(s, i * 20, 20, 10) && places(s).ready == (i + 1) * 20);
        CHECK(version_newest(s, &newest, &err));
        CHECK(ask(&h, terminate_all) >= 2); /* of a writer, and of that reader */
    }
    CHECK(places(s).ready == 100);
    CHECK(ask(&h, "SELECT count(DISTINCT num) FROM doc") == 100);
    store_close(s);
}

/* Waits until a session of ours sleeps in a trigger, and ends it. */
static void *end_the_sleeper(void *arg)
{
    const struct home *h = arg;

    for (int i = 0; i < 200; i++) {
        if (ask(h, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE "
                   "wait_event = 'PgSleep' AND datname = current_database()") > 0)
            return NULL;
        clock_sleep_us(20 * CLOCK_MS);
    }
    printf("# nobody slept\n");
    return NULL;
}

/* The first insert sleeps: at once, or when its transaction commits. */
static bool sleep_once(const struct home *h, bool at_commit)
{
    char sql[1000];

    (void)snprintf(
        sql, sizeof sql,
        "CREATE SEQUENCE naps;"
        "CREATE FUNCTION nap() RETURNS trigger LANGUAGE plpgsql AS $$"
        "BEGIN IF nextval('naps') = 1 THEN PERFORM pg_sleep(30); END IF;"
        "RETURN NEW; END $$;"
        "CREATE %s TRIGGER nap AFTER INSERT ON doc %s FOR EACH ROW EXECUTE FUNCTION nap()",
        at_commit ? "CONSTRAINT" : "", at_commit ? "DEFERRABLE INITIALLY DEFERRED" : "");
    return tell(h, sql);
}

/* The server dies under a group, before or in the middle of its commit: it is run again,
 * and the document is there once.  proves: XC5 IN7 */
TEST(postgres_a_group_that_was_lost_is_run_again)
{
    for (int at_commit = 0; at_commit < 2; at_commit++) {
        struct home h = fresh_home();
        struct store *s = open_store(&h);
        struct accept_op ops[10];
        pthread_t killer;

        CHECK(s != NULL && sleep_once(&h, at_commit == 1));
        for (int i = 0; i < 10; i++)
            ops[i] = doc_of(STR("lost and found"));
        CHECK(pthread_create(&killer, NULL, end_the_sleeper, &h) == 0);
        bool ok = accept_docs(s, ops, 10);

        (void)pthread_join(killer, NULL);
        if (!ok)
            printf("# %s\n", ops[0].op.err.text);
        CHECK(ok && ask(&h, "SELECT count(*) FROM doc") == 10);
        CHECK(payload_is(s, &ops[9], STR("lost and found")));
        CHECK(ask(&h, idle_in_transaction) == 0);
        store_close(s);
    }
}

/* Accepts two documents; says what became of them. */
CHILD(accept_two)
{
    struct store *s = open_store(h);

    (void)arg;
    for (int i = 0; s != NULL && i < 2; i++) {
        struct accept_op op = doc_of(STR("x"));
        bool ok = accept_doc(s, &op);

        printf("%d ok %d kind %d: %s\n", i, ok, (int)op.op.err.kind, op.op.err.text);
    }
    store_close(s);
    return 0;
}

/* COMMIT arrives, its answer does not: the store is asked and says yes.  The first COMMIT
 * of the child is its registration.  proves: IN2 IN7 XC5 */
TEST(postgres_a_lost_answer_to_a_commit_is_found_out)
{
    AUTO(buf_done) struct buf said = BUF_INIT(10000);
    struct home h = fresh_home();
    struct store *s = open_store(&h);

    CHECK(s != NULL);
    store_close(s);
    CHECK(ended_well(run_child("accept_two", &h, "commit.sent:error:2", NULL, &said)));
    CHECK(strcmp(said.ptr, "0 ok 1 kind 0: \n1 ok 1 kind 0: \n") == 0);
    CHECK(ask(&h, "SELECT count(*) FROM doc") == 2);
}

CHILD(accept_numbered)
{
    struct store *s = open_store(h);
    struct accept_op ops[3] = { doc_of(STR("a")), doc_of(STR("b")), doc_of(STR("c")) };

    (void)arg;
    if (s == NULL)
        return 1;
    order_number(s, true);
    bool ok = born_docs(s, ops, 2) && born_docs(s, &ops[2], 1);

    printf("ok %d seq %lld %lld %lld\n", ok, (long long)ops[0].seq, (long long)ops[1].seq,
           (long long)ops[2].seq);
    store_close(s);
    return 0;
}

/* The numbers in the order of acceptance come with the answer to COMMIT; without it they are read.
 */
TEST(postgres_a_lost_answer_to_a_commit_keeps_the_numbers)
{
    static const char *const plans[] = { "group.begun:delay_ms:1", "commit.sent:error:2" };

    for (size_t i = 0; i < sizeof plans / sizeof plans[0]; i++) {
        AUTO(buf_done) struct buf said = BUF_INIT(10000);
        struct home h = fresh_home();

        CHECK(ended_well(run_child("accept_numbered", &h, plans[i], NULL, &said)));
        CHECK(strcmp(said.ptr, "ok 1 seq 1 2 3\n") == 0);
        CHECK(ask(&h, "SELECT count(*) FROM doc WHERE seq BETWEEN 1 AND 3") == 3);
        CHECK(ask(&h, "SELECT count(*) FROM order_open") == 3);
    }
}

static bool allow_connections(const char *database, bool allow)
{
    char sql[200];

    (void)snprintf(sql, sizeof sql, "ALTER DATABASE \"%s\" ALLOW_CONNECTIONS %s", database,
                   allow ? "true" : "false");
    return tell_elsewhere(sql);
}

static bool end_sessions(const char *database)
{
    char sql[200];

    (void)snprintf(sql, sizeof sql,
                   "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '%s'",
                   database);
    return tell_elsewhere(sql);
}

/* The claim of which nobody knows goes back, and is as if it had never been.  Each writer has a
 * connection of its own, which may not be there again at once. */
static bool is_returned(struct store *s)
{
    struct task task = { 0 };
    int64_t moved = 0, more = 0, until = clock_mono_us() + 30 * CLOCK_S;
    struct err err = { 0 };
    size_t count = 0;

    while (!lease_return(s, &moved, &err) && clock_mono_us() < until)
        clock_sleep_us(50 * CLOCK_MS);
    while (!task_claim(s, QUEUE_INTAKE, 1, CLOCK_S, &task, &count, &err) && clock_mono_us() < until)
        clock_sleep_us(50 * CLOCK_MS);
    bool ok =
        moved == 1 && count == 1 && task.attempts == 1 && lease_return(s, &more, &err) && more == 0;

    if (!ok)
        printf("moved %lld, then %lld; claimed %zu at attempt %lld: %s\n", (long long)moved,
               (long long)more, count, (long long)task.attempts, err.text);
    store_close(s);
    return ok;
}

/* As accept_two, but from the first COMMIT on nobody gets a new connection. */
CHILD(accept_in_doubt)
{
    struct store *s = open_store(h);
    struct accept_op op = doc_of(STR("x"));
    int64_t from = clock_mono_us();

    if (s == NULL || !allow_connections(arg, false))
        return 1;
    op.claim_wanted = true;
    bool ok = accept_doc(s, &op);

    printf("ok %d kind %d\n", ok, (int)op.op.err.kind);
    if (!allow_connections(arg, true) || clock_mono_us() - from > 60 * CLOCK_S)
        return 2;
    return is_returned(s) ? 0 : 3;
}

/* The same for a claim of what waits. */
CHILD(claim_in_doubt)
{
    struct store *s = open_store(h);
    struct task task;
    struct err err = { 0 };
    size_t count = 0;

    if (s == NULL || !allow_connections(arg, false))
        return 1;
    bool ok = task_claim(s, QUEUE_INTAKE, 1, INT64_C(3600) * CLOCK_S, &task, &count, &err);

    printf("ok %d kind %d\n", ok, (int)err.kind);
    if (!allow_connections(arg, true))
        return 2;
    return is_returned(s) ? 0 : 3;
}

/* proves: IN7 XC5 */
TEST(postgres_a_commit_nobody_can_ask_about_is_uncertain)
{
    AUTO(buf_done) struct buf said = BUF_INIT(10000);
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    char database[100], want[40];

    CHECK(s != NULL);
    store_close(s);
    (void)ask_text(&h, "SELECT current_database()", database, sizeof database);
    CHECK(ended_well(run_child("accept_in_doubt", &h, "commit.sent:error:2", database, &said)));
    (void)snprintf(want, sizeof want, "ok 0 kind %d\n", (int)ERR_UNCERTAIN);
    CHECK(strcmp(said.ptr, want) == 0);
    CHECK(ask(&h, "SELECT count(*) FROM doc") == 1); /* it was done, as it happens */
}

/* proves: QC5 XC5 */
TEST(postgres_a_claim_nobody_can_ask_about_goes_back)
{
    AUTO(buf_done) struct buf said = BUF_INIT(10000);
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op op = doc_of(STR("x"));
    char database[100], want[40];

    CHECK(s != NULL && accept_doc(s, &op)); /* not by the child: its terms are a commit, sometime */
    store_close(s);
    (void)ask_text(&h, "SELECT current_database()", database, sizeof database);
    int status = run_child("claim_in_doubt", &h, "commit.sent:error:2", database, &said);

    if (!ended_well(status))
        printf("# %s\n", said.ptr);
    CHECK(ended_well(status));
    (void)snprintf(want, sizeof want, "ok 0 kind %d\n", (int)ERR_UNCERTAIN);
    CHECK(strcmp(said.ptr, want) == 0);
}

/* proves: XC5 */
TEST(postgres_while_the_database_is_away_senders_are_refused_at_once)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    char database[100];
    int refused = 0;

    CHECK(s != NULL && accept_many(s, 0, 5, 5));
    (void)ask_text(&h, "SELECT current_database()", database, sizeof database);
    CHECK(allow_connections(database, false) && end_sessions(database));
    int64_t from = clock_mono_us();

    for (int i = 0; i < 200; i++) {
        struct accept_op op = doc_of(STR("x"));

        refused += !accept_doc(s, &op) && op.op.err.kind == ERR_TRANSIENT;
    }
    int64_t took = clock_mono_us() - from;

    CHECK(allow_connections(database, true));
    CHECK(refused == 200 && took < 3 * CLOCK_S);
    clock_sleep_us(250 * CLOCK_MS);
    CHECK(accept_many(s, 0, 5, 5) && places(s).ready == 10);
    store_close(s);
}

STORE_TEST_MAIN
