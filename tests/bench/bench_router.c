/* bench_router - how long it takes to find the route of a document.
 *
 *     bench_router
 *
 * Tables of 10, 1 000 and 10 000 routes in equal parts of the seven shapes beside "any",
 * and documents whose receiver, type and sender are drawn from all that routes name. */
#include <stdio.h>
#include <stdlib.h>

#include "app/registry.h"
#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/require.h"
#include "router/router.h"

enum { DOCUMENTS = 4096, ROUNDS = 250, NAME = 24 };

static struct config *many_routes(size_t count)
{
    static const struct config_options options = { .connectors = &registry };
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
    AUTO(buf_done) struct buf text = BUF_INIT(YAML_BYTES);

    buf_puts(&text, "systems:\n");
    for (size_t i = 0; i <= count / 7; i++)
        buf_printf(&text, "  s%zu: {}\n", i);
    buf_puts(&text, "types: { \"*\": {} }\nroutes:\n");
    for (size_t n = 0; n + 1 < count; n++) {
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
    return config_load(buf_view(&text), "bench", &options, &report);
}

struct three {
    char receiver[NAME], type[NAME], sender[NAME];
};

static struct facts random_facts(struct three *t, size_t names)
{
    (void)snprintf(t->receiver, NAME, "s%zu", (size_t)rand() % names);
    (void)snprintf(t->type, NAME, "t%zu", (size_t)rand() % names);
    (void)snprintf(t->sender, NAME, "s%zu", (size_t)rand() % names);
    return (struct facts){ .receiver = str_of(t->receiver),
                           .type = str_of(t->type),
                           .sender = str_of(t->sender) };
}

static void measure(size_t routes)
{
    struct facts *facts = xcalloc(DOCUMENTS, sizeof *facts);
    struct three *names = xcalloc(DOCUMENTS, sizeof *names);
    struct config *c = many_routes(routes);
    struct router_effort effort = { 0 };
    struct router *r;
    struct err err = { 0 };
    size_t at;

    require(c != NULL);
    int64_t start = clock_mono_us();

    require(router_build(c, &r, &err));
    int64_t built = clock_mono_us() - start;

    for (size_t i = 0; i < DOCUMENTS; i++)
        facts[i] = random_facts(&names[i], routes / 7 + 1);
    start = clock_mono_us();
    for (size_t round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < DOCUMENTS; i++)
            require(router_find_counted(r, &facts[i], &at, &effort) != NULL);
    double all = (double)DOCUMENTS * ROUNDS;

    (void)printf(
        "%6zu routes: %6.1f ns per document, %.2f lookups, %.2f places; built in %.1f ms\n", routes,
        (double)(clock_mono_us() - start) * 1000 / all, (double)effort.lookups / all,
        (double)effort.slots / all, (double)built / 1000);
    free(facts);
    free(names);
    router_free(r);
    config_unref(c);
}

int main(void)
{
    measure(10);
    measure(1000);
    measure(10000);
    return 0;
}
