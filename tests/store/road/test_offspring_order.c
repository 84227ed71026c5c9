/* Parts of ordered documents: they stand at their parent's place, in their order. */
#include "family.h"
#include "one_delivery.h"
#include "retain_scene.h"
#include "store/road/order.h"

enum { LANE = 4711, OTHER = 4713, DOCS_MOST = 32 };

static int64_t queue;

/* A live document by its number, as a run gets it. */
static bool look(struct store *s, int64_t num, struct arena *a, struct document *ret)
{
    struct document_look l = { .num = num, .arena = a };
    struct err err = { 0 };

    if (!document_find(s, &l, 1, &err) || !l.found)
        return false;
    *ret = l.document;
    return true;
}

/* Routes a claimed document into a lane, with two deliveries. */
static bool route(struct store *s, const struct task *t, int64_t lane)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct settle_delivery p[2];
    struct settle_op o = settle_of(t, t->id, SETTLE_DELIVERIES);
    struct document d;

    if (!look(s, t->id, &a, &d))
        return false;
    o.gateway = d.gateway;
    o.seq = d.seq;
    o.child = d.child;
    o.parts = p;
    o.part_count = 2;
    for (size_t i = 0; i < 2; i++) {
        p[i] = part_of(STR("d"), queue, DELIVERY_READY);
        p[i].lane = lane;
        p[i].seq = d.seq;
        p[i].child = order_child(d.child, i);
    }
    return settle_ops(s, &o, 1);
}

/* Makes a claimed document into parts. */
static bool split(struct store *s, const struct task *t, int64_t from, size_t count, int64_t total)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    AUTO(family_done) struct family f;
    struct document d;

    if (!look(s, t->id, &a, &d))
        return false;
    family_init(&f, t, t->id, from, count, total);
    f.end.gateway = d.gateway;
    f.end.seq = d.seq;
    f.end.child = d.child;
    return family_commit(s, &f) && f.op.result == OFFSPRING_MADE;
}

/* Claims all documents that are to be routed; in the order of their numbers. */
static int claim_docs(struct store *s, struct task *ret)
{
    int n = claim(s, DOCS_MOST, ret);

    for (int i = 1; i < n; i++)
        if (ret[i].id < ret[i - 1].id)
            return -1;
    return n;
}

/* Delivers what may go, one after the other; the document of each delivery. */
static size_t deliver_all(struct store *s, int64_t lane, int64_t *ret)
{
    struct task t[8];
    struct err err = { 0 };
    size_t count = 0, n;

    while (order_ask_again(s, &err) && task_claim(s, queue, 8, LEASE_US, t, &n, &err) && n > 0)
        for (size_t i = 0; i < n; i++) {
            AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
            struct settle_delivery p = part_of(STR("d"), queue, DELIVERY_DELIVERED);
            struct settle_op o;
            struct delivery d;

            if (n > 1 || !delivery_get(s, t[i].id, &a, &d, &err)) /* two of one lane at a time */
                return 0;
            p.num = t[i].id;
            p.lane = lane;
            o = settle_of(&t[i], d.doc, SETTLE_DELIVERIES);
            o.parts = &p;
            o.part_count = 1;
            if (!settle_ops(s, &o, 1))
                return 0;
            ret[count++] = d.doc;
        }
    return count;
}

static bool numbered_docs(struct store *s, struct accept_op *docs, size_t count)
{
    struct err err = { 0 };

    order_number(s, true);
    return born_docs(s, docs, count) && queue_for(s, 32, 31, &queue, &err);
}

/* proves: PR2 DE17 */
TEST(parts_go_at_the_place_of_their_parent_in_their_order)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op docs[3];
    struct task parts[DOCS_MOST];
    int64_t went[DOCS_MOST];

    CHECK(s != NULL && numbered_docs(s, docs, 3));
    CHECK(route(s, &docs[2].task, LANE) && deliver_all(s, LANE, went) == 0);
    CHECK(split(s, &docs[1].task, 0, 2, 4) && split(s, &docs[1].task, 2, 2, 4));
    CHECK(claim_docs(s, parts) == 4);
    for (int i = 3; i >= 1; i--) /* routed in the wrong order */
        CHECK(route(s, &parts[i], LANE) && deliver_all(s, LANE, went) == 0);
    CHECK(route(s, &docs[0].task, LANE) && deliver_all(s, LANE, went) == 2);
    CHECK(went[0] == docs[0].num && went[1] == docs[0].num);
    CHECK(route(s, &parts[0], LANE) && deliver_all(s, LANE, went) == 10);
    for (int i = 0; i < 4; i++)
        CHECK(went[2 * i] == parts[i].id && went[2 * i + 1] == parts[i].id);
    CHECK(went[8] == docs[2].num && ask(&h, "SELECT count(*) FROM order_open") == 0);
    CHECK(all_is_well(s));
    store_close(s);
}

/* A part that belongs into another lane holds nobody back once it is routed. */
TEST(who_is_behind_waits_until_the_last_part_is_routed)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op docs[2];
    struct task parts[DOCS_MOST];
    int64_t went[DOCS_MOST];

    CHECK(s != NULL && numbered_docs(s, docs, 2) && route(s, &docs[1].task, LANE));
    CHECK(split(s, &docs[0].task, 0, 1, 2) && deliver_all(s, LANE, went) == 0);
    CHECK(claim_docs(s, parts) == 1 && route(s, &parts[0], LANE));
    CHECK(deliver_all(s, LANE, went) == 0); /* its parent is not done: another part may come */
    CHECK(split(s, &docs[0].task, 1, 1, 2));
    CHECK(deliver_all(s, LANE, went) == 2 && went[0] == parts[0].id);
    CHECK(claim_docs(s, parts) == 1 && deliver_all(s, LANE, went) == 0);
    CHECK(route(s, &parts[0], OTHER));
    struct task t[2];
    struct err err = { 0 };
    size_t n = 0;

    CHECK(order_ask_again(s, &err) && task_claim(s, queue, 2, LEASE_US, t, &n, &err) && n == 2);
    store_close(s);
}

TEST(parts_of_parts_go_between_their_neighbours)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op docs[2];
    struct task parts[DOCS_MOST], inner[DOCS_MOST], deep[DOCS_MOST];
    int64_t went[DOCS_MOST];

    CHECK(s != NULL && numbered_docs(s, docs, 2) && split(s, &docs[0].task, 0, 3, 3));
    CHECK(route(s, &docs[1].task, LANE) && claim_docs(s, parts) == 3);
    CHECK(route(s, &parts[2], LANE) && split(s, &parts[1], 0, 2, 2));
    CHECK(claim_docs(s, inner) == 2 && split(s, &inner[0], 0, 2, 2) && claim_docs(s, deep) == 2);
    CHECK(route(s, &deep[1], LANE) && route(s, &inner[1], LANE) && route(s, &parts[0], LANE));
    CHECK(deliver_all(s, LANE, went) == 2 && went[0] == parts[0].id);
    CHECK(route(s, &deep[0], LANE) && deliver_all(s, LANE, went) == 10);
    CHECK(went[0] == deep[0].id && went[2] == deep[1].id && went[4] == inner[1].id);
    CHECK(went[6] == parts[2].id && went[8] == docs[1].num);
    CHECK(ask(&h, "SELECT count(*) FROM order_open") == 0 && all_is_well(s));
    store_close(s);
}

TEST(sixteen_generations_of_ten_parts_have_room)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op doc;
    struct task parts[DOCS_MOST];

    CHECK(s != NULL && numbered_docs(s, &doc, 1) && split(s, &doc.task, 0, 10, 10));
    for (int generation = 2; generation <= 16; generation++)
        CHECK(claim_docs(s, parts) == 10 && split(s, &parts[9], 0, 10, 10));
    CHECK(ask(&h, "SELECT count(DISTINCT child) FROM doc") == ask(&h, "SELECT count(*) FROM doc"));
    store_close(s);
}

/* Three generations of a hundred thousand have room; the next one is refused. */
TEST(there_is_an_end_to_parts_of_parts_in_order)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op doc;
    struct task t;
    AUTO(family_done) struct family f;
    struct err err = { 0 };

    CHECK(s != NULL && numbered_docs(s, &doc, 1) && split(s, &doc.task, 0, 1, 100000));
    CHECK(claim(s, 1, &t) == 1 && split(s, &t, 0, 1, 100000));
    CHECK(claim(s, 1, &t) == 1 && split(s, &t, 0, 1, 100000));
    CHECK(claim(s, 1, &t) == 1);
    family_init(&f, &t, t.id, 0, 1, 100000);
    CHECK(!writers_call(store_writers(s), &offspring_verb, &f.op.op, &err));
    CHECK(err.kind == ERR_LIMIT && ask(&h, "SELECT count(*) FROM doc") == 4);
    CHECK(split(s, &t, 0, 1, 1)); /* a few are fine */
    store_close(s);
}

/* A document that had no number has parts without one. */
TEST(parts_of_a_document_without_a_number_have_none)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op doc;

    CHECK(s != NULL && born_docs(s, &doc, 1));
    order_number(s, true);
    CHECK(split(s, &doc.task, 0, 3, 3) && ask(&h, "SELECT count(*) FROM order_open") == 0);
    CHECK(ask(&h, "SELECT count(*) FROM doc WHERE seq = 0 AND child IS NULL") == 3);
    store_close(s);
}

/* ---- crashes and nodes ---- */

enum { PARENTS = 3, PARTS = 4, CHUNK = 2 };

/* Splits and routes whatever waits, the newest first; what has facts is a part. */
static bool work(struct store *s)
{
    struct task t[DOCS_MOST];
    int n;

    while ((n = claim(s, DOCS_MOST, t)) > 0)
        for (int i = n - 1; i >= 0; i--) {
            AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
            struct offspring_progress p;
            struct document d;
            struct err err = { 0 };

            if (!look(s, t[i].id, &a, &d) || !offspring_get(s, t[i].id, &p, &err) ||
                (d.facts.len > 0 && !route(s, &t[i], LANE)))
                return false;
            for (; d.facts.len == 0 && p.made < PARTS; p.made += CHUNK)
                if (!split(s, &t[i], p.made, CHUNK, PARTS))
                    return false;
        }
    return n == 0;
}

CHILD(work_until_killed)
{
    struct store *s = open_store(h);
    struct err err = { 0 };

    (void)arg;
    if (s == NULL || !queue_for(s, 32, 31, &queue, &err) || !work(s))
        return 1;
    store_close(s);
    return 0;
}

/* Everything is delivered, parent by parent and part by part: numbers of documents grow with both,
 * because one node at a time makes the parts of one parent. */
static bool in_order(struct store *s, const struct accept_op *parents)
{
    int64_t went[2 * PARENTS * PARTS + 2];
    struct err err = { 0 };

    if (deliver_all(s, LANE, went) != sizeof went / sizeof went[0] - 2)
        return false;
    for (int i = 0; i < 2 * PARENTS * PARTS; i++) {
        int64_t of;

        if (!link_parent(s, went[i], LINK_SPLIT, &of, &err) || of != parents[i / (2 * PARTS)].num ||
            (i % (2 * PARTS) > 0 && went[i] < went[i - 1]))
            return false;
    }
    return true;
}

/* proves: DE17 PR2 */
TEST(killed_anywhere_parts_still_go_in_order)
{
    static const char *const points[] = { "parts.written", "parts.counted", "parts.committed",
                                          "settle.written", "group.committed" };

    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++)
        for (int pass = 1; pass <= 7; pass += 2) {
            struct home h = fresh_home();
            struct store *s = open_store(&h);
            struct accept_op parents[PARENTS];
            char fault[80];

            for (int k = 0; k < PARENTS; k++)
                parents[k] = doc_of(STR("whole"));
            CHECK(s != NULL);
            order_number(s, true);
            CHECK(accept_docs(s, parents, PARENTS));
            store_close(s);
            (void)snprintf(fault, sizeof fault, "%s:kill:%d", points[i], pass);
            int status = run_child("work_until_killed", &h, fault, "", NULL);

            CHECK(was_killed(status) || pass > 1);
            s = open_store(&h);
            CHECK(s != NULL && work(s) && in_order(s, parents) && all_is_well(s));
            CHECK(ask(&h, "SELECT count(*) FROM order_open") == 0);
            store_close(s);
        }
}

/* Two nodes take turns: the parts of a parent are made by one, routed by the other. */
TEST(postgres_parts_go_in_order_over_two_nodes)
{
    struct home h = fresh_home(), other = home_beside(&h);
    struct store *s[2] = { open_store(&h), open_store(&other) };
    struct accept_op parents[PARENTS];
    struct task t[DOCS_MOST];
    int turn = 0;

    CHECK(s[0] != NULL && s[1] != NULL);
    order_number(s[0], true);
    order_number(s[1], true);
    CHECK(numbered_docs(s[0], parents, PARENTS));
    for (int64_t from = 0; from < PARTS; from += CHUNK)
        for (int k = PARENTS - 1; k >= 0; k--) {
            CHECK(split(s[0], &parents[k].task, from, CHUNK, PARTS));
            int n = claim(s[++turn % 2], DOCS_MOST, t);

            CHECK(n == CHUNK);
            for (int i = n - 1; i >= 0; i--)
                CHECK(route(s[turn % 2], &t[i], LANE));
        }
    CHECK(in_order(s[1], parents) && all_is_well(s[0]));
    store_close(s[0]);
    store_close(s[1]);
}

STORE_TEST_MAIN
