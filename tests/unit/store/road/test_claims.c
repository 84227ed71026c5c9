#include "test.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "store/road/claims.h"

#define LEASE_US (INT64_C(3600) * CLOCK_S)

/* A generator of its own, so that a failure comes again. */
static uint64_t state = 42;

static uint64_t draw(uint64_t below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 11) % below;
}

TEST(claims_know_what_is_taken)
{
    struct claims *c = claims_new(1);
    struct task t = { .id = 7 };

    CHECK(!claims_taken(c, 7) && claims_take(c, &t, LEASE_US) && claims_taken(c, 7) &&
          !claims_taken(c, 8));
    claims_drop(c, &t);
    CHECK(!claims_taken(c, 7));
    claims_free(c);
}

TEST(claims_take_have_drop)
{
    struct claims *c = claims_new(7);
    struct task a = { .id = 1 }, again = { .id = 1 }, b = { .id = 2 }, stale;

    CHECK(!claims_have(c, &a)); /* no token yet */
    claims_drop(c, &a);
    CHECK(claims_take(c, &a, LEASE_US) && claims_take(c, &b, LEASE_US));
    CHECK(a.claim != b.claim && a.claim >> 32 == 7 && claims_have(c, &a) && claims_have(c, &b));
    CHECK(!claims_take(c, &again, LEASE_US) && again.claim == 0);
    claims_drop(c, &again); /* not ours: nothing happens */
    CHECK(claims_have(c, &a));
    stale = a;
    claims_drop(c, &a);
    CHECK(!claims_have(c, &a));
    CHECK(claims_take(c, &again, LEASE_US) && again.claim != stale.claim);
    CHECK(!claims_have(c, &stale)); /* the old token is worth nothing */
    claims_drop(c, &stale);
    CHECK(claims_have(c, &again));
    claims_free(c);
    claims_free(NULL);
}

TEST(a_claim_of_a_job_knows_how_long_its_run_may_take)
{
    struct claims *c = claims_new(1);
    struct task a = { .id = 1, .queue = QUEUE_JOBS }, b = { .id = 2, .queue = QUEUE_JOBS }, lost;
    struct claim_mark mark, all[3];

    CHECK(claims_take(c, &a, 0) && claims_mark(c, 1, &mark) && mark.lasts_us == 0);
    lost = a;
    claims_lasts(c, &a, 5);
    CHECK(claims_mark(c, 1, &mark) && mark.id == 1 && mark.claim == a.claim && mark.lasts_us == 5);
    claims_drop(c, &a);
    CHECK(claims_take(c, &a, 0) && claims_take(c, &b, 0));
    claims_lasts(c, &lost, 6); /* not ours any more: nothing happens */
    claims_lasts(c, &b, 7);
    CHECK(claims_mark(c, 1, &mark) && mark.lasts_us == 0 && claims_of_jobs(c, all, 3) == 2);
    CHECK(all[0].lasts_us + all[1].lasts_us == 7 && !claims_mark(c, 3, &mark) && mark.id == 3);
    claims_free(c);
}

/* proves: QC8 */
TEST(claims_that_last_too_long_are_found_by_queue)
{
    struct claims *c = claims_new(1);
    struct task long_ago = { .id = 1, .queue = 5 }, later = { .id = 2, .queue = 5 };
    struct task other = { .id = 3, .queue = 6 }, in_time = { .id = 4, .queue = 6 };
    struct claims_late late[2];
    int64_t now;

    CHECK(claims_take(c, &long_ago, -LEASE_US) && claims_take(c, &later, -CLOCK_S));
    CHECK(claims_take(c, &other, -CLOCK_S) && claims_take(c, &in_time, LEASE_US));
    now = clock_mono_us();
    CHECK(claims_late(c, now, late, 2) == 2);
    const struct claims_late *of5 = &late[late[0].queue == 5 ? 0 : 1];
    const struct claims_late *of6 = &late[late[0].queue == 5 ? 1 : 0];

    CHECK(of5->queue == 5 && of5->count == 2 && of5->id == 1 && of5->over_us >= LEASE_US);
    CHECK(of6->queue == 6 && of6->count == 1 && of6->id == 3 && of6->over_us < LEASE_US);
    CHECK(claims_late(c, now, late, 1) == 1);
    CHECK(claims_late(c, now + 2 * LEASE_US, late, 2) == 2 && late[0].count == 2);
    claims_drop(c, &long_ago);
    claims_drop(c, &later);
    claims_drop(c, &other);
    CHECK(claims_late(c, now, late, 2) == 0);
    claims_free(c);
}

TEST(claims_tokens_of_two_epochs_differ)
{
    struct claims *old = claims_new(1), *new = claims_new(2);
    struct task a = { .id = 1 }, b = { .id = 1 };

    CHECK(claims_take(old, &a, LEASE_US) && claims_take(new, &b, LEASE_US));
    CHECK(a.claim != b.claim && !claims_have(new, &a));
    claims_free(old);
    claims_free(new);
}

/* ids that meet in few places of the table, and others far away */
static int64_t some_id(void)
{
    return draw(3) == 0 ? (int64_t)draw(INT64_MAX) + 1 : (int64_t)draw(300) + 1;
}

TEST(claims_against_a_simple_model)
{
    enum { STEPS = 200000, MOST = 400 };
    struct claims *c = claims_new(1);
    struct task held[MOST], gone = { .id = 999999 };
    size_t n = 0;

    for (int step = 0; step < STEPS; step++) {
        struct task t = { .id = some_id() };
        size_t at = 0;

        while (at < n && held[at].id != t.id)
            at++;
        if (n == 0 || (n < MOST && draw(2) == 0)) {
            CHECK(claims_take(c, &t, LEASE_US) == (at == n));
            if (at == n)
                held[n++] = t;
        } else {
            at = draw(n);
            CHECK(claims_have(c, &held[at]));
            gone = held[at];
            claims_drop(c, &gone);
            held[at] = held[--n];
        }
        CHECK(!claims_have(c, &gone));
        if (step % 1000 == 0)
            for (size_t i = 0; i < n; i++)
                CHECK(claims_have(c, &held[i]));
    }
    claims_free(c);
}

TEST(claims_have_a_limit)
{
    struct claims *c = claims_new(1);
    struct task *t = calloc(CLAIMS_MOST + 1, sizeof *t);

    for (int i = 0; i <= CLAIMS_MOST; i++) {
        t[i].id = i + 1;
        CHECK(claims_take(c, &t[i], LEASE_US) == (i < CLAIMS_MOST));
    }
    for (int i = 0; i < CLAIMS_MOST; i++)
        CHECK(claims_have(c, &t[i]));
    claims_drop(c, &t[77]);
    CHECK(claims_take(c, &t[CLAIMS_MOST], LEASE_US)); /* one went, one comes */
    free(t);
    claims_free(c);
}

static bool at(struct claims *c, int64_t queue, int64_t prio, int64_t rank, int64_t id)
{
    struct claim_place p = claims_cursor(c, queue);

    return p.prio == prio && p.rank == rank && p.id == id;
}

/* A row is found when it stands behind the cursor, as the statement compares them. */
static bool finds(struct claims *c, int64_t queue, struct claim_place row)
{
    struct claim_place p = claims_cursor(c, queue);

    if (p.prio != row.prio)
        return p.prio < row.prio;
    return p.rank != row.rank ? p.rank < row.rank : p.id < row.id;
}

TEST(claims_cursor_moves_back_to_what_is_put)
{
    static const struct {
        struct claim_place put;
        bool moves;
    } cases[] = {
        { { 4, 100, 11 }, false }, /* behind it: will be read anyway */
        { { 4, 101, 1 }, false },  { { 5, 1, 1 }, false },   { { 4, 100, 10 }, true },
        { { 4, 100, 9 }, true },   { { 4, 99, 500 }, true }, { { 3, 999, 999 }, true },
        { { 0, 0, 1 }, true },     { { 4, -5, 1 }, true },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct claims *c = claims_new(1);

        CHECK(at(c, 1, INT64_MIN, 0, 0)); /* the start */
        claims_read_to(c, 1, (struct claim_place){ 4, 100, 10 });
        claims_read_to(c, 2, (struct claim_place){ 4, 100, 10 });
        CHECK(at(c, 1, 4, 100, 10));
        claims_put_at(c, 1, cases[i].put);
        CHECK(finds(c, 1, cases[i].put));
        CHECK(at(c, 1, 4, 100, 10) == !cases[i].moves);
        CHECK(at(c, 2, 4, 100, 10)); /* each queue has its own */
        claims_free(c);
    }
}

/* A reader that began before the row was put has not seen it: its read_to() must
 * not carry the cursor over it. */
TEST(claims_row_put_while_somebody_reads_is_not_lost)
{
    static const struct claim_place put[] = { { 4, 100, 10 }, { 4, 150, 3 }, { 4, 50, 1 } };

    for (size_t i = 0; i < sizeof put / sizeof put[0]; i++) {
        struct claims *c = claims_new(1);

        claims_read_to(c, 1, (struct claim_place){ 4, 90, 1 });
        (void)claims_cursor(c, 1); /* begins to read */
        claims_put_at(c, 1, put[i]);
        claims_put_at(c, 1, (struct claim_place){ 4, 160, 1 });
        claims_read_to(c, 1, (struct claim_place){ 4, 200, 7 });
        CHECK(finds(c, 1, put[i]));
        claims_read_to(c, 1, (struct claim_place){ 4, 200, 7 }); /* that time it was seen */
        CHECK(at(c, 1, 4, 200, 7));
        claims_free(c);
    }
}

TEST(claims_queues_beyond_the_limit_are_read_from_their_start)
{
    struct claims *c = claims_new(1);
    struct claim_place p = { 4, 100, 10 };

    for (int64_t q = 1; q <= CLAIM_QUEUES + 10; q++)
        claims_read_to(c, q, p);
    for (int64_t q = 1; q <= CLAIM_QUEUES + 10; q++) {
        CHECK(at(c, q, q <= CLAIM_QUEUES ? 4 : INT64_MIN, q <= CLAIM_QUEUES ? 100 : 0,
                 q <= CLAIM_QUEUES ? 10 : 0));
        claims_put_at(c, q, (struct claim_place){ 1, 1, 1 });
        CHECK(finds(c, q, (struct claim_place){ 1, 1, 1 }));
    }
    claims_free(c);
}

/* ---- threads ---- */

enum { THREADS = 4, ROUNDS = 20000, IDS = 50 };
static struct claims *shared;
static int owner[IDS];

static void *fight(void *arg)
{
    uint64_t x = (uint64_t)(*(int *)arg + 1) * 7919;

    for (int i = 0; i < ROUNDS; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        struct task t = { .id = (int64_t)(x >> 33) % IDS };

        if (!claims_take(shared, &t, LEASE_US))
            continue;
        owner[t.id]++; /* nobody else is here: the thread sanitizer watches */
        if (!claims_have(shared, &t))
            *(int *)arg = -1;
        claims_drop(shared, &t);
    }
    return NULL;
}

TEST(claims_belong_to_one_thread_at_a_time)
{
    pthread_t t[THREADS];
    int name[THREADS];

    shared = claims_new(1);
    for (int i = 0; i < THREADS; i++) {
        name[i] = i;
        CHECK(pthread_create(&t[i], NULL, fight, &name[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        (void)pthread_join(t[i], NULL);
        CHECK(name[i] == i);
    }
    claims_free(shared);
}

int main(void)
{
    return test_main();
}
