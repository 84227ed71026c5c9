#include <sys/stat.h>

#include "app/registry.h"
#include "base/auto.h"
#include "core/config.h"
#include "core/grammar.h"
#include "core/link_pair.h"
#include "folder.h"
#include "test.h"

static const struct config_options options = { .connectors = &registry,
                                               .ask_zones = true,
                                               .refuse = true };

#define BASES                                                                   \
    "databases:\n"                                                              \
    "  erp: { kind: postgres, dsn: secret:erp }\n"                              \
    "  crm: { kind: mariadb, dsn: secret:crm }\n"                               \
    "  mirror: { kind: sqlite, path: /srv/mirror.db, title: M, timeout: 5s }\n" \
    "  again: { kind: postgres, dsn: secret:erp }\n"
#define APART(more)                                                                           \
    BASES PEER "links:\n  a: { from: erp, to: berlin/orders, tables: { t: {} }, " more " }\n" \
               "  other: { from: crm, to: mirror, tables: { t: {} } }\n"
#define PEER        "peers: { berlin: { url: \"https://b\", key: \"secret:k\" } }\n"
#define LINK(keys)  BASES "links:\n  l: { from: erp, to: mirror, " keys " }\n"
#define TABLE(keys) LINK("verify: [ { every: 1d } ], tables: { t: { " keys " } }")
#define RULE(keys)  LINK("tables: { t: {} }, verify: [ { " keys " } ]")
#define BOTH(one, other, table)                                                         \
    BASES "links:\n  a: { from: erp, to: mirror, " one ", tables: { t: " table " } }\n" \
          "  b: { from: mirror, to: again, " other ", tables: { t: {} } }\n"

static struct config_report load_with(const struct config_options *o, const char *text,
                                      struct config **ret)
{
    struct config_report report = CONFIG_REPORT_INIT;

    *ret = config_load(str_of(text), "t", o, &report);
    return report;
}

TEST(config_links_that_are_right)
{
    static const char *const texts[] = {
        BASES "links: {}\n",
        LINK("tables: { customer: {}, sales.order_line: }"),
        LINK("tables: { \"Größe der Dinge\": { to: \"a/b\" } }, verify: []"),
        TABLE("to: u, cast: { a: dec, \"b c\": json }, round: { d: 0, e: 6 }, ignore: [ f, g ]"),
        TABLE("capture: column, column: updated_at, safety: 5m"),
        TABLE("capture: journal"),
        LINK("title: T, every: 100ms, idle_most: 30s, retry: { first: 1s, most: 5s, for: 1m }, "
             "area: dmz, conflict: source, atomic: batch, deletes: { most: 0, share: 0.5% }, "
             "message_limit: 64 KiB, quarantine: { most: 10 }, tables: { t: {} }"),
        RULE("mode: full, at: \"0 2 * * sun\", zone: Europe/Berlin, repair: on, most: 500, rate: "
             "10000, window: { open: \"01:00\", close: \"05:00\" }"),
        RULE("mode: sample, share: 2%, every: 1h"),
        RULE("mode: count, every: 1m"),
        BASES "links:\n  a: { from: erp, to: mirror, tables: { t: {} } }\n"
              "  b: { from: mirror, to: crm, tables: { t: {} } }\n",
        BASES "links:\n  a: { from: erp, to: erp, tables: { t: { to: u } } }\n",
        BOTH("conflict: source", "conflict: dest", "{}"),
        BOTH("conflict: dest", "title: T", "{}"),
        BOTH("conflict: \"version:changed at\"", "conflict: \"version:changed at\"", "{}"),
        BOTH("conflict: manual", "conflict: manual", "{ cast: { a: dec } }"),
        BOTH("conflict: last", "conflict: last", "{}"),
        TABLE("capture: append"),
        LINK("tables: { t: {} }, atomic: group, group_most: 1000000"),
    };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct config *c;
        AUTO(config_report_done) struct config_report r = load_with(&options, texts[i], &c);

        if (r.problems.count > 0)
            printf("# %s: %s\n", texts[i], r.problems.items[0].message);
        if (r.warnings.count > 0)
            printf("# %s: %s\n", texts[i], r.warnings.items[0].message);
        CHECK(c != NULL && r.warnings.count == 0);
        config_unref(c);
    }
}

struct mistake {
    const char *text, *why, *hint;
};

/* Each is refused with these words, a hint and its place. */
static bool all_refused(const struct mistake *cases, size_t count)
{
    bool all = true;

    for (size_t i = 0; i < count; i++) {
        struct config *c;
        AUTO(config_report_done) struct config_report r = load_with(&options, cases[i].text, &c);
        const struct problem *p = r.problems.count > 0 ? r.problems.items : NULL;
        bool said = c == NULL && p != NULL && strstr(p->message, cases[i].why) != NULL &&
                    (*cases[i].hint == '\0' ||
                     (p->hint != NULL && strstr(p->hint, cases[i].hint) != NULL)) &&
                    p->place.line > 0;

        if (!said)
            printf("# %s: %zu problems, %s; %s\n", cases[i].text, r.problems.count,
                   p != NULL ? p->message : "", p != NULL && p->hint != NULL ? p->hint : "");
        all = all && said;
        config_unref(c);
    }
    return all;
}

TEST(config_links_with_mistakes_are_refused)
{
    static const struct mistake cases[] = {
        { "databases: { a: { kind: postgress, dsn: x } }", "unknown kind of database",
          "`postgres`" },
        { "databases: { a: { kind: sqlite } }", "needs `path`", "path" },
        { "databases: { a: { kind: postgres, dsn: x, path: y } }", "unknown key `path`", "dsn" },
        { BASES "links: { l: { from: erb, to: mirror, tables: { t: {} } } }",
          "there is no database `erb`", "did you mean `erp`?" },
        { BASES "links: { l: { from: erp, tables: { t: {} } } }", "link `l` needs `to`",
          "databases" },
        { BASES "links: { l: { from: erp, to: mirror } }", "link `l` needs `tables`",
          "LINK/TABLE" },
        { LINK("tables: {}"), "the link has no tables", "customer" },
        { LINK("tables:"), "the link has no tables", "customer" },
        { LINK("tables: { t: {} }, evry: 1s"), "unknown key `evry`", "`every`" },
        { LINK("tables: { a/b: {} }"), "`a/b` cannot be the name of a table", "LINK/TABLE" },
        { LINK("tables: { \"a\\nb\": {} }"), "cannot be the name of a table", "LINK/TABLE" },
        { LINK("tables: { \" a\": {} }"), "cannot be the name of a table", "LINK/TABLE" },
        { LINK("tables: { \"\": {} }"), "is empty", "write one" },
        { BASES "links: { \"l/m\": { from: erp, to: mirror, tables: { t: {} } } }",
          "a character that names cannot have", "letters" },
        { TABLE("cast: { a: number }"), "`a` cannot be `number`", "dec" },
        { TABLE("round: { a: 7 }"), "the most is 6", "" },
        { TABLE("round: { a: -1 }"), "whole number", "" },
        { TABLE("capture: trigger"), "not among the allowed words", "journal" },
        { TABLE("capture: column"), "`capture: column` needs `column`", "updated_at" },
        { TABLE("column: x"), "`column` is only used with `capture: column`", "add" },
        { TABLE("safety: 1m"), "`safety` is only used with `capture: column`", "add" },
        { LINK("tables: { t: { capture: column, column: x } }"), "needs a rule of `verify`",
          "mode: full" },
        { TABLE("ignore: [ a ], cast: { a: dec }"), "column `a` is in `ignore`, and in `cast`",
          "keep one" },
        { LINK("tables: { t: {} }, every: 1m, idle_most: 1s"), "`idle_most` is shorter", "grow" },
        { LINK("tables: { t: {} }, retry: { first: 1h, most: 1m }"), "`first` is longer", "grow" },
        { LINK("tables: { t: {} }, deletes: { share: 5 }"), "a number and `%`", "5%" },
        { LINK("tables: { t: {} }, deletes: { share: 101% }"), "the most is 100%", "5%" },
        { LINK("tables: { t: {} }, deletes: { share: 0.25% }"), "one digit behind the point",
          "5%" },
        { LINK("tables: { t: {} }, group_most: 1000000"), "`group_most` is only used with", "add" },
        { LINK("tables: { t: {} }, atomic: group, group_most: 17000000"), "the most is 16777216",
          "" },
        { LINK("tables: { t: { capture: column, column: x } }, atomic: group, verify: [ { every: "
               "1h } ]"),
          "needs a journal", "atomic: batch" },
        { BASES "links: { l: { from: mirror, to: erp, atomic: group, tables: { t: {} } } }",
          "which change is of which transaction", "atomic: batch" },
        { LINK("tables: { t: {} }, message_limit: 10"), "too small", "" },
        { BASES "links: { l: { from: erp, to: berlin/orders, tables: { t: {} } } }",
          "there is no peer `berlin`", "below `peers`" },
        { RULE("mode: full"), "is not complete", "at, every" },
        { RULE("mode: full, every: 1h, at: \"@daily\""), "has both", "keep one" },
        { LINK("tables: { t: { capture: column, column: at } }, "
               "verify: [ { mode: recent, every: 1h } ]"),
          "`mode: recent` asks the journal", "mode: sample" },
        { RULE("share: 1%, every: 1h"), "`share` is only used with `mode: sample`", "add" },
        { RULE("most: 5, every: 1h"), "`most` is only used with `repair: on`", "add" },
        { RULE("mode: count, repair: on, every: 1h"), "finds no rows", "mode: full" },
        { RULE("at: \"0 12 * * sun\", window: { days: mon-fri }"), "this time never comes",
          "window" },
        { RULE("at: \"@daily\", zone: Europe/Berlim"), "does not know the time zone",
          "Europe/Berlin" },
        { BASES "links:\n  a: { from: erp, to: mirror, tables: { t: {} } }\n"
                "  b: { from: crm, to: mirror, tables: { u: { to: t } } }\n",
          "is the destination of link `a` already", "one link" },
        { BASES "links: { a: { from: erp, to: erp, tables: { t: {} } } }",
          "cannot be its own destination", "another" },
        { BASES "links: { a: { from: erp, to: again, tables: { t: {} } } }",
          "cannot be its own destination", "another" },
        { BASES "links:\n  a: { from: erp, to: mirror, tables: { t: { to: u } } }\n"
                "  b: { from: crm, to: again, tables: { t: {} } }\n"
                "  c: { from: mirror, to: crm, tables: { u: { to: t } } }\n",
          "would come back to it", "only two links" },
        { BASES "links: { a: { from: erp, to: erp, tables: { t: { to: u }, u: { to: t } } } }",
          "would come back to it", "only two links" },
        { "jobs: { a: { kind: replicate, every: 1s } }",
          "jobs of kind `replicate` are made of `links`", "write a link" },
    };

    CHECK(all_refused(cases, sizeof cases / sizeof cases[0]));
}

TEST(config_links_to_peers_with_mistakes_are_refused)
{
    static const struct mistake cases[] = {
        { BASES PEER "links: { l: { from: erp, to: berlin/, tables: { t: {} } } }",
          "is no database of a peer", "PEER/DATABASE" },
        { BASES PEER "links: { l: { from: erp, to: berlin/a/b, tables: { t: {} } } }",
          "is no database of a peer", "PEER/DATABASE" },
        { BASES PEER "links: { l: { from: berlin/a, to: berlin/b, tables: { t: {} } } }",
          "one end of a link is a database of this location", "one of the two" },
        { BASES "peers: { berlin: { key: \"secret:k\" } }\n"
                "links: { l: { from: erp, to: berlin/b, tables: { t: {} } } }",
          "peer `berlin` cannot be asked", "url" },
        { BASES "peers: { berlin: { may: { nothing: [ read ] } } }",
          "there is no database `nothing`", "DATABASE/TABLE" },
        { BASES "peers: { berlin: { may: { erp: [ write ] } } }", "not among the allowed words",
          "install" },
        { BASES "peers: { berlin: { url: \"ftp://b\" } }", "http", "" },
    };

    CHECK(all_refused(cases, sizeof cases / sizeof cases[0]));
}

TEST(config_links_both_ways_have_to_fit)
{
    static const struct {
        const char *text, *why, *hint;
    } cases[] = {
        { LINK("tables: { t: {} }, conflict: dest"),
          "`conflict: dest` is only used where rows go both ways", "other direction" },
        { LINK("tables: { t: {} }, conflict: last"),
          "`conflict: last` is only used where rows go both ways", "other direction" },
        { BOTH("conflict: last", "conflict: manual", "{}"), "do not say alike", "`last`" },
        { BOTH("conflict: last, atomic: group", "conflict: last", "{}"), "may lose against others",
          "atomic: batch" },
        { BOTH("conflict: last", "conflict: last", "{ capture: append }"), "rows that are added",
          "capture: journal" },
        { LINK("tables: { t: {} }, conflict: newest"), "`conflict: newest` is no rule",
          "version:COLUMN" },
        { LINK("tables: { t: {} }, conflict: \"version:\""), "is no rule", "version:COLUMN" },
        { BOTH("title: T", "title: U", "{}"), "do not say alike which row wins",
          "`conflict: dest` in the other" },
        { BOTH("conflict: dest", "conflict: dest", "{}"), "do not say alike", "" },
        { BOTH("conflict: \"version:a\"", "conflict: \"version:b\"", "{}"), "do not say alike",
          "" },
        { BOTH("conflict: manual", "conflict: dest", "{}"), "do not say alike", "" },
        { BOTH("conflict: dest, verify: [ { mode: full, every: 1h } ]", "title: T",
               "{ capture: column, column: x }"),
          "does not know where a change came from", "capture: journal" },
        { BOTH("conflict: dest, verify: [ { every: 1h, repair: on } ]", "title: T", "{}"),
          "would overwrite rows of a table that goes both ways", "resync" },
        { LINK("tables: { t: {} }, back: b"), "both ends of the link are here", "leave it out" },
        { BOTH("conflict: dest, back: b", "title: T", "{}"), "both ends of the link are here",
          "found without it" },
        { APART("back: a"), "`back: a` names the link itself", "which the other location" },
        { APART("back: other"), "link `other` is here", "different names" },
        { APART("conflict: dest"), "only used where rows go both ways", "" },
        { APART("back: b, verify: [ { every: 1h, repair: on } ]"),
          "would overwrite rows of a table that goes both ways", "resync" },
        { BASES PEER "links:\n  a: { from: erp, to: berlin/o, back: x, tables: { t: {} } }\n"
                     "  b: { from: berlin/o, to: erp, conflict: dest, tables: { t: {} } }\n",
          "link `b` is here", "found without it" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct config *c;
        AUTO(config_report_done) struct config_report r = load_with(&options, cases[i].text, &c);
        const struct problem *p = r.problems.count > 0 ? r.problems.items : NULL;
        bool said = c == NULL && p != NULL && strstr(p->message, cases[i].why) != NULL &&
                    (*cases[i].hint == '\0' ||
                     (p->hint != NULL && strstr(p->hint, cases[i].hint) != NULL)) &&
                    p->place.line > 0;

        if (!said)
            printf("# %s: %zu problems, %s; %s\n", cases[i].text, r.problems.count,
                   p != NULL ? p->message : "", p != NULL && p->hint != NULL ? p->hint : "");
        CHECK(said);
        config_unref(c);
    }
}

static const struct config_entry *job(const struct config *c, const char *name)
{
    for (size_t i = 0; i < c->job_count; i++)
        if (strcmp(c->jobs[i].name, name) == 0)
            return &c->jobs[i];
    return NULL;
}

static bool has(const struct config_entry *e, const char *key, const char *value)
{
    return str_is(yaml_text(yaml_get(e->node, key)), value);
}

/* What another location answers to a link of ours. */
static const char *pairs(const char *text, const struct link_pair *pair)
{
    struct config *c;
    AUTO(config_report_done) struct config_report r = load_with(&options, text, &c);
    struct link_pair p = *pair;

    p.root = c->root;
    const char *why = link_pair_differs(&p);

    config_unref(c);
    return why;
}

TEST(config_links_apart_say_whether_they_fit)
{
    static const char here[] = BASES PEER
        "links:\n"
        "  push: { from: erp, to: berlin/orders, back: theirs, conflict: dest, tables: "
        "{ t: { to: u } } }\n"
        "  pull: { from: berlin/more, to: crm, back: other, tables: { v: { to: w } } }\n";
    const struct link_pair good = { .peer = STR("berlin"),
                                    .database = STR("erp"),
                                    .link = STR("theirs"),
                                    .table = STR("u"),
                                    .back_text = "push",
                                    .back_table_text = "t",
                                    .rule = STR("source") };
    struct link_pair p = good;

    CHECK(pairs(here, &p) == NULL);
    p.rule = STR("dest");
    CHECK(strstr(pairs(here, &p), "which row wins") != NULL);
    p = good;
    p.link = STR("others");
    CHECK(strstr(pairs(here, &p), "`back`") != NULL);
    p = good;
    p.peer = STR("bonn");
    CHECK(strstr(pairs(here, &p), "no such link") != NULL);
    p = good;
    p.database = STR("crm");
    CHECK(strstr(pairs(here, &p), "no such link") != NULL);
    p = good;
    p.database_is_source = true;
    CHECK(strstr(pairs(here, &p), "no such link") != NULL);
    p = good;
    p.back_text = "none";
    CHECK(strstr(pairs(here, &p), "no such link") != NULL);
    p = good;
    p.table = STR("t");
    CHECK(strstr(pairs(here, &p), "this table") != NULL);
    p.back_table_text = "none";
    CHECK(strstr(pairs(here, &p), "this table") != NULL);
    p = (struct link_pair){ .peer = STR("berlin"),
                            .database = STR("crm"),
                            .database_is_source = true,
                            .link = STR("other"),
                            .table = STR("w"),
                            .back_text = "pull",
                            .back_table_text = "v",
                            .rule = STR("dest") };
    CHECK(pairs(here, &p) == NULL);
}

TEST(config_links_become_jobs)
{
    struct config *c;
    AUTO(config_report_done)
    struct config_report r = load_with(
        &options,
        BASES
        "jobs: { j: { kind: note, every: 1h } }\n"
        "links:\n"
        "  l:\n"
        "    from: erp\n"
        "    to: mirror\n"
        "    area: dmz\n"
        "    retry: { most: 3s }\n"
        "    verify: [ { every: 1h }, { mode: count, at: \"0 2 * * *\", zone: Asia/Tokyo } ]\n"
        "    tables: { s.t: { to: u }, v: }\n"
        "  m: { from: erp, to: crm, every: 5s, idle_most: 1m, tables: { v: {} } }\n",
        &c);

    CHECK(c != NULL && c->job_count == 8);
    const struct config_entry *t = job(c, "l/s.t"), *m = job(c, "m/v"), *second;

    CHECK(job(c, "j") != NULL && job(c, "l/v") != NULL && job(c, "l/v/verify") != NULL &&
          job(c, "l/v/verify-2") != NULL && job(c, "l/s.t/verify") != NULL);
    second = job(c, "l/s.t/verify-2");
    CHECK(t != NULL && m != NULL && second != NULL);
    CHECK(strcmp(t->kind, CONFIG_KIND_REPLICATE) == 0 && has(t, "kind", "replicate"));
    CHECK(has(t, "every", "1s") && has(t, "suspend", "never") && has(t, "area", "dmz"));
    CHECK(has(t, "from", "erp") && has(t, "to", "mirror") && has(t, "link", "l"));
    CHECK(has(t, "table", "s.t") && t->place.line == 14);
    CHECK(str_is(yaml_text(yaml_get(yaml_get(t->node, "retry"), "first")), "1s"));
    CHECK(str_is(yaml_text(yaml_get(yaml_get(t->node, "retry"), "most")), "3s"));
    CHECK(yaml_get(t->node, "databases")->count == 2 && yaml_get(t->node, "of_rule") == NULL);
    CHECK(yaml_get(yaml_get(t->node, "databases"), "erp") != NULL);
    CHECK(has(m, "every", "5s") && has(m, "idle_most", "1m") && yaml_get(m->node, "area") == NULL);
    CHECK(strcmp(second->kind, CONFIG_KIND_VERIFY) == 0 && has(second, "at", "0 2 * * *"));
    CHECK(has(second, "zone", "Asia/Tokyo") && yaml_get(second->node, "every") == NULL);
    config_unref(c);
}

TEST(config_has_a_limit_of_jobs_of_links)
{
    static const struct config_options stored = { .connectors = &registry };
    AUTO(buf_done) struct buf text = BUF_INIT(4 << 20);
    AUTO(config_report_done) struct config_report r = CONFIG_REPORT_INIT;

    buf_puts(&text, BASES "links:\n  l:\n    from: erp\n    to: mirror\n    verify: [ { every: 1h "
                          "} ]\n    tables:\n");
    for (int i = 0; i < CONFIG_JOBS_MOST / 2 + 1; i++)
        buf_printf(&text, "      t%d: {}\n", i);
    struct config *c = config_load(buf_view(&text), "t", &options, &r);

    CHECK(c == NULL && r.problems.count == 1);
    CHECK(strcmp(r.problems.items[0].message, "there are 20002 jobs, and at most 20000 may be") ==
          0);

    AUTO(config_report_done) struct config_report again = CONFIG_REPORT_INIT;

    CHECK(config_load(buf_view(&text), "t", &stored, &again) == NULL);
    CHECK(again.problems.count == 1);
}

/* ---- files ---- */

static size_t asked(const char *folder, const char *path, const char *why)
{
    AUTO(buf_done) struct buf text = BUF_INIT(4096), file = BUF_INIT(4096);
    AUTO(config_report_done) struct config_report r = CONFIG_REPORT_INIT;

    buf_printf(&file, "%s/waybill.yaml", folder);
    buf_printf(&text,
               "node: { data: \"%s/data\", folders: [ \"%s/srv\", \"%s/data\" ] }\n"
               "databases: { d: { kind: sqlite, path: \"%s\" } }\n",
               folder, folder, folder, path);
    struct config *c = config_load(buf_view(&text), file.ptr, &options, &r);
    struct problem_list said = PROBLEM_LIST_INIT;

    if (c != NULL)
        config_ask_folders(c, &said);
    size_t count = said.count;

    if (count == 1 && strstr(said.items[0].message, why) == NULL) {
        printf("# %s\n", said.items[0].message);
        count = 2;
    }
    problem_list_done(&said);
    config_unref(c);
    return c == NULL ? 3 : count;
}

TEST(a_database_that_is_a_file_is_apart_from_the_node)
{
    AUTO(folder_done) struct folder f = folder_make();
    char a[600], b[600];

    CHECK(mkdirat(f.fd, "data", 0700) == 0 && mkdirat(f.fd, "srv", 0700) == 0);
    CHECK(close(openat(f.fd, "data/waybill.db", O_CREAT | O_WRONLY, 0600)) == 0);
    CHECK(close(openat(f.fd, "srv/mirror.db", O_CREAT | O_WRONLY, 0600)) == 0);
    CHECK(asked(f.path, "srv/mirror.db", "") == 0);
    CHECK(asked(f.path, "srv/new.db", "") == 0);
    CHECK(asked(f.path, "${env:WHO_KNOWS}", "") == 0); /* asked when it is opened */
    CHECK(asked(f.path, "data/waybill.db", "lies in the data folder") == 1);
    CHECK(asked(f.path, "data/other.db", "lies in the data folder") == 1);
    CHECK(asked(f.path, "srv/../data/other.db", "lies in the data folder") == 1);
    CHECK(asked(f.path, "/usr/share/x.db", "outside of node.folders") == 1);

    (void)snprintf(a, sizeof a, "%s/data/waybill.db", f.path);
    (void)snprintf(b, sizeof b, "%s/srv/link.db", f.path);
    CHECK(symlink(a, b) == 0);
    CHECK(asked(f.path, "srv/link.db", "lies in the data folder") == 1);
    (void)snprintf(a, sizeof a, "%s/data/none.db", f.path);
    (void)snprintf(b, sizeof b, "%s/srv/dangling.db", f.path);
    CHECK(symlink(a, b) == 0);
    CHECK(asked(f.path, "srv/dangling.db", "leads nowhere") == 1);
}

int main(void)
{
    return test_main();
}
