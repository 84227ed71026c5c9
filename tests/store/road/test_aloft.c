/* Deliveries that a node has in memory for long: noted while they are claimed, and not longer. */
#include <stdio.h>

#include "base/auto.h"
#include "store/road/aloft.h"
#include "store/road/rescue.h"
#include "store_test.h"

enum { ENDPOINT = 31, SYSTEM = 32, MOST = 8 };

static struct aloft_op note_of(const struct accept_op *doc, const char *id, bool sending)
{
    return (struct aloft_op){ .flight = { .task = doc->task,
                                          .doc = doc->num,
                                          .has_facts = true,
                                          .sender = 41,
                                          .receiver = SYSTEM,
                                          .type = 43,
                                          .route = 44 },
                              .id = str_of(id),
                              .endpoint = ENDPOINT,
                              .system = SYSTEM,
                              .sending = sending };
}

static bool note(struct store *s, struct aloft_op *o)
{
    struct err err = { 0 };

    return writers_call(store_writers(s), &aloft_verb, &o->op, &err);
}

static size_t noted(struct store *s, int64_t doc, struct arena *a, struct aloft *ret)
{
    struct err err = { 0 };
    size_t n = 0;

    return aloft_of_document(s, doc, a, ret, MOST, &n, &err) ? n : MOST;
}

static bool settle_noted(struct store *s, const struct accept_op *doc)
{
    struct settle_op op = settle_of(&doc->task, doc->num, SETTLE_OVER);

    op.aloft = true;
    op.state = DOCUMENT_DELIVERED;
    return settle_ops(s, &op, 1);
}

TEST(a_noted_flight_is_found_until_it_is_settled)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op doc = doc_of(STR("x"));
    struct aloft_op waits, sends;
    struct aloft all[MOST];
    struct document d;
    struct err err = { 0 };

    CHECK(s != NULL && born_docs(s, &doc, 1));
    waits = note_of(&doc, "one", false);
    sends = note_of(&doc, "one", true);
    CHECK(document_get(s, &doc.id, &a, &d, &err) && d.is == DOCUMENT_RECEIVED && d.receiver == 0);
    CHECK(note(s, &waits));
    CHECK(noted(s, doc.num, &a, all) == 1 && !all[0].sending);
    CHECK(note(s, &sends));
    CHECK(noted(s, doc.num, &a, all) == 1 && all[0].sending && str_eq(all[0].id, STR("one")));
    CHECK(all[0].endpoint == ENDPOINT && all[0].system == SYSTEM && all[0].since_us > 0);
    CHECK(document_get(s, &doc.id, &a, &d, &err) && d.is == DOCUMENT_ACTIVE);
    CHECK(d.sender == 41 && d.receiver == SYSTEM && d.type == 43 && d.route == 44);
    CHECK(settle_noted(s, &doc));
    CHECK(noted(s, doc.num, &a, all) == 0);
    store_close(s);
}

TEST(a_note_behind_the_settlement_does_nothing)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op doc = doc_of(STR("x"));
    struct aloft all[MOST];
    struct aloft_op late;

    CHECK(s != NULL && born_docs(s, &doc, 1) && settle_noted(s, &doc));
    late = note_of(&doc, "one", true);
    CHECK(note(s, &late));
    CHECK(noted(s, doc.num, &a, all) == 0);
    store_close(s);
}

static void done_nothing(struct store_op *op)
{
    (void)op;
}

/* In one group, in either order: the row is gone afterwards. */
TEST(a_note_and_its_settlement_in_one_group)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct home h = fresh_home();
    struct store *s = open_store(&h);

    for (int order = 0; s != NULL && order < 2; order++) {
        struct accept_op doc = doc_of(STR("x"));
        struct aloft all[MOST];
        struct aloft_op o;

        CHECK(born_docs(s, &doc, 1));
        o = note_of(&doc, "one", true);
        o.op.verb = &aloft_verb;
        struct settle_op end = settle_of(&doc.task, doc.num, SETTLE_OVER);

        end.aloft = true;
        end.state = DOCUMENT_DELIVERED;
        end.op.verb = &settle_verb;
        struct store_op *first = order == 0 ? &o.op : &end.op;
        struct store_op *last = order == 0 ? &end.op : &o.op;

        first->next = last;
        first->done = last->done = done_nothing;
        CHECK(writers_submit(store_writers(s), first, last, 2));
        writers_drain(store_writers(s));
        CHECK(o.op.ok && end.op.ok);
        CHECK(end.ours && noted(s, doc.num, &a, all) == 0);
    }
    CHECK(s != NULL);
    store_close(s);
}

TEST(counts_are_of_all_nodes)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op docs[2] = { doc_of(STR("x")), doc_of(STR("y")) };
    struct aloft_count counts[MOST];
    struct aloft_op o;
    struct err err = { 0 };
    size_t n;

    CHECK(s != NULL && born_docs(s, docs, 2));
    o = note_of(&docs[0], "one", true);
    CHECK(note(s, &o));
    o = note_of(&docs[1], "two", false);
    CHECK(note(s, &o));
    CHECK(tell(&h, "UPDATE aloft SET node_id = 5"));
    CHECK(aloft_counts(s, counts, MOST, &n, &err) && n == 1);
    CHECK(counts[0].system == SYSTEM && counts[0].endpoint == ENDPOINT && counts[0].total == 2);
    CHECK(counts[0].sending_elsewhere == 1 && counts[0].waiting_elsewhere == 1);
    CHECK(counts[0].waiting == 0);
    store_close(s);
}

/* The rows of a node that is not there any more go: at the start of its successor, and on
 * PostgreSQL with its claims. */
TEST(a_dead_node_leaves_no_notes)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op doc = doc_of(STR("x"));
    struct aloft_op o;
    struct err err = { 0 };
    int64_t moved;

    CHECK(s != NULL && born_docs(s, &doc, 1));
    o = note_of(&doc, "one", true);
    CHECK(note(s, &o));
    CHECK(rescue_dead_nodes(s, &moved, &err));
    CHECK(ask(&h, "SELECT count(*) FROM aloft") == 1); /* its node lives */
    CHECK(tell(&h, "UPDATE aloft SET node_id = 5"));
    if (on_postgres()) {
        CHECK(rescue_dead_nodes(s, &moved, &err));
        CHECK(ask(&h, "SELECT count(*) FROM aloft") == 0);
    }
    store_close(s);
    s = open_store(&h);
    CHECK(s != NULL && ask(&h, "SELECT count(*) FROM aloft") == 0);
    CHECK(ask(&h, "SELECT receiver FROM doc") == SYSTEM); /* what was found out stays */
    store_close(s);
}

STORE_TEST_MAIN
