/* Senders that wait for receivers, with a real store and a real loop. */
#include "engine/intake/replies.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/require.h"
#include "folder.h"
#include "store/open.h"
#include "store/road/accept.h"
#include "store/store.h"
#include "test.h"

enum { SECONDS = 60, PLACES = 8, HOUR_US = 3600 };

/* One store and one loop for all tests. */
static struct folder folder;
static struct store *store;
static struct loop *loop;

struct scene {
    struct replies *replies;
};

static void scene_open(struct scene *c, size_t places)
{
    *c = (struct scene){ .replies = replies_new(store, places) };
}

static _Atomic bool is_run;

static void on_last(struct loop_msg *msg)
{
    (void)msg;
    atomic_store(&is_run, true);
}

/* Ends the waits, and lets the loop run what was posted to it. */
static void scene_close(struct scene *c)
{
    struct loop_msg last = { .fn = on_last };

    replies_stop(c->replies);
    atomic_store(&is_run, false);
    loop_post(loop, &last);
    while (!atomic_load(&is_run))
        clock_sleep_us(50);
    replies_free(c->replies);
}

/* A document that nobody delivers. */
static struct id accept_one_doc(void)
{
    struct accept_op op = { .gateway = 1,
                            .config = 1,
                            .received_us = clock_wall_us(),
                            .body = STR("x"),
                            .size = 1,
                            .sha256 = digest_of(STR("x")) };
    struct err err = { 0 };

    require(writers_call(store_writers(store), &accept_verb, &op.op, &err));
    return op.id;
}

/* ---- one sender ---- */

struct sender {
    struct loop_msg msg;
    struct scene *scene;
    struct reply_wait *wait;
    int64_t wait_us;
    enum { BEGIN, LISTEN, LEAVE } what;
    _Atomic bool done; /* the message was run */
    _Atomic int calls;
    enum intake_reply_kind kind;
    bool repeated;
};

static void on_replied(void *user, const struct intake_reply *reply)
{
    struct sender *s = user;

    s->kind = reply->kind;
    s->repeated = reply->repeated;
    (void)atomic_fetch_add(&s->calls, 1);
}

static void on_loop(struct loop_msg *msg)
{
    struct sender *s = (struct sender *)(void *)msg; /* msg is first */

    switch (s->what) {
    case BEGIN:
        s->wait = replies_begin(s->scene->replies, loop, s->wait_us);
        break;
    case LISTEN:
        replies_listen(s->wait, on_replied, s);
        break;
    case LEAVE:
        replies_leave(s->wait);
        break;
    }
    atomic_store(&s->done, true);
}

static void run_on_loop(struct sender *s, int what)
{
    atomic_store(&s->done, false);
    s->what = what;
    s->msg = (struct loop_msg){ .fn = on_loop };
    loop_post(loop, &s->msg);
    while (!atomic_load(&s->done))
        clock_sleep_us(50);
}

static bool is_called(struct sender *s)
{
    for (int64_t until = clock_mono_us() + SECONDS * CLOCK_S; clock_mono_us() < until;) {
        if (atomic_load(&s->calls) > 0)
            return true;
        clock_sleep_us(500);
    }
    return false;
}

static bool begins(struct scene *c, struct sender *s, int64_t wait_us)
{
    *s = (struct sender){ .scene = c, .wait_us = wait_us };
    run_on_loop(s, BEGIN);
    return s->wait != NULL;
}

static int64_t hours(void)
{
    return INT64_C(1) * HOUR_US * CLOCK_S;
}

/* ---- tests ---- */

TEST(there_are_so_many_places_and_no_more)
{
    struct scene c;
    struct sender all[3], more;

    scene_open(&c, 3);
    for (size_t i = 0; i < 3; i++)
        CHECK(begins(&c, &all[i], hours()));
    CHECK(!begins(&c, &more, hours()));
    run_on_loop(&all[1], LEAVE);
    CHECK(begins(&c, &more, hours()));
    run_on_loop(&more, LEAVE);
    run_on_loop(&all[0], LEAVE);
    run_on_loop(&all[2], LEAVE);
    scene_close(&c);
}

TEST(nothing_within_the_time_is_late)
{
    struct scene c;
    struct sender s;

    scene_open(&c, PLACES);
    struct id id = accept_one_doc();

    CHECK(begins(&c, &s, 20 * CLOCK_MS));
    replies_expect(s.wait, &id, false);
    run_on_loop(&s, LISTEN);
    CHECK(is_called(&s) && s.kind == REPLY_LATE && !s.repeated);
    scene_close(&c);
    CHECK(atomic_load(&s.calls) == 1);
}

/* The message may be on the loop before anybody listens: of a document that has ended already. */
TEST(what_has_ended_is_told_once_whoever_is_first)
{
    struct scene c;
    struct id gone = { 0 }; /* there is no such document: it was purged */

    scene_open(&c, PLACES);
    for (int i = 0; i < 50; i++) {
        struct sender s;

        CHECK(begins(&c, &s, hours()));
        replies_expect(s.wait, &gone, true);
        if (i % 2 == 0)
            clock_sleep_us(i * 20);
        run_on_loop(&s, LISTEN);
        CHECK(is_called(&s) && s.kind == REPLY_ENDED && s.repeated);
        CHECK(atomic_load(&s.calls) == 1);
    }
    scene_close(&c);
}

TEST(whoever_leaves_is_not_called_and_gives_the_place_back)
{
    struct scene c;
    struct id gone = { 0 };

    scene_open(&c, PLACES);
    struct id id = accept_one_doc();

    for (int i = 0; i < 100; i++) {
        struct sender s;

        CHECK(begins(&c, &s, hours())); /* places that do not come back would be used up */
        if (i % 4 != 0)
            replies_expect(s.wait, i % 4 == 1 ? &gone : &id, i % 4 != 3);
        if (i % 4 == 3)
            replies_told(c.replies, id_row(&id));
        if (i % 8 >= 4 && i % 4 != 1)
            run_on_loop(&s, LISTEN);
        run_on_loop(&s, LEAVE);
        CHECK(atomic_load(&s.calls) == 0);
    }
    scene_close(&c);
}

TEST(those_who_wait_are_told_that_the_node_stops)
{
    struct scene c;
    struct sender first, second;

    scene_open(&c, PLACES);
    struct id id = accept_one_doc();

    CHECK(begins(&c, &first, hours()) && begins(&c, &second, hours()));
    replies_expect(first.wait, &id, false);
    run_on_loop(&first, LISTEN);
    replies_hurry(c.replies, 10 * CLOCK_MS);
    CHECK(is_called(&first) && first.kind == REPLY_STOPPING);
    replies_expect(second.wait, &id, true); /* was being committed */
    run_on_loop(&second, LISTEN);
    scene_close(&c);
    CHECK(atomic_load(&second.calls) == 1 && second.kind == REPLY_STOPPING && second.repeated);
}

int main(void)
{
    struct err err = { 0 };

    folder = folder_make();
    require(store_open(&(struct store_options){ .data = folder.path, .area = "internal" }, &store,
                       &err));
    require(loop_start("test", &loop, &err));
    int failed = test_main();

    loop_stop(loop);
    store_close(store);
    folder_done(&folder);
    return failed;
}
