/* Roles and keys of the admin API: what they may be, and what they allow together. */
#include <string.h>

#include "base/auto.h"
#include "store/people/admin_key.h"
#include "store/people/role.h"
#include "store_test.h"

#define BIT(r) (1u << (r))

static bool put(struct store *s, const char *name, unsigned bits, const char *system,
                struct err *err)
{
    struct str systems[] = { str_of(system != NULL ? system : "") };
    struct role r = { .name = str_of(name),
                      .title = STR("a role"),
                      .bits = bits,
                      .everywhere = system == NULL,
                      .systems = systems,
                      .system_count = 1,
                      .by = STR("tester") };

    *err = (struct err){ 0 };
    return role_put(s, &r, err);
}

static int64_t mark(struct store *s)
{
    struct err err = { 0 };
    int64_t m;

    return role_mark(s, &m, &err) ? m : -1;
}

/* What these roles allow together, the names with a blank between. */
static struct rights rights_of(struct store *s, const char *names, struct arena *a)
{
    struct str list[8], rest = str_of(names);
    struct rights r = { 0 };
    struct err err = { 0 };
    struct role *all;
    size_t n = 0, count;

    while (rest.len > 0 && n < 8)
        rest = str_cut(rest, ' ', &list[n++]);
    if (!role_list(s, a, &all, &count, &err))
        printf("# %s\n", err.text);
    else
        role_rights_of(all, count, list, n, &r);
    return r;
}

TEST(a_role_is_kept_changed_and_dropped)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(16 << 20);
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct err err = { 0 };
    struct role *all;
    int64_t before;
    size_t n;
    bool was;

    CHECK(s != NULL);
    before = mark(s);
    CHECK(put(s, "desk", BIT(RIGHT_SEE) | BIT(RIGHT_RETRY), "acme", &err));
    CHECK(put(s, "all", BIT(RIGHT_SEE) | BIT(RIGHT_AUDIT), NULL, &err));
    CHECK(mark(s) == before + 2);
    CHECK(role_list(s, &a, &all, &n, &err) && n == 2);
    CHECK(str_is(all[0].name, "all") && all[0].everywhere);
    CHECK(all[0].bits == (BIT(RIGHT_SEE) | BIT(RIGHT_AUDIT)));
    CHECK(str_is(all[1].name, "desk") && !all[1].everywhere && all[1].system_count == 1);
    CHECK(str_is(all[1].systems[0], "acme") && str_is(all[1].by, "tester"));
    CHECK(put(s, "desk", BIT(RIGHT_SEE), "shop", &err));
    CHECK(role_list(s, &a, &all, &n, &err) && n == 2 && str_is(all[1].systems[0], "shop"));
    store_close(s);
    s = open_store(&h);
    CHECK(s != NULL && role_drop(s, STR("desk"), &was, &err) && was);
    CHECK(role_drop(s, STR("desk"), &was, &err) && !was);
    CHECK(role_list(s, &a, &all, &n, &err) && n == 1);
    store_close(s);
}

TEST(roles_that_cannot_be_are_refused)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct err err;
    bool was;

    CHECK(s != NULL);
    CHECK(!put(s, "admin", BIT(RIGHT_SEE), NULL, &err) && strstr(err.text, "built in") != NULL);
    CHECK(!role_drop(s, STR("viewer"), &was, &err));
    CHECK(!put(s, "", BIT(RIGHT_SEE), NULL, &err));
    CHECK(!put(s, "two words", BIT(RIGHT_SEE), NULL, &err));
    CHECK(!put(s, "none", 0, NULL, &err) && !put(s, "none", BIT(RIGHT_ANY), NULL, &err));
    CHECK(!put(s, "x", BIT(RIGHT_SEE) | BIT(RIGHT_CONFIGURE), "acme", &err));
    CHECK(strstr(err.text, "`configure`") != NULL);
    CHECK(!put(s, "x", BIT(RIGHT_PAYLOAD), NULL, &err) && strstr(err.text, "`see`") != NULL);
    CHECK(!put(s, "x", BIT(RIGHT_SEE) | BIT(RIGHT_EDIT), NULL, &err));
    CHECK(strstr(err.text, "`payload`") != NULL);
    CHECK(!put(s, "x", BIT(RIGHT_SEE), "", &err));
    CHECK(!put(s, "x", BIT(RIGHT_SEE), "two\nlines", &err));
    store_close(s);
}

/* proves: ME5 */
TEST(several_roles_allow_what_any_of_them_does)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(16 << 20);
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct err err;

    CHECK(s != NULL);
    CHECK(put(s, "a", BIT(RIGHT_SEE) | BIT(RIGHT_RETRY), "acme", &err));
    CHECK(put(s, "b", BIT(RIGHT_SEE) | BIT(RIGHT_PAYLOAD), "shop", &err));
    struct rights r = rights_of(s, "a b gone", &a);

    CHECK(rights_cover(&r, RIGHT_RETRY, STR("acme"), STR("")));
    CHECK(!rights_cover(&r, RIGHT_RETRY, STR("shop"), STR("")));
    CHECK(rights_cover(&r, RIGHT_PAYLOAD, STR(""), STR("shop")));
    CHECK(!rights_cover(&r, RIGHT_PAYLOAD, STR(""), STR("acme")));
    CHECK(!rights_everywhere(&r, RIGHT_SEE));
    r = rights_of(s, "a viewer", &a);
    CHECK(rights_everywhere(&r, RIGHT_SEE) && !rights_everywhere(&r, RIGHT_RETRY));
    r = rights_of(s, "gone", &a);
    CHECK(!rights_has(&r, RIGHT_SEE) && rights_has(&r, RIGHT_ANY));
    store_close(s);
}

TEST(a_key_is_kept_as_a_digest_and_ends)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(16 << 20);
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    char name[KEY_NAME], key[KEY_TEXT], sql[200], text[200];
    struct str roles[] = { STR("viewer"), STR("desk") };
    struct admin_key order = { .title = STR("monitoring"),
                               .roles = roles,
                               .role_count = 2,
                               .expires_us = 4711,
                               .by = STR("tester") };
    struct admin_key *all;
    struct err err = { 0 };
    int64_t before;
    size_t n;
    bool was;

    CHECK(s != NULL);
    before = mark(s);
    CHECK(admin_key_add(s, &order, name, key, &err));
    CHECK(strncmp(key, "wbk_", 4) == 0 && strlen(key) == 4 + 10 + 1 + 43);
    CHECK(mark(s) == before + 1);
    char other[KEY_NAME];

    CHECK(!admin_key_add(s, &order, other, text, &err) && strstr(err.text, "title") != NULL);
    err = (struct err){ 0 };
    before = mark(s) - 1;
    CHECK(admin_key_use(s, str_of(name), 99, &err) && mark(s) == before + 1);
    CHECK(admin_key_use(s, str_of(name), 98, &err));
    CHECK(admin_key_list(s, &a, &all, &n, &err) && n == 1);
    struct sha256 want = digest_of(str_of(key));

    CHECK(digest_same(&all[0].secret, &want) && str_is(all[0].name, name));
    CHECK(all[0].role_count == 2 && str_is(all[0].roles[0], "viewer"));
    CHECK(str_is(all[0].roles[1], "desk") && all[0].expires_us == 4711 && all[0].used_us == 99);
    CHECK(str_is(all[0].title, "monitoring") && str_is(all[0].by, "tester"));
    (void)snprintf(sql, sizeof sql, "SELECT name || title || roles || made_by FROM admin_key");
    CHECK(strstr(ask_text(&h, sql, text, sizeof text), key + 15) == NULL);
    CHECK(admin_key_remove(s, str_of(name), &was, &err) && was && mark(s) == before + 2);
    CHECK(admin_key_remove(s, str_of(name), &was, &err) && !was);
    order.title = STR("two\nlines");
    CHECK(!admin_key_add(s, &order, name, key, &err));
    order.title = STR("t");
    order.role_count = 0;
    CHECK(!admin_key_add(s, &order, name, key, &err));
    store_close(s);
}

STORE_TEST_MAIN
