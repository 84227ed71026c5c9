/* Named steps, and subscriptions. */
#include "app/registry.h"
#include "base/auto.h"
#include "core/config.h"
#include "test.h"

static const struct config_options options = { .connectors = &registry, .refuse = true };

#define HEAD                                            \
    "systems: { s: {}, t: {} }\ntypes: { \"*\": {} }\n" \
    "endpoints: { e: { kind: http, system: s, url: \"http://h/\" } }\n"

static struct config *load(const char *text, struct config_report *report)
{
    AUTO(buf_done) struct buf all = BUF_INIT(1 << 20);

    buf_printf(&all, HEAD "%s", text);
    return config_load(buf_view(&all), "test", &options, report);
}

/* The words of the chain of route `i`: kinds, and their first options. */
static const char *chain_of(const struct config *c, size_t i, struct buf *out)
{
    buf_clear(out);
    for (const struct yaml_node *n = c->routes[i].steps->first; n != NULL; n = n->next)
        buf_printf(out, "%s=%s ", n->first->key->text.ptr,
                   n->first->kind == YAML_MAP ? n->first->first->text.ptr : n->first->text.ptr);
    return out->ptr;
}

TEST(services_stand_for_their_steps)
{
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
    AUTO(buf_done) struct buf out = BUF_INIT(1000);
    struct config *c = load("routes:\n"
                            "  - { name: a, when: { type: a }, do: [ tidy, { out: } ] }\n"
                            "  - { name: b, when: { type: b }, do: [ { tidy: ~ }, tidy, gone ] }\n"
                            "services:\n"
                            "  tidy: { replace: { find: x, with: y } }\n"
                            "  out: { deliver: e }\n"
                            "  gone: { drop: no use }\n",
                            &report);

    CHECK(c != NULL && report.warnings.count == 0);
    CHECK(strcmp(chain_of(c, 0, &out), "replace=x deliver=e ") == 0);
    CHECK(strcmp(chain_of(c, 1, &out), "replace=x replace=x drop=no use ") == 0);
    config_unref(c);
}

TEST(services_are_for_batches_too)
{
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
    struct config *c = load("batches: { all: { count: 10, do: [ tidy, deliver: e ] } }\n"
                            "services: { tidy: { replace: { find: x } }, in: { batch: all } }\n"
                            "routes: [ { name: a, do: [ in ] } ]\n",
                            &report);

    CHECK(c != NULL);
    const struct yaml_node *steps = yaml_get(yaml_get(yaml_get(c->root, "batches"), "all"), "do");

    CHECK(str_is(steps->first->first->key->text, "replace"));
    config_unref(c);
}

/* `line` counts from the text behind HEAD. */
static const struct {
    const char *text;
    unsigned line;
    const char *message, *hint;
} bad[] = {
    { "services: { tidy: { drop: x } }\nroutes: [ { name: a, do: [ tdy ] } ]\n", 2,
      "unknown service `tdy`", "did you mean `tidy`?" },
    { "services: { tidy: { drop: x } }\nroutes: [ { name: a, do: [ { tdy: x } ] } ]\n", 2,
      "unknown service `tdy`", "did you mean `tidy`?" },
    { "routes: [ { name: a, do: [ tidy ] } ]\n", 1, "unknown service `tidy`", "allowed: " },
    { "routes: [ { name: a, do: [ drop ] } ]\n", 1, "a step is a map with one key", "- SERVICE" },
    { "services: { tidy: { drop: x } }\nroutes: [ { name: a, do: [ tidy: y ] } ]\n", 2,
      "`tidy` has its options in `services`", "the name alone" },
    { "services: { tidy: { drop: x } }\nroutes: [ { name: a, do: [ tidy, deliver: e ] } ]\n", 2,
      "nothing runs after `drop`", "before it" },
    { "services:\n  one: { two: }\n  two: { one: }\n", 2, "unknown service `two`", "allowed: " },
    { "services: { tidy: { repalce: x } }\n", 1, "unknown service `repalce`",
      "did you mean `replace`?" },
    { "services: { tidy: { replace: { find: x, fnd: y } } }\n", 1, "unknown key `fnd`",
      "did you mean" },
    { "services: { tidy: replace }\n", 1, "a step is a map with one key", "NAME: { SERVICE" },
    { "services: { tidy: { replace: x, drop: y } }\n", 1, "a step is a map with one key", "NAME" },
    { "services: { replace: { drop: x } }\n", 1, "`replace` is a service by itself", "another" },
    { "services: { \"a b\": { drop: x } }\n", 1, "`a b`", "letters" },
    { "services: [ drop ]\n", 1, "cannot be a list", "" },
    { "services: { go: { deliver: nowhere } }\n", 1, "there is no endpoint `nowhere`", "defined" },
    { "services: { in: { batch: all } }\nbatches: { all: { count: 1, do: [ deliver: e ] } }\n"
      "routes: [ { name: a, do: [ deliver: e, in ] } ]\n",
      3, "is delivered with it, not before", "" },
    { "subscriptions: { a: { to: [ s, nobody ] } }\n", 1, "there is no system `nobody`", "" },
    { "subscriptions: { a: { when: { type: x } } }\n", 1, "needs `to`", "" },
    { "subscriptions: { a: { to: s, wen: {} } }\n", 1, "unknown key `wen`", "did you mean `when`" },
    { "subscriptions: { a: { to: s, when: { sender: x } } }\n", 1, "there is no system `x`", "" },
    { "subscriptions: { news: { to: s } }\nroutes: [ { name: a, do: [ subscribe: nws ] } ]\n", 2,
      "there is no subscription `nws`", "did you mean `news`?" },
    { "gateways: { g: { kind: http, extract: { attributes: { k: \"value:1\" } } } }\n"
      "subscriptions: { a: { to: s, when: { k: a, attributes: { k: b } } } }\n",
      2, "stands in `when` twice", "keep one of them" },
    { "subscriptions: { a: { to: s } }\nroutes: [ { name: a, do: [ subscribe: a, deliver: e ] } "
      "]\n",
      2, "nothing", "" },
};

TEST(services_and_subscriptions_are_checked)
{
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
        struct config *c = load(bad[i].text, &report);
        const struct problem *p = &report.problems.items[0];

        CHECK(c == NULL && report.problems.count >= 1);
        if (p->place.line != bad[i].line + 3 || strstr(p->message, bad[i].message) == NULL)
            printf("# %zu: line %u: %s\n", i, p->place.line, p->message);
        CHECK(p->place.line == bad[i].line + 3 && strstr(p->message, bad[i].message) != NULL);
        CHECK(strstr(p->hint != NULL ? p->hint : "", bad[i].hint) != NULL);
    }
}

/* A mistake in a service is told once, where it stands, however often it is used. */
TEST(a_mistake_in_a_service_is_told_once)
{
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;

    CHECK(load("services: { tidy: { replace: { find: x, wth: y } } }\n"
               "routes: [ { name: a, do: [ tidy, tidy, deliver: e ] } ]\n",
               &report) == NULL);
    CHECK(report.problems.count == 1 && report.problems.items[0].place.line == 4);
}

TEST(subscriptions_are_read_without_a_warning)
{
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
    struct config *c =
        load("subscriptions: { a: { to: [ s, t ], when: { type: x } }, b: { to: s } }\n"
             "routes: [ { name: r, do: [ subscribe: [ a, b ] ] } ]\n",
             &report);

    CHECK(c != NULL && report.warnings.count == 0);
    config_unref(c);
}

/* Every part and its copies have these attributes. */
TEST(the_number_of_a_part_may_stand_in_names_and_conditions)
{
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
    struct config *c = config_load(
        STR("systems: { s: {} }\nendpoints: { e: { kind: http, system: s, url: \"http://h/\","
            " headers: { X-Part: \"${part} of ${parts}\" } } }\n"
            "routes:\n  - { name: first, when: { part: \"1\" }, do: [ deliver: e ] }\n"
            "  - { name: whole, do: [ split: { lines: 1 } ] }\n"),
        "test", &options, &report);

    CHECK(c != NULL && report.problems.count == 0 && report.warnings.count == 0);
    config_unref(c);
}

/* A step `subscribe` over two subscriptions of `each` systems, `shared` of which are in both. */
static void put_subscribers(struct buf *to, int each, int shared)
{
    int all = 2 * each - shared;

    buf_puts(to, "systems: {");
    for (int i = 0; i < all; i++)
        buf_printf(to, " s%d: {},", i);
    buf_puts(to, " }\nsubscriptions: { a: { to: [");
    for (int i = 0; i < each; i++)
        buf_printf(to, " s%d,", i);
    buf_puts(to, " ] }, b: { to: [");
    for (int i = each - shared; i < all; i++)
        buf_printf(to, " s%d,", i);
    buf_puts(to, " ] } }\nroutes: [ { name: r, do: [ subscribe: [ a, b ] ] } ]\n");
}

TEST(a_step_has_a_thousand_subscribers_at_most)
{
    static const struct {
        int each, shared;
        const char *message;
    } cases[] = { { 500, 0, NULL },
                  { 501, 2, NULL },
                  { 900, 800, NULL },
                  { 501, 1, "this step has 1001 subscribers" },
                  { 600, 0, "this step has 1200 subscribers" } };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
        AUTO(buf_done) struct buf text = BUF_INIT(1 << 20);

        put_subscribers(&text, cases[i].each, cases[i].shared);
        struct config *c = config_load(buf_view(&text), "t", &options, &report);

        CHECK((c != NULL) == (cases[i].message == NULL));
        CHECK(c != NULL ||
              (report.problems.count == 1 && report.problems.items[0].place.line == 3));
        CHECK(c != NULL || strstr(report.problems.items[0].message, cases[i].message) != NULL);
        config_unref(c);
    }
}

/* Every step names every subscription several times: nobody sorts all of them. */
TEST(many_subscribers_are_counted_quickly)
{
    enum { STEPS = 300, NAMES = 300, SYSTEMS = 400 };
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
    AUTO(buf_done) struct buf text = BUF_INIT(8 << 20);

    buf_puts(&text, "types: { \"*\": {} }\nsystems: { s: {} }\nsubscriptions: { a: { to: [");
    for (int i = 0; i < SYSTEMS; i++)
        buf_puts(&text, " s,");
    buf_puts(&text, " ] } }\nroutes:\n");
    for (int i = 0; i < STEPS; i++) {
        buf_printf(&text, "  - { name: r%d, when: { type: t%d }, do: [ subscribe: [", i, i);
        for (int k = 0; k < NAMES; k++)
            buf_puts(&text, " a,");
        buf_puts(&text, " ] ] }\n");
    }
    struct config *c = config_load(buf_view(&text), "t", &options, &report);
    bool found = false;

    for (size_t i = 0; i < report.problems.count; i++)
        found |=
            strstr(report.problems.items[i].message, "too many subscribers to be counted") != NULL;
    CHECK(c == NULL && found);
}

/* Work that grows with the square of a hostile text would take minutes. */
TEST(many_services_are_found_quickly)
{
    enum { MANY = 10000 };
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
    AUTO(buf_done) struct buf text = BUF_INIT(8 << 20);
    struct config *c;

    buf_puts(&text, "services:\n");
    for (int i = 0; i < MANY; i++)
        buf_printf(&text, "  s%d: { drop: x }\n", i);
    buf_puts(&text, "routes:\n");
    for (int i = 0; i < MANY; i++)
        buf_printf(&text, "  - { name: r%d, when: { type: k%d }, do: [ s%d ] }\n", i, i,
                   MANY - 1 - i);
    buf_puts(&text, "types: { \"*\": {} }\n");
    c = config_load(buf_view(&text), "test", &options, &report);
    if (c == NULL)
        printf("# %s\n", report.problems.items[0].message);
    CHECK(c != NULL && c->route_count == MANY);
    CHECK(str_is(c->routes[0].steps->first->first->key->text, "drop"));
    config_unref(c);
}

int main(void)
{
    return test_main();
}
