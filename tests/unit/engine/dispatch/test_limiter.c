/* Tokens of systems, over a store that the test plays: it answers when it likes. */
#include "engine/dispatch/limiter.h"

#include <pthread.h>

#include "base/clock.h"
#include "test.h"

enum { HUB = 7, SHOP = 8 };

struct field {
    struct limiter *limiter;
    pthread_mutex_t mutex;
    struct rate_op *op;  /* under way */
    struct rate_row row; /* of the store */
    int asked, told;
    bool answers; /* at once, on a thread of its own */
};

static void answer(struct field *f, bool ok)
{
    (void)pthread_mutex_lock(&f->mutex);
    struct rate_op *o = f->op;

    f->op = NULL;
    (void)pthread_mutex_unlock(&f->mutex);
    o->op.ok = ok;
    o->mono_us = clock_mono_us();
    o->now_ns = clock_wall_us() * 1000;
    o->piece = o->last;
    if (ok)
        o->granted = rate_reserve(&f->row, &o->rule, o->now_ns, &o->piece, &o->wait_until_ns);
    o->op.done(&o->op);
}

static void *answer_soon(void *arg)
{
    answer(arg, true);
    return NULL;
}

static void on_reserve(void *arg, struct rate_op *op)
{
    struct field *f = arg;
    pthread_t t;

    (void)pthread_mutex_lock(&f->mutex);
    f->op = op;
    f->asked++;
    (void)pthread_mutex_unlock(&f->mutex);
    if (f->answers && pthread_create(&t, NULL, answer_soon, f) == 0)
        (void)pthread_detach(t);
}

static void on_ready(void *arg, int64_t system)
{
    struct field *f = arg;

    (void)pthread_mutex_lock(&f->mutex);
    f->told += system == HUB;
    (void)pthread_mutex_unlock(&f->mutex);
}

static int seen(struct field *f, const int *what)
{
    (void)pthread_mutex_lock(&f->mutex);
    int n = *what;

    (void)pthread_mutex_unlock(&f->mutex);
    return n;
}

static bool is_asked(struct field *f)
{
    (void)pthread_mutex_lock(&f->mutex);
    bool asked = f->op != NULL;

    (void)pthread_mutex_unlock(&f->mutex);
    return asked;
}

static bool comes(struct field *f, const int *what, int most)
{
    for (int i = 0; i < 20000 && seen(f, what) < most; i++)
        clock_sleep_us(1000);
    return seen(f, what) >= most;
}

static void begin(struct field *f)
{
    *f = (struct field){ .mutex = PTHREAD_MUTEX_INITIALIZER };
    f->limiter =
        limiter_new(&(struct limiter_calls){ .ready = on_ready, .reserve = on_reserve, .arg = f });
    limiter_run(f->limiter);
}

static void end(struct field *f)
{
    f->answers = false;
    for (int i = 0; i < 1000 && is_asked(f); i++)
        clock_sleep_us(1000);
    limiter_free(f->limiter);
}

/* Times that pass while the machine does something else are lost, so only some round has to go
 * well. */
static bool some_round(bool (*round)(const void *), const void *of)
{
    for (int i = 0; i < 20; i++)
        if (round(of))
            return true;
    return false;
}

static bool five_then_a_wait(const void *unused)
{
    struct field f;
    bool ok = true;

    (void)unused;
    begin(&f);
    struct paced *x = limiter_system(f.limiter, HUB, rate_rule(100, CLOCK_S, 5));

    (void)paced_take(x, true);
    answer(&f, true);
    f.answers = true;
    ok = comes(&f, &f.told, 1) && !paced_is_held(x) && paced_has(x);
    for (int i = 0; i < 5; i++)
        ok = paced_take(x, true) && ok;
    ok = ok && !paced_take(x, true) && paced_is_held(x); /* the burst is used up */
    ok = ok && comes(&f, &f.told, 2) && paced_take(x, true);
    end(&f);
    return ok;
}

TEST(a_token_comes_from_the_store)
{
    struct field f;

    begin(&f);
    struct paced *x = limiter_system(f.limiter, HUB, rate_rule(100, CLOCK_S, 5));

    CHECK(f.asked == 0); /* nobody wants one */
    CHECK(!paced_take(x, false) && f.asked == 0);
    CHECK(!paced_take(x, true) && f.asked == 1);
    CHECK(!paced_take(x, true) && f.asked == 1 && seen(&f, &f.told) == 0); /* it is under way */
    answer(&f, true);
    CHECK(comes(&f, &f.told, 1) && !paced_is_held(x));
    limiter_free(f.limiter);
    CHECK(some_round(five_then_a_wait, NULL));
}

struct rate_case {
    uint64_t count, burst;
};

static bool never_too_many; /* in any round */

/* Over half a second, with everything the burst gives at the start. */
static bool is_reached(const void *of)
{
    const struct rate_case *c = of;
    struct field f;
    int64_t n = 0, began;

    begin(&f);
    f.answers = true;
    struct paced *x = limiter_system(f.limiter, HUB, rate_rule(c->count, CLOCK_S, c->burst));

    for (began = clock_mono_us(); clock_mono_us() - began < CLOCK_S / 2;) {
        if (paced_take(x, true))
            n++;
        else
            clock_sleep_us(200);
        if (n > (clock_mono_us() - began) * (int64_t)c->count / CLOCK_S + (int64_t)c->burst)
            never_too_many = false;
    }
    end(&f);
    return n > (int64_t)c->count / 5;
}

TEST(a_rate_is_kept_and_reached)
{
    static const struct rate_case cases[] = { { 1000, 1 }, { 1000, 20 }, { 200, 200 }, { 40, 3 } };

    never_too_many = true;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK(some_round(is_reached, &cases[i]) && never_too_many);
}

/* A rule whose next time may be used for a minute, when the row lies so far ahead. */
static struct rate_rule long_rule(struct field *f, int64_t further_us)
{
    f->row.next_ns = (clock_wall_us() + 60 * CLOCK_S + further_us) * 1000;
    return rate_rule(1, CLOCK_S, 61);
}

TEST(a_store_that_fails_is_asked_again)
{
    struct field f;

    begin(&f);
    struct paced *x = limiter_system(f.limiter, HUB, long_rule(&f, -CLOCK_S));

    CHECK(!paced_take(x, true));
    int64_t failed = clock_mono_us();

    answer(&f, false);
    CHECK(comes(&f, &f.told, 1));
    CHECK(!paced_take(x, true));
    CHECK(f.asked == 1 || clock_mono_us() - failed >= 200 * CLOCK_MS); /* not at once */
    CHECK(comes(&f, &f.told, 2));
    CHECK(!paced_take(x, true) && f.asked == 2);
    answer(&f, true);
    CHECK(comes(&f, &f.told, 3) && paced_take(x, true));
    limiter_free(f.limiter);
}

TEST(a_refusal_says_when_to_come_again)
{
    struct field f;

    begin(&f); /* others have it all for a second */
    struct paced *x = limiter_system(f.limiter, HUB, long_rule(&f, CLOCK_S));
    int64_t began = clock_mono_us();

    CHECK(!paced_take(x, true));
    answer(&f, true);
    CHECK(comes(&f, &f.told, 1) && !paced_take(x, true) && f.asked == 1 && paced_is_held(x));
    CHECK(comes(&f, &f.told, 2) && clock_mono_us() - began > 900 * CLOCK_MS);
    CHECK(!paced_take(x, true) && f.asked == 2);
    answer(&f, true);
    CHECK(comes(&f, &f.told, 3) && paced_take(x, true));
    limiter_free(f.limiter);
}

TEST(another_rule_drops_what_was_reserved)
{
    struct field f;

    begin(&f);
    struct paced *x = limiter_system(f.limiter, HUB, rate_rule(1, 3600 * (int64_t)CLOCK_S, 1));

    CHECK(paced_is_slow(x) && paced_keep(x) == 1);
    CHECK(!paced_take(x, true));
    answer(&f, true);
    CHECK(paced_take(x, true) && !paced_take(x, true) && is_asked(&f));
    answer(&f, true);              /* none for an hour */
    clock_sleep_us(50 * CLOCK_MS); /* what it tells of that, it has told */
    CHECK(!paced_take(x, true) && !is_asked(&f) && paced_is_held(x));
    int told = seen(&f, &f.told);

    CHECK(limiter_system(f.limiter, HUB, rate_rule(100, CLOCK_S, 6001)) == x && !paced_is_slow(x));
    CHECK(paced_keep(x) > 1 && comes(&f, &f.told, told + 1));
    (void)long_rule(&f, -CLOCK_S);
    CHECK(!paced_take(x, true) && is_asked(&f));
    answer(&f, true);
    CHECK(paced_take(x, true));
    CHECK(limiter_system(f.limiter, SHOP, rate_rule(100, CLOCK_S, 1)) != x);
    limiter_free(f.limiter);
}

int main(void)
{
    return test_main();
}
