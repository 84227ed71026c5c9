/* The mail endpoint without a server; tests/blackbox/test_42_smtp.py has real ones. */
#include <arpa/inet.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/egress.h"
#include "core/connector.h"
#include "core/grammar.h"
#include "core/problem.h"
#include "test.h"

enum { ARENA = 256 << 20 };

struct mailer {
    struct arena arena;
    void *self; /* NULL: it could not be made, err says why */
    struct err err;
};

static void mailer_done(struct mailer *f)
{
    if (f->self != NULL)
        endpoint_smtp.unmake(f->self);
    arena_done(&f->arena);
}

static struct mailer mailer_of(const char *options)
{
    struct mailer f = { .arena = ARENA_INIT(ARENA) };
    struct problem_list problems = PROBLEM_LIST_INIT;
    char *text = arena_printf(&f.arena, "{ kind: smtp, %s }", options);
    struct settings settings = { .node = yaml_load(str_of(text), &f.arena, &problems),
                                 .common = grammar_endpoint,
                                 .own = endpoint_smtp.kind.keys,
                                 .arena = &f.arena };

    if (!endpoint_smtp.make(&settings, &f.self, &f.err))
        f.self = NULL;
    problem_list_done(&problems);
    return f;
}

/* How many problems the check finds. */
static size_t problems_of(const char *options)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    struct problem_list problems = PROBLEM_LIST_INIT;
    char *text = arena_printf(&a, "{ kind: smtp, url: 'smtp://h', %s }", options);

    endpoint_smtp.kind.check(yaml_load(str_of(text), &a, &problems), &problems);
    size_t count = problems.count;

    problem_list_done(&problems);
    return count;
}

static struct fact attributes[] = { { { "evil", 4 }, { "x\r\nBcc: y@z", 11 } },
                                    { { "bad", 3 }, { "a\xff", 2 } } };
static const struct facts facts = {
    .sender = { "acme", 4 }, .type = { "order", 5 }, .attributes = attributes, .attribute_count = 2
};

static struct verdict send_with(struct mailer *f, struct call *c, struct buf *note)
{
    struct sending s = { .document = STR("0193-doc"),
                         .delivery = STR("0193-doc.desk"),
                         .facts = &facts,
                         .name = STR("x"),
                         .gateway = STR("in"),
                         .endpoint = STR("desk"),
                         .received_us = INT64_C(1794711130) * CLOCK_S,
                         .attempt = 1,
                         .size = 5,
                         .bytes = STR("bytes"),
                         .note = note };
    struct verdict v;

    endpoint_smtp.send(f->self, &s, c, &v);
    return v;
}

#define MAIL "from: a@b, to: c@d"

TEST(settings_that_cannot_work_are_refused)
{
    const char *const wrong[] = {
        "url: 'smtp://h:99999', " MAIL,
        "url: 'smtp://h', token: t, " MAIL,
        "url: 'smtp://h', user: \"a\\nb\", " MAIL,
        "url: 'smtp://h', user: a, password: \"a\\r\\nb\", " MAIL,
        "url: 'smtp://h', user: a, token: \"a\\nb\", " MAIL,
        "url: 'smtp://h', from: '${', to: c@d",
        "url: 'smtp://h', from: a@b, to: [ '${' ]",
        "url: 'smtp://h', from: a@b, to: []",
    };

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        AUTO(mailer_done) struct mailer f = mailer_of(wrong[i]);

        CHECK(f.self == NULL && f.err.text[0] != '\0');
        CHECK(strstr(f.err.text, "smtp://") == NULL); /* a url may hold a password */
    }
    AUTO(mailer_done) struct mailer f = mailer_of("url: 'smtp://u:p@h', token: t, " MAIL);

    CHECK(f.self != NULL); /* the user may stand in the url */
}

TEST(addresses_are_checked_with_the_configuration)
{
    char many[4096] = "from: a@b, to: [";

    CHECK(problems_of(MAIL) == 0);
    CHECK(problems_of("from: 'x <a@b>', to: [ c@d, '${mail}' ]") == 0);
    CHECK(problems_of("from: ab, to: c@d") == 1);
    CHECK(problems_of("from: a@b, to: cd") == 1);
    CHECK(problems_of("from: a@b, to: [ cd, c@d, 'c d@e' ]") == 2);
    CHECK(problems_of("from: a@b, to: c@d, password: x, token: y") == 1);
    CHECK(problems_of(MAIL ", outcome: { 450: rejected, 552: retry }") == 0);
    CHECK(problems_of(MAIL ", outcome: { 250: rejected, 600: retry, x: retry }") == 3);
    for (int i = 0; i <= 100; i++)
        strncat(many, "c@d,", sizeof many - strlen(many) - 1);
    strncat(many, "]", sizeof many - strlen(many) - 1);
    CHECK(problems_of(many) == 1);
}

/* proves: S3 */
TEST(values_of_a_document_that_cannot_stand_in_a_mail_are_refused)
{
    const struct {
        const char *options, *words;
    } cases[] = {
        { "from: '${evil}', to: c@d", "`from`" },
        { "from: a@b, to: '${evil}'", "`to`, number 1" },
        { "from: a@b, to: [ c@d, '${evil} <c@d>' ]", "`to`, number 2" },
        { "from: a@b, to: c@d, subject: '${evil}'", "Subject" },
        { "from: a@b, to: c@d, subject: '${nothing}'", "`subject`" },
        { "from: a@b, to: c@d, name: '${evil}'", "name of the attachment" },
        { "from: a@b, to: c@d, name: '${bad}'", "name of the attachment" },
        { "from: a@b, to: c@d, name: 'a/${type}'", "name of the attachment" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char options[200];

        (void)snprintf(options, sizeof options, "url: 'smtp://127.0.0.1:1', %s", cases[i].options);
        AUTO(mailer_done) struct mailer f = mailer_of(options);

        CHECK(f.self != NULL);
        struct verdict v = send_with(&f, NULL, NULL);

        CHECK(v.kind == VERDICT_FAILED && strstr(v.message, cases[i].words) != NULL);
        CHECK(strstr(v.message, "Bcc") == NULL);
    }
}

/* A port of this machine on which nothing listens. */
static int closed_port(void)
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof a;
    AUTO_FD fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (bind(fd, (struct sockaddr *)&a, len) < 0 ||
        getsockname(fd, (struct sockaddr *)&a, &len) < 0)
        return 1;
    return ntohs(a.sin_port);
}

TEST(a_server_that_is_not_there_was_sent_nothing)
{
    AUTO(buf_done) struct buf note = BUF_INIT(4096);
    char options[200];

    (void)snprintf(options, sizeof options,
                   "url: 'smtp://u:hunter2@127.0.0.1:%d', from: a@b, to: [ c@d, e@f ]",
                   closed_port());
    AUTO(mailer_done) struct mailer f = mailer_of(options);
    struct call c = { 0 };
    struct verdict v = send_with(&f, &c, &note);

    CHECK(v.kind == VERDICT_UNREACHED && strstr(v.message, "no connection could be made") != NULL);
    CHECK(strstr(v.message, "hunter2") == NULL);
    CHECK(strcmp(note.ptr, "c@d waits 0, e@f waits 0") == 0);
    CHECK(!call_give_up(&c)); /* it has not committed */
}

/* proves: S16 */
TEST(what_is_barred_is_not_connected_to)
{
    static const struct egress none = { 0 };
    AUTO(mailer_done)
    struct mailer f = mailer_of("url: 'smtps://169.254.169.254:25', timeout: 30s, " MAIL);
    struct call c = { .egress = &none };
    struct verdict v = send_with(&f, &c, NULL);

    CHECK(v.kind == VERDICT_UNREACHED && strstr(v.message, "node.egress") != NULL);
}

TEST(a_call_that_was_given_up_sends_nothing)
{
    _Atomic bool stop = true;
    char options[200];

    (void)snprintf(options, sizeof options, "url: 'smtp://127.0.0.1:%d', " MAIL, closed_port());
    AUTO(mailer_done) struct mailer f = mailer_of(options);
    struct call c = { .stop = &stop };

    CHECK(!call_give_up(&c));
    struct verdict v = send_with(&f, &c, NULL);

    CHECK(v.kind == VERDICT_RETRY || v.kind == VERDICT_UNREACHED); /* whoever notices it first */
}

int main(void)
{
    return test_main();
}
