#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/chance.h"
#include "store/payload/payload.h"
#include "store_test.h"

static bool doc_is_visible(struct store *s, const struct accept_op *op)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct document d;
    struct err err = { 0 };

    return document_get(s, &op->id, &a, &d, &err) && d.source.num == op->num &&
           d.source.size == op->size && digest_same(&d.source.sha256, &op->sha256) &&
           d.source.place.seg == op->place.seg && d.source.place.pos == op->place.pos &&
           d.gateway == op->gateway && d.caller == op->caller && d.config == op->config &&
           d.received_us == op->received_us && str_eq(d.name, op->name) &&
           str_eq(d.ctype, op->ctype) && str_eq(d.head, op->head) && str_is(d.state, "received");
}

/* proves: EN1 EN2 */
TEST(what_is_accepted_is_there_whole)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op op = doc_of(STR("hello"));

    CHECK(s != NULL);
    op.gateway = 7;
    op.caller = 8;
    op.config = 9;
    op.name = STR("r\xc3\xa9sum\xc3\xa9.txt");
    op.head = str_mem("a\0b\xff", 4);
    CHECK(accept_doc(s, &op));
    CHECK(op.result == ACCEPT_STORED && op.num > 0 && id_row(&op.id) == op.num);
    CHECK(doc_is_visible(s, &op));
    CHECK(payload_is(s, &op, STR("hello")));
    CHECK(places(s).ready == 1);
    store_close(s);
    s = open_store(&h);
    CHECK(s != NULL && doc_is_visible(s, &op) && payload_is(s, &op, STR("hello")));
    store_close(s);
}

TEST(what_a_sender_leaves_out_stays_out)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op op = doc_of(STR(""));

    CHECK(s != NULL);
    op.ctype = STR("");
    CHECK(accept_doc(s, &op));
    CHECK(doc_is_visible(s, &op) && payload_is(s, &op, STR("")));
    CHECK(
        ask(&h, "SELECT count(*) FROM doc WHERE name IS NULL AND ctype IS NULL AND head IS NULL") ==
        1);
    store_close(s);
}

TEST(an_unknown_id_is_no_error)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op op = doc_of(STR("x"));
    struct document d;
    struct err err = { 0 };

    CHECK(s != NULL && accept_doc(s, &op));
    struct id other = id_make(op.received_us, op.num, 12345), none = id_make(1, 999999, 1);

    CHECK(!document_get(s, &other, &a, &d, &err) && err.kind == ERR_NONE);
    CHECK(!document_get(s, &none, &a, &d, &err) && err.kind == ERR_NONE);
    store_close(s);
}

/* More than one statement and more than one segment can hold. */
TEST(a_group_of_large_payloads_is_stored)
{
    enum { COUNT = 11, SIZE = SEGMENT_PAYLOAD_MOST };
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op ops[COUNT];
    char *bodies = malloc((size_t)COUNT * SIZE);
    bool same = true;

    CHECK(s != NULL);
    chance_bytes(bodies, (size_t)COUNT * SIZE);
    for (int i = 0; i < COUNT; i++)
        ops[i] =
            doc_of(str_mem(bodies + (size_t)i * SIZE, i % 3 == 0 ? SIZE : SIZE / 2 + (size_t)i));
    if (!accept_docs(s, ops, COUNT))
        printf("# accept: %s\n", ops[0].op.err.text);
    for (int i = 0; i < COUNT; i++)
        same = same && payload_is(s, &ops[i], ops[i].body);
    CHECK(same);
    free(bodies);
    store_close(s);
}

TEST(a_group_of_thousands_is_stored)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);

    CHECK(s != NULL && accept_many(s, 0, 9000, 9000));
    CHECK(places(s).ready == 9000);
    CHECK(ask(&h, "SELECT count(*) FROM doc") == 9000);
    CHECK(ask(&h, "SELECT count(DISTINCT id) FROM doc") == 9000);
    store_close(s);
}

/* Groups with many gateways, so that the counts of one are written in parts. */
TEST(the_tally_equals_the_count)
{
    enum { COUNT = 200 };
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    static struct accept_op ops[COUNT];

    CHECK(s != NULL);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < COUNT; i++) {
            ops[i] = doc_of(STR("counted"));
            ops[i].gateway = 1 + i % (round == 0 ? 3 : 70);
        }
        CHECK(accept_docs(s, ops, COUNT));
    }
    store_close(s);
    s = open_store(&h);
    CHECK(s != NULL && accept_many(s, 0, 10, 10));
    store_close(s);
    CHECK(ask(&h, "SELECT CAST(sum(n) AS BIGINT) FROM tally WHERE kind = 1") == 3 * COUNT + 10);
    CHECK(ask(&h,
              "SELECT count(*) FROM (SELECT gateway, count(*) AS n FROM doc GROUP BY gateway) d "
              "LEFT JOIN (SELECT word, sum(n) AS n FROM tally WHERE kind = 1 GROUP BY word) t "
              "ON t.word = d.gateway WHERE t.n IS NULL OR t.n <> d.n") == 0);
}

TEST(numbers_are_never_given_twice_over_restarts)
{
    struct home h = fresh_home();
    int64_t highest = 0;

    for (int i = 0; i < 5; i++) {
        struct store *s = open_store(&h);
        struct accept_op op = doc_of(STR("x"));

        CHECK(s != NULL && accept_many(s, 0, 300, 100) && accept_doc(s, &op));
        CHECK(on_postgres() || op.num > highest);
        highest = op.num;
        store_close(s);
    }
    CHECK(ask(&h, "SELECT count(*) FROM doc") == 5 * 301);
    CHECK(ask(&h, "SELECT count(DISTINCT num) FROM doc") == 5 * 301);
    CHECK(ask(&h, "SELECT count(*) FROM task_ready") == 5 * 301);
}

CHILD(accept_some)
{
    struct store *s = open_store(h);
    bool ok = s != NULL && accept_many(s, 0, 2500, 50);

    (void)arg;
    store_close(s);
    return ok ? 0 : 1;
}

TEST(postgres_numbers_of_several_nodes_differ)
{
    enum { NODES = 3 };
    struct home h = fresh_home(), homes[NODES];
    struct running r[NODES];
    int well = 0;

    for (int i = 0; i < NODES; i++) {
        homes[i] = home_beside(&h);
        r[i] = start_child("accept_some", &homes[i], NULL, NULL);
    }
    for (int i = 0; i < NODES; i++)
        well += ended_well(end_child(&r[i], NULL));
    CHECK(well == NODES);
    CHECK(ask(&h, "SELECT count(DISTINCT num) FROM doc") == NODES * 2500);
    CHECK(ask(&h, "SELECT CAST(sum(n) AS BIGINT) FROM tally WHERE kind = 1") == NODES * 2500);
}

/* proves: IN10 */
TEST(a_full_queue_refuses_and_takes_nothing)
{
    struct home h = fresh_home();
    struct store_options o = options_of(&h);
    struct store *s = NULL;
    struct err err = { 0 };
    struct accept_op ops[20];

    o.queue_most = 10;
    CHECK(store_open(&o, &s, &err));
    for (int i = 0; i < 20; i++)
        ops[i] = doc_of(STR("x"));
    CHECK(!accept_docs(s, ops, 11));
    CHECK(accept_docs(s, ops, 10));
    CHECK(writers_waiting(store_writers(s)) == 0);
    CHECK(ask(&h, "SELECT count(*) FROM doc") == 10);
    store_close(s);
}

/* ---- large payloads ---- */

static bool upload(struct store *s, struct str bytes, size_t step, struct payload_ref *ret)
{
    struct upload *u = NULL;
    struct err err = { 0 };
    bool ok = upload_open(s, &u, &err);

    for (size_t at = 0; ok && at < bytes.len; at += step) {
        size_t n = bytes.len - at < step ? bytes.len - at : step;

        ok = upload_add(u, str_mem(bytes.ptr + at, n), &err);
    }
    ok = ok && upload_finish(u, ret, &err);
    upload_close(u);
    if (!ok)
        printf("# upload: %s\n", err.text);
    return ok;
}

TEST(a_large_payload_is_uploaded_and_adopted)
{
    enum { SIZE = 3000000 };
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    char *bytes = malloc(SIZE);
    struct str body = str_mem(bytes, SIZE);

    CHECK(s != NULL);
    chance_bytes(bytes, SIZE);
    struct accept_op op = doc_of(body);

    op.is_spooled = true;
    op.body = STR("");
    CHECK(upload(s, body, 100000, &op.spooled));
    CHECK(accept_doc(s, &op) && payload_is(s, &op, body));
    store_close(s);
    s = open_store(&h);
    CHECK(s != NULL && payload_is(s, &op, body));
    store_close(s);
    free(bytes);
}

/* An upload belongs to one document: a second one that names it is refused alone. */
TEST(postgres_an_upload_is_adopted_once)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op ops[3];

    CHECK(s != NULL);
    for (int i = 0; i < 3; i++) {
        ops[i] = doc_of(STR("0123456789"));
        ops[i].is_spooled = i != 1;
    }
    CHECK(upload(s, STR("0123456789"), 3, &ops[0].spooled));
    ops[2].spooled = ops[0].spooled;
    CHECK(!accept_docs(s, ops, 3));
    CHECK(ops[0].op.ok && ops[1].op.ok && !ops[2].op.ok);
    CHECK(strstr(ops[2].op.err.text, "upload_adopt") != NULL);
    CHECK(ask(&h, "SELECT count(*) FROM doc") == 2);
    store_close(s);
}

/* ---- damage ---- */

static bool flip_byte(const struct home *h, const struct accept_op *op, int64_t at)
{
    char path[400], byte;

    (void)snprintf(path, sizeof path, "%s/payload/%lld.seg", h->folder, (long long)op->place.seg);
    AUTO_FD fd = open(path, O_RDWR | O_CLOEXEC);

    if (fd < 0 || pread(fd, &byte, 1, op->place.pos + at) != 1)
        return false;
    byte = (char)(byte ^ 1);
    return pwrite(fd, &byte, 1, op->place.pos + at) == 1;
}

static bool damage(const struct home *h, const struct accept_op *op)
{
    char sql[200];

    if (on_sqlite())
        return flip_byte(h, op, 104 + 2);
    (void)snprintf(sql, sizeof sql,
                   "UPDATE payload SET bytes = set_byte(bytes, 2, get_byte(bytes, 2) # 1) "
                   "WHERE num = %lld",
                   (long long)op->num);
    return tell(h, sql);
}

static bool lose(const struct home *h, const struct accept_op *op)
{
    char text[400];

    if (on_sqlite()) {
        (void)snprintf(text, sizeof text, "%s/payload/%lld.seg", h->folder,
                       (long long)op->place.seg);
        return unlink(text) == 0;
    }
    (void)snprintf(text, sizeof text, "DELETE FROM payload WHERE num = %lld", (long long)op->num);
    return tell(h, text);
}

/* proves: EN5 XC4 */
TEST(a_damaged_payload_is_never_given_out)
{
    AUTO(buf_done) struct buf got = BUF_INIT(1000);
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op ops[3] = { doc_of(STR("first")), doc_of(STR("second")), doc_of(STR("third")) };
    struct err err = { 0 };

    CHECK(s != NULL && accept_docs(s, ops, 3));
    CHECK(damage(&h, &ops[1]));
    struct payload_source source = source_of(&ops[1]);

    CHECK(!read_payload(s, &source, &got, &err));
    CHECK(err.kind == ERR_PERMANENT && strstr(err.text, "damaged") != NULL && got.len == 0);
    CHECK(payload_is(s, &ops[0], STR("first")) && payload_is(s, &ops[2], STR("third")));
    store_close(s);
}

/* proves: EN5 XC4 */
TEST(sqlite_a_damaged_header_is_noticed)
{
    AUTO(buf_done) struct buf got = BUF_INIT(1000);
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op op = doc_of(STR("body"));
    struct payload_source source;

    CHECK(s != NULL && accept_doc(s, &op));
    source = source_of(&op);
    for (int64_t at = 0; at < 96; at += 5) {
        struct err err = { 0 };

        CHECK(flip_byte(&h, &op, at));
        CHECK(!read_payload(s, &source, &got, &err) && err.kind == ERR_PERMANENT);
        CHECK(flip_byte(&h, &op, at));
    }
    CHECK(payload_is(s, &op, STR("body")));
    store_close(s);
}

TEST(a_payload_that_is_gone_is_said_to_be)
{
    AUTO(buf_done) struct buf got = BUF_INIT(1000);
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op op = doc_of(STR("body"));
    struct err err = { 0 };

    CHECK(s != NULL && accept_doc(s, &op) && lose(&h, &op));
    struct payload_source source = source_of(&op);

    CHECK(!read_payload(s, &source, &got, &err));
    CHECK(err.kind == ERR_PERMANENT && err.sys == ENOENT);
    store_close(s);
}

/* A place that belongs to another document is not read for this one. */
TEST(sqlite_a_wrong_place_gives_nothing)
{
    AUTO(buf_done) struct buf got = BUF_INIT(1000);
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op ops[2] = { doc_of(STR("mine")), doc_of(STR("yours")) };
    struct err err = { 0 };

    CHECK(s != NULL && accept_docs(s, ops, 2));
    struct payload_source source = source_of(&ops[0]);

    source.place = ops[1].place;
    CHECK(!read_payload(s, &source, &got, &err) && err.kind == ERR_PERMANENT);
    store_close(s);
}

STORE_TEST_MAIN
