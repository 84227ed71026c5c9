#include "engine/upkeep/removal.h"

#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/digest.h"
#include "store/govern/hold.h"
#include "store/road/settle.h"
#include "store/road/task.h"
#include "store/search/document.h"
#include "store/store.h"

enum { LEFT_MOST = 400, ARENA_MOST = 4 << 20, TRAFFIC_DAYS = 7 };

struct removal {
    struct store *store;
    const struct config *old, *fresh;
    struct arena *arena;
    struct loss *losses;
    size_t loss_count;
    struct queue_depth *queues;
    size_t queue_count;
    struct hold *holds;
    size_t hold_count;
};

/* `left` is empty when nothing is left behind. */
static void lose(struct removal *r, const char *kind, const char *name, const struct buf *left)
{
    r->losses[r->loss_count++] =
        (struct loss){ .kind = kind,
                       .name = arena_text(r->arena, str_of(name)),
                       .left = left != NULL && left->len > 0 ? arena_text(r->arena, buf_view(left))
                                                             : NULL };
}

static void removal_leave(struct buf *left, const char *text)
{
    if (left->len > 0)
        buf_puts(left, "; ");
    buf_puts(left, text);
}

/* ---- what is left behind ---- */

/* Deliveries that wait for this system or endpoint, whichever the queues name. */
static void leave_waiting(const struct removal *r, int64_t word, struct buf *left)
{
    int64_t n = 0, system, endpoint;
    char text[80];

    for (size_t i = 0; i < r->queue_count; i++)
        if (queue_target(r->store, r->queues[i].queue, &system, &endpoint) &&
            (system == word || endpoint == word))
            n += r->queues[i].ready + r->queues[i].later;
    if (n == 0)
        return;
    (void)snprintf(text, sizeof text, "%lld deliver%s for it", (long long)n,
                   n == 1 ? "y waits" : "ies wait");
    removal_leave(left, text);
}

static void leave_holds(const struct removal *r, int64_t word, struct buf *left)
{
    bool any = false;

    for (size_t i = 0; i < r->hold_count; i++)
        any = any || r->holds[i].system == word;
    if (any)
        removal_leave(left, "a hold is placed on it");
}

static bool leave_documents(const struct removal *r, int64_t gateway, struct buf *left,
                            struct err *err)
{
    int64_t n, since = clock_wall_us() - INT64_C(86400) * TRAFFIC_DAYS * CLOCK_S;
    bool traffic;
    char text[80];

    if (!task_unrouted(r->store, gateway, &n, err) ||
        !document_received(r->store, gateway, since, &traffic, err))
        return false;
    (void)snprintf(text, sizeof text, "%lld document%s of it %s not routed yet", (long long)n,
                   n == 1 ? "" : "s", n == 1 ? "is" : "are");
    if (n > 0)
        removal_leave(left, text);
    if (traffic)
        removal_leave(left, "it received documents in the last 7 days");
    return true;
}

/* ---- what is removed ---- */

static bool has_entry(const struct config_entry *list, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i].name, name) == 0)
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

static bool has_route(const struct config *c, const char *name)
{
    for (size_t i = 0; i < c->route_count; i++)
        if (strcmp(c->routes[i].name, name) == 0)
            return true;
    return false;
}

static bool lose_gateways(struct removal *r, struct err *err)
{
    for (size_t i = 0; i < r->old->gateway_count; i++) {
        const char *name = r->old->gateways[i].name;
        AUTO(buf_done) struct buf left = BUF_INIT(LEFT_MOST);
        int64_t word;

        if (config_gateway_find(r->fresh, str_of(name)) != NULL)
            continue;
        if (name_find(r->store, NAME_GATEWAY, str_of(name), &word) &&
            !leave_documents(r, word, &left, err))
            return false;
        lose(r, "gateway", name, &left);
    }
    return true;
}

static void lose_receivers(struct removal *r)
{
    int64_t word;

    for (size_t i = 0; i < r->old->endpoint_count; i++) {
        const char *name = r->old->endpoints[i].name;
        AUTO(buf_done) struct buf left = BUF_INIT(LEFT_MOST);

        if (has_endpoint(r->fresh, name))
            continue;
        if (name_find(r->store, NAME_ENDPOINT, str_of(name), &word))
            leave_waiting(r, word, &left);
        lose(r, "endpoint", name, &left);
    }
    for (size_t i = 0; i < r->old->system_count; i++) {
        const char *name = r->old->systems[i].name;
        AUTO(buf_done) struct buf left = BUF_INIT(LEFT_MOST);

        if (has_entry(r->fresh->systems, r->fresh->system_count, name))
            continue;
        if (name_find(r->store, NAME_SYSTEM, str_of(name), &word)) {
            leave_waiting(r, word, &left);
            leave_holds(r, word, &left);
        }
        lose(r, "system", name, &left);
    }
}

static void lose_rules(struct removal *r)
{
    for (size_t i = 0; i < r->old->route_count; i++)
        if (r->old->routes[i].name != NULL && !has_route(r->fresh, r->old->routes[i].name))
            lose(r, "route", r->old->routes[i].name, NULL);
    for (size_t i = 0; i < r->old->type_count; i++)
        if (!has_entry(r->fresh->types, r->fresh->type_count, r->old->types[i].name))
            lose(r, "type", r->old->types[i].name, NULL);
}

/* ---- the list ---- */

/* The grave ones first, otherwise in the order in which they were found. */
static void losses_sort(const struct removal *r, struct losses *ret)
{
    struct loss *sorted = ARENA_ARRAY(r->arena, struct loss, r->loss_count + 1);

    for (size_t i = 0; i < r->loss_count; i++)
        if (r->losses[i].left != NULL)
            sorted[ret->grave++] = r->losses[i];
    ret->count = ret->grave;
    for (size_t i = 0; i < r->loss_count; i++)
        if (r->losses[i].left == NULL)
            sorted[ret->count++] = r->losses[i];
    ret->list = sorted;
}

static void losses_sign(struct losses *ret)
{
    AUTO(buf_done) struct buf names = BUF_INIT(YAML_BYTES + (1 << 20));
    char hex[SHA256_TEXT];

    if (ret->grave == 0)
        return;
    for (size_t i = 0; i < ret->grave; i++)
        buf_printf(&names, "%s %s\n", ret->list[i].kind, ret->list[i].name);
    struct sha256 sha = digest_of(buf_view(&names));

    (void)snprintf(ret->confirm, sizeof ret->confirm, "%.*s", LOSSES_CONFIRM - 1,
                   digest_text(&sha, hex));
}

bool removal_find(struct store *s, const struct config *old, const struct config *fresh,
                  struct arena *a, struct losses *ret, struct err *err)
{
    AUTO(arena_done) struct arena room = ARENA_INIT(ARENA_MOST);
    struct removal r = { .store = s, .old = old, .fresh = fresh, .arena = a };
    size_t most = old->gateway_count + old->endpoint_count + old->system_count + old->route_count +
                  old->type_count;

    *ret = (struct losses){ 0 };
    r.losses = ARENA_ARRAY(a, struct loss, most + 1);
    r.queues = ARENA_ARRAY(&room, struct queue_depth, QUEUE_DEPTHS_MOST);
    r.holds = ARENA_ARRAY(&room, struct hold, HOLDS_MOST);
    if (!queue_depths(s, r.queues, QUEUE_DEPTHS_MOST, &r.queue_count, err) ||
        !hold_list(s, false, &room, r.holds, &r.hold_count, err) || !lose_gateways(&r, err))
        return false;
    lose_receivers(&r);
    lose_rules(&r);
    losses_sort(&r, ret);
    losses_sign(ret);
    return true;
}

void removal_tell(const struct losses *losses, struct problem_list *to)
{
    static const struct place first = { .line = 1, .column = 1 };

    for (size_t i = 0; i < losses->grave; i++) {
        const struct loss *l = &losses->list[i];
        bool gateway = strcmp(l->kind, "gateway") == 0;

        problem_add(to, first,
                    gateway ? "what it received is kept and shown by `waybill docs ls --gateway "
                              "NAME`; new documents are refused"
                            : "what waits is held until the name is back; `waybill docs retry "
                              "--state held --from route` sends it where the routes in force lead",
                    "%s `%s` is removed: %s", l->kind, l->name, l->left);
    }
}
