/* Groups that fail: who is told, and what stays. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/auto.h"
#include "store_test.h"

/* An operation that the database refuses: a dead task without a code. */
static bool guilty_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    (void)ops;
    for (size_t i = 0; i < count; i++)
        if (!db_send(w->db, SQL_TASK_DEAD_PUT,
                     DB_ARGS(db_int(1), db_int(1), db_int(1), db_int(1), db_null(),
                             db_text(STR("no code")), db_int(1), db_int(0), db_int(0)),
                     err))
            return false;
    return true;
}

static const struct store_verb guilty_verb = { .name = "guilty", .run = guilty_run };

/* proves: PR11 */
TEST(a_guilty_operation_fails_alone)
{
    enum { COUNT = 101 };
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    static struct accept_op ops[COUNT];
    int failed = 0;

    CHECK(s != NULL);
    for (int place = 0; place < 3; place++) {
        int at = place * (COUNT / 2);

        for (int i = 0; i < COUNT; i++)
            ops[i] = doc_of(STR("innocent"));
        ops[at].op.verb = &guilty_verb;
        CHECK(!accept_docs(s, ops, COUNT));
        for (int i = 0; i < COUNT; i++)
            failed += !ops[i].op.ok;
        CHECK(failed == place + 1 && !ops[at].op.ok);
        CHECK(ops[at].op.err.kind == ERR_PERMANENT);
        CHECK(strstr(ops[at].op.err.text, "task_dead_put") != NULL);
    }
    CHECK(ask(&h, "SELECT count(*) FROM doc") == 3 * (COUNT - 1));
    CHECK(ask(&h, "SELECT count(DISTINCT num) FROM doc") == 3 * (COUNT - 1));
    CHECK(ask(&h, "SELECT count(*) FROM task_ready") == 3 * (COUNT - 1));
    CHECK(ask(&h, "SELECT CAST(sum(n) AS BIGINT) FROM tally WHERE node_id <> 0") ==
          3 * (COUNT - 1));
    CHECK(ask(&h, "SELECT count(*) FROM task_dead") == 0);
    for (int i = 0; i < COUNT - 1; i++)
        CHECK(payload_is(s, &ops[i], STR("innocent")));
    store_close(s);
}

TEST(a_group_of_the_guilty_stores_nothing)
{
    enum { COUNT = 9 };
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op ops[COUNT];

    CHECK(s != NULL);
    for (int i = 0; i < COUNT; i++) {
        ops[i] = doc_of(STR("x"));
        ops[i].op.verb = &guilty_verb;
    }
    CHECK(!accept_docs(s, ops, COUNT));
    for (int i = 0; i < COUNT; i++)
        CHECK(!ops[i].op.ok && ops[i].op.err.kind == ERR_PERMANENT);
    CHECK(accept_many(s, 0, 3, 3) && ask(&h, "SELECT count(*) FROM doc") == 3);
    store_close(s);
}

/* Whoever has a transaction open keeps others from writing, and from emptying the log, on SQLite;
 * on PostgreSQL the server knows, and would itself end it after 4 s. */
static bool nothing_is_open(const struct home *h)
{
    static const char idle[] =
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'waybill' AND datname = "
        "current_database() AND state LIKE 'idle in transaction%'";

    if (on_sqlite())
        return tell(h, "BEGIN IMMEDIATE; ROLLBACK") &&
               ask(h, "PRAGMA wal_checkpoint(TRUNCATE)") == 0;
    for (int i = 0; i < 100; i++) {
        if (ask(h, idle) == 0)
            return true;
        clock_sleep_us(20 * CLOCK_MS);
    }
    return false;
}

/* It has written when it fails. */
static bool half_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    (void)ops, (void)count;
    return db_send(w->db, SQL_MARK_SET, DB_ARGS(db_text(STR("word")), db_int(77)), err) &&
           err_set(err, ERR_PERMANENT, 0, "half of it");
}

static const struct store_verb half_verb = { .name = "half", .run = half_run };

/* proves: PR14 */
TEST(whatever_fails_no_transaction_stays_open)
{
    enum { COUNT = 9 };
    static const struct store_verb *const verbs[] = { &guilty_verb, &half_verb };
    AUTO(buf_done) struct buf bytes = BUF_INIT(1000);
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op ops[COUNT];
    struct err err = { 0 };

    CHECK(s != NULL);
    for (size_t v = 0; v < sizeof verbs / sizeof *verbs; v++)
        for (size_t count = 1; count <= COUNT; count += COUNT - 1) {
            for (size_t i = 0; i < count; i++)
                ops[i] = doc_of(STR("x"));
            ops[count / 2].op.verb = verbs[v];
            CHECK(!accept_docs(s, ops, count) && !ops[count / 2].op.ok);
            CHECK(nothing_is_open(&h));
        }
    CHECK(ask(&h, "SELECT count(*) FROM mark WHERE value = 77") == 0);
    struct payload_source nowhere = source_of(&ops[0]);

    nowhere.num += 1000000;
    nowhere.place.pos += 1000000;
    CHECK(!read_payload(s, &nowhere, &bytes, &err) && err.text[0] != '\0');
    CHECK(nothing_is_open(&h));
    CHECK(accept_many(s, 0, 3, 3));
    store_close(s);
}

static _Atomic size_t apart_most, apart_runs;
static _Atomic int64_t apart_seen;

static bool apart_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    int64_t seen;

    (void)ops;
    apart_runs++;
    if (count > apart_most)
        apart_most = count;
    if (!db_one_int(w->db, SQL_DOC_SLICE, DB_ARGS(db_int(0), db_int(1000)), 0, &seen, err))
        return false;
    apart_seen = seen;
    return true;
}

static const struct store_verb apart_verb = { .name = "apart", .run = apart_run, .apart = true };

TEST(an_operation_that_stands_apart_has_a_group_of_its_own)
{
    enum { COUNT = 9, FIRST = 3 };
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op ops[COUNT];

    CHECK(s != NULL);
    for (int i = 0; i < COUNT; i++)
        ops[i] = doc_of(STR("x"));
    ops[FIRST].op.verb = ops[FIRST + 1].op.verb = ops[COUNT - 1].op.verb = &apart_verb;
    apart_most = apart_runs = 0;
    CHECK(accept_docs(s, ops, COUNT));
    CHECK(apart_most == 1 && apart_runs == 3);
    CHECK(ask(&h, "SELECT count(*) FROM doc") == COUNT - 3);
    if (!on_postgres()) /* one writer: in their order */
        CHECK(apart_seen == COUNT - 3);
    store_close(s);
}

static _Atomic int told;
static struct store *asked;
static struct store_op second;

static bool nothing_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    (void)w, (void)ops, (void)count, (void)err;
    return true;
}

static const struct store_verb nothing_verb = { .name = "nothing", .run = nothing_run };

static void slowly_told(struct store_op *op)
{
    clock_sleep_us(50 * CLOCK_MS);
    told++;
    if (op != &second)
        writers_submit_always(store_writers(asked), &second, &second, 1);
}

/* Whichever writer has it, and what follows from it, too. */
TEST(drained_is_everything_told)
{
    struct home h = fresh_home();
    struct store_op first = { .verb = &nothing_verb, .done = slowly_told };

    asked = open_store(&h);
    CHECK(asked != NULL);
    second = (struct store_op){ .verb = &nothing_verb, .done = slowly_told };
    writers_submit_always(store_writers(asked), &first, &first, 1);
    writers_drain(store_writers(asked));
    CHECK(told == 2);
    writers_drain(store_writers(asked));
    store_close(asked);
}

/* ---- with faults ---- */

/* Accepts arg groups of 8, says how many operations were stored and why others were not. */
CHILD(accept_groups)
{
    struct store *s = open_store(h);
    int stored = 0;

    for (int g = 0; s != NULL && g < (int)strtol(arg, NULL, 10); g++) {
        struct accept_op ops[8];

        for (int i = 0; i < 8; i++)
            ops[i] = doc_of(STR("with a payload"));
        (void)accept_docs(s, ops, 8);
        for (int i = 0; i < 8; i++) {
            stored += ops[i].op.ok;
            if (!ops[i].op.ok)
                printf("group %d: kind %d sys %d: %s\n", g, (int)ops[i].op.err.kind,
                       ops[i].op.err.sys, ops[i].op.err.text);
            else if (!payload_is(s, &ops[i], STR("with a payload")))
                printf("payload of %d differs\n", i);
        }
        if (!nothing_is_open(h))
            printf("a transaction is open\n");
    }
    store_close(s);
    printf("stored %d\n", stored);
    return 0;
}

static bool migrated(const struct home *h)
{
    struct store *s = open_store(h);

    store_close(s);
    return s != NULL;
}

/* The first commit of the child is its registration, the second its first group. */
TEST(a_commit_that_fails_once_is_run_again_in_halves)
{
    AUTO(buf_done) struct buf said = BUF_INIT(10000);
    struct home h = fresh_home();

    CHECK(migrated(&h));
    CHECK(ended_well(run_child("accept_groups", &h, "group.commit:error:2", "2", &said)));
    CHECK(strcmp(said.ptr, "stored 16\n") == 0);
    CHECK(ask(&h, "SELECT count(*) FROM doc") == 16);
    CHECK(ask(&h, "SELECT CAST(sum(n) AS BIGINT) FROM tally WHERE node_id <> 0") == 16);
}

/* proves: IN1 */
TEST(an_operation_that_is_refused_fails_alone)
{
    AUTO(buf_done) struct buf said = BUF_INIT(10000);
    struct home h = fresh_home();

    CHECK(migrated(&h));
    CHECK(ended_well(run_child("accept_groups", &h, "operation:error:3", "2", &said)));
    CHECK(strstr(said.ptr, "stored 15\n") != NULL && strstr(said.ptr, "refused") != NULL);
    CHECK(ask(&h, "SELECT count(*) FROM doc") == 15);
}

/* proves: IN1 XC2 */
TEST(sqlite_a_full_payload_disk_refuses_the_group_and_no_more)
{
    AUTO(buf_done) struct buf said = BUF_INIT(10000);
    struct home h = fresh_home();
    char want[100];

    CHECK(ended_well(run_child("accept_groups", &h, "segment.write:error:2", "3", &said)));
    CHECK(strstr(said.ptr, "stored 16\n") != NULL);
    (void)snprintf(want, sizeof want, "group 1: kind %d sys %d: write payload: no space left",
                   (int)ERR_LIMIT, ENOSPC);
    CHECK(strstr(said.ptr, want) != NULL && strstr(said.ptr, "payload of") == NULL);
    CHECK(ask(&h, "SELECT count(*) FROM doc") == 16);
    CHECK(ask(&h, "SELECT count(*) FROM task_ready") == 16);
}

/* proves: IN1 XC2 */
TEST(sqlite_a_payload_disk_that_stays_full_refuses_everything)
{
    AUTO(buf_done) struct buf said = BUF_INIT(10000);
    struct home h = fresh_home();

    CHECK(ended_well(run_child("accept_groups", &h, "segment.write:error:0", "2", &said)));
    CHECK(strstr(said.ptr, "stored 0\n") != NULL);
    CHECK(ask(&h, "SELECT count(*) FROM doc") == 0);
    struct store *s = open_store(&h);

    CHECK(s != NULL && accept_many(s, 0, 4, 4)); /* space is back */
    store_close(s);
}

/* proves: XC1 */
TEST(sqlite_a_failed_sync_ends_the_process_with_nothing_told)
{
    static const char *const faults[] = { "segment.sync:error:2", "db.sync:error:20" };

    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        AUTO(buf_done) struct buf said = BUF_INIT(10000);
        struct home h = fresh_home();
        int status = run_child("accept_groups", &h, faults[i], "200", &said);

        CHECK((status & 0x7f) == 0 && status >> 8 == 74);
        CHECK(strstr(said.ptr, "stored") == NULL);
        struct store *s = open_store(&h);

        CHECK(s != NULL && ask(&h, "SELECT count(*) FROM doc") % 8 == 0);
        CHECK(accept_many(s, 0, 8, 8));
        store_close(s);
    }
}

STORE_TEST_MAIN
