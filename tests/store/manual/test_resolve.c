/* A person says what became of deliveries that are in doubt. */
#include "store/manual/resolve.h"

#include <stdio.h>

#include "base/auto.h"
#include "store/road/delivery.h"
#include "store_test.h"

struct scene {
    struct home h;
    struct store *s;
    struct accept_op doc;
    struct arena a;
    struct settle_delivery parts[3];
    struct operate_answer answer;
    struct document d;
    struct delivery deliveries[DELIVERIES_MOST];
    size_t count;
};

/* A document with a delivery in each of the states, to the endpoints e0, e1, ... */
static bool begin(struct scene *c, size_t count, const enum delivery_state *states)
{
    static const char *const names[] = { "e0", "e1", "e2" };
    struct err err = { 0 };

    *c = (struct scene){ .h = fresh_home(), .a = ARENA_INIT(8 << 20) };
    c->s = open_store(&c->h);
    if (c->s == NULL || !born_docs(c->s, &c->doc, 1))
        return false;
    for (size_t i = 0; i < count; i++) {
        struct settle_delivery *p = &c->parts[i];

        *p = part_of(STR("D.e"), 0, states[i]);
        p->message = STR("no whole answer came");
        p->code = STR("rejected");
        if (!name_add(c->s, NAME_SYSTEM, STR("hub"), &p->system, &err) ||
            !name_add(c->s, NAME_ENDPOINT, str_of(names[i]), &p->endpoint, &err) ||
            !queue_for(c->s, p->system, p->endpoint, &p->queue, &err))
            return false;
    }
    struct settle_op op = settle_of(&c->doc.task, c->doc.num, SETTLE_DELIVERIES);

    op.parts = c->parts;
    op.part_count = count;
    return settle_ops(c->s, &op, 1);
}

static void end(struct scene *c)
{
    arena_done(&c->a);
    store_close(c->s);
}

static enum operate_result decide(struct scene *c, enum resolve_as as, int64_t endpoint)
{
    struct resolve_order order = {
        .who = STR("admin"), .as = as, .endpoint = endpoint, .keep_days = 45
    };
    struct err err = { 0 };

    if (!resolve(c->s, &c->doc.id, 1, &order, &c->answer, &err)) {
        printf("# resolve: %s (%s)\n", err.text, err.where);
        return (enum operate_result) - 1;
    }
    return c->answer.result;
}

static bool look(struct scene *c)
{
    struct err err = { 0 };

    return document_get(c->s, &c->doc.id, &c->a, &c->d, &err) &&
           delivery_of_document(c->s, c->doc.num, &c->a, c->deliveries, &c->count, &err);
}

/* How many lines the timeline has of this stage and outcome. */
static int lines(struct scene *c, enum timeline_stage stage, enum timeline_outcome outcome)
{
    struct timeline_reader r = timeline_read(c->d.timeline);
    struct timeline_line line;
    bool damaged;
    int n = 0;

    while (timeline_next(&r, &line, &damaged))
        n += line.stage == stage && line.outcome == outcome;
    return damaged ? -1 : n;
}

static const enum delivery_state doubt[] = { DELIVERY_IN_DOUBT, DELIVERY_IN_DOUBT,
                                             DELIVERY_IN_DOUBT };

/* proves: DE9 */
TEST(delivered_ends_the_document_with_its_last_delivery)
{
    struct scene c;

    CHECK(begin(&c, 2, doubt));
    CHECK(decide(&c, RESOLVE_DELIVERED, c.parts[0].endpoint) == OPERATE_DONE);
    CHECK(strcmp(c.answer.text, "resolved as delivered: e0") == 0);
    CHECK(look(&c) && c.d.is == DOCUMENT_IN_DOUBT && c.count == 2);
    CHECK(c.deliveries[0].state == DELIVERY_DELIVERED && c.deliveries[0].code.len == 0);
    CHECK(c.deliveries[1].state == DELIVERY_IN_DOUBT && places(c.s).dead == 1);
    CHECK(decide(&c, RESOLVE_DELIVERED, 0) == OPERATE_DONE);
    CHECK(look(&c) && c.d.is == DOCUMENT_DELIVERED && c.count == 0 && places(c.s).dead == 0);
    CHECK(lines(&c, TIMELINE_OPERATOR, TIMELINE_DONE) == 2);
    CHECK(lines(&c, TIMELINE_DELIVERY, TIMELINE_DELIVERED) == 2);
    CHECK(ask(&c.h, "SELECT CAST(sum(n) AS BIGINT) FROM tally WHERE kind = 3") == 2);
    CHECK(decide(&c, RESOLVE_DELIVERED, 0) == OPERATE_NONE);
    end(&c);
}

/* proves: DE9 */
TEST(resend_is_ready_under_the_same_id)
{
    struct scene c;
    struct task t[3];
    struct err err = { 0 };
    size_t n;

    CHECK(begin(&c, 2, doubt));
    CHECK(decide(&c, RESOLVE_RESEND, c.parts[1].endpoint) == OPERATE_DONE);
    CHECK(look(&c) && c.deliveries[0].state == DELIVERY_IN_DOUBT);
    CHECK(c.deliveries[1].state == DELIVERY_READY && str_is(c.deliveries[1].id, "D.e") &&
          c.deliveries[1].attempts == 0 && c.deliveries[1].intent_us == 0);
    CHECK(lines(&c, TIMELINE_OPERATOR, TIMELINE_AGAIN) == 1);
    CHECK(task_claim(c.s, c.parts[1].queue, 3, LEASE_US, t, &n, &err) && n == 1);
    CHECK(t[0].id == c.deliveries[1].num && t[0].kind == TASK_DELIVER);
    end(&c);
}

TEST(what_is_not_in_doubt_is_left_alone)
{
    static const enum delivery_state states[] = { DELIVERY_DELIVERED, DELIVERY_DEAD,
                                                  DELIVERY_READY };
    struct scene c;

    CHECK(begin(&c, 3, states));
    CHECK(decide(&c, RESOLVE_RESEND, 0) == OPERATE_NOTHING);
    CHECK(strcmp(c.answer.text, "nothing of it is in doubt") == 0);
    CHECK(look(&c) && c.deliveries[1].state == DELIVERY_DEAD && places(c.s).dead == 1);
    CHECK(tell(&c.h, "UPDATE delivery SET intent_us = 5 WHERE state = 0"));
    CHECK(decide(&c, RESOLVE_RESEND, 0) == OPERATE_NOTHING);
    CHECK(strstr(c.answer.text, "being asked") != NULL);
    c.doc.id.bytes[15] ^= 1;
    CHECK(decide(&c, RESOLVE_RESEND, 0) == OPERATE_NONE);
    end(&c);
}

STORE_TEST_MAIN
