/* Dead letters: lists, groups, re-drive. */
#include <stdio.h>
#include <stdlib.h>

#include "base/auto.h"
#include "store/manual/dead.h"
#include "store/road/done.h"
#include "store/road/settle.h"
#include "store_test.h"

enum { MOST = 2000 };

static struct {
    struct home h;
    struct store *s;
    struct accept_op docs[MOST];
    struct settle_op ops[MOST];
    int64_t hub, acme, order;
} c;

static bool begin(size_t count)
{
    struct err err = { 0 };

    c.h = fresh_home();
    c.s = open_store(&c.h);
    for (size_t i = 0; i < count; i++) {
        c.docs[i] = doc_of(STR("x"));
        c.docs[i].claim_wanted = true;
        c.docs[i].name = STR("order-7.xml");
    }
    if (c.s == NULL || !name_add(c.s, NAME_GATEWAY, STR("orders"), &c.docs[0].gateway, &err) ||
        !name_add(c.s, NAME_SYSTEM, STR("hub"), &c.hub, &err) ||
        !name_add(c.s, NAME_SYSTEM, STR("acme"), &c.acme, &err) ||
        !name_add(c.s, NAME_TYPE, STR("order"), &c.order, &err))
        return false;
    for (size_t i = 1; i < count; i++)
        c.docs[i].gateway = c.docs[0].gateway;
    for (size_t i = 0; i < count; i += 500)
        if (!accept_docs(c.s, c.docs + i, count - i < 500 ? count - i : 500))
            return false;
    return true;
}

static void die(size_t i, const char *code, const char *message, struct str facts)
{
    c.ops[i] = settle_of(&c.docs[i].task, c.docs[i].num, SETTLE_DEAD);
    c.ops[i].code = str_of(code);
    c.ops[i].message = str_of(message);
    c.ops[i].has_facts = true;
    c.ops[i].sender = c.acme;
    c.ops[i].receiver = facts.len > 0 ? 0 : c.hub;
    c.ops[i].type = c.order;
    c.ops[i].facts = facts;
}

static struct buf unknown_receiver(const char *name, const char *po)
{
    struct buf b = BUF_INIT(4096);
    struct fact attribute = { STR("po"), str_of(po) };
    struct facts f = { .receiver = str_of(name),
                       .receiver_unknown = true,
                       .attributes = &attribute,
                       .attribute_count = 1 };

    facts_write(&f, &b);
    return b;
}

static size_t listed(const struct dead_filter *f, struct arena *a, struct dead_letter *ret)
{
    struct err err = { 0 };
    int64_t next = -1;
    size_t n = 999;

    if (!dead_list(c.s, f, 0, 100, a, ret, &n, &next, &err) || next != 0)
        printf("# list: %s, next %lld\n", err.text, (long long)next);
    return n;
}

/* 0, 1: no route to hub.  2, 3: unknown receiver mars.  4: a delivery to hub was rejected,
 * another is in doubt.  5: goes on. */
static bool six(struct buf *facts)
{
    struct err err = { 0 };
    static struct settle_delivery parts[2];

    if (!begin(6))
        return false;
    die(0, "no_route", "first", STR(""));
    die(1, "no_route", "second", STR(""));
    die(2, "unknown_system", "mars", buf_view(facts));
    die(3, "unknown_system", "mars again", buf_view(facts));
    die(4, "", "", STR(""));
    c.ops[4].end = SETTLE_DELIVERIES;
    c.ops[4].parts = parts;
    c.ops[4].part_count = 2;
    parts[0] = (struct settle_delivery){ .id = STR("x.api"),
                                         .system = c.hub,
                                         .state = DELIVERY_DEAD,
                                         .code = STR("rejected"),
                                         .message = STR("answered 400") };
    parts[1] = parts[0];
    parts[1].id = STR("x.sure");
    parts[1].state = DELIVERY_IN_DOUBT;
    return name_add(c.s, NAME_ENDPOINT, STR("api"), &parts[0].endpoint, &err) &&
           name_add(c.s, NAME_ENDPOINT, STR("sure"), &parts[1].endpoint, &err) &&
           queue_for(c.s, c.hub, parts[0].endpoint, &parts[0].queue, &err) &&
           queue_for(c.s, c.hub, parts[1].endpoint, &parts[1].queue, &err) &&
           settle_ops(c.s, c.ops, 5);
}

TEST(dead_letters_are_listed_and_filtered)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(8 << 20);
    AUTO(buf_done) struct buf facts = unknown_receiver("mars", "4711");
    struct dead_letter l[100];
    const struct {
        struct dead_filter f;
        size_t count;
    } cases[] = {
        { { .since_us = 0 }, 5 },
        { { .code = STR("no_route") }, 2 },
        { { .code = STR("in_doubt") }, 0 },
        { { .receiver = STR("hub") }, 3 },
        { { .receiver = STR("mars") }, 2 },
        { { .receiver = STR("venus") }, 0 },
        { { .sender = STR("acme"), .type = STR("order") }, 5 },
        { { .type = STR("invoice") }, 0 },
        { { .gateway = STR("orders") }, 5 },
        { { .gateway = STR("other") }, 0 },
        { { .name = STR("order-*") }, 5 },
        { { .name = STR("order") }, 0 },
        { { .since_us = clock_wall_us() + 99 * CLOCK_S }, 0 },
        { { .until_us = 1 }, 0 },
        { { .where = { { STR("po"), STR("4711") } }, .where_count = 1 }, 2 },
        { { .where = { { STR("po"), STR("1") } }, .where_count = 1 }, 0 },
    };

    CHECK(six(&facts));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK(listed(&cases[i].f, &a, l) == cases[i].count);
    CHECK(listed(&cases[0].f, &a, l) == 5);
    CHECK(l[0].doc == c.docs[0].num && l[0].delivery == 0 && id_eq(&l[0].id, &c.docs[0].id));
    CHECK(str_is(l[0].message, "first") && str_is(l[0].facts.receiver, "hub"));
    CHECK(str_is(l[2].facts.receiver, "mars") && str_is(l[2].facts.sender, "acme"));
    CHECK(str_is(l[2].facts.attributes[0].value, "4711") && l[2].facts.receiver_unknown);
    CHECK(l[4].doc == c.docs[4].num && l[4].delivery == l[4].num);
    CHECK(str_is(name_text(c.s, l[4].endpoint), "api") && str_is(l[4].code, "rejected"));
    store_close(c.s);
}

TEST(dead_letters_come_in_pages)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(64 << 20);
    struct dead_filter any = { .code = STR("no_route") }, odd = { .since_us = 1 };
    struct dead_letter l[7];
    struct err err = { 0 };
    int64_t next = 0, last = 0, count;
    size_t n, all = 0;

    CHECK(begin(1200));
    for (size_t i = 0; i < 1200; i++)
        die(i, "no_route", "x", STR(""));
    for (size_t i = 0; i < 1200; i += 300)
        CHECK(settle_ops(c.s, c.ops + i, 300));
    do {
        CHECK(dead_list(c.s, &any, next, 7, &a, l, &n, &next, &err));
        for (size_t i = 0; i < n; i++) {
            CHECK(l[i].num > last);
            last = l[i].num;
        }
        all += n;
    } while (next != 0);
    CHECK(all == 1200);
    CHECK(dead_count(c.s, &odd, 0, &count, &next, &err) && count == 1200 && next == 0);
    CHECK(dead_count(c.s, &odd, l[0].num, &count, &next, &err) && count < 10);
    store_close(c.s);
}

TEST(dead_letters_in_groups)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(8 << 20);
    AUTO(buf_done) struct buf facts = unknown_receiver("mars", "1");
    static struct dead_group g[DEAD_GROUPS_MOST];
    struct dead_filter any = { .since_us = 0 }, hub = { .receiver = STR("hub") };
    struct dead_filter unrouted = { .code = STR("no_route") };
    struct dead_letter letters[10];
    struct err err = { 0 };
    size_t n, count;
    int64_t next;

    CHECK(six(&facts));
    CHECK(dead_groups(c.s, &any, DEAD_BY_REASON, &a, g, &n, &err) && n == 3);
    CHECK(str_is(g[0].key, "no_route") && g[0].count == 2 && str_is(g[0].message, "second"));
    CHECK(g[0].oldest_us <= g[0].newest_us && g[0].oldest_us > 0);
    CHECK(str_is(g[1].key, "unknown_system") && g[1].count == 2);
    CHECK(str_is(g[2].key, "rejected") && g[2].count == 1);
    CHECK(dead_groups(c.s, &any, DEAD_BY_RECEIVER, &a, g, &n, &err) && n == 3);
    CHECK(str_is(g[0].key, "hub") && str_is(g[0].code, "no_route"));
    CHECK(str_is(g[1].key, "mars") && str_is(g[1].code, "unknown_system"));
    CHECK(str_is(g[2].key, "hub") && str_is(g[2].code, "rejected"));
    CHECK(dead_groups(c.s, &any, DEAD_BY_TYPE, &a, g, &n, &err) && n == 3);
    CHECK(str_is(g[0].key, "order"));
    CHECK(dead_groups(c.s, &any, DEAD_BY_BOTH, &a, g, &n, &err) && n == 3);
    CHECK(str_is(g[0].key, "no_route") && str_is(g[0].receiver, "hub") && g[0].count == 2);
    CHECK(str_is(g[1].key, "unknown_system") && str_is(g[1].receiver, "mars"));
    CHECK(str_is(g[2].key, "rejected") && str_is(g[2].receiver, "hub"));
    CHECK(dead_list(c.s, &unrouted, 0, 10, &a, letters, &count, &next, &err) && count == 2);
    CHECK(memcmp(&g[0].sample, &letters[1].id, sizeof g[0].sample) == 0);
    CHECK(dead_groups(c.s, &hub, DEAD_BY_REASON, &a, g, &n, &err) && n == 2);
    CHECK(g[0].receiver.len == 0);
    store_close(c.s);
}

static bool is_mars(void *arg, const struct dead_letter *l)
{
    ++*(int *)arg;
    return str_is(l->facts.receiver, "mars") && str_is(l->facts.type, "order");
}

/* proves: RO3 */
TEST(what_a_new_configuration_answers_starts_again)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(8 << 20);
    AUTO(buf_done) struct buf facts = unknown_receiver("mars", "1");
    struct operate_order order = {
        .who = STR("version 8"), .config = 8, .keep_days = 45, .bulk = true
    };
    struct dead_redrive r;
    struct document d;
    struct err err = { 0 };
    int asked = 0;

    CHECK(six(&facts));
    CHECK(dead_redrive(c.s, STR("no_route"), 0, &order, is_mars, &asked, &r, &err));
    CHECK(r.looked == 2 && r.moved == 0 && r.next == 0 && asked == 2);
    CHECK(dead_redrive(c.s, STR("unknown_system"), 0, &order, is_mars, &asked, &r, &err));
    CHECK(r.looked == 2 && r.moved == 2 && r.next == 0);
    CHECK(places(c.s).dead == 4 && places(c.s).ready + places(c.s).lease == 3); /* 5 goes on */
    CHECK(document_get(c.s, &c.docs[2].id, &a, &d, &err));
    CHECK(d.is == DOCUMENT_ACTIVE && d.config == 8 && d.facts.len > 0);
    CHECK(dead_redrive(c.s, STR("unknown_system"), 0, &order, is_mars, &asked, &r, &err));
    CHECK(r.looked == 0 && r.moved == 0 && r.next == 0);
    store_close(c.s);
}

static bool yes(void *arg, const struct dead_letter *l)
{
    (void)arg;
    (void)l;
    return true;
}

/* proves: DL3 */
TEST(a_storm_is_driven_page_by_page)
{
    enum { COUNT = MOST };
    struct operate_order order = {
        .who = STR("version 8"), .config = 8, .keep_days = 45, .bulk = true
    };
    struct dead_redrive r = { 0 };
    struct err err = { 0 };
    int64_t moved = 0;
    int pages = 0;

    CHECK(begin(COUNT));
    for (size_t i = 0; i < COUNT; i++)
        die(i, "no_route", "x", STR(""));
    for (size_t i = 0; i < COUNT; i += 500)
        CHECK(settle_ops(c.s, c.ops + i, 500));
    do {
        CHECK(dead_redrive(c.s, STR("no_route"), r.next, &order, yes, NULL, &r, &err));
        CHECK(r.moved == r.looked && r.moved <= DEAD_PAGE_MOST);
        moved += r.moved;
        pages++;
    } while (r.next != 0 && pages < 100);
    CHECK(moved == COUNT && pages >= COUNT / DEAD_PAGE_MOST && places(c.s).dead == 0);
    store_close(c.s);
}

/* Retention drops the tables of days whole; a dead letter stands in none of them.
 * proves: DL4 */
TEST(a_dead_letter_outlives_every_table_of_days)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct dead_filter all = { 0 };
    struct dead_letter letters[100];
    struct document d;
    struct err err = { 0 };
    char drop[100];

    CHECK(begin(2));
    die(0, "no_route", "no way", STR(""));
    c.ops[0].keep_days = 0;
    CHECK(settle_ops(c.s, c.ops, 1) && document_end(c.s, c.docs[1].num, DOCUMENT_DONE, 0, &err));
    (void)snprintf(drop, sizeof drop, "DROP TABLE done_%lld", (long long)done_day(0));
    store_close(c.s);
    CHECK(tell(&c.h, drop) && tell(&c.h, "DELETE FROM part WHERE family = 2"));
    c.s = open_store(&c.h);
    CHECK(c.s != NULL && listed(&all, &a, letters) == 1);
    CHECK(document_get(c.s, &c.docs[0].id, &a, &d, &err) && d.is == DOCUMENT_DEAD);
    CHECK(!document_get(c.s, &c.docs[1].id, &a, &d, &err) && err.kind == ERR_NONE);
    store_close(c.s);
}

STORE_TEST_MAIN
