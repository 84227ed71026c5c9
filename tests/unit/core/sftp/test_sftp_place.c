/* What an SFTP server is configured with. */
#include "core/sftp/sftp_place.h"

#include "base/arena.h"
#include "base/auto.h"
#include "core/connector.h"
#include "core/grammar.h"
#include "test.h"

#define PRINT "SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
#define OTHER "SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE"

static struct settings settings_of(struct arena *a, const char *text)
{
    static struct problem_list problems = PROBLEM_LIST_INIT;

    return (struct settings){ .node = yaml_load(str_of(text), a, &problems),
                              .common = grammar_endpoint,
                              .own = endpoint_sftp.kind.keys,
                              .arena = a };
}

static bool read_place(struct arena *a, const char *text, struct sftp_place *ret, struct err *err)
{
    struct settings s = settings_of(a, text);

    *err = (struct err){ 0 };
    *ret = (struct sftp_place){ 0 };
    return sftp_place_read(&s, ret, err);
}

TEST(a_url_is_taken_apart)
{
    static const struct {
        const char *url, *host, *user, *folder;
        uint16_t port;
    } cases[] = {
        { "sftp://edi@host/out", "host", "edi", "/out", 22 },
        { "sftp://edi@host:2222/out/", "host", "edi", "/out", 2222 },
        { "sftp://edi@[::1]:2222/", "::1", "edi", "/", 2222 },
        { "sftp://edi@[fe80::1]/~/in/new", "fe80::1", "edi", "in/new", 22 },
        { "sftp://edi@host/~", "host", "edi", "", 22 },
        { "sftp://edi@host", "host", "edi", "", 22 },
        { "sftp://edi@host/a%20b/%C3%BC", "host", "edi", "/a b/\xc3\xbc", 22 },
    };
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sftp_place p;
        struct err err;

        CHECK(read_place(
            &a, arena_printf(&a, "{ url: '%s', password: x, host_key: '%s' }", cases[i].url, PRINT),
            &p, &err));
        CHECK(strcmp(p.login.host, cases[i].host) == 0 && p.login.port == cases[i].port);
        CHECK(strcmp(p.login.user, cases[i].user) == 0 && str_is(p.folder, cases[i].folder));
        CHECK(p.login.print_count == 1 && p.login.connect_us == 10000000);
    }
}

TEST(what_cannot_be_used_is_told)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        { "{ url: 'sftp://h/out', password: x, host_key: any }", "user" },
        { "{ url: 'sftp://u:secret@h/out', host_key: any }", "password" },
        { "{ url: 'sftp://u@h:0/out', password: x, host_key: any }", "sftp://USER@HOST" },
        { "{ url: 'sftp://u@h:99999/out', password: x, host_key: any }", "sftp://USER@HOST" },
        { "{ url: 'sftp://u@h/a/../b', password: x, host_key: any }", "dot segment" },
        { "{ url: 'sftp://u@h/a', password: x, host_key: 'SHA256:short' }", "43" },
        { "{ url: 'sftp://u@h/a', password: x, host_key: [ any, '" PRINT "' ] }", "43" },
        { "{ url: 'sftp://u@h/a', private_key: 'no key', host_key: any }", "private key" },
    };
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sftp_place p;
        struct err err;

        CHECK(!read_place(&a, cases[i].text, &p, &err) && err.kind == ERR_CONFIG);
        CHECK(strstr(err.text, cases[i].says) != NULL);
        CHECK(strstr(err.text, "secret@") == NULL && strstr(err.text, "no key") == NULL);
    }
}

/* A connection is found again by the settings that opened it. */
TEST(the_key_is_of_the_login_and_not_of_the_folder)
{
    static const char *const texts[] = {
        "{ url: 'sftp://u@h/a', password: x, host_key: '" PRINT "' }",
        "{ url: 'sftp://u@h/b', password: x, host_key: '" PRINT "', timeout: 1s, name: n }",
        "{ url: 'sftp://h/b', user: u, password: x, host_key: [ '" PRINT "' ] }",
        /* others */
        "{ url: 'sftp://u@h/a', password: y, host_key: '" PRINT "' }",
        "{ url: 'sftp://v@h/a', password: x, host_key: '" PRINT "' }",
        "{ url: 'sftp://u@i/a', password: x, host_key: '" PRINT "' }",
        "{ url: 'sftp://u@h:23/a', password: x, host_key: '" PRINT "' }",
        "{ url: 'sftp://u@h/a', password: x, host_key: '" OTHER "' }",
        "{ url: 'sftp://u@h/a', password: x, host_key: any }",
        "{ url: 'sftp://u@h/a', passphrase: x, host_key: '" PRINT "' }",
    };
    enum { SAME = 3 };
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct sftp_place first, p;
    struct err err;

    CHECK(read_place(&a, texts[0], &first, &err));
    for (size_t i = 1; i < sizeof texts / sizeof texts[0]; i++) {
        CHECK(read_place(&a, texts[i], &p, &err));
        CHECK(digest_same(&first.key, &p.key) == (i < SAME));
    }
}

static size_t problems_of(const char *text)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct problem_list problems = PROBLEM_LIST_INIT;

    sftp_place_check(yaml_load(str_of(text), &a, &problems), &problems);
    size_t count = problems.count;

    problem_list_done(&problems);
    return count;
}

TEST(mistakes_are_found_before_it_is_used)
{
    CHECK(problems_of("{ url: 'sftp://u@h/a', password: x, host_key: '" PRINT "' }") == 0);
    CHECK(problems_of("{ url: 'sftp://h/a', user: u, private_key: x, host_key: any }") == 0);
    CHECK(problems_of("{ url: '${env:URL}', password: x, host_key: '${env:PRINT}' }") == 0);
    CHECK(problems_of("{ url: 'sftp://u@h/a', password: x, host_key: nonsense }") == 1);
    CHECK(problems_of("{ url: 'sftp://u@h/a', password: x, host_key: [ any, '" PRINT "', x ] }") ==
          2);
    CHECK(problems_of("{ url: 'sftp://h/a', host_key: any }") == 2);
    CHECK(problems_of("{ url: 'sftp://u@h:x/a', password: x, host_key: any }") == 1);
}

int main(void)
{
    return test_main();
}
