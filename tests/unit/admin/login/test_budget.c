#include "admin/login/budget.h"

#include "test.h"

#define S INT64_C(1000000)

TEST(one_stream_of_requests_never_waits)
{
    struct budget *b = budget_new();
    int64_t now = 100 * S;

    for (int i = 0; i < 1000; i++) { /* each takes a second, one after the other */
        CHECK(budget_wait(b, STR("alice"), now) == 0);
        now += S;
        budget_pay(b, STR("alice"), S, now);
    }
    budget_free(b);
}

TEST(many_streams_wait_for_each_other_and_for_nobody_else)
{
    struct budget *b = budget_new();
    int64_t now = 100 * S, ran = 0;

    for (int second = 0; second < 100; second++, now += S)
        for (int stream = 0; stream < 8; stream++)
            if (budget_wait(b, STR("alice"), now) == 0) {
                budget_pay(b, STR("alice"), S, now);
                ran++;
            }
    CHECK(ran >= 100 && ran <= 120); /* one a second, and the burst */
    CHECK(budget_wait(b, STR("bob"), now) == 0);
    budget_free(b);
}

TEST(a_debt_ends_when_it_says_so)
{
    struct budget *b = budget_new();
    int64_t now = 100 * S;

    for (int i = 0; i < 3; i++)
        budget_pay(b, STR("alice"), 100 * S, now); /* each counts as ten */
    int64_t wait = budget_wait(b, STR("alice"), now);

    CHECK(wait > 19 * S && wait <= 20 * S + 1);
    CHECK(budget_wait(b, STR("alice"), now + wait / 2) > 0);
    CHECK(budget_wait(b, STR("alice"), now + wait) == 0);
    CHECK(budget_wait(b, STR("alice"), now + 1000000 * S) == 0);
    budget_free(b);
}

TEST(a_full_table_forgets_who_asked_longest_ago)
{
    struct budget *b = budget_new();
    char name[32];

    budget_pay(b, STR("alice"), 100 * S, 100 * S);
    for (int i = 0; i < 600; i++) {
        (void)snprintf(name, sizeof name, "user %d", i);
        CHECK(budget_wait(b, str_of(name), 101 * S + i) == 0);
    }
    CHECK(budget_wait(b, STR("alice"), 102 * S) == 0);
    budget_free(NULL);
    budget_free(b);
}

int main(void)
{
    return test_main();
}
