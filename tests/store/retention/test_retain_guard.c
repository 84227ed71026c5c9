/* What holds retention back: documents that are kept, the guard, a pause, a clock that goes back.
 */
#include "retain_scene.h"
#include "store/retention/retain_bytes.h"
#include "store/retention/retain_gate.h"
#include "store/road/done.h"

/* proves: RE8 */
TEST(a_document_that_is_kept_is_passed_by)
{
    static struct accept_op docs[20];
    struct home h = fresh_home();
    struct store *s = open_small(&h);
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct kept list[KEPT_PAGE_MOST];
    struct id none = id_make(clock_wall_us(), 999999, 1);
    struct err err = { 0 };
    struct retain_bytes sum;
    int64_t next;
    size_t n;
    bool found, closed;

    CHECK(s != NULL && ended_docs(s, docs, 20, STR("evidence"), OLD));
    CHECK(kept_put(s, &docs[5].id, STR("case 7"), STR("ann"), &found, &err) && found);
    CHECK(kept_put(s, &docs[9].id, STR("case 8"), STR("ann"), &found, &err) && found);
    CHECK(kept_put(s, &none, STR("case 8"), STR("ann"), &found, &err) && !found);
    CHECK(!kept_put(s, &docs[9].id, STR(""), STR("ann"), &found, &err));
    CHECK(purge(s, today() + OLD) == 18);
    CHECK(retain_close(s, today() + OLD, &closed, &err) && closed && clean(s, &sum));
    CHECK(is_there(s, &docs[5]) && payload_is(s, &docs[5], STR("evidence")));
    CHECK(!is_there(s, &docs[6]));
    CHECK(kept_list(s, 0, 10, &a, list, &n, &next, &err) && n == 2 && next == 0);
    CHECK(str_is(list[0].reason, "case 7") && str_is(list[1].by, "ann"));
    CHECK(listed(s, (struct document_filter){ .receiver = 200 }) == 2);
    /* It may go again: with the table of today. */
    CHECK(kept_drop(s, &docs[5].id, STR("bob"), &found, &err) && found);
    CHECK(kept_drop(s, &docs[5].id, STR("bob"), &found, &err) && !found);
    CHECK(is_there(s, &docs[5]) && purge(s, today()) == 1 && !is_there(s, &docs[5]));
    CHECK(is_there(s, &docs[9]) && all_is_well(s));
    store_close(s);
}

static int by_num(const void *a, const void *b)
{
    const struct accept_op *x = a, *y = b;

    return x->num < y->num ? -1 : x->num > y->num;
}

/* At the borders of slices, and of the table.  proves: RE8 */
TEST(kept_documents_are_passed_by_in_every_slice)
{
    enum { DOCS = 2 * RETAIN_SLICE_POSTGRESQL + 10 };
    static struct accept_op docs[DOCS];
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    size_t slice = on_postgres() ? RETAIN_SLICE_POSTGRESQL : RETAIN_SLICE;
    size_t kept[] = { 0, slice - 1, slice, 2 * slice - 1, DOCS - 1 };
    struct err err = { 0 };
    bool found;

    CHECK(s != NULL && ended_docs(s, docs, DOCS, STR("evidence"), OLD));
    qsort(docs, DOCS, sizeof docs[0], by_num);
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        CHECK(kept_put(s, &docs[kept[i]].id, STR("case 7"), STR("ann"), &found, &err) && found);
    CHECK(purge(s, today() + OLD) == DOCS - 5);
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        CHECK(is_there(s, &docs[kept[i]]) && payload_is(s, &docs[kept[i]], STR("evidence")));
    CHECK(all_is_well(s));
    store_close(s);
}

/* proves: RE8 */
TEST(an_id_with_the_same_number_lets_nothing_go)
{
    static struct accept_op docs[1];
    struct home h = fresh_home();
    struct store *s = open_small(&h);
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct kept kept;
    struct err err = { 0 };
    bool found;

    CHECK(s != NULL && ended_docs(s, docs, 1, STR("evidence"), OLD));
    struct id forged = docs[0].id;

    forged.bytes[sizeof forged.bytes - 1] ^= 1;
    CHECK(id_row(&forged) == id_row(&docs[0].id));
    CHECK(kept_put(s, &docs[0].id, STR("case 7"), STR("ann"), &found, &err) && found);
    CHECK(kept_drop(s, &forged, STR("bob"), &found, &err) && !found);
    CHECK(kept_get(s, id_row(&docs[0].id), &a, &kept, &found, &err) && found);
    CHECK(kept_drop(s, &docs[0].id, STR("bob"), &found, &err) && found);
    CHECK(kept_get(s, id_row(&docs[0].id), &a, &kept, &found, &err) && !found);
    store_close(s);
}

/* proves: RE7 */
TEST(no_more_than_one_table_and_a_twentieth_go_in_an_hour)
{
    enum { A_DAY = RETAIN_SLICE };
    static struct accept_op docs[A_DAY];
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct retain_slice got;
    struct err err = { 0 };
    int64_t now = clock_wall_us();

    CHECK(s != NULL);
    for (int i = 0; i < 4; i++)
        CHECK(ended_docs(s, docs, A_DAY, STR("x"), OLD - i));
    struct retain_order order = { .day = today() + OLD, .now_us = now };

    CHECK(retain_slice(s, &order, &got, &err) && !got.guarded && got.documents == A_DAY);
    order.day--; /* a quarter went: no second table in this hour */
    CHECK(retain_slice(s, &order, &got, &err) && got.guarded && got.documents == 0);
    store_close(s);
    s = open_store(&h); /* it is not forgotten */
    CHECK(s != NULL);
    order.now_us = now + RETAIN_HOUR_US - CLOCK_S;
    CHECK(retain_slice(s, &order, &got, &err) && got.guarded);
    order.now_us = now - 100 * RETAIN_DAY_US; /* the clock goes back: the hour begins anew */
    CHECK(retain_slice(s, &order, &got, &err) && got.guarded);
    order.now_us += RETAIN_HOUR_US;
    CHECK(retain_slice(s, &order, &got, &err) && !got.guarded && got.documents == A_DAY);
    order.day--;
    CHECK(retain_slice(s, &order, &got, &err) && got.guarded);
    order.unguarded = true;
    CHECK(retain_slice(s, &order, &got, &err) && !got.guarded && got.documents == A_DAY);
    store_close(s);
}

static int64_t guard_mark(const struct home *h, const char *name)
{
    char sql[100];

    (void)snprintf(sql, sizeof sql, "SELECT value FROM mark WHERE name = 'retain_%s'", name);
    return ask(h, sql);
}

/* A twentieth of those that there were when the hour began.  proves: RE7 */
TEST(small_tables_go_until_it_is_a_twentieth)
{
    enum { MANY = 2 * RETAIN_SLICE, FEW = 4 };
    static struct accept_op docs[MANY];
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct retain_order order = { .day = today() + OLD, .now_us = clock_wall_us() };
    struct retain_slice got;
    struct err err = { 0 };

    CHECK(s != NULL && ended_docs(s, docs, MANY, STR("x"), RETAIN_DAYS));
    for (int i = 0; i < 4; i++)
        CHECK(ended_docs(s, docs, FEW, STR("x"), OLD - i));
    /* Of 136 a twentieth is 6: it is over with the second table. */
    CHECK(retain_slice(s, &order, &got, &err) && !got.guarded && got.documents == FEW);
    CHECK(guard_mark(&h, "present") == MANY + 4 * FEW && guard_mark(&h, "count") == FEW);
    CHECK(guard_mark(&h, "day") == order.day && guard_mark(&h, "since") == order.now_us);
    order.day--;
    CHECK(retain_slice(s, &order, &got, &err) && !got.guarded && got.documents == FEW);
    order.day--;
    CHECK(retain_slice(s, &order, &got, &err) && got.guarded);
    order.now_us += RETAIN_HOUR_US; /* those that went are not there any more */
    CHECK(retain_slice(s, &order, &got, &err) && !got.guarded && got.documents == FEW);
    CHECK(guard_mark(&h, "present") == MANY + 2 * FEW && guard_mark(&h, "count") == FEW);
    store_close(s);
}

TEST(while_it_is_paused_nothing_goes)
{
    static struct accept_op docs[10];
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct retain_slice got;
    struct err err = { 0 };
    struct retain_order order = { .day = today() + OLD, .now_us = clock_wall_us() };

    CHECK(s != NULL && ended_docs(s, docs, 10, STR("x"), OLD));
    retain_pause(s);
    CHECK(retain_is_paused(s) && retain_slice(s, &order, &got, &err) && got.busy);
    CHECK(is_there(s, &docs[0]));
    retain_release(s);
    CHECK(purge(s, order.day) == 10);
    store_close(s);
}

static int64_t believed(const struct home *h)
{
    return ask(h, "SELECT value FROM mark WHERE name = 'retain_today'");
}

/* proves: RE7 */
TEST(a_clock_that_goes_back_makes_nothing_overdue)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct err err = { 0 };
    int64_t day = today();
    char sql[100];

    CHECK(s != NULL && retain_believe(s, day + 3, &err) && done_floor() == day + 3);
    CHECK(retain_believe(s, day - 10, &err) && done_floor() == day + 3);
    CHECK(believed(&h) == day + 3 && done_day(2) == day + 5);
    store_close(s);
    s = open_store(&h);
    CHECK(s != NULL && done_floor() == day + 3);
    /* Another node has seen a later day. */
    (void)snprintf(sql, sizeof sql, "UPDATE mark SET value = %lld WHERE name = 'retain_today'",
                   (long long)day + 9);
    CHECK(tell(&h, sql) && retain_believe(s, day + 4, &err));
    CHECK(believed(&h) == day + 9 && done_floor() == day + 9);
    CHECK(retain_believe_anew(s, day, &err) && believed(&h) == day && done_floor() == day);
    store_close(s);
}

static bool announces(struct store *s, int64_t now_us, int64_t until_us, int64_t told_us,
                      bool fresh)
{
    struct retain_announced a;
    struct err err = { 0 };

    return retain_announce(s, now_us, until_us, &a, &err) && a.told_us == told_us &&
           a.fresh == fresh;
}

/* proves: DL4 */
TEST(dead_letters_go_a_day_after_they_were_announced)
{
    const int64_t hour = INT64_C(3600) * CLOCK_S, day = RETAIN_DAY_US, now = 20000 * day;
    const int64_t old = now - 40 * day;
    struct home h = fresh_home();
    struct store *s = open_store(&h);

    CHECK(s != NULL && announces(s, now, old, 0, true));
    CHECK(announces(s, now + 23 * hour, old + 23 * hour, 0, false));
    CHECK(announces(s, now + day, old + day, old, true));
    /* A shorter rule: what it adds waits as long. */
    CHECK(announces(s, now + day + hour, old + 9 * day, old, true));
    CHECK(announces(s, now + 2 * day, old + 9 * day, old, false));
    store_close(s);
    CHECK((s = open_store(&h)) != NULL); /* it is known after a restart */
    CHECK(announces(s, now + 2 * day + hour, old + 9 * day, old + 9 * day, true));
    CHECK(announces(s, now + 2 * day, old + 9 * day, old + 9 * day, false)); /* another node */
    /* Nobody renewed it, and a clock that went back. */
    CHECK(announces(s, now + 10 * day, old + 10 * day, 0, true));
    CHECK(announces(s, now, old, 0, true) && announces(s, now + hour, old + hour, 0, false));
    store_close(s);
}

STORE_TEST_MAIN
