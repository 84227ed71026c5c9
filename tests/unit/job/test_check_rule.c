/* What the configuration says of jobs that check databases: mistakes with their remedies, and what
 * becomes of it. */
#include "job/check_rule.h"

#include "app/registry.h"
#include "base/auto.h"
#include "base/clock.h"
#include "core/config.h"
#include "core/grammar.h"
#include "job/check_alert.h"
#include "test.h"

#define BASES                                        \
    "databases:\n"                                   \
    "  shop: { kind: postgres, dsn: secret:shop }\n" \
    "  mirror: { kind: sqlite, path: /srv/m.db, timeout: 5s }\n"
#define JOB(keys)    BASES "jobs:\n  c: { kind: check, every: 1h, " keys " }\n"
#define CHECKS(list) JOB("database: shop, checks: [ " list " ]")
#define CHECK1       "{ duplicates: t, columns: a }, "
#define CHECK10      CHECK1 CHECK1 CHECK1 CHECK1 CHECK1 CHECK1 CHECK1 CHECK1 CHECK1 CHECK1

static const struct config_options options = { .connectors = &registry,
                                               .ask_zones = true,
                                               .refuse = true };

static struct config *load(const char *text, struct config_report *report)
{
    *report = (struct config_report)CONFIG_REPORT_INIT;
    return config_load(str_of(text), "t", &options, report);
}

static bool secret(void *arg, struct str name, struct arena *a, struct str *ret, struct err *err)
{
    (void)arg;
    (void)err;
    *ret = str_of(arena_printf(a, "host=%.*s password=hush", STR_ARG(name)));
    return true;
}

static bool read_job(const struct config *c, struct arena *a, struct check_spec *ret,
                     struct err *err)
{
    const struct settings s = { .node = c->jobs[0].node,
                                .common = grammar_job,
                                .own = check_rule_options,
                                .secret = secret,
                                .connectors = &registry,
                                .arena = a };

    return check_rule_read(&s, ret, err);
}

TEST(check_rules_become_what_is_looked_for)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    AUTO(config_report_done) struct config_report report;
    struct config *c =
        load(CHECKS("{ duplicates: customer, columns: [email, country], most: 3 }, { orphans: "
                    "s.line, columns: order_id, in: orders, keys: id, where: { state: open } }, { "
                    "older: outbox, column: at, than: 2h, empty: [sent, gone], zone: "
                    "Europe/Berlin }, { counts: t, with: mirror, to: u, apart: 7 }, { counts: t, "
                    "with: mirror }, { orphans: line, columns: [a], in: b }"),
             &report);
    struct check_spec spec;
    struct err err = { 0 };

    CHECK(c != NULL && report.warnings.count == 0);
    CHECK(read_job(c, &a, &spec, &err));
    CHECK(spec.rule_count == 6 && spec.base_count == 2 && spec.examples == 5);
    CHECK(str_is(spec.bases[0].address.name, "shop") &&
          str_is(spec.bases[1].address.name, "mirror"));
    CHECK(str_is(spec.bases[0].address.dsn, "host=shop password=hush"));
    CHECK(spec.bases[1].address.timeout_us == 5 * CLOCK_S);
    CHECK(strcmp(spec.bases[1].type->kind.name, "sqlite") == 0);
    const struct check_rule *r = spec.rules;

    CHECK(r[0].kind == SOUGHT_DUPLICATES && r[0].most == 3 && r[0].column_count == 2);
    CHECK(str_is(r[0].title, "duplicates: customer (email, country)"));
    CHECK(r[1].kind == SOUGHT_ORPHANS && r[1].most == 0 && r[1].key_count == 1);
    CHECK(str_is(r[1].title, "orphans: s.line (order_id) in orders"));
    CHECK(r[1].value_count == 1 && str_is(r[1].names[0], "state") &&
          str_is(r[1].values[0], "open"));
    CHECK(r[2].kind == SOUGHT_OLDER && r[2].than_us == 7200LL * CLOCK_S && r[2].empty_count == 2);
    CHECK(str_is(r[2].title, "older: outbox (at)") && str_is(r[2].columns[0], "at"));
    CHECK(r[3].kind == SOUGHT_ROWS && r[3].other == 1 && str_is(r[3].in, "u") && r[3].most == 7);
    CHECK(str_is(r[3].title, "counts: t with u of mirror"));
    CHECK(str_is(r[4].in, "t") && r[4].most == 0 && r[5].key_count == 0);
    config_unref(c);
}

TEST(check_rules_with_mistakes_are_refused)
{
    static const struct {
        const char *text, *why, *hint;
    } cases[] = {
        { JOB("checks: [ { duplicates: t, columns: a } ]"), "needs `database`", "databases" },
        { JOB("database: shop"), "needs `checks`", "at most 50" },
        { JOB("database: shap, checks: [ { duplicates: t, columns: a } ]"),
          "there is no database `shap`", "did you mean `shop`?" },
        { JOB("database: berlin/shop, checks: [ { duplicates: t, columns: a } ]"),
          "a database of a peer", "databases" },
        { JOB("database: shop, checks: []"), "the list `checks` is empty", "" },
        { JOB("database: shop, examples: 11, checks: [ { duplicates: t, columns: a } ]"),
          "the most is 10", "" },
        { JOB("database: shop, chekcs: [], checks: [ { duplicates: t, columns: a } ]"),
          "unknown key `chekcs`", "`checks`" },
        { CHECKS("{ columns: a }"), "is not complete", "duplicates, orphans, older, counts" },
        { CHECKS("{ duplicates: t, orphans: t, columns: a, in: b }"), "has both", "keep one" },
        { CHECKS("{ duplicates: t, columns: a, moost: 1 }"), "unknown key `moost`", "`most`" },
        { CHECKS("{ duplicates: t }"), "a check for `duplicates` needs `columns`", "[email]" },
        { CHECKS("{ duplicates: t, columns: [] }"), "`columns` is empty", "" },
        { CHECKS("{ duplicates: t, columns: [a, b, a] }"), "names column `a` twice", "once" },
        { CHECKS("{ duplicates: t, columns: a, in: u }"),
          "`in` is not used by a check for `duplicates`", "leave it out" },
        { CHECKS("{ orphans: t, columns: a }"), "needs `in`", "such as in: orders" },
        { CHECKS("{ orphans: t, columns: [a, b], in: u, keys: c }"),
          "`columns` are 2, and `keys` 1", "in that order" },
        { CHECKS("{ older: t, column: a }"), "needs `than`", "2h" },
        { CHECKS("{ older: t, than: 1h }"), "needs `column`", "created_at" },
        { CHECKS("{ older: t, column: a, than: 2 hours }"), "`than` cannot be `2 hours`", "ms s" },
        { CHECKS("{ older: t, column: a, than: 1h, zone: Europe/Berlim }"),
          "does not know the time zone", "Europe/Berlin" },
        { CHECKS("{ counts: t }"), "needs `with`", "with: mirror" },
        { CHECKS("{ counts: t, with: miror }"), "there is no database `miror`", "`mirror`" },
        { CHECKS("{ counts: t, with: mirror, most: 3 }"), "`most` is not used", "`apart`" },
        { CHECKS("{ counts: t, with: shop }"), "compared with itself", "`to`" },
        { CHECKS("{ counts: t, with: shop, to: t }"), "compared with itself", "`to`" },
        { CHECKS("{ duplicates: t, columns: a, apart: 3 }"), "`apart` is not used", "`most`" },
        { CHECKS("{ duplicates: t, columns: a, most: -1 }"), "whole number", "" },
        { CHECKS("{ duplicates: t, columns: a, most: 1000001 }"), "the most is 1000000", "" },
        { CHECKS("{ duplicates: t, columns: a, where: [b] }"), "`where` cannot be a list", "" },
        { CHECKS(CHECK10 CHECK10 CHECK10 CHECK10 CHECK10 "{ duplicates: t, columns: a }"),
          "the job has 51 checks, and at most 50 may be", "several jobs" },
        { JOB("database: shop, parallel: 2, checks: [ { duplicates: t, columns: a } ]"),
          "run one at a time", "leave it out" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(config_report_done) struct config_report r;
        struct config *c = load(cases[i].text, &r);
        const struct problem *p = r.problems.count > 0 ? r.problems.items : NULL;
        bool said = c == NULL && p != NULL && strstr(p->message, cases[i].why) != NULL &&
                    (*cases[i].hint == '\0' ||
                     (p->hint != NULL && strstr(p->hint, cases[i].hint) != NULL)) &&
                    p->place.line > 0;

        if (!said || r.problems.count != 1)
            printf("# %s\n# %s\n# %s\n", cases[i].text, p != NULL ? p->message : "no problem",
                   p != NULL && p->hint != NULL ? p->hint : "no hint");
        for (size_t n = 1; n < r.problems.count; n++)
            printf("# also: %s\n", r.problems.items[n].message);
        CHECK(said && r.problems.count == 1);
        config_unref(c);
    }
}

TEST(check_rules_as_many_as_may_be)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(4 << 20);
    AUTO(config_report_done) struct config_report report;
    struct config *c = load(
        CHECKS(CHECK10 CHECK10 CHECK10 CHECK10 CHECK10 /* a comma at the end is fine */), &report);
    struct check_spec spec;
    struct err err = { 0 };

    CHECK(c != NULL && read_job(c, &a, &spec, &err) && spec.rule_count == 50);
    config_unref(c);
}

TEST(check_jobs_have_the_databases_that_they_name_and_no_other)
{
    AUTO(config_report_done) struct config_report report;
    struct config *c = load(BASES "  third: { kind: sqlite, path: /srv/n.db }\n"
                                  "jobs:\n"
                                  "  a: { kind: check, every: 1h, database: shop, checks: [ { "
                                  "counts: t, with: mirror } ] }\n"
                                  "  b: { kind: note, every: 1h }\n",
                            &report);

    CHECK(c != NULL && c->job_count == 2);
    const struct yaml_node *bases = yaml_get(c->jobs[0].node, "databases");

    CHECK(bases != NULL && bases->count == 2 && yaml_get(bases, "shop") != NULL);
    CHECK(yaml_get(bases, "mirror") != NULL && yaml_get(c->jobs[0].node, "every") != NULL);
    CHECK(yaml_get(c->jobs[1].node, "databases") == NULL);
    config_unref(c);
}

TEST(check_states_are_read_as_they_are_written)
{
    AUTO(buf_done) struct buf text = BUF_INIT(10000);
    struct check_state s;
    struct err err = { 0 };

    CHECK(check_state_read(STR(""), &s, &err) && s.found == 0 && s.message[0] == '\0');
    check_state_write(2, "two \"things\"", STR("[]"), &text);
    CHECK(check_state_read(buf_view(&text), &s, &err) && s.found == 2);
    CHECK(strcmp(s.message, "two \"things\"") == 0);
    CHECK(!check_state_read(STR("7"), &s, &err) && err.kind == ERR_PERMANENT);
    CHECK(!check_state_read(STR("{\"found\": \"x\", \"message\": \"\"}"), &s, &err));
    CHECK(!check_state_read(STR("{\"found\": 1}"), &s, &err));
}

int main(void)
{
    return test_main();
}
