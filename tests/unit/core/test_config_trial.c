/* A step that takes the place of the routes, to be tried. */
#include "app/registry.h"
#include "base/auto.h"
#include "core/config.h"
#include "test.h"

#define TEXT                                                                                       \
    "services: { tidy: { replace: { find: x, with: y } } }\n"                                      \
    "endpoints: { e: { kind: http, system: s, url: \"http://h/\" } }\n"                            \
    "systems: { s: {} }\ntypes: { \"*\": {} }\n"                                                   \
    "routes: [ { name: a, do: [ deliver: e ] }, { name: b, when: { type: b }, do: [ drop: no ] } " \
    "]\n"

static struct config *load(const char *text, const char *step, struct config_report *report)
{
    const struct config_options options = { .connectors = &registry, .step = str_of(step) };

    return config_load(str_of(text), "test", &options, report);
}

TEST(a_step_takes_the_place_of_all_routes)
{
    static const char *const texts[] = { TEXT, "" };

    for (size_t i = 0; i < 2; i++) {
        AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
        struct config *c = load(texts[i], "replace: { find: a }", &report);

        CHECK(c != NULL && c->route_count == 1 && c->routes[0].step_count == 1);
        CHECK(str_is(c->routes[0].steps->first->first->key->text, "replace"));
        config_unref(c);
    }
}

TEST(a_step_may_have_lines_or_be_a_name)
{
    static const char *const steps[] = { "replace:\n  find: a\n  with: |\n    b\n    c\n", "tidy",
                                         "tidy:" };

    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
        struct config *c = load(TEXT, steps[i], &report);

        CHECK(c != NULL);
        const struct yaml_node *step = c->routes[0].steps->first->first;

        CHECK(str_is(step->key->text, "replace"));
        CHECK(i > 0 || str_is(yaml_text(yaml_get(step, "with")), "b\nc\n"));
        config_unref(c);
    }
}

TEST(problems_are_in_the_step)
{
    static const struct {
        const char *step;
        unsigned line, column;
    } cases[] = {
        { "repalce: { find: a }", 1, 1 },
        { "replace: { fnd: a, find: a }", 1, 12 },
        { "replace:\n  find: a\n  wth: b\n", 3, 3 },
        { "tidi", 1, 1 },
        { "", 1, 1 },
        { " \n", 1, 1 },
        { "replace: { find: [ }", 1, 20 },
        { "deliver: nobody", 1, 10 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;

        CHECK(load(TEXT, cases[i].step, &report) == NULL && report.problems.count >= 1);
        CHECK(report.problems.items[0].place.line == cases[i].line);
        CHECK(report.problems.items[0].place.column == cases[i].column);
    }
}

TEST(a_step_is_bounded)
{
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
    AUTO(buf_done) struct buf step = BUF_INIT(1 << 20);

    buf_puts(&step, "replace: { find: \"");
    while (step.len < 70000)
        buf_putc(&step, 'a');
    buf_puts(&step, "\" }");
    CHECK(load(TEXT, step.ptr, &report) == NULL && report.problems.count == 1);
    CHECK(strstr(report.problems.items[0].message, "more than 65536 bytes") != NULL);
}

int main(void)
{
    return test_main();
}
