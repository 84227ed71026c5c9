/* Commit 2: what came of a run, or of an attempt of a delivery. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/auto.h"
#include "one_delivery.h"
#include "store/road/claims.h"
#include "store/road/done.h"
#include "store_test.h"

enum { MANY = 100 };
#define HOUR_US (INT64_C(3600) * CLOCK_S)

static struct buf lines_of(const char *message)
{
    struct buf b = BUF_INIT(8192);
    struct timeline_line line = { .at_us = 1,
                                  .node = 1,
                                  .stage = TIMELINE_DELIVERY,
                                  .outcome = TIMELINE_DELIVERED,
                                  .took_us = 5,
                                  .what = STR("salsify-api"),
                                  .message = str_of(message) };

    timeline_add(&b, &line);
    return b;
}

/* How many lines a timeline has; -1 when it is damaged. */
static int lines_in(struct str timeline)
{
    struct timeline_reader r = timeline_read(timeline);
    struct timeline_line line;
    bool damaged = false;
    int n = 0;

    while (timeline_next(&r, &line, &damaged))
        n++;
    return damaged ? -1 : n;
}

static bool get(struct store *s, const struct id *id, struct arena *a, struct document *d)
{
    struct err err = { 0 };

    if (document_get(s, id, a, d, &err))
        return true;
    printf("# document: %s\n", err.text);
    return false;
}

static int64_t ended(const struct home *h, int64_t keep_days)
{
    char sql[80];

    (void)snprintf(sql, sizeof sql, "SELECT count(*) FROM done_%lld",
                   (long long)done_day(keep_days));
    return ask(h, sql);
}

static int64_t claimed_rows(const struct home *h)
{
    return ask(h,
               on_sqlite() ? "SELECT count(*) FROM task_ready" : "SELECT count(*) FROM task_lease");
}

/* proves: EN1 EN4 */
TEST(everything_delivered_in_one_run_moves_the_document)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    AUTO(buf_done) struct buf timeline = lines_of("200");
    static struct accept_op docs[MANY];
    static struct settle_op ops[MANY];
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct document d;

    CHECK(s != NULL && born_docs(s, docs, MANY));
    CHECK(claimed_rows(&h) == MANY);
    for (int i = 0; i < MANY; i++) {
        ops[i] = settle_of(&docs[i].task, docs[i].num, SETTLE_OVER);
        ops[i].has_facts = true;
        ops[i].sender = 21;
        ops[i].receiver = 22;
        ops[i].type = 23;
        ops[i].route = 24;
        ops[i].facts = STR("facts");
        ops[i].config = 7;
        ops[i].timeline = buf_view(&timeline);
    }
    CHECK(settle_ops(s, ops, MANY));
    CHECK(ops[0].over && ops[MANY - 1].over);
    CHECK(ask(&h, "SELECT count(*) FROM doc") == 0 && ended(&h, 45) == MANY);
    CHECK(claimed_rows(&h) == 0 && ask(&h, "SELECT count(*) FROM delivery") == 0);
    CHECK(ask(&h, "SELECT CAST(sum(n) AS BIGINT) FROM tally WHERE kind = 2 AND word = 6") == MANY);
    CHECK(get(s, &docs[3].id, &a, &d));
    CHECK(d.is == DOCUMENT_DELIVERED && str_is(d.state, "delivered") && d.sender == 21 &&
          d.receiver == 22 && d.type == 23 && d.route == 24 && d.config == 7);
    CHECK(str_is(d.facts, "facts") && lines_in(d.timeline) == 1 && d.updated_us >= d.received_us);
    CHECK(payload_is(s, &docs[3], STR("born")));
    CHECK(!settle_ops(s, ops, 1) && ops[0].op.ok && !ops[0].ours); /* the claim is gone */
    store_close(s);
}

TEST(a_claim_that_was_lost_settles_nothing)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op doc;
    struct task t[2];

    CHECK(s != NULL && born_docs(s, &doc, 1));
    struct settle_op stale = settle_of(&doc.task, doc.num, SETTLE_OVER);

    CHECK(claim(s, 1, t) == 0); /* nobody else gets it */
    CHECK(give_back(s, &doc.task));
    CHECK(claim(s, 2, t) == 1 && t[0].id == doc.num && t[0].claim != doc.task.claim);
    CHECK(!settle_ops(s, &stale, 1) && stale.op.ok && !stale.ours && !stale.over);
    CHECK(ask(&h, "SELECT count(*) FROM doc") == 1 && claimed_rows(&h) == 1);
    struct settle_op good = settle_of(&t[0], doc.num, SETTLE_OVER);

    CHECK(settle_ops(s, &good, 1) && ended(&h, 45) == 1);
    store_close(s);
}

TEST(a_claim_at_birth_is_claimable_again_after_a_restart)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op doc;
    struct task t[2];

    CHECK(s != NULL && born_docs(s, &doc, 1) && claim(s, 2, t) == 0);
    store_close(s);
    s = open_store(&h);
    CHECK(s != NULL && claim(s, 2, t) == 1 && t[0].id == doc.num);
    store_close(s);
}

TEST(a_repeated_key_gets_no_claim)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct err err = { 0 };
    struct accept_op ops[2];

    CHECK(s != NULL && accept_keep_tables(s, HOUR_US, &err));
    for (int i = 0; i < 2; i++) {
        ops[i] = keyed_doc(STR("same"), "key", HOUR_US);
        ops[i].claim_wanted = true;
    }
    CHECK(accept_docs(s, ops, 2));
    CHECK(ops[0].claimed != ops[1].claimed && claimed_rows(&h) == 1);
    CHECK((ops[0].claimed ? ops[0] : ops[1]).result == ACCEPT_STORED);
    store_close(s);
}

/* ---- deliveries ---- */

static int64_t lane(struct store *s, int64_t system, int64_t endpoint)
{
    struct err err = { 0 };
    int64_t queue = -1;

    return queue_for(s, system, endpoint, &queue, &err) ? queue : -1;
}

TEST(lanes_are_queues_of_their_own)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int64_t a = lane(s, 5, 6), b = lane(s, 6, 5), system, endpoint, queues[8];
    struct err err = { 0 };
    struct accept_op doc;
    size_t n = 9;

    CHECK(a > QUEUE_DELIVERIES && b > QUEUE_DELIVERIES && a != b && lane(s, 5, 6) == a);
    CHECK(queue_target(s, b, &system, &endpoint) && system == 6 && endpoint == 5);
    CHECK(!queue_target(s, QUEUE_INTAKE, &system, &endpoint));
    CHECK(!queue_target(s, b + 77, &system, &endpoint));
    CHECK(queues_with_work(s, 0, queues, 8, &n, &err) && n == 0);
    CHECK(born_docs(s, &doc, 1) && accept_many(s, 0, 5, 5));
    struct settle_delivery parts[] = { part_of(STR("D.a"), a, DELIVERY_READY),
                                       part_of(STR("D.b"), b, DELIVERY_READY),
                                       part_of(STR("D.b.2"), b, DELIVERY_READY) };
    struct settle_op op = settle_of(&doc.task, doc.num, SETTLE_DELIVERIES);

    op.parts = parts;
    op.part_count = 3;
    CHECK(settle_ops(s, &op, 1) && !op.over);
    CHECK(queues_with_work(s, 0, queues, 8, &n, &err) && n == 3);
    CHECK(queues[0] == QUEUE_INTAKE && queues[1] == (a < b ? a : b) &&
          queues[2] == (a < b ? b : a));
    CHECK(queues_with_work(s, QUEUE_INTAKE, queues, 1, &n, &err) && n == 1);
    struct task t[4];

    CHECK(task_claim(s, b, 4, LEASE_US, t, &n, &err) && n == 2 && t[0].kind == TASK_DELIVER);
    CHECK(t[0].id == parts[1].num && t[1].id == parts[2].num && t[0].attempts == 2);
    CHECK(task_claim(s, b, 4, LEASE_US, t, &n, &err) && n == 0);
    CHECK(task_claim(s, a, 4, LEASE_US, t, &n, &err) && n == 1 && t[0].id == parts[0].num);
    store_close(s);
}

/* Every state has its row, its task and its share in the document's own state. */
TEST(deliveries_that_stay_have_rows_and_tasks)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    AUTO(buf_done) struct buf timeline = lines_of("503");
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int64_t q = lane(s, 1, 2), due = clock_wall_us() + HOUR_US, moved, next;
    struct settle_delivery parts[] = { part_of(STR("D.a"), q, DELIVERY_READY),
                                       part_of(STR("D.b"), q, DELIVERY_RETRYING),
                                       part_of(STR("D.c"), q, DELIVERY_DEAD),
                                       part_of(STR("D.d"), q, DELIVERY_IN_DOUBT),
                                       part_of(STR("D.e"), q, DELIVERY_DELIVERED) };
    struct delivery got[DELIVERIES_MOST], one;
    struct document d;
    struct accept_op doc;
    struct err err = { 0 };
    size_t n;

    CHECK(s != NULL && born_docs(s, &doc, 1));
    parts[1].due_us = due;
    parts[1].message = parts[2].message = STR("said no");
    parts[1].code = STR("unreached");
    parts[2].code = STR("rejected");
    parts[2].status = 422;
    parts[4].name = STR("order-1.xml");
    struct settle_op op = settle_of(&doc.task, doc.num, SETTLE_DELIVERIES);

    op.parts = parts;
    op.part_count = 5;
    op.timeline = buf_view(&timeline);
    op.has_facts = true;
    op.receiver = 9;
    CHECK(settle_ops(s, &op, 1) && !op.over);
    CHECK(delivery_of_document(s, doc.num, &a, got, &n, &err) && n == 5);
    for (size_t i = 0; i < n; i++)
        CHECK(got[i].num == parts[i].num && got[i].state == parts[i].state &&
              str_eq(got[i].id, parts[i].id) && got[i].endpoint == 31 && got[i].system == 32 &&
              got[i].queue == q && !got[i].has_bytes && got[i].first_us == 1000);
    CHECK(got[1].due_us == due && str_is(got[2].code, "rejected") && got[2].status == 422 &&
          str_is(got[2].message, "said no") && str_is(got[4].name, "order-1.xml"));
    CHECK(delivery_get(s, parts[3].num, &a, &one, &err) && one.state == DELIVERY_IN_DOUBT);
    CHECK(!delivery_get(s, 999999, &a, &one, &err) && err.kind == ERR_NONE);
    struct task_places p = places(s);

    CHECK(p.ready == 1 && p.later == 1 && p.dead == 2 && p.lease == 0);
    CHECK(ask(&h, "SELECT count(*) FROM task_dead WHERE code = 'in_doubt'") == 1);
    CHECK(get(s, &doc.id, &a, &d) && d.is == DOCUMENT_IN_DOUBT && d.receiver == 9);
    CHECK(str_is(d.code, "rejected") && str_is(d.message, "said no") && lines_in(d.timeline) == 1);
    CHECK(task_wake(s, due + 1, 10, &moved, &next, &err) && moved == 1);
    struct task t[4];

    CHECK(task_claim(s, q, 4, LEASE_US, t, &n, &err) && n == 2);
    store_close(s);
}

static bool deliver(struct store *s, const struct task *t, int64_t doc, enum delivery_state to,
                    struct settle_op *op, struct settle_delivery *part)
{
    static struct buf timeline;

    if (timeline.len == 0)
        timeline = lines_of("again");
    *part = part_of(STR(""), t->queue, to);
    part->num = t->id;
    part->attempts = t->attempts;
    *op = settle_of(t, doc, SETTLE_DELIVERIES);
    op->parts = part;
    op->part_count = 1;
    op->timeline = buf_view(&timeline);
    return settle_ops(s, op, 1);
}

/* proves: EN1 */
TEST(the_last_delivery_that_ends_ends_its_document)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int64_t q = lane(s, 1, 2);
    struct settle_delivery parts[] = { part_of(STR("D.a"), q, DELIVERY_READY),
                                       part_of(STR("D.b"), q, DELIVERY_READY),
                                       part_of(STR("D.c"), q, DELIVERY_DELIVERED) },
                           part;
    struct accept_op doc;
    struct settle_op op;
    struct document d;
    struct err err = { 0 };
    struct task t[4];
    size_t n;

    CHECK(s != NULL && born_docs(s, &doc, 1));
    op = settle_of(&doc.task, doc.num, SETTLE_DELIVERIES);
    op.parts = parts;
    op.part_count = 3;
    CHECK(settle_ops(s, &op, 1));
    CHECK(get(s, &doc.id, &a, &d) && d.is == DOCUMENT_ACTIVE);
    CHECK(task_claim(s, q, 4, LEASE_US, t, &n, &err) && n == 2);
    CHECK(deliver(s, &t[0], doc.num, DELIVERY_DELIVERED, &op, &part) && !op.over);
    CHECK(deliver(s, &t[1], doc.num, DELIVERY_RETRYING, &op, &part) && !op.over);
    CHECK(get(s, &doc.id, &a, &d) && d.is == DOCUMENT_RETRYING && lines_in(d.timeline) == 2);
    int64_t moved, next;

    CHECK(task_wake(s, clock_wall_us(), 10, &moved, &next, &err) && moved == 1);
    CHECK(task_claim(s, q, 4, LEASE_US, t, &n, &err) && n == 1 && t[0].attempts == 3);
    CHECK(deliver(s, &t[0], doc.num, DELIVERY_DELIVERED, &op, &part) && op.over);
    CHECK(ask(&h, "SELECT count(*) FROM delivery") == 0 && ended(&h, 45) == 1);
    CHECK(get(s, &doc.id, &a, &d) && d.is == DOCUMENT_DELIVERED && lines_in(d.timeline) == 3);
    CHECK(claimed_rows(&h) == 0);
    CHECK(ask(&h, "SELECT CAST(sum(n) AS BIGINT) FROM tally WHERE kind = 3 AND word = 31") == 3);
    store_close(s);
}

/* Several deliveries of one document, in one group. */
TEST(deliveries_that_end_together_end_their_document_once)
{
    enum { PARTS = 8 };
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    AUTO(buf_done) struct buf timeline = lines_of("200");
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int64_t q = lane(s, 1, 2);
    struct settle_delivery parts[PARTS];
    struct settle_op ops[PARTS];
    struct accept_op doc;
    struct document d;
    struct err err = { 0 };
    struct task t[PARTS];
    size_t n;
    int over = 0;

    CHECK(s != NULL && born_docs(s, &doc, 1));
    for (int i = 0; i < PARTS; i++)
        parts[i] = part_of(STR("D.x"), q, DELIVERY_READY);
    ops[0] = settle_of(&doc.task, doc.num, SETTLE_DELIVERIES);
    ops[0].parts = parts;
    ops[0].part_count = PARTS;
    CHECK(settle_ops(s, ops, 1));
    CHECK(task_claim(s, q, PARTS, LEASE_US, t, &n, &err) && n == PARTS);
    for (int i = 0; i < PARTS; i++) {
        parts[i] = part_of(STR(""), q, DELIVERY_DELIVERED);
        parts[i].num = t[i].id;
        ops[i] = settle_of(&t[i], doc.num, SETTLE_DELIVERIES);
        ops[i].parts = &parts[i];
        ops[i].part_count = 1;
        ops[i].timeline = buf_view(&timeline);
    }
    CHECK(settle_ops(s, ops, PARTS));
    for (int i = 0; i < PARTS; i++)
        over += ops[i].over;
    CHECK(over == 1 && ended(&h, 45) == 1 && ask(&h, "SELECT count(*) FROM delivery") == 0);
    CHECK(get(s, &doc.id, &a, &d) && lines_in(d.timeline) == PARTS);
    store_close(s);
}

struct racer {
    pthread_t thread;
    struct store *store;
    struct task task;
    int64_t doc;
    struct settle_op op;
    struct settle_delivery part;
    bool ok;
};

static void *race(void *arg)
{
    struct racer *r = arg;

    r->part.num = r->task.id;
    r->op = settle_of(&r->task, r->doc, SETTLE_DELIVERIES);
    r->op.parts = &r->part;
    r->op.part_count = 1;
    struct err err = { 0 };

    r->ok = writers_call(store_writers(r->store), &settle_verb, &r->op.op, &err) && r->op.ours;
    return NULL;
}

/* Two nodes end the last two deliveries at the same moment: one of them sees it. */
TEST(postgres_two_nodes_cannot_both_miss_the_end)
{
    enum { ROUNDS = 60 };
    struct home h = fresh_home(), beside = home_beside(&h);
    struct store *s[2] = { open_store(&h), open_store(&beside) };
    int64_t q = lane(s[0], 1, 2);
    struct err err = { 0 };
    size_t n;

    CHECK(s[0] != NULL && s[1] != NULL);
    for (int i = 0; i < ROUNDS; i++) {
        struct settle_delivery parts[2] = { part_of(STR("D.a"), q, DELIVERY_READY),
                                            part_of(STR("D.b"), q, DELIVERY_READY) };
        struct racer r[2] = { 0 };
        struct accept_op doc;

        CHECK(born_docs(s[0], &doc, 1));
        struct settle_op op = settle_of(&doc.task, doc.num, SETTLE_DELIVERIES);

        op.parts = parts;
        op.part_count = 2;
        CHECK(settle_ops(s[0], &op, 1));
        for (int k = 0; k < 2; k++) {
            r[k].store = s[k];
            r[k].doc = doc.num;
            r[k].part = part_of(STR(""), q, DELIVERY_DELIVERED);
            CHECK(task_claim(s[k], q, 1, LEASE_US, &r[k].task, &n, &err) && n == 1);
        }
        for (int k = 0; k < 2; k++)
            CHECK(pthread_create(&r[k].thread, NULL, race, &r[k]) == 0);
        for (int k = 0; k < 2; k++)
            (void)pthread_join(r[k].thread, NULL);
        CHECK(r[0].ok && r[1].ok && r[0].op.over + r[1].op.over == 1);
    }
    CHECK(ask(&h, "SELECT count(*) FROM doc") == 0 && ended(&h, 45) == ROUNDS);
    store_close(s[0]);
    store_close(s[1]);
}

TEST(a_delivery_moves_only_as_it_may)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int64_t q = lane(s, 1, 2);
    struct settle_delivery part = part_of(STR("D.a"), q, DELIVERY_READY);
    struct accept_op docs[3];
    struct settle_op ops[3];
    struct err err = { 0 };
    struct task t;
    size_t n;

    CHECK(s != NULL && born_docs(s, docs, 3));
    ops[0] = settle_of(&docs[0].task, docs[0].num, SETTLE_DELIVERIES);
    ops[0].parts = &part;
    ops[0].part_count = 1;
    CHECK(settle_ops(s, ops, 1));
    CHECK(task_claim(s, q, 1, LEASE_US, &t, &n, &err) && n == 1);
    CHECK(tell(&h, "UPDATE delivery SET state = 5")); /* delivered, behind our back */
    part.state = DELIVERY_RETRYING;
    ops[0] = settle_of(&t, docs[0].num, SETTLE_DELIVERIES);
    ops[0].parts = &part;
    ops[0].part_count = 1;
    part.num = t.id;
    part.is_new = false;
    ops[1] = settle_of(&docs[1].task, docs[1].num, SETTLE_OVER);
    ops[2] = settle_of(&docs[2].task, docs[2].num, SETTLE_OVER);
    CHECK(!settle_ops(s, ops, 3)); /* the guilty one alone is refused */
    CHECK(!ops[0].op.ok && strstr(ops[0].op.err.text, "may not move") != NULL);
    CHECK(ops[1].op.ok && ops[1].over && ops[2].op.ok && ops[2].over);
    struct settle_delivery sending = part_of(STR("D.a"), q, DELIVERY_SENDING);

    CHECK(born_docs(s, docs, 1));
    ops[0] = settle_of(&docs[0].task, docs[0].num, SETTLE_DELIVERIES);
    ops[0].parts = &sending;
    ops[0].part_count = 1;
    CHECK(!settle_ops(s, ops, 1) && !ops[0].op.ok);
    store_close(s);
}

/* ---- bytes ---- */

static bool upload(struct store *s, struct str bytes, struct payload_ref *ret)
{
    struct upload *u = NULL;
    struct err err = { 0 };
    bool ok = upload_open(s, &u, &err) && upload_add(u, bytes, &err) && upload_finish(u, ret, &err);

    upload_close(u);
    return ok;
}

static bool bytes_are(struct store *s, int64_t num, struct str want)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    AUTO(buf_done) struct buf got = BUF_INIT(4 << 20);
    struct delivery d;
    struct err err = { 0 };

    return delivery_get(s, num, &a, &d, &err) && d.has_bytes &&
           read_payload(s, &d.bytes, &got, &err) && str_eq(buf_view(&got), want);
}

TEST(changed_bytes_are_stored_with_their_deliveries)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(4 << 20);
    AUTO(buf_done) struct buf large = BUF_INIT(4 << 20);
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int64_t q = lane(s, 1, 2);
    struct timeline_line step = { .stage = TIMELINE_STEP, .what = STR("replace"), .took_us = 3 };
    struct settle_bytes small = { .bytes = STR("changed"), .size = 7, .line = &step },
                        huge = { .uploaded = true, .line = &step };
    struct settle_delivery parts[] = { part_of(STR("D.a"), q, DELIVERY_READY),
                                       part_of(STR("D.b"), q, DELIVERY_READY),
                                       part_of(STR("D.c"), q, DELIVERY_READY),
                                       part_of(STR("D.d"), q, DELIVERY_READY) };
    struct accept_op doc;
    struct document d;

    while (large.len < 1500000)
        buf_printf(&large, "and very much more of it, it is large ");
    small.sha256 = digest_of(small.bytes);
    huge.size = (int64_t)large.len;
    huge.sha256 = digest_of(buf_view(&large));
    CHECK(s != NULL && born_docs(s, &doc, 1) && upload(s, buf_view(&large), &huge.stored.place));
    parts[0].bytes = parts[1].bytes = &small;
    parts[2].bytes = &huge;
    struct settle_op op = settle_of(&doc.task, doc.num, SETTLE_DELIVERIES);

    op.parts = parts;
    op.part_count = 4;
    CHECK(settle_ops(s, &op, 1));
    CHECK(bytes_are(s, parts[0].num, STR("changed")) && bytes_are(s, parts[1].num, STR("changed")));
    CHECK(bytes_are(s, parts[2].num, buf_view(&large)));
    CHECK(!bytes_are(s, parts[3].num, STR("")) && payload_is(s, &doc, STR("born")));
    CHECK(get(s, &doc.id, &a, &d) && lines_in(d.timeline) == 2);
    struct timeline_reader r = timeline_read(d.timeline);
    struct timeline_line line;
    bool damaged;

    CHECK(timeline_next(&r, &line, &damaged) && line.has_bytes && line.size == 7 &&
          line.seg == small.stored.place.seg && line.num == small.stored.num);
    if (on_postgres())
        CHECK(ask(&h, "SELECT count(*) FROM payload_0") == 2 &&
              ask(&h, "SELECT count(*) FROM payload_upload") == 0);
    else
        CHECK(ask(&h, "SELECT count(*) FROM large") == 1);
    store_close(s);
    s = open_store(&h);
    CHECK(s != NULL && bytes_are(s, parts[1].num, STR("changed")) &&
          bytes_are(s, parts[2].num, buf_view(&large)));
    store_close(s);
}

/* ---- the other ends ---- */

TEST(a_run_that_is_due_again_or_dead)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op docs[3];
    struct settle_op ops[3];
    struct document d;
    struct task t[4];

    CHECK(s != NULL && born_docs(s, docs, 3));
    CHECK(get(s, &docs[1].id, &a, &d) && d.is == DOCUMENT_RECEIVED);
    for (int i = 0; i < 3; i++)
        ops[i] = settle_of(&docs[i].task, docs[i].num, i == 2 ? SETTLE_DEAD : SETTLE_AGAIN);
    ops[1].due_us = clock_wall_us() + HOUR_US;
    ops[1].message = STR("not now");
    ops[2].code = STR("no_route");
    ops[2].message = STR("nothing matches");
    ops[2].has_facts = true;
    ops[2].sender = 4;
    CHECK(settle_ops(s, ops, 3) && !ops[2].over);
    struct task_places p = places(s);

    CHECK(p.ready == 1 && p.later == 1 && p.dead == 1 && p.lease == 0);
    CHECK(claim(s, 4, t) == 1 && t[0].id == docs[0].num && t[0].attempts == 2);
    CHECK(get(s, &docs[1].id, &a, &d) && d.is == DOCUMENT_RETRYING && str_is(d.message, "not now"));
    CHECK(get(s, &docs[2].id, &a, &d) && d.is == DOCUMENT_DEAD && str_is(d.code, "no_route") &&
          str_is(d.message, "nothing matches") && d.sender == 4);
    struct document_filter dead = { .state = STR("dead"), .error = STR("no_route") }, of = { 0 };
    struct document page[4];
    struct err err = { 0 };
    size_t n;
    int64_t next;

    CHECK(document_list(s, &dead, 0, 4, &a, page, &n, &next, &err) && n == 1 &&
          page[0].source.num == docs[2].num);
    of.sender = 4;
    CHECK(document_list(s, &of, 0, 4, &a, page, &n, &next, &err) && n == 1);
    store_close(s);
}

/* The last line of a timeline. */
static struct timeline_line last_line(struct str timeline)
{
    struct timeline_reader r = timeline_read(timeline);
    struct timeline_line line = { 0 };
    bool damaged;

    while (timeline_next(&r, &line, &damaged))
        ;
    return line;
}

/* Whoever finds it full has its middle left out; what happened last is always there. */
TEST(a_trail_keeps_its_end)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(16 << 20);
    AUTO(buf_done)
    struct buf line = lines_of("as long as a message gets when a receiver has "
                               "much to say about a document that it will not "
                               "take, and says so again, and again");
    AUTO(buf_done) struct buf all = BUF_INIT(1 << 20);
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op doc;
    struct document d = { 0 };

    while (all.len <= TIMELINE_MOST)
        buf_put(&all, buf_view(&line));
    CHECK(s != NULL && born_docs(s, &doc, 1));
    for (int i = 1; i <= 6; i++) {
        AUTO(buf_done) struct buf lines = BUF_INIT(1 << 20);
        struct settle_op op = settle_of(&doc.task, doc.num, SETTLE_AGAIN);
        struct task t;

        buf_put(&lines, buf_view(&all));
        timeline_add(&lines, &(struct timeline_line){ .stage = TIMELINE_DELIVERY,
                                                      .outcome = TIMELINE_RETRY,
                                                      .attempt = i });
        op.timeline = buf_view(&lines);
        op.trims = d.timeline.len > TIMELINE_FULL;
        CHECK(settle_ops(s, &op, 1));
        CHECK(get(s, &doc.id, &a, &d) && d.timeline.len < 2 * TIMELINE_MOST &&
              lines_in(d.timeline) > 100 && last_line(d.timeline).attempt == i);
        CHECK(claim(s, 1, &t) == 1);
        doc.task = t;
    }
    store_close(s);
}

/* The line of the attempt names the place of its answer: in a run, and in an attempt of its own. */
TEST(answers_are_stored_with_their_attempt)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(4 << 20);
    AUTO(buf_done) struct buf got = BUF_INIT(100);
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int64_t q = lane(s, 1, 2);
    struct timeline_line line = { .stage = TIMELINE_DELIVERY,
                                  .outcome = TIMELINE_RETRY,
                                  .is_answer = true,
                                  .ctype = STR("text/plain") };
    struct settle_bytes answer = { .bytes = STR("not today"), .size = 9, .line = &line };
    struct settle_delivery part = part_of(STR("D.a"), q, DELIVERY_READY);
    struct err err = { 0 };
    struct accept_op doc;
    struct document d;
    struct task t;
    size_t n;

    answer.sha256 = digest_of(answer.bytes);
    CHECK(s != NULL && born_docs(s, &doc, 1));
    answer.stored.id = doc.id;
    part.answer = &answer;
    for (int i = 0; i < 2; i++) {
        struct settle_op op = settle_of(i == 0 ? &doc.task : &t, doc.num, SETTLE_DELIVERIES);

        line.attempt = i + 1;
        op.parts = &part;
        op.part_count = 1;
        CHECK(settle_ops(s, &op, 1));
        CHECK(get(s, &doc.id, &a, &d) && lines_in(d.timeline) == i + 1);
        struct timeline_line last = last_line(d.timeline);
        struct payload_source at = { .id = doc.id,
                                     .num = last.num,
                                     .size = last.size,
                                     .sha256 = last.sha256,
                                     .place = { .seg = last.seg, .pos = last.pos } };

        CHECK(last.is_answer && last.attempt == i + 1 && str_is(last.ctype, "text/plain"));
        buf_clear(&got);
        CHECK(read_payload(s, &at, &got, &err) && str_is(buf_view(&got), "not today"));
        CHECK(i == 1 || (task_claim(s, q, 1, LEASE_US, &t, &n, &err) && n == 1));
        part.is_new = false; /* as in an operation of its own */
    }
    store_close(s);
}

/* Deliveries that are over when they are handed in need no rows. */
TEST(parts_that_are_all_over_end_the_document)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct settle_delivery part = part_of(STR("D.a"), 1001, DELIVERY_DELIVERED);
    struct accept_op doc;
    struct document d;

    CHECK(s != NULL && born_docs(s, &doc, 1));
    struct settle_op op = settle_of(&doc.task, doc.num, SETTLE_DELIVERIES);

    op.parts = &part;
    op.part_count = 1;
    CHECK(settle_ops(s, &op, 1) && op.over && ask(&h, "SELECT count(*) FROM delivery") == 0);
    CHECK(get(s, &doc.id, &a, &d) && d.is == DOCUMENT_DELIVERED);
    store_close(s);
}

/* Found by sender, receiver and type at every moment: before its slice of the index, behind
 * it, and when it ended before or behind it. */
TEST(documents_are_found_by_what_was_found_in_them)
{
    enum { ROUNDS = 30 };
    static struct accept_op docs[ROUNDS];
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct err err = { 0 };

    CHECK(s != NULL);
    for (int i = 0; i < ROUNDS; i++) {
        struct settle_delivery part = part_of(STR("D.a"), 1001, DELIVERY_RETRYING);

        part.due_us = INT64_MAX;
        CHECK(born_docs(s, &docs[i], 1));
        if (i % 3 == 0)
            clock_sleep_us(70 * CLOCK_MS); /* the index comes first */
        struct settle_op op =
            settle_of(&docs[i].task, docs[i].num, i % 2 == 0 ? SETTLE_OVER : SETTLE_DELIVERIES);

        op.has_facts = true;
        op.sender = 100;
        op.receiver = 200 + i % 5;
        op.type = 300 + i % 2;
        op.keep_days = i % 4;
        op.parts = &part;
        op.part_count = 1;
        CHECK(settle_ops(s, &op, 1));
        struct document_filter of[] = { { .sender = 100 },
                                        { .receiver = 203 },
                                        { .type = 301 },
                                        { .sender = 100, .type = 300, .receiver = 204 },
                                        { .gateway = 1 } };
        int want[5] = { 0 };

        for (int k = 0; k <= i; k++) {
            want[0]++;
            want[1] += k % 5 == 3;
            want[2] += k % 2 == 1;
            want[3] += k % 2 == 0 && k % 5 == 4;
            want[4]++;
        }
        for (int k = 0; k < 5; k++) {
            AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
            struct document page[DOCUMENTS_PAGE_MOST];
            int64_t next;
            size_t n;

            CHECK(document_list(s, &of[k], 0, DOCUMENTS_PAGE_MOST, &a, page, &n, &next, &err) &&
                  (int)n == want[k] && next == 0);
        }
    }
    store_close(s);
}

STORE_TEST_MAIN
