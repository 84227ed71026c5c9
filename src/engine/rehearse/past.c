#include "engine/rehearse/past.h"

#include <stdio.h>

#include "engine/flight/bytes.h"
#include "engine/road/road.h"
#include "engine/walk/walk.h"
#include "store/search/document.h"
#include "store/store.h"

/* Loads all bytes of a small document; of a large one only as many as extraction reads. */
static bool past_load_bytes(const struct past *p, struct flight *f, struct err *err)
{
    int64_t size = p->doc->source.size;

    if (size == 0)
        return true;
    if (p->was.flight != NULL && size <= SEGMENT_PAYLOAD_MOST) /* the first walk has read them */
        return buf_append(&f->received.buf, buf_view(&p->was.flight->received.buf), err);
    return bytes_read_first(f, EXTRACT_BYTES_MOST, err);
}

static void note_batch(const struct past *p, struct past_walk *w)
{
    const struct flight *f = w->flight;
    struct str part = f->join.part;

    w->batch = str_of(arena_printf(p->arena, "batch %.*s%s%.*s", STR_ARG(f->into->name),
                                   part.len > 0 ? ", part " : "", STR_ARG(part)));
    w->receiver = f->facts.receiver.ptr != NULL ? f->facts.receiver : STR("");
    w->route = f->route;
}

/* A member of `join: each` goes through the steps of its batch with its received bytes, as it does
 * after the batch has closed. */
static bool past_walk_on(struct flight *f)
{
    for (size_t i = 0; i < f->made_count; i++)
        buf_done(&f->made[i]->buf);
    f->made_count = 0;
    f->has_facts = true;
    f->batch = f->into;
    f->into = NULL;
    f->joins = NULL;
    f->settle.end = SETTLE_OVER;
    return walk_only(f);
}

/* Walks; if the bytes cannot be read, the result is unknown and `why` is set. */
static void past_run(struct past *p, struct past_walk *w)
{
    struct flight *f = w->flight;
    bool ended = walk_only(f);

    if (ended && f->into != NULL) {
        bool each = f->into->join == JOIN_EACH;

        note_batch(p, w);
        ended = !each || past_walk_on(f);
        if (each && f->into != NULL) {
            (void)snprintf(p->why, sizeof p->why, "it goes from one batch into another");
            return;
        }
    }
    if (ended || (f->settle.end == SETTLE_DEAD && f->dead != DEAD_PAYLOAD_MISSING &&
                  f->dead != DEAD_PAYLOAD_CORRUPT))
        return;
    (void)snprintf(p->why, sizeof p->why, "%s", f->message);
}

/* Whether the walk gives what the row says.  A member that waits for its batch has the route by
 * which it joined. */
static bool is_as_stored(const struct past_walk *w, const struct flight *stored,
                         const struct document *d)
{
    const struct flight *f = w->flight;
    struct str route = name_text(f->stock->store, d->route);
    bool waits = w->route != NULL && str_eq(w->route->name, route);

    return str_eq(f->facts.sender, stored->facts.sender) &&
           str_eq(f->facts.receiver, stored->facts.receiver) &&
           str_eq(f->facts.type, stored->facts.type) &&
           (waits || str_eq(f->route != NULL ? f->route->name : STR(""), route));
}

static bool has_run(const struct document *d)
{
    return d->route != 0 || d->sender != 0 || d->receiver != 0 || d->type != 0 || d->facts.len > 0;
}

struct plan *past_plan(struct road *r, const struct document *d, struct err *err)
{
    struct plan *plan = road_plan_of(r, d->config, err);

    if (plan == NULL || !plan_is_idle(plan))
        return plan;
    plan_unref(plan);
    return road_plan(r);
}

/* The document of a batch always starts as given: it has no other facts. */
bool past_walk_with(struct past *p, struct plan *plan, bool given, struct past_walk *ret,
                    struct err *err)
{
    struct flight *f = flight_new(road_stock(p->road));
    struct past_walk w = { .flight = f };

    f->dry = true;
    f->until_us = p->until_us;
    f->keeps_all = p->keeps_all;
    flight_fill(f, p->doc);
    f->plan = plan_ref(plan);
    f->config = plan->version;
    if (p->keeps_all) /* a past run is repeated: with what was kept of it (walk/called.h) */
        f->past = p->doc->timeline;
    f->batch = plan_batch_find(plan, p->doc->gateway);
    if (f->batch == NULL && given)
        f->batch = plan_batch_find(plan, p->doc->route);
    f->has_facts = given || f->batch != NULL;
    if (f->has_facts)
        flight_begin_again(f, p->doc);
    if (!past_load_bytes(p, f, err)) {
        flight_free(f);
        return false;
    }
    past_run(p, &w);
    *ret = w;
    return true;
}

/* Repeats the original run.  If the result does not match the row, but does with the facts of the
 * row, a person gave these facts. */
bool past_walk(struct past *p, bool *ret_given, struct err *err)
{
    struct past_walk again = { 0 };
    struct flight *stored;

    *ret_given = false;
    if (!past_walk_with(p, p->plan, false, &p->was, err))
        return false;
    if (p->why[0] != '\0' || !has_run(p->doc) || plan_batch_find(p->plan, p->doc->gateway) != NULL)
        return true;
    stored = flight_new(road_stock(p->road));
    flight_fill_facts(stored, p->doc);
    bool ok =
        is_as_stored(&p->was, stored, p->doc) || past_walk_with(p, p->plan, true, &again, err);

    if (again.flight != NULL && p->why[0] == '\0' && is_as_stored(&again, stored, p->doc)) {
        struct past_walk other = p->was;

        p->was = again;
        again = other;
        *ret_given = true;
    }
    p->why[0] = '\0';
    flight_free(stored);
    if (again.flight != NULL)
        flight_free(again.flight);
    return ok;
}
