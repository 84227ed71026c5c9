/* Deliveries that wait past their time. */
#include "store/road/expire.h"

#include <stdio.h>

#include "base/auto.h"
#include "one_delivery.h"
#include "store_test.h"

enum { PARTS = 4, T = 1000 };

struct scene {
    struct home home;
    struct store *store;
    struct accept_op doc;
    struct settle_delivery parts[PARTS];
    int64_t queue;
};

/* One that is ready, one that is tried again later, one of high priority, one without an end. */
static bool play(struct scene *c)
{
    struct err err = { 0 };
    struct task t[1];

    c->home = fresh_home();
    c->store = open_store(&c->home);
    c->doc = doc_of(STR("body"));
    if (c->store == NULL || !accept_doc(c->store, &c->doc) || claim(c->store, 1, t) != 1 ||
        !queue_for(c->store, 32, 31, &c->queue, &err))
        return false;
    for (int i = 0; i < PARTS; i++) {
        c->parts[i] = part_of(STR("D.a"), c->queue, i == 1 ? DELIVERY_RETRYING : DELIVERY_READY);
        c->parts[i].expires_us = i == 3 ? 0 : T + i;
        c->parts[i].due_us = i == 1 ? clock_wall_us() + 60 * CLOCK_S : 0;
        c->parts[i].prio = i == 2 ? PRIO_HIGH : 0;
    }
    struct settle_op op = settle_of(t, c->doc.num, SETTLE_DELIVERIES);

    op.parts = c->parts;
    op.part_count = PARTS;
    return settle_ops(c->store, &op, 1);
}

static enum delivery_state state_of(struct scene *c, int i, struct delivery *ret)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct err err = { 0 };

    if (!delivery_get(c->store, c->parts[i].num, &a, ret, &err))
        return DELIVERY_STATES;
    return ret->state;
}

static int64_t next_of(struct scene *c)
{
    struct err err = { 0 };
    int64_t next = -1;

    return expire_next(c->store, &next, &err) ? next : -1;
}

TEST(what_waits_past_its_time_is_dead)
{
    struct scene c = { 0 };
    int64_t endpoints[EXPIRE_MOST];
    struct err err = { 0 };
    struct delivery d;
    char text[200];
    size_t n;

    CHECK(play(&c) && next_of(&c) == T && state_of(&c, 0, &d) == DELIVERY_READY);
    CHECK(d.expires_us == T);
    CHECK(expire_due(c.store, T - 1, endpoints, &n, &err) && n == 0);
    CHECK(expire_due(c.store, T, endpoints, &n, &err) && n == 1 && endpoints[0] == 31);
    CHECK(state_of(&c, 0, &d) == DELIVERY_DEAD && d.expires_us == 0 && next_of(&c) == T + 1);
    CHECK(places(c.store).dead == 1 && places(c.store).ready == 2 && places(c.store).later == 1);
    CHECK(expire_due(c.store, T + 100, endpoints, &n, &err) && n == 2 && next_of(&c) == 0);
    CHECK(state_of(&c, 1, &d) == DELIVERY_DEAD && state_of(&c, 2, &d) == DELIVERY_DEAD);
    CHECK(state_of(&c, 3, &d) == DELIVERY_READY);
    CHECK(places(c.store).dead == 3 && places(c.store).ready == 1 && places(c.store).later == 0);
    CHECK(ask(&c.home, "SELECT count(*) FROM task_dead WHERE code = 'expired'") == 3);
    CHECK(ask(&c.home, "SELECT CAST(sum(n) AS BIGINT) FROM tally WHERE kind = 4 AND word = 31") ==
          3);
    CHECK(
        strstr(ask_text(&c.home, "SELECT message FROM delivery WHERE expires_us = 0 AND state = 6",
                        text, sizeof text),
               "expired at 1970-01-01T00:00:00.001") == text);
    CHECK(expire_due(c.store, T + 100, endpoints, &n, &err) && n == 0);
    store_close(c.store);
}

TEST(what_is_claimed_does_not_expire)
{
    struct scene c = { 0 };
    int64_t endpoints[EXPIRE_MOST];
    struct err err = { 0 };
    struct delivery d;
    struct task t[2];
    size_t n;

    CHECK(play(&c) && task_claim(c.store, c.queue, 2, LEASE_US, t, &n, &err) && n == 2);
    CHECK(t[0].id == c.parts[2].num && t[0].prio == PRIO_HIGH); /* it goes first */
    CHECK(t[1].id == c.parts[0].num && t[1].prio == PRIO_NORMAL);
    CHECK(expire_due(c.store, T + 100, endpoints, &n, &err) && n == 1);
    CHECK(state_of(&c, 0, &d) == DELIVERY_READY && state_of(&c, 1, &d) == DELIVERY_DEAD);
    CHECK(give_back(c.store, &t[1]));
    CHECK(expire_due(c.store, T + 100, endpoints, &n, &err) && n == 1);
    CHECK(state_of(&c, 0, &d) == DELIVERY_DEAD && state_of(&c, 2, &d) == DELIVERY_READY);
    /* Delivered after its time is delivered. */
    struct settle_delivery part = c.parts[2];
    struct settle_op op = settle_of(&t[0], c.doc.num, SETTLE_DELIVERIES);

    part.state = DELIVERY_DELIVERED;
    part.is_new = false;
    op.parts = &part;
    op.part_count = 1;
    CHECK(settle_ops(c.store, &op, 1) && state_of(&c, 2, &d) == DELIVERY_DELIVERED);
    CHECK(d.expires_us == 0 && next_of(&c) == 0);
    store_close(c.store);
}

/* One that was woken, or moved by a person, stands somewhere else. */
TEST(it_is_found_wherever_it_stands)
{
    struct scene c = { 0 };
    int64_t endpoints[EXPIRE_MOST], moved, next;
    struct err err = { 0 };
    size_t n;

    CHECK(play(&c));
    CHECK(task_wake(c.store, clock_wall_us() + 100 * (int64_t)CLOCK_S, 10, &moved, &next, &err));
    CHECK(moved == 1 && places(c.store).ready == 4);
    CHECK(tell(&c.home, "UPDATE task_ready SET rank = rank + 77 WHERE prio = 2"));
    CHECK(expire_due(c.store, T + 100, endpoints, &n, &err) && n == 3);
    CHECK(places(c.store).ready == 1 && places(c.store).dead == 3);
    store_close(c.store);
}

TEST(many_expire_a_portion_at_a_time)
{
    enum { DOCS = 30, EACH = SETTLE_DELIVERIES_MOST };
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    static struct accept_op docs[DOCS];
    static struct settle_delivery parts[DOCS][EACH];
    static struct settle_op ops[DOCS];
    struct task t[DOCS];
    int64_t queue, endpoints[EXPIRE_MOST], all = 0;
    struct err err = { 0 };
    size_t n = EXPIRE_MOST;

    CHECK(s != NULL && queue_for(s, 32, 31, &queue, &err));
    for (int i = 0; i < DOCS; i++)
        docs[i] = doc_of(STR("body"));
    CHECK(accept_docs(s, docs, DOCS) && claim(s, DOCS, t) == DOCS);
    for (int i = 0; i < DOCS; i++) {
        for (int k = 0; k < EACH; k++) {
            parts[i][k] = part_of(STR("D.a"), queue, DELIVERY_READY);
            parts[i][k].expires_us = T;
        }
        ops[i] = settle_of(&t[i], t[i].id, SETTLE_DELIVERIES);
        ops[i].parts = parts[i];
        ops[i].part_count = EACH;
    }
    CHECK(settle_ops(s, ops, DOCS));
    while (n == EXPIRE_MOST) {
        CHECK(expire_due(s, T, endpoints, &n, &err));
        all += (int64_t)n;
    }
    CHECK(all == DOCS * EACH && places(s).dead == DOCS * EACH && places(s).ready == 0);
    store_close(s);
}

STORE_TEST_MAIN
