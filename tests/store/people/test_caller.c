/* Keys of senders: what they are bound to, and when they were used last. */
#include <string.h>

#include "base/auto.h"
#include "store/people/caller.h"
#include "store_test.h"

static int64_t mark(struct store *s)
{
    struct err err = { 0 };
    int64_t m;

    return caller_mark(s, &m, &err) ? m : -1;
}

TEST(a_key_keeps_what_it_is_bound_to)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(16 << 20);
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    char name[KEY_NAME], key[KEY_TEXT];
    struct err err = { 0 };
    struct caller *all;
    int64_t gateway;
    size_t n;

    CHECK(s != NULL && name_add(s, NAME_GATEWAY, STR("in"), &gateway, &err));
    CHECK(caller_add(s, &(struct caller){ .gateway = gateway }, name, key, &err));
    CHECK(caller_add(s,
                     &(struct caller){ .gateway = gateway,
                                       .title = STR("Acme"),
                                       .systems = STR("acme beta"),
                                       .networks = STR("10.0.0.0/8 ::1"),
                                       .expires_us = 77 },
                     name, key, &err));
    CHECK(caller_list(s, &a, &all, &n, &err) && n == 2);
    CHECK(all[0].systems.len == 0 && all[0].networks.len == 0 && all[0].expires_us == 0 &&
          all[0].used_us == 0);
    CHECK(str_is(all[1].systems, "acme beta") && str_is(all[1].networks, "10.0.0.0/8 ::1"));
    CHECK(all[1].expires_us == 77 && all[1].used_us == 0 && str_is(all[1].name, name));
    store_close(s);
}

TEST(last_uses_are_noted_together_and_only_grow)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(16 << 20);
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    char name[KEY_NAME], key[KEY_TEXT];
    struct caller_used uses[3];
    struct err err = { 0 };
    struct caller *all;
    int64_t gateway, before;
    size_t n;

    CHECK(s != NULL && name_add(s, NAME_GATEWAY, STR("in"), &gateway, &err));
    for (int i = 0; i < 3; i++)
        CHECK(caller_add(s, &(struct caller){ .gateway = gateway }, name, key, &err));
    CHECK(caller_list(s, &a, &all, &n, &err) && n == 3);
    before = mark(s);
    for (size_t i = 0; i < 3; i++)
        uses[i] = (struct caller_used){ .id = all[i].id, .used_us = 1000 + (int64_t)i };
    uses[2].id += 1000; /* a key that is gone meanwhile */
    CHECK(caller_use(s, uses, 3, &err) && caller_use(s, uses, 0, &err));
    uses[0].used_us = 999; /* another node saw it earlier */
    CHECK(caller_use(s, uses, 1, &err));
    CHECK(caller_list(s, &a, &all, &n, &err) && n == 3);
    CHECK(all[0].used_us == 1000 && all[1].used_us == 1001 && all[2].used_us == 0);
    CHECK(mark(s) == before); /* nobody reads the keys again because of it */
    store_close(s);
}

STORE_TEST_MAIN
