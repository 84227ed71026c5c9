/* Passes of verification, and what they have found. */
#include "store/replica/pass.h"

#include <stdio.h>

#include "base/auto.h"
#include "store/replica/replica_forget.h"
#include "store_test.h"

enum { LIST = 100 };

static struct arena texts = ARENA_INIT(64 << 20); /* of all tests */

static struct pass pass_of(const char *table, const char *rule)
{
    return (struct pass){ .link = STR("a-b"),
                          .table = str_of(table),
                          .rule = str_of(rule),
                          .mode = STR("full"),
                          .repair = true,
                          .began_us = 1000,
                          .by = STR("ada") };
}

/* It was not lost. */
static bool save(struct store *s, struct pass *p, const struct finding *findings, size_t count)
{
    struct err err = { 0 };
    bool lost = true;

    if (!pass_save(s, p, findings, count, &lost, &err))
        (void)printf("# save: %s\n", err.text);
    return !lost;
}

/* result PASS_RESULTS: there is none. */
static struct pass find(struct store *s, int64_t id)
{
    struct pass p = { .result = PASS_RESULTS };
    struct err err = { 0 };
    bool has;

    if (!pass_find(s, id, &texts, &has, &p, &err))
        (void)printf("# find: %s\n", err.text);
    return p;
}

static int list(struct store *s, const char *link, const char *table, const char *rule,
                int64_t before, struct pass *ret)
{
    struct err err = { 0 };
    size_t n = 0;

    if (pass_list(s, str_of(link), str_of(table), str_of(rule), before, LIST, &texts, ret, &n,
                  &err))
        return (int)n;
    (void)printf("# list: %s\n", err.text);
    return -1;
}

static int found(struct store *s, int64_t pass, enum finding_state state, struct str after,
                 struct finding *ret)
{
    struct err err = { 0 };
    size_t n = 0;

    if (pass_findings(s, pass, state, after, LIST, &texts, ret, &n, &err))
        return (int)n;
    (void)printf("# findings: %s\n", err.text);
    return -1;
}

TEST(a_pass_goes_on_from_where_it_was)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct pass p = pass_of("t", "r"), now;

    CHECK(save(s, &p, NULL, 0) && p.id > 0);
    p.next = STR("key");
    p.segments = 2;
    p.segments_bad = 1;
    p.rows_source = 10;
    p.rows_dest = 11;
    p.bytes = 12;
    p.missing = 13;
    p.extra = 14;
    p.different = 15;
    p.moving = 16;
    p.repaired = 17;
    p.skipped = 18;
    CHECK(save(s, &p, NULL, 0));
    store_close(s);
    s = open_store(&h);
    now = find(s, p.id);
    CHECK(now.result == PASS_RUNNING && str_is(now.next, "key") && now.segments == 2);
    CHECK(now.segments_bad == 1 && now.rows_source == 10 && now.rows_dest == 11 && now.bytes == 12);
    CHECK(now.missing == 13 && now.extra == 14 && now.different == 15 && now.moving == 16);
    CHECK(now.repaired == 17 && now.skipped == 18 && now.repair && !now.dry_run);
    CHECK(str_is(now.link, "a-b") && str_is(now.table, "t") && str_is(now.rule, "r"));
    CHECK(str_is(now.mode, "full") && str_is(now.by, "ada") && now.began_us == 1000);
    p.result = PASS_DIVERGED;
    p.ended_us = 2000;
    p.message = STR("15 rows are different");
    CHECK(save(s, &p, NULL, 0) && find(s, p.id).result == PASS_DIVERGED);
    p.result = PASS_OK;
    CHECK(!save(s, &p, NULL, 0) && find(s, p.id).result == PASS_DIVERGED);
    p.id += 1000;
    CHECK(!save(s, &p, NULL, 0) && find(s, p.id).result == PASS_RESULTS);
    store_close(s);
}

TEST(a_rule_has_one_pass_at_a_time)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct pass first = pass_of("t", "r"), other = pass_of("t", "other"),
                second = pass_of("t", "r");

    second.began_us = 5000;
    CHECK(save(s, &first, NULL, 0) && save(s, &other, NULL, 0) && save(s, &second, NULL, 0));
    CHECK(find(s, first.id).result == PASS_ABORTED && find(s, first.id).ended_us == 5000);
    CHECK(!save(s, &first, NULL, 0) && save(s, &other, NULL, 0) && save(s, &second, NULL, 0));
    store_close(s);
}

TEST(the_last_passes_of_a_table_are_kept)
{
    const struct finding f = { .key = STR("k") };
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct pass runs = pass_of("t", "slow"), of_u = pass_of("u", "r"), ret[LIST];

    of_u.ended_us = 1;
    CHECK(save(s, &runs, NULL, 0) && save(s, &of_u, &f, 1));
    for (int i = 0; i < PASS_KEPT + 15; i++) {
        struct pass p = pass_of("t", i % 2 == 0 ? "even" : "odd");

        p.result = PASS_OK;
        p.ended_us = i + 1;
        CHECK(save(s, &p, &f, 1));
    }
    CHECK(list(s, "a-b", "t", "", 0, ret) == PASS_KEPT + 1); /* and the one that runs */
    CHECK(ret[0].id > ret[1].id && ret[0].ended_us == PASS_KEPT + 15);
    CHECK(ret[PASS_KEPT].id == runs.id && ret[PASS_KEPT - 1].ended_us == 16);
    CHECK(ask(&h, "SELECT count(*) FROM replica_finding") == PASS_KEPT + 1);
    CHECK(list(s, "a-b", "t", "odd", 0, ret) == PASS_KEPT / 2);
    CHECK(list(s, "a-b", "", "", 0, ret) == PASS_KEPT + 2 && list(s, "", "u", "r", 0, ret) == 1);
    CHECK(list(s, "", "", "slow", 0, ret) == 1 && list(s, "", "", "", runs.id, ret) == 0);
    CHECK(list(s, "other", "", "", 0, ret) == 0);
    store_close(s);
}

TEST(findings_come_in_order_of_keys_and_change)
{
    static char shared[1200];
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct pass p = pass_of("t", "r");
    struct finding f[] = { { .key = STR("b"), .kind = FINDING_EXTRA, .hash_dest = STR("\x01") },
                           { .key = STR("a"),
                             .kind = FINDING_DIFFERENT,
                             .hash_source = STR("\x02"),
                             .hash_dest = STR("\x03"),
                             .seen_x = 5,
                             .tries = 1,
                             .look_us = 9 },
                           { .key = str_mem("a\0", 2), .kind = FINDING_MISSING },
                           { .kind = FINDING_MISSING },
                           { .kind = FINDING_MISSING } };
    struct finding ret[LIST];

    memset(shared, 'z', sizeof shared);
    f[3].key = str_mem(shared, sizeof shared);
    f[4].key = str_mem(shared, sizeof shared - 1);
    CHECK(save(s, &p, f, 5) && found(s, p.id, FINDING_STATES, STR(""), ret) == 5);
    CHECK(str_is(ret[0].key, "a") && ret[1].key.len == 2 && str_is(ret[2].key, "b"));
    CHECK(str_eq(ret[3].key, f[4].key) && str_eq(ret[4].key, f[3].key));
    CHECK(ret[0].kind == FINDING_DIFFERENT && str_is(ret[0].hash_source, "\x02"));
    CHECK(str_is(ret[0].hash_dest, "\x03") && ret[0].seen_x == 5 && ret[0].tries == 1);
    CHECK(ret[0].look_us == 9 && ret[0].pass == p.id && ret[1].hash_source.len == 0);
    CHECK(found(s, p.id, FINDING_STATES, STR("b"), ret) == 2);
    CHECK(found(s, p.id, FINDING_STATES, f[4].key, ret) == 1);
    CHECK(found(s, p.id, FINDING_STATES, f[3].key, ret) == 0);
    f[1].state = FINDING_CONFIRMED;
    CHECK(save(s, &p, f + 1, 1) && found(s, p.id, FINDING_STATES, STR(""), ret) == 5);
    CHECK(found(s, p.id, FINDING_CONFIRMED, STR(""), ret) == 1 && str_is(ret[0].key, "a"));
    CHECK(found(s, p.id, FINDING_SUSPECT, STR("a"), ret) == 4);
    CHECK(found(s, p.id + 1, FINDING_STATES, STR(""), ret) == 0);
    store_close(s);
}

static bool ends(struct store *s, const char *table, const char *rule, const char *mode,
                 enum pass_result result)
{
    struct pass p = pass_of(table, rule);

    p.mode = str_of(mode);
    if (!save(s, &p, NULL, 0))
        return false;
    p.result = result;
    p.ended_us = 2000;
    return save(s, &p, NULL, 0);
}

/* How many tables differ. */
static int differing(struct store *s)
{
    struct pass ret[LIST];
    struct err err = { 0 };
    size_t n = 0, last = 0;

    if (pass_differing(s, 0, LIST, &texts, ret, &n, &err) &&
        (n == 0 || pass_differing(s, ret[n - 1].id, LIST, &texts, ret, &last, &err)))
        return last == 0 ? (int)n : -1;
    (void)printf("# differing: %s\n", err.text);
    return -1;
}

TEST(a_table_differs_until_a_pass_that_compares_as_much_finds_nothing)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);

    CHECK(differing(s) == 0);
    CHECK(ends(s, "t", "r", "full", PASS_OK) && differing(s) == 0);
    CHECK(ends(s, "t", "r", "full", PASS_DIVERGED) && differing(s) == 1);
    CHECK(ends(s, "u", "r", "count", PASS_DIVERGED) && differing(s) == 2);
    CHECK(ends(s, "t", "r2", "count", PASS_PARTIAL) && differing(s) == 2); /* it compares less */
    CHECK(ends(s, "t", "r", "full", PASS_ABORTED) && differing(s) == 2);
    CHECK(ends(s, "t", "r", "full", PASS_DIVERGED) && differing(s) == 2); /* the last one */
    CHECK(ends(s, "u", "r", "count", PASS_PARTIAL) && differing(s) == 1);
    CHECK(ends(s, "t", "r2", "full", PASS_REPAIRED) && differing(s) == 0);
    store_close(s);
}

TEST(so_many_findings_are_listed_and_no_more)
{
    enum { STEP = 1000 };
    static struct finding f[STEP];
    static char keys[STEP][16];
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct pass p = pass_of("t", "r");
    struct finding ret[LIST];

    for (int step = 0; step <= PASS_FINDINGS_MOST / STEP; step++) {
        for (int i = 0; i < STEP; i++) {
            (void)snprintf(keys[i], sizeof keys[i], "%08d", step * STEP + i);
            f[i] = (struct finding){ .key = str_of(keys[i]) };
        }
        CHECK(save(s, &p, f, step == 0 ? STEP - 1 : STEP));
    }
    CHECK(ask(&h, "SELECT count(*) FROM replica_finding") == PASS_FINDINGS_MOST);
    f[0].key = STR("00000000"); /* one that is listed changes all the same */
    f[0].state = FINDING_CONFIRMED;
    CHECK(save(s, &p, f, 2) && found(s, p.id, FINDING_CONFIRMED, STR(""), ret) == 1);
    CHECK(ask(&h, "SELECT count(*) FROM replica_finding") == PASS_FINDINGS_MOST);
    f[0].state = FINDING_GONE; /* and one that is gone gives its place to another */
    f[1].state = FINDING_MOVING;
    CHECK(save(s, &p, f, 3) && found(s, p.id, FINDING_GONE, STR(""), ret) == 0);
    CHECK(found(s, p.id, FINDING_MOVING, STR(""), ret) == 1 && str_eq(ret[0].key, f[1].key));
    CHECK(ask(&h, "SELECT count(*) FROM replica_finding") == PASS_FINDINGS_MOST);
    CHECK(save(s, &p, f, 1) && save(s, &p, f + 1, 1));
    CHECK(ask(&h, "SELECT count(*) FROM replica_finding") == PASS_FINDINGS_MOST);
    store_close(s);
}

/* A job of a table, a row of it that is set aside, and an order. */
static bool has_job(const struct home *h, int id, const char *table)
{
    char sql[1000], bytes[16];

    (void)snprintf(bytes, sizeof bytes, "%s%02x'", on_sqlite() ? "x'" : "'\\x", id);
    (void)snprintf(sql, sizeof sql,
                   "INSERT INTO job(num, name, kind, area, queue, digest, version, turn, due_us, "
                   "next_us, nominal_us, settled_us, paused_us, last_end_us, served, failures, "
                   "idle, more, tries, tried_us, first_us, left_out) VALUES (%d, 'a-b/%s', "
                   "'replicate', '', -1, %s, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)",
                   id, table, bytes);
    if (!tell(h, sql))
        return false;
    (void)snprintf(sql, sizeof sql,
                   "INSERT INTO replica_set_aside(id, digest, link, table_name, row_key, "
                   "row_bytes, kind, why, x, first_us, last_us, due_us, tries) VALUES (%d, %s, "
                   "'a-b', '%s', %s, %s, 'refused', '', 1, 1, 1, 1, 1)",
                   id, bytes, table, bytes, bytes);
    if (!tell(h, sql))
        return false;
    (void)snprintf(sql, sizeof sql,
                   "INSERT INTO replica_order(id, link, table_name, wish, detail, asked_by, why, "
                   "at_us) VALUES (%d, 'a-b', '%s', 0, '', '', '', 1)",
                   id, table);
    return tell(h, sql);
}

/* As long as the job of its table is in the list, it stays. */
TEST(what_was_kept_of_a_table_goes_with_its_job)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct pass stays = pass_of("t", "r"), goes = pass_of("u", "r");
    const struct finding f = { .key = STR("k") };
    struct err err = { 0 };
    bool more = true;

    CHECK(save(s, &stays, &f, 1) && save(s, &goes, &f, 1));
    CHECK(has_job(&h, 1, "t") && has_job(&h, 2, "u"));
    CHECK(replica_forget(s, &more, &err) && !more && find(s, goes.id).result == PASS_RUNNING);
    CHECK(tell(&h, "DELETE FROM job WHERE name = 'a-b/u'"));
    CHECK(replica_forget(s, &more, &err) && !more && find(s, goes.id).result == PASS_RESULTS);
    CHECK(find(s, stays.id).result == PASS_RUNNING);
    CHECK(ask(&h, "SELECT count(*) FROM replica_finding") == 1);
    CHECK(ask(&h, "SELECT count(*) FROM replica_set_aside WHERE table_name = 't'") == 1);
    CHECK(ask(&h, "SELECT count(*) FROM replica_set_aside") == 1);
    CHECK(ask(&h, "SELECT count(*) FROM replica_order") == 1);
    store_close(s);
}

STORE_TEST_MAIN
