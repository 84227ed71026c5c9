/* Which routes tie, and which do not. */
#include "app/registry.h"
#include "base/auto.h"
#include "core/config.h"
#include "test.h"

static const char ahead[] = "systems: { a: {}, b: {}, c: {} }\n"
                            "types: { t: {}, u: {} }\n"
                            "gateways: { g: { kind: http, extract: { attributes: "
                            "{ region: \"json:/r\", size: \"json:/s\" } } } }\n"
                            "routes:\n";

static const struct config_options options = { .connectors = &registry };

TEST(routes_tie_table)
{
    static const struct {
        const char *one, *two;
        bool tie;
    } cases[] = {
        { "{}", "{}", true },
        { "{ sender: a }", "{ sender: a }", true },
        { "{ sender: a }", "{ sender: b }", false },
        { "{ sender: a }", "{}", false },
        { "{ sender: a }", "{ sender: \"*\" }", false },
        { "{ sender: \"*\" }", "{ type: \"*\" }", true },
        { "{ sender: [a, \"*\"] }", "{}", true },
        { "{ sender: a }", "{ receiver: b }", false }, /* receiver comes first */
        { "{ sender: a, type: t }", "{ receiver: b }", false },
        { "{ sender: [a, b] }", "{ sender: [b, c] }", true },
        { "{ sender: [a, b] }", "{ sender: c }", false },
        { "{ sender: [a, b], type: [t, u] }", "{ sender: b, type: u }", true },
        { "{ sender: [a, b], type: t }", "{ sender: [b, c], type: u }", false },
        { "{ sender: a, region: EU }", "{ sender: a }", false },
        { "{ sender: a, region: EU }", "{ sender: a, region: US }", false },
        { "{ sender: a, region: EU }", "{ sender: a, region: [US, EU] }", true },
        { "{ sender: a, region: EU }", "{ sender: a, attributes: { region: EU } }", true },
        { "{ sender: a, region: EU }", "{ sender: a, size: L }", true },
        { "{ sender: a, region: EU }", "{ sender: a, size: \"*\" }", false },
        { "{ sender: a, region: EU }", "{ sender: a, region: US, size: L }", false },
        { "{ attributes: { x: 1, y: 2 } }", "{ attributes: { x: 1, z: 2 } }", true },
        { "{ attributes: { x: 1, y: 2 } }", "{ attributes: { x: 1, y: 3 } }", false },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
        AUTO(buf_done) struct buf text = BUF_INIT(4096);

        buf_printf(&text,
                   "%s  - { name: one, when: %s, do: [ { drop: x } ] }\n"
                   "  - { name: two, when: %s, do: [ { drop: x } ] }\n",
                   ahead, cases[i].one, cases[i].two);
        struct config *c = config_load(buf_view(&text), "t", &options, &report);

        if ((c == NULL) != cases[i].tie)
            printf("# %s %s\n", cases[i].one, cases[i].two);
        CHECK((c == NULL) == cases[i].tie);
        if (c == NULL) {
            CHECK(report.problems.count == 1 && report.problems.items[0].place.line == 6);
            CHECK(strstr(report.problems.items[0].message,
                         "routes `one` (line 5) and `two` (line 6) tie") != NULL);
        }
        config_unref(c);
    }
}

TEST(routes_have_names_of_their_own)
{
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;

    CHECK(config_load(STR("types: { t: {} }\n"
                          "routes:\n"
                          "  - { name: a, do: [ { drop: x } ] }\n"
                          "  - { name: a, when: { type: t }, do: [ { drop: x } ] }\n"),
                      "t", &options, &report) == NULL);
    CHECK(report.problems.count == 1 && report.problems.items[0].place.line == 4);
    CHECK(report.problems.items[0].place.column == 13);
}

/* Thousands of routes are compared in no time. */
TEST(routes_many)
{
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
    AUTO(buf_done) struct buf text = BUF_INIT(YAML_BYTES);

    buf_puts(&text, "types: { \"*\": {} }\nroutes:\n");
    for (int i = 0; i < 15000; i++)
        buf_printf(&text, "  - { name: r%d, when: { type: t%d }, do: [ { drop: x } ] }\n", i, i);
    struct config *c = config_load(buf_view(&text), "t", &options, &report);

    CHECK(c != NULL && c->route_count == 15000);
    config_unref(c);
}

TEST(routes_too_many_to_compare_are_refused)
{
    static const char *const messages[] = { "more than 500 routes have the same",
                                            "more than 1000000 combinations",
                                            "too many values of attributes" };

    for (int kind = 0; kind < 3; kind++) {
        AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
        AUTO(buf_done) struct buf text = BUF_INIT(YAML_BYTES);
        int routes = kind == 0 ? 600 : kind == 1 ? 1 : 2;
        bool found = false;

        buf_puts(&text, "types: { \"*\": {} }\nroutes:\n");
        for (int i = 0; i < routes; i++) {
            buf_printf(&text, "  - { name: r%d, do: [ { drop: x } ], when: { ", i);
            if (kind == 0)
                buf_printf(&text, "attributes: { n: %d }", i);
            if (kind == 2)
                buf_puts(&text, "attributes: { n: [");
            for (int k = 0; kind == 2 && k < 5000; k++)
                buf_printf(&text, "%sv%d-%d", k > 0 ? ", " : "", i, k);
            if (kind == 2)
                buf_puts(&text, "] }");
            for (int f = 0; kind == 1 && f < 2; f++) {
                buf_printf(&text, "%s: [", f == 0 ? "type" : "sender");
                for (int k = 0; k < 1100; k++)
                    buf_printf(&text, "%sv%d", k > 0 ? ", " : "", k);
                buf_puts(&text, "], ");
            }
            buf_puts(&text, " } }\n");
        }
        CHECK(config_load(buf_view(&text), "t", &options, &report) == NULL);
        for (size_t i = 0; i < report.problems.count; i++)
            found |= strstr(report.problems.items[i].message, messages[kind]) != NULL;
        CHECK(found || (kind == 1 && report.problems.left_out > 0));
    }
}

int main(void)
{
    return test_main();
}
