/* Walks that wait for the answer of a service: slots, breakers, what was kept, and the end of the
 * node.  The service is played: transfers are noted, and answered by the test. */
#include "engine/asking/calling.h"

#include "base/auto.h"
#include "base/digest.h"
#include "core/timeline.h"
#include "engine/flight/bytes.h"
#include "engine/flight/tries.h"
#include "engine/run/work.h"
#include "engine/walk/answer_doc.h"
#include "store/road/offspring.h"
#include "walk_scene.h"

enum { MOST = 128, WAITING_FIRST = 64 };

static struct transfer *sent[MOST];
static size_t sent_count;
static struct flight *went_on[MOST], *put_back[MOST];
static size_t on_count, back_count;
static bool hub_is_closed;

static bool note_sent(void *arg, struct transfer *t)
{
    (void)arg;
    if (hub_is_closed)
        return false;
    require(sent_count < MOST);
    sent[sent_count++] = t;
    return true;
}

static void note_on(struct flight *f)
{
    require(on_count < MOST);
    went_on[on_count++] = f;
}

static bool may_act(void *arg)
{
    (void)arg;
    return true;
}

static void note_back(void *arg, struct flight *f)
{
    (void)arg;
    require(back_count < MOST);
    put_back[back_count++] = f;
}

static void say_typed(struct transfer *t, int64_t status, struct str body, struct str ctype)
{
    t->answer = (struct http_out_answer){ .reach = HTTP_OUT_ANSWERED,
                                          .status = status,
                                          .body = body,
                                          .came = (int64_t)body.len,
                                          .ctype = ctype,
                                          .now_us = clock_wall_us() };
    t->took_us = 1000;
    t->done(t);
}

static void say_to(struct transfer *t, int64_t status, struct str body)
{
    say_typed(t, status, body, STR(""));
}

static void say_nothing_to(struct transfer *t)
{
    t->answer = (struct http_out_answer){ .reach = HTTP_OUT_UNCLEAR, .failure = "timed out" };
    t->done(t);
}

struct called_scene {
    struct scene s;
    struct calling *own, *roads;
};

static struct called_scene called_open(const char *steps)
{
    struct called_scene c = { .s = scene_open(steps) };

    sent_count = on_count = back_count = 0;
    hub_is_closed = false;
    c.roads = c.s.road->calling;
    c.own = calling_new(&(struct calling_options){ .most = MOST,
                                                   .send = note_sent,
                                                   .judge = work_judge_answer,
                                                   .go_on = note_on,
                                                   .put_back = note_back,
                                                   .may_act = may_act });
    c.s.road->calling = c.own;
    return c;
}

static void called_close(struct called_scene *c)
{
    calling_free(c->own);
    c->s.road->calling = c->roads;
    scene_close(&c->s);
}

static struct flight *asking(struct called_scene *c)
{
    struct flight *f = scene_flight(&c->s, "hi", 0);

    require(walk(f) == WALK_WAITS && f->walk.need == WALK_NEEDS_ANSWER && f->called != NULL);
    return f;
}

static struct flight *asked(struct called_scene *c)
{
    struct calling_away away;
    struct flight *f = asking(c);

    require(calling_put(c->own, f, &away));
    return f;
}

static void drop(struct flight *f)
{
    step_drop(f);
    scene_end(f);
}

static struct str field_of(const struct transfer *t, const char *name)
{
    for (size_t i = 0; i < t->request->field_count; i++)
        if (str_is(t->request->fields[i].name, name))
            return t->request->fields[i].value;
    return STR("(none)");
}

#define CALL(more) "{ call: { url: \"http://127.0.0.1:9/x\"" more " } }"

TEST(the_answer_is_what_the_step_made)
{
    struct called_scene c =
        called_open("{ bang: {} }, " CALL("") ", { bang: {} }, { deliver: out }");
    struct flight *f = asked(&c);
    char key[100];

    (void)snprintf(key, sizeof key, "%s:call:2", f->id);
    CHECK(sent_count == 1 && str_is(field_of(sent[0], "Idempotency-Key"), key));
    CHECK(str_eq(sent[0]->sending->bytes, STR("hi!")));
    say_to(sent[0], 200, STR("answer"));
    CHECK(on_count == 1 && went_on[0] == f);
    CHECK(walk(f) == WALK_SENDS && f->called == NULL && f->step_count == 3 && bangs == 2);
    CHECK(str_eq(scene_sent(f, 0), STR("answer!")));
    CHECK(f->made[1]->is_kept && f->made[1]->step_number == 2 && !f->made[0]->is_kept);
    CHECK(str_eq(buf_view(&f->made[1]->buf), STR("answer"))); /* although nobody sends it */
    scene_end(f);
    called_close(&c);
}

TEST(no_answer_is_asked_for_again)
{
    static const struct {
        const char *what;
        int64_t status;
        enum settle_outcome end;
        enum dead_code dead;
        const char *says;
    } cases[] = {
        { "the service is at fault", 500, SETTLE_AGAIN, 0, "answered 500: body" },
        { "busy", 503, SETTLE_AGAIN, 0, "answered 503: body" },
        { "our credential", 401, SETTLE_AGAIN, 0, "answered 401: body" },
        { "nothing came", 0, SETTLE_AGAIN, 0, "no whole answer came: timed out" },
        { "refused", 422, SETTLE_DEAD, DEAD_REJECTED, "answered 422: body" },
        { "elsewhere", 302, SETTLE_DEAD, DEAD_REJECTED, "answered 302: body" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct called_scene c = called_open(CALL("") ", { deliver: out }");
        struct flight *f = asked(&c);
        int64_t now = road_now_us(c.s.road);

        if (cases[i].status != 0)
            say_to(sent[0], cases[i].status, STR("body"));
        else
            say_nothing_to(sent[0]);
        CHECK(on_count == 1 && walk(f) == WALK_ENDS);
        CHECK(f->settle.end == cases[i].end && scene_says(f, cases[i].says));
        if (cases[i].end == SETTLE_AGAIN)
            CHECK(f->settle.task.attempts == 1 && f->settle.due_us >= now);
        else
            CHECK(f->dead == cases[i].dead);
        scene_end(f);
        called_close(&c);
    }
}

TEST(no_content_is_no_document)
{
    struct called_scene c = called_open(CALL("") ", { deliver: out }");
    struct flight *f = asked(&c);

    say_to(sent[0], 204, STR(""));
    CHECK(walk(f) == WALK_ENDS && f->settle.end == SETTLE_OVER && f->leg_count == 0);
    scene_end(f);
    called_close(&c);
}

TEST(an_answer_beyond_most_is_a_dead_letter)
{
    struct called_scene c = called_open(CALL(", most: 3") ", { deliver: out }");
    struct flight *f = asked(&c);

    say_to(sent[0], 200, STR("four"));
    CHECK(walk(f) == WALK_ENDS && f->settle.end == SETTLE_DEAD && f->dead == DEAD_LIMIT);
    CHECK(scene_says(f, "larger than 3 bytes; see `most`"));
    scene_end(f);
    called_close(&c);
}

TEST(slots_are_limited_and_handed_on)
{
    struct called_scene c = called_open(CALL(", limits: { concurrency: 2 }") ", { deliver: out }");
    struct flight *f[WAITING_FIRST + 3];
    struct calling_away away;

    for (int i = 0; i < WAITING_FIRST + 2; i++) {
        f[i] = asking(&c);
        CHECK(calling_put(c.own, f[i], &away));
    }
    CHECK(sent_count == 2);
    f[WAITING_FIRST + 2] = asking(&c);
    CHECK(!calling_put(c.own, f[WAITING_FIRST + 2], &away) && !away.failing &&
          away.wait_us >= CLOCK_S);
    say_to(sent[0], 200, STR("a"));
    CHECK(sent_count == 3 && sent[2] == &f[2]->called->transfer && on_count == 1);
    say_to(sent[1], 200, STR("a"));
    say_to(sent[2], 200, STR("a"));
    CHECK(sent_count == 5 && on_count == 3);
    for (size_t i = 3; i < WAITING_FIRST + 2; i++)
        say_to(sent[i], 200, STR("a"));
    CHECK(sent_count == WAITING_FIRST + 2 && on_count == WAITING_FIRST + 2);
    for (int i = 0; i < WAITING_FIRST + 3; i++)
        drop(f[i]);
    called_close(&c);
}

TEST(an_open_breaker_sends_them_away)
{
    struct called_scene c =
        called_open(CALL(", limits: { concurrency: 1 }, breaker: { failures: 2, "
                         "wait: 1h }") ", { deliver: out }");
    struct flight *f[4];
    struct calling_away away;

    f[0] = asked(&c);
    struct str service = c.s.plan->asking->service;

    say_to(sent[0], 500, STR(""));
    CHECK(!calling_look(c.own, service).open);
    f[1] = asked(&c);
    f[2] = asked(&c); /* waits for the slot */
    CHECK(sent_count == 2);
    say_to(sent[1], 500, STR(""));
    CHECK(sent_count == 2 && on_count == 3 && f[2]->called->is_away);
    struct callee_look look = calling_look(c.own, service);

    CHECK(look.open && !look.rejecting && strstr(look.why, "500") != NULL);
    CHECK(!calling_look(c.own, STR("http://127.0.0.1/another")).open);
    f[3] = asking(&c);
    CHECK(!calling_put(c.own, f[3], &away) && away.failing && away.wait_us > 60 * CLOCK_S);
    CHECK(walk(f[2]) == WALK_ENDS && f[2]->settle.end == SETTLE_AGAIN);
    CHECK(f[2]->settle.task.attempts == 1 && f[2]->timeline.len == 0);
    CHECK(str_is(f[2]->settle.message, "the service does not answer: its breaker is open"));
    for (int i = 0; i < 4; i++)
        drop(f[i]);
    called_close(&c);
}

TEST(a_pause_is_for_all)
{
    struct called_scene c = called_open(CALL("") ", { deliver: out }");
    struct flight *f = asked(&c), *other;
    struct calling_away away;
    int64_t now = road_now_us(c.s.road);

    sent[0]->answer.retry_after = STR("100");
    sent[0]->answer.status = 503;
    sent[0]->done(sent[0]);
    CHECK(walk(f) == WALK_ENDS && f->settle.due_us >= now + 100 * CLOCK_S);
    other = asking(&c);
    CHECK(!calling_put(c.own, other, &away) && away.failing && away.wait_us > 90 * CLOCK_S);
    scene_end(f);
    drop(other);
    called_close(&c);
}

TEST(a_rate_spreads_them)
{
    struct called_scene c =
        called_open(CALL(", limits: { rate: 60/m, burst: 1 }") ", { deliver: out }");
    struct flight *f[3];
    struct calling_away away[3];

    f[0] = asked(&c);
    for (int i = 1; i < 3; i++) {
        f[i] = asking(&c);
        CHECK(!calling_put(c.own, f[i], &away[i]) && !away[i].failing);
    }
    CHECK(sent_count == 1 && away[1].wait_us > 500 * CLOCK_MS);
    CHECK(away[2].wait_us > away[1].wait_us + 500 * CLOCK_MS);
    for (int i = 0; i < 3; i++)
        drop(f[i]);
    called_close(&c);
}

/* A line of the stored timeline. */
static void past_add(struct buf *past, enum timeline_stage stage, enum timeline_outcome outcome,
                     int64_t attempt, int64_t at_us)
{
    timeline_add(past, &(struct timeline_line){ .at_us = at_us,
                                                .stage = stage,
                                                .outcome = outcome,
                                                .took_us = 5,
                                                .attempt = attempt,
                                                .what = STR("call") });
}

TEST(tries_are_counted_from_the_last_start_on)
{
    struct scene s = scene_open("{ deliver: out }");
    struct flight *f = scene_flight(&s, "hi", 0);
    struct buf past = BUF_INIT(TIMELINE_MOST);

    CHECK(tries_of(f, STR("call"), 1).count == 0 && tries_of(f, STR("call"), 1).first_us == 0);
    past_add(&past, TIMELINE_STEP, TIMELINE_RETRY, 1, 100);
    past_add(&past, TIMELINE_OPERATOR, TIMELINE_AGAIN, 0, 200);
    past_add(&past, TIMELINE_STEP, TIMELINE_RETRY, 1, 300);
    past_add(&past, TIMELINE_STEP, TIMELINE_DONE, 0, 350);
    past_add(&past, TIMELINE_STEP, TIMELINE_RETRY, 7, 400); /* those between were left out */
    f->past = buf_view(&past);
    struct tries t = tries_of(f, STR("call"), 1);

    CHECK(t.count == 7 && t.first_us == 295 && !t.has_bytes);
    CHECK(tries_of(f, STR("jq"), 1).count == 0);
    timeline_add(&past, &(struct timeline_line){ .stage = TIMELINE_STEP,
                                                 .attempt = 1,
                                                 .what = STR("call"),
                                                 .has_bytes = true,
                                                 .size = 12,
                                                 .seg = 3,
                                                 .pos = 4 });
    past_add(&past, TIMELINE_STEP, TIMELINE_RETRY, 1, 500);
    f->past = buf_view(&past);
    t = tries_of(f, STR("call"), 3); /* the step behind it */
    CHECK(t.count == 1 && t.first_us == 495 && !t.has_bytes);
    t = tries_of(f, STR("call"), 1);
    CHECK(t.has_bytes && t.bytes.size == 12 && t.bytes.place.seg == 3 && t.bytes.place.pos == 4);
    CHECK(!tries_asked(f, STR("call"), 1, STR("0f3a")).has_bytes); /* it answers something else */
    timeline_add(&past, &(struct timeline_line){ .stage = TIMELINE_STEP,
                                                 .attempt = 1,
                                                 .what = STR("call"),
                                                 .message = STR("asked with 0f3a"),
                                                 .has_bytes = true,
                                                 .size = 13 });
    f->past = buf_view(&past);
    CHECK(tries_asked(f, STR("call"), 1, STR("0f3a")).bytes.size == 13);
    CHECK(!tries_asked(f, STR("call"), 1, STR("0f3b")).has_bytes);
    scene_end(f);
    buf_done(&past);
    scene_close(&s);
}

/* Bytes of an earlier run that are only in the store have the digest that they were stored with. */
TEST(the_digest_of_what_was_kept)
{
    struct scene s = scene_open("{ deliver: out }");
    struct flight *f = scene_flight(&s, "hi", 0);
    struct payload_source stored = { .size = 2 << 20, .sha256 = digest_of(STR("large")) };
    struct sha256 want = stored.sha256;

    f->step_count = 1;
    struct sha256 got = variant_sha256(f, variant_of_past(f, STR("call"), &stored));

    CHECK(memcmp(&got, &want, sizeof want) == 0);
    scene_end(f);
    scene_close(&s);
}

TEST(long_enough_is_a_dead_letter)
{
    struct called_scene c = called_open(CALL(", retry: { for: 1h }") ", { deliver: out }");
    struct flight *f = scene_flight(&c.s, "hi", 0);
    struct buf past = BUF_INIT(TIMELINE_MOST);
    struct calling_away away;

    past_add(&past, TIMELINE_STEP, TIMELINE_RETRY, 9,
             road_now_us(c.s.road) - INT64_C(3700) * CLOCK_S);
    f->past = buf_view(&past);
    CHECK(walk(f) == WALK_WAITS && f->called->attempt == 10 && calling_put(c.own, f, &away));
    say_to(sent[0], 500, STR("still"));
    CHECK(walk(f) == WALK_ENDS && f->settle.end == SETTLE_DEAD);
    CHECK(f->dead == DEAD_RETRIES_EXHAUSTED && scene_says(f, "answered 500: still"));
    scene_end(f);
    buf_done(&past);
    called_close(&c);
}

/* proves: PR12 */
TEST(what_was_kept_is_not_asked_for_again)
{
    struct called_scene c = called_open(CALL("") ", { copy: {} }, { deliver: out }");
    struct flight *kept = scene_flight(&c.s, NULL, 2 << 20), *f = scene_flight(&c.s, "hi", 0);
    struct buf past = BUF_INIT(TIMELINE_MOST);

    timeline_add(&past, &(struct timeline_line){ .stage = TIMELINE_STEP,
                                                 .attempt = 1,
                                                 .what = STR("call"),
                                                 .has_bytes = true,
                                                 .size = kept->source.size,
                                                 .sha256 = kept->source.sha256,
                                                 .seg = kept->source.place.seg,
                                                 .pos = kept->source.place.pos });
    f->past = buf_view(&past);
    CHECK(walk(f) == WALK_WAITS && f->walk.need == WALK_NEEDS_THREAD); /* the store is read */
    f->may_block = true;
    CHECK(walk(f) == WALK_SENDS && sent_count == 0 && f->step_count == 2);
    CHECK(f->made_count == 1 && f->made[0]->is_stored && !f->made[0]->settle.uploaded);
    CHECK(scene_says(f, "its answer was kept"));
    CHECK((int64_t)scene_sent(f, 0).len == kept->source.size);
    scene_end(f);
    scene_end(kept);
    buf_done(&past);
    called_close(&c);
}

/* The number of documents that the settlement makes if the run ends so. */
static size_t makes_at(struct flight *f, enum settle_outcome end)
{
    f->settle.end = end;
    answer_doc_fill(f);
    return f->answer_count;
}

TEST(the_answer_is_a_document_of_the_run_that_ends)
{
    struct called_scene c =
        called_open(CALL(", answer: { most: 100 }") ", { bang: {} }, { deliver: out }");
    struct flight *f = asked(&c);
    char key[100];

    (void)snprintf(key, sizeof key, "%s:call:1", f->id);
    say_to(sent[0], 200, STR("answer"));
    CHECK(walk(f) == WALK_SENDS && str_eq(scene_sent(f, 0), STR("answer!")));
    CHECK(f->answers != NULL && f->answers->came == ANSWER_CAME && f->answers->next == NULL);
    CHECK(str_is(f->answers->key, key) && str_eq(f->answers->rule->name, STR("notes:1")));
    CHECK(makes_at(f, SETTLE_AGAIN) == 0 && makes_at(f, SETTLE_DEAD) == 0);
    CHECK(makes_at(f, SETTLE_DELIVERIES) == 1);
    CHECK(str_eq(f->answer_parts[0].bytes, STR("answer")) && f->settle.wait_count == 0);
    CHECK(scene_says(f, "the answer is a document of its own"));
    scene_end(f);
    called_close(&c);
}

/* A later step has failed: the next run makes the document of what was kept. */
TEST(what_was_kept_is_a_document_of_the_run_that_ends)
{
    struct called_scene c = called_open(CALL(", answer: {}") ", { deliver: out }");
    struct flight *kept = scene_flight(&c.s, NULL, 2 << 20);
    struct flight *f = asked(&c), *next = scene_flight(&c.s, "hi", 0);
    struct buf past = BUF_INIT(TIMELINE_MOST);
    struct err err = { 0 };

    say_typed(sent[0], 201, STR("answer"), STR("text/x-kept"));
    CHECK(walk(f) == WALK_SENDS && variants_seal(f, &err));
    struct timeline_line line = f->made[0]->line; /* the store adds the place */

    line.has_bytes = true;
    line.size = kept->source.size;
    line.sha256 = kept->source.sha256;
    line.seg = kept->source.place.seg;
    line.pos = kept->source.place.pos;
    timeline_add(&past, &line);
    next->past = buf_view(&past);
    next->may_block = true;
    CHECK(walk(next) == WALK_SENDS && sent_count == 1 && makes_at(next, SETTLE_DELIVERIES) == 1);
    const struct offspring_part *made = &next->answer_parts[0];

    CHECK(made->is_uploaded && made->size == kept->source.size);
    CHECK(digest_same(&made->sha256, &kept->source.sha256));
    CHECK(str_is(made->ctype, "text/x-kept") && next->answers->status == 201);
    CHECK(answer_doc_has_uploads(next, false) && !answer_doc_has_uploads(next, true));
    answer_doc_drop_uploads(next, false);
    scene_end(next);
    scene_end(f);
    scene_end(kept);
    buf_done(&past);
    called_close(&c);
}

TEST(an_answer_that_is_no_document)
{
    static const struct {
        int64_t status;
        const char *body;
        enum answer_came came;
        size_t waits;
    } cases[] = {
        { 204, "", ANSWER_EMPTY, 1 },    { 200, "", ANSWER_EMPTY, 1 },
        { 202, "abc", ANSWER_LATER, 1 }, { 200, "abcd", ANSWER_TOO_LARGE, 1 },
        { 200, "abc", ANSWER_CAME, 0 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct called_scene c = called_open(
            CALL(", system: hub, answer: { most: 3, within: 1h }") ", { deliver: out }");
        struct flight *f = asked(&c);

        say_to(sent[0], cases[i].status, str_of(cases[i].body));
        (void)walk(f);
        CHECK(f->answers != NULL && f->answers->came == cases[i].came);
        CHECK(makes_at(f, SETTLE_AGAIN) == 0 && f->settle.wait_count == 0);
        CHECK(makes_at(f, SETTLE_OVER) == (cases[i].came == ANSWER_CAME));
        CHECK(f->settle.wait_count == cases[i].waits);
        CHECK(cases[i].waits == 0 || f->settle.waits[0].system != 0);
        scene_end(f);
        called_close(&c);
    }
}

/* The next run could be answered otherwise, behind parts that exist. */
TEST(what_was_answered_is_kept_before_the_first_parts_are_committed)
{
    struct called_scene c = called_open(CALL("") ", { cut: {} }");
    AUTO(buf_done) struct buf lines = BUF_INIT(1 << 16);
    struct flight *f = asked(&c);

    for (int i = 0; i < 1001; i++)
        buf_puts(&lines, "a\n");
    say_to(sent[0], 200, buf_view(&lines));
    f->may_block = true;
    CHECK(walk(f) == WALK_ENDS && f->settle.end == SETTLE_AGAIN && f->delayed);
    CHECK(f->settle.task.attempts == 0 && f->parts == NULL && f->made[0]->is_kept);
    scene_end(f);
    called_close(&c);
}

TEST(a_walk_without_effect_asks_nobody)
{
    struct called_scene c = called_open(CALL("") ", { deliver: out }");
    struct flight *f = scene_flight(&c.s, "hi", 0);

    f->dry = true;
    CHECK(!walk_only(f) && sent_count == 0 && f->settle.end == SETTLE_AGAIN);
    CHECK(scene_says(f, "what it would answer is not known"));
    scene_end(f);
    called_close(&c);
}

TEST(a_node_that_stops_puts_them_back)
{
    struct called_scene c = called_open(CALL(", limits: { concurrency: 1 }") ", { deliver: out }");
    struct flight *f = asked(&c), *waits = asked(&c), *late;
    struct calling_away away;

    CHECK(calling_close(c.own) == waits && waits->next == NULL);
    late = asking(&c);
    CHECK(!calling_put(c.own, late, &away) && away.wait_us == 0 && !away.failing);
    say_nothing_to(sent[0]);
    CHECK(back_count == 1 && put_back[0] == f && on_count == 0);
    drop(f);
    drop(waits);
    drop(late);
    called_close(&c);
}

TEST(a_hub_that_is_closed_takes_nothing)
{
    struct called_scene c = called_open(CALL("") ", { deliver: out }");
    struct flight *f = asking(&c);
    struct calling_away away;

    hub_is_closed = true;
    CHECK(!calling_put(c.own, f, &away) && away.wait_us == 0);
    hub_is_closed = false;
    CHECK(calling_put(c.own, f, &away)); /* its slot was free again */
    drop(f);
    called_close(&c);
}

int main(void)
{
    return test_main();
}
