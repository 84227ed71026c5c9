/* Bytes that nobody sent, through a step or a whole way: results, parts, copies, answers, limits.
 */
#include "engine/rehearse/trial.h"

#include "base/auto.h"
#include "engine/flight/foretold.h"
#include "engine/walk/walk_scene.h"

static struct trial_document document(const char *bytes)
{
    return (struct trial_document){ .bytes = str_of(bytes),
                                    .facts = { .receiver = STR("hub"), .type = STR("note") },
                                    .has_facts = true,
                                    .received_us = 1 };
}

static struct trial run_first(struct scene *s, const char *bytes)
{
    const struct trial_document d = document(bytes);
    struct trial t;
    struct err err = { 0 };

    require(trial_step(s->road, s->plan, &s->plan->routes[0].steps[0], &d, &t, &err));
    return t;
}

TEST(a_step_makes_bytes_parts_or_none)
{
    struct scene s = scene_open("{ bang: {} }");
    struct trial t = run_first(&s, "hi");

    CHECK(t.end == TRIAL_BYTES && str_is(t.bytes, "hi!") && t.took_us >= 0 && t.memory == 0);
    trial_done(&t);
    scene_close(&s);

    s = scene_open("{ say: {} }");
    t = run_first(&s, "hi");
    CHECK(t.end == TRIAL_BYTES && str_is(t.bytes, "hi"));
    CHECK(t.note_count == 1 && str_is(t.notes[0], "looked at it"));
    trial_done(&t);
    scene_close(&s);

    s = scene_open("{ none: {} }");
    t = run_first(&s, "hi");
    CHECK(t.end == TRIAL_NONE);
    trial_done(&t);
    scene_close(&s);
}

TEST(parts_are_kept_with_their_facts)
{
    struct scene s = scene_open("{ cut: {} }");
    struct trial t = run_first(&s, "one\ntwo\n");

    CHECK(t.end == TRIAL_PARTS && t.caught.count == 2);
    CHECK(str_is(caught_bytes(&t.caught, 0), "one") && str_is(caught_bytes(&t.caught, 1), "two"));
    CHECK(str_is(facts_attribute(&t.caught.list[1].facts, STR("part")), "2"));
    CHECK(str_is(t.caught.list[1].facts.receiver, "hub") && t.caught.list[1].facts.generation == 1);
    trial_done(&t);

    cut_fails_at = 2; /* a document that fails makes none */
    t = run_first(&s, "one\ntwo\n");
    CHECK(t.end == TRIAL_DEAD && t.code == DEAD_SERVICE_FAILED && str_is(t.message, "a bad line"));
    trial_done(&t);
    cut_fails_at = 0;
    scene_close(&s);
}

TEST(parts_are_bounded)
{
    AUTO(buf_done) struct buf lines = BUF_INIT(1 << 20);
    struct scene s = scene_open("{ cut: {} }");

    for (int i = 0; i <= TRIAL_PARTS_MOST; i++)
        buf_puts(&lines, "x\n");
    struct trial t = run_first(&s, lines.ptr);

    CHECK(t.end == TRIAL_DEAD && t.code == DEAD_LIMIT);
    trial_done(&t);
    scene_close(&s);
}

TEST(only_what_makes_something_is_tried)
{
    struct scene s = scene_open("{ deliver: out }");
    const struct trial_document d = document("hi");
    struct trial t;
    struct err err = { 0 };

    CHECK(!trial_step(s.road, s.plan, &s.plan->routes[0].steps[0], &d, &t, &err));
    CHECK(err.kind == ERR_CONFIG);
    scene_close(&s);
}

TEST(a_way_follows_its_parts)
{
    struct scene s = scene_open("{ cut: {} }");
    struct trial_document d = document("one\ntwo");
    struct trial_way w;
    struct err err = { 0 };

    /* Each part takes the same route and is cut again, until it is a loop. */
    CHECK(trial_walk(s.road, s.plan, &d, &w, &err));
    CHECK(w.document_count == 1 + 2 * 16 && w.documents[0].parts == 2);
    CHECK(w.documents[1].parent == 0 && w.documents[3].parent == 1);
    CHECK(w.documents[w.document_count - 1].dead &&
          w.documents[w.document_count - 1].code == DEAD_LOOP);
    CHECK(w.delivery_count == 0);
    trial_way_done(&w);
    scene_close(&s);

    s = scene_open("{ bang: {} }, { deliver: out }, { bang: {} }, { deliver: out }");
    d.has_facts = false; /* they are extracted */
    d.gateway = s.plan->gateways[0].word;
    CHECK(trial_walk(s.road, s.plan, &d, &w, &err));
    CHECK(w.document_count == 1 && w.delivery_count == 2 && !w.documents[0].dead);
    CHECK(str_is(w.documents[0].route, "notes") && str_is(w.documents[0].facts.type, "note"));
    CHECK(str_is(w.deliveries[0].bytes, "one\ntwo!") &&
          str_is(w.deliveries[1].bytes, "one\ntwo!!"));
    CHECK(str_is(w.deliveries[1].endpoint, "out") && str_is(w.deliveries[1].system, "hub"));
    trial_way_done(&w);
    scene_close(&s);
}

TEST(a_way_follows_its_copies)
{
    struct scene s = scene_open("{ subscribe: [ notes, others ] }");
    struct trial_document d = document("x");
    struct trial_way w;
    struct err err = { 0 };

    /* Each copy takes the same route and is copied again: soon there are too many. */
    d.name = STR("a.txt");
    CHECK(!trial_walk(s.road, s.plan, &d, &w, &err) && err.kind == ERR_LIMIT);
    CHECK(w.documents[0].parts == 2 && !w.documents[0].is_copy);
    CHECK(w.documents[1].is_copy && str_is(w.documents[1].facts.receiver, "hub"));
    CHECK(str_is(w.documents[2].facts.receiver, "north") && w.documents[2].facts.generation == 1);
    CHECK(str_is(w.documents[2].name, "a.txt") && w.documents[5].parent == 2);
    trial_way_done(&w);

    d.facts.type = STR("other"); /* becomes a note on its way */
    err = (struct err){ 0 };
    CHECK(!trial_walk(s.road, s.plan, &d, &w, &err));
    CHECK(w.documents[0].parts == 2 && str_is(w.documents[1].facts.type, "note"));
    trial_way_done(&w);
    scene_close(&s);
}

#define CALL "{ call: { url: \"http://127.0.0.1:9/x\" } }"

enum { NOT_DEAD = -1 };

/* What comes of "hi" with these answers: its dead code. */
static int answered(struct scene *s, struct foretold *answers, struct str *ret_sent,
                    struct arena *a)
{
    struct trial_document d = document("hi");
    struct trial_way w;
    struct err err = { 0 };

    d.foretold = answers;
    require(trial_walk(s->road, s->plan, &d, &w, &err));
    *ret_sent = w.delivery_count > 0 ? arena_copy(a, w.deliveries[0].bytes) : (struct str){ 0 };
    int code = w.documents[0].dead ? (int)w.documents[0].code : NOT_DEAD;

    trial_way_done(&w);
    return code;
}

TEST(services_answer_as_it_was_said)
{
    static const struct foretold_answer answers[] = { { STR("one"), 200 },
                                                      { STR("two"), 200 },
                                                      { STR("no"), 422 },
                                                      { STR("later"), 503 },
                                                      { STR(""), 204 } };
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct scene s = scene_open(CALL ", { bang: {} }, " CALL ", { bang: {} }, { deliver: out }");
    struct foretold t = { .list = answers, .count = 2 };
    struct str sent;

    CHECK(answered(&s, &t, &sent, &a) == NOT_DEAD && str_is(sent, "two!") && t.asked == 2);
    t = (struct foretold){ .list = answers, .count = 1 }; /* one is missing */
    CHECK(answered(&s, &t, &sent, &a) == DEAD_SERVICE_FAILED && sent.ptr == NULL && t.asked == 2);
    CHECK(answered(&s, NULL, &sent, &a) == DEAD_SERVICE_FAILED);
    t = (struct foretold){ .list = answers + 2, .count = 1 };
    CHECK(answered(&s, &t, &sent, &a) == DEAD_REJECTED && t.asked == 1);
    t = (struct foretold){ .list = answers + 3, .count = 1 };
    CHECK(answered(&s, &t, &sent, &a) == DEAD_RETRIES_EXHAUSTED);
    t = (struct foretold){ .list = answers + 4, .count = 1 };
    CHECK(answered(&s, &t, &sent, &a) == NOT_DEAD && sent.ptr == NULL && t.asked == 1);
    scene_close(&s);
}

int main(void)
{
    (void)scene_flight, (void)scene_says, (void)scene_end; /* the scene has more than this needs */
    return test_main();
}
