/* The compiled table against a plain search over all routes, and what a search costs. */
#include <stdlib.h>

#include "app/registry.h"
#include "base/auto.h"
#include "base/buf.h"
#include "router/router.h"
#include "test.h"

static const struct config_options options = { .connectors = &registry };

static struct config *load(struct str text)
{
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
    struct config *c = config_load(text, "t", &options, &report);

    for (size_t i = 0; c == NULL && i < report.problems.count; i++)
        printf("# %u: %s\n", report.problems.items[i].place.line, report.problems.items[i].message);
    return c;
}

static struct router *build(const struct config *c)
{
    struct router *r = NULL;
    struct err err = { 0 };

    if (!router_build(c, &r, &err))
        printf("# %s\n", err.text);
    return r;
}

static struct str name_of(const char *z)
{
    return z != NULL ? str_of(z) : (struct str){ 0 };
}

static const char *route_of(const struct router *r, const struct facts *f)
{
    size_t at = 999;
    const struct config_route *route = router_find(r, f, &at);

    return route == NULL ? "none" : route->name;
}

/* ---- names ---- */

TEST(systems_are_found_by_name_and_id)
{
    struct config *c = load(STR("systems:\n"
                                "  acme: { ids: [\"0012345678\", \"ZZ:ACME\"] }\n"
                                "  hub: {}\n"));
    struct router *r = build(c);

    CHECK(str_is(router_system(r, STR("acme")), "acme"));
    CHECK(str_is(router_system(r, STR("0012345678")), "acme"));
    CHECK(str_is(router_system(r, STR("ZZ:ACME")), "acme"));
    CHECK(str_is(router_system(r, STR("hub")), "hub"));
    CHECK(router_system(r, STR("zz:acme")).ptr == NULL); /* as it is written, no other way */
    CHECK(router_system(r, STR("")).ptr == NULL);
    CHECK(router_system(r, STR("12345678")).ptr == NULL);
    router_free(r);
    config_unref(c);
}

TEST(types_are_known_when_they_are_listed)
{
    static const struct {
        const char *text, *type;
        bool known;
    } cases[] = {
        { "types: { order: {} }", "order", true },
        { "types: { order: {} }", "invoice", false },
        { "types: { order: {} }", "*", false },
        { "types: { order: {}, \"*\": {} }", "invoice", true },
        { "types: { \"*\": {} }\nroutes: [ { name: r, when: { type: a }, do: [ { drop: x } ] } ]",
          "b", true },
        { "systems: {}", "order", false },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct config *c = load(str_of(cases[i].text));
        struct router *r = build(c);

        CHECK(router_type_known(r, str_of(cases[i].type)) == cases[i].known);
        router_free(r);
        config_unref(c);
    }
}

TEST(nothing_is_configured)
{
    struct config *c = load(STR(""));
    struct router *r = build(c);
    struct facts f = { .sender = STR("a"), .receiver = STR("b"), .type = STR("c") };

    CHECK(strcmp(route_of(r, &f), "none") == 0);
    CHECK(router_system(r, STR("a")).ptr == NULL);
    router_free(r);
    config_unref(c);
    router_free(NULL);
}

/* ---- precedence ---- */

static const char ladder[] =
    "systems: { a: { ids: [A1] }, b: {}, c: {} }\n"
    "types: { t: {}, u: {}, \"*\": {} }\n"
    "gateways: { g: { kind: http, extract: { attributes: { region: \"json:/r\" } } } }\n"
    "routes:\n"
    "  - { name: any, do: [ { drop: x } ] }\n"
    "  - { name: s, when: { sender: a }, do: [ { drop: x } ] }\n"
    "  - { name: t, when: { type: t }, do: [ { drop: x } ] }\n"
    "  - { name: ts, when: { type: t, sender: a }, do: [ { drop: x } ] }\n"
    "  - { name: r, when: { receiver: b }, do: [ { drop: x } ] }\n"
    "  - { name: rs, when: { receiver: b, sender: [a, c] }, do: [ { drop: x } ] }\n"
    "  - { name: rt, when: { receiver: b, type: t }, do: [ { drop: x } ] }\n"
    "  - { name: rts, when: { receiver: b, type: t, sender: a }, do: [ { drop: x } ] }\n"
    "  - { name: rts-eu, when: { receiver: b, type: t, sender: a, region: [EU, UK] },\n"
    "      do: [ { drop: x } ] }\n"
    "  - { name: rts-eu-l, when: { receiver: b, type: t, sender: a, region: EU,\n"
    "      attributes: { size: L } }, do: [ { drop: x } ] }\n";

/* proves: RO11 */
TEST(receiver_then_type_then_sender_then_attributes)
{
    static const struct {
        const char *receiver, *type, *sender, *region, *size, *want;
    } cases[] = {
        { "b", "t", "a", NULL, NULL, "rts" },    { "b", "t", "c", NULL, NULL, "rt" },
        { "b", "u", "a", NULL, NULL, "rs" },     { "b", "u", "b", NULL, NULL, "r" },
        { "c", "t", "a", NULL, NULL, "ts" },     { "c", "t", "b", NULL, NULL, "t" },
        { "c", "u", "a", NULL, NULL, "s" },      { "c", "u", "b", NULL, NULL, "any" },
        { "b", "t", "a", "EU", NULL, "rts-eu" }, { "b", "t", "a", "UK", "L", "rts-eu" },
        { "b", "t", "a", "US", "L", "rts" },     { "b", "t", "a", "EU", "L", "rts-eu-l" },
        { "b", "t", "a", NULL, "L", "rts" },     { "c", "u", "a", "EU", "L", "s" },
        { "b", "new", "c", NULL, NULL, "rs" },   { NULL, "t", "a", NULL, NULL, "ts" },
        { "b", NULL, "a", NULL, NULL, "rs" },    { "b", "t", NULL, NULL, NULL, "rt" },
        { NULL, NULL, NULL, NULL, NULL, "any" }, { "zz", "zz", "zz", NULL, NULL, "any" },
        { "c", "u", "A1", NULL, NULL, "any" }, /* an id is looked up before, not here */
    };
    struct config *c = load(STR(ladder));
    struct router *r = build(c);

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fact facts[2];
        struct facts f = { .receiver = name_of(cases[i].receiver),
                           .type = name_of(cases[i].type),
                           .sender = name_of(cases[i].sender),
                           .attributes = facts };

        if (cases[i].size != NULL)
            facts[f.attribute_count++] = (struct fact){ STR("size"), str_of(cases[i].size) };
        if (cases[i].region != NULL)
            facts[f.attribute_count++] = (struct fact){ STR("region"), str_of(cases[i].region) };
        if (strcmp(route_of(r, &f), cases[i].want) != 0)
            printf("# case %zu: %s\n", i, route_of(r, &f));
        CHECK(strcmp(route_of(r, &f), cases[i].want) == 0);
    }
    router_free(r);
    config_unref(c);
}

TEST(an_unknown_name_is_not_a_system)
{
    struct config *c = load(STR(ladder));
    struct router *r = build(c);
    struct facts f = { .receiver = STR("b"), .type = STR("t"), .sender = STR("a") };
    size_t at;

    f.receiver_unknown = true;
    CHECK(strcmp(route_of(r, &f), "ts") == 0);
    f.sender_unknown = true;
    CHECK(strcmp(route_of(r, &f), "t") == 0);
    CHECK(router_find(r, &f, &at) == &c->routes[at] && at == 2);
    router_free(r);
    config_unref(c);
}

TEST(an_attribute_may_have_very_many_values)
{
    AUTO(buf_done) struct buf text = BUF_INIT(1 << 20);
    struct fact fact = { STR("n"), STR("v4711") };
    struct facts f = { .attributes = &fact, .attribute_count = 1 };

    buf_puts(&text, "routes:\n  - { name: r, do: [ { drop: x } ], when: { attributes: { n: [");
    for (int i = 0; i < 5000; i++)
        buf_printf(&text, "%sv%d", i > 0 ? ", " : "", i);
    buf_puts(&text, "] } } }\n");
    struct config *c = load(buf_view(&text));
    struct router *r = build(c);

    CHECK(strcmp(route_of(r, &f), "r") == 0);
    fact.value = STR("v5000");
    CHECK(strcmp(route_of(r, &f), "none") == 0);
    f.attribute_count = 0;
    CHECK(strcmp(route_of(r, &f), "none") == 0);
    router_free(r);
    config_unref(c);
}

/* ---- against a search over all routes ---- */

/* A field of a random route is a set of values, one bit each; 0 is any.  The values of a
 * document are numbers into the same words, 0: it has none. */
enum { FIELDS = 5, VALUES = 3, ROUTES_MOST = 14 };

static const char *const field_names[FIELDS] = { "receiver", "type", "sender", "region", "size" };
static const char *const words[FIELDS][VALUES] = {
    { "a", "b", "c" }, { "t", "u", "v" }, { "a", "b", "c" }, { "EU", "US", "UK" }, { "L", "M", "S" }
};

struct random_route {
    unsigned sets[FIELDS];
};

static uint64_t seed = 42;

static unsigned roll(unsigned below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % below;
}

static unsigned bits(unsigned set)
{
    return (unsigned)__builtin_popcount(set);
}

static bool takes(const struct random_route *r, const unsigned doc[FIELDS])
{
    for (int i = 0; i < FIELDS; i++)
        if (r->sets[i] != 0 && (doc[i] == 0 || (r->sets[i] & (1u << (doc[i] - 1))) == 0))
            return false;
    return true;
}

/* Larger goes first: receiver, type, sender, how many attributes. */
static unsigned rank(const struct random_route *r)
{
    return (r->sets[0] != 0) * 32u + (r->sets[1] != 0) * 16u + (r->sets[2] != 0) * 8u +
           (r->sets[3] != 0) + (r->sets[4] != 0);
}

static struct random_route random_route(void)
{
    struct random_route r = { 0 };

    for (int i = 0; i < FIELDS; i++)
        if (roll(2) == 0)
            r.sets[i] = 1 + roll((1u << VALUES) - 1);
    return r;
}

static bool next_document(unsigned doc[FIELDS])
{
    for (int i = 0; i < FIELDS; i++) {
        if (++doc[i] <= VALUES)
            return true;
        doc[i] = 0;
    }
    return false;
}

/* Some document is taken by both, and neither goes first. */
static bool tie(const struct random_route *a, const struct random_route *b)
{
    unsigned doc[FIELDS] = { 0 };

    if (rank(a) != rank(b))
        return false;
    do {
        if (takes(a, doc) && takes(b, doc))
            return true;
    } while (next_document(doc));
    return false;
}

static void write_set(struct buf *to, int field, unsigned set)
{
    bool list = bits(set) > 1 || roll(2) == 0, first = true;

    buf_printf(to, "%s: %s", field_names[field], list ? "[" : "");
    for (int v = 0; v < VALUES; v++)
        if ((set & (1u << v)) != 0) {
            buf_printf(to, "%s%s", first ? "" : ", ", words[field][v]);
            first = false;
        }
    buf_printf(to, "%s, ", list ? "]" : "");
}

static void write_route(struct buf *to, size_t number, const struct random_route *r)
{
    bool inside = roll(2) == 0; /* attributes in a map of their own, or beside the fields */

    buf_printf(to, "  - { name: r%zu, do: [ { drop: x } ], when: { ", number);
    for (int i = 0; i < 3; i++) {
        if (r->sets[i] != 0)
            write_set(to, i, r->sets[i]);
        else if (roll(3) == 0)
            buf_printf(to, "%s: \"*\", ", field_names[i]);
    }
    if (inside)
        buf_puts(to, "attributes: { ");
    for (int i = 3; i < FIELDS; i++)
        if (r->sets[i] != 0)
            write_set(to, i, r->sets[i]);
    buf_puts(to, inside ? "} } }\n" : "} }\n");
}

static void write_config(struct buf *to, const struct random_route *routes, size_t count)
{
    buf_clear(to);
    buf_puts(to, "systems: { a: {}, b: {}, c: {} }\ntypes: { t: {}, u: {}, v: {} }\n"
                 "gateways: { g: { kind: http, extract: { attributes: "
                 "{ region: \"json:/r\", size: \"json:/s\" } } } }\nroutes:\n");
    for (size_t i = 0; i < count; i++)
        write_route(to, i, &routes[i]);
}

/* Add random routes as long as they tie with none; the check of the configuration says the
 * same about each.  NULL: it does not. */
static struct config *random_config(struct random_route *routes, size_t *ret_count)
{
    AUTO(buf_done) struct buf text = BUF_INIT(64 << 10);
    struct config *config = NULL;
    size_t count = 0;

    for (int tries = 0; tries < ROUTES_MOST; tries++) {
        AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
        bool ties = false;

        routes[count] = random_route();
        for (size_t i = 0; i < count; i++)
            ties = ties || tie(&routes[i], &routes[count]);
        write_config(&text, routes, count + 1);
        struct config *c = config_load(buf_view(&text), "t", &options, &report);

        if ((c == NULL) != ties) {
            printf("# ties %d:\n%s", ties, text.ptr);
            config_unref(c);
            config_unref(config);
            return NULL;
        }
        if (c == NULL)
            continue;
        config_unref(config);
        config = c;
        count++;
    }
    *ret_count = count;
    return config;
}

static const struct random_route *best(const struct random_route *routes, size_t count,
                                       const unsigned doc[FIELDS])
{
    const struct random_route *found = NULL;

    for (size_t i = 0; i < count; i++)
        if (takes(&routes[i], doc) && (found == NULL || rank(&routes[i]) > rank(found)))
            found = &routes[i];
    return found;
}

static bool same_for_all(const struct router *r, const struct random_route *routes, size_t count)
{
    unsigned doc[FIELDS] = { 0 };

    do {
        const struct random_route *want = best(routes, count, doc);
        struct str text[FIELDS];
        struct fact facts[2];
        struct facts f = { .attributes = facts };
        size_t at = 0;

        for (int i = 0; i < FIELDS; i++)
            text[i] = name_of(doc[i] > 0 ? words[i][doc[i] - 1] : NULL);
        f.receiver = text[0];
        f.type = text[1];
        f.sender = text[2];
        for (int i = 3; i < FIELDS; i++)
            if (doc[i] > 0)
                facts[f.attribute_count++] = (struct fact){ str_of(field_names[i]), text[i] };
        bool found = router_find(r, &f, &at) != NULL;

        if (found != (want != NULL) || (found && &routes[at] != want)) {
            printf("# document %u%u%u%u%u\n", doc[0], doc[1], doc[2], doc[3], doc[4]);
            return false;
        }
    } while (next_document(doc));
    return true;
}

/* proves: RO11 */
TEST(random_routes_are_chosen_as_a_plain_search_chooses)
{
    for (int round = 0; round < 150; round++) {
        struct random_route routes[ROUTES_MOST + 1];
        size_t count = 0;
        struct config *c = random_config(routes, &count);

        CHECK(c != NULL);
        struct router *r = build(c);

        CHECK(same_for_all(r, routes, count));
        router_free(r);
        config_unref(c);
    }
}

/* ---- what a search costs ---- */

/* `count` routes of all eight shapes, of which only the last one takes every document. */
static struct config *many_routes(size_t count)
{
    AUTO(buf_done) struct buf text = BUF_INIT(YAML_BYTES);
    size_t each = (count - 1) / 7 + 1, n = 0;

    buf_puts(&text, "systems:\n");
    for (size_t i = 0; i < each; i++)
        buf_printf(&text, "  s%zu: {}\n", i);
    buf_puts(&text, "types: { \"*\": {} }\nroutes:\n");
    for (; n + 1 < count; n++) {
        size_t i = n / 7, shape = n % 7 + 1;

        buf_printf(&text, "  - { name: r%zu, do: [ { drop: x } ], when: { ", n);
        if ((shape & 4) != 0)
            buf_printf(&text, "receiver: s%zu, ", i);
        if ((shape & 2) != 0)
            buf_printf(&text, "type: t%zu, ", i);
        if ((shape & 1) != 0)
            buf_printf(&text, "sender: s%zu, ", i);
        buf_puts(&text, "} }\n");
    }
    buf_puts(&text, "  - { name: rest, do: [ { drop: x } ] }\n");
    return load(buf_view(&text));
}

/* Documents of which each field is what the first routes name, what others name, or
 * nothing; what each cost. */
enum { DOCUMENTS = 27 };

static bool costs_of(size_t count, struct router_effort ret[DOCUMENTS], size_t at[DOCUMENTS])
{
    static const char *const values[3][3] = { { "s0", "s1", NULL },
                                              { "t0", "t1", NULL },
                                              { "s0", "s1", NULL } };
    struct config *c = many_routes(count);
    struct router *r = build(c);
    bool ok = c != NULL && r != NULL && c->route_count == count;

    for (size_t i = 0; ok && i < DOCUMENTS; i++) {
        struct facts f = { .receiver = name_of(values[0][i % 3]),
                           .type = name_of(values[1][i / 3 % 3]),
                           .sender = name_of(values[2][i / 9]) };

        ok = router_find_counted(r, &f, &at[i], &ret[i]) != NULL;
        at[i] = at[i] + 1 == count ? 0 : at[i] + 1; /* "rest" is the last one */
    }
    router_free(r);
    config_unref(c);
    return ok;
}

TEST(ten_thousand_routes_cost_what_ten_cost)
{
    struct router_effort few[DOCUMENTS] = { 0 }, many[DOCUMENTS] = { 0 };

    size_t few_at[DOCUMENTS], many_at[DOCUMENTS], same = 0;

    CHECK(costs_of(10, few, few_at) && costs_of(10000, many, many_at));
    for (size_t i = 0; i < DOCUMENTS; i++) {
        if (few_at[i] != many_at[i])
            continue; /* ten routes do not have its route */
        same++;
        CHECK(few[i].lookups == many[i].lookups);
        CHECK(few[i].lookups >= 1 && few[i].lookups <= 8);
        CHECK(few[i].routes == 0 && many[i].routes == 0);
    }
    CHECK(same >= DOCUMENTS / 2);
}

/* Each document of a large table: never more than eight lookups, and a lookup sees two
 * places of the table on average. */
TEST(no_document_costs_more_than_eight_lookups)
{
    static const size_t sizes[] = { 10, 100, 1000, 10000 };
    char receiver[32], type[32], sender[32];

    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        struct config *c = many_routes(sizes[k]);
        struct router *r = build(c);
        struct router_effort all = { 0 };
        size_t at, documents = 5000, systems = c->system_count;

        for (size_t i = 0; i < documents; i++) {
            struct router_effort one = { 0 };

            (void)snprintf(receiver, sizeof receiver, "s%zu", (size_t)roll((unsigned)systems));
            (void)snprintf(type, sizeof type, "t%zu", (size_t)roll((unsigned)systems));
            (void)snprintf(sender, sizeof sender, "s%zu", (size_t)roll((unsigned)systems));
            struct facts f = { .receiver = str_of(receiver),
                               .type = str_of(type),
                               .sender = str_of(sender) };

            CHECK(router_find_counted(r, &f, &at, &one) != NULL);
            CHECK(one.lookups <= 8 && one.routes == 0);
            all.lookups += one.lookups;
            all.slots += one.slots;
        }
        CHECK(all.slots <= 3 * all.lookups);
        router_free(r);
        config_unref(c);
    }
}

int main(void)
{
    return test_main();
}
