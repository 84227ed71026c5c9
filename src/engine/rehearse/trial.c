#include "engine/rehearse/trial.h"

#include "base/clock.h"
#include "base/wait.h"
#include "core/part.h"
#include "core/timeline.h"
#include "engine/flight/flight.h"
#include "engine/road/road.h"
#include "engine/walk/walk.h"

/* A dry flight with these bytes; NULL: there is no room for them. */
static struct flight *trial_flight(struct road *r, struct plan *plan,
                                   const struct trial_document *d, struct err *err)
{
    struct flight *f = flight_new(road_stock(r));

    f->dry = true;
    f->plan = plan_ref(plan);
    f->config = plan->version;
    f->gateway = d->gateway;
    f->received_us = d->received_us;
    f->name = d->name;
    f->ctype = d->ctype;
    f->head = d->head;
    f->source.id = d->id;
    f->source.size = (int64_t)d->bytes.len;
    f->foretold = d->foretold;
    f->has_facts = d->has_facts;
    if (d->has_facts)
        f->facts = facts_copy(&f->arena, &d->facts);
    if (buf_append(&f->received.buf, d->bytes, err))
        return f;
    flight_free(f);
    return NULL;
}

/* ---- one step ---- */

/* What the step logged.  True: it ended the chain, and nothing came out. */
static bool trial_read_lines(struct trial *t)
{
    struct timeline_reader r = timeline_read(buf_view(&t->flight->timeline));
    struct timeline_line line;
    bool damaged = false, dropped = false;

    while (timeline_next(&r, &line, &damaged)) {
        dropped = dropped || line.outcome == TIMELINE_DROPPED;
        if (line.outcome == TIMELINE_NOTED && line.took_us < 0 &&
            t->note_count < SERVICE_NOTES_MOST)
            t->notes[t->note_count++] = line.message;
    }
    return dropped;
}

static void trial_judge(struct trial *t, bool ran)
{
    const struct flight *f = t->flight;
    bool dropped = trial_read_lines(t);

    t->memory = t->caught.memory;
    if (!ran) {
        t->end = TRIAL_DEAD;
        t->code = f->settle.end == SETTLE_DEAD ? f->dead : DEAD_SERVICE_FAILED;
        t->message = str_of(f->message);
    } else if (t->caught.count > 0) {
        t->end = TRIAL_PARTS;
    } else if (dropped) {
        t->end = TRIAL_NONE;
    } else {
        t->end = TRIAL_BYTES;
        t->bytes = buf_view(&f->walk.bytes->buf);
    }
}

bool trial_step(struct road *r, struct plan *plan, const struct plan_step *s,
                const struct trial_document *d, struct trial *ret, struct err *err)
{
    const struct plan_route alone = { .name = s->name, .steps = s, .step_count = 1 };
    int64_t from;

    *ret = (struct trial){ 0 };
    if (s->kind != STEP_SERVICE)
        return err_set(err, ERR_CONFIG, 0,
                       "`%.*s` makes nothing of the bytes; a whole route is tried by `waybill "
                       "test`",
                       STR_ARG(s->name));
    if (s->service == NULL)
        return err_set(err, ERR_CONFIG, 0, "this build cannot run the step `%.*s` yet",
                       STR_ARG(s->name));
    ret->flight = trial_flight(r, plan, d, err);
    if (ret->flight == NULL)
        return false;
    caught_init(&ret->caught, TRIAL_PARTS_MOST, SERVICE_BYTES_MOST);
    ret->flight->caught = &ret->caught;
    from = clock_mono_us();
    bool ran = walk_steps(ret->flight, &alone);

    ret->took_us = clock_mono_us() - from;
    trial_judge(ret, ran);
    ret->flight->route = NULL;
    return true;
}

bool trial_step_alone(struct road *r, struct plan *plan, const struct plan_step *s,
                      const struct trial_document *d, int64_t until_us, struct trial *ret,
                      struct err *err)
{
    struct flight_stock *stock = road_stock(r);

    *ret = (struct trial){ 0 };
    if (!wait_lock(&stock->computing, until_us))
        return err_set(err, ERR_TRANSIENT, 0, "busy: another step is being tried, try again");
    bool ok = trial_step(r, plan, s, d, ret, err);

    (void)pthread_mutex_unlock(&stock->computing);
    return ok;
}

void trial_done(struct trial *t)
{
    if (t->flight != NULL)
        flight_free(t->flight);
    caught_done(&t->caught);
    *t = (struct trial){ 0 };
}

/* ---- a whole way ---- */

/* Documents that are to be walked, and what came of them. */
struct walking_way {
    struct road *road;
    struct plan *plan;
    const struct trial_document *given;
    struct trial_way *way;
    struct str *bytes; /* of each document of the way that is not walked yet */
};

static struct str trial_copy(struct arena *a, struct str s)
{
    return s.ptr != NULL ? arena_copy(a, s) : s;
}

static bool has_room(const struct trial_way *w, size_t bytes, struct err *err)
{
    return w->arena.used + bytes + 4 * (size_t)FACTS_BYTES_MOST < TRIAL_WAY_BYTES ||
           err_set(err, ERR_LIMIT, 0, "what comes of it has more than %d MiB",
                   TRIAL_WAY_BYTES >> 20);
}

static bool add_delivery(struct trial_way *w, size_t document, struct str endpoint,
                         struct str system, struct str bytes, struct err *err)
{
    if (w->delivery_count == TRIAL_WAY_DELIVERIES)
        return err_set(err, ERR_LIMIT, 0, "more than %d deliveries come of it",
                       TRIAL_WAY_DELIVERIES);
    if (!has_room(w, bytes.len, err))
        return false;
    w->deliveries[w->delivery_count++] =
        (struct trial_delivery){ .document = document,
                                 .endpoint = arena_copy(&w->arena, endpoint),
                                 .system = trial_copy(&w->arena, system),
                                 .bytes = arena_copy(&w->arena, bytes) };
    return true;
}

static bool take_deliveries(struct trial_way *w, size_t document, const struct flight *f,
                            struct err *err)
{
    for (size_t i = 0; i < f->leg_count; i++) {
        const struct leg *p = f->legs[i];
        const struct plan_endpoint *e = plan_endpoint_find(f->plan, p->row.endpoint);
        const struct plan_system *system = plan_system_find(f->plan, p->row.system);

        if (!add_delivery(w, document, e->name, system->name, buf_view(&p->variant->buf), err))
            return false;
    }
    if (f->into == NULL)
        return true;
    struct str part = f->join.part;
    const struct variant *v = f->joins != NULL ? f->joins : &f->received;
    const char *batch = arena_printf(&w->arena, "batch %.*s%s%.*s", STR_ARG(f->into->name),
                                     part.len > 0 ? ", part " : "", STR_ARG(part));

    return add_delivery(w, document, str_of(batch), f->facts.receiver, buf_view(&v->buf), err);
}

/* A document that was made of another one: `d`, which is lent. */
static bool add_document(struct walking_way *x, const struct trial_walked *d, struct str bytes,
                         struct err *err)
{
    struct trial_way *w = x->way;

    if (w->document_count == TRIAL_WAY_DOCUMENTS)
        return err_set(err, ERR_LIMIT, 0, "more than %d documents come of it", TRIAL_WAY_DOCUMENTS);
    if (!has_room(w, bytes.len, err))
        return false;
    x->bytes[w->document_count] = arena_copy(&w->arena, bytes);
    w->documents[w->document_count++] =
        (struct trial_walked){ .parent = d->parent,
                               .is_copy = d->is_copy,
                               .facts = facts_copy(&w->arena, &d->facts),
                               .name = arena_copy(&w->arena, d->name) };
    w->documents[d->parent].parts++;
    return true;
}

static bool take_parts(struct walking_way *x, size_t document, const struct caught *caught,
                       struct err *err)
{
    for (size_t i = 0; i < caught->count; i++) {
        const struct trial_walked part = { .parent = document,
                                           .facts = caught->list[i].facts,
                                           .name = caught->list[i].name };

        if (!add_document(x, &part, caught_bytes(caught, i), err))
            return false;
    }
    return true;
}

static bool take_copies(struct walking_way *x, size_t document, const struct flight *f,
                        struct err *err)
{
    for (size_t i = 0; i < f->copies.count; i++) {
        const struct trial_walked copy = { .parent = document,
                                           .is_copy = true,
                                           .facts = part_copy_facts(&x->way->arena, &f->facts,
                                                                    f->copies.receivers[i]),
                                           .name = f->name };

        if (!add_document(x, &copy, buf_view(&f->copies.bytes->buf), err))
            return false;
    }
    return true;
}

static bool note_walked(struct trial_way *w, size_t document, const struct flight *f, bool ended,
                        struct err *err)
{
    struct trial_walked *d = &w->documents[document];

    if (!has_room(w, 0, err))
        return false;
    d->facts = facts_copy(&w->arena, &f->facts);
    d->route = f->route != NULL ? trial_copy(&w->arena, f->route->name) : (struct str){ 0 };
    d->dead = !ended;
    d->code = f->settle.end == SETTLE_DEAD ? f->dead : DEAD_SERVICE_FAILED;
    d->message = arena_copy(&w->arena, str_of(f->message));
    return true;
}

static bool walk_document(struct walking_way *x, size_t at, struct caught *caught, struct err *err)
{
    struct trial_way *w = x->way;
    struct trial_document d = *x->given;

    d.bytes = x->bytes[at];
    if (at > 0) {
        d.has_facts = true;
        d.facts = w->documents[at].facts;
        d.name = w->documents[at].name;
        d.head = (struct str){ 0 };
    }
    struct flight *f = trial_flight(x->road, x->plan, &d, err);

    if (f == NULL)
        return false;
    caught_clear(caught);
    f->caught = caught;
    bool ended = walk_only(f);

    bool ok = note_walked(w, at, f, ended, err) &&
              (!ended || (take_deliveries(w, at, f, err) && take_parts(x, at, caught, err) &&
                          take_copies(x, at, f, err)));

    flight_free(f);
    return ok;
}

bool trial_walk(struct road *r, struct plan *plan, const struct trial_document *d,
                struct trial_way *ret, struct err *err)
{
    struct walking_way x = { .road = r, .plan = plan, .given = d, .way = ret };
    struct caught caught;
    bool ok = true;

    *ret = (struct trial_way){ .arena = ARENA_INIT(TRIAL_WAY_BYTES + (16 << 20)) };
    ret->documents = ARENA_ARRAY(&ret->arena, struct trial_walked, TRIAL_WAY_DOCUMENTS);
    ret->deliveries = ARENA_ARRAY(&ret->arena, struct trial_delivery, TRIAL_WAY_DELIVERIES);
    x.bytes = ARENA_ARRAY(&ret->arena, struct str, TRIAL_WAY_DOCUMENTS);
    x.bytes[0] = d->bytes;
    ret->documents[0].name = trial_copy(&ret->arena, d->name);
    ret->document_count = 1;
    caught_init(&caught, TRIAL_PARTS_MOST, SERVICE_BYTES_MOST);
    for (size_t at = 0; ok && at < ret->document_count; at++)
        ok = walk_document(&x, at, &caught, err);
    caught_done(&caught);
    return ok;
}

void trial_way_done(struct trial_way *w)
{
    arena_done(&w->arena);
    *w = (struct trial_way){ 0 };
}
