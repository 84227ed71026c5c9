/* Which delivery may begin now.  A real plan of a small configuration; nothing is sent. */
#include "engine/dispatch/dispatch.h"

#include <string.h>

#include "engine/dispatch/field.h"
#include "store/govern/endpoint_state.h"

static const char without_one[] =
    "systems: { hub: { limits: { concurrency: 2 } }, shop: {} }\n"
    "gateways: { in: { kind: http } }\n"
    "endpoints: { two: { kind: http, url: \"http://x/\", system: hub } }\n"
    "routes:\n"
    "  - { name: all, do: [ { deliver: two } ] }\n";

static const char with_rates[] = "systems:\n"
                                 "  hub: { limits: { concurrency: 8, rate: 20/s, burst: 2 } }\n"
                                 "  shop: { limits: { concurrency: 8, rate: 1/h } }\n"
                                 "gateways: { in: { kind: http } }\n"
                                 "endpoints:\n"
                                 "  one: { kind: http, url: \"http://x/\", system: hub, breaker: { "
                                 "failures: 3, wait: 100ms } }\n"
                                 "  far: { kind: http, url: \"http://x/\", system: shop }\n"
                                 "routes:\n"
                                 "  - { name: all, do: [ { deliver: [one, far] } ] }\n";

/* ---- turns ---- */

TEST(a_system_begins_no_more_than_its_concurrency)
{
    struct field *f = field_new();
    struct leg *a = leg(f, "hub", "one"), *b = leg(f, "hub", "two"), *c = leg(f, "hub", "one");

    CHECK(offer(f, a, NULL) == DISPATCH_BEGIN);
    CHECK(offer(f, b, NULL) == DISPATCH_BEGIN);
    CHECK(offer(f, c, NULL) == DISPATCH_WAIT);
    CHECK(offer(f, leg(f, "shop", "far"), NULL) == DISPATCH_BEGIN); /* another system */
    struct dispatch_next next = end(f, a, VERDICT_DELIVERED);

    CHECK(next.begin == c && next.begin->next == NULL && next.park == NULL);
    field_free(f);
}

/* proves: DM7 */
TEST(a_lane_keeps_a_few_in_memory_and_sends_the_rest_to_the_store)
{
    struct field *f = field_new();
    unsigned why = 99;

    for (int i = 0; i < 2; i++)
        CHECK(offer(f, leg(f, "hub", "one"), NULL) == DISPATCH_BEGIN);
    for (int i = 0; i < MEMORY; i++)
        CHECK(offer(f, leg(f, "hub", "one"), NULL) == DISPATCH_WAIT);
    CHECK(offer(f, leg(f, "hub", "one"), &why) == DISPATCH_PARK);
    CHECK(why == 0); /* it is only a matter of turns */
    CHECK(offer(f, leg(f, "shop", "far"), NULL) == DISPATCH_BEGIN);
    field_free(f);
}

TEST(lanes_of_one_system_take_turns)
{
    struct field *f = field_new();
    struct leg *busy[2] = { leg(f, "hub", "one"), leg(f, "hub", "one") };
    size_t of_two = 0;

    CHECK(offer(f, busy[0], NULL) == DISPATCH_BEGIN);
    CHECK(offer(f, busy[1], NULL) == DISPATCH_BEGIN);
    for (int i = 0; i < 8; i++)
        CHECK(offer(f, leg(f, "hub", "one"), NULL) == DISPATCH_WAIT);
    for (int i = 0; i < 8; i++)
        CHECK(offer(f, leg(f, "hub", "two"), NULL) == DISPATCH_WAIT);
    struct leg *p = busy[0];

    for (int i = 0; i < 8; i++) {
        p->began_us = clock_mono_us();
        struct dispatch_next next = end(f, p, VERDICT_DELIVERED);

        CHECK(count(next.begin) == 1);
        p = next.begin;
        of_two += p->row.endpoint == word(f, NAME_ENDPOINT, "two");
    }
    CHECK(of_two == 4);
    field_free(f);
}

TEST(what_is_in_the_store_is_not_overtaken)
{
    struct field *f = field_new();
    struct queue_turn turn;
    struct leg *stored = leg(f, "hub", "one");

    stored->row.num = 7;
    CHECK(!dispatch_next_queue(f->dispatch, &turn));
    dispatch_note_stored(f->dispatch, stored->row.system, stored->row.endpoint, 1001);
    CHECK(offer(f, leg(f, "hub", "one"), NULL) == DISPATCH_PARK);
    CHECK(dispatch_next_queue(f->dispatch, &turn) && turn.queue == 1001 && turn.room >= 2);
    CHECK(offer(f, stored, NULL) == DISPATCH_BEGIN);
    dispatch_note_empty(f->dispatch, 1001);
    CHECK(!dispatch_next_queue(f->dispatch, &turn));
    CHECK(offer(f, leg(f, "hub", "one"), NULL) == DISPATCH_BEGIN);
    field_free(f);
}

/* Tasks are claimed ahead of the free slots, and again when half of those are used up: the receiver
 * does not wait for a claim, and a claim brings many. */
TEST(a_fast_receiver_has_the_next_deliveries_in_memory)
{
    enum { SLOTS = 2, AHEAD = 4 * SLOTS };
    struct field *f = field_new();
    struct leg *sent[SLOTS + AHEAD];
    struct queue_turn turn;

    for (int i = 0; i < SLOTS + AHEAD; i++) {
        sent[i] = leg(f, "hub", "one");
        sent[i]->row.num = i + 1;
    }
    dispatch_note_stored(f->dispatch, sent[0]->row.system, sent[0]->row.endpoint, 1001);
    CHECK(dispatch_next_queue(f->dispatch, &turn) && turn.room == SLOTS + AHEAD);
    for (int i = 0; i < SLOTS + AHEAD; i++)
        CHECK(offer(f, sent[i], NULL) == (i < SLOTS ? DISPATCH_BEGIN : DISPATCH_WAIT));
    for (int i = 0, hungry = f->hungry; i < AHEAD; i++) {
        bool half = i + 1 == AHEAD / 2;

        CHECK(i >= AHEAD / 2 || !dispatch_next_queue(f->dispatch, &turn));
        CHECK(end(f, sent[i], VERDICT_DELIVERED).begin == sent[SLOTS + i]);
        CHECK(f->hungry == hungry + half);
        hungry = f->hungry;
    }
    CHECK(dispatch_next_queue(f->dispatch, &turn) && turn.room == AHEAD);
    field_free(f);
}

/* A leg may leave memory without an end: the count may pass half between two ends. */
TEST(the_claimer_is_woken_once_when_half_or_less_is_left)
{
    enum { SLOTS = 2, AHEAD = 4 * SLOTS };
    struct field *f = field_new();
    struct leg *sent[SLOTS + AHEAD];
    struct queue_turn turn;
    struct dispatch_next next;

    for (int i = 0; i < SLOTS + AHEAD; i++) {
        sent[i] = leg(f, "hub", "one");
        sent[i]->row.num = i + 1;
        CHECK(offer(f, sent[i], NULL) == (i < SLOTS ? DISPATCH_BEGIN : DISPATCH_WAIT));
    }
    dispatch_note_stored(f->dispatch, sent[0]->row.system, sent[0]->row.endpoint, 1001);
    for (int i = 0; i < AHEAD / 2 - 1; i++)
        (void)end(f, sent[i], VERDICT_DELIVERED);
    int hungry = f->hungry;

    dispatch_back(f->dispatch, sent[3], &next); /* half is left */
    CHECK(count(next.begin) == 1 && f->hungry == hungry);
    (void)end(f, sent[4], VERDICT_DELIVERED);
    CHECK(f->hungry == hungry + 1);
    (void)end(f, sent[5], VERDICT_DELIVERED);
    CHECK(f->hungry == hungry + 1); /* it is on its way */
    CHECK(dispatch_next_queue(f->dispatch, &turn));
    (void)end(f, sent[6], VERDICT_DELIVERED);
    CHECK(f->hungry == hungry + 2); /* it has come, and brought nothing yet */
    field_free(f);
}

/* Else a backlog that drains would stop the gateways of its node. */
TEST(what_is_claimed_ahead_does_not_make_the_node_busy)
{
    struct field *f = field_new();
    struct leg *sent[2] = { leg(f, "hub", "one"), leg(f, "hub", "one") };

    for (int i = 0; i < 2; i++)
        CHECK(offer(f, sent[i], NULL) == DISPATCH_BEGIN);
    for (int i = 0; i < 100; i++) {
        struct leg *p = leg(f, "hub", "one");

        p->row.num = i + 1;
        p->loaded = true;
        CHECK(offer(f, p, NULL) == DISPATCH_WAIT && dispatch_waiting_fast(f->dispatch) == 0);
    }
    CHECK(offer(f, leg(f, "hub", "one"), NULL) == DISPATCH_WAIT);
    CHECK(dispatch_waiting_fast(f->dispatch) == 1);
    sent[0]->began_us -= 10 * CLOCK_S; /* it is slow: the receiver is the bottleneck */
    CHECK(count(end(f, sent[0], VERDICT_DELIVERED).begin) == 1);
    CHECK(dispatch_waiting_fast(f->dispatch) == 0);
    sent[1]->began_us = clock_mono_us();
    CHECK(count(dispatch_shed(f->dispatch)) == 100 - 16);
    field_free(f);
}

TEST(stored_lanes_are_served_in_turn)
{
    struct field *f = field_new();
    struct queue_turn first, second, third;
    int64_t hub = word(f, NAME_SYSTEM, "hub"), shop = word(f, NAME_SYSTEM, "shop");

    dispatch_note_stored(f->dispatch, hub, word(f, NAME_ENDPOINT, "one"), 1001);
    dispatch_note_stored(f->dispatch, shop, word(f, NAME_ENDPOINT, "far"), 1002);
    CHECK(dispatch_next_queue(f->dispatch, &first));
    CHECK(dispatch_next_queue(f->dispatch, &second));
    CHECK(dispatch_next_queue(f->dispatch, &third));
    CHECK(first.queue != second.queue && first.queue == third.queue);
    field_free(f);
}

/* ---- breaker ---- */

static void open_breaker(struct field *f)
{
    for (int i = 0; i < 3; i++) {
        struct leg *p = leg(f, "hub", "one");

        CHECK(offer(f, p, NULL) == DISPATCH_BEGIN);
        (void)end(f, p, VERDICT_UNREACHED);
    }
    CHECK(f->open && f->changed == 1);
}

/* proves: DE5 */
TEST(an_endpoint_that_is_not_reached_is_left_alone_and_then_probed_by_one)
{
    struct field *f = field_new();
    unsigned why;

    open_breaker(f);
    CHECK(offer(f, leg(f, "hub", "one"), &why) == DISPATCH_PARK && why == HELD_BREAKER);
    CHECK(offer(f, leg(f, "hub", "two"), NULL) == DISPATCH_BEGIN); /* the other endpoint */
    clock_sleep_us(250 * CLOCK_MS);
    struct leg *probe = leg(f, "hub", "one");

    CHECK(offer(f, probe, NULL) == DISPATCH_BEGIN && probe->probe);
    CHECK(offer(f, leg(f, "hub", "one"), &why) == DISPATCH_PARK && why == HELD_BREAKER);
    (void)end(f, probe, VERDICT_DELIVERED);
    CHECK(!f->open && f->changed == 2);
    CHECK(dispatch_held_why(f->dispatch, probe->row.system, probe->row.endpoint) == 0);
    field_free(f);
}

TEST(an_open_breaker_sends_what_waits_in_memory_to_the_store)
{
    struct field *f = field_new();
    struct leg *a = leg(f, "hub", "one"), *b = leg(f, "hub", "one");

    CHECK(offer(f, a, NULL) == DISPATCH_BEGIN);
    CHECK(offer(f, b, NULL) == DISPATCH_BEGIN);
    for (int i = 0; i < 5; i++)
        CHECK(offer(f, leg(f, "hub", "one"), NULL) == DISPATCH_WAIT);
    struct dispatch_next next = end(f, a, VERDICT_STRANGE); /* opens at once; proves: FI12 */

    CHECK(next.begin == NULL && count(next.park) == 5 && f->here);
    CHECK(dispatch_held_why(f->dispatch, a->row.system, a->row.endpoint) == HELD_ENDPOINT);
    (void)end(f, b, VERDICT_CREDENTIAL);
    CHECK(dispatch_held_why(f->dispatch, a->row.system, a->row.endpoint) == HELD_BREAKER);
    field_free(f);
}

/* proves: DE8 */
TEST(a_pause_that_the_receiver_asks_for_holds_its_whole_endpoint)
{
    struct field *f = field_new();
    struct leg *a = leg(f, "hub", "one");
    struct verdict v = { .kind = VERDICT_RETRY, .retry_after_us = 200 * CLOCK_MS };
    struct dispatch_next next;
    unsigned why;

    CHECK(offer(f, a, NULL) == DISPATCH_BEGIN);
    CHECK(!dispatch_ended(f->dispatch, a, &v, &next));
    CHECK(offer(f, leg(f, "hub", "one"), &why) == DISPATCH_PARK && why == HELD_PAUSE);
    CHECK(dispatch_system_why(f->dispatch, a->row.system) == 0); /* nobody on our side wants it */
    clock_sleep_us(250 * CLOCK_MS);
    a->row.num = 9; /* from the store: what was parked stands before new ones */
    CHECK(offer(f, a, NULL) == DISPATCH_BEGIN);
    field_free(f);
}

/* proves: RO12 */
TEST(an_endpoint_that_is_gone_holds_its_deliveries)
{
    struct field *f = field_new();
    struct plan *newer = plan_of(f->store, without_one, 2);
    struct leg *p = leg(f, "hub", "one");
    struct queue_turn turn;
    unsigned why;

    dispatch_note_stored(f->dispatch, p->row.system, p->row.endpoint, 1001);
    dispatch_use(f->dispatch, newer);
    CHECK(offer(f, p, &why) == DISPATCH_PARK && why == HELD_ENDPOINT);
    CHECK(!dispatch_next_queue(f->dispatch, &turn));
    dispatch_use(f->dispatch, f->plan);
    CHECK(dispatch_next_queue(f->dispatch, &turn));
    plan_unref(newer);
    field_free(f);
}

TEST(what_waits_for_an_endpoint_that_is_closed_goes_to_the_store)
{
    struct field *f = field_new();
    struct plan *newer = plan_of(f->store, without_one, 2);

    for (int i = 0; i < 2; i++)
        CHECK(offer(f, leg(f, "hub", "one"), NULL) == DISPATCH_BEGIN);
    for (int i = 0; i < 5; i++)
        CHECK(offer(f, leg(f, "hub", "one"), NULL) == DISPATCH_WAIT);
    CHECK(dispatch_shed(f->dispatch) == NULL);
    dispatch_use(f->dispatch, newer);
    CHECK(count(dispatch_shed(f->dispatch)) == 5);
    CHECK(dispatch_shed(f->dispatch) == NULL);
    plan_unref(newer);
    field_free(f);
}

TEST(a_lane_that_does_not_move_keeps_only_a_few)
{
    struct field *f = field_new();

    for (int i = 0; i < 2; i++)
        CHECK(offer(f, leg(f, "hub", "one"), NULL) == DISPATCH_BEGIN);
    for (int i = 0; i < 100; i++)
        CHECK(offer(f, leg(f, "hub", "one"), NULL) == DISPATCH_WAIT);
    CHECK(dispatch_shed(f->dispatch) == NULL && dispatch_waiting_fast(f->dispatch) == 100);
    clock_sleep_us(250 * CLOCK_MS);
    size_t parked = count(dispatch_shed(f->dispatch)); /* none, unless this test was held up */

    CHECK(dispatch_waiting_fast(f->dispatch) == 0);
    CHECK(offer(f, leg(f, "hub", "one"), NULL) == DISPATCH_PARK);
    clock_sleep_us(CLOCK_S);
    CHECK(parked + count(dispatch_shed(f->dispatch)) == 100 - 16);
    field_free(f);
}

/* Sends that take about as long as the limit do not send what waits to the store and back. */
TEST(a_fast_receiver_becomes_slow_at_twice_the_time)
{
    struct field *f = field_new();
    struct leg *p = leg(f, "hub", "one");

    CHECK(offer(f, p, NULL) == DISPATCH_BEGIN);
    CHECK(offer(f, leg(f, "hub", "one"), NULL) == DISPATCH_BEGIN);
    for (int i = 0; i < 100; i++)
        CHECK(offer(f, leg(f, "hub", "one"), NULL) == DISPATCH_WAIT);
    p->began_us = clock_mono_us() - 70 * CLOCK_MS * 8; /* the average is 70 ms */
    p = end(f, p, VERDICT_DELIVERED).begin;
    CHECK(dispatch_waiting_fast(f->dispatch) == 99);
    p->began_us = clock_mono_us() - 70 * CLOCK_MS - 50 * CLOCK_MS * 8; /* 120 ms */
    (void)end(f, p, VERDICT_DELIVERED);
    CHECK(dispatch_waiting_fast(f->dispatch) == 0);
    CHECK(count(dispatch_shed(f->dispatch)) == 98 - 16);
    field_free(f);
}

/* Run under a sanitizer: the settings of a plan that is gone would be read. */
TEST(one_that_waited_begins_with_the_newest_settings)
{
    struct field *f = field_new();
    struct leg *a = leg(f, "hub", "two"), *b = leg(f, "hub", "two"), *c = leg(f, "hub", "two");
    struct plan *second = plan_of(f->store, two_systems, 2), *third;

    dispatch_use(f->dispatch, second);
    CHECK(offer(f, a, NULL) == DISPATCH_BEGIN && offer(f, b, NULL) == DISPATCH_BEGIN);
    CHECK(offer(f, c, NULL) == DISPATCH_WAIT && c->plan == second);
    third = plan_of(f->store, two_systems, 3);
    dispatch_use(f->dispatch, third);
    struct dispatch_next next = end(f, a, VERDICT_DELIVERED);

    CHECK(next.begin == c && c->plan == third);
    CHECK(c->endpoint == plan_endpoint_find(third, word(f, NAME_ENDPOINT, "two")));
    plan_unref(second);
    plan_unref(third);
    field_free(f);
}

/* ---- systems that mind a second send ---- */

static const char strict[] =
    "systems: { hub: { in_doubt: hold, limits: { concurrency: 2 } }, shop: {} }\n"
    "gateways: { in: { kind: http } }\n"
    "endpoints: { two: { kind: http, url: \"http://x/\", system: hub } }\n"
    "routes:\n"
    "  - { name: all, do: [ { deliver: two } ] }\n";

/* proves: DE9 */
TEST(a_system_that_minds_is_sent_to_from_the_store_only)
{
    struct field *f = field_new();
    struct leg *born = leg(f, "hub", "two"), *stored = leg(f, "hub", "two");
    struct plan *plan = plan_of(f->store, strict, 2);
    unsigned why = 99;

    dispatch_use(f->dispatch, plan);
    CHECK(offer(f, born, &why) == DISPATCH_PARK && why == 0 && born->in_doubt == DOUBT_HOLD);
    stored->row.num = 5;
    CHECK(offer(f, stored, NULL) == DISPATCH_BEGIN && stored->in_doubt == DOUBT_HOLD);
    plan_unref(plan);
    field_free(f);
}

TEST(what_goes_in_order_goes_from_the_store_only)
{
    struct field *f = field_new();
    struct leg *born = leg(f, "hub", "two"), *stored = leg(f, "hub", "two");
    struct leg *free_one = leg(f, "hub", "two");
    unsigned why = 99;

    born->row.lane = stored->row.lane = 77;
    CHECK(offer(f, born, &why) == DISPATCH_PARK && why == 0);
    stored->row.num = 5;
    CHECK(offer(f, stored, NULL) == DISPATCH_BEGIN);
    CHECK(offer(f, free_one, NULL) == DISPATCH_BEGIN); /* it waits for no lane */
    field_free(f);
}

/* proves: DE12 */
TEST(what_waits_in_memory_when_its_system_begins_to_mind_goes_to_the_store)
{
    struct field *f = field_new();
    struct leg *a = leg(f, "hub", "two"), *b = leg(f, "hub", "two");
    struct leg *waits = leg(f, "hub", "two"), *stored = leg(f, "hub", "two");
    struct plan *plan = plan_of(f->store, strict, 2);

    stored->row.num = 5;
    CHECK(offer(f, a, NULL) == DISPATCH_BEGIN && offer(f, b, NULL) == DISPATCH_BEGIN);
    CHECK(offer(f, waits, NULL) == DISPATCH_WAIT && offer(f, stored, NULL) == DISPATCH_WAIT);
    dispatch_use(f->dispatch, plan);
    struct dispatch_next next = end(f, a, VERDICT_DELIVERED);

    CHECK(next.park == waits && waits->next == NULL);
    CHECK(next.begin == stored && stored->next == NULL);
    plan_unref(plan);
    field_free(f);
}

TEST(a_slot_that_is_given_back_lets_the_next_one_begin)
{
    struct field *f = field_new();
    struct leg *a = leg(f, "hub", "two"), *b = leg(f, "hub", "two"), *c = leg(f, "hub", "two");
    struct dispatch_next next;

    CHECK(offer(f, a, NULL) == DISPATCH_BEGIN && offer(f, b, NULL) == DISPATCH_BEGIN);
    CHECK(offer(f, c, NULL) == DISPATCH_WAIT);
    dispatch_back(f->dispatch, a, &next);
    CHECK(next.begin == c && next.park == NULL);
    dispatch_back(f->dispatch, b, &next);
    CHECK(next.begin == NULL && f->changed == 0);
    CHECK(offer(f, a, NULL) == DISPATCH_BEGIN);
    field_free(f);
}

/* As another node, or this one before a restart, has stored it. */
static void learn(struct field *f, int64_t endpoint, enum endpoint_state_kind kind,
                  int64_t since_us, int64_t until_us)
{
    dispatch_learn(f->dispatch, &(struct endpoint_state){ .endpoint = endpoint,
                                                          .kind = kind,
                                                          .since_us = since_us,
                                                          .until_us = until_us,
                                                          .message = STR("answered 422") });
}

TEST(what_another_node_knows_is_learned)
{
    struct field *f = field_new();
    int64_t one = word(f, NAME_ENDPOINT, "one"), now = clock_wall_us();
    unsigned why;

    learn(f, one, ENDPOINT_OPEN, now, now + CLOCK_S);
    CHECK(offer(f, leg(f, "hub", "one"), &why) == DISPATCH_PARK && why == HELD_BREAKER);
    field_free(f);
}

TEST(an_endpoint_that_rejected_everything_is_not_forgotten_by_a_restart)
{
    struct field *f = field_new();
    struct leg *a = leg(f, "hub", "one");
    struct endpoint_look look;
    int64_t now = clock_wall_us();

    learn(f, a->row.endpoint, ENDPOINT_REJECTING, now - 2, now - 1); /* a probe may go */
    CHECK(dispatch_look(f->dispatch, a->row.endpoint, &look) && look.rejecting);
    CHECK(strstr(look.rejecting_why, "answered 422") != NULL);
    CHECK(offer(f, a, NULL) == DISPATCH_BEGIN && a->probe);
    (void)end(f, a, VERDICT_REJECTED);
    CHECK(dispatch_look(f->dispatch, a->row.endpoint, &look) && look.open && look.rejecting);
    field_free(f);
}

/* ---- reasons of a system ---- */

static void hold(struct field *f, const char *system, bool on)
{
    struct govern_hold h = { .system = word(f, NAME_SYSTEM, system) };

    govern_set_holds(f->govern, &h, on);
}

/* proves: HO4 */
TEST(nothing_of_a_system_that_is_held_begins)
{
    struct field *f = field_new();
    struct leg *a = leg(f, "hub", "one"), *b = leg(f, "hub", "two"), *c = leg(f, "hub", "one");
    struct queue_turn turn;
    unsigned why;

    CHECK(offer(f, a, NULL) == DISPATCH_BEGIN && offer(f, b, NULL) == DISPATCH_BEGIN);
    CHECK(offer(f, c, NULL) == DISPATCH_WAIT);
    dispatch_note_stored(f->dispatch, a->row.system, a->row.endpoint, 1001);
    hold(f, "hub", true);
    CHECK(offer(f, leg(f, "hub", "two"), &why) == DISPATCH_PARK && why == HELD_HOLD);
    CHECK(!dispatch_next_queue(f->dispatch, &turn));
    CHECK(dispatch_held_why(f->dispatch, a->row.system, a->row.endpoint) == HELD_HOLD);
    CHECK(offer(f, leg(f, "shop", "far"), NULL) == DISPATCH_BEGIN); /* nobody else */
    struct dispatch_next next = end(f, a, VERDICT_DELIVERED);

    CHECK(next.begin == NULL && next.park == c && c->next == NULL);
    hold(f, "hub", false);
    CHECK(dispatch_held_why(f->dispatch, a->row.system, a->row.endpoint) == 0);
    CHECK(dispatch_next_queue(f->dispatch, &turn) && turn.queue == 1001);
    field_free(f);
}

TEST(a_held_delivery_carries_every_reason)
{
    struct field *f = field_new();
    int64_t one = word(f, NAME_ENDPOINT, "one"), now = clock_wall_us();
    unsigned why;

    learn(f, one, ENDPOINT_OPEN, now, now + CLOCK_S);
    learn(f, one, ENDPOINT_PAUSE, now, now + CLOCK_S);
    hold(f, "hub", true);
    govern_set_pause(f->govern, true);
    CHECK(offer(f, leg(f, "hub", "one"), &why) == DISPATCH_PARK);
    CHECK(why == (HELD_HOLD | HELD_PAUSE | HELD_BREAKER));
    CHECK(dispatch_held_why(f->dispatch, word(f, NAME_SYSTEM, "hub"), one) == why);
    field_free(f);
}

TEST(what_waits_for_a_system_that_is_held_goes_to_the_store)
{
    struct field *f = field_new();

    for (int i = 0; i < 2; i++)
        CHECK(offer(f, leg(f, "hub", "one"), NULL) == DISPATCH_BEGIN);
    for (int i = 0; i < 5; i++)
        CHECK(offer(f, leg(f, "hub", "one"), NULL) == DISPATCH_WAIT);
    hold(f, "hub", true);
    CHECK(count(dispatch_shed(f->dispatch)) == 5 && dispatch_shed(f->dispatch) == NULL);
    field_free(f);
}

/* proves: HO2 */
TEST(a_reason_that_comes_and_goes_leaves_nothing_behind)
{
    struct field *f = field_new();
    struct leg *a = leg(f, "hub", "one"), *b = leg(f, "hub", "one"), *c = leg(f, "hub", "two");
    struct leg *d = leg(f, "hub", "one");
    int64_t two = word(f, NAME_ENDPOINT, "two"), now = clock_wall_us();

    CHECK(offer(f, a, NULL) == DISPATCH_BEGIN && offer(f, b, NULL) == DISPATCH_BEGIN);
    CHECK(offer(f, c, NULL) == DISPATCH_WAIT);
    /* c's endpoint is closed for a moment, in which everything else of its system ends */
    learn(f, two, ENDPOINT_PAUSE, now, now + 30 * CLOCK_MS);
    (void)end(f, a, VERDICT_DELIVERED);
    (void)end(f, b, VERDICT_DELIVERED);
    clock_sleep_us(40 * CLOCK_MS);
    CHECK(dispatch_shed(f->dispatch) == c);
    CHECK(offer(f, d, NULL) == DISPATCH_BEGIN);
    field_free(f);
}

TEST(what_is_being_sent_is_known)
{
    struct field *f = field_new();
    struct leg *legs[] = { leg(f, "hub", "one"), leg(f, "hub", "two"), leg(f, "shop", "far"),
                           leg(f, "hub", "one") };
    static const char *const ids[] = { "a", "b", "c", "d" };
    AUTO(buf_done) struct buf list = BUF_INIT(1000);
    int64_t hub = word(f, NAME_SYSTEM, "hub");

    for (int i = 0; i < 4; i++) {
        legs[i]->row.id = str_of(ids[i]);
        (void)offer(f, legs[i], NULL);
    }
    dispatch_sending(f->dispatch, hub, 10, &list);
    CHECK(str_is(buf_view(&list), "b\na\n"));
    CHECK(end(f, legs[0], VERDICT_DELIVERED).begin == legs[3]);
    buf_clear(&list);
    dispatch_sending(f->dispatch, hub, 1, &list);
    CHECK(str_is(buf_view(&list), "d\n"));
    (void)end(f, legs[1], VERDICT_DELIVERED);
    (void)end(f, legs[3], VERDICT_DELIVERED);
    buf_clear(&list);
    dispatch_sending(f->dispatch, hub, 10, &list);
    CHECK(list.len == 0);
    field_free(f);
}

/* ---- rates ---- */

static void use_rates(struct field *f)
{
    struct plan *old = f->plan;

    f->plan = plan_of(f->store, with_rates, 2);
    dispatch_use(f->dispatch, f->plan);
    f->flight.plan = f->plan;
    plan_unref(old);
}

/* proves: DM3 DM4 DM5 */
TEST(what_has_no_token_waits_and_begins_when_there_is_one)
{
    struct field *f = field_new();
    struct dispatch_next next;
    struct queue_turn turn;
    unsigned why = 0;

    use_rates(f);
    struct leg *a = leg(f, "hub", "one"), *b = leg(f, "hub", "one"), *c = leg(f, "hub", "one");

    CHECK(offer(f, a, NULL) == DISPATCH_WAIT && offer(f, b, NULL) == DISPATCH_WAIT);
    CHECK(dispatch_shed(f->dispatch) == NULL); /* its tokens let it begin */
    dispatch_due(f->dispatch, a->row.system, &next);
    CHECK(next.begin == NULL);
    reserve(f);
    dispatch_due(f->dispatch, 0, &next); /* nobody told it */
    CHECK(next.begin == a && a->next == b && b->next == NULL && next.park == NULL); /* a burst */
    dispatch_due(f->dispatch, a->row.system, &next);                                /* told twice */
    CHECK(next.begin == NULL);
    CHECK(dispatch_held_why(f->dispatch, a->row.system, a->row.endpoint) == 0);
    CHECK(offer(f, c, NULL) == DISPATCH_WAIT);
    CHECK(dispatch_held_why(f->dispatch, a->row.system, a->row.endpoint) == HELD_RATE);
    for (int i = 0; i < 2; i++)
        CHECK(offer(f, leg(f, "hub", "one"), NULL) == DISPATCH_WAIT);
    CHECK(offer(f, leg(f, "hub", "one"), &why) == DISPATCH_PARK && why == HELD_RATE);
    dispatch_note_stored(f->dispatch, a->row.system, a->row.endpoint, 1001);
    CHECK(!dispatch_next_queue(f->dispatch, &turn)); /* there is no room for it */
    next = end(f, a, VERDICT_DELIVERED);
    CHECK(next.begin == NULL); /* a slot, but no token */
    clock_sleep_us(60 * CLOCK_MS);
    next = end(f, b, VERDICT_DELIVERED);
    CHECK(next.begin == c);
    CHECK(dispatch_next_queue(f->dispatch, &turn) && turn.room >= 1);
    dispatch_rest(f->dispatch); /* the node stops */
    for (struct leg *p = next.begin, *after; p != NULL; p = after) {
        after = p->next;
        CHECK(end(f, p, VERDICT_DELIVERED).park == NULL);
    }
    CHECK(count(dispatch_shed(f->dispatch)) <= 2 && dispatch_shed(f->dispatch) == NULL);
    field_free(f);
}

TEST(what_waits_for_long_waits_in_the_store)
{
    struct field *f = field_new();
    struct leg *stored = leg(f, "shop", "far");
    struct dispatch_next next;
    struct queue_turn turn;
    unsigned why = 0;

    use_rates(f);
    CHECK(offer(f, leg(f, "shop", "far"), &why) == DISPATCH_PARK && why == HELD_RATE);
    CHECK(f->reserving == NULL); /* it asks when somebody has it in hand */
    int hungry = f->hungry;

    dispatch_note_stored(f->dispatch, stored->row.system, stored->row.endpoint, 1001);
    CHECK(f->hungry > hungry && dispatch_next_queue(f->dispatch, &turn) && turn.room == 1);
    stored->row.num = 7;
    CHECK(offer(f, stored, NULL) == DISPATCH_WAIT && f->reserving != NULL);
    CHECK(!dispatch_next_queue(f->dispatch, &turn));
    reserve(f);
    dispatch_due(f->dispatch, stored->row.system, &next);
    CHECK(next.begin == stored);
    field_free(f);
}

TEST(a_probe_needs_a_token_too)
{
    struct field *f = field_new();
    struct queue_turn turn;
    struct leg *p[3];

    use_rates(f);
    for (int i = 0; i < 3; i++) {
        p[i] = leg(f, "hub", "one");
        f->row = (struct rate_row){ 0 };
        if (offer(f, p[i], NULL) == DISPATCH_WAIT) {
            struct dispatch_next next;

            clock_sleep_us(110 * CLOCK_MS);
            reserve(f);
            dispatch_due(f->dispatch, 0, &next);
            CHECK(next.begin == p[i]);
        }
    }
    for (int i = 0; i < 3; i++)
        (void)end(f, p[i], VERDICT_UNREACHED);
    CHECK(f->open);
    clock_sleep_us(120 * CLOCK_MS);
    dispatch_note_stored(f->dispatch, p[0]->row.system, p[0]->row.endpoint, 1001);
    p[0]->row.num = 7;
    f->row.next_ns = INT64_MAX / 4;
    while (dispatch_next_queue(f->dispatch, &turn)) { /* what is left of the piece */
        CHECK(turn.room == 1 && offer(f, p[0], NULL) == DISPATCH_BEGIN);
        (void)end(f, p[0], VERDICT_UNREACHED);
        clock_sleep_us(10 * CLOCK_MS);
    }
    CHECK(offer(f, p[0], NULL) == DISPATCH_PARK);
    field_free(f);
}

TEST(what_has_priority_goes_first)
{
    struct field *f = field_new();
    struct leg *busy[2] = { leg(f, "hub", "one"), leg(f, "hub", "one") };
    struct leg *low = leg(f, "hub", "one"), *high = leg(f, "hub", "one"),
               *next_high = leg(f, "hub", "one"), *normal = leg(f, "hub", "one");

    low->row.prio = 5;
    high->row.prio = next_high->row.prio = 2;
    normal->row.prio = 4;
    CHECK(offer(f, busy[0], NULL) == DISPATCH_BEGIN && offer(f, busy[1], NULL) == DISPATCH_BEGIN);
    CHECK(offer(f, low, NULL) == DISPATCH_WAIT && offer(f, high, NULL) == DISPATCH_WAIT);
    CHECK(offer(f, normal, NULL) == DISPATCH_WAIT && offer(f, next_high, NULL) == DISPATCH_WAIT);
    struct leg *want[] = { high, next_high, normal, low }, *last = busy[0];

    for (size_t i = 0; i < 4; i++) {
        struct dispatch_next next = end(f, last, VERDICT_DELIVERED);

        CHECK(next.begin == want[i]);
        last = next.begin;
    }
    field_free(f);
}

/* ---- connections ---- */

/* An endpoint of two systems, with two connections of this node. */
TEST(an_endpoint_has_no_more_sends_than_connections)
{
    static const char shared[] =
        "systems: { hub: { limits: { concurrency: 8 } }, shop: { limits: { concurrency: 8 } } }\n"
        "gateways: { in: { kind: http } }\n"
        "endpoints: { one: { kind: http, url: \"http://x/\" }, two: { kind: http, url: "
        "\"http://x/\" } }\n"
        "routes:\n"
        "  - { name: all, do: [ { deliver: [one, two] } ] }\n";
    struct field *f = field_new();
    struct plan *plan = plan_of(f->store, shared, 2);

    CHECK(plan != NULL);
    for (size_t i = 0; i < plan->endpoint_count; i++)
        if (str_is(plan->endpoints[i].name, "one"))
            plan->endpoints[i].connections = 2;
    dispatch_use(f->dispatch, plan);
    struct leg *a = leg(f, "hub", "one"), *b = leg(f, "shop", "one"), *c = leg(f, "hub", "one"),
               *d = leg(f, "shop", "one");

    CHECK(offer(f, a, NULL) == DISPATCH_BEGIN && offer(f, b, NULL) == DISPATCH_BEGIN);
    CHECK(offer(f, c, NULL) == DISPATCH_WAIT && offer(f, d, NULL) == DISPATCH_WAIT);
    CHECK(offer(f, leg(f, "hub", "two"), NULL) == DISPATCH_BEGIN); /* it has no such limit */
    struct dispatch_next next = end(f, a, VERDICT_DELIVERED);

    CHECK(next.begin == c && next.begin->next == NULL && next.park == NULL);
    /* The connection goes to the other system, which has nothing of its own to wait for. */
    next = end(f, c, VERDICT_DELIVERED);
    CHECK(next.begin == d && next.begin->next == NULL && next.park == NULL);
    CHECK(offer(f, leg(f, "hub", "one"), NULL) == DISPATCH_WAIT);
    next = end(f, b, VERDICT_DELIVERED);
    CHECK(count(next.begin) == 1);
    /* With fewer of them in a new version, nothing begins until enough have ended. */
    plan->endpoints[0].connections = plan->endpoints[1].connections = 1;
    CHECK(offer(f, leg(f, "hub", "one"), NULL) == DISPATCH_WAIT);
    next = end(f, d, VERDICT_DELIVERED);
    CHECK(next.begin == NULL);
    plan_unref(plan);
    field_free(f);
}

int main(void)
{
    return test_main();
}
