#include "app/registry.h"
#include "base/auto.h"
#include "core/config.h"
#include "test.h"

static const struct config_options options = { .connectors = &registry };

#define ENDPOINTS "endpoints: { e: { kind: file, path: o } }\n"
#define JOINING   "routes: [ { name: r, do: [ { batch: b } ] } ]\n"

static struct config_report load(const char *text, struct config **ret)
{
    struct config_report report = CONFIG_REPORT_INIT;

    *ret = config_load(str_of(text), "t", &options, &report);
    return report;
}

TEST(batches_are_taken_without_a_warning)
{
    static const char *const texts[] = {
        ENDPOINTS JOINING "batches: { b: { count: 10, do: [ { deliver: e } ] } }",
        ENDPOINTS JOINING
        "calendars: { c: { dates: [ \"12-25\" ] } }\nsystems: { s: {} }\n"
        "batches: { b: { title: T, at: \"0 22 * * 1-5\", zone: Europe/Berlin, except: c, "
        "bytes: 10 MiB, age: 1h, by: \"${type}\", join: xml, header: \"<a n='${count}'>\", "
        "footer: </a>, type: t, receiver: s, empty: send, missed: each, bad: all, "
        "do: [ { replace: { find: a, with: b } }, { deliver: e } ] } }\ntypes: { t: {} }",
        ENDPOINTS "routes: [ { name: r, do: [ { replace: { find: a, with: b } }, "
                  "{ batch: { name: b, by: \"${sender}\" } } ] } ]\n"
                  "batches: { b: { age: 1s, join: json, root: all, do: [ { deliver: e } ] } }",
        ENDPOINTS JOINING "batches: { b: { age: 1s, join: each, do: [ { deliver: e } ] } }",
    };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct config *c;
        AUTO(config_report_done) struct config_report r = load(texts[i], &c);

        if (r.problems.count > 0)
            printf("# %s\n", r.problems.items[0].message);
        CHECK(c != NULL && r.warnings.count == 0);
        config_unref(c);
    }
}

TEST(batches_that_cannot_work_are_refused)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        { ENDPOINTS JOINING, "there is no batch `b`" },
        { ENDPOINTS JOINING "batches: { b: { do: [ { deliver: e } ] } }", "nothing says when" },
        { ENDPOINTS JOINING "batches: { b: { count: 1, root: x, do: [ { deliver: e } ] } }",
          "`root` is not used" },
        { ENDPOINTS JOINING
          "batches: { b: { count: 1, join: xml, root: 2026-orders, do: [ { deliver: e } ] } }",
          "`2026-orders` is no name of an XML element" },
        { ENDPOINTS JOINING
          "batches: { b: { count: 1, join: zip, header: x, do: [ { deliver: e } ] } }",
          "`header` is not used" },
        { ENDPOINTS JOINING
          "batches: { b: { count: 1, join: json, separator: x, do: [ { deliver: e } ] } }",
          "`separator` is not used" },
        { ENDPOINTS JOINING "batches: { b: { count: 1, empty: send, do: [ { deliver: e } ] } }",
          "`empty: send` needs `at`" },
        { ENDPOINTS JOINING "batches: { b: { count: 1, do: [ { batch: b } ] } }",
          "a batch joins no batch" },
        { ENDPOINTS JOINING
          "batches: { b: { count: 1, header: \"${cuont}\", do: [ { deliver: e } ] } }",
          "no document has the word `cuont`" },
        { ENDPOINTS "routes: [ { name: r, do: [ { deliver: e }, { batch: b } ] } ]\n"
                    "batches: { b: { count: 1, do: [ { deliver: e } ] } }",
          "is delivered with it" },
        { ENDPOINTS "routes: [ { name: r, do: [ { replace: { find: a } }, { batch: b } ] } ]\n"
                    "batches: { b: { count: 1, join: each, do: [ { deliver: e } ] } }",
          "as they came" },
        { ENDPOINTS JOINING "batches: { b: { count: 0, do: [ { deliver: e } ] } }", "count" },
        { ENDPOINTS JOINING "batches: { b: { count: 1, join: pdf, do: [ { deliver: e } ] } }",
          "join" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct config *c;
        AUTO(config_report_done) struct config_report r = load(cases[i].text, &c);
        bool found = false;

        for (size_t k = 0; k < r.problems.count; k++)
            found = found || strstr(r.problems.items[k].message, cases[i].why) != NULL;
        if (!found)
            printf("# %s: %s\n", cases[i].why,
                   r.problems.count > 0 ? r.problems.items[0].message : "-");
        CHECK(c == NULL && found);
    }
}

int main(void)
{
    return test_main();
}
