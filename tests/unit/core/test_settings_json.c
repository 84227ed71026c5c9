/* The options of a step as JSON, and back. */
#include <jansson.h>

#include "base/auto.h"
#include "base/buf.h"
#include "core/config_files.h"
#include "core/grammar.h"
#include "core/settings.h"
#include "test.h"

enum { ARENA = 256 << 20, TEXT = 40 << 20 };

#define STR_INIT(text)           \
    {                            \
        (text), sizeof(text) - 1 \
    }

static const struct option named_each = { .type = OPT_TEMPLATE };
static const struct option file_each = { .type = OPT_FILE };
static const struct option inner_keys[] = {
    { .name = "most", .type = OPT_SIZE, .fallback = "1 KiB" },
    { .name = "schema", .type = OPT_FILE },
    { 0 },
};

/* Every type that has one value, and each way in which values are nested. */
static const struct option own[] = {
    { .name = "text", .type = OPT_TEXT },
    { .name = "secret", .type = OPT_SECRET, .flags = OPT_OR_LIST },
    { .name = "template", .type = OPT_TEMPLATE },
    { .name = "path", .type = OPT_PATH },
    { .name = "file", .type = OPT_FILE },
    { .name = "url", .type = OPT_URL },
    { .name = "address", .type = OPT_ADDRESS },
    { .name = "network", .type = OPT_NETWORK },
    { .name = "word", .type = OPT_WORD, .fallback = "exact" },
    { .name = "name", .type = OPT_NAME },
    { .name = "bool", .type = OPT_BOOL },
    { .name = "int", .type = OPT_INT },
    { .name = "size", .type = OPT_SIZE },
    { .name = "duration", .type = OPT_DURATION },
    { .name = "rate", .type = OPT_RATE },
    { .name = "time", .type = OPT_TIME },
    { .name = "days", .type = OPT_DAYS },
    { .name = "date", .type = OPT_DATE },
    { .name = "zone", .type = OPT_ZONE },
    { .name = "cron", .type = OPT_CRON },
    { .name = "expr", .type = OPT_EXPR },
    { .name = "xml", .type = OPT_XML_PATH },
    { .name = "pointer", .type = OPT_POINTER },
    { .name = "hash", .type = OPT_HASH },
    { .name = "regex", .type = OPT_REGEX },
    { .name = "system", .type = OPT_SYSTEM },
    { .name = "doctype", .type = OPT_DOCTYPE },
    { .name = "endpoint", .type = OPT_ENDPOINT },
    { .name = "gateway", .type = OPT_GATEWAY },
    { .name = "calendar", .type = OPT_CALENDAR },
    { .name = "inner", .type = OPT_MAP, .keys = inner_keys },
    { .name = "params", .type = OPT_NAMED, .flags = OPT_FREE, .each = &named_each },
    { .name = "files", .type = OPT_LIST, .each = &file_each },
    { .name = "any", .type = OPT_ANY },
    OPTIONS(grammar_limits),
    { 0 },
};

static const struct option common[] = {
    { .name = "title", .type = OPT_TEXT },
    { 0 },
};

static struct str hostile; /* what every secret and every file is */

static bool any_secret(void *arg, struct str name, struct arena *a, struct str *ret,
                       struct err *err)
{
    (void)arg, (void)name, (void)err;
    *ret = arena_copy(a, hostile);
    return true;
}

struct round {
    struct arena a;
    struct buf json;
    struct settings there, back;
    struct config_file file;
    struct config_files files;
    struct err err;
};

static void round_done(struct round *r)
{
    arena_done(&r->a);
    buf_done(&r->json);
}

static bool there_and_back(struct round *r, const char *yaml)
{
    struct problem_list problems = PROBLEM_LIST_INIT;

    *r = (struct round){ .a = ARENA_INIT(ARENA),
                         .json = BUF_INIT(TEXT),
                         .file = { .path = STR("a.lua"), .bytes = hostile } };
    r->files = (struct config_files){ &r->file, 1 };
    r->there = (struct settings){ .node = yaml_load(str_of(yaml), &r->a, &problems),
                                  .common = common,
                                  .own = own,
                                  .secret = any_secret,
                                  .files = &r->files,
                                  .arena = &r->a };
    bool read = problems.count == 0;

    problem_list_done(&problems);
    return read && settings_json(&r->there, &r->json, &r->err) &&
           settings_of_json(buf_view(&r->json), own, &r->a, &r->back, &r->err);
}

static bool is_same(struct round *r, const char *key)
{
    struct str a = { 0 }, b = { 0 };
    bool ok = option_find(own, str_of(key))->type == OPT_FILE
                  ? settings_file(&r->there, key, &a, &r->err) &&
                        settings_file(&r->back, key, &b, &r->err)
                  : settings_text(&r->there, key, &a, &r->err) &&
                        settings_text(&r->back, key, &b, &r->err);

    return ok && (a.ptr == NULL) == (b.ptr == NULL) && str_eq(a, b);
}

static const char whole[] = "text: ' a: \"b\" # c '\n"
                            "secret: secret:x\n"
                            "template: '${id}-${secret:x}'\n"
                            "path: ./out\n"
                            "file: a.lua\n"
                            "url: http://h/${secret:x}\n"
                            "address: 127.0.0.1:1\n"
                            "network: 10.0.0.0/8\n"
                            "name: n\n"
                            "bool: true\n"
                            "int: 12\n"
                            "size: 2 MiB\n"
                            "duration: 250ms\n"
                            "rate: 5/s\n"
                            "time: '22:00'\n"
                            "days: mon-fri\n"
                            "date: 2026-12-24\n"
                            "zone: Europe/Berlin\n"
                            "cron: '0 2 * * *'\n"
                            "expr: 'json:/a~1b'\n"
                            "xml: /a/b\n"
                            "pointer: /a\n"
                            "hash: $argon2id$x\n"
                            "regex: '\\d+ \"${1}'\n"
                            "system: s\n"
                            "doctype: '*'\n"
                            "endpoint: e\n"
                            "gateway: g\n"
                            "calendar: c\n"
                            "inner: { most: 2 KiB, schema: a.lua }\n"
                            "params: { 'x y': '${secret:x}', b: c }\n"
                            "files: [ a.lua, a.lua ]\n"
                            "any: [ { deep: [ 'null', ~, 1 ] } ]\n"
                            "title: not for the process\n"
                            "limits: { time: 5s }\n";

static void check_nested(struct round *r)
{
    struct settings inner = settings_below(&r->back, "inner");
    const struct yaml_node *params = yaml_get(r->back.node, "params");
    const struct yaml_node *files = yaml_get(r->back.node, "files");
    struct str text;
    int64_t n = 0;

    CHECK(settings_int(&inner, "most", &n, &r->err) && n == 2048);
    CHECK(settings_file(&inner, "schema", &text, &r->err) && str_eq(text, hostile));
    CHECK(settings_expand(&r->back, yaml_get(params, "x y"), &text, &r->err));
    CHECK(str_eq(text, hostile));
    CHECK(files != NULL && files->count == 2);
    CHECK(settings_content(&r->back, files->last, &text, &r->err) && str_eq(text, hostile));
}

TEST(settings_json_keeps_every_type)
{
    const struct option *o;
    struct round r;
    int64_t n = 0;
    bool b = false;

    hostile = STR("s3cr3t");
    CHECK(there_and_back(&r, whole));
    for (struct option_walk w = { own }; (o = option_next(&w)) != NULL;)
        if (o->type < OPT_MAP)
            CHECK(is_same(&r, o->name));
    CHECK(settings_int(&r.back, "size", &n, &r.err) && n == 2 << 20);
    CHECK(settings_int(&r.back, "int", &n, &r.err) && n == 12);
    CHECK(settings_duration(&r.back, "duration", &n, &r.err) && n == 250000);
    CHECK(settings_bool(&r.back, "bool", &b, &r.err) && b);
    check_nested(&r);
    CHECK(yaml_get(r.back.node, "title") == NULL && yaml_get(r.back.node, "limits") == NULL);
    round_done(&r);
}

/* The text is JSON for others too. */
TEST(settings_json_is_json)
{
    json_error_t error;
    struct round r;

    hostile = STR("\"\\\n\t\r \xc3\xa4 \xf0\x9f\x98\x80");
    CHECK(there_and_back(&r, whole));
    json_t *j = json_loadb(r.json.ptr, r.json.len, JSON_REJECT_DUPLICATES, &error);

    CHECK(j != NULL && json_is_object(j));
    CHECK(str_eq(str_of(json_string_value(json_object_get(j, "file"))), hostile));
    CHECK(str_is(str_of(json_string_value(json_object_get(j, "int"))), "12"));
    json_decref(j);
    round_done(&r);
}

/* Contents from outside come back byte for byte, and nothing in them is taken for a reference, a
 * number, a null or a part of the notation. */
TEST(settings_json_keeps_hostile_contents)
{
    static const struct str cases[] = {
        STR_INIT(""),
        STR_INIT("null"),
        STR_INIT("~"),
        STR_INIT("secret:other"),
        STR_INIT("${secret:x}${env:HOME}${file:/etc/passwd}"),
        STR_INIT("${"),
        STR_INIT("\"},\"file\":\"other"),
        STR_INIT("{ base64: eA== }"),
        STR_INIT("'\"\\\\\" # : - & * ! | > % @ `"),
        STR_INIT(" leading and trailing \n\n "),
        STR_INIT("a\n\n  b\r\nc\td"),
        STR_INIT("\xef\xbb\xbf-bom"),
        STR_INIT("a\xc2\x85-\xe2\x80\xa8-\xe2\x80\xa9-"),
        STR_INIT("\xc2\x80\xc2\x9f\xc2\xa0"),
        STR_INIT("\xef\xbf\xbe\xef\xbf\xbf\xef\xbf\xbd"),
        STR_INIT("\x01\x1b[31m\x7f"),
        STR_INIT("latin \xe4\xf6"),
        STR_INIT("\xed\xa0\x80\xff\xfe\xc0\x80"),
        STR_INIT("\xf4\x8f\xbf\xbf"),
    };
    const char *yaml = "{ secret: secret:x, file: a.lua, text: '<${secret:x}>' }";

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct round r;
        struct str text;

        hostile = cases[i];
        CHECK(there_and_back(&r, yaml));
        CHECK(is_same(&r, "secret") && is_same(&r, "file") && is_same(&r, "text"));
        CHECK(settings_file(&r.back, "file", &text, &r.err) && str_eq(text, hostile));
        round_done(&r);
    }
}

TEST(settings_json_keeps_a_file_with_nul)
{
    struct round r;
    struct str text;

    hostile = STR("\x1bLua\0\0\1");
    CHECK(there_and_back(&r, "file: a.lua"));
    CHECK(settings_file(&r.back, "file", &text, &r.err) && str_eq(text, hostile));
    round_done(&r);
    CHECK(!there_and_back(&r, "secret: secret:x") && r.err.kind == ERR_CONFIG);
    CHECK(strstr(r.err.text, "`secret`: the value is not a text") != NULL);
    round_done(&r);
}

TEST(settings_json_keeps_a_mebibyte)
{
    static const unsigned char fills[] = { 'x', '"', '\n', 0x01, 0xff, 0 };

    for (size_t i = 0; i < sizeof fills; i++) {
        AUTO(buf_done) struct buf big = BUF_INIT(CONFIG_FILE_BYTES);
        struct round r;
        struct str text;

        CHECK(buf_reserve(&big, CONFIG_FILE_BYTES, &r.err));
        memset(big.ptr, fills[i], CONFIG_FILE_BYTES);
        buf_added(&big, CONFIG_FILE_BYTES);
        hostile = buf_view(&big);
        CHECK(there_and_back(&r, "file: a.lua"));
        CHECK(settings_file(&r.back, "file", &text, &r.err) && str_eq(text, hostile));
        round_done(&r);
        CHECK(!there_and_back(&r, "files: [ a.lua, a.lua, a.lua, a.lua, a.lua ]"));
        CHECK(r.err.kind == ERR_CONFIG && strstr(r.err.text, "larger than 4 MiB") != NULL);
        round_done(&r);
    }
}

TEST(settings_json_of_bare_and_of_no_values)
{
    struct round r;
    struct str text;

    CHECK(there_and_back(&r, "just this"));
    CHECK(str_is(buf_view(&r.json), "{\"text\":\"just this\"}"));
    CHECK(settings_text(&r.back, "text", &text, &r.err) && str_is(text, "just this"));
    CHECK(settings_text(&r.back, "word", &text, &r.err) && str_is(text, "exact"));
    round_done(&r);
    CHECK(there_and_back(&r, "[a, b]"));
    CHECK(str_is(buf_view(&r.json), "{\"text\":[\"a\",\"b\"]}"));
    round_done(&r);
    CHECK(there_and_back(&r, "~") && str_is(buf_view(&r.json), "{}"));
    round_done(&r);
    CHECK(there_and_back(&r, "{ text: ~, path: }") && str_is(buf_view(&r.json), "{}"));
    CHECK(!settings_has(&r.back, "text"));
    r.there.node = NULL;
    buf_clear(&r.json);
    CHECK(settings_json(&r.there, &r.json, &r.err) && str_is(buf_view(&r.json), "{}"));
    round_done(&r);
}

TEST(settings_json_refuses_what_is_missing)
{
    struct round r;
    struct str text;

    CHECK(!there_and_back(&r, "file: b.lua") && r.err.kind == ERR_CONFIG);
    CHECK(strstr(r.err.text, "`file`: the file b.lua is not stored with this version") != NULL);
    CHECK(!settings_file(&r.there, "file", &text, &r.err));
    r.there.files = NULL;
    CHECK(!settings_file(&r.there, "file", &text, &r.err));
    round_done(&r);
    CHECK(!there_and_back(&r, "params: { \"a\\x01b\": c }") && r.err.kind == ERR_CONFIG);
    CHECK(strstr(r.err.text, "control characters") != NULL);
    round_done(&r);
}

TEST(settings_name_the_file_of_an_error)
{
    static const struct {
        const char *said, *want;
    } cases[] = {
        { "`file`: line 2: x", "`file` a.lua: line 2: x" },
        { "`files`: line 2: x", "`files`: line 2: x" },
        { "`text`: x", "`text`: x" },
        { "`file", "`file" },
        { "", "" },
        { "line 2 of `file`", "line 2 of `file`" },
    };
    struct round r;

    hostile = STR("x");
    CHECK(there_and_back(&r, "{ file: a.lua, text: x }"));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err err = { 0 };

        (void)err_set(&err, ERR_CONFIG, 7, "%s", cases[i].said);
        settings_name_file(&r.there, &err);
        CHECK(strcmp(err.text, cases[i].want) == 0 && err.kind == ERR_CONFIG && err.sys == 7);
    }
    round_done(&r);
}

TEST(settings_name_the_file_of_a_list)
{
    static const struct {
        const char *said, *want;
    } cases[] = {
        { "`file`: number 2: x", "`file` a.lua: x" },
        { "`file`: number 3: x", "`file`: number 3: x" },
        { "`file`: x", "`file`: x" },
        { "`file`: number", "`file`: number" },
    };
    struct round r;

    hostile = STR("x");
    CHECK(there_and_back(&r, "{ file: [a.lua, a.lua], text: x }"));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct err err = { 0 };

        (void)err_set(&err, ERR_CONFIG, 7, "%s", cases[i].said);
        settings_name_file(&r.there, &err);
        CHECK(strcmp(err.text, cases[i].want) == 0 && err.kind == ERR_CONFIG && err.sys == 7);
    }
    round_done(&r);
}

TEST(settings_of_json_refuse_what_is_none)
{
    static const char *const cases[] = { "", "[]", "x", "{\"a\":1", "{\"a\":1,\"a\":2}", "&a {}" };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
        struct settings s;
        struct err err = { 0 };
        bool ok = settings_of_json(str_of(cases[i]), own, &a, &s, &err);

        CHECK(ok == (i == 0)); /* no text is no options */
        CHECK(ok || err.kind == ERR_CONFIG);
    }
}

/* Damaged on the way: an error, never other bytes. */
TEST(settings_of_json_check_base64)
{
    static const char *const cases[] = {
        "{\"file\":{\"base64\":\"!\"}}",
        "{\"file\":{\"base64\":[]}}",
        "{\"file\":{\"other\":\"eA==\"}}",
        "{\"file\":{\"base64\":\"eA==\",\"more\":1}}",
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
        struct settings s;
        struct err err = { 0 };
        struct str text;

        CHECK(settings_of_json(str_of(cases[i]), own, &a, &s, &err));
        CHECK(!settings_file(&s, "file", &text, &err) && err.kind == ERR_CONFIG);
        CHECK(!settings_text(&s, "file", &text, &err) && err.kind == ERR_CONFIG);
    }
}

int main(void)
{
    return test_main();
}
