/* The FTP endpoint without a server; tests/blackbox/test_43_ftp.py has real ones. */
#include "base/auto.h"
#include "base/clock.h"
#include "base/egress.h"
#include "core/connector.h"
#include "core/grammar.h"
#include "core/problem.h"
#include "test.h"

struct ftp_sender {
    struct arena arena;
    void *self; /* NULL: it could not be made, err says why */
    struct err err;
};

static void ftp_sender_done(struct ftp_sender *f)
{
    if (f->self != NULL)
        endpoint_ftp.unmake(f->self);
    arena_done(&f->arena);
}

static struct ftp_sender ftp_sender_of(const char *options)
{
    struct ftp_sender f = { .arena = ARENA_INIT(256 << 20) };
    struct problem_list problems = PROBLEM_LIST_INIT;
    char *text = arena_printf(&f.arena, "{ kind: ftp, %s }", options);
    struct settings settings = { .node = yaml_load(str_of(text), &f.arena, &problems),
                                 .common = grammar_endpoint,
                                 .own = endpoint_ftp.kind.keys,
                                 .arena = &f.arena };

    if (!endpoint_ftp.make(&settings, &f.self, &f.err))
        f.self = NULL;
    problem_list_done(&problems);
    return f;
}

static struct verdict send_as(struct ftp_sender *f, struct str name, struct call *c)
{
    static const struct facts facts = { .sender = { "acme", 4 } };
    struct sending s = { .document = STR("0193-doc"),
                         .delivery = STR("0193-doc.edi"),
                         .facts = &facts,
                         .name = name,
                         .gateway = STR("in"),
                         .endpoint = STR("edi"),
                         .received_us = INT64_C(1794711130) * CLOCK_S,
                         .attempt = 1,
                         .size = 5,
                         .bytes = STR("bytes") };
    struct verdict v;

    endpoint_ftp.send(f->self, &s, c, &v);
    return v;
}

TEST(folders_are_named_by_urls)
{
    const char *const right[] = { "url: 'ftp://h'", "url: 'ftps://h/a/', tls: { verify: false }",
                                  "url: 'ftp://u:p@h:2121//a%20b', tls: explicit" };
    const char *const wrong[] = { "name: x",
                                  "url: 'ftp://h/a?b'",
                                  "url: 'ftp://h/a#b'",
                                  "url: 'ftp://h/a;type=a'",
                                  "url: 'ftp://h', name: '${'",
                                  "url: 'ftp://h', user: \"a\\r\\nb\"" };

    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        AUTO(ftp_sender_done) struct ftp_sender f = ftp_sender_of(right[i]);

        CHECK(f.self != NULL);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        AUTO(ftp_sender_done) struct ftp_sender f = ftp_sender_of(wrong[i]);

        CHECK(f.self == NULL && f.err.text[0] != '\0');
    }
}

/* proves: FI11 */
TEST(a_name_from_a_document_is_one_name)
{
    AUTO(ftp_sender_done)
    struct ftp_sender f = ftp_sender_of("url: 'ftp://127.0.0.1:1/in', name: '${name}'");
    char long_name[300];
    const struct str names[] = { STR(".."),          STR("a/b"),  STR("a\r\nDELE x"),
                                 STR("a\0b"),        STR("\xff"), STR(".ssh"),
                                 { long_name, 256 }, STR(""),     STR("a\nb") };

    memset(long_name, 'n', sizeof long_name);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct verdict v = send_as(&f, names[i], NULL);

        CHECK(v.kind == VERDICT_FAILED && strstr(v.message, "name of the file") != NULL);
    }
}

/* proves: S16 */
TEST(an_ftp_server_that_is_barred_is_not_connected_to)
{
    static const struct egress none = { 0 };
    AUTO(ftp_sender_done)
    struct ftp_sender f = ftp_sender_of("url: 'ftp://u:hunter2@169.254.169.254/in'");
    struct call c = { .egress = &none };
    struct verdict v = send_as(&f, STR("x"), &c);

    CHECK(v.kind == VERDICT_UNREACHED && strstr(v.message, "node.egress") != NULL);
    CHECK(strstr(v.message, "hunter2") == NULL && !call_give_up(&c));
}

int main(void)
{
    return test_main();
}
