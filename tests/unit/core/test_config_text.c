#include <stdlib.h>
#include <unistd.h>

#include "base/auto.h"
#include "core/config.h"
#include "test.h"

TEST(config_without_node_table)
{
    static const struct {
        const char *text, *want; /* NULL: refused */
    } cases[] = {
        { "", "" },
        { "systems: {}\n", "systems: {}\n" },
        { "# head\nnode:\n  listen: 1\n  # inside\n\n# about systems\nsystems: {}\n",
          "# head\n# about systems\nsystems: {}\n" },
        { "a: 1\n\nnode:\n  x: 1\n\nb: 2\n", "a: 1\n\nb: 2\n" },
        { "a: 1\nnode:\n  x: 1\n", "a: 1\n" },
        { "a: 1\nnode:\n  x: 1", "a: 1\n" },
        { "node: { x: 1,\n  y: 2\n}\na: 1\n", "a: 1\n" },
        { "node: { x: 1 } # here\na: 1 # there\n", "a: 1 # there\n" },
        { "node:\n  x: |\n    text\n    more\na: 1\n", "a: 1\n" },
        { "node:\n  x: |\n    text\n\n\na: 1\n", "a: 1\n" },
        { "node:\n  x: 'a\n    b'\na: 1\n", "a: 1\n" },
        { "node:\n  - x\n  - y\na: 1\n", "a: 1\n" },
        { "node:\n- x\n- y\na: 1\n", "a: 1\n" },
        { "node:\na: 1\n", "a: 1\n" },
        { "node: ~\na: 1\n", "a: 1\n" },
        { "\"node\": {}\r\na: 1\r\n", "a: 1\r\n" },
        { "  node:\n    x: 1\n  a: 1\n", "  a: 1\n" },
        { "\xc3\xa4: 1\nnode:\n  \xc3\xa4: \xe2\x82\xac\nb: 2\n", "\xc3\xa4: 1\nb: 2\n" },
        { "---\nnode: {}\na: 1\n...\n", "---\na: 1\n...\n" },
        { "{ node: { x: 1 }, a: 1 }", "{ a: 1 }" },
        { "{ a: 1, node: { x: 1 } }\n", "{ a: 1 }\n" },
        { "{ a: 1, node: { x: 1 }, b: 2 }", "{ a: 1, b: 2 }" },
        { "{ node: x }", "{  }" },
        { "{\"a\": [1], \"node\": \"x\"}", "{\"a\": [1]}" },
        { "? node\n: x\n", "" },
        { "a: { node: 1 }\n", "a: { node: 1 }\n" },
        { "node: 1\nnode: 2\n", NULL },
        { "node: [\n", NULL },
        { "{? node : x}", NULL },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(buf_done) struct buf out = BUF_INIT(4096), again = BUF_INIT(4096);
        struct err err = { 0 };
        bool ok = config_without_node(str_of(cases[i].text), &out, &err);

        if (ok != (cases[i].want != NULL) || (ok && !str_is(buf_view(&out), cases[i].want)))
            printf("# case %zu: %s%s\n", i, out.ptr, err.text);
        CHECK(ok == (cases[i].want != NULL));
        if (!ok)
            continue;
        CHECK(str_is(buf_view(&out), cases[i].want));
        CHECK(config_without_node(buf_view(&out), &again, &err));
        CHECK(str_eq(buf_view(&out), buf_view(&again)));
    }
}

TEST(config_expand_table)
{
    static const struct {
        const char *value, *want; /* NULL: refused, and `why` */
        const char *why;
    } cases[] = {
        { "plain", "plain", NULL },
        { "", "", NULL },
        { "${env:TEST_A}", "one", NULL },
        { "x${env:TEST_A}y${env:TEST_A}",
          "xoney"
          "one",
          NULL },
        { "$${env:TEST_A}$", "$one$", NULL },
        { "${env:TEST_NEST}", "${env:TEST_A}", NULL }, /* once, not again */
        { "secret:x", "secret:x", NULL },
        { "Bearer ${secret:x}", "Bearer ${secret:x}", NULL },
        { "${sender}/${id}", "${sender}/${id}", NULL },
        { "${env:TEST_A", "${env:TEST_A", NULL },
        { "a${file:text}b", "acontentb", NULL },
        { "${file:nothing}", NULL, "cannot open" },
        { "${file:.}", NULL, "cannot read" },
        { "${file:binary}", NULL, "is not a text" },
        { "${file:large}", NULL, "too large" },
        { "${env:TEST_NONE}", NULL, "TEST_NONE is not set" },
    };
    char folder[] = "/tmp/waybill-test-XXXXXX", path[128];

    CHECK(mkdtemp(folder) != NULL);
    CHECK(setenv("TEST_A", "one", 1) == 0 && setenv("TEST_NEST", "${env:TEST_A}", 1) == 0);
    (void)unsetenv("TEST_NONE");
    static const char *const files[] = { "text", "binary", "large" };

    for (size_t i = 0; i < 3; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        FILE *file = fopen(path, "wb");

        CHECK(file != NULL);
        if (i == 0)
            (void)fputs("content\r\n", file);
        if (i == 1)
            (void)fwrite("a\0b", 1, 3, file);
        for (int k = 0; i == 2 && k < 300; k++)
            (void)fprintf(file, "%01024d", 0);
        (void)fclose(file);
    }
    (void)snprintf(path, sizeof path, "%s/config.yaml", folder);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(buf_done) struct buf out = BUF_INIT(65536);
        struct err err = { 0 };
        bool ok = config_expand(str_of(cases[i].value), path, &out, &err);

        if (ok != (cases[i].want != NULL))
            printf("# %s: %s\n", cases[i].value, err.text);
        CHECK(ok == (cases[i].want != NULL));
        CHECK(ok ? str_is(buf_view(&out), cases[i].want) : strstr(err.text, cases[i].why) != NULL);
    }
    for (size_t i = 0; i < 3; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        (void)unlink(path);
    }
    (void)rmdir(folder);
}

TEST(config_path_starts_at_the_folder_of_the_file)
{
    static const struct {
        const char *path, *file, *want;
    } cases[] = {
        { "/etc/cert.pem", "/etc/waybill/waybill.yaml", "/etc/cert.pem" },
        { "cert.pem", "/etc/waybill/waybill.yaml", "/etc/waybill/cert.pem" },
        { "cert.pem", "conf/waybill.yaml", "conf/cert.pem" },
        { "cert.pem", "waybill.yaml", "cert.pem" },
        { "./cert.pem", "/waybill.yaml", "/./cert.pem" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(buf_done) struct buf out = BUF_INIT(4096);
        struct err err;

        CHECK(config_path(cases[i].path, cases[i].file, &out, &err));
        CHECK(str_is(buf_view(&out), cases[i].want));
    }
}

TEST(config_recognises_pem_and_secrets)
{
    CHECK(config_is_pem("-----BEGIN PRIVATE KEY-----\nx") && !config_is_pem("key.pem"));
    CHECK(str_is(config_secret_name(STR("secret:mdm")), "mdm"));
    CHECK(config_secret_name(STR("plain")).len == 0);
}

int main(void)
{
    return test_main();
}
