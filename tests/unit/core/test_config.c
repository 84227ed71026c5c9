#include "core/config.h"

#include <pthread.h>
#include <stdlib.h>

#include "app/registry.h"
#include "base/auto.h"
#include "base/clock.h"
#include "core/connector.h"
#include "test.h"

static const struct config_options options = { .connectors = &registry };

static void unref(struct config **config)
{
    config_unref(*config);
}

/* The file beside this one. */
static void read_beside(const char *name, struct buf *text)
{
    static const char here[] = __FILE__;
    AUTO(buf_done) struct buf path = BUF_INIT(4096);
    struct err err;

    buf_put(&path, str_mem(here, (size_t)(strrchr(here, '/') - here) + 1));
    buf_puts(&path, name);
    FILE *file = fopen(path.ptr, "rb");

    if (file == NULL)
        return;
    if (buf_reserve(text, 60000, &err)) {
        text->len = fread(text->ptr, 1, 60000, file);
        text->ptr[text->len] = '\0';
    }
    (void)fclose(file);
}

TEST(config_defaults)
{
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
    AUTO(unref)
    struct config *c =
        config_load(STR("gateways: { a: { kind: http } }"), "x.yaml", &options, &report);

    CHECK(c != NULL && report.warnings.count == 0 && !c->has_node);
    const struct config_node *n = &c->node;

    CHECK(strcmp(n->listen.host, "127.0.0.1") == 0 && n->listen.port == 8480);
    CHECK(strcmp(n->data, "./data") == 0 && n->store == NULL && n->area == CONFIG_INTERNAL);
    CHECK(n->tls_cert == NULL && n->tls_key == NULL && n->log == CONFIG_LOG_INFO);
    CHECK(n->connections == 10000 && n->memory_bytes == 200 << 20);
    CHECK(n->disk_reserve_bytes == 1 << 30 && n->commit_queue == 4096 && n->replies == 1000);
    CHECK(c->gateway_count == 1);
    const struct config_gateway *g = &c->gateways[0];

    CHECK(strcmp(g->name, "a") == 0 && strcmp(g->kind, "http") == 0 && g->place.column == 13);
    CHECK(g->auth == CONFIG_AUTH_KEY);
    CHECK(g->rate.count == 0 && g->burst == 0 && g->size_bytes == 64 << 20);
    CHECK(g->idempotency_us == 24 * 3600 * (int64_t)CLOCK_S);
    CHECK(g->area == CONFIG_ANYWHERE && g->extract == NULL && g->user_count == 0);
}

TEST(config_reads_what_is_written)
{
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
    AUTO(unref)
    struct config *c = config_load(
        STR("node:\n"
            "  listen: '[::1]:0'\n"
            "  data: /var/lib/waybill\n"
            "  store: postgres://u@h/d\n"
            "  area: dmz\n"
            "  log: warn\n"
            "  tls: { cert: cert.pem, key: key.pem }\n"
            "  limits: { connections: 5, memory: 32 MiB, disk_reserve: 0, commit_queue: 7, "
            "replies: 3 }\n"
            "gateways:\n"
            "  a:\n"
            "    kind: http\n"
            "    auth: basic\n"
            "    users: { anna: \"$argon2id$v=19$x\", ben: \"$argon2id$v=19$y\" }\n"
            "    limits: { rate: 600/m, size: 1 KiB }\n"
            "    idempotency: 0s\n"
            "    reply: receiver\n"
            "    wait: 5s\n"
            "    area: external\n"
            "    extract: { sender: \"value:x\" }\n"
            "  b: { kind: http, auth: none, limits: { rate: 5/s, burst: 100 } }\n"),
        "x.yaml", &options, &report);

    CHECK(c != NULL && c->has_node && c->gateway_count == 2);
    const struct config_node *n = &c->node;

    CHECK(strcmp(n->listen.host, "::1") == 0 && n->listen.port == 0 && n->listen_place.line == 2);
    CHECK(strcmp(n->data, "/var/lib/waybill") == 0 && strcmp(n->store, "postgres://u@h/d") == 0);
    CHECK(n->area == CONFIG_DMZ && n->log == CONFIG_LOG_WARN);
    CHECK(strcmp(n->tls_cert, "cert.pem") == 0 && strcmp(n->tls_key, "key.pem") == 0);
    CHECK(n->connections == 5 && n->memory_bytes == 32 << 20 && n->disk_reserve_bytes == 0);
    CHECK(n->commit_queue == 7 && n->replies == 3);
    const struct config_gateway *a = config_gateway_find(c, STR("a"));
    const struct config_gateway *b = config_gateway_find(c, STR("b"));

    CHECK(a != NULL && b != NULL && config_gateway_find(c, STR("c")) == NULL);
    CHECK(a->auth == CONFIG_AUTH_BASIC && a->user_count == 2);
    CHECK(strcmp(a->users[1].name, "ben") == 0 &&
          strcmp(a->users[1].hash, "$argon2id$v=19$y") == 0);
    CHECK(a->rate.count == 600 && a->rate.per_us == 60 * (int64_t)CLOCK_S && a->burst == 10);
    CHECK(a->size_bytes == 1024 && a->idempotency_us == 0);
    CHECK(a->area == CONFIG_EXTERNAL && a->extract != NULL);
    CHECK(b->auth == CONFIG_AUTH_NONE && b->burst == 100);
}

TEST(config_whole_example_is_valid_and_warns_once_per_part)
{
    static const struct {
        unsigned line;
        const char *part;
    } warnings[] = {
        { 4, "the database is on another machine" },
    };
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
    AUTO(buf_done) struct buf text = BUF_INIT(64 * 1024);

    read_beside("whole.yaml", &text);
    AUTO(unref) struct config *c = config_load(buf_view(&text), "whole.yaml", &options, &report);

    CHECK(c != NULL && report.problems.count == 0);
    CHECK(report.warnings.count == sizeof warnings / sizeof warnings[0]);
    for (size_t i = 0; i < report.warnings.count; i++) {
        CHECK(report.warnings.items[i].place.line == warnings[i].line);
        CHECK(strstr(report.warnings.items[i].message, warnings[i].part) != NULL);
    }
    CHECK(c->system_count == 3 && c->type_count == 3 && c->gateway_count == 5);
    CHECK(c->endpoint_count == 2 && c->route_count == 2 && c->job_count == 1);
    CHECK(strcmp(c->systems[1].name, "salsify") == 0 && strcmp(c->jobs[0].kind, "call") == 0);
    CHECK(c->endpoints[0].system == NULL && strcmp(c->endpoints[1].system, "archive") == 0);
    CHECK(strcmp(c->routes[0].name, "orders") == 0 && c->routes[0].step_count == 2);
    CHECK(c->routes[1].when != NULL && c->routes[1].place.line == 47);
    CHECK(strcmp(c->node.tls_key, "${file:/run/credentials/key}") == 0); /* as written */
}

TEST(config_example_in_the_tree_is_valid_without_a_warning)
{
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
    AUTO(buf_done) struct buf text = BUF_INIT(64 * 1024);

    read_beside("../../../examples/minimal.yaml", &text);
    AUTO(unref) struct config *c = config_load(buf_view(&text), "minimal.yaml", &options, &report);

    CHECK(c != NULL && report.problems.count == 0 && report.warnings.count == 0);
    CHECK(c->gateway_count == 2 && c->gateways[1].auth == CONFIG_AUTH_NONE);
}

/* Every section and kind, each with everything it needs and little more. */
TEST(config_takes_every_kind)
{
    static const char *const texts[] = {
        "",
        "---\n",
        "gateways:\nroutes:\nsystems:\n",
        "systems: { a: , b: { window: [ { days: sat }, { days: [sun, mon], open: \"01:00\" } ] } }",
        "systems: { a: { window: { holidays: c } }, b: { window: [ { holidays: [ c, d ] } ] } }\n"
        "calendars: { c: { title: C, dates: [ 12-25, 2026-04-03 ] }, d: { dates: [ 02-29 ] } }",
        "systems: { a: { order: key, order_by: \"hl7:PID-3\", on_dead: skip, in_doubt: probe } }",
        "systems: { a: { title: \"${env:HOME}\", ids: [ 1, 2 ] } }",
        "types: { a: { priority: high, expires: 2d, delay: 10m, retention: 90d }, \"*\": }",
        "gateways: { g: { kind: file, path: ./in, after: delete } }",
        "gateways: { g: { kind: file, path: ./in, after: { move: ./done }, match: [a, b] } }",
        "gateways: { g: { kind: ftp, url: \"ftp://h/in\", user: u, password: secret:p } }",
        "gateways: { g: { kind: sftp, url: \"sftp://u@h/in\", private_key: \"${file:k}\", "
        "host_key: "
        "any } }",
        "gateways: { g: { kind: mllp, listen: \"127.0.0.1:0\", extract: hl7, reply: receiver } }",
        "gateways: { g: { kind: mllp, listen: \"${env:LISTEN}\" } }",
        "gateways: { g: { kind: sql, dsn: secret:d, query: \"select :id\", cursor: id } }",
        "gateways: { g: { kind: s3, url: \"https://s3\", bucket: b } }",
        "gateways: { g: { kind: http, reply: ack, extract: { sender: [ hl7, \"value:x\" ] } } }",
        "endpoints: { e: { kind: http, url: \"${env:URL}/in\", outcome: { 409: delivered } } }",
        "endpoints: { e: { kind: ftp, url: \"ftps://h/\", name: \"${date}-${id}\" } }",
        "endpoints: { e: { kind: sftp, url: \"sftp://u@h/\", password: secret:p, host_key: any, "
        "exists: replace, connections: 1, breaker: { failures: 3 } } }",
        "endpoints: { e: { kind: smtp, url: \"smtp://h\", from: a@b, to: [c@d, e@f] } }",
        "endpoints: { e: { kind: mllp, address: \"h:2575\", plaintext: true, outcome: { AE: retry "
        "} } }",
        "endpoints: { e: { kind: sql, dsn: secret:d, statement: \"insert\" } }",
        "endpoints: { e: { kind: s3, url: \"https://s3\", bucket: b } }",
        "endpoints: { e: { kind: content, store: main, space: s } }",
        "jobs: { j: { kind: call, url: \"https://x\", every: 1h, area: dmz } }",
        "jobs: { a: { kind: call, url: \"https://x\", at: \"@daily\" }, "
        "b: { kind: note, at: \"0 3 * * *\", zone: Europe/Berlin } }",
        "services: { s: { jq: . } }\nsubscriptions: {}\nbatches: {}\nretention: { default: 60d, "
        "dead: never }\nalerts: {}\n"
        "calendars: {}\nauth: { oidc: { issuer: \"https://op.example\", client_id: w, roles: { "
        "ops: [viewer] } } }\nstores: { m: { driver: dir } }\ncontent: {}\n"
        "peers: { p: { url: \"https://p\" } }\nlinks: {}",
        "databases: { a: { kind: postgres, dsn: secret:a }, b: { kind: sqlite, path: b.db } }\n"
        "links: { l: { from: a, to: b, tables: { t: } } }",
        "services: { mine: { jq: . } }\nroutes: [ { name: a, do: [ { mine: } ] } ]",
        "{\"gateways\": {\"a\": {\"kind\": \"http\"}}}", /* JSON is YAML */
    };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
        struct config *c = config_load(str_of(texts[i]), "t", &options, &report);

        if (c == NULL)
            printf("# %s\n#   %s\n", texts[i], report.problems.items[0].message);
        CHECK(c != NULL);
        config_unref(c);
    }
}

TEST(config_takes_every_service)
{
    static const char *const steps[] = {
        "split: /Envelope/Doc",
        "split: { json: /orders, receiver: \"json:/to\", attributes: { n: \"json:/n\" } }",
        "split: { hl7: message }",
        "split: { x12: transaction }",
        "split: { edifact: message, most: 10, bad: all }",
        "split: { lines: 100 }",
        "split: { csv: 1 }",
        "split: { zip: entries }",
        "replace: { find: \" \", with: \",\" }",
        "replace: { regex: \"a(b)\", with: \"${1}\" }",
        "jq: .a",
        "jq: { file: a.jq }",
        "xslt: a.xsl",
        "xslt: { text: x, params: { a: b } }",
        "lua: return x",
        "charset: ISO-8859-1",
        "charset: { from: UTF-8, to: UTF-16, bad: replace }",
        "compress:",
        "compress: zstd",
        "decompress: {}",
        "decompress: { format: zip, most: 1 GiB }",
        "encrypt: { to: [a, b], armor: true }",
        "decrypt: secret:key",
        "sign: { key: secret:key, passphrase: secret:p }",
        "verify: partner",
        "validate: order.xsd",
        "validate: { json: order.json }",
        "batch: { name: b, by: \"${type}\" }",
        "store: \"json:/id\"",
        "subscribe: [a, b]",
        "enrich: { set: customers, key: \"json:/customer\" }",
        "call: \"https://x/y\"",
        "route: { receiver: \"value:b\" }",
        "route: { type: [ \"json:/t\", \"value:b\" ] }",
        "drop: not for us",
        "drop:",
        "deliver: e",
        "deliver: [e, e2]",
        "deliver: { to: e }",
    };

    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
        AUTO(buf_done) struct buf text = BUF_INIT(4096);

        buf_printf(&text,
                   "endpoints: { e: { kind: file, path: o }, e2: { kind: file, path: o } }\n"
                   "batches: { b: { count: 10, do: [ { deliver: e } ] } }\n"
                   "systems: { s: {} }\nsubscriptions: { a: { to: s }, b: { to: [ s ] } }\n"
                   "routes: [ { name: r, do: [ { %s } ] } ]\n",
                   steps[i]);
        struct config *c = config_load(buf_view(&text), "t", &options, &report);

        if (c == NULL)
            printf("# %s\n#   %s\n", steps[i], report.problems.items[0].message);
        CHECK(c != NULL && c->routes[0].step_count == 1);
        config_unref(c);
    }
}

TEST(config_expands_the_node_section_when_asked)
{
    static const char text[] =
        "node: { listen: \"${env:TEST_LISTEN}\", data: \"${env:TEST_DATA}/x\", "
        "limits: { connections: \"${env:TEST_N}\" } }\n"
        "gateways: { a: { kind: http, auth: none, title: \"${env:TEST_N}\" } }";
    const struct config_options expand = { .connectors = &registry, .expand_node = true };
    AUTO(config_report_done) struct config_report plain = CONFIG_REPORT_INIT;
    AUTO(config_report_done) struct config_report good = CONFIG_REPORT_INIT;
    AUTO(config_report_done) struct config_report open = CONFIG_REPORT_INIT;
    AUTO(config_report_done) struct config_report bad = CONFIG_REPORT_INIT;

    (void)unsetenv("TEST_N");
    AUTO(unref) struct config *a = config_load(STR(text), "t", &options, &plain);

    CHECK(a != NULL && a->node.listen.host[0] == '\0' && a->node.connections == 10000);
    CHECK(strcmp(a->node.data, "${env:TEST_DATA}/x") == 0);

    CHECK(setenv("TEST_LISTEN", "127.0.0.1:99", 1) == 0 && setenv("TEST_DATA", "/d", 1) == 0);
    CHECK(setenv("TEST_N", "12", 1) == 0);
    AUTO(unref) struct config *b = config_load(STR(text), "t", &expand, &good);

    CHECK(b != NULL && b->node.listen.port == 99 && strcmp(b->node.data, "/d/x") == 0);
    CHECK(b->node.connections == 12);
    CHECK(str_is(yaml_text(yaml_get(b->gateways[0].node, "title")), "${env:TEST_N}"));

    CHECK(setenv("TEST_LISTEN", "0.0.0.0:99", 1) == 0);
    CHECK(config_load(STR(text), "t", &expand, &open) == NULL && open.problems.count == 2);

    CHECK(setenv("TEST_N", "hunter2", 1) == 0 && unsetenv("TEST_DATA") == 0);
    CHECK(setenv("TEST_LISTEN", "127.0.0.1:99", 1) == 0);
    CHECK(config_load(STR(text), "t", &expand, &bad) == NULL && bad.problems.count == 2);
    CHECK(strstr(bad.problems.items[0].message, "TEST_DATA is not set") != NULL);
    CHECK(bad.problems.items[0].place.column == 45);
    CHECK(strstr(bad.problems.items[1].message, "not a whole number") != NULL);
    CHECK(strstr(bad.problems.items[1].message, "hunter2") == NULL);
}

TEST(config_fits_node_asks_about_another_node)
{
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
    AUTO(problem_list_done) struct problem_list problems = PROBLEM_LIST_INIT;
    AUTO(unref)
    struct config *c =
        config_load(STR("gateways: { a: { kind: http, auth: none } }"), "t", &options, &report);
    struct config_node node = c->node;

    CHECK(config_fits_node(c, &node, &problems) && problems.count == 0);
    (void)snprintf(node.listen.host, sizeof node.listen.host, "10.0.0.1");
    CHECK(!config_fits_node(c, &node, &problems) && problems.count == 1);
    CHECK(problems.items[0].place.column == 36);
}

static const struct option later_keys[] = {
    OPTION("mode", OPT_WORD, "when it runs", .words = OPTION_WORDS("now", "later"),
           .planned = OPTION_WORDS("later"), .fallback = "now"),
    OPTION("soon", OPT_TEXT, "is planned", .flags = OPT_PLANNED),
    { 0 },
};
static const struct gateway_type later_gateway = {
    .kind = { .name = "later", .help = "has a word that is planned", .keys = later_keys }
};

TEST(config_warns_about_words_and_kinds)
{
    const struct gateway_type *const gateways[] = { &later_gateway, NULL };
    const struct connectors planned = { gateways, registry.services, registry.endpoints };
    const struct config_options with = { .connectors = &planned };
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
    AUTO(unref)
    struct config *c = config_load(
        STR("gateways: { a: { kind: later, mode: now }, b: { kind: later, mode: later },"
            " c: { kind: later, mode: later } }\n"
            "endpoints: { d: { kind: content, store: main, space: s },"
            " e: { kind: content, store: main, space: s } }\n"
            "routes: [ { name: a, do: [ { drop: x } ] } ]"),
        "t", &with, &report);

    CHECK(c != NULL && report.warnings.count == 2);
    CHECK(
        strstr(report.warnings.items[0].message, "`mode: later` of gateways of kind later is not"));
    CHECK(strstr(report.warnings.items[1].message, "endpoints of kind content are not run"));
}

/* What a person applies is refused, what is kept by force or stored already is warned about.
 * proves: RO13 */
TEST(config_refuses_keys_that_this_build_does_not_run)
{
    static const char *const texts[] = {
        "gateways: { a: { kind: later, soon: x } }\nroutes: [ { name: a, do: [ { drop: x } ] } ]",
        "gateways: { a: { kind: later, mode: later } }\nroutes: [ { name: a, do: [ { drop: x } ] } "
        "]",
    };
    const struct gateway_type *const gateways[] = { &later_gateway, NULL };
    const struct connectors planned = { gateways, registry.services, registry.endpoints };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        for (int refuse = 0; refuse < 2; refuse++) {
            const struct config_options with = { .connectors = &planned, .refuse = refuse != 0 };
            AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
            AUTO(unref) struct config *c = config_load(str_of(texts[i]), "t", &with, &report);

            CHECK((c == NULL) == with.refuse);
            CHECK(with.refuse
                      ? strstr(report.problems.items[0].message, "not in this build") != NULL
                      : report.warnings.count == 1);
        }
}

static void *use(void *config)
{
    for (int i = 0; i < 10000; i++)
        config_unref(config_ref(config));
    config_unref(config);
    return NULL;
}

TEST(config_is_shared_between_threads)
{
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
    struct config *c = config_load(STR("gateways: {}"), "t", &options, &report);
    pthread_t threads[4];

    CHECK(c != NULL);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, use, config_ref(c)) == 0);
    config_unref(c);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    config_unref(NULL);
}

int main(void)
{
    return test_main();
}
