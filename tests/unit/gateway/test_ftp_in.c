/* The FTP gateway without a server; tests/blackbox/test_44_ftp_in.py has real ones. */
#include "base/auto.h"
#include "base/egress.h"
#include "core/connector.h"
#include "core/deposit.h"
#include "core/ftp/ftp_place.h"
#include "core/grammar.h"
#include "core/problem.h"
#include "test.h"

struct ftp_taker {
    struct arena arena;
    struct settings settings;
    void *self; /* NULL: it could not be made, err says why */
    struct err err;
};

static void ftp_taker_done(struct ftp_taker *f)
{
    if (f->self != NULL)
        gateway_ftp.unmake(f->self);
    arena_done(&f->arena);
}

static struct ftp_taker ftp_taker_of(const char *options)
{
    struct ftp_taker f = { .arena = ARENA_INIT(256 << 20) };
    struct problem_list problems = PROBLEM_LIST_INIT;
    char *text = arena_printf(&f.arena, "{ kind: ftp, %s }", options);

    f.settings = (struct settings){ .node = yaml_load(str_of(text), &f.arena, &problems),
                                    .common = grammar_gateway,
                                    .own = gateway_ftp.kind.keys };
    f.settings.arena = &f.arena;
    if (!gateway_ftp.make(&f.settings, &f.self, &f.err))
        f.self = NULL;
    f.settings.arena = NULL;
    problem_list_done(&problems);
    return f;
}

TEST(folders_are_named_by_urls)
{
    const char *const right[] = { "url: 'ftp://h'",
                                  "url: 'ftps://u:p@h/a/', tls: { verify: false }",
                                  "url: 'ftp://h/a%3Fb', tls: explicit, after: delete",
                                  "url: 'ftp://h/a', after: { move: done }",
                                  "url: 'ftp://h/a', after: { move: /done/ }",
                                  "url: 'ftp://h/a', after: { move: ../done }" };
    static const struct {
        const char *options, *words;
    } wrong[] = {
        { "url: ''", "`url` is missing" },
        { "url: 'ftp://h/a?b'", "write %3F" },
        { "url: 'ftp://h/a#b'", "write %3F" },
        { "url: 'ftp://h/a;type=a'", "write %3F" },
        { "url: 'ftp://h/a%0Ab'", "the path of `url`" },
        { "url: 'ftp://h/a%00b'", "the path of `url`" },
        { "url: 'ftp://h', user: \"a\\nb\"", "control character" },
        { "url: 'ftp://h', after: { move: . }", "`after.move`" },
        { "url: 'ftp://h', after: { move: ./ }", "`after.move`" },
        { "url: 'ftp://h', after: { move: / }", "`after.move`" },
        { "url: 'ftp://h', after: { move: \"a\\rDELE b\" }", "`after.move`" },
    };

    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        AUTO(ftp_taker_done) struct ftp_taker f = ftp_taker_of(right[i]);

        if (f.self == NULL)
            printf("# %s: %s\n", right[i], f.err.text);
        CHECK(f.self != NULL);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        AUTO(ftp_taker_done) struct ftp_taker f = ftp_taker_of(wrong[i].options);

        if (f.self != NULL || strstr(f.err.text, wrong[i].words) == NULL)
            printf("# %s: %s\n", wrong[i].options, f.self != NULL ? "made" : f.err.text);
        CHECK(f.self == NULL && strstr(f.err.text, wrong[i].words) != NULL);
    }
}

TEST(a_place_has_paths_for_commands)
{
    static const struct {
        const char *url, *path, *server;
    } cases[] = {
        { "ftp://h", "", "ftp://h/" },
        { "ftp://h/", "", "ftp://h/" },
        { "ftp://u:p@h:2121/a/b%20c", "a/b c/", "ftp://u:p@h:2121/" },
        { "ftp://h//abs/", "/abs/", "ftp://h/" },
        { "ftps://h/%2Fabs", "/abs/", "ftps://h/" },
        { "ftp://h/a%3Bb%23", "a;b#/", "ftp://h/" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char options[100];

        (void)snprintf(options, sizeof options, "url: '%s'", cases[i].url);
        AUTO(ftp_taker_done) struct ftp_taker f = ftp_taker_of(options);
        struct ftp_place place;

        f.settings.arena = &f.arena;
        CHECK(ftp_place_read(&f.settings, &place, &f.err));
        if (!str_is(place.path, cases[i].path) || !str_is(place.server, cases[i].server))
            printf("# %s: %s %s\n", cases[i].url, place.path.ptr, place.server.ptr);
        CHECK(str_is(place.path, cases[i].path) && str_is(place.server, cases[i].server));
        CHECK(place.url.ptr[place.url.len - 1] == '/');
        CHECK(place.options.plain == (cases[i].url[3] == ':') &&
              place.options.anywhere == place.options.plain);
    }
}

static struct call *fake_call_of(void *arg)
{
    static struct egress egress;
    static struct call call = { .egress = &egress };

    (void)arg;
    return &call;
}

/* proves: S16 */
TEST(nothing_is_asked_of_a_barred_address)
{
    AUTO(ftp_taker_done)
    struct ftp_taker f = ftp_taker_of("url: 'ftp://u:hunter2@169.254.169.254/x'");
    const struct deposit_port port = { .call = fake_call_of };
    int64_t taken = 1;

    CHECK(f.self != NULL);
    CHECK(!gateway_ftp.look(f.self, &port, NULL, &taken, &f.err) && taken == 0);
    CHECK(f.err.kind == ERR_TRANSIENT && strstr(f.err.text, "hunter2") == NULL);
    CHECK(strstr(f.err.text, "node.egress") != NULL);
}

int main(void)
{
    return test_main();
}
