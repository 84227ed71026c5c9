/* Configuration versions: which one was in force when, and the files that belong to them. */
#include "base/auto.h"
#include "store/govern/version.h"
#include "store/govern/version_file.h"
#include "store/watch/check.h"
#include "store_test.h"

enum { ARENA = 32 << 20 };

#define FILES(...)                                                                       \
    (&(const struct config_files){ (const struct config_file[]){ __VA_ARGS__ },          \
                                   sizeof((const struct config_file[]){ __VA_ARGS__ }) / \
                                       sizeof(struct config_file) })

static bool add(struct store *s, int64_t expected, const struct config_files *files)
{
    const struct version_draft draft = { .body = STR("types: {}"),
                                         .by = STR("bob"),
                                         .files = files };
    int64_t number = 0;
    struct err err = { 0 };

    return version_add(s, expected, &draft, &number, &err) && number == expected + 1;
}

TEST(the_version_that_was_in_force_at_a_time)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    int64_t number = -1;
    struct err err = { 0 };

    CHECK(s != NULL && version_at(s, INT64_MAX, &number, &err) && number == 0);
    for (int64_t i = 0; i < 3; i++)
        CHECK(add(s, i, NULL));
    CHECK(tell(&h, "UPDATE config SET made_us = version * 100"));
    CHECK(version_at(s, 99, &number, &err) && number == 0);
    CHECK(version_at(s, 100, &number, &err) && number == 1);
    CHECK(version_at(s, 299, &number, &err) && number == 2);
    CHECK(version_at(s, INT64_MAX, &number, &err) && number == 3);
    /* A clock that went back: the later one replaced the other all the same. */
    CHECK(tell(&h, "UPDATE config SET made_us = 150 WHERE version = 3"));
    CHECK(version_at(s, 250, &number, &err) && number == 3);
    store_close(s);
}

static bool has(struct store *s, int64_t number, const struct config_files *want)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    struct config_files got;
    struct err err = { 0 };
    bool same = false;

    if (!version_files(s, number, &a, &got, &err) || got.count != want->count)
        return false;
    for (size_t i = 0; i < want->count; i++) {
        const struct config_file *f = config_files_find(&got, want->items[i].path);

        if (f == NULL || !str_eq(f->bytes, want->items[i].bytes))
            return false;
    }
    return version_has_files(s, number, want, &same, &err) && same;
}

TEST(files_belong_to_their_version)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    const struct config_files *one =
        FILES({ STR("b.lua"), STR("return 1\n") }, { STR("./a/x.xslt"), STR("") });
    const struct config_files *two =
        FILES({ STR("b.lua"), STR("\0\xff\x01 any byte") }, { STR("./a/x.xslt"), STR("") },
              { STR("c.lua"), STR("return 1\n") });
    struct err err = { 0 };
    bool same = true;

    CHECK(s != NULL && add(s, 0, one) && add(s, 1, two) && add(s, 2, NULL) && add(s, 3, one));
    CHECK(has(s, 1, one) && has(s, 2, two) && has(s, 4, one));
    CHECK(version_has_files(s, 1, two, &same, &err) && !same);
    CHECK(version_has_files(s, 3, one, &same, &err) && !same);
    CHECK(version_has_files(s, 3, &(struct config_files){ 0 }, &same, &err) && same);
    /* A content is stored once. */
    CHECK(ask(&h, "SELECT count(*) FROM config_blob") == 3);
    CHECK(ask(&h, "SELECT count(*) FROM config_file") == 7);
    /* One that comes too late leaves nothing behind. */
    CHECK(!add(s, 1, FILES({ STR("d.lua"), STR("late") })));
    CHECK(ask(&h, "SELECT count(*) FROM config_blob") == 3);
    store_close(s);
    s = open_store(&h);
    CHECK(s != NULL && has(s, 2, two));
    store_close(s);
}

TEST(files_of_a_version_are_listed)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct version_file *list;
    struct sha256 want = digest_of(STR("two"));
    struct err err = { 0 };
    size_t n = 9;

    CHECK(s != NULL && add(s, 0, FILES({ STR("b"), STR("two") }, { STR("a"), STR("one!") })));
    CHECK(version_file_list(s, 1, &a, &list, &n, &err) && n == 2);
    CHECK(str_is(list[0].path, "a") && list[0].size == 4);
    CHECK(str_is(list[1].path, "b") && digest_same(&list[1].sha256, &want));
    CHECK(version_file_list(s, 2, &a, &list, &n, &err) && n == 0);
    store_close(s);
}

TEST(a_mebibyte_of_each_kind_of_byte)
{
    AUTO(buf_done) struct buf big = BUF_INIT(CONFIG_FILE_BYTES);
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct err err = { 0 };

    CHECK(s != NULL && buf_reserve(&big, CONFIG_FILE_BYTES, &err));
    for (size_t i = 0; i < CONFIG_FILE_BYTES; i++)
        big.ptr[i] = (char)(i * 31 >> 3);
    buf_added(&big, CONFIG_FILE_BYTES);
    const struct config_files *all = FILES({ STR("big"), buf_view(&big) });

    CHECK(add(s, 0, all) && has(s, 1, all));
    store_close(s);
}

static bool check_of(struct store *s, const char *name, struct check_result *ret)
{
    struct err err = { 0 };

    for (size_t i = 0; i < check_count(); i++)
        if (strcmp(check_name(i), name) == 0)
            return check_run(s, i, false, ret, &err);
    return false;
}

TEST(a_damaged_file_is_left_out_and_found)
{
    static struct check_result r;
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct config_files got;
    struct err err = { 0 };

    CHECK(s != NULL);
    CHECK(add(s, 0, FILES({ STR("a"), STR("one") }, { STR("b"), STR("two") })));
    CHECK(check_of(s, "version-files", &r) && r.bad == 0 && r.looked_at == 2);
    CHECK(tell(&h, on_sqlite() ? "UPDATE config_blob SET bytes = X'00' WHERE length(bytes) = 3 AND "
                                 "bytes = X'6f6e65'"
                               : "UPDATE config_blob SET bytes = '\\x00' WHERE bytes = 'one'"));
    CHECK(check_of(s, "version-files", &r) && r.bad == 1);
    CHECK(strstr(r.message, "files of configuration versions are damaged") != NULL);
    CHECK(version_files(s, 1, &a, &got, &err) && got.count == 1);
    CHECK(str_is(got.items[0].path, "b"));
    CHECK(tell(&h, "DELETE FROM config_blob"));
    CHECK(check_of(s, "version-files", &r) && r.bad == 2);
    CHECK(version_files(s, 1, &a, &got, &err) && got.count == 0);
    store_close(s);
}

STORE_TEST_MAIN
