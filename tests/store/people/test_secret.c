/* Secrets: sealed under a key that is not in the database. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "store/people/secret.h"
#include "store_test.h"

static bool put(struct store *s, const char *name, struct str value, struct err *err)
{
    *err = (struct err){ 0 };
    return secret_put(s, str_of(name), value, STR("tester"), err);
}

static bool holds(struct store *s, const char *name, struct str want)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct err err = { 0 };
    struct str got;

    if (secret_get(s, str_of(name), &a, &got, &err))
        return str_eq(got, want);
    printf("# %s: %s\n", name, err.text);
    return false;
}

/* The reason why it cannot be had. */
static struct err why_not(struct store *s, const char *name)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct err err = { 0 };
    struct str got;

    (void)secret_get(s, str_of(name), &a, &got, &err);
    return err;
}

static int64_t mark(struct store *s)
{
    struct err err = { 0 };
    int64_t m;

    return secret_mark(s, &m, &err) ? m : -1;
}

static const char *key_path(const struct home *h, char path[static 300])
{
    (void)snprintf(path, 300, "%s/secret.key", h->folder);
    return path;
}

static bool write_file(const char *path, const char *text, mode_t mode)
{
    AUTO_FD fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

    return fd >= 0 && fchmod(fd, mode) == 0 &&
           write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

static const char other_key[] =
    "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n";

TEST(a_secret_lives_and_ends)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct err err = { 0 };
    int64_t before;
    bool was;

    CHECK(s != NULL && (before = mark(s)) >= 0);
    CHECK(put(s, "salsify", STR("hunter2"), &err) && mark(s) > before);
    CHECK(holds(s, "salsify", STR("hunter2")));
    before = mark(s);
    CHECK(put(s, "salsify", STR("another"), &err) && mark(s) > before);
    CHECK(holds(s, "salsify", STR("another")));
    store_close(s);

    s = open_store(&h);
    CHECK(s != NULL && holds(s, "salsify", STR("another")));
    before = mark(s);
    CHECK(secret_drop(s, STR("salsify"), &was, &err) && was && mark(s) > before);
    CHECK(secret_drop(s, STR("salsify"), &was, &err) && !was);
    err = why_not(s, "salsify");
    CHECK(err.kind == ERR_CONFIG && strstr(err.text, "waybill secret add salsify") != NULL);
    store_close(s);
}

TEST(any_bytes_up_to_the_limit_are_kept)
{
    static char large[SECRET_MOST + 1];
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct err err;

    for (size_t i = 0; i < sizeof large; i++)
        large[i] = (char)(i * 7);
    CHECK(s != NULL && put(s, "bytes", str_mem(large, SECRET_MOST), &err));
    CHECK(holds(s, "bytes", str_mem(large, SECRET_MOST)));
    CHECK(put(s, "zero", str_mem("a\0b", 3), &err) && holds(s, "zero", str_mem("a\0b", 3)));
    CHECK(!put(s, "bytes", str_mem(large, SECRET_MOST + 1), &err) && err.kind == ERR_CONFIG);
    CHECK(!put(s, "bytes", STR(""), &err) && err.kind == ERR_CONFIG);
    CHECK(!put(s, "not a name", STR("x"), &err) && err.kind == ERR_CONFIG);
    CHECK(!put(s, "", STR("x"), &err) && err.kind == ERR_CONFIG);
    CHECK(holds(s, "bytes", str_mem(large, SECRET_MOST)));
    store_close(s);
}

TEST(a_list_shows_names_and_fingerprints_only)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    static struct secret all[SECRETS_MOST];
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct err err = { 0 };
    size_t n = 99;

    CHECK(s != NULL && secret_list(s, &a, all, &n, &err) && n == 0);
    CHECK(put(s, "b", STR("same value"), &err) && put(s, "a", STR("same value"), &err) &&
          put(s, "c", STR("other value"), &err));
    CHECK(secret_list(s, &a, all, &n, &err) && n == 3);
    CHECK(str_is(all[0].name, "a") && str_is(all[1].name, "b") && str_is(all[2].name, "c"));
    CHECK(!str_eq(all[0].fingerprint, all[1].fingerprint)); /* nobody finds out by comparing */
    CHECK(!str_eq(all[0].fingerprint, all[2].fingerprint) && all[0].fingerprint.len == 16);
    struct str before = arena_copy(&a, all[0].fingerprint);

    CHECK(put(s, "a", STR("same value"), &err) && secret_list(s, &a, all, &n, &err));
    CHECK(str_eq(all[0].fingerprint, before));
    CHECK(put(s, "a", STR("new value"), &err) && secret_list(s, &a, all, &n, &err));
    CHECK(!str_eq(all[0].fingerprint, before));
    CHECK(str_is(all[0].made_by, "tester") && all[0].made_us > 0);
    store_close(s);
}

TEST(the_database_holds_no_value)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct err err;
    char text[400], key[300], got[80] = "";

    CHECK(s != NULL && put(s, "one", STR("hunter2hunter2"), &err) &&
          put(s, "two", STR("hunter2hunter2"), &err));
    /* As hex on both databases: 68756e746572 is "hunter". */
    CHECK(on_sqlite() ? ask(&h, "SELECT count(*) FROM secret WHERE hex(sealed) LIKE "
                                "'%68756E746572%' OR fingerprint LIKE '%hunter%'") == 0
                      : ask(&h, "SELECT count(*) FROM secret WHERE encode(sealed, 'hex') LIKE "
                                "'%68756e746572%' OR fingerprint LIKE '%hunter%'") == 0);
    CHECK(ask(&h, "SELECT count(DISTINCT sealed) FROM secret") == 2); /* a nonce each */
    /* Nor the key. */
    AUTO_FD fd = open(key_path(&h, key), O_RDONLY | O_CLOEXEC);

    CHECK(fd >= 0 && read(fd, got, 65) == 65 && got[64] == '\n');
    got[16] = '\0';
    (void)snprintf(text, sizeof text,
                   on_sqlite()
                       ? "SELECT count(*) FROM secret WHERE lower(hex(sealed)) LIKE '%%%s%%'"
                       : "SELECT count(*) FROM secret WHERE encode(sealed, 'hex') LIKE "
                         "'%%%s%%'",
                   got);
    CHECK(ask(&h, text) == 0);
    store_close(s);
}

TEST(the_key_file_is_its_owners_alone)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    char path[300];
    struct stat st;
    struct err err;

    CHECK(s != NULL && stat(key_path(&h, path), &st) < 0 && errno == ENOENT);
    CHECK(why_not(s, "x").kind == ERR_CONFIG); /* looking makes no key */
    CHECK(stat(path, &st) < 0);
    CHECK(put(s, "x", STR("v"), &err));
    CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600 && st.st_size == 65);
    CHECK(chmod(path, 0644) == 0);
    err = why_not(s, "x");
    CHECK(err.kind == ERR_CONFIG && strstr(err.text, "chmod 600") != NULL);
    CHECK(!put(s, "y", STR("v"), &err) && err.kind == ERR_CONFIG);
    CHECK(chmod(path, 0600) == 0 && holds(s, "x", STR("v")));
    store_close(s);
}

TEST(a_lost_or_wrong_key_is_told_and_never_replaced)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    char path[300], kept[320];
    struct err err;
    bool was;

    CHECK(s != NULL && put(s, "x", STR("v"), &err));
    (void)snprintf(kept, sizeof kept, "%s.kept", key_path(&h, path));
    CHECK(rename(path, kept) == 0);
    CHECK(why_not(s, "x").kind == ERR_CONFIG);
    CHECK(!put(s, "y", STR("w"), &err) && err.kind == ERR_CONFIG &&
          strstr(err.text, "missing") != NULL);
    CHECK(access(path, F_OK) < 0);

    CHECK(write_file(path, other_key, 0600));
    err = why_not(s, "x");
    CHECK(err.kind == ERR_CONFIG && strstr(err.text, "another key") != NULL);
    CHECK(put(s, "y", STR("w"), &err) && holds(s, "y", STR("w")));

    CHECK(write_file(path, "not a key\n", 0600));
    err = why_not(s, "x");
    CHECK(err.kind == ERR_CONFIG && strstr(err.text, "64 hex digits") != NULL);

    CHECK(rename(kept, path) == 0);
    CHECK(holds(s, "x", STR("v")) && why_not(s, "y").kind == ERR_CONFIG);

    /* Without secrets a new key is made. */
    CHECK(secret_drop(s, STR("x"), &was, &err) && secret_drop(s, STR("y"), &was, &err));
    CHECK(unlink(path) == 0 && put(s, "x", STR("new"), &err) && holds(s, "x", STR("new")));
    store_close(s);
}

TEST(the_environment_names_the_key_file)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    char path[300], own[300];
    struct err err;

    CHECK(s != NULL);
    (void)snprintf(path, sizeof path, "%s/shared.key", h.folder);
    CHECK(setenv("WAYBILL_SECRET_KEY_FILE", path, 1) == 0);
    CHECK(!put(s, "x", STR("v"), &err) && err.kind == ERR_CONFIG); /* never made there */
    CHECK(access(path, F_OK) < 0);
    CHECK(write_file(path, other_key, 0640));
    CHECK(put(s, "x", STR("v"), &err) && holds(s, "x", STR("v")));
    CHECK(access(key_path(&h, own), F_OK) < 0);
    CHECK(unsetenv("WAYBILL_SECRET_KEY_FILE") == 0);
    CHECK(why_not(s, "x").kind == ERR_CONFIG);
    store_close(s);
}

/* Whoever may write to the database cannot make one secret pass for another. */
TEST(rows_cannot_change_places_or_bytes)
{
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct err err;

    CHECK(s != NULL && put(s, "harmless", STR("public"), &err) &&
          put(s, "payroll", STR("top secret"), &err));
    CHECK(tell(&h, "UPDATE secret SET sealed = (SELECT sealed FROM secret WHERE name = 'payroll') "
                   "WHERE name = 'harmless'"));
    err = why_not(s, "harmless");
    CHECK(err.kind == ERR_CONFIG && strstr(err.text, "damaged") != NULL);
    CHECK(holds(s, "payroll", STR("top secret")));
    CHECK(tell(&h, on_sqlite() ? "UPDATE secret SET sealed = x'0102' WHERE name = 'harmless'"
                               : "UPDATE secret SET sealed = '\\x0102' WHERE name = 'harmless'"));
    CHECK(why_not(s, "harmless").kind == ERR_CONFIG);
    store_close(s);
}

TEST(there_is_an_end_to_secrets)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(4 << 20);
    static struct secret all[SECRETS_MOST];
    struct home h = fresh_home();
    struct store *s = open_store(&h);
    struct err err = { 0 };
    size_t n;

    CHECK(s != NULL && put(s, "first", STR("v"), &err));
    CHECK(tell(&h, on_sqlite()
                       ? "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE "
                         "i < 999) INSERT INTO secret SELECT 's' || i, x'00', '', 0, '' FROM n"
                       : "INSERT INTO secret SELECT 's' || i, '\\x00', '', 0, '' FROM "
                         "generate_series(1, 999) AS n(i)"));
    CHECK(!put(s, "another", STR("v"), &err) && err.kind == ERR_LIMIT);
    CHECK(put(s, "first", STR("w"), &err) && holds(s, "first", STR("w")));
    CHECK(secret_list(s, &a, all, &n, &err) && n == SECRETS_MOST);
    store_close(s);
}

/* Two nodes with one key file, as on one PostgreSQL. */
TEST(postgres_nodes_share_the_key_of_the_environment)
{
    struct home h = fresh_home(), beside = home_beside(&h);
    struct store *one = open_store(&h), *two = open_store(&beside);
    char path[300];
    struct err err;

    (void)snprintf(path, sizeof path, "%s/shared.key", h.folder);
    CHECK(one != NULL && two != NULL);
    CHECK(put(one, "own", STR("v"), &err));
    CHECK(why_not(two, "own").kind == ERR_CONFIG);
    CHECK(!put(two, "more", STR("v"), &err) && err.kind == ERR_CONFIG); /* no second key */
    CHECK(write_file(path, other_key, 0600) && setenv("WAYBILL_SECRET_KEY_FILE", path, 1) == 0);
    CHECK(put(one, "shared", STR("v"), &err) && holds(two, "shared", STR("v")));
    CHECK(mark(one) == mark(two));
    CHECK(unsetenv("WAYBILL_SECRET_KEY_FILE") == 0);
    store_close(two);
    store_close(one);
}

STORE_TEST_MAIN
