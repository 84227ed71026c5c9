/* Reference tables: records that people import, look at and remove. */
#include "store/govern/record_table.h"

#include <stdio.h>

#include "base/auto.h"
#include "store/road/set_record.h"
#include "store/watch/check.h"
#include "store_test.h"

static bool put_one(struct store *s, int64_t set, const char *key, const char *value,
                    int64_t *ret_changed)
{
    struct record_put put = { str_of(key), str_of(value) };
    struct err err = { 0 };

    return records_import(s, set, &put, 1, ret_changed, &err);
}

static struct set_record get_one(struct store *s, int64_t set, const char *key, struct arena *a)
{
    struct set_record r = { .version = -1 };
    struct err err = { 0 };

    (void)set_record_get(s, set, str_of(key), a, &r, &err);
    return r;
}

static bool records_are_well(struct store *s, int64_t *ret_looked_at)
{
    struct check_result r = { 0 };
    struct err err = { 0 };

    for (size_t i = 0; i < check_count(); i++)
        if (strcmp(check_name(i), "records") == 0) {
            bool ok = check_run(s, i, false, &r, &err) && r.bad == 0;

            *ret_looked_at = r.looked_at;
            return ok;
        }
    return false;
}

TEST(records_are_imported_replaced_and_removed)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(4 << 20);
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int64_t set, none = -1, changed, count, looked = 0;
    struct err err = { 0 };

    CHECK(s != NULL && record_set_find(s, STR("parts"), &none, &err) && none == 0);
    CHECK(record_set_id(s, STR("parts"), &set, &err) && set != 0);
    CHECK(record_set_find(s, STR("parts"), &none, &err) && none == set);
    CHECK(put_one(s, set, "1", "{\"n\":1}", &changed) && changed == 1);
    struct set_record first = get_one(s, set, "1", &a);

    CHECK(str_is(first.value, "{\"n\":1}") && first.doc == 0);
    CHECK(put_one(s, set, "1", "{\"n\":1}", &changed) && changed == 0); /* the same again */
    CHECK(get_one(s, set, "1", &a).version == first.version);
    CHECK(put_one(s, set, "1", "{\"n\":2}", &changed) && changed == 1);
    CHECK(get_one(s, set, "1", &a).version > first.version);
    CHECK(records_are_well(s, &looked) && looked == 1);
    CHECK(records_remove(s, set, STR("2"), &count, &err) && count == 0);
    CHECK(records_remove(s, set, STR("1"), &count, &err) && count == 1);
    CHECK(get_one(s, set, "1", &a).version == 0);
    store_close(s);
}

TEST(a_set_is_looked_at_in_pages_and_removed_in_portions)
{
    enum { ALL = RECORD_PORTION_MOST + 10 };
    AUTO(arena_done) struct arena a = ARENA_INIT(16 << 20);
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct record_put *puts = ARENA_ARRAY(&a, struct record_put, ALL);
    struct record_row rows[RECORD_PAGE_MOST];
    struct record_set *sets = ARENA_ARRAY(&a, struct record_set, RECORD_SETS_MOST);
    int64_t set, changed, count = 1, seen = 0, gone = 0;
    struct str after = STR("");
    struct err err = { 0 };
    size_t n;

    CHECK(s != NULL && record_set_id(s, STR("many"), &set, &err));
    for (int i = 0; i < ALL; i++)
        puts[i] = (struct record_put){ str_of(arena_printf(&a, "%06d", i)), STR("{\"a\":\"b\"}") };
    CHECK(records_import(s, set, puts, RECORD_PORTION_MOST, &changed, &err));
    CHECK(changed == RECORD_PORTION_MOST);
    CHECK(records_import(s, set, puts + RECORD_PORTION_MOST, 10, &changed, &err) && changed == 10);
    do {
        CHECK(records_page(s, set, after, &a, rows, RECORD_PAGE_MOST, &n, &err));
        for (size_t i = 0; i < n; i++, seen++)
            CHECK(str_eq(rows[i].key, puts[seen].key) && rows[i].size == 9);
        if (n > 0)
            after = rows[n - 1].key;
    } while (n == RECORD_PAGE_MOST);
    CHECK(seen == ALL && record_sets(s, &a, sets, &n, &err) && n == 1);
    CHECK(str_is(sets[0].name, "many") && sets[0].records == ALL && sets[0].updated_us > 0);
    while (count > 0) {
        CHECK(records_remove(s, set, (struct str){ 0 }, &count, &err));
        gone += count;
    }
    CHECK(gone == ALL && record_sets(s, &a, sets, &n, &err) && n == 0);
    store_close(s);
}

TEST(sets_are_bounded)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    char name[RECORD_SET_NAME_MOST + 2];
    struct err err = { 0 };
    int64_t set;

    CHECK(s != NULL);
    memset(name, 'x', sizeof name);
    CHECK(!record_set_id(s, str_mem(name, sizeof name - 1), &set, &err) && err.kind == ERR_LIMIT);
    CHECK(!record_set_id(s, STR(""), &set, &err) && err.kind == ERR_LIMIT);
    CHECK(!record_set_id(s, STR("a\nb"), &set, &err) && err.kind == ERR_LIMIT);
    for (int i = 0; i < RECORD_SETS_MOST; i++) {
        (void)snprintf(name, sizeof name, "set %d", i);
        CHECK(record_set_id(s, str_of(name), &set, &err));
    }
    CHECK(!record_set_id(s, STR("one more"), &set, &err) && err.kind == ERR_LIMIT);
    CHECK(record_set_id(s, STR("set 7"), &set, &err)); /* it is there */
    store_close(s);
}

/* A run that has read the old value must not write over an import. */
TEST(who_read_before_an_import_is_overtaken)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(4 << 20);
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct accept_op doc;
    int64_t set, changed;
    struct err err = { 0 };

    CHECK(s != NULL && record_set_id(s, STR("parts"), &set, &err) && born_docs(s, &doc, 1));
    CHECK(put_one(s, set, "1", "1", &changed));
    struct set_write w = {
        .set = set, .key = STR("1"), .value = STR("2"), .version = get_one(s, set, "1", &a).version
    };
    struct settle_op o = settle_of(&doc.task, doc.num, SETTLE_OVER);

    o.records = &w;
    o.record_count = 1;
    CHECK(put_one(s, set, "1", "3", &changed) && changed == 1);
    (void)settle_ops(s, &o, 1);
    CHECK(o.op.ok && o.overtaken && str_is(get_one(s, set, "1", &a).value, "3"));
    store_close(s);
}

TEST(postgres_a_set_of_another_node_is_found)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(4 << 20);
    struct home h = fresh_home(), other = home_beside(&h);
    struct store *s = open_store(&h), *t = open_store(&other);
    struct record_set *sets = ARENA_ARRAY(&a, struct record_set, RECORD_SETS_MOST);
    int64_t set, found = 0, changed;
    struct err err = { 0 };
    size_t n;

    CHECK(s != NULL && t != NULL && record_set_id(s, STR("theirs"), &set, &err));
    CHECK(put_one(s, set, "1", "1", &changed));
    CHECK(record_set_find(t, STR("theirs"), &found, &err) && found == set);
    CHECK(record_sets(t, &a, sets, &n, &err) && n == 1 && str_is(sets[0].name, "theirs"));
    store_close(s);
    store_close(t);
}

STORE_TEST_MAIN
