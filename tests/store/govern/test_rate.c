/* Pieces of the timelines of systems: no time is given twice, whoever asks. */
#include "store/govern/rate.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/kernel/store_state.h"
#include "store_test.h"

enum { SYSTEM = 7, OTHER = 8, NS = 1000 };

static bool ask_piece(struct store *s, struct rate_op *o, int64_t system, struct rate_rule rule,
                      struct rate_piece last)
{
    struct err err = { 0 };

    *o = (struct rate_op){ .system = system, .rule = rule, .last = last };
    if (writers_call(store_writers(s), &rate_verb, &o->op, &err))
        return true;
    (void)printf("# %s\n", err.text);
    return false;
}

TEST(a_piece_is_given_and_the_next_begins_where_it_ended)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct rate_rule rule = rate_rule(1000, CLOCK_S, 1000);
    struct rate_op first, second;
    int64_t before = clock_mono_us();

    CHECK(s != NULL && ask_piece(s, &first, SYSTEM, rule, (struct rate_piece){ 0 }));
    CHECK(first.granted && first.piece.next_ns == first.now_ns);
    CHECK(first.piece.until_ns > first.piece.next_ns + rule.interval_ns);
    CHECK(first.mono_us >= before && first.mono_us <= clock_mono_us());
    CHECK(llabs(first.now_ns / NS - clock_wall_us()) < 5 * CLOCK_S);
    CHECK(ask_piece(s, &second, SYSTEM, rule, first.piece) && second.granted);
    CHECK(second.piece.next_ns == first.piece.until_ns);
    CHECK(ask_piece(s, &second, OTHER, rule, first.piece) && second.granted); /* its own timeline */
    CHECK(second.piece.next_ns == second.now_ns);
    store_close(s);
}

/* proves: DM6 */
TEST(a_start_does_not_forget_what_was_given)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct rate_rule slow = rate_rule(5, 60 * (int64_t)CLOCK_S, 1);
    struct rate_op o;

    CHECK(s != NULL && ask_piece(s, &o, SYSTEM, slow, (struct rate_piece){ 0 }) && o.granted);
    int64_t until = o.piece.until_ns;

    store_close(s);
    s = open_store(&h);
    CHECK(s != NULL && ask_piece(s, &o, SYSTEM, slow, (struct rate_piece){ 0 }));
    CHECK(!o.granted && o.wait_until_ns == until && o.wait_until_ns > o.now_ns);
    CHECK(ask(&h, "SELECT next_ns FROM rate_bucket WHERE system = 7") == until);
    store_close(s);
}

/* A clock that went back by an hour lets them wait for a piece or two, not for the hour. */
TEST(a_time_of_another_clock_does_not_strand_a_system)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct rate_rule rules[] = { rate_rule(5, 60 * (int64_t)CLOCK_S, 1),
                                 rate_rule(1000, CLOCK_S, 1000), rate_rule(50, CLOCK_S, 3) };

    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        int64_t most = (rules[i].burst + 1) * rules[i].interval_ns + RATE_PIECE_NS + RATE_SLACK_NS;
        struct rate_op o;

        CHECK(s != NULL && ask_piece(s, &o, SYSTEM, rules[i], (struct rate_piece){ 0 }));
        CHECK(tell(&h, "UPDATE rate_bucket SET next_ns = next_ns + 3600000000000"));
        CHECK(ask_piece(s, &o, SYSTEM, rules[i], (struct rate_piece){ 0 }) && o.granted);
        CHECK(o.piece.next_ns > o.now_ns && o.piece.next_ns - o.now_ns <= most);
        CHECK(tell(&h, "UPDATE rate_bucket SET next_ns = 0"));
    }
    store_close(s);
}

/* The clock of the store is set back twice: the row goes back with it, each time, and what was
 * given before is not given again.  (The row is told instead that the clock had shown more.) */
TEST(a_clock_that_is_set_back_twice_gives_nothing_twice)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct rate_rule rule = rate_rule(5, 60 * (int64_t)CLOCK_S, 1);
    struct rate_op o;

    CHECK(s != NULL && ask_piece(s, &o, SYSTEM, rule, (struct rate_piece){ 0 }) && o.granted);
    int64_t until = o.piece.until_ns;

    for (int i = 0; i < 2; i++) {
        CHECK(tell(&h, "UPDATE rate_bucket SET next_ns = next_ns + 3600000000000, "
                       "seen_ns = seen_ns + 3600000000000"));
        CHECK(ask_piece(s, &o, SYSTEM, rule, (struct rate_piece){ 0 }) && !o.granted);
        CHECK(o.wait_until_ns >= until); /* in elapsed time, which this test's clock shows */
        CHECK(o.wait_until_ns - o.now_ns <= rule.interval_ns + RATE_PIECE_NS + RATE_SLACK_NS);
    }
    store_close(s);
}

/* ---- many who ask ---- */

enum { ASKERS = 4, TURNS = 40 };

struct asker {
    struct store *store;
    struct rate_piece pieces[TURNS];
    size_t count;
    bool failed;
};

static void *keep_asking(void *arg)
{
    struct asker *k = arg;
    struct rate_rule rule = rate_rule(10000, CLOCK_S, 1000000);
    struct rate_piece last = { 0 };

    for (int i = 0; i < TURNS && !k->failed; i++) {
        struct rate_op o;

        k->failed = !ask_piece(k->store, &o, SYSTEM, rule, last);
        if (o.granted)
            last = k->pieces[k->count++] = o.piece;
    }
    return NULL;
}

static int by_start(const void *a, const void *b)
{
    const struct rate_piece *x = a, *y = b;

    return (x->next_ns > y->next_ns) - (x->next_ns < y->next_ns);
}

/* proves: DM6 */
TEST(pieces_of_two_nodes_never_overlap)
{
    struct home h = fresh_home(), beside = on_postgres() ? home_beside(&h) : h;
    struct store *stores[2] = { open_store(&h), NULL };
    struct asker *askers = calloc(ASKERS, sizeof *askers);
    struct rate_piece *all = calloc((size_t)ASKERS * TURNS, sizeof *all);
    pthread_t threads[ASKERS];
    size_t n = 0;

    stores[1] = on_postgres() ? open_store(&beside) : stores[0];
    CHECK(stores[0] != NULL && stores[1] != NULL);
    for (int i = 0; i < ASKERS; i++) {
        askers[i].store = stores[i % 2];
        CHECK(pthread_create(&threads[i], NULL, keep_asking, &askers[i]) == 0);
    }
    for (int i = 0; i < ASKERS; i++) {
        (void)pthread_join(threads[i], NULL);
        CHECK(!askers[i].failed && askers[i].count == TURNS);
        for (size_t k = 0; k < askers[i].count; k++)
            all[n++] = askers[i].pieces[k];
    }
    qsort(all, n, sizeof *all, by_start);
    for (size_t i = 1; i < n; i++)
        CHECK(all[i].next_ns >= all[i - 1].until_ns);
    if (stores[1] != stores[0])
        store_close(stores[1]);
    store_close(stores[0]);
    free(askers);
    free(all);
}

STORE_TEST_MAIN
