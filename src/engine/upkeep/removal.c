#include "engine/upkeep/removal.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "store/road/settle.h"
#include "store/road/task.h"
#include "store/store.h"

#define CONFIRM "confirm with --remove: what waits is held until the name is back; "

struct removal {
    struct store *store;
    const struct config *fresh;
    struct problem_list *to;
    struct queue_depth *queues;
    size_t count;
};

/* ---- what waits ---- */

/* Deliveries that wait for this system or endpoint, whichever the queues name. */
static int64_t removal_waiting(const struct removal *r, int64_t word)
{
    int64_t n = 0, system, endpoint;

    for (size_t i = 0; i < r->count; i++)
        if (queue_target(r->store, r->queues[i].queue, &system, &endpoint) &&
            (system == word || endpoint == word))
            n += r->queues[i].ready + r->queues[i].later;
    return n;
}

static void removal_say(struct removal *r, const char *noun, const char *name, int64_t waiting)
{
    static const struct place first = { .line = 1, .column = 1 };

    problem_add(r->to, first,
                CONFIRM "`waybill docs retry --state held --from route` sends it where the routes "
                        "in force lead",
                "%lld deliver%s for %s `%s`, which is removed", (long long)waiting,
                waiting == 1 ? "y waits" : "ies wait", noun, name);
}

/* ---- what is removed ---- */

static bool has_system(const struct config *c, const char *name)
{
    for (size_t i = 0; i < c->system_count; i++)
        if (strcmp(c->systems[i].name, name) == 0)
            return true;
    return false;
}

static bool has_endpoint(const struct config *c, const char *name)
{
    for (size_t i = 0; i < c->endpoint_count; i++)
        if (strcmp(c->endpoints[i].name, name) == 0)
            return true;
    return false;
}

static void removal_of_receivers(struct removal *r, const struct config *old)
{
    int64_t word, n;

    for (size_t i = 0; i < old->system_count; i++)
        if (!has_system(r->fresh, old->systems[i].name) &&
            name_find(r->store, NAME_SYSTEM, str_of(old->systems[i].name), &word) &&
            (n = removal_waiting(r, word)) > 0)
            removal_say(r, "system", old->systems[i].name, n);
    for (size_t i = 0; i < old->endpoint_count; i++)
        if (!has_endpoint(r->fresh, old->endpoints[i].name) &&
            name_find(r->store, NAME_ENDPOINT, str_of(old->endpoints[i].name), &word) &&
            (n = removal_waiting(r, word)) > 0)
            removal_say(r, "endpoint", old->endpoints[i].name, n);
}

static bool removal_of_gateways(struct removal *r, const struct config *old, struct err *err)
{
    static const struct place first = { .line = 1, .column = 1 };
    int64_t word, n;

    for (size_t i = 0; i < old->gateway_count; i++) {
        const char *name = old->gateways[i].name;

        if (config_gateway_find(r->fresh, str_of(name)) != NULL ||
            !name_find(r->store, NAME_GATEWAY, str_of(name), &word))
            continue;
        if (!task_unrouted(r->store, word, &n, err))
            return false;
        if (n > 0)
            problem_add(r->to, first,
                        CONFIRM "`waybill docs ls --gateway NAME --state received` shows it",
                        "%lld document%s of gateway `%s`, which is removed, %s not routed yet",
                        (long long)n, n == 1 ? "" : "s", name, n == 1 ? "is" : "are");
    }
    return true;
}

bool removal_check(struct store *s, const struct config *old, const struct config *fresh,
                   struct problem_list *to, struct err *err)
{
    struct removal r = { .store = s,
                         .fresh = fresh,
                         .to = to,
                         .queues = xcalloc(QUEUE_DEPTHS_MOST, sizeof(struct queue_depth)) };
    bool ok = queue_depths(s, r.queues, QUEUE_DEPTHS_MOST, &r.count, err) &&
              removal_of_gateways(&r, old, err);

    if (ok)
        removal_of_receivers(&r, old);
    free(r.queues);
    return ok;
}
