#include "core/settings.h"

#include "app/registry.h"
#include "base/auto.h"
#include "base/buf.h"
#include "core/config.h"
#include "core/grammar.h"
#include "folder.h"
#include "test.h"

enum { ARENA = 256 << 20 };

static const struct option retry_keys[] = {
    { .name = "first", .type = OPT_DURATION, .fallback = "1s" },
    { .name = "for", .type = OPT_DURATION },
    { 0 },
};

static const struct option common[] = {
    { .name = "timeout", .type = OPT_DURATION, .fallback = "30s" },
    { .name = "retry", .type = OPT_MAP, .keys = retry_keys },
    { .name = "title", .type = OPT_TEXT },
    { 0 },
};

static const struct option own[] = {
    { .name = "find", .type = OPT_TEXT },
    { .name = "with", .type = OPT_TEXT, .fallback = "" },
    { .name = "path", .type = OPT_PATH, .fallback = "out" },
    { .name = "count", .type = OPT_INT, .fallback = "5" },
    { .name = "size", .type = OPT_SIZE, .fallback = "64 MiB" },
    { .name = "verify", .type = OPT_BOOL, .fallback = "true" },
    { .name = "headers", .type = OPT_NAMED },
    { 0 },
};

static bool find_secret(void *arg, struct str name, struct arena *a, struct str *ret,
                        struct err *err)
{
    (void)arg;
    if (str_is(name, "api"))
        *ret = arena_copy(a, STR("s3cr3t ${env:SETTINGS_TEST}"));
    else if (str_is(name, "pem"))
        *ret = STR("-----BEGIN CERTIFICATE-----\n");
    else if (str_is(name, "zero"))
        *ret = STR("a\0b");
    else
        return err_set(err, ERR_CONFIG, 0, "there is no secret `%.*s`", STR_ARG(name));
    return true;
}

static const struct config_node reach = {
    .file = "conf/waybill.yaml",
    .expose_env = { (const char *const[]){ "SETTINGS_TEST", "SETTINGS_ABSENT" }, 2 },
};

static struct settings settings_of(const char *yaml, struct arena *a)
{
    struct problem_list problems = PROBLEM_LIST_INIT;
    struct settings s = {
        .node = yaml_load(str_of(yaml), a, &problems),
        .common = common,
        .own = own,
        .file = "conf/waybill.yaml",
        .secret = find_secret,
        .reach = &reach,
        .arena = a,
    };

    problem_list_done(&problems);
    return s;
}

TEST(settings_give_texts_and_fallbacks)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    struct settings s = settings_of("{ find: ' x ', title: ~, with: }", &a);
    struct err err = { 0 };
    struct str text;

    CHECK(settings_text(&s, "find", &text, &err) && str_is(text, " x "));
    CHECK(text.ptr[text.len] == '\0');
    CHECK(settings_text(&s, "with", &text, &err) && text.ptr != NULL && text.len == 0);
    CHECK(settings_text(&s, "title", &text, &err) && text.ptr == NULL && text.len == 0);
    CHECK(settings_text(&s, "timeout", &text, &err) && str_is(text, "30s"));
    CHECK(settings_text(&s, "unheard", &text, &err) && text.ptr == NULL);
    CHECK(settings_has(&s, "find") && !settings_has(&s, "title") && !settings_has(&s, "timeout"));
}

TEST(settings_of_nothing_are_the_fallbacks)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    struct settings s = { .common = common, .own = own, .arena = &a };
    struct err err = { 0 };
    struct str text;
    int64_t n = -1;
    bool verify = false;

    CHECK(settings_int(&s, "count", &n, &err) && n == 5);
    CHECK(settings_int(&s, "size", &n, &err) && n == 64 << 20);
    CHECK(settings_duration(&s, "timeout", &n, &err) && n == 30000000);
    CHECK(settings_bool(&s, "verify", &verify, &err) && verify);
    CHECK(settings_path(&s, "path", &text, &err) && str_is(text, "out"));
    s.own = s.common = NULL;
    n = 17;
    CHECK(settings_int(&s, "count", &n, &err) && n == 17);
    CHECK(settings_duration(&s, "timeout", &n, &err) && n == 17);
    CHECK(settings_bool(&s, "verify", &verify, &err) && verify);
    CHECK(settings_path(&s, "path", &text, &err) && text.ptr == NULL);
}

TEST(settings_give_numbers_switches_and_times)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    struct settings s = settings_of(
        "{ count: 12, size: 2 KiB, verify: false, timeout: 250ms, retry: { first: 2m } }", &a);
    struct err err = { 0 };
    int64_t n = 0;
    bool verify = true;

    CHECK(settings_int(&s, "count", &n, &err) && n == 12);
    CHECK(settings_int(&s, "size", &n, &err) && n == 2048);
    CHECK(settings_bool(&s, "verify", &verify, &err) && !verify);
    CHECK(settings_duration(&s, "timeout", &n, &err) && n == 250000);
    struct settings below = settings_below(&s, "retry");

    CHECK(settings_duration(&below, "first", &n, &err) && n == 120000000);
    n = 9;
    CHECK(settings_duration(&below, "for", &n, &err) && n == 9);
    CHECK(settings_duration(&below, "timeout", &n, &err) && n == 9); /* not the common one */
}

TEST(settings_below_what_is_not_set_are_its_fallbacks)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    struct settings s = settings_of("{ find: x }", &a), below = settings_below(&s, "retry");
    struct settings unheard = settings_below(&s, "unheard");
    struct err err = { 0 };
    int64_t n = 0;

    CHECK(below.node == NULL && settings_duration(&below, "first", &n, &err) && n == 1000000);
    CHECK(!settings_has(&unheard, "first") && unheard.own == NULL);
}

/* A step with a bare value: `replace: x`. */
TEST(settings_of_a_bare_value_are_the_first_key)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    struct settings s = settings_of("{ replace: x, list: [a, b], nothing: ~ }", &a), bare = s;
    struct err err = { 0 };
    struct str text;

    bare.node = yaml_get(s.node, "replace");
    CHECK(settings_has(&bare, "find") && !settings_has(&bare, "with"));
    CHECK(settings_text(&bare, "find", &text, &err) && str_is(text, "x"));
    CHECK(settings_text(&bare, "with", &text, &err) && text.ptr != NULL && text.len == 0);
    bare.node = yaml_get(s.node, "list");
    CHECK(settings_has(&bare, "find") && !settings_text(&bare, "find", &text, &err));
    bare.node = yaml_get(s.node, "nothing");
    CHECK(!settings_has(&bare, "find"));
    bare.node = yaml_get(s.node, "replace");
    bare.own = NULL;
    CHECK(!settings_has(&bare, "find"));
}

TEST(settings_replace_references_once)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        { "secret:api", "s3cr3t ${env:SETTINGS_TEST}" },
        { "Bearer ${secret:api}!", "Bearer s3cr3t ${env:SETTINGS_TEST}!" },
        { "${env:SETTINGS_TEST}", "${secret:api} $x" },
        { "a${env:SETTINGS_TEST}b${secret:api}", "a${secret:api} $xbs3cr3t ${env:SETTINGS_TEST}" },
        { "x secret:api", "x secret:api" },
        { "${id}/$ $$ ${", "${id}/$ $$ ${" },
        { "secret:", "secret:" },
        { "$", "$" },
        { "", "" },
    };

    CHECK(setenv("SETTINGS_TEST", "${secret:api} $x", 1) == 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
        AUTO(buf_done) struct buf yaml = BUF_INIT(1000);
        struct err err = { 0 };
        struct str text;

        buf_printf(&yaml, "find: '%s'", cases[i].text);
        struct settings s = settings_of(yaml.ptr, &a);

        CHECK(settings_text(&s, "find", &text, &err) && str_is(text, cases[i].want));
        CHECK(settings_expand(&s, s.node->first, &text, &err) && str_is(text, cases[i].want));
    }
}

TEST(settings_read_files_beside_the_configuration)
{
    static const char *const files[] = { "./word", "absent" };
    struct config_node here = { .expose_files = { files, 2 } };
    AUTO(folder_done) struct folder folder = folder_make();
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    AUTO(buf_done) struct buf path = BUF_INIT(400), config = BUF_INIT(400);
    struct settings s = settings_of("{ find: '<${file:word}>', title: '${file:absent}' }", &a);
    struct err err = { 0 };
    struct str text;

    buf_printf(&path, "%s/word", folder.path);
    buf_printf(&config, "%s/waybill.yaml", folder.path);
    FILE *f = fopen(path.ptr, "w");

    CHECK(f != NULL && fputs("in a file\n", f) >= 0 && fclose(f) == 0);
    here.file = config.ptr;
    s.reach = &here;
    CHECK(settings_text(&s, "find", &text, &err) && str_is(text, "<in a file>"));
    CHECK(!settings_text(&s, "title", &text, &err) && err.kind == ERR_CONFIG);
    CHECK(strstr(err.text, "`title`") != NULL && strstr(err.text, "absent") != NULL);
    here.file = "waybill.yaml"; /* from where we stand */
    CHECK(!settings_text(&s, "find", &text, &err) && strstr(err.text, "open word") != NULL);
}

/* proves: S13 */
TEST(settings_take_what_the_node_exposes)
{
    static const char *const files[] = { "/etc/hostname", "sub/./word" };
    static const char *const env[] = { "HOME" };
    static const struct config_node some = { .file = "conf/waybill.yaml",
                                             .expose_files = { files, 2 },
                                             .expose_env = { env, 1 } };
    static const struct {
        enum config_outside kind;
        const char *name;
        bool want;
    } cases[] = {
        { CONFIG_ENV, "HOME", true },           { CONFIG_ENV, "HOM", false },
        { CONFIG_ENV, "PATH", false },          { CONFIG_ENV, "/etc/hostname", false },
        { CONFIG_FILE, "/etc/hostname", true }, { CONFIG_FILE, "//etc/./hostname", true },
        { CONFIG_FILE, "etc/hostname", false }, { CONFIG_FILE, "/etc/hostname/x", false },
        { CONFIG_FILE, "/etc", false },         { CONFIG_FILE, "/etc/x/../hostname", false },
        { CONFIG_FILE, "sub/word", true },      { CONFIG_FILE, "./sub//word", true },
        { CONFIG_FILE, "word", false },         { CONFIG_FILE, "", false },
        { CONFIG_SECRET, "any", true },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK(config_exposes(&some, cases[i].kind, str_of(cases[i].name)) == cases[i].want);
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    struct settings s = settings_of("{ find: '${env:HOME}', title: '${file:data/token}' }", &a);
    struct err err = { 0 };
    struct str text;

    CHECK(!settings_text(&s, "find", &text, &err) && err.kind == ERR_CONFIG);
    CHECK(strstr(err.text, "expose: { env: [HOME] }") != NULL);
    CHECK(!settings_text(&s, "title", &text, &err));
    CHECK(strstr(err.text, "expose: { files: [data/token] }") != NULL);
    s.reach = &some;
    CHECK(settings_text(&s, "find", &text, &err));
    s.reach = NULL;
    CHECK(!settings_text(&s, "find", &text, &err));
}

TEST(settings_paths_start_beside_the_configuration)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        { "out", "conf/out" },
        { "./out", "conf/./out" },
        { "/var/out", "/var/out" },
        { "secret:pem", "-----BEGIN CERTIFICATE-----\n" },
        { "${secret:pem}", "-----BEGIN CERTIFICATE-----\n" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
        AUTO(buf_done) struct buf yaml = BUF_INIT(1000);
        struct err err = { 0 };
        struct str text;

        buf_printf(&yaml, "path: '%s'", cases[i].text);
        struct settings s = settings_of(yaml.ptr, &a);

        CHECK(settings_path(&s, "path", &text, &err) && str_is(text, cases[i].want));
        CHECK(text.ptr[text.len] == '\0');
    }
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    struct settings s = settings_of("{}", &a);
    struct err err = { 0 };
    struct str text;

    CHECK(settings_path(&s, "path", &text, &err) && str_is(text, "conf/out")); /* a fallback too */
    s.file = "waybill.yaml";
    CHECK(settings_path(&s, "path", &text, &err) && str_is(text, "out"));
}

/* A message may be shown: it names the key and never what stands there. */
TEST(settings_errors_name_the_key_and_no_value)
{
    static const struct {
        const char *yaml, *key, *says;
    } cases[] = {
        { "find: '${secret:nope}'", "find", "there is no secret `nope`" },
        { "find: secret:nope", "find", "there is no secret `nope`" },
        { "find: 'hush ${env:SETTINGS_ABSENT}'", "find", "SETTINGS_ABSENT is not set" },
        { "find: [hush]", "find", "a single value" },
        { "find: { hush: x }", "find", "a single value" },
        { "find: secret:zero", "find", "not a text" },
        { "count: hush", "count", "not a whole number" },
        { "count: -5", "count", "not a whole number" },
        { "count: 9223372036854775808", "count", "too large" },
        { "size: 5 hush", "size", "" },
        { "verify: hush", "verify", "true or false" },
        { "timeout: 5 hush", "timeout", "" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
        struct settings s = settings_of(cases[i].yaml, &a);
        struct err err = { 0 };
        struct str text = STR("before");
        int64_t n = 42;
        bool b = true;
        const char *key = cases[i].key;
        bool ok = strcmp(key, "find") == 0      ? settings_text(&s, key, &text, &err)
                  : strcmp(key, "verify") == 0  ? settings_bool(&s, key, &b, &err)
                  : strcmp(key, "timeout") == 0 ? settings_duration(&s, key, &n, &err)
                                                : settings_int(&s, key, &n, &err);

        CHECK(!ok && err.kind == ERR_CONFIG);
        CHECK(strncmp(err.text, "`", 1) == 0 && strncmp(err.text + 1, key, strlen(key)) == 0);
        CHECK(strstr(err.text, cases[i].says) != NULL && strstr(err.text, "hush") == NULL);
        CHECK(n == 42 && b && str_is(text, "before")); /* untouched */
    }
}

TEST(settings_without_secrets_refuse_them)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    struct settings s = settings_of("find: secret:api", &a);
    struct err err = { 0 };
    struct str text;

    s.secret = NULL;
    CHECK(!settings_text(&s, "find", &text, &err) && err.kind == ERR_CONFIG);
}

static bool large_secret(void *arg, struct str name, struct arena *a, struct str *ret,
                         struct err *err)
{
    enum { HALF = 600 << 10 };
    char *p = arena_alloc(a, HALF);

    (void)arg, (void)name, (void)err;
    memset(p, 'x', HALF);
    *ret = str_mem(p, HALF);
    return true;
}

TEST(settings_bound_a_value)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    struct settings s = settings_of("{ find: '${secret:a}', with: '${secret:a}${secret:a}' }", &a);
    struct err err = { 0 };
    struct str text;

    s.secret = large_secret;
    CHECK(settings_text(&s, "find", &text, &err) && text.len == 600 << 10);
    CHECK(!settings_text(&s, "with", &text, &err) && err.kind == ERR_CONFIG);
    CHECK(strstr(err.text, "too long") != NULL);
}

TEST(settings_of_every_type_refuse_a_list)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    struct settings s = settings_of("{ count: [1], verify: [true], timeout: [1s], path: [x] }", &a);
    struct err err = { 0 };
    struct str text;
    int64_t n;
    bool b;

    CHECK(!settings_int(&s, "count", &n, &err) && strstr(err.text, "`count`: a single") != NULL);
    CHECK(!settings_bool(&s, "verify", &b, &err) && strstr(err.text, "`verify`: ") != NULL);
    CHECK(!settings_duration(&s, "timeout", &n, &err) && strstr(err.text, "`timeout`: ") != NULL);
    CHECK(!settings_path(&s, "path", &text, &err) && strstr(err.text, "`path`: ") != NULL);
}

static bool secret_of_most(void *arg, struct str name, struct arena *a, struct str *ret,
                           struct err *err)
{
    (void)arg, (void)name, (void)err;
    char *p = arena_alloc(a, 1 << 20);

    memset(p, 'x', 1 << 20);
    *ret = str_mem(p, 1 << 20);
    return true;
}

TEST(settings_bound_a_path)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    struct settings s = settings_of("path: secret:long", &a);
    struct err err = { 0 };
    struct str text;

    s.secret = secret_of_most;
    CHECK(!settings_path(&s, "path", &text, &err) && err.kind == ERR_CONFIG);
    CHECK(strstr(err.text, "`path`: the path is too long") != NULL);
}

TEST(settings_read_texts)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    struct settings s = settings_of("path: [ a, b ]", &a), none = settings_of("{}", &a);
    const struct str *list;
    size_t n;
    struct err err = { 0 };

    CHECK(settings_texts(&s, "path", &list, &n, &err) && n == 2 && str_is(list[1], "b"));
    s = settings_of("path: a", &a);
    CHECK(settings_texts(&s, "path", &list, &n, &err) && n == 1 && str_is(list[0], "a"));
    CHECK(settings_texts(&none, "absent", &list, &n, &err) && n == 0);
}

/* With the real tables: a new option is readable by being listed. */
static bool reads_fallback(const struct settings *s, const struct option *o)
{
    struct err err = { 0 };
    int64_t n = 0;
    bool b;

    switch (o->type) {
    case OPT_DURATION:
        return settings_duration(s, o->name, &n, &err);
    case OPT_BOOL:
        return settings_bool(s, o->name, &b, &err);
    case OPT_INT:
    case OPT_SIZE:
        return settings_int(s, o->name, &n, &err);
    default:
        return true;
    }
}

TEST(settings_read_every_fallback_of_the_grammar)
{
    const struct option_kind *k;
    const struct option *o;

    for (enum option_role role = ROLE_GATEWAY; role <= ROLE_DATABASE; role++)
        for (size_t i = 0; (k = kind_at(&registry, role, i)) != NULL; i++) {
            AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
            struct settings s = { .common = kind_common(role), .own = k->keys, .arena = &a };

            for (struct option_walk w = { k->keys }; (o = option_next(&w)) != NULL;)
                CHECK(reads_fallback(&s, o));
        }
}

/* What was replaced once, and came as JSON, is text. */
TEST(literal_settings_replace_nothing)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    struct settings s = settings_of(
        "{\"find\":\"${secret:api} secret:api\",\"with\":\"secret:api\",\"count\":7}", &a);
    struct err err = { 0 };
    struct str text;
    int64_t count;

    s.literal = true;
    CHECK(settings_text(&s, "find", &text, &err) && str_is(text, "${secret:api} secret:api"));
    CHECK(settings_text(&s, "with", &text, &err) && str_is(text, "secret:api"));
    CHECK(settings_int(&s, "count", &count, &err) && count == 7);
}

int main(void)
{
    return test_main();
}
