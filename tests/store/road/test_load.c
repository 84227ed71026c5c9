/* What a claim brings is read together: deliveries, their documents, their payloads. */
#include "base/auto.h"
#include "store/payload/payload_fetch.h"
#include "store/road/delivery.h"
#include "store/search/document.h"
#include "store_test.h"

enum { DOCS = 5 };

struct load_scene {
    struct home h;
    struct store *s;
    struct accept_op docs[DOCS];
    struct settle_delivery parts[DOCS];
    char ids[DOCS][ID_TEXT + 4], bodies[DOCS][32];
    struct arena arenas[DOCS];
};

/* Documents with one delivery each, which waits. */
static bool load_begin(struct load_scene *c)
{
    struct err err = { 0 };
    int64_t queue;

    *c = (struct load_scene){ .h = fresh_home() };
    c->s = open_store(&c->h);
    if (c->s == NULL || !queue_for(c->s, 32, 31, &queue, &err))
        return false;
    for (size_t i = 0; i < DOCS; i++) {
        char text[ID_TEXT];

        c->arenas[i] = (struct arena)ARENA_INIT(1 << 20);
        (void)snprintf(c->bodies[i], sizeof c->bodies[i], "body %zu%.*s", i, (int)i, "xxxxxxxx");
        c->docs[i] = doc_of(str_of(c->bodies[i]));
        c->docs[i].claim_wanted = true;
        if (!accept_doc(c->s, &c->docs[i]))
            return false;
        (void)snprintf(c->ids[i], sizeof c->ids[i], "%s.to", id_text(&c->docs[i].id, text));
        c->parts[i] = (struct settle_delivery){ .id = str_of(c->ids[i]),
                                                .endpoint = 31,
                                                .system = 32,
                                                .queue = queue,
                                                .state = DELIVERY_READY };
        struct settle_op op = settle_of(&c->docs[i].task, c->docs[i].num, SETTLE_DELIVERIES);

        op.parts = &c->parts[i];
        op.part_count = 1;
        op.has_facts = true;
        op.receiver = 32;
        if (!settle_ops(c->s, &op, 1))
            return false;
    }
    return true;
}

static void load_end(struct load_scene *c)
{
    for (size_t i = 0; i < DOCS; i++)
        arena_done(&c->arenas[i]);
    store_close(c->s);
}

TEST(deliveries_and_documents_are_found_together)
{
    struct load_scene c;
    struct delivery_look v[DOCS];
    struct document_look d[DOCS];
    struct err err = { 0 };

    CHECK(load_begin(&c));
    for (size_t i = 0; i < DOCS; i++) /* from the last to the first; one is not there */
        v[i] = (struct delivery_look){ .num = i == 2 ? 999999 : c.parts[DOCS - 1 - i].num,
                                       .arena = &c.arenas[i],
                                       .found = true };
    CHECK(delivery_find(c.s, v, DOCS, &err));
    for (size_t i = 0; i < DOCS; i++) {
        CHECK(v[i].found == (i != 2));
        CHECK(i == 2 || (v[i].delivery.num == c.parts[DOCS - 1 - i].num &&
                         v[i].delivery.doc == c.docs[DOCS - 1 - i].num &&
                         v[i].delivery.state == DELIVERY_READY && !v[i].delivery.has_bytes &&
                         str_eq(v[i].delivery.id, c.parts[DOCS - 1 - i].id)));
        d[i] = (struct document_look){ .num = v[i].found ? v[i].delivery.doc : 0,
                                       .arena = &c.arenas[i] };
    }
    CHECK(document_find(c.s, d, DOCS, &err));
    for (size_t i = 0; i < DOCS; i++) {
        CHECK(d[i].found == (i != 2));
        CHECK(i == 2 || (id_eq(&d[i].document.source.id, &c.docs[DOCS - 1 - i].id) &&
                         d[i].document.receiver == 32 &&
                         d[i].document.source.size == c.docs[DOCS - 1 - i].size));
    }
    CHECK(delivery_find(c.s, v, 0, &err) && document_find(c.s, d, 0, &err));
    load_end(&c);
}

/* Fetched ones are whole; what is not fetched is left to payload_open(). */
TEST(payloads_are_fetched_together)
{
    struct load_scene c;
    struct document_look d[DOCS];
    struct payload_fetch f[DOCS];
    struct buf got[DOCS];
    struct err err = { 0 };

    CHECK(load_begin(&c));
    for (size_t i = 0; i < DOCS; i++)
        d[i] = (struct document_look){ .num = c.docs[i].num, .arena = &c.arenas[i] };
    CHECK(document_find(c.s, d, DOCS, &err));
    for (size_t i = 0; i < DOCS; i++) {
        got[i] = (struct buf)BUF_INIT(1 << 20);
        f[i] = (struct payload_fetch){ .source = d[i].document.source, .to = &got[i] };
    }
    f[1].source.sha256.bytes[0] ^= 1; /* not the bytes that were stored */
    f[3].source.size++;
    payload_fetch(c.s, f, DOCS);
    for (size_t i = 0; i < DOCS; i++) {
        bool fetched = !on_sqlite() && i != 1 && i != 3;

        CHECK(fetched ? str_is(buf_view(&got[i]), c.bodies[i]) : got[i].len == 0);
        buf_done(&got[i]);
    }
    load_end(&c);
}

STORE_TEST_MAIN
