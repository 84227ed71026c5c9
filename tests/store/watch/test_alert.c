/* Alerts in the store: raised once, cleared once, and each target hears of both. */
#include "store/watch/alert.h"

#include <stdio.h>

#include "base/auto.h"
#include "store_test.h"

static const struct str targets[] = { { "ops", 3 }, { "pager", 5 } };

static struct alert_say say_of(const char *object, const char *message, int64_t count)
{
    return (struct alert_say){ .code = STR("queue_depth"),
                               .object = str_of(object),
                               .message = str_of(message),
                               .count = count,
                               .targets = targets,
                               .target_count = 2 };
}

static int64_t raise_one(struct store *s, const char *object, int64_t count, bool *ret_new)
{
    struct alert_say say = say_of(object, "much", count);
    struct err err = { 0 };
    int64_t num = -1;

    if (!alert_raise(s, &say, &num, ret_new, &err))
        (void)printf("# %s\n", err.text);
    return num;
}

/* proves: SC16 */
TEST(a_flood_is_one_alert_with_a_count)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct alert list[10];
    struct alert_say say;
    struct err err = { 0 };
    int64_t first, num;
    bool fresh, open;
    size_t n;

    CHECK(s != NULL && (first = raise_one(s, "shop", 10, &fresh)) > 0 && fresh);
    for (int i = 0; i < 100; i++)
        CHECK(raise_one(s, "shop", 10 + i % 50, &fresh) == first && !fresh);
    CHECK(raise_one(s, "mill", 1, &fresh) > first && fresh);
    CHECK(alert_list(s, false, &a, list, 10, &n, &err) && n == 2);
    CHECK(list[0].num == first && list[0].count == 59 && list[0].cleared_us == 0);
    CHECK(str_is(list[0].code, "queue_depth") && str_is(list[0].object, "shop"));
    CHECK(list[0].waiting == 2 && list[0].raised_us > clock_wall_us() - 60 * (int64_t)CLOCK_S);
    say = say_of("shop", "more", 70);
    CHECK(alert_keep(s, &say, &open, &err) && open);
    CHECK(alert_get(s, first, &a, &list[0], &err) && list[0].count == 70);
    CHECK(str_is(list[0].message, "more"));

    say = say_of("shop", "", 0);
    CHECK(alert_clear(s, &say, &num, &err) && num == first);
    CHECK(alert_clear(s, &say, &num, &err) && num == 0); /* once */
    CHECK(alert_keep(s, &say, &open, &err) && !open);
    CHECK(alert_list(s, false, &a, list, 10, &n, &err) && n == 1 && str_is(list[0].object, "mill"));
    CHECK(alert_list(s, true, &a, list, 10, &n, &err) && n == 2 && list[1].cleared_us > 0);
    CHECK(ask(&h, "SELECT count(*) FROM alert_notice") == 6);
    CHECK(raise_one(s, "shop", 3, &fresh) > first && fresh); /* again: another one */
    CHECK(!alert_get(s, 9999, &a, &list[0], &err) && err.kind == ERR_NONE);
    store_close(s);
    s = open_store(&h);
    CHECK(s != NULL && alert_list(s, false, &a, list, 10, &n, &err) && n == 2);
    store_close(s);
}

/* proves: XC10 */
TEST(a_notice_waits_until_it_was_heard_or_given_up)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct notice due[10], again[10];
    struct alert_sums sums;
    struct alert_say say = say_of("shop", "", 0);
    struct err err = { 0 };
    int64_t alert, num;
    bool fresh;
    size_t n;

    CHECK(s != NULL && (alert = raise_one(s, "shop", 10, &fresh)) > 0);
    CHECK(alert_clear(s, &say, &num, &err) && num == alert);
    CHECK(notice_due(s, STR(""), &a, due, 10, &n, &err) && n == 2); /* the raise comes first */
    CHECK(due[0].kind == NOTICE_RAISED && due[1].kind == NOTICE_RAISED);
    CHECK(notice_due(s, STR("ops"), &a, due, 10, &n, &err) && n == 1);
    CHECK(due[0].alert == alert && str_is(due[0].target, "ops") && due[0].attempts == 0);
    CHECK(alert_sum(s, INT64_C(3600) * CLOCK_S, &sums, &err));
    CHECK(sums.waiting == 4 && sums.late == 0 && sums.given_up == 0 && sums.open == 0);

    CHECK(notice_end(s, due[0].num, NOTICE_WAITS, INT64_C(3600) * CLOCK_S, STR("refused"), &err));
    CHECK(notice_due(s, STR("ops"), &a, again, 10, &n, &err) && n == 0);
    CHECK(alert_sum(s, INT64_C(3600) * CLOCK_S, &sums, &err) && sums.late == 1);
    CHECK(tell(&h, "UPDATE alert_notice SET due_us = 0"));
    CHECK(notice_due(s, STR("ops"), &a, again, 10, &n, &err) && n == 1);
    CHECK(again[0].num == due[0].num && again[0].attempts == 1 &&
          str_is(again[0].error, "refused"));
    CHECK(notice_end(s, due[0].num, NOTICE_SENT, 0, STR(""), &err));
    CHECK(notice_end(s, due[0].num, NOTICE_WAITS, 0, STR("late"), &err)); /* it was heard */
    CHECK(notice_due(s, STR("ops"), &a, again, 10, &n, &err) && n == 1);
    CHECK(again[0].kind == NOTICE_CLEARED);
    CHECK(notice_end(s, again[0].num, NOTICE_GIVEN_UP, 0, STR("never"), &err));
    CHECK(notice_due(s, STR("ops"), &a, again, 10, &n, &err) && n == 0);
    CHECK(notice_list(s, alert, &a, again, 10, &n, &err) && n == 4);
    CHECK(again[0].state == NOTICE_SENT && again[0].sent_us > 0 && again[0].attempts == 2);
    CHECK(alert_sum(s, INT64_C(3600) * CLOCK_S, &sums, &err));
    CHECK(sums.waiting == 2 && sums.given_up == 1);
    store_close(s);
}

/* proves: DL2 */
TEST(what_lasts_is_told_again_after_a_period)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct alert_say say = say_of("store", "", 0);
    int64_t day = INT64_C(86400) * CLOCK_S, num;
    struct err err = { 0 };
    bool fresh;

    CHECK(s != NULL && alert_remind(s, &say, day, &num, &err) && num == 0); /* none is open */
    CHECK(raise_one(s, "store", 1, &fresh) > 0);
    CHECK(alert_remind(s, &say, day, &num, &err) && num == 0);
    CHECK(tell(&h, "UPDATE alert SET reminded_us = reminded_us - 86400000000"));
    CHECK(alert_remind(s, &say, day, &num, &err) && num > 0);
    CHECK(alert_remind(s, &say, day, &num, &err) && num == 0);
    CHECK(ask(&h, "SELECT count(*) FROM alert_notice WHERE kind = 2") == 2);
    store_close(s);
}

TEST(open_ones_are_bounded_and_old_ones_go)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct alert_say say = say_of("0", "", 0);
    struct err err = { 0 };
    int64_t num;
    bool fresh;

    CHECK(s != NULL && raise_one(s, "0", 1, &fresh) > 0);
    CHECK(tell(&h,
               "INSERT INTO alert(num, code, object, message, n, raised_us, last_us, reminded_us) "
               "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 999) "
               "SELECT i + 10000, 'x', CAST(i AS TEXT), '', 1, 1, 1, 1 FROM c"));
    say.object = STR("one more");
    CHECK(!alert_raise(s, &say, &num, &fresh, &err) && err.kind == ERR_LIMIT);
    CHECK(ask(&h, "SELECT count(*) FROM alert") == ALERTS_OPEN_MOST);
    CHECK(tell(&h, "UPDATE alert SET cleared_us = 5 WHERE num > 10000"));
    say.object = STR("0");
    CHECK(alert_clear(s, &say, &num, &err) && num > 0);
    CHECK(ask(&h, "SELECT count(*) FROM alert") == 1); /* that one */
    CHECK(ask(&h, "SELECT count(*) FROM alert_notice") == 4);
    store_close(s);
}

/* Two nodes see the same: one alert. */
TEST(postgres_an_alert_is_raised_once_over_all_nodes)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct home beside = home_beside(&h);
    struct store *other = open_store(&beside);
    struct alert_say say = say_of("shop", "", 0);
    struct err err = { 0 };
    int64_t first, num;
    bool fresh;

    CHECK(s != NULL && other != NULL && (first = raise_one(s, "shop", 5, &fresh)) > 0 && fresh);
    CHECK(raise_one(other, "shop", 7, &fresh) == first && !fresh);
    CHECK(alert_clear(other, &say, &num, &err) && num == first);
    CHECK(alert_clear(s, &say, &num, &err) && num == 0);
    CHECK(ask(&h, "SELECT count(*) FROM alert_notice") == 4);
    store_close(other);
    store_close(s);
}

STORE_TEST_MAIN
