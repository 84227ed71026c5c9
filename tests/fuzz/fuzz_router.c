/* fuzz_router.c - the route that is found is the most exact one that fits, found by trying all.
 *
 * Input: four lines: receiver, type, sender, the value of the attribute. */
#include <stdint.h>

#include "app/registry.h"
#include "base/auto.h"
#include "base/require.h"
#include "router/router.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static const char text[] =
    "systems: { a: { ids: [A1] }, b: {} }\n"
    "types: { t: {}, \"*\": {} }\n"
    "gateways: { g: { kind: http, extract: { attributes: { k: \"header:K\" } } } }\n"
    "routes:\n"
    "  - { name: r1, when: { receiver: a }, do: [ { drop: {} } ] }\n"
    "  - { name: r2, when: { receiver: a, type: t }, do: [ { drop: {} } ] }\n"
    "  - { name: r3, when: { type: t }, do: [ { drop: {} } ] }\n"
    "  - { name: r4, when: { sender: b }, do: [ { drop: {} } ] }\n"
    "  - { name: r5, when: { sender: b, k: x }, do: [ { drop: {} } ] }\n"
    "  - { name: r6, when: { receiver: b, type: u, sender: a }, do: [ { drop: {} } ] }\n"
    "  - { name: r7, when: { receiver: a, k: x }, do: [ { drop: {} } ] }\n";

static bool fits(const struct yaml_node *when, const char *key, struct str value)
{
    const struct yaml_node *want = yaml_get(when, key);

    return want == NULL || (value.ptr != NULL && str_eq(want->text, value));
}

/* The order of router.h: receiver, type, sender, then attributes; exact before any. */
static int exactness(const struct yaml_node *when)
{
    return (yaml_get(when, "receiver") != NULL) * 8 + (yaml_get(when, "type") != NULL) * 4 +
           (yaml_get(when, "sender") != NULL) * 2 + (yaml_get(when, "k") != NULL);
}

static const struct config_route *by_trying(const struct config *c, const struct facts *f)
{
    const struct config_route *best = NULL;

    for (size_t i = 0; i < c->route_count; i++) {
        const struct yaml_node *when = c->routes[i].when;

        if (fits(when, "receiver", f->receiver) && fits(when, "type", f->type) &&
            fits(when, "sender", f->sender) && fits(when, "k", f->attributes[0].value) &&
            (best == NULL || exactness(when) > exactness(best->when)))
            best = &c->routes[i];
    }
    return best;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct config *config;
    static struct router *router;
    struct fact attribute = { .name = STR("k") };
    struct facts f = { .attributes = &attribute, .attribute_count = 1 };
    struct str rest = str_mem(bytes, size), name;
    struct err err;
    size_t at;

    if (config == NULL) {
        const struct config_options options = { .connectors = &registry };
        AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;

        config = config_load(STR(text), "fuzz.yaml", &options, &report);
        require(config != NULL && router_build(config, &router, &err));
    }
    rest = str_cut(rest, '\n', &f.receiver);
    rest = str_cut(rest, '\n', &f.type);
    rest = str_cut(rest, '\n', &f.sender);
    (void)str_cut(rest, '\n', &attribute.value);
    name = router_system(router, f.receiver);
    require(name.ptr == NULL || router_system(router, name).ptr != NULL);
    (void)router_type_known(router, f.type);
    const struct config_route *found = router_find(router, &f, &at);

    require(found == by_trying(config, &f));
    require(found == NULL || found == &config->routes[at]);
    return 0;
}
