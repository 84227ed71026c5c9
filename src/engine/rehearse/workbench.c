#include "engine/rehearse/workbench.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "engine/dispatch/govern.h"
#include "engine/plan/plan.h"
#include "engine/run/life.h"
#include "engine/run/sender.h"
#include "engine/tally/mishaps.h"
#include "engine/tally/ways.h"
#include "engine/threads/crew.h"
#include "engine/threads/pool.h"
#include "store/open.h"
#include "store/store.h"

enum { SEGMENT_BYTES = 4 << 20, FLIGHT_BYTES = 1 << 20 };

struct workbench {
    struct store *store;
    struct govern *govern;
    struct mishaps *mishaps;
    struct ways *ways;
    struct pool *pool;
    struct crew *senders;
    struct road *road;
};

bool workbench_open(const char *folder, struct workbench **ret, struct err *err)
{
    const struct store_options store = { .data = folder,
                                         .area = "internal",
                                         .segment_bytes = SEGMENT_BYTES };
    struct workbench *b = NEW(struct workbench);

    *b = (struct workbench){ .govern = govern_new(),
                             .mishaps = mishaps_new(),
                             .ways = ways_new(),
                             .pool = pool_new(1),
                             .senders = crew_new("sender", SENDERS, SENDERS_LOST_MOST) };
    *ret = b;
    if (!store_open(&store, &b->store, err))
        return false;
    const struct road_options road = { .store = b->store,
                                       .pool = b->pool,
                                       .senders = b->senders,
                                       .govern = b->govern,
                                       .mishaps = b->mishaps,
                                       .ways = b->ways,
                                       .workers = 1,
                                       .bytes_most = FLIGHT_BYTES };

    return road_start(&road, &b->road, err);
}

void workbench_close(struct workbench *b)
{
    if (b == NULL)
        return;
    road_rest(b->road);
    road_stop(b->road);
    (void)crew_free(b->senders);
    pool_free(b->pool);
    road_drain(b->road);
    road_free(b->road);
    govern_free(b->govern);
    mishaps_free(b->mishaps);
    ways_free(b->ways);
    if (b->store != NULL)
        store_close(b->store);
    free(b);
}

struct road *workbench_road(struct workbench *b)
{
    return b->road;
}

struct store *workbench_store(struct workbench *b)
{
    return b->store;
}

/* Gateways are known by name to scripts, hence stored; other names stay out (plan_build_apart). */
static bool name_gateways(struct workbench *b, const struct config *c, struct err *err)
{
    struct str *names = xcalloc(c->gateway_count + 1, sizeof *names);
    int64_t *ids = xcalloc(c->gateway_count + 1, sizeof *ids);

    for (size_t i = 0; i < c->gateway_count; i++)
        names[i] = str_of(c->gateways[i].name);
    bool ok = names_add(b->store, NAME_GATEWAY, names, c->gateway_count, ids, err);

    free(names);
    free(ids);
    return ok;
}

bool workbench_plan(struct workbench *b, struct config *config, const struct connectors *connectors,
                    struct plan **ret, struct err *err)
{
    return name_gateways(b, config, err) &&
           plan_build_apart(config, connectors, b->store, config, NULL, ret, err);
}
