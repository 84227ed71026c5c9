/* road.c - endpoints, mishaps, and the dry run of one document. */
#include <errno.h>

#include "admin/api/parts.h"
#include "admin/api/scope.h"
#include "base/auto.h"
#include "base/base64.h"
#include "engine/dispatch/dispatch.h"
#include "engine/engine.h"
#include "engine/rehearse/dry.h"
#include "engine/road/road.h"
#include "store/road/aloft.h"
#include "store/store.h"
#include "store/watch/mishap.h"

enum { BODY_MOST = 8 << 20, HEAD_MOST = 64 << 10, PAGE_MOST = 200 };

/* ---- endpoints ---- */

struct shown_endpoint {
    struct str name, kind, system, broken;
    const char *breaker;
    int64_t since_us, until_us, pause_us, active, waiting;
};

static void show_endpoint(struct dispatch *d, const struct config_endpoint *c,
                          const struct plan_endpoint *p, struct arena *a,
                          struct shown_endpoint *ret)
{
    struct endpoint_look look = { 0 };

    *ret = (struct shown_endpoint){ .name = arena_copy(a, str_of(c->name)),
                                    .kind = arena_copy(a, str_of(c->kind)),
                                    .breaker = "closed" };
    if (c->system != NULL)
        ret->system = arena_copy(a, str_of(c->system));
    if (p->broken != NULL)
        ret->broken = arena_copy(a, str_of(p->broken));
    if (!dispatch_look(d, p->word, &look))
        return;
    ret->breaker = look.open ? "open" : "closed";
    ret->since_us = look.open ? look.since_us : 0;
    ret->until_us = look.open ? look.until_us : 0;
    ret->pause_us = look.pause_until_us;
    ret->active = look.active;
    ret->waiting = look.waiting;
    if (look.broken[0] != '\0')
        ret->broken = arena_copy(a, str_of(look.broken));
}

/* An endpoint without a system serves all receivers and shows the backlog of all, so it takes the
 * right for all systems. */
static bool api_road_sees_endpoint(struct graphql_call *call, const struct config_endpoint *c)
{
    return api_sees_all(call, RIGHT_SEE) ||
           (c->system != NULL && api_sees_system(call, RIGHT_SEE, str_of(c->system)));
}

static void add_elsewhere(const struct aloft_count *counts, size_t count, int64_t endpoint,
                          struct shown_endpoint *io)
{
    for (size_t i = 0; i < count; i++)
        if (counts[i].endpoint == endpoint) {
            io->active += counts[i].sending_elsewhere;
            io->waiting += counts[i].waiting_elsewhere;
        }
}

static bool endpoints(struct graphql_call *call, struct err *err)
{
    struct aloft_count *counts = ARENA_ARRAY(call->arena, struct aloft_count, ALOFT_COUNTS_MOST);
    size_t count;

    if (!aloft_counts(api_store(call), counts, ALOFT_COUNTS_MOST, &count, err))
        return false;
    struct road *road = engine_road(api_engine(call));
    struct plan *plan = road_plan(road);
    size_t n = plan->endpoint_count;
    struct shown_endpoint *shown = ARENA_ARRAY(call->arena, struct shown_endpoint, n);
    const void **list = ARENA_ARRAY(call->arena, const void *, n);
    size_t seen = 0;

    for (size_t i = 0; i < n; i++) {
        if (!api_road_sees_endpoint(call, &plan->config->endpoints[i]))
            continue;
        show_endpoint(road_dispatch(road), &plan->config->endpoints[i], &plan->endpoints[i],
                      call->arena, &shown[i]);
        add_elsewhere(counts, count, plan->endpoints[i].word, &shown[i]);
        list[seen++] = &shown[i];
    }
    plan_unref(plan);
    return graphql_set_objects(call, list, seen);
}

/* ---- mishaps ---- */

static bool mishaps(struct graphql_call *call, struct err *err)
{
    int64_t first = 50;
    size_t n;

    (void)graphql_arg_int(call, "first", &first);
    if (first < 1 || first > PAGE_MOST)
        return err_set(err, ERR_LIMIT, 0, "first is between 1 and %d", PAGE_MOST);
    struct mishap *all = ARENA_ARRAY(call->arena, struct mishap, (size_t)first);

    if (!mishap_list(api_store(call), call->arena, all, (size_t)first, &n, err))
        return false;
    return graphql_set_structs(call, all, n, sizeof *all);
}

/* ---- rehearse ---- */

struct rehearsal {
    struct dry_result result;
    struct str gateway;
    const char *code; /* dead-letter code; NULL: it would not become a dead letter */
};

/* Writes header lines in the form in which a gateway stores them. */
static bool put_headers(const struct graphql_value *list, struct buf *to, struct err *err)
{
    for (size_t i = 0; list->kind == GRAPHQL_LIST && i < list->count; i++) {
        struct str line = list->items[i].text, name, value = str_trim(str_cut(line, ':', &name));

        if (str_find(line, ':') < 1 || str_find(line, '\n') >= 0 || str_find(line, '\r') >= 0)
            return err_set(err, ERR_PERMANENT, 0, "a header is one line `Name: value`");
        if (!buf_append(to, name, err) || !buf_append(to, STR(": "), err) ||
            !buf_append(to, value, err) || !buf_append(to, STR("\n"), err))
            return err_context(err, "headers");
    }
    return true;
}

static bool sees_facts(struct graphql_call *call, const struct facts *f)
{
    return api_sees_all(call, RIGHT_EDIT) ||
           rights_cover(&api_principal(call)->rights, RIGHT_EDIT,
                        f->sender_unknown ? STR("") : f->sender,
                        f->receiver_unknown ? STR("") : f->receiver);
}

static bool api_road_rehearse(struct graphql_call *call, struct err *err)
{
    AUTO(buf_done) struct buf body = BUF_INIT(BODY_MOST);
    AUTO(buf_done) struct buf head = BUF_INIT(HEAD_MOST);
    struct rehearsal *r = ARENA_NEW(call->arena, struct rehearsal);
    struct dry_request request = { .gateway = graphql_arg_text(call, "gateway"),
                                   .name = graphql_arg_text(call, "name") };

    if (!base64_decode(graphql_arg_text(call, "payload"), &body, err))
        return err_context(err, "payload");
    if (!put_headers(graphql_arg(call, "headers"), &head, err))
        return false;
    request.body = buf_view(&body);
    request.head = buf_view(&head);
    if (!dry_run(engine_road(api_engine(call)), &request, call->arena, &r->result, err))
        return false;
    if (!sees_facts(call, &r->result.facts))
        return err_set(err, ERR_PERMANENT, EPERM,
                       "neither its sender nor its receiver is a system that %.*s may edit for",
                       STR_ARG(api_name(call)));
    r->gateway = request.gateway;
    r->code = r->result.dead ? dead_codes[r->result.code] : NULL;
    return graphql_set_object(call, r);
}

static bool rehearsal_attributes(struct graphql_call *call, struct err *err)
{
    const struct rehearsal *r = call->parent;

    (void)err;
    return api_set_attributes(call, &r->result.facts);
}

static bool rehearsal_error(struct graphql_call *call, struct err *err)
{
    const struct rehearsal *r = call->parent;
    struct api_error *e = ARENA_NEW(call->arena, struct api_error);

    (void)err;
    if (r->code == NULL)
        return graphql_set_null(call);
    *e = (struct api_error){ .code = str_of(r->code), .message = r->result.message };
    return graphql_set_object(call, e);
}

const struct graphql_resolver api_road[] = {
    { .field = "Query.endpoints", .fn = endpoints },
    GRAPHQL_MEMBER("Endpoint.name", struct shown_endpoint, name),
    GRAPHQL_MEMBER("Endpoint.kind", struct shown_endpoint, kind),
    API_TEXT_AT("Endpoint.system", struct shown_endpoint, system),
    GRAPHQL_MEMBER("Endpoint.breaker", struct shown_endpoint, breaker),
    API_NUMBER_AT("Endpoint.since", struct shown_endpoint, since_us),
    API_NUMBER_AT("Endpoint.until", struct shown_endpoint, until_us),
    API_NUMBER_AT("Endpoint.pause", struct shown_endpoint, pause_us),
    GRAPHQL_MEMBER("Endpoint.active", struct shown_endpoint, active),
    GRAPHQL_MEMBER("Endpoint.waiting", struct shown_endpoint, waiting),
    API_TEXT_AT("Endpoint.broken", struct shown_endpoint, broken),
    { .field = "Query.mishaps", .fn = mishaps },
    GRAPHQL_MEMBER("Mishap.code", struct mishap, code),
    GRAPHQL_MEMBER("Mishap.object", struct mishap, object),
    GRAPHQL_MEMBER("Mishap.message", struct mishap, message),
    GRAPHQL_MEMBER("Mishap.count", struct mishap, count),
    GRAPHQL_MEMBER("Mishap.first", struct mishap, first_us),
    GRAPHQL_MEMBER("Mishap.last", struct mishap, last_us),
    { .field = "Query.rehearse", .fn = api_road_rehearse },
    GRAPHQL_MEMBER("Rehearsal.config", struct rehearsal, result.config),
    GRAPHQL_MEMBER("Rehearsal.gateway", struct rehearsal, gateway),
    API_TEXT_AT("Rehearsal.sender", struct rehearsal, result.facts.sender),
    API_TEXT_AT("Rehearsal.receiver", struct rehearsal, result.facts.receiver),
    API_TEXT_AT("Rehearsal.type", struct rehearsal, result.facts.type),
    { .field = "Rehearsal.attributes", .fn = rehearsal_attributes },
    API_TEXT_AT("Rehearsal.route", struct rehearsal, result.route),
    GRAPHQL_LIST_OF("Rehearsal.steps", struct rehearsal, result.steps, result.step_count),
    GRAPHQL_LIST_OF("Rehearsal.deliveries", struct rehearsal, result.deliveries,
                    result.delivery_count),
    GRAPHQL_MEMBER("RehearsedDelivery.endpoint", struct dry_delivery, endpoint),
    API_TEXT_AT("RehearsedDelivery.system", struct dry_delivery, system),
    { .field = "Rehearsal.error", .fn = rehearsal_error },
};
const size_t api_road_count = sizeof api_road / sizeof api_road[0];
