/* What a plan makes of a configuration.  The words come from a real store. */
#include "engine/plan/plan.h"

#include "app/registry.h"
#include "base/auto.h"
#include "base/clock.h"
#include "core/civil.h"
#include "folder.h"
#include "store/open.h"
#include "store/road/accept.h"
#include "store/store.h"
#include "test.h"

static const struct plan_system *system_of(const struct plan *p, const char *name)
{
    for (size_t i = 0; i < p->system_count; i++)
        if (str_is(p->systems[i].name, name))
            return &p->systems[i];
    return NULL;
}

struct bench {
    struct folder folder;
    struct store *store;
    struct config *config;
    struct plan *plan;
};

static void bench_done(struct bench *b)
{
    plan_unref(b->plan);
    config_unref(b->config);
    if (b->store != NULL)
        store_close(b->store);
    folder_done(&b->folder);
}

static struct bench bench_of(const char *text)
{
    static const struct config_options options = { .connectors = &registry };
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
    struct bench b = { .folder = folder_make() };
    struct err err = { 0 };

    b.config = config_load(str_of(text), "test", &options, &report);
    if (b.config == NULL ||
        !store_open(&(struct store_options){ .data = b.folder.path, .area = "internal" }, &b.store,
                    &err) ||
        !plan_build(b.config, 1, &registry, b.store, NULL, &b.plan, &err))
        (void)printf("# %s\n", b.config == NULL ? report.problems.items[0].message : err.text);
    return b;
}

TEST(a_system_gets_its_windows)
{
    AUTO(bench_done)
    struct bench b =
        bench_of("calendars: { feasts: { dates: [ 12-25 ] } }\n"
                 "systems:\n"
                 "  free: {}\n"
                 "  void: { window: }\n"
                 "  night: { window: { days: mon-fri, open: \"22:00\", close: \"04:00\",\n"
                 "                     zone: America/New_York, holidays: feasts } }\n"
                 "  two: { window: [ { days: sat }, { days: sun, close: \"12:00\" } ] }\n");
    int64_t saturday = civil_day(2026, 11, 14) * CIVIL_DAY_S * CLOCK_S, hour = 3600LL * CLOCK_S;
    int64_t change;

    CHECK(b.plan != NULL);
    CHECK(system_of(b.plan, "free")->windows == NULL);
    CHECK(system_of(b.plan, "void")->windows == NULL);
    const struct window_set *night = system_of(b.plan, "night")->windows;
    const struct window_set *two = system_of(b.plan, "two")->windows;

    CHECK(night != NULL && two != NULL && two->count == 2);
    CHECK(window_set_open(night, saturday + 4 * hour, &change) && change == saturday + 9 * hour);
    CHECK(window_set_open(two, saturday, &change) && change == saturday + 36 * hour);
    /* Christmas of 2026 is a Friday: from Thursday's end to Monday's opening. */
    int64_t christmas = civil_day(2026, 12, 25) * CIVIL_DAY_S * CLOCK_S;

    CHECK(!window_set_open(night, christmas + 24 * hour, &change));
    CHECK(change == christmas + (3 * 24 + 24 + 3) * hour);
}

TEST(a_system_gets_its_rate)
{
    AUTO(bench_done)
    struct bench b = bench_of("systems:\n"
                              "  free: { limits: { concurrency: 2, burst: 7 } }\n"
                              "  fast: { limits: { rate: 1000/s } }\n"
                              "  slow: { limits: { rate: 5/m } }\n"
                              "  some: { limits: { rate: 50/s, burst: 3 } }\n");

    CHECK(b.plan != NULL && system_of(b.plan, "free")->rate.interval_ns == 0);
    CHECK(system_of(b.plan, "fast")->rate.interval_ns == 1000000);
    CHECK(system_of(b.plan, "fast")->rate.burst == 1000); /* one second's worth */
    CHECK(system_of(b.plan, "slow")->rate.interval_ns == INT64_C(12000000000));
    CHECK(system_of(b.plan, "slow")->rate.burst == 1);
    CHECK(system_of(b.plan, "some")->rate.burst == 3);
}

/* The route's own wins, each for itself; the line "*" is for types that are not named. */
TEST(routes_and_types_say_how_documents_are_handled)
{
    AUTO(bench_done)
    struct bench b =
        bench_of("systems: { s: {} }\n"
                 "types:\n"
                 "  urgent: { priority: high, expires: 1h }\n"
                 "  plain: {}\n"
                 "  none:\n"
                 "  \"*\": { delay: 5s, priority: low }\n"
                 "routes:\n"
                 "  - { name: a, when: { sender: s }, do: [ { drop: x } ] }\n"
                 "  - { name: b, priority: normal, delay: 1s, do: [ { drop: x } ] }\n");
    static const struct {
        size_t route;
        const char *type;
        struct plan_handling want;
    } cases[] = {
        { 0, "urgent", { PRIO_HIGH, 3600LL * CLOCK_S, 0 } },
        { 0, "plain", { 0 } },
        { 0, "none", { 0 } },
        { 0, "other", { PRIO_LOW, 0, 5 * CLOCK_S } },
        { 0, NULL, { 0 } },
        { 1, "urgent", { PRIO_NORMAL, 3600LL * CLOCK_S, CLOCK_S } },
        { 1, NULL, { PRIO_NORMAL, 0, CLOCK_S } },
    };

    CHECK(b.plan != NULL && b.plan->route_count == 2);
    for (size_t i = 0; b.plan != NULL && i < sizeof cases / sizeof cases[0]; i++) {
        struct str type = cases[i].type != NULL ? str_of(cases[i].type) : (struct str){ 0 };
        struct plan_handling h = plan_handling_of(b.plan, &b.plan->routes[cases[i].route], type);

        CHECK(h.prio == cases[i].want.prio && h.expires_us == cases[i].want.expires_us &&
              h.delay_us == cases[i].want.delay_us);
    }
}

TEST(a_step_that_only_streams_is_a_step_like_others)
{
    AUTO(bench_done)
    struct bench b = bench_of("systems: { s: {} }\n"
                              "routes:\n"
                              "  - { name: a, when: { sender: s }, do: [ { charset: latin1 } ] }\n"
                              "  - { name: b, do: [ { replace: x } ] }\n");

    CHECK(b.plan != NULL && b.plan->route_count == 2);
    CHECK(b.plan->routes[0].broken == NULL && b.plan->routes[1].broken == NULL);
    CHECK(b.plan->routes[0].steps[0].service->stream != NULL);
}

/* A version that was checked elsewhere: the node starts, and what nobody can know waits. */
TEST(a_zone_that_is_not_known_here_keeps_its_system_closed)
{
    AUTO(bench_done)
    struct bench b =
        bench_of("systems: { a: { window: { zone: Mars/Olympus } }, b: { window: {} } }\n");
    AUTO(problem_list_done) struct problem_list problems = PROBLEM_LIST_INIT;
    struct plan *second = NULL;
    struct err err = { 0 };
    int64_t change;

    CHECK(b.plan != NULL);
    const struct window_set *a = system_of(b.plan, "a")->windows;

    CHECK(strstr(a->broken, "Mars/Olympus") != NULL);
    CHECK(!window_set_open(a, 0, &change) && change == 0);
    CHECK(window_set_open(system_of(b.plan, "b")->windows, 0, &change));
    CHECK(!plan_build(b.config, 2, &registry, b.store, &problems, &second, &err));
    CHECK(second == NULL && problems.count == 1 && problems.items[0].place.line == 1);
    CHECK(strstr(problems.items[0].message, "system a: this machine does not know") != NULL);
}

TEST(a_system_gets_its_order)
{
    AUTO(bench_done)
    struct bench b = bench_of(
        "systems: { a: {}, b: { order: receiver },\n"
        "  c: { order: key, order_by: [\"header:X-Key\", \"json:/key\"], on_dead: skip } }\n");
    AUTO(bench_done) struct bench none = bench_of("systems: { a: {} }\n");
    AUTO(arena_done) struct arena arena = ARENA_INIT(1 << 20);
    struct extract_failure failure;
    struct facts found = { 0 }, nothing = { 0 };

    CHECK(b.plan != NULL && none.plan != NULL && b.plan->ordered && !none.plan->ordered);
    CHECK(system_of(b.plan, "a")->order == ORDER_NONE);
    CHECK(system_of(b.plan, "b")->order == ORDER_RECEIVER);
    CHECK(system_of(b.plan, "b")->on_dead == ORDER_STOP);
    const struct plan_system *c = system_of(b.plan, "c");

    CHECK(c->order == ORDER_KEY && c->on_dead == ORDER_SKIP && c->order_by != NULL);
    struct extract_source source = { .body = STR("{\"key\":\"4711\"}"), .whole = true };

    CHECK(extract_run(c->order_by, &source, &arena, &found, &failure));
    CHECK(str_is(facts_attribute(&found, PLAN_KEY), "4711"));
    source.body = STR("{}");
    CHECK(extract_run(c->order_by, &source, &arena, &nothing, &failure));
    CHECK(facts_attribute(&nothing, PLAN_KEY).len == 0);
}

TEST(a_plan_apart_stores_nothing)
{
    static const struct config_options options = { .connectors = &registry };
    AUTO(bench_done) struct bench b = bench_of("systems: { old: {} }\ntypes: { known: {} }\n");
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
    struct config *c = config_load(STR("systems: { new: {}, old: {}, newer: {} }\n"
                                       "types: { known: {}, fresh: {} }\n"
                                       "gateways: { door: { kind: http } }\n"),
                                   "test", &options, &report);
    struct plan *plan = NULL;
    struct err err = { 0 };
    int64_t word;

    CHECK(b.plan != NULL && c != NULL);
    CHECK(plan_build_apart(c, &registry, b.store, NULL, NULL, &plan, &err));
    CHECK(plan->version == 0);
    CHECK(system_of(plan, "old")->word == system_of(b.plan, "old")->word);
    const struct plan_system *new = system_of(plan, "new"), *newer = system_of(plan, "newer");

    CHECK(new->word < 0 && newer->word < 0 && new->word != newer->word);
    CHECK(plan_system_find(plan, new->word) == new &&plan_system_find(plan, newer->word) == newer);
    CHECK(plan_system_named(plan, STR("newer")) == newer);
    CHECK(plan_system_named(plan, STR("none")) == NULL);
    CHECK(plan->gateways[0].word < 0);
    CHECK(!name_find(b.store, NAME_SYSTEM, STR("new"), &word));
    CHECK(!name_find(b.store, NAME_TYPE, STR("fresh"), &word));
    CHECK(!name_find(b.store, NAME_GATEWAY, STR("door"), &word));
    plan_unref(plan);
    config_unref(c);
}

/* ---- files of the version ---- */

static const struct option reader_keys[] = {
    OPTION("file", OPT_FILE, "what it keeps", .flags = OPT_REQUIRED),
    { 0 },
};

static bool make_reader(const struct settings *s, void **ret_self, struct err *err)
{
    struct str *self = ARENA_NEW(s->arena, struct str);

    *ret_self = self;
    return settings_file(s, "file", self, err);
}

static const struct service_type reader = {
    .kind = { .name = "reader", .help = "keeps a file", .keys = reader_keys },
    .make = make_reader,
};

/* A step has the content that came with the version, wherever and whenever it is built. */
TEST(a_step_gets_the_file_of_its_version)
{
    static const struct service_type *const services[] = { &reader, NULL };
    const struct connectors own = { registry.gateways, services, registry.endpoints };
    const struct config_file file = { STR("a.txt"), STR("as it was\0") };
    const struct config_files files = { &file, 1 };
    const struct config_options options = { .connectors = &own, .files = &files };
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
    AUTO(bench_done) struct bench b = bench_of("systems: { s: {} }\n");
    struct err err = { 0 };
    struct config *c =
        config_load(STR("systems: { s: {} }\nendpoints: { e: { kind: http, system: s, url: "
                        "\"http://h/\" } }\nroutes:\n"
                        "  - { name: r, when: { type: a }, do: [ reader: a.txt, deliver: e ] }\n"
                        "  - { name: q, when: { type: b }, do: [ reader: b.txt, deliver: e ] }\n"
                        "types: { a: {}, b: {} }\n"),
                    "test", &options, &report);

    CHECK(c != NULL && c->file_use_count == 2 && c->files.count == 1);
    plan_unref(b.plan);
    b.plan = NULL;
    config_unref(b.config);
    b.config = c;
    CHECK(plan_build(c, 1, &own, b.store, NULL, &b.plan, &err));
    CHECK(b.plan->routes[0].broken == NULL);
    CHECK(str_eq(*(struct str *)b.plan->routes[0].steps[0].self, file.bytes));
    CHECK(strstr(b.plan->routes[1].broken, "b.txt is not stored with this version") != NULL);
}

TEST(endpoints_and_gateways_get_their_answers)
{
    AUTO(bench_done)
    struct bench b = bench_of(
        "systems: { hub: {} }\n"
        "types: { reply: {}, order: { search: { po: \"json:/po\", no: \"json:/no\" } } }\n"
        "gateways:\n"
        "  in: { kind: http, extract: { attributes: { po: \"json:/a\", ref: \"json:/b\" } } }\n"
        "  back: { kind: http, answers: [ \"header:In-Reply-To\", \"json:/of\" ] }\n"
        "endpoints:\n"
        "  plain: { kind: http, url: \"http://hub.example/\" }\n"
        "  usual: { kind: http, url: \"http://hub.example/\", answer: { type: reply } }\n"
        "  own: { kind: file, path: out, answer: { extract: { type: \"json:/t\" },\n"
        "         most: 1 GiB, within: 2h } }\n");

    CHECK(b.plan != NULL);
    const struct plan_answer *usual = plan_answer_find(b.plan, STR("usual"));
    const struct plan_answer *own = plan_answer_find(b.plan, STR("own"));

    CHECK(plan_answer_find(b.plan, STR("plain")) == NULL && b.plan->endpoints[0].answer == NULL);
    CHECK(usual != NULL && usual == b.plan->endpoints[1].answer && str_is(usual->type, "reply"));
    CHECK(usual->word == b.plan->endpoints[1].word && usual->extract == NULL);
    CHECK(usual->most == 64 << 20 && usual->within_us == 0);
    CHECK(own != NULL && own->type.ptr == NULL && own->extract != NULL);
    CHECK(own->most == 1 << 30 && own->within_us == 7200LL * CLOCK_S);
    CHECK(b.plan->gateways[0].answers == NULL && b.plan->gateways[1].answers != NULL);
    CHECK(b.plan->attribute_count == 3 && str_is(b.plan->attributes[0], "po") &&
          str_is(b.plan->attributes[1], "no") && str_is(b.plan->attributes[2], "ref"));
}

int main(void)
{
    return test_main();
}
