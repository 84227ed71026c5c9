/* What is wrong in a configuration, where, and what is said about it. */
#include "app/registry.h"
#include "base/auto.h"
#include "core/config.h"
#include "test.h"

struct wrong {
    const char *text;
    unsigned line, column;
    const char *message; /* a part of it */
    const char *hint;    /* a part of it; NULL: there is one, whatever it says */
};

/* Each text has exactly this one problem. */
static bool all_as_said(const struct wrong *cases, size_t count)
{
    const struct config_options options = { .connectors = &registry };

    for (size_t i = 0; i < count; i++) {
        AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
        const struct wrong *w = &cases[i];
        struct config *config = config_load(str_of(w->text), "test.yaml", &options, &report);
        const struct problem *p = &report.problems.items[0];

        if (config == NULL && report.problems.count == 1 && p->place.line == w->line &&
            p->place.column == w->column && strstr(p->message, w->message) != NULL &&
            p->hint != NULL && (w->hint == NULL || strstr(p->hint, w->hint) != NULL))
            continue;
        printf("# %s\n", w->text);
        for (size_t k = 0; k < report.problems.count; k++, p++)
            printf("#   %u:%u %s (%s)\n", p->place.line, p->place.column, p->message,
                   p->hint != NULL ? p->hint : "");
        config_unref(config);
        return false;
    }
    return true;
}

#define CHECK_ALL(cases) CHECK(all_as_said(cases, sizeof(cases) / sizeof(cases)[0]))

TEST(walk_keys)
{
    static const struct wrong cases[] = {
        { "gatways: {}", 1, 1, "unknown key `gatways`",
          "did you mean `gateways`? allowed: node, " },
        { "gateways:\n  a: { kind: http, exract: hl7 }", 2, 20,
          "unknown key `exract` in gateway `a`", "did you mean `extract`? allowed: kind, title" },
        { "gateways: { a: { kind: http, limits: { rat: 5/s } } }", 1, 40,
          "unknown key `rat` in `limits` of gateway `a`",
          "did you mean `rate`? allowed: rate, burst, total, size" },
        { "gateways: { a: { kind: htp } }", 1, 24, "unknown kind of gateway `htp`",
          "did you mean `http`? allowed: http, file, mllp, sftp, ftp, s3, sql" },
        { "gateways:\n  a: { title: x }", 2, 3, "gateway `a` needs `kind`", "http, file" },
        { "gateways:\n  a:\n", 2, 3, "gateway `a` needs `kind`", NULL },
        { "gateways:\n  a: { kidn: http }", 2, 8, "unknown key `kidn`", "did you mean `kind`?" },
        { "gateways: { a: { kind: http, path: x } }", 1, 30, "unknown key `path`", NULL },
        { "gateways: { a: { kind: file } }", 1, 13, "gateway `a` needs `path`",
          "the folder to look in" },
        { "node: { tls: { cert: a.pem } }", 1, 9, "`tls` of `node` needs `key`", NULL },
        { "endpoints: { a: { kind: http, url: \"http://x\", probe: {} } }", 1, 48,
          "`probe` of endpoint `a` needs `url`", NULL },
        { "jobs: { j: { kind: call, url: \"http://x\" } }", 1, 9, "job `j` is not complete",
          "exactly one of these: at, every" },
        { "jobs: { j: { kind: note, at: \"@daily\", every: 1d } }", 1, 40,
          "job `j` has both `at` and `every`", NULL },
        { "x\n", 1, 1, "a configuration is a map of sections", NULL },
        { "[a]\n", 1, 1, "a configuration is a map of sections", NULL },
    };

    CHECK_ALL(cases);
}

TEST(walk_shapes)
{
    static const struct wrong cases[] = {
        { "gateways: []", 1, 11, "`gateways` cannot be a list", "map of names" },
        { "gateways: x", 1, 11, "`gateways` cannot be a single value", NULL },
        { "routes: {}", 1, 9, "`routes` cannot be a map", "a list" },
        { "node: { listen: [a] }", 1, 17, "`listen` cannot be a list", "host:port" },
        { "node: { listen: }", 1, 9, "`listen` has no value", "host:port" },
        { "systems: { a: { title: { x: y } } }", 1, 24, "`title` cannot be a map", NULL },
        { "systems: { a: { ids: x } }", 1, 22, "`ids` cannot be a single value", NULL },
        { "systems: { a: { ids: [[x]] } }", 1, 23, "`ids` cannot be a list", NULL },
        { "systems: { a: { window: [[x]] } }", 1, 26, "cannot be a list", NULL },
        { "systems: { a: { window: [] } }", 1, 25, "the list `window` is empty", NULL },
        { "gateways: { a: { kind: http, extract: hl } }", 1, 39, "`extract` cannot be this",
          "did you mean `hl7`? a map, or one of these words: hl7, x12, edifact" },
        { "gateways: { a: { kind: file, path: x, after: burn } }", 1, 46, "`after` cannot be this",
          "delete, keep" },
        { "gateways: { a: { kind: [http] } }", 1, 24, "`kind` cannot be a list", NULL },
        { "gateways: { a: { kind: } }", 1, 18, "`kind` has no value", "http, file" },
        { "stores: []", 1, 9, "`stores` cannot be a list", NULL },
    };

    CHECK_ALL(cases);
}

TEST(walk_values)
{
    static const struct wrong cases[] = {
        { "node: { listen: 8480 }", 1, 17, "`listen` is not valid: the port is missing",
          "host:port" },
        { "node: { store: \"mysql://u:hunter2@h/d\" }", 1, 16, "starts with postgres://", NULL },
        { "node: { area: moon }", 1, 15, "`area` cannot be `moon`",
          "allowed: localhost, internal, dmz, external" },
        { "node: { limits: { memory: 64 MB } }", 1, 27,
          "`memory` cannot be `64 MB`: the unit is not known", "KiB, MiB or GiB" },
        { "node: { limits: { memory: 1 MiB } }", 1, 27, "it is too small", NULL },
        { "node: { limits: { connections: 0 } }", 1, 32, "it must be more than 0", NULL },
        { "node: { limits: { connections: 9999999 } }", 1, 32, "the most is 1000000", NULL },
        { "node: { limits: { connections: many } }", 1, 32, "not a whole number", NULL },
        { "gateways: { a: { kind: http, auth: keyy } }", 1, 36, "`auth` cannot be `keyy`",
          "did you mean `key`? allowed: key, basic, none" },
        { "gateways: { a: { kind: http, idempotency: 24 } }", 1, 43,
          "`idempotency` cannot be `24`: the unit is missing", "such as 30s" },
        { "gateways: { a: { kind: http, idempotency: 61d } }", 1, 43,
          "`idempotency` cannot be `61d`: the most is 60d", NULL },
        { "gateways: { a: { kind: http, limits: { rate: 5 } } }", 1, 46, "the unit is missing",
          "such as 50/s" },
        { "gateways: { a: { kind: http, users: { u: hunter2 } } }", 1, 42,
          "`u` is not valid: it is not an argon2id hash", "$argon2id$" },
        { "gateways: { a: { kind: http, users: { u: "
          "\"$argon2id$xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
          "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\" } } "
          "}",
          1, 42, "too long", NULL },
        { "endpoints: { e: { kind: http, url: \"http://x\", probe: { url: \"http://x\", delivered: "
          "99 } "
          "} }",
          1, 85, "the least is 100", NULL },
        { "systems: { a: { window: { days: mon-fry } } }", 1, 33, "a day is not known", "mon-fri" },
        { "systems: { a: { window: { days: [mon, x] } } }", 1, 39, "a day is not known", NULL },
        { "systems: { a: { window: { open: 7pm } } }", 1, 33, "`open` cannot be `7pm`", "HH:MM" },
        { "systems: { a: { window: { zone: \"Mars Base\" } } }", 1, 33, "time zone", NULL },
        { "calendars: { c: { dates: [ 12-24, 24.12. ] } }", 1, 35,
          "cannot be `24.12.`: the month is not valid", "MM-DD" },
        { "calendars: { c: { dates: [ 2027-02-29 ] } }", 1, 28, "the month has no such day", NULL },
        { "systems: { a: { limits: { concurrency: 0 } } }", 1, 40, "more than 0", NULL },
        { "jobs: { j: { kind: note, at: \"0 25 * * *\" } }", 1, 30, "the hour is not valid",
          "five fields" },
        { "jobs: { j: { kind: note, at: \"0 0 31 2 *\" } }", 1, 30, "no month of it has such a day",
          "five fields" },
        { "endpoints: { e: { kind: file, path: o, append: yes } }", 1, 48,
          "`append` cannot be `yes`", "true or false" },
        { "endpoints: { e: { kind: file, path: \"\" } }", 1, 37, "it is empty", NULL },
        { "endpoints: { e: { kind: file, path: o, name: \"${id\" } }", 1, 46,
          "a `${` is not closed", NULL },
        { "endpoints: { e: { kind: file, path: o, name: \"${}\" } }", 1, 46, "names nothing",
          NULL },
        { "endpoints: { e: { kind: mllp, address: \"[::1]:0\" } }", 1, 40, "a port from 1", NULL },
        { "endpoints: { e: { kind: http, url: \"http://x\", outcome: { 42: retry } } }", 1, 59,
          "`42` is not an HTTP status", NULL },
        { "endpoints: { e: { kind: http, url: \"http://x\", outcome: { 409: ok } } }", 1, 64,
          "`409` cannot be `ok`", "delivered, retry" },
        { "endpoints: { e: { kind: http, url: \"http://x\", headers: { \"\": x } } }", 1, 59,
          "a name in `headers` of endpoint `e` is empty", NULL },
    };

    CHECK_ALL(cases);
}

TEST(walk_extract)
{
    static const struct wrong cases[] = {
        { "gateways: { a: { kind: http, extract: { sender: \"heder:X\" } } }", 1, 49,
          "`sender` cannot be `heder:X`", "did you mean `header`?" },
        { "gateways: { a: { kind: http, extract: { sender: acme } } }", 1, 49,
          "`sender` cannot be `acme`", "a fixed text is written `value:acme`" },
        { "gateways: { a: { kind: http, extract: { sender: json } } }", 1, 49, "a colon and more",
          NULL },
        { "gateways: { a: { kind: http, extract: { sender: [\"json:a\"] } } }", 1, 50,
          "a JSON Pointer starts with `/`", NULL },
        { "gateways: { a: { kind: http, extract: { type: \"xml:@to\" } } }", 1, 47,
          "a path starts with `/`", NULL },
        { "gateways: { a: { kind: http, extract: { sender: [] } } }", 1, 49,
          "the list `sender` is empty", NULL },
        { "gateways: { a: { kind: http, extract: { attributes: { \"a b\": \"json:/x\" } } } }", 1,
          55, "`a b`: the name has a character", NULL },
        { "gateways:\n  a:\n    kind: http\n    extract: { sender: 'regex:id=(\\d+' }", 4, 24,
          "`sender` cannot be `regex:id=(\\d+`: missing closing parenthesis, at character 8",
          NULL },
        { "gateways: { a: { kind: file, path: x, extract: { sender: 'name:[a-' } } }", 1, 58,
          "missing terminating ] for character class", NULL },
        { "gateways: { a: { kind: http, extract: { sender: 'xml:/a[x]' } } }", 1, 49,
          "in brackets stands a number from 1 on, or an attribute", NULL },
        { "types: { t: { search: { po: \"x12:6\" } } }", 1, 29, "an X12 element", NULL },
    };

    CHECK_ALL(cases);
}

TEST(walk_names)
{
    static const struct wrong cases[] = {
        { "systems: { \"a b\": {} }", 1, 12, "`a b`: the name has a character", "1 to 64 letters" },
        { "systems: { \"*\": {} }", 1, 12, "`*`: the name has a character", NULL },
        { "gateways: { \"\": { kind: http } }", 1, 13, "the name is empty", NULL },
        { "gateways: { \"..\": { kind: http } }", 1, 13, "only dots", NULL },
        { "routes: [ { name: a/b, do: [ { drop: x } ] } ]", 1, 19, "`name` cannot be `a/b`", NULL },
    };

    CHECK_ALL(cases);
}

TEST(walk_references_outside)
{
    static const struct wrong cases[] = {
        { "gateways: { a: { kind: http, limits: { rate: \"${env:R}\" } } }", 1, 46,
          "a plain value is expected", "texts, paths, URLs" },
        { "gateways: { a: { kind: http, idempotency: secret:x } }", 1, 43, "a plain value", NULL },
        { "systems: { a: { title: \"${env:X\" } }", 1, 24, "a `${` is not closed", NULL },
        { "systems: { a: { title: \"${file:}\" } }", 1, 24, "names nothing", NULL },
        { "endpoints: { e: { kind: sql, statement: x, dsn: \"secret:a b\" } }", 1, 49,
          "the name has a character", NULL },
        { "systems: { a: { title: \"x ${secret:a b}\" } }", 1, 24, "the name has a character",
          NULL },
    };

    CHECK_ALL(cases);
}

TEST(walk_templates)
{
    static const struct wrong cases[] = {
        { "endpoints: { e: { kind: file, path: o, name: \"${id}-${sendr}\" } }", 1, 46,
          "no document has the word `sendr`",
          "did you mean `sender`? allowed: id, delivery, sender, " },
        { "types: { t: { search: { po: \"json:/po\" } } }\n"
          "endpoints: { e: { kind: file, path: o, name: \"${po} ${pp}\" } }",
          2, 46, "no document has the word `pp`", "timestamp, po" },
        { "endpoints: { e: { kind: http, url: \"http://x\", "
          "headers: { X: \"${secret:s} ${nam}\" } } }",
          1, 62, "no document has the word `nam`", "did you mean `name`?" },
        { "endpoints: { e: { kind: http, url: \"http://x\", "
          "probe: { url: \"http://x/${delivry}\" } } }",
          1, 62, "no document has the word `delivry`", "did you mean `delivery`?" },
    };

    CHECK_ALL(cases);
}

TEST(walk_routes)
{
    static const struct wrong cases[] = {
        { "routes: [ { do: [ { drop: x } ] } ]", 1, 11, "route `1` needs `name`", NULL },
        { "routes: [ x ]", 1, 11, "route `1` cannot be a single value", "a map" },
        { "routes: [ { name: a, when: x, do: [ { drop: x } ] } ]", 1, 28,
          "`when` cannot be a single value", NULL },
        { "routes: [ { name: a } ]", 1, 11, "route `a` needs `do`", NULL },
        { "routes: [ { name: a, do: [] } ]", 1, 26, "the list `do` is empty", NULL },
        { "routes: [ { name: a, do: [ drop ] } ]", 1, 28, "a step is a map with one key", NULL },
        { "routes: [ { name: a, do: [ { drop: x, jq: y } ] } ]", 1, 28, "a step is a map", NULL },
        { "routes: [ { name: a, do: [ { spilt: x } ] } ]", 1, 30, "unknown service `spilt`",
          "did you mean `split`?" },
        { "services: { spill: { drop: } }\nroutes: [ { name: a, do: [ { spil: x } ] } ]", 2, 30,
          "unknown service `spil`", "did you mean `spill`?" },
        { "routes: [ { name: a, do: [ { split: {} } ] } ]", 1, 30,
          "step `split` of route `a` is not complete",
          "xml, json, hl7, x12, edifact, lines, csv, zip" },
        { "routes: [ { name: a, do: [ { split: hl7 } ] } ]", 1, 37, "`xml` cannot be `hl7`", NULL },
        { "routes: [ { name: a, do: [ { split: { json: a } } ] } ]", 1, 45, "JSON Pointer", NULL },
        { "routes: [ { name: a, do: [ { split: { lines: 0 } } ] } ]", 1, 46, "more than 0", NULL },
        { "routes: [ { name: a, do: [ { jq: { filter: x, file: y } } ] } ]", 1, 47,
          "step `jq` of route `a` has both `filter` and `file`", NULL },
        { "routes: [ { name: a, do: [ { deliver: } ] } ]", 1, 30,
          "step `deliver` of route `a` needs `to`", NULL },
        { "routes: [ { name: a, do: [ { deliver: [] } ] } ]", 1, 39, "the list `to` is empty",
          NULL },
        { "routes: [ { name: a, do: [ { deliver: { to: x } } ] } ]", 1, 45,
          "there is no endpoint `x`", "defined: nothing yet" },
        { "endpoints: { out-1: { kind: file, path: o } }\n"
          "routes: [ { name: a, do: [ { deliver: [out-1, out-2] } ] } ]",
          2, 47, "there is no endpoint `out-2`", "did you mean `out-1`? defined: out-1" },
        { "routes: [ { name: a, do: [ { drop: x }, { drop: y } ] } ]", 1, 41,
          "nothing runs after `drop`", NULL },
        { "routes: [ { name: a, when: { sender: acme }, do: [ { drop: x } ] } ]", 1, 38,
          "there is no system `acme`", NULL },
        { "types: { order: {} }\n"
          "routes: [ { name: a, when: { type: [order, ordr] }, do: [ { drop: x } ] } ]",
          2, 44, "there is no type `ordr`", "did you mean `order`?" },
        { "routes: [ { name: a, when: { regin: x }, do: [ { drop: x } ] } ]", 1, 30,
          "unknown key `regin` in `when`", "allowed: sender, receiver, type, attributes" },
        { "routes: [ { name: a, do: [ { drop: x } ], priority: urgent } ]", 1, 53,
          "`priority` cannot be `urgent`", "high, normal, low" },
        { "routes: [ { name: a, do: [ { replace: { regex: \"(\", with: x } }, { drop: x } ] } ]", 1,
          48, "`regex` cannot be `(`: missing closing parenthesis", "PCRE2" },
        { "types: { t: { search: { po: \"json:/po\" } } }\n"
          "routes: [ { name: a, when: { po: { x: y } }, do: [ { drop: x } ] } ]",
          2, 34, "`po` cannot be a map", "a text" },
        { "types: { t: { search: { po: \"json:/po\" } } }\n"
          "routes: [ { name: a, when: { po: 1, attributes: { po: 2 } }, do: [ { drop: x } ] } ]",
          2, 51, "the attribute `po` stands in `when` twice; the other one is in line 2",
          "keep one of them" },
    };

    CHECK_ALL(cases);
}

TEST(cross_checks)
{
    static const struct wrong cases[] = {
        { "systems:\n  a: { ids: [x, y] }\n  b: { ids: [y] }\n", 3, 14,
          "the id `y` is taken already, in line 2", NULL },
        { "systems:\n  a: {}\n  b: { ids: [a] }\n", 3, 14, "the id `a` is taken already", NULL },
        { "systems: { a: { ids: [x, x] } }", 1, 26, "taken already", NULL },
        { "systems: { a: { order: key } }", 1, 24, "needs `order_by`", "hl7:PID-3" },
        { "systems: { a: { order_by: \"hl7:PID-3\" } }", 1, 17, "only used with `order: key`",
          NULL },
        { "systems: { a: { window: { open: \"22:00\", close: \"22:00\" } } }", 1, 49,
          "closes when it opens", NULL },
        { "systems: { a: { window: { close: \"00:00\" } } }", 1, 34, "closes when it opens", NULL },
        { "systems: { a: { window: [ {}, { open: \"24:00\" } ] } }", 1, 39, "closes when it opens",
          NULL },
        { "systems: { a: { window: { open: \"24:00\", close: \"00:00\" } } }", 1, 49,
          "closes when it opens", NULL },
        { "systems: { a: { window: { holidays: us } } }\ncalendars: { usa: { dates: [12-25] } }", 1,
          37, "there is no calendar `us`", "did you mean `usa`? defined: usa" },
        { "systems: { a: { window: [ { holidays: [ usa, x ] } ] } }\ncalendars: { usa: { dates: "
          "[12-25] } }",
          1, 46, "there is no calendar `x`", "defined: usa" },
        { "systems: { a: { window: [ { open: \"1:00\", close: \"03:00\" } ] } }", 1, 35,
          "two digits", NULL },
        { "endpoints: { e: { kind: file, path: o, system: acme } }", 1, 48,
          "there is no system `acme`", NULL },
        { "endpoints: { e: { kind: file, path: o, retry: { first: 2m, most: 1m } } }", 1, 56,
          "`first` is longer than `most`", NULL },
        { "endpoints: { e: { kind: file, path: o, answer: { type: reply } } }", 1, 56,
          "there is no type `reply`", "`types` lists it" },
        { "gateways: { a: { kind: http, auth: basic } }", 1, 36,
          "`auth: basic` of gateway `a` needs `users`", NULL },
        { "gateways: { a: { kind: http, auth: basic, users: {} } }", 1, 36, "needs `users`", NULL },
        { "node: { listen: \"0.0.0.0:80\", insecure: true }\n"
          "gateways: { a: { kind: http, auth: none } }",
          2, 36,
          "`auth: none` of gateway `a` is for a loopback address only; this node listens on "
          "0.0.0.0",
          NULL },
    };

    CHECK_ALL(cases);
}

TEST(walk_names_every_problem_at_once)
{
    static const char text[] = "node: { listen: x }\n"
                               "gateways:\n"
                               "  a: { kind: http, auth: keyy, exract: x }\n"
                               "a: 1\n"
                               "a: 2\n";
    static const struct place places[] = { { 1, 17 }, { 3, 26 }, { 3, 32 },
                                           { 4, 1 },  { 5, 1 },  { 5, 1 } };
    const struct config_options options = { .connectors = &registry };
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;

    CHECK(config_load(STR(text), "t", &options, &report) == NULL);
    CHECK(report.problems.count == sizeof places / sizeof places[0]);
    for (size_t i = 0; i < report.problems.count; i++) {
        CHECK(report.problems.items[i].place.line == places[i].line);
        CHECK(report.problems.items[i].place.column == places[i].column);
    }
}

TEST(walk_stops_counting_hints_when_the_list_is_full)
{
    const struct config_options options = { .connectors = &registry };
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
    AUTO(buf_done) struct buf text = BUF_INIT(YAML_BYTES);

    for (int i = 0; i < 90000; i++)
        buf_printf(&text, "an-unknown-key-%d: x\n", i);
    CHECK(config_load(buf_view(&text), "t", &options, &report) == NULL);
    CHECK(report.problems.count == PROBLEM_MOST &&
          report.problems.left_out == 90000 - PROBLEM_MOST);
}

TEST(walk_shortens_a_long_list_of_names)
{
    const struct config_options options = { .connectors = &registry };
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
    AUTO(buf_done) struct buf text = BUF_INIT(YAML_BYTES);

    buf_puts(&text, "endpoints: { e: { kind: file, path: o, system: nobody } }\nsystems:\n");
    for (int i = 0; i < 500; i++)
        buf_printf(&text, "  system-%03d: {}\n", i);
    CHECK(config_load(buf_view(&text), "t", &options, &report) == NULL &&
          report.problems.count == 1);
    CHECK(strstr(report.problems.items[0].hint, "defined: system-000, system-001") != NULL);
    CHECK(strstr(report.problems.items[0].hint, " more") != NULL);
}

TEST(walk_never_shows_a_secret)
{
    static const char *const texts[] = {
        "node: { store: \"mysql://u:hunter2@h/d\" }",
        "node: { tls: { cert: c, key: [hunter2] } }",
        "gateways: { a: { kind: http, users: { u: hunter2 } } }",
        "gateways: { a: { kind: ftp, url: \"http://u:hunter2@h\", password: { x: hunter2 } } }",
        "endpoints: { a: { kind: http, url: \"u:hunter2@h\", headers: { A: [hunter2] } } }",
        "endpoints: { a: { kind: http, url: \"http://h\", headers: { A: \"hunter2${\" } } }",
        "endpoints: { a: { kind: sql, dsn: \"hunter2${env:}\", statement: x } }",
    };
    const struct config_options options = { .connectors = &registry };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;

        CHECK(config_load(str_of(texts[i]), "t", &options, &report) == NULL);
        for (size_t k = 0; k < report.problems.count; k++) {
            const struct problem *p = &report.problems.items[k];

            CHECK(strstr(p->message, "hunter2") == NULL);
            CHECK(p->hint == NULL || strstr(p->hint, "hunter2") == NULL);
        }
    }
}

/* Only where the machine is asked: a version that is in force already goes on. */
TEST(walk_zones_of_this_machine)
{
    static const char text[] =
        "systems:\n"
        "  a: { window: { zone: Europe/Berlim } }\n"
        "  b: { window: [ { zone: Europe/Berlin }, { zone: Mars/Olympus } ] }\n"
        "jobs: { j: { kind: note, at: \"@daily\", zone: UTC } }\n";
    struct config_options options = { .connectors = &registry };
    AUTO(config_report_done)
    struct config_report one = CONFIG_REPORT_INIT, two = CONFIG_REPORT_INIT;
    struct config *config = config_load(STR(text), "t", &options, &one);

    CHECK(config != NULL);
    config_unref(config);
    options.ask_zones = true;
    CHECK(config_load(STR(text), "t", &options, &two) == NULL && two.problems.count == 2);
    const struct problem *p = two.problems.items;

    CHECK(p[0].place.line == 2 && p[0].place.column == 24);
    CHECK(strstr(p[0].message, "does not know the time zone Europe/Berlim") != NULL);
    CHECK(strcmp(p[0].hint, "did you mean `Europe/Berlin`?") == 0);
    CHECK(p[1].place.line == 3 && strstr(p[1].hint, "a name such as") != NULL);
}

TEST(walk_too_many_windows)
{
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
    AUTO(buf_done) struct buf text = BUF_INIT(4096);
    const struct config_options options = { .connectors = &registry };

    buf_puts(&text, "systems: { a: { window: [");
    for (int i = 0; i < 65; i++)
        buf_puts(&text, " {},");
    buf_puts(&text, " ] } }");
    CHECK(config_load(buf_view(&text), "t", &options, &report) == NULL);
    CHECK(report.problems.count == 1);
    CHECK(strstr(report.problems.items[0].message, "at most 64 windows") != NULL);
}

int main(void)
{
    return test_main();
}
