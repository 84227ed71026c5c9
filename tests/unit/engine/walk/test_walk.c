/* A walk keeps its place: what waits goes on where it stopped; what streams fits into little
 * memory. */
#include "engine/walk/walk.h"

#include "walk_scene.h"

enum { LARGE = 3 << 20 };

TEST(steps_in_memory_are_walked_at_once)
{
    struct scene s = scene_open("{ bang: {} }, { copy: {} }, { deliver: out }, { bang: {} }, "
                                "{ bang: {} }, { deliver: out }");
    struct flight *f = scene_flight(&s, "hi", 0);

    CHECK(walk(f) == WALK_SENDS && f->leg_count == 2 && f->step_count == 4);
    CHECK(str_is(scene_sent(f, 0), "hi!") && str_is(scene_sent(f, 1), "hi!!!"));
    CHECK(f->made_count == 3);        /* `copy` made nothing new */
    CHECK(f->made[1]->buf.size == 0); /* between the two: nobody sends it */
    scene_end(f);
    scene_close(&s);
}

TEST(a_step_that_needs_another_thread_waits_and_goes_on_there)
{
    struct scene s = scene_open("{ bang: {} }, { wide: {} }, { bang: {} }, { deliver: out }");
    char body[20000] = { 0 };

    memset(body, 'x', sizeof body - 1);
    struct flight *f = scene_flight(&s, body, 0);

    CHECK(walk(f) == WALK_WAITS && f->walk.need == WALK_NEEDS_THREAD);
    CHECK(f->walk.step == 1 && f->walk.bytes == f->made[0] && bangs == 1 && f->step_count == 1);
    CHECK(f->leg_count == 0 && !f->holds_large && f->peeked == NULL);
    f->may_block = true;
    CHECK(walk(f) == WALK_SENDS && bangs == 2 && wides == 2 && f->step_count == 3);
    CHECK(scene_sent(f, 0).len == sizeof body * WIDE + 1);
    CHECK(f->holds_large); /* `bang` has all of it in memory */
    (void)pthread_mutex_unlock(&f->stock->large);
    f->holds_large = false;
    CHECK(!f->made[1]->settle.uploaded && f->made[1]->buf.size == 0); /* what `wide` made is gone */
    scene_end(f);
    scene_close(&s);
}

TEST(a_large_document_streams_while_another_one_is_in_memory)
{
    struct scene s = scene_open("{ copy: {} }, { wide: {} }, { deliver: out }");
    struct flight *f = scene_flight(&s, NULL, LARGE / 4 + SEGMENT_PAYLOAD_MOST / 2);

    f->may_block = true;
    (void)pthread_mutex_lock(&f->stock->large);
    CHECK(walk(f) == WALK_ENDS && f->dead == DEAD_LIMIT); /* 125 MiB; the gateway takes 80 */
    CHECK(!variants_have_uploads(f) && f->made_count == 0);
    (void)pthread_mutex_unlock(&f->stock->large);
    CHECK(largest_piece > 0 && largest_piece <= SEGMENT_PAYLOAD_MOST);
    CHECK(f->received.buf.len == 0 && f->received.buf.size == 0);
    scene_end(f);
    scene_close(&s);
}

/* It streams, and has the whole document in memory all the same. */
TEST(a_record_is_added_to_one_large_document_at_a_time)
{
    struct scene s =
        scene_open("{ enrich: { set: none, key: \"value:k\", missing: pass } }, { deliver: out }");
    struct flight *f = scene_flight(&s, NULL, LARGE);

    CHECK(walk(f) == WALK_WAITS && f->walk.need == WALK_NEEDS_THREAD && !f->holds_large);
    f->may_block = true;
    CHECK(walk(f) == WALK_SENDS && f->made_count == 0 && f->holds_large);
    (void)pthread_mutex_unlock(&f->stock->large);
    f->holds_large = false;
    scene_end(f);
    scene_close(&s);
}

TEST(what_a_stream_makes_of_a_large_document_is_in_the_store)
{
    struct scene s = scene_open("{ bang: {} }, { say: {} }, { copy: {} }, { deliver: out }");
    struct flight *f = scene_flight(&s, NULL, LARGE);
    struct err err = { 0 };

    f->may_block = true;
    CHECK(walk(f) == WALK_SENDS && f->made_count == 1); /* two of them changed nothing */
    CHECK(scene_says(f, "looked at it") && f->step_count == 3);
    CHECK(variants_seal(f, &err) && f->made[0]->settle.uploaded && f->made[0]->buf.len == 0);
    CHECK(f->made[0]->settle.size == LARGE + 1 && f->made[0]->settle.line != NULL);
    struct str sent = scene_sent(f, 0);
    struct sha256 sum = digest_of(sent);

    CHECK(sent.len == LARGE + 1 && sent.ptr[LARGE] == '!' && sent.ptr[252] == 1);
    CHECK(digest_same(&sum, &f->made[0]->settle.sha256));
    (void)pthread_mutex_unlock(&f->stock->large);
    f->holds_large = false;
    scene_end(f);
    scene_close(&s);
}

TEST(a_chain_ends_where_nothing_comes_out)
{
    struct scene s = scene_open("{ deliver: out }, { none: {} }, { bang: {} }, { deliver: out }");
    struct flight *f = scene_flight(&s, "hi", 0);

    CHECK(walk(f) == WALK_SENDS && f->leg_count == 1 && bangs == 0);
    CHECK(scene_says(f, "nothing came out"));
    scene_end(f);
    scene_close(&s);
}

TEST(a_walk_that_waited_still_knows_where_it_was)
{
    struct scene s = scene_open("{ copy: {} }, { route: { type: \"value:other\" } }");
    struct flight *f = scene_flight(&s, NULL, LARGE);
    enum walk_result result = walk(f);

    CHECK(result == WALK_WAITS && f->walk.hops == 0);
    f->may_block = true;
    result = walk(f);
    CHECK(result == WALK_ENDS && f->dead == DEAD_LOOP && f->walk.hops == 2 && bangs == 1);
    if (f->holds_large)
        (void)pthread_mutex_unlock(&f->stock->large);
    scene_end(f);
    scene_close(&s);
}

int main(void)
{
    return test_main();
}
