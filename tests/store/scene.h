/* scene.h - a document on its way, for tests of what people do to it. */
#pragma once

#include "store/manual/operate.h"
#include "store/road/delivery.h"
#include "store_test.h"

enum { KEEP = 45, NEWEST = 9 };

/* A store with a document whose task is claimed, and two lanes. */
struct scene {
    struct home h;
    struct store *s;
    struct accept_op doc, edit;
    struct arena a;
    struct settle_delivery parts[4];
    size_t part_count;
    int64_t queue;
    struct operate_answer answer;
    struct document d;
    struct delivery deliveries[DELIVERIES_MOST];
    size_t delivery_count;
};

static bool begin(struct scene *c)
{
    *c = (struct scene){ .h = fresh_home(), .a = ARENA_INIT(8 << 20) };
    c->s = open_store(&c->h);
    c->doc = doc_of(STR("body"));
    c->doc.claim_wanted = true;
    return c->s != NULL && accept_doc(c->s, &c->doc);
}

static void end(struct scene *c)
{
    arena_done(&c->a);
    store_close(c->s);
}

static void add_part(struct scene *c, const char *endpoint, enum delivery_state state)
{
    struct settle_delivery *p = &c->parts[c->part_count++];
    char text[ID_TEXT];
    struct err err = { 0 };

    *p = (struct settle_delivery){ .state = state, .attempts = 3, .first_us = 5 };
    p->id = str_of(arena_printf(&c->a, "%s.%s", id_text(&c->doc.id, text), endpoint));
    CHECK(name_add(c->s, NAME_SYSTEM, STR("hub"), &p->system, &err));
    CHECK(name_add(c->s, NAME_ENDPOINT, str_of(endpoint), &p->endpoint, &err));
    CHECK(queue_for(c->s, p->system, p->endpoint, &p->queue, &err));
    c->queue = p->queue;
    if (state == DELIVERY_RETRYING)
        p->due_us = clock_wall_us() + INT64_C(3600) * CLOCK_S;
    if (state == DELIVERY_DEAD || state == DELIVERY_RETRYING) {
        p->code = STR("rejected");
        p->message = STR("answered 422");
        p->status = 422;
    }
}

/* The run ends with the parts that were added. */
static bool settle_parts(struct scene *c)
{
    struct settle_op op = settle_of(&c->doc.task, c->doc.num, SETTLE_DELIVERIES);

    op.parts = c->parts;
    op.part_count = c->part_count;
    op.has_facts = true;
    op.sender = op.receiver = op.type = 77;
    op.config = 3;
    return settle_ops(c->s, &op, 1);
}

static bool settle_dead(struct scene *c, const char *code, bool has_facts)
{
    struct settle_op op = settle_of(&c->doc.task, c->doc.num, SETTLE_DEAD);

    op.code = str_of(code);
    op.message = STR("nobody takes it");
    op.has_facts = has_facts;
    op.sender = op.receiver = op.type = 77;
    op.config = 3;
    return settle_ops(c->s, &op, 1);
}
