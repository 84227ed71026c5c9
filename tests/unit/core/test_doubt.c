#include "core/doubt.h"

#include "test.h"

enum { POLICIES = DOUBT_ASSUME + 1, VERDICTS = VERDICT_FAILED + 1 };

/* What did not arrive, or certainly did, is no matter of policy. */
TEST(doubt_policy_matters_only_for_what_may_have_arrived)
{
    static const struct {
        enum verdict_kind verdict;
        enum doubt_next closed, open; /* the breaker */
    } cases[] = {
        { VERDICT_DELIVERED, DOUBT_DELIVERED, DOUBT_DELIVERED },
        { VERDICT_RETRY, DOUBT_SEND_LATER, DOUBT_SEND_LATER },
        { VERDICT_UNREACHED, DOUBT_SEND_LATER, DOUBT_WAIT },
        { VERDICT_CREDENTIAL, DOUBT_WAIT, DOUBT_WAIT },
        { VERDICT_STRANGE, DOUBT_WAIT, DOUBT_WAIT },
        { VERDICT_REJECTED, DOUBT_DEAD, DOUBT_DEAD },
        { VERDICT_FAILED, DOUBT_DEAD, DOUBT_DEAD },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (unsigned p = 0; p < POLICIES; p++) {
            struct doubt_facts f = { .policy = p, .verdict = cases[i].verdict };

            CHECK(doubt_next(&f) == cases[i].closed);
            f.breaker_open = true;
            CHECK(doubt_next(&f) == cases[i].open);
            CHECK(!doubt_keeps_intent(&f, cases[i].open));
        }
}

TEST(doubt_of_an_attempt_goes_by_the_policy)
{
    static const struct {
        struct doubt_facts f;
        enum doubt_next want;
    } cases[] = {
        { { .policy = DOUBT_RESEND }, DOUBT_SEND_LATER },
        { { .policy = DOUBT_RESEND, .breaker_open = true }, DOUBT_WAIT },
        { { .policy = DOUBT_RESEND, .breaker_open = true, .answered = true }, DOUBT_SEND_LATER },
        { { .policy = DOUBT_HOLD, .breaker_open = true }, DOUBT_IN_DOUBT },
        { { .policy = DOUBT_PROBE, .breaker_open = true }, DOUBT_ASK_LATER },
        { { .policy = DOUBT_ASSUME, .breaker_open = true }, DOUBT_UNCONFIRMED },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct doubt_facts f = cases[i].f;

        f.verdict = VERDICT_DOUBT;
        CHECK(doubt_next(&f) == cases[i].want);
        CHECK(doubt_keeps_intent(&f, cases[i].want) == (f.policy == DOUBT_PROBE));
    }
}

/* Whatever stands in `verdict`: after a crash there is none. */
TEST(doubt_intent_that_is_found_goes_by_the_policy)
{
    static const enum doubt_next want[POLICIES] = { [DOUBT_RESEND] = DOUBT_SEND_NOW,
                                                    [DOUBT_HOLD] = DOUBT_IN_DOUBT,
                                                    [DOUBT_PROBE] = DOUBT_ASK_NOW,
                                                    [DOUBT_ASSUME] = DOUBT_UNCONFIRMED };

    for (unsigned p = 0; p < POLICIES; p++)
        for (unsigned v = 0; v < VERDICTS; v++) {
            struct doubt_facts f = { .policy = p, .source = DOUBT_INTENT, .verdict = v };

            CHECK(doubt_next(&f) == want[p]);
        }
}

TEST(doubt_ends_by_the_word_of_the_receiver)
{
    static const struct {
        struct doubt_facts f;
        enum doubt_next want;
        bool keeps;
    } cases[] = {
        { { .verdict = VERDICT_DELIVERED }, DOUBT_DELIVERED, false },
        { { .verdict = VERDICT_RETRY }, DOUBT_SEND_NOW, false },
        { { .verdict = VERDICT_UNREACHED }, DOUBT_ASK_LATER, true },
        { { .verdict = VERDICT_CREDENTIAL }, DOUBT_ASK_LATER, true },
        { { .verdict = VERDICT_UNREACHED, .breaker_open = true }, DOUBT_WAIT, true },
        { { .verdict = VERDICT_UNREACHED, .asked = 100 }, DOUBT_ASK_LATER, true },
        { { .verdict = VERDICT_UNREACHED, .over = true }, DOUBT_IN_DOUBT, false },
        { { .verdict = VERDICT_UNREACHED, .over = true, .breaker_open = true },
          DOUBT_IN_DOUBT,
          false },
        { { .verdict = VERDICT_DOUBT }, DOUBT_ASK_LATER, true },
        { { .verdict = VERDICT_DOUBT, .asked = DOUBT_ASKED_MOST - 2 }, DOUBT_ASK_LATER, true },
        { { .verdict = VERDICT_DOUBT, .asked = DOUBT_ASKED_MOST - 1 }, DOUBT_IN_DOUBT, false },
        { { .verdict = VERDICT_REJECTED }, DOUBT_IN_DOUBT, false },
        { { .verdict = VERDICT_FAILED }, DOUBT_IN_DOUBT, false },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct doubt_facts f = cases[i].f;

        f.policy = DOUBT_PROBE;
        f.source = DOUBT_ASKED;
        CHECK(doubt_next(&f) == cases[i].want);
        CHECK(doubt_keeps_intent(&f, cases[i].want) == cases[i].keeps);
    }
}

/* The promise of `hold`: nothing that may have arrived is ever sent by itself. */
TEST(doubt_under_hold_never_sends_what_may_have_arrived)
{
    for (unsigned bits = 0; bits < 16; bits++) {
        struct doubt_facts f = { .policy = DOUBT_HOLD,
                                 .source = (bits & 1) != 0 ? DOUBT_INTENT : DOUBT_SENT,
                                 .verdict = VERDICT_DOUBT,
                                 .answered = (bits & 2) != 0,
                                 .breaker_open = (bits & 4) != 0,
                                 .over = (bits & 8) != 0 };

        CHECK(doubt_next(&f) == DOUBT_IN_DOUBT);
    }
}

int main(void)
{
    return test_main();
}
