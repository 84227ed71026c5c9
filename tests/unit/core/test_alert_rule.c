#include "core/alert_rule.h"

#include "test.h"

enum { S = 1000000 };

static const struct alert_rule depth = { .high = 100, .low = 10 };

TEST(two_looks_raise_and_two_looks_clear)
{
    struct alert_watch w = { 0 };

    CHECK(alert_watch_look(&w, &depth, 100, 1 * S) == ALERT_SAME && w.leaning);
    CHECK(alert_watch_look(&w, &depth, 99, 2 * S) == ALERT_SAME && !w.leaning);
    CHECK(alert_watch_look(&w, &depth, 500, 3 * S) == ALERT_SAME); /* it begins again */
    CHECK(alert_watch_look(&w, &depth, 100, 4 * S) == ALERT_RAISED && w.on);
    CHECK(alert_watch_look(&w, &depth, 900, 5 * S) == ALERT_SAME);
    CHECK(alert_watch_look(&w, &depth, 10, 6 * S) == ALERT_SAME && w.on && w.leaning);
    CHECK(alert_watch_look(&w, &depth, 11, 7 * S) == ALERT_SAME && !w.leaning);
    CHECK(alert_watch_look(&w, &depth, 0, 8 * S) == ALERT_SAME);
    CHECK(alert_watch_look(&w, &depth, 10, 9 * S) == ALERT_CLEARED && !w.on);
    CHECK(alert_watch_look(&w, &depth, 10, 10 * S) == ALERT_SAME);
}

/* A value that dances between the marks, and around each of them, makes one alert. */
TEST(what_lies_between_the_marks_changes_nothing)
{
    struct alert_watch w = { 0 };
    int raised = 0, cleared = 0;

    for (int i = 0; i < 1000; i++) {
        enum alert_change c = alert_watch_look(&w, &depth, 50 + i % 51, i * S);

        raised += c == ALERT_RAISED;
        cleared += c == ALERT_CLEARED;
    }
    CHECK(raised == 0 && cleared == 0); /* 100 once in a row */
    for (int i = 0; i < 1000; i++) {
        enum alert_change c = alert_watch_look(&w, &depth, i < 2 ? 100 : 11 + i % 200, i * S);

        raised += c == ALERT_RAISED;
        cleared += c == ALERT_CLEARED;
    }
    CHECK(raised == 1 && cleared == 0);
}

TEST(what_must_last_is_waited_for)
{
    const struct alert_rule r = { .high = 1, .low = 0, .after_us = 60 * S, .calm_us = 30 * S };
    struct alert_watch w = { 0 };

    for (int t = 0; t < 60; t++)
        CHECK(alert_watch_look(&w, &r, 1, t * S) == ALERT_SAME);
    CHECK(alert_watch_look(&w, &r, 1, 60 * S) == ALERT_RAISED);
    for (int t = 61; t < 91; t++)
        CHECK(alert_watch_look(&w, &r, 0, t * S) == ALERT_SAME);
    CHECK(alert_watch_look(&w, &r, 1, 91 * S) == ALERT_SAME); /* again: the calm begins anew */
    for (int t = 92; t < 122; t++)
        CHECK(alert_watch_look(&w, &r, 0, t * S) == ALERT_SAME);
    CHECK(alert_watch_look(&w, &r, 0, 122 * S) == ALERT_CLEARED);
}

TEST(little_that_is_bad_has_its_sign_turned)
{
    const struct alert_rule r = { .high = -1000, .low = -1250 }; /* bytes that are free */
    struct alert_watch w = { 0 };

    CHECK(alert_watch_look(&w, &r, -1001, 1) == ALERT_SAME && !w.leaning);
    CHECK(alert_watch_look(&w, &r, -1000, 2) == ALERT_SAME);
    CHECK(alert_watch_look(&w, &r, -5, 3) == ALERT_RAISED);
    CHECK(alert_watch_look(&w, &r, -1249, 4) == ALERT_SAME && !w.leaning);
    CHECK(alert_watch_look(&w, &r, -1250, 5) == ALERT_SAME);
    CHECK(alert_watch_look(&w, &r, -9999, 6) == ALERT_CLEARED);
}

TEST(a_rule_that_is_off_clears_at_once)
{
    const struct alert_rule off = { .off = true };
    struct alert_watch w = { .on = true };

    CHECK(alert_watch_look(&w, &off, 5000, 1) == ALERT_CLEARED && !w.on);
    CHECK(alert_watch_look(&w, &off, 5000, 2) == ALERT_SAME);
}

TEST(codes_have_names)
{
    for (enum alert_code c = ALERT_DEAD_LETTERS; c < ALERT_CODES; c++)
        CHECK(alert_codes[c] != NULL && alert_code_of(str_of(alert_codes[c])) == c);
    CHECK(alert_code_of(STR("no such")) == ALERT_CODES);
}

int main(void)
{
    return test_main();
}
