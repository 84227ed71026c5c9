#include "engine/rehearse/rehearse.h"

#include <stdio.h>

#include "base/auto.h"
#include "base/clock.h"
#include "core/grammar.h"
#include "engine/flight/bytes.h"
#include "engine/rehearse/dry.h"
#include "engine/rehearse/past.h"
#include "engine/road/road.h"
#include "store/store.h"

enum { PAGE_BYTES_MOST = 256 << 20, WAY_BYTES_MOST = 16 << 20 };

const char *const rehearse_kinds[REHEARSE_KINDS] = {
    [REHEARSE_EXTRACTED] = "extracted", [REHEARSE_ROUTED] = "routed",
    [REHEARSE_DELIVERED] = "delivered", [REHEARSE_TRANSFORMED] = "transformed",
    [REHEARSE_REJECTED] = "rejected",   [REHEARSE_ACCEPTED] = "accepted",
};

/* One document being rehearsed. */
struct scene {
    struct past past; /* and the walk with the version to compare with */
    const struct rehearse_order *order;
    const struct plan_batch *made_by; /* the batch of that version that built it; NULL: none */
    struct past_walk would;
};

/* ---- results of a walk ---- */

static struct rehearse_delivery rehearse_bytes_of(const struct flight *f, const struct variant *v)
{
    bool received = v == &f->received;
    bool whole = !received || (int64_t)v->buf.len == f->source.size;

    return (struct rehearse_delivery){
        .received = received,
        .bytes = whole ? buf_view(&v->buf) : (struct str){ 0 },
        .size = received ? f->source.size : (int64_t)v->buf.len,
    };
}

static struct rehearse_delivery delivery_of(const struct flight *f, const struct leg *p)
{
    const struct plan_endpoint *e = plan_endpoint_find(f->plan, p->row.endpoint);
    struct rehearse_delivery d = rehearse_bytes_of(f, p->variant);

    d.endpoint = e->name;
    d.as = &f->plan->config->endpoints[e - f->plan->endpoints];
    d.system = plan_system_find(f->plan, p->row.system)->name;
    return d;
}

/* The name "batch NAME" cannot collide: endpoint names have no spaces. */
static struct rehearse_delivery joining_of(const struct past_walk *w)
{
    const struct flight *f = w->flight;
    struct rehearse_delivery d = rehearse_bytes_of(f, f->joins != NULL ? f->joins : &f->received);

    d.endpoint = w->batch;
    d.system = w->receiver;
    return d;
}

/* As for batches: no endpoint has this name. */
static struct rehearse_delivery copy_of(const struct flight *f, struct str receiver)
{
    struct rehearse_delivery d = rehearse_bytes_of(f, f->copies.bytes);

    d.endpoint = DRY_COPY;
    d.system = receiver;
    return d;
}

/* The steps of a batch that the document joined do not count as another route. */
static const struct plan_route *route_of(const struct past_walk *w)
{
    const struct flight *f = w->flight;

    if (w->route != NULL && f->batch != NULL && f->route == &f->batch->chain)
        return w->route;
    return f->route;
}

static struct rehearse_way way_of(const struct past_walk *walked, struct arena *a)
{
    const struct flight *f = walked->flight;
    const struct plan_route *route = route_of(walked);
    struct rehearse_way w = { .config = f->plan->version,
                              .facts = f->facts,
                              .reads_records = f->reads_records };

    if (route != NULL)
        w.route = route->name;
    if (f->message[0] != '\0')
        w.message = str_of(f->message);
    if (f->settle.end == SETTLE_DEAD) {
        w.code = str_of(dead_codes[f->dead]);
        return w;
    }
    w.deliveries = ARENA_ARRAY(a, struct rehearse_delivery, f->leg_count + 1 + f->copies.count);
    if (walked->batch.ptr != NULL)
        w.deliveries[w.delivery_count++] = joining_of(walked);
    for (size_t i = 0; i < f->leg_count; i++)
        w.deliveries[w.delivery_count++] = delivery_of(f, f->legs[i]);
    for (size_t i = 0; i < f->copies.count; i++)
        w.deliveries[w.delivery_count++] = copy_of(f, f->copies.receivers[i]);
    return w;
}

/* Whether the proposed plan would refuse the document: its gateway or batch is gone, or the
 * gateway's size limit is lower. */
static void ask_door(const struct scene *s, struct rehearse_way *w)
{
    const struct plan *p = s->order->proposed;
    const struct plan_gateway *old = plan_gateway_find(s->past.plan, s->past.doc->gateway);
    const struct plan_gateway *new = plan_gateway_find(p, s->past.doc->gateway);
    const char *why = NULL;

    if (s->made_by != NULL && plan_batch_find(p, s->past.doc->gateway) == NULL)
        why = arena_printf(s->past.arena, "there is no batch %.*s", STR_ARG(s->made_by->name));
    else if (old == NULL)
        return;
    else if (new == NULL)
        why = arena_printf(s->past.arena, "there is no gateway %.*s", STR_ARG(old->name));
    else if (p->config->gateways[new - p->gateways].size_bytes < (uint64_t)s->past.doc->source.size)
        why = arena_printf(s->past.arena, "larger than gateway %.*s takes", STR_ARG(old->name));
    if (why == NULL)
        return;
    *w = (struct rehearse_way){ .code = STR("refused"), .message = str_of(why) };
}

/* ---- differences ---- */

static bool same_fact(struct str a, struct str b)
{
    return (a.ptr == NULL) == (b.ptr == NULL) && str_eq(a, b);
}

static bool same_facts(const struct facts *a, const struct facts *b)
{
    if (!same_fact(a->sender, b->sender) || !same_fact(a->receiver, b->receiver) ||
        !same_fact(a->type, b->type) || a->attribute_count != b->attribute_count)
        return false;
    for (size_t i = 0; i < a->attribute_count; i++)
        if (!same_fact(facts_attribute(b, a->attributes[i].name), a->attributes[i].value))
            return false;
    return true;
}

static bool same_bytes(const struct rehearse_delivery *a, const struct rehearse_delivery *b)
{
    if (a->size != b->size)
        return false;
    return (a->received && b->received) ||
           (a->bytes.ptr != NULL && b->bytes.ptr != NULL && str_eq(a->bytes, b->bytes));
}

/* Every option of `a` that is not common to all endpoints is the same in `b`. */
static bool has_options(const struct config_endpoint *a, const struct config_endpoint *b)
{
    for (const struct yaml_node *n = a->node->first; n != NULL; n = n->next) {
        const struct option *common = option_find(grammar_endpoint, n->key->text);
        const struct yaml_node *other = b->node->first;

        while (other != NULL && !str_eq(other->key->text, n->key->text))
            other = other->next;
        if (common == NULL && (other == NULL || !yaml_same(n, other)))
            return false;
    }
    return true;
}

static bool same_definition(const struct config_endpoint *a, const struct config_endpoint *b)
{
    return str_is(str_of(a->kind), b->kind) && has_options(a, b) && has_options(b, a);
}

/* A delivery of `w` to the same endpoint and system that is not matched yet. */
static const struct rehearse_delivery *
rehearse_partner(const struct rehearse_way *w, const struct rehearse_delivery *d, bool *taken)
{
    for (size_t i = 0; i < w->delivery_count; i++) {
        const struct rehearse_delivery *o = &w->deliveries[i];

        if (taken[i] || !str_eq(o->endpoint, d->endpoint) || !str_eq(o->system, d->system))
            continue;
        taken[i] = true;
        return o;
    }
    return NULL;
}

static void compare_deliveries(struct rehearse_difference *d, struct arena *a)
{
    const struct rehearse_way *was = &d->was, *would = &d->would;
    bool *taken = ARENA_ARRAY(a, bool, was->delivery_count);
    struct rehearse_pair *pairs = ARENA_ARRAY(a, struct rehearse_pair, would->delivery_count);

    d->pairs = pairs;
    if (was->delivery_count != would->delivery_count)
        d->kinds |= 1U << REHEARSE_DELIVERED;
    for (size_t i = 0; i < would->delivery_count; i++) {
        const struct rehearse_delivery *new = &would->deliveries[i];
        const struct rehearse_delivery *old = rehearse_partner(was, new, taken);

        if (old == NULL) {
            d->kinds |= 1U << REHEARSE_DELIVERED;
            continue;
        }
        struct rehearse_pair p = { .was = old, .would = new };

        p.bytes = !same_bytes(old, new);
        p.redefined = old->as != NULL && !same_definition(old->as, new->as);
        d->kinds |= (unsigned)p.bytes << REHEARSE_TRANSFORMED;
        d->kinds |= (unsigned)p.redefined << REHEARSE_DELIVERED;
        if (p.bytes || p.redefined)
            pairs[d->pair_count++] = p;
    }
}

static void rehearse_compare(struct rehearse_difference *d, struct arena *a)
{
    const struct rehearse_way *was = &d->was, *would = &d->would;

    if (would->code.ptr != NULL && !same_fact(was->code, would->code))
        d->kinds |= 1U << REHEARSE_REJECTED;
    if (would->code.ptr == NULL && was->code.ptr != NULL)
        d->kinds |= 1U << REHEARSE_ACCEPTED;
    if (str_is(would->code, "refused"))
        return; /* it would be refused: nothing else to compare */
    if (!same_facts(&was->facts, &would->facts))
        d->kinds |= 1U << REHEARSE_EXTRACTED;
    if (was->route.ptr != NULL && would->route.ptr != NULL && !str_eq(was->route, would->route))
        d->kinds |= 1U << REHEARSE_ROUTED;
    if (was->code.ptr == NULL && would->code.ptr == NULL)
        compare_deliveries(d, a);
}

/* ---- batches ---- */

static const struct yaml_node *batch_key(const struct scene *s, const struct plan *p,
                                         const struct plan_batch *b, const char *key)
{
    const struct yaml_node *all = yaml_get(p->config->root, "batches");

    return yaml_get(yaml_get(all, arena_text(s->past.arena, b->name)), key);
}

/* Whether the same members would be joined to the same bytes, of the same type and part. */
static bool is_made_alike(const struct scene *s, const struct plan_batch *old,
                          const struct plan_batch *new)
{
    static const char *const templates[] = { "header", "footer", "by" };

    for (size_t i = 0; i < sizeof templates / sizeof templates[0]; i++) {
        const struct yaml_node *a = batch_key(s, s->past.plan, old, templates[i]);
        const struct yaml_node *b = batch_key(s, s->order->proposed, new, templates[i]);

        if ((a == NULL) != (b == NULL) || (a != NULL && !yaml_same(a, b)))
            return false;
    }
    return str_eq(old->root, new->root) && str_eq(old->separator, new->separator) &&
           str_eq(old->type, new->type) && old->join == new->join;
}

/* The document of a batch is not built again: skip it if it would be built differently. */
static void ask_batch(struct scene *s)
{
    int64_t name = s->past.doc->gateway;
    const struct plan_batch *new = plan_batch_find(s->order->proposed, name);
    const char *why = NULL;

    s->made_by = plan_batch_find(s->past.plan, name);
    if (s->made_by == NULL)
        why = "is not in the version in force";
    else if (new != NULL && !is_made_alike(s, s->made_by, new))
        why = "would be made of its members in another way";
    if (why != NULL)
        (void)snprintf(s->past.why, sizeof s->past.why, "batch %.*s %s",
                       STR_ARG(name_text(road_stock(s->past.road)->store, name)), why);
}

/* ---- one document ---- */

static bool walk_both(struct scene *s, struct err *err)
{
    bool given;

    if (!past_walk(&s->past, &given, err))
        return false;
    if (s->past.why[0] != '\0')
        return true;
    if (s->order->against_live) {
        struct plan *live = road_plan(s->past.road);
        struct past_walk w = { 0 };
        bool ok = live->version == s->past.plan->version ||
                  past_walk_with(&s->past, live, given, &w, err);

        plan_unref(s->past.plan);
        s->past.plan = live;
        if (!ok)
            return false;
        if (w.flight != NULL) {
            flight_free(s->past.was.flight);
            s->past.was = w;
        }
    }
    if (s->made_by != NULL)
        ask_batch(s);
    return s->past.why[0] != '\0' ||
           past_walk_with(&s->past, s->order->proposed, given, &s->would, err);
}

/* Loads the received bytes, to compare them with bytes that a step made. */
static bool load_received(struct flight *f, struct err *err)
{
    if (f->joins == &f->received || f->copies.bytes == &f->received)
        return variant_load(f, &f->received, err);
    for (size_t i = 0; i < f->leg_count; i++)
        if (f->legs[i]->variant == &f->received)
            return variant_load(f, &f->received, err);
    return true;
}

/* False: the caller has no room for more. */
static bool rehearse_tell(struct scene *s)
{
    struct rehearse_difference d = { .document = s->past.doc,
                                     .was = way_of(&s->past.was, s->past.arena),
                                     .would = way_of(&s->would, s->past.arena) };

    ask_door(s, &d.would);
    rehearse_compare(&d, s->past.arena);
    return d.kinds == 0 || s->order->found(s->order->arg, &d);
}

/* A missing or damaged payload is a fact about the document, not a failure of the rehearsal. */
static bool is_of_document(const struct err *err)
{
    return err->kind == ERR_PERMANENT || err->kind == ERR_CONFIG || err->kind == ERR_LIMIT;
}

static bool rehearse_play(struct scene *s, bool *ret_room, struct err *err)
{
    bool large = s->past.doc->source.size > SEGMENT_PAYLOAD_MOST;

    *ret_room = true;
    if (str_is(s->past.doc->code, dead_codes[DEAD_POISON])) {
        (void)snprintf(s->past.why, sizeof s->past.why, "the program ended while it worked on it");
        return true;
    }
    s->past.plan = past_plan(s->past.road, s->past.doc, err);
    if (s->past.plan == NULL)
        return false;
    s->made_by = plan_batch_find(s->past.plan, s->past.doc->gateway);
    if (large)
        (void)pthread_mutex_lock(&road_stock(s->past.road)->large);
    bool ok = walk_both(s, err);

    if (ok && large && s->past.why[0] == '\0' &&
        s->past.was.flight->made_count + s->would.flight->made_count > 0)
        ok = load_received(s->past.was.flight, err) && load_received(s->would.flight, err);
    if (ok && s->past.why[0] == '\0')
        *ret_room = rehearse_tell(s);
    if (large)
        (void)pthread_mutex_unlock(&road_stock(s->past.road)->large);
    return ok;
}

static bool rehearse_one(struct road *r, const struct rehearse_order *o, const struct document *d,
                         bool *ret_room, struct err *err)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(WAY_BYTES_MOST);
    struct scene s = { .past = { .road = r, .doc = d, .arena = &arena }, .order = o };
    bool ok = rehearse_play(&s, ret_room, err);

    if (!ok && is_of_document(err)) {
        (void)snprintf(s.past.why, sizeof s.past.why, "%s", err->text);
        *err = (struct err){ 0 };
        ok = true;
    }
    if (ok && s.past.why[0] != '\0')
        o->left(o->arg, d, s.past.why);
    if (s.past.was.flight != NULL)
        flight_free(s.past.was.flight);
    if (s.would.flight != NULL)
        flight_free(s.would.flight);
    plan_unref(s.past.plan);
    return ok;
}

/* ---- a page of documents ---- */

static bool rehearse_page(struct road *r, const struct rehearse_order *o,
                          struct rehearse_result *ret, bool *ret_room, struct err *err)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(PAGE_BYTES_MOST);
    struct document *docs = ARENA_ARRAY(&arena, struct document, DOCUMENTS_PAGE_MOST);
    size_t left = o->most - (size_t)ret->looked, count;
    int64_t next;

    if (!document_list(road_stock(r)->store, &o->filter, ret->next,
                       left < DOCUMENTS_PAGE_MOST ? left : DOCUMENTS_PAGE_MOST, &arena, docs,
                       &count, &next, err))
        return false;
    for (size_t i = 0; i < count && *ret_room; i++) {
        if (!rehearse_one(r, o, &docs[i], ret_room, err))
            return false;
        ret->looked++;
        if (clock_mono_us() >= o->until_us)
            *ret_room = false;
        if (!*ret_room && (i + 1 < count)) {
            ret->next = docs[i].source.num;
            return true;
        }
    }
    ret->next = next;
    return true;
}

bool rehearse(struct road *r, const struct rehearse_order *order, struct rehearse_result *ret,
              struct err *err)
{
    struct rehearse_result got = { .next = order->below };
    bool room = true;

    do {
        if (!rehearse_page(r, order, &got, &room, err))
            return false;
        room = room && clock_mono_us() < order->until_us;
    } while (room && got.next != 0 && got.looked < (int64_t)order->most);
    *ret = got;
    return true;
}
