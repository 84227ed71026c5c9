#include "core/config.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "app/registry.h"
#include "base/auto.h"
#include "folder.h"
#include "test.h"

static const struct config_options options = { .connectors = &registry };

/* The only warning of a text, or "" for none; "!" and the first problem if it is refused. */
static const char *said(const char *text, const char *file)
{
    static char all[2000];
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
    struct config *c = config_load(str_of(text), file, &options, &report);
    const struct problem_list *list = c == NULL ? &report.problems : &report.warnings;
    size_t used = 0;

    config_unref(c);
    all[0] = '\0';
    for (size_t i = 0; i < list->count && used < sizeof all; i++)
        used += (size_t)snprintf(all + used, sizeof all - used, "%s%u: %s\n", c == NULL ? "!" : "",
                                 list->items[i].place.line, list->items[i].message);
    return all;
}

#define HTTP "types: {}\nendpoints:\n  e: { kind: http, url: "
#define FTP  "types: {}\nendpoints:\n  e: { kind: ftp, user: u, password: secret:p, url: \"ftp"
#define SFTP                                                                                 \
    "types: {}\nendpoints:\n  e: { kind: sftp, url: \"sftp://u@far/\", password: secret:p, " \
    "host_key: "

TEST(config_safety_says_what_may_hurt)
{
    static const struct {
        const char *text, *want; /* "": nothing is said */
    } cases[] = {
        { "node: { listen: 127.0.0.1:1 }", "" },
        { "node: { listen: \"[::1]:1\" }", "" },
        { "node: { listen: \"0.0.0.0:1\" }", "!1: without `tls` the node answers in clear text" },
        { "node: { listen: \"10.0.0.7:1\" }", "!1: without `tls`" },
        { "node: { listen: \"0.0.0.0:1\", insecure: true }", "1: without `tls` the node answers" },
        { "node: { listen: \"0.0.0.0:1\", tls: { cert: c, key: k } }", "" },
        { HTTP "https://far.example/ }", "" },
        { HTTP "https://far.example/, tls: { verify: false } }", "3: with `verify: false`" },
        { HTTP "https://far.example/, tls: { verify: true } }", "" },
        { SFTP "any }", "3: with `host_key: any` whoever answers" },
        { SFTP "[ any ] }", "3: with `host_key: any` whoever answers" },
        { SFTP "\"SHA256:uNiVztksCsDhcc0u9e8BrrJXVGDVskgzbHYBKGdlXeI\" }", "" },
        { FTP "://far.example/in\" }", "3: credentials and files go out in clear text" },
        { FTP "://far.example/in\", tls: explicit }", "" },
        { FTP "s://far.example/in\" }", "" },
        { FTP "://127.0.0.1/in\" }", "" },
        { HTTP "http://far.example/ }", "" },
        { HTTP "http://far.example/, password: \"secret:p\", user: u }", "3: credentials go out" },
        { HTTP "http://127.0.0.1:8/, password: \"secret:p\", user: u }", "" },
        { HTTP "http://far.example/, oauth2: { token_url: \"https://id.example/t\", client_id: a, "
               "client_secret: \"secret:p\" } }",
          "3: credentials go out" },
        { HTTP "https://far.example/, sign: { header: X-A, secret: [\"secret:p\", hunter2] } }",
          "3: `secret` is written" },
        { HTTP "http://far.example/, headers: { authorization: \"Bearer ${secret:t}\" } }",
          "3: credentials go out" },
        { HTTP "http://far.example/, headers: { X-Own: \"${secret:t}\" } }",
          "3: credentials go out" },
        { HTTP "http://far.example/, headers: { X-Own: \"${id}\" } }", "" },
        { HTTP "https://far.example/, password: hunter2, user: u }", "3: `password` is written" },
        { HTTP "https://far.example/, password: \"${env:P}\", user: u }", "" },
        { HTTP "\"https://u:hunter2@far.example/\" }", "3: the URL has a user name" },
        { HTTP "https://far.example/, tls: { cert: c.pem, key: k.pem } }", "" },
        { "node: { store: \"postgres://u@db.example/x\" }", "1: the database is on another" },
        { "node: { store: \"postgres://u@db.example/x?sslmode=prefer\" }", "1: the database is" },
        { "node: { store: \"postgres://u@db.example/x?a=b&sslmode=verify-full\" }", "" },
        { "node: { store: \"postgres://u@localhost,[::1]:5433/x\" }", "" },
        { "node: { store: \"postgres://u@localhost,far/x\" }", "1: the database is" },
        { "node: { store: \"postgres://u@%2Frun%2Fpostgresql/x\" }", "" },
        { "node: { store: \"postgres://u:hunter2@localhost/x\" }", "1: the password of the" },
        { "node: { store: \"${env:STORE}\" }", "" },
        { "gateways: { g: { kind: http, auth: basic, users: { a: "
          "\"$argon2id$v=19$m=65536,t=2,p=1$c2FsdHNhbHQ$aGFzaA\" } } }",
          "" },
        { "gateways: { g: { kind: http, auth: basic, users: { a: "
          "\"$argon2id$v=19$m=8,t=1,p=1$c2FsdHNhbHQ$aGFzaA\" } } }",
          "1: the hash of `a` is weak" },
        { "gateways: { g: { kind: http, auth: basic, users: { a: \"$argon2id$\" } } }",
          "1: the hash of" },
    };

    (void)unsetenv("PGSSLMODE");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *got = said(cases[i].text, "t.yaml");
        size_t n = strlen(cases[i].want);

        if (n == 0 ? got[0] != '\0' : strncmp(got, cases[i].want, n) != 0)
            printf("# %s\n# said: %s", cases[i].text, got);
        CHECK(n == 0 ? got[0] == '\0' : strncmp(got, cases[i].want, n) == 0);
        CHECK(strstr(got, "hunter2") == NULL);
    }
}

TEST(config_safety_looks_at_the_mode_of_the_key)
{
    static const char text[] = "node: { tls: { cert: c.pem, key: k.pem } }";
    AUTO(folder_done) struct folder f = folder_make();
    char file[300];

    (void)snprintf(file, sizeof file, "%s/waybill.yaml", f.path);
    CHECK(strcmp(said(text, file), "") == 0);
    AUTO_FD fd = openat(f.fd, "k.pem", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

    CHECK(fchmod(fd, 0640) == 0 && strcmp(said(text, file), "") == 0);
    CHECK(fchmod(fd, 0644) == 0 && strstr(said(text, file), "can read or change") != NULL);
    CHECK(fchmod(fd, 0660) == 0 && strstr(said(text, file), "its mode is 660") != NULL);
}

int main(void)
{
    return test_main();
}
