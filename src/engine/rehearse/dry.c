#include "engine/rehearse/dry.h"

#include "base/clock.h"
#include "engine/flight/flight.h"
#include "engine/road/road.h"
#include "engine/walk/copies.h"
#include "engine/walk/walk.h"
#include "engine/walk/walk_facts.h"
#include "store/store.h"

static struct str dry_copy(struct arena *a, struct str s)
{
    return s.ptr != NULL ? arena_copy(a, s) : s;
}

static void dry_add_deliveries(const struct flight *f, const struct plan_step *s, struct arena *a,
                               struct dry_result *ret)
{
    for (size_t i = 0; i < s->endpoint_count && ret->delivery_count < DRY_DELIVERIES_MOST; i++) {
        const struct plan_endpoint *e = s->endpoints[i];

        ret->deliveries[ret->delivery_count++] = (struct dry_delivery){
            .endpoint = dry_copy(a, e->name),
            .system = dry_copy(a, e->system != NULL ? e->system->name : f->facts.receiver)
        };
    }
}

static void dry_add_copies(const struct flight *f, const struct plan_step *s, struct arena *a,
                           struct dry_result *ret)
{
    const struct str *to;
    size_t count = copies_receivers(s, &f->facts, a, &to);

    for (size_t i = 0; i < count && ret->delivery_count < DRY_DELIVERIES_MOST; i++)
        ret->deliveries[ret->delivery_count++] =
            (struct dry_delivery){ .endpoint = DRY_COPY, .system = dry_copy(a, to[i]) };
}

static void add_route(const struct flight *f, const struct plan_route *r, struct arena *a,
                      struct dry_result *ret)
{
    ret->route = dry_copy(a, r->name);
    for (size_t i = 0; i < r->step_count; i++) {
        const struct plan_step *s = &r->steps[i];

        if (s->kind == STEP_DELIVER)
            dry_add_deliveries(f, s, a, ret);
        else if (ret->step_count < DRY_STEPS_MOST)
            ret->steps[ret->step_count++] = dry_copy(a, s->name);
        if (s->kind == STEP_SUBSCRIBE)
            dry_add_copies(f, s, a, ret);
    }
}

static void dry_find_way(struct flight *f, struct arena *a, struct dry_result *ret)
{
    const struct plan_route *r = walk_find_facts(f) ? walk_find_route(f) : NULL;

    ret->facts = facts_copy(a, &f->facts);
    if (r != NULL)
        add_route(f, r, a, ret);
    if (r == NULL || r->broken != NULL) {
        ret->dead = true;
        ret->code = r == NULL ? f->dead : DEAD_SERVICE_FAILED;
        ret->message = dry_copy(a, str_of(r == NULL ? f->message : r->broken));
    }
}

bool dry_run(struct road *r, const struct dry_request *request, struct arena *a,
             struct dry_result *ret, struct err *err)
{
    int64_t gateway;

    *ret = (struct dry_result){ 0 };
    if (!name_find(road_stock(r)->store, NAME_GATEWAY, request->gateway, &gateway))
        gateway = 0;
    struct plan *plan = road_plan(r);

    if (gateway == 0 || plan_gateway_find(plan, gateway) == NULL) {
        plan_unref(plan);
        return err_set(err, ERR_PERMANENT, 0, "there is no gateway %.*s",
                       (int)(request->gateway.len < 100 ? request->gateway.len : 100),
                       request->gateway.ptr);
    }
    struct flight *f = flight_new(road_stock(r));

    f->dry = true;
    f->plan = plan;
    f->gateway = gateway;
    f->received_us = clock_wall_us();
    f->name = request->name;
    f->head = request->head;
    f->source.size = (int64_t)request->body.len;
    ret->config = plan->version;
    bool ok = buf_append(&f->received.buf, request->body, err);

    if (ok)
        dry_find_way(f, a, ret);
    flight_free(f);
    return ok;
}
