#include "link/link_settings.h"

#include "app/registry.h"
#include "base/auto.h"
#include "base/clock.h"
#include "core/config.h"
#include "core/grammar.h"
#include "test.h"

enum { ARENA = 16 << 20 };

static bool find_secret(void *arg, struct str name, struct arena *a, struct str *ret,
                        struct err *err)
{
    (void)arg;
    if (!str_is(name, "erp"))
        return err_set(err, ERR_CONFIG, 0, "there is no secret %s", name.ptr);
    *ret = arena_copy(a, STR("host=erp password=hush"));
    return true;
}

static void config_done(struct config **c)
{
    config_unref(*c);
}

static struct config *load(const char *text)
{
    static const struct config_options options = { .connectors = &registry };
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
    struct config *c = config_load(str_of(text), "/srv/waybill.yaml", &options, &report);

    if (c == NULL)
        (void)printf("# %s\n", report.problems.items[0].message);
    return c;
}

static struct settings base(const struct config *c, struct arena *a)
{
    return (struct settings){
        .file = c->file, .secret = find_secret, .connectors = &registry, .arena = a
    };
}

static bool verify_of(const struct config *c, struct arena *a, const char *job,
                      struct link_verify *ret, struct err *err)
{
    struct settings s = base(c, a);

    for (size_t i = 0; i < c->job_count; i++)
        if (strcmp(c->jobs[i].name, job) == 0)
            s.node = c->jobs[i].node;
    return s.node != NULL && link_settings_verify(&s, ret, err);
}

TEST(settings_of_a_table_that_says_nothing)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    AUTO(config_done)
    struct config *c = load("databases:\n"
                            "  erp: { kind: postgres, dsn: secret:erp }\n"
                            "  mirror: { kind: sqlite, path: bases/mirror.db }\n"
                            "links: { l: { from: erp, to: mirror, tables: { s.t: {} } } }\n");
    struct link_spec spec;
    struct err err = { 0 };

    CHECK(c != NULL);
    const struct settings s = base(c, &a);

    CHECK(link_settings_table(c, &s, STR("l"), STR("s.t"), &spec, &err));
    CHECK(str_is(spec.link, "l") && str_is(spec.table, "s.t"));
    CHECK(str_is(spec.source.table, "s.t") && str_is(spec.dest.table, "s.t"));
    CHECK(strcmp(spec.source.type->kind.name, "postgres") == 0);
    CHECK(strcmp(spec.dest.type->kind.name, "sqlite") == 0);
    CHECK(str_is(spec.source.address.name, "erp") && str_is(spec.dest.address.name, "mirror"));
    CHECK(str_is(spec.source.address.dsn, "host=erp password=hush"));
    CHECK(spec.source.address.path.len == 0 && spec.dest.address.dsn.len == 0);
    CHECK(str_is(spec.dest.address.path, "/srv/bases/mirror.db"));
    CHECK(spec.source.address.timeout_us == 60 * CLOCK_S && spec.source.address.call == NULL);
    CHECK(spec.wish.count == 0 && spec.capture.kind == CAPTURE_JOURNAL);
    CHECK(spec.deletes_most == 1000 && spec.deletes_share == 50);
    CHECK(spec.batch_bytes == 80000 && spec.quarantine_most == 1000);
    CHECK(!link_settings_table(c, &s, STR("l"), STR("t"), &spec, &err));
    CHECK(err.kind == ERR_CONFIG && strstr(err.text, "l/t") != NULL);
}

static const struct fit_wish_column *wish(const struct link_spec *s, const char *name)
{
    for (size_t i = 0; i < s->wish.count; i++)
        if (str_is(s->wish.columns[i].name, name))
            return &s->wish.columns[i];
    return NULL;
}

TEST(settings_of_a_table_that_says_all)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    AUTO(config_done)
    struct config *c =
        load("databases:\n"
             "  erp: { kind: postgres, dsn: secret:erp, timeout: 5s }\n"
             "links:\n"
             "  l:\n"
             "    from: erp\n"
             "    to: erp\n"
             "    deletes: { most: 7, share: 0.5% }\n"
             "    message_limit: 64 KiB\n"
             "    quarantine: { most: 3 }\n"
             "    tables:\n"
             "      t: { to: u, cast: { a: dec, b: json }, round: { a: 2, c: 0 }, ignore: [ d ],\n"
             "           capture: column, column: at, safety: 2m }\n"
             "    verify:\n"
             "      - { mode: sample, share: 2%, every: 1h, rate: 5000 }\n"
             "      - { every: 1d, repair: on, most: 9 }\n"
             "      - { mode: count, every: 1m }\n");
    struct link_spec spec;
    struct link_verify v;
    struct err err = { 0 };

    CHECK(c != NULL);
    const struct settings s = base(c, &a);

    CHECK(link_settings_table(c, &s, STR("l"), STR("t"), &spec, &err));
    CHECK(str_is(spec.source.table, "t") && str_is(spec.dest.table, "u"));
    CHECK(spec.dest.address.timeout_us == 5 * CLOCK_S);
    CHECK(spec.dest.address.connect_timeout_us == 10 * CLOCK_S);
    CHECK(spec.wish.count == 4 && wish(&spec, "a")->cast == CELL_DEC);
    CHECK(wish(&spec, "a")->digits == 2 && wish(&spec, "b")->cast == CELL_JSON);
    CHECK(wish(&spec, "b")->digits == -1 && wish(&spec, "c")->digits == 0);
    CHECK(wish(&spec, "c")->cast == CELL_NULL && wish(&spec, "d")->ignore);
    CHECK(spec.capture.kind == CAPTURE_COLUMN && str_is(spec.capture.column, "at"));
    CHECK(spec.capture.safety_us == 120 * CLOCK_S);
    CHECK(spec.deletes_most == 7 && spec.deletes_share == 5);
    CHECK(spec.batch_bytes == 65536 && spec.quarantine_most == 3);

    CHECK(verify_of(c, &a, "l/t/verify", &v, &err));
    CHECK(v.mode == LINK_VERIFY_SAMPLE && v.share == 20 && v.rate == 5000 && !v.repair);
    CHECK(verify_of(c, &a, "l/t/verify-2", &v, &err));
    CHECK(v.mode == LINK_VERIFY_FULL && v.repair && v.most == 9 && v.rate == 0);
    CHECK(verify_of(c, &a, "l/t/verify-3", &v, &err));
    CHECK(v.mode == LINK_VERIFY_COUNT && v.most == 500);
}

/* The words of the grammar are the types there are. */
TEST(every_type_of_a_value_can_be_named)
{
    const struct option *cast = option_find(grammar_link_table, STR("cast"));
    size_t n = 0;

    CHECK(cast != NULL);
    for (; cast->each->words[n] != NULL; n++)
        CHECK(cell_type_named(str_of(cast->each->words[n])) == (enum cell_type)(n + 1));
    CHECK(n + 1 == CELL_TYPES);
}

TEST(settings_of_a_table_that_goes_both_ways)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    AUTO(config_done)
    struct config *c =
        load("databases: { one: { kind: sqlite, path: /srv/1.db }, two: { kind: sqlite, path: "
             "/srv/2.db } }\n"
             "links:\n"
             "  a: { from: one, to: two, conflict: \"version:at\", tables: { t: { to: u }, v: {} } "
             "}\n"
             "  b: { from: two, to: one, conflict: \"version:at\", tables: { u: { to: t } } }\n"
             "  c: { from: one, to: two, conflict: manual, tables: { x: {} } }\n"
             "  d: { from: two, to: one, conflict: manual, tables: { x: {} } }\n"
             "  e: { from: one, to: two, tables: { y: {} } }\n"
             "  f: { from: two, to: one, conflict: dest, tables: { y: {} } }\n");
    struct link_spec spec;
    struct err err = { 0 };

    CHECK(c != NULL);
    const struct settings s = base(c, &a);

    CHECK(link_settings_table(c, &s, STR("a"), STR("t"), &spec, &err));
    CHECK(str_is(spec.back.link, "b") && str_is(spec.back.table, "u") && !spec.back.waits);
    CHECK(spec.back.winner == SIDE_VERSION_WINS && str_is(spec.back.version, "at"));
    CHECK(link_settings_table(c, &s, STR("b"), STR("u"), &spec, &err));
    CHECK(str_is(spec.back.link, "a") && str_is(spec.back.table, "t"));
    CHECK(link_settings_table(c, &s, STR("a"), STR("v"), &spec, &err) && spec.back.link.len == 0);
    CHECK(link_settings_table(c, &s, STR("d"), STR("x"), &spec, &err));
    CHECK(spec.back.winner == SIDE_ORDER_WINS && spec.back.waits);
    CHECK(link_settings_table(c, &s, STR("e"), STR("y"), &spec, &err));
    CHECK(spec.back.winner == SIDE_SOURCE_WINS && str_is(spec.back.link, "f"));
    CHECK(link_settings_table(c, &s, STR("f"), STR("y"), &spec, &err));
    CHECK(spec.back.winner == SIDE_DEST_WINS);
}

TEST(settings_of_a_table_whose_other_link_is_at_another_location)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    AUTO(config_done)
    struct config *c =
        load("databases: { one: { kind: sqlite, path: /srv/1.db } }\n"
             "peers: { berlin: { url: \"https://b\", key: k } }\n"
             "links:\n"
             "  a: { from: one, to: berlin/two, back: b, conflict: dest, tables: { t: { to: u } } "
             "}\n"
             "  c: { from: one, to: berlin/three, tables: { t: {} } }\n");
    struct link_spec spec;
    struct err err = { 0 };

    CHECK(c != NULL);
    const struct settings s = base(c, &a);

    CHECK(link_settings_table(c, &s, STR("a"), STR("t"), &spec, &err));
    CHECK(str_is(spec.back.link, "b") && str_is(spec.back.table, "u"));
    CHECK(str_is(spec.back.peer, "berlin") && str_is(spec.back.rule, "dest"));
    CHECK(spec.back.winner == SIDE_DEST_WINS);
    CHECK(link_settings_table(c, &s, STR("c"), STR("t"), &spec, &err) && spec.back.link.len == 0);
}

TEST(settings_name_the_database_that_cannot_be_used)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
    AUTO(config_done)
    struct config *c = load("databases: { a: { kind: postgres, dsn: secret:gone }, b: { kind: "
                            "mariadb, dsn: x } }\n"
                            "links: { l: { from: a, to: b, tables: { t: {} } } }\n");
    struct link_spec spec;
    struct err err = { 0 };

    CHECK(c != NULL);
    const struct settings s = base(c, &a);

    CHECK(!link_settings_table(c, &s, STR("l"), STR("t"), &spec, &err));
    CHECK(err.kind == ERR_CONFIG && strstr(err.text, "database a") != NULL);
    CHECK(strstr(err.text, "gone") != NULL);
}

int main(void)
{
    return test_main();
}
