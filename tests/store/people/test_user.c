/* Users, sessions and links. */
#include <errno.h>

#include "base/auto.h"
#include "store/people/session.h"
#include "store/people/user.h"
#include "store_test.h"

#define HOUR_US (INT64_C(3600) * CLOCK_S)

static struct user user_of(const char *name, const char *roles)
{
    return (struct user){ .name = str_of(name),
                          .title = STR("Somebody"),
                          .password = STR(""),
                          .roles = str_of(roles),
                          .iss = STR(""),
                          .sub = STR("") };
}

static bool add(struct store *s, const char *name, const char *roles)
{
    struct user u = user_of(name, roles);
    struct err err = { 0 };

    return user_add(s, &u, &err);
}

static struct sha256 id_of(const char *text)
{
    return digest_of(str_of(text));
}

static bool begin(struct store *s, const char *user, const char *secret)
{
    struct session made = {
        .id = id_of(secret), .user = str_of(user), .address = STR("10.0.0.1"), .agent = STR("test")
    };
    struct err err = { 0 };
    bool was = false;

    return session_add(s, &made, NULL, &was, &err) && was;
}

/* How many sessions there are; of one user, or with NULL of all. */
static int sessions(struct store *s, const char *user)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct session *all;
    struct err err = { 0 };
    size_t n;
    int count = 0;

    if (!session_list(s, &a, &all, &n, &err))
        return -1;
    for (size_t i = 0; i < n; i++)
        count += user == NULL || str_is(all[i].user, user);
    return count;
}

static int64_t mark(struct store *s)
{
    struct err err = { 0 };
    int64_t m;

    return user_mark(s, &m, &err) ? m : -1;
}

static bool invite(struct store *s, const char *name, const char *secret, int64_t lasts_us)
{
    struct sha256 id = id_of(secret);
    struct err err = { 0 };
    bool may = false;

    return user_invite(s, str_of(name), &id, lasts_us, &may, &err) && may;
}

/* Who came in by the link: "" for nobody. */
static const char *enter(struct store *s, const char *secret, const char *name, char to[static 80])
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct sha256 id = id_of(secret);
    struct user u = user_of(name, "admin");
    struct err err = { 0 };
    struct str got;

    u.password = STR("$argon2id$new");
    if (!user_enter(s, &id, &u, &a, &got, &err))
        return "failed";
    (void)snprintf(to, 80, "%.*s", STR_ARG(got));
    return to;
}

TEST(user_names)
{
    static const char *const good[] = { "a", "alice", "a.b-c_d@example.com", "0x", "a+b" };
    static const char *const bad[] = { "",     "Alice",    "a b", ".a",   "-a", "a/b",
                                       "a\nb", "\xc3\xa4", "a\"", "a'b;", "@a" };

    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        CHECK(user_is_name(str_of(good[i])));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK(!user_is_name(str_of(bad[i])));
    CHECK(!user_is_name(STR("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")));
}

TEST(users_are_added_changed_and_dropped)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct user u = user_of("alice", "viewer"), got, *all;
    struct err err = { 0 };
    int64_t before = mark(s);
    bool was;
    size_t n;

    CHECK(user_add(s, &u, &err) && mark(s) > before);
    CHECK(!user_add(s, &u, &err) && err.kind == ERR_PERMANENT && err.sys == EEXIST);
    CHECK(add(s, "bob", "admin operator"));
    CHECK(user_list(s, &a, &all, &n, &err) && n == 2 && str_is(all[0].name, "alice"));
    CHECK(str_is(all[1].roles, "admin operator") && all[1].made_us > 0 && all[1].login_us == 0);

    before = mark(s);
    u.roles = STR("operator");
    u.title = STR("not this");
    CHECK(user_change(s, &u, USER_ROLES, NULL, &was, &err) && was && mark(s) > before);
    CHECK(user_get(s, STR("alice"), &a, &got, &err));
    CHECK(str_is(got.roles, "operator") && str_is(got.title, "Somebody") && !got.disabled);
    u = user_of("nobody", "");
    CHECK(user_change(s, &u, USER_ROLES, NULL, &was, &err) && !was);
    CHECK(user_drop(s, STR("alice"), &was, &err) && was);
    CHECK(user_drop(s, STR("alice"), &was, &err) && !was);
    err = (struct err){ 0 };
    CHECK(!user_get(s, STR("alice"), &a, &got, &err) && err.kind == ERR_NONE);
    store_close(s);
}

TEST(users_from_elsewhere_are_known_by_who_they_are)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct user u = user_of("alice", "viewer"), got;
    struct err err = { 0 };

    u.iss = STR("https://op");
    u.sub = STR("7");
    CHECK(user_add(s, &u, &err));
    u.name = STR("other");
    CHECK(!user_add(s, &u, &err) && err.sys == EEXIST);
    CHECK(add(s, "one", "") && add(s, "two", "")); /* known only here */
    err = (struct err){ 0 };
    CHECK(user_get_by_sub(s, STR("https://op"), STR("7"), &a, &got, &err));
    CHECK(str_is(got.name, "alice"));
    CHECK(!user_get_by_sub(s, STR("https://op2"), STR("7"), &a, &got, &err));
    CHECK(!user_get_by_sub(s, STR(""), STR(""), &a, &got, &err) && err.kind == ERR_NONE);
    store_close(s);
}

TEST(sessions_begin_and_end)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct sha256 one = id_of("one"), two = id_of("two");
    struct user u = user_of("alice", "viewer"), got;
    struct session next = { .id = two, .user = STR("alice"), .address = STR(""), .agent = STR("") };
    struct session *all;
    struct err err = { 0 };
    bool was;
    size_t n;

    CHECK(!begin(s, "alice", "none"));
    CHECK(add(s, "alice", "viewer") && begin(s, "alice", "one"));
    CHECK(session_list(s, &a, &all, &n, &err) && n == 1 && digest_same(&all[0].id, &one));
    CHECK(all[0].left_us > 11 * HOUR_US && all[0].left_us <= 12 * HOUR_US);
    CHECK(all[0].idle_us >= 0 && all[0].idle_us < HOUR_US / 4 &&
          str_is(all[0].address, "10.0.0.1"));
    CHECK(user_get(s, STR("alice"), &a, &got, &err) && got.login_us > 0);
    CHECK(session_add(s, &next, &one, &was, &err) && was && sessions(s, NULL) == 1);
    int64_t before = mark(s);

    CHECK(session_end(s, &two, &was, &err) && was && mark(s) > before);
    CHECK(session_end(s, &two, &was, &err) && !was && sessions(s, NULL) == 0);

    /* the password that was verified is not theirs any more */
    struct user hashed = user_of("carol", "viewer");
    struct session late = { .id = id_of("late"), .user = STR("carol") };

    hashed.password = STR("$new");
    late.password = STR("$old");
    CHECK(user_add(s, &hashed, &err));
    CHECK(session_add(s, &late, NULL, &was, &err) && !was && sessions(s, "carol") == 0);
    CHECK(begin(s, "carol", "before"));
    one = id_of("before");
    CHECK(session_add(s, &late, &one, &was, &err) && !was && sessions(s, "carol") == 1);
    late.password = STR("$new");
    CHECK(session_add(s, &late, &one, &was, &err) && was && sessions(s, "carol") == 1);
    CHECK(session_end(s, &late.id, &was, &err) && was);

    /* who may no more is out */
    CHECK(begin(s, "alice", "a") && begin(s, "alice", "b") && add(s, "bob", "") &&
          begin(s, "bob", "c"));
    one = id_of("a");
    u.password = STR("new");
    CHECK(user_change(s, &u, USER_PASSWORD, &one, &was, &err) && sessions(s, "alice") == 1);
    u.disabled = true;
    CHECK(user_change(s, &u, USER_DISABLED, NULL, &was, &err) && sessions(s, "alice") == 0);
    CHECK(!begin(s, "alice", "d") && sessions(s, "bob") == 1);
    CHECK(user_drop(s, STR("bob"), &was, &err) && sessions(s, NULL) == 0);
    store_close(s);
}

TEST(sessions_grow_old)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct session_use uses[2] = { { .id = id_of("idle") }, { .id = id_of("gone") } };
    struct err err = { 0 };
    char secret[20];

    CHECK(add(s, "alice", "viewer") && begin(s, "alice", "idle") && begin(s, "alice", "old"));
    CHECK(tell(&h, "UPDATE login_session SET seen_us = seen_us - 1860000000"));
    CHECK(sessions(s, NULL) == 0);
    int64_t before = mark(s);

    CHECK(session_note_used(s, uses, 2, &err) && sessions(s, NULL) == 1);
    CHECK(mark(s) == before); /* nobody has to read it all again for that */
    uses[0].ago_us = HOUR_US;
    CHECK(session_note_used(s, uses, 1, &err) && sessions(s, NULL) == 1); /* never back */
    CHECK(begin(s, "alice", "new") && ask(&h, "SELECT count(*) FROM login_session") == 2);
    CHECK(tell(&h, "UPDATE login_session SET expires_us = expires_us - 43260000000"));
    CHECK(sessions(s, NULL) == 0);
    for (int i = 0; i < SESSIONS_OF_ONE + 5; i++) {
        (void)snprintf(secret, sizeof secret, "s%d", i);
        CHECK(begin(s, "alice", secret));
    }
    CHECK(sessions(s, "alice") == SESSIONS_OF_ONE);
    store_close(s);
}

TEST(links_work_once)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct sha256 id = id_of("second");
    struct err err = { 0 };
    struct user got;
    struct str name;
    char who[80];
    bool was;

    CHECK(!invite(s, "alice", "first", HOUR_US));
    CHECK(add(s, "alice", "viewer") && begin(s, "alice", "x"));
    CHECK(invite(s, "alice", "first", HOUR_US) && invite(s, "alice", "second", HOUR_US));
    CHECK(user_invited(s, &id, &a, &name, &err) && str_is(name, "alice"));
    CHECK(str_is(str_of(enter(s, "first", "alice", who)), ""));
    CHECK(str_is(str_of(enter(s, "second", "mallory", who)), "alice"));
    CHECK(user_get(s, STR("alice"), &a, &got, &err) && str_is(got.password, "$argon2id$new"));
    CHECK(str_is(got.roles, "viewer") && sessions(s, "alice") == 0);
    CHECK(str_is(str_of(enter(s, "second", "alice", who)), ""));
    CHECK(invite(s, "alice", "short", -1));
    CHECK(str_is(str_of(enter(s, "short", "alice", who)), ""));
    CHECK(invite(s, "alice", "late", HOUR_US));
    struct user u = user_of("alice", "");

    u.disabled = true;
    CHECK(user_change(s, &u, USER_DISABLED, NULL, &was, &err));
    CHECK(str_is(str_of(enter(s, "late", "alice", who)), ""));
    store_close(s);
}

TEST(the_first_user_is_made_by_one_link)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct err err = { 0 };
    struct user got;
    char who[80];

    CHECK(invite(s, "", "first", HOUR_US) && !invite(s, "", "again", HOUR_US));
    CHECK(str_is(str_of(enter(s, "again", "root", who)), ""));
    CHECK(str_is(str_of(enter(s, "first", "root", who)), "root"));
    CHECK(user_get(s, STR("root"), &a, &got, &err) && str_is(got.roles, "admin"));
    CHECK(str_is(str_of(enter(s, "first", "two", who)), ""));
    CHECK(!invite(s, "", "more", HOUR_US));
    CHECK(tell(&h, "DELETE FROM login_user") && invite(s, "", "anew", HOUR_US));
    CHECK(add(s, "someone", "viewer")); /* by the token: the link is gone */
    CHECK(str_is(str_of(enter(s, "anew", "root", who)), ""));
    store_close(s);
}

STORE_TEST_MAIN
