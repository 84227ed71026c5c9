/* walk.c - extract, route, steps: from bytes and a plan to deliveries.  See walk.h.
 *
 * The problem.  A node may die at any moment between the acceptance of a document and its
 * settlement, and the document is then walked again, perhaps on another node.  Both walks must make
 * the same deliveries with the same ids, or a receiver gets a document twice under two ids.
 *
 * The method.  The walk is a computation in memory.  It extracts the facts, asks the router for a
 * route, and runs the steps of that route in order.  A service step makes a new variant of the
 * bytes; a `deliver` step adds a leg per endpoint, which refers to the variant at that point; a
 * `route` step extracts again and goes back to the router; `drop`, `batch` and `subscribe` end the
 * walk.  All legs are sent after the walk, by the caller.
 *
 * A step that cannot run on this thread makes the walk wait.  Its place (f->walk) says where it is:
 * the route, the step, the bytes that the step reads, and what the router was asked.  Nothing else
 * of a walk lives on a stack, so walk() called again goes on there, on whichever thread.
 *
 * Invariants
 *   (1) The result depends on the bytes, the head and name of the request, the facts in the
 *       document's row, and the plan of the version under which it was accepted (the plan in force
 *       if that version has no routes: load.c); and on what services answered (called.h), which is
 *       kept from the first settlement on.  The clock has one use: delay and expiry decide
 *       whether the walk goes on, never where it leads.  Records are the exception: a step may read
 *       one, and then nothing is sent before the settlement that says which (keyed.h).
 *   (2) The walk sends nothing and writes no row of this document, but for (6).  It reads payload
 *       bytes of a document too large for memory, looks for the document that it answers
 *       (answering.h: a link, no part of the result), and uploads what a step makes that is too
 * large; no row names these uploads before the settlement, and those that it will not name are
 *       dropped.  Steps that read or write in pieces do so on a thread that may block.
 *   (3) The received bytes never change.  At most FLIGHT_MADE_MOST steps change the bytes, and at
 *       most SETTLE_DELIVERIES_MOST legs exist; beyond that the document is dead (`limit`).  What
 *       a step made stays while a later step reads it or a leg sends it.
 *   (4) The walk ends.  A route has finitely many steps, and the router is asked at most HOPS_MOST
 *       times and never twice with the same sender, receiver and type; else the document is dead
 *       (`loop`).  Service code that does not return is not covered by this; what runs in a process
 *       of its own returns, or is killed.  A wait ends: with a thread of the pool, or within the
 *       time of the steps that are ahead, or the document goes back to the store.
 *   (5) walk() returns WALK_SENDS exactly when settle.end is SETTLE_DELIVERIES with at least one
 *       leg.  With WALK_ENDS settle.end is OVER, JOIN, DEAD or AGAIN, and legs that were added
 *       before a later step failed are not sent and not stored: the settlement reads legs only for
 *       SETTLE_DELIVERIES.
 *   (6) Only a step that makes parts has an effect before the settlement: it commits them in
 *       chunks, and a repeated walk leaves out those that are there (parts.h).  So a document
 *       whose walk fails behind its first chunk is dead or repeated with parts that exist.
 *   (7) A walk that waits holds nothing that others wait for: no worker, no slot of the recorder,
 *       not the lock `large`, and no large payload in memory; but for its turn at one record, and
 *       who has a turn waits for no other (turns.h).  The step that waits has had no effect but
 *       (6); if it began, it begins again, for steps are pure.  One that asks a service is not: it
 *       asks again under the same key.
 *
 * Crash.  At every point of the walk, also while it waits, the document's task is a claimed row and
 * nothing else has happened but (6); uploads that no row names are swept.  The next claim walks
 * again and gets the same legs by (1); the id of a leg is derived from the document's id, the
 * endpoint's name and its count (flight.c).  If the code of a connector or a service brings the
 * process down, the caller has recorded the task as running (suspects.h), and it becomes poison
 * after a few such crashes.
 *
 * Races.  One thread holds the flight during the walk; while it waits, whoever it waits for.
 * Others see the copy of its facts (walking.h).  The plan is immutable and referenced by the
 * flight.  A new version that comes into force meanwhile has no effect on this walk; if the
 * document dies of the older one, the settlement asks for a re-drive (redrive.c).
 *
 * A dry flight (f->dry: rehearsals and questions of operators) takes the same way, ignores delay
 * and expiry, and counts nothing.
 */
#include "engine/walk/walk.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/fault.h"
#include "base/require.h"
#include "core/part.h"
#include "engine/flight/bytes.h"
#include "engine/road/outcome.h"
#include "engine/road/state.h"
#include "engine/road/walking.h"
#include "engine/tally/ways.h"
#include "engine/walk/answering.h"
#include "engine/walk/copies.h"
#include "engine/walk/join.h"
#include "engine/walk/parts.h"
#include "engine/walk/step.h"
#include "engine/walk/walk_facts.h"
#include "store/road/accept.h"
#include "store/store.h"

enum { HOPS_MOST = 16 };

/* ---- route ---- */

static struct str walk_shown(struct str s)
{
    return s.ptr == NULL ? STR("-") : s.len > 100 ? str_mem(s.ptr, 100) : s;
}

static bool type_is_known(const struct flight *f)
{
    return f->facts.type.ptr == NULL || f->plan->config->type_count == 0 ||
           router_type_known(f->plan->router, f->facts.type);
}

const struct plan_route *walk_find_route(struct flight *f)
{
    int64_t from = clock_mono_us();
    const struct facts *x = &f->facts;
    size_t at;

    if (!type_is_known(f)) {
        (void)snprintf(f->message, sizeof f->message,
                       "the type `%.*s` is not listed; add it to `types`, or the line \"*\"",
                       STR_ARG(walk_shown(x->type)));
        outcome_dead(f, TIMELINE_ROUTE, STR(""), DEAD_NO_ROUTE, -1, f->message);
        return NULL;
    }
    if (router_find(f->plan->router, x, &at) == NULL) {
        (void)snprintf(f->message, sizeof f->message,
                       "no route for sender %.*s, receiver %.*s, type %.*s; add one to `routes`",
                       STR_ARG(walk_shown(x->sender)), STR_ARG(walk_shown(x->receiver)),
                       STR_ARG(walk_shown(x->type)));
        outcome_dead(f, TIMELINE_ROUTE, STR(""), DEAD_NO_ROUTE, -1, f->message);
        return NULL;
    }
    f->route = &f->plan->routes[at];
    if (!f->dry)
        ways_count(f->road->ways, WAY_TAKEN, f->gateway, f->route->word);
    flight_note(f, TIMELINE_ROUTE, TIMELINE_DONE, f->route->name, clock_mono_us() - from, NULL);
    return f->route;
}

/* ---- delay, expiry ---- */

/* Re-queued after arrival without an attempt: its delay has expired, or an operator forced it. */
static bool was_called(const struct flight *f)
{
    return f->settle.task.rank > f->received_us && f->settle.task.attempts <= 1;
}

/* The delay of a route or type; checked before the first step.  A document that expires during its
 * delay is due when it expires. */
static bool must_wait(struct flight *f, const struct plan_handling *h)
{
    int64_t until = f->received_us + h->delay_us;
    char at[CLOCK_TEXT];

    if (h->delay_us == 0 || f->dry || was_called(f) || road_now_us(f->road) >= until)
        return false;
    if (h->expires_us != 0 && h->expires_us < h->delay_us)
        until = f->received_us + h->expires_us;
    (void)snprintf(f->message, sizeof f->message, "waits until %s (delay)",
                   clock_utc_text(until, at));
    flight_note(f, TIMELINE_DOCUMENT, TIMELINE_WAITS, STR(""), -1, f->message);
    outcome_delayed(f, until);
    return true;
}

/* Sets f->expires_us.  A document that an operator starts after its expiry does not expire. */
static bool is_expired(struct flight *f, const struct plan_handling *h)
{
    int64_t at = f->received_us + h->expires_us;
    char text[CLOCK_TEXT];

    f->expires_us = 0;
    if (h->expires_us == 0 || (was_called(f) && f->settle.task.rank > at))
        return false;
    f->expires_us = at;
    if (f->dry || road_now_us(f->road) < at)
        return false;
    (void)snprintf(f->message, sizeof f->message, "expired at %s, before it could be sent",
                   clock_utc_text(at, text));
    outcome_dead(f, TIMELINE_ROUTE, f->route->name, DEAD_EXPIRED, -1, f->message);
    return true;
}

/* False: the document is expired (dead) or delayed, and the walk ends here. */
static bool walk_may_go_on(struct flight *f, const struct plan_route *r, bool first)
{
    struct plan_handling h = plan_handling_of(f->plan, r, f->facts.type);

    /* A bulk retry has a low priority, which the configuration does not raise. */
    f->prio = f->settle.task.prio;
    if (h.prio != 0 && f->prio <= PRIO_NORMAL)
        f->prio = h.prio;
    return !is_expired(f, &h) && !(first && must_wait(f, &h));
}

/* ---- steps ---- */

static const struct plan_system *receiver_of(const struct flight *f)
{
    int64_t word;

    if (f->facts.receiver.ptr == NULL)
        return NULL;
    if (name_find(f->road->store, NAME_SYSTEM, f->facts.receiver, &word))
        return plan_system_find(f->plan, word);
    return f->dry ? plan_system_named(f->plan, f->facts.receiver)
                  : NULL; /* plan_build_apart(): a new name is not in the store */
}

static enum way walk_add_deliveries(struct flight *f, const struct plan_step *s)
{
    for (size_t i = 0; i < s->endpoint_count; i++) {
        const struct plan_endpoint *e = s->endpoints[i];
        const struct plan_system *system = e->system != NULL ? e->system : receiver_of(f);

        if (system == NULL) {
            (void)snprintf(f->message, sizeof f->message,
                           "endpoint %.*s belongs to the document's receiver, and it has none; "
                           "say `system:` at the endpoint or extract a receiver",
                           STR_ARG(e->name));
            outcome_dead(f, TIMELINE_STEP, s->name, DEAD_UNKNOWN_SYSTEM, -1, f->message);
            return WAY_DEAD;
        }
        if (f->leg_count == SETTLE_DELIVERIES_MOST) {
            outcome_dead(f, TIMELINE_STEP, s->name, DEAD_LIMIT, -1,
                         "more deliveries than a document may have");
            return WAY_DEAD;
        }
        struct leg *p = flight_add_leg(f, e, system);

        p->variant = f->walk.bytes;
    }
    return WAY_ON;
}

/* The router is about to be asked again: remember what it was asked. */
static void leave_route(struct flight *f)
{
    const struct facts *x = &f->facts;

    if (!f->walk.routed)
        return;
    struct walk_visit *v = ARENA_NEW(&f->arena, struct walk_visit);

    *v = (struct walk_visit){ f->walk.visits, x->sender, x->receiver, x->type };
    f->walk.visits = v;
    f->walk.hops++;
}

/* True: all of these facts are known, and the document may say so. */
static bool take_facts(struct flight *f, const struct plan_step *s, const struct facts *found,
                       const struct extract_source *source, int64_t from_us)
{
    leave_route(f);
    facts_keep_begin(&f->facts);
    if (found->sender.ptr != NULL)
        f->facts.sender = found->sender;
    if (found->receiver.ptr != NULL)
        f->facts.receiver = found->receiver;
    if (found->type.ptr != NULL)
        f->facts.type = found->type;
    bool claims = found->sender.ptr != NULL && extractor_asks_sender(s->extractor);
    bool known = walk_look_up(f, from_us) && (!claims || walk_is_own_sender(f, from_us));

    walk_find_search(f, source);
    return known;
}

static enum way extract_again(struct flight *f, const struct plan_step *s)
{
    const struct variant *bytes = f->walk.bytes;
    struct extract_source source = { .body = buf_view(&bytes->buf),
                                     .whole = variant_is_in_memory(bytes),
                                     .head = f->head,
                                     .name = f->name };
    int64_t from = clock_mono_us();
    struct extract_failure failure;
    struct facts found = { 0 };

    if (!extract_run(s->extractor, &source, &f->arena, &found, &failure)) {
        outcome_dead(f, TIMELINE_STEP, s->name, failure.code, clock_mono_us() - from,
                     failure.message);
        return WAY_DEAD;
    }
    if (!take_facts(f, s, &found, &source, from))
        return WAY_DEAD;
    walking_show(f);
    step_note_done(f, s, from);
    return WAY_BACK_TO_ROUTER;
}

static enum way reroute(struct flight *f, const struct plan_step *s)
{
    struct err err = { 0 };

    if (!variant_peek(f, f->walk.bytes, &err)) {
        outcome_read_failed(f, &err);
        return WAY_DEAD;
    }
    enum way way = extract_again(f, s);

    variant_unpeek(f);
    return way;
}

static enum way walk_drop(struct flight *f, const struct plan_step *s)
{
    (void)snprintf(f->message, sizeof f->message, "dropped%s%.*s", s->reason.len > 0 ? ": " : "",
                   (int)s->reason.len, s->reason.ptr);
    flight_note(f, TIMELINE_STEP, TIMELINE_DROPPED, s->name, -1, f->message);
    return WAY_ENDS;
}

static enum way walk_step(struct flight *f, const struct plan_step *s)
{
    switch (s->kind) {
    case STEP_SERVICE:
        return step_run(f, s);
    case STEP_DELIVER:
        return walk_add_deliveries(f, s);
    case STEP_ROUTE:
        return reroute(f, s);
    case STEP_DROP:
        return walk_drop(f, s);
    case STEP_BATCH:
        return join_batch(f, s, f->walk.bytes) ? WAY_ENDS : WAY_DEAD;
    case STEP_SUBSCRIBE:
        return copies_make(f, s);
    }
    return WAY_DEAD;
}

/* ---- the way ---- */

static bool was_here(const struct flight *f)
{
    const struct facts *x = &f->facts;

    for (const struct walk_visit *v = f->walk.visits; v != NULL; v = v->before)
        if (str_eq(v->sender, x->sender) && str_eq(v->receiver, x->receiver) &&
            str_eq(v->type, x->type))
            return true;
    return false;
}

static bool goes_in_circles(struct flight *f)
{
    bool again = was_here(f);

    if (!again && f->walk.hops < HOPS_MOST)
        return false;
    (void)snprintf(f->message, sizeof f->message,
                   "routed in a circle: sender %.*s, receiver %.*s, type %.*s came %s",
                   STR_ARG(walk_shown(f->facts.sender)), STR_ARG(walk_shown(f->facts.receiver)),
                   STR_ARG(walk_shown(f->facts.type)),
                   again ? "a second time" : "after too many hops");
    outcome_dead(f, TIMELINE_ROUTE, STR(""), DEAD_LOOP, -1, f->message);
    return true;
}

/* False: there is no route, or the document does not take it now. */
static bool enter_route(struct flight *f)
{
    if (goes_in_circles(f))
        return false;
    const struct plan_route *r = walk_find_route(f);

    f->walk.routed = true;
    if (r != NULL && r->keeps_stages && !f->dry)
        f->keeps_stages = true;
    return r != NULL && walk_may_go_on(f, r, f->walk.hops == 0);
}

/* A document that came out of a batch runs the steps of the batch first. */
static bool enter_chain(struct flight *f)
{
    f->route = &f->batch->chain;
    flight_note(f, TIMELINE_ROUTE, TIMELINE_DONE, f->route->name, -1, "the steps of the batch");
    return walk_may_go_on(f, f->route, false);
}

/* From the step at which the walk is. */
static enum way walk_run_steps(struct flight *f)
{
    const struct plan_route *r = f->route;

    if (r->broken != NULL) {
        if (r->lacks_secret && !f->dry)
            outcome_lacks_secret(f, r);
        else
            outcome_dead(f, TIMELINE_ROUTE, r->name, DEAD_SERVICE_FAILED, -1, r->broken);
        return WAY_DEAD;
    }
    while (f->walk.step < r->step_count) {
        enum way way = walk_step(f, &r->steps[f->walk.step]);

        if (way == WAY_WAITS)
            return way;
        f->walk.step++;
        if (way != WAY_ON)
            return way;
    }
    return WAY_ENDS;
}

/* WAY_ENDS: the walk reached its end, with or without deliveries. */
static enum way walk_on(struct flight *f)
{
    for (;;) {
        if (!f->walk.in_route) {
            bool chain = f->batch != NULL && !f->walk.entered;

            f->walk.entered = true;
            if (!(chain ? enter_chain(f) : enter_route(f)))
                return WAY_DEAD;
            f->walk.in_route = true;
            f->walk.step = 0;
        }
        enum way way = walk_run_steps(f);

        if (way != WAY_BACK_TO_ROUTER)
            return way;
        f->walk.in_route = false;
    }
}

/* Documents that are made of each other, without an end. */
static bool is_a_loop(struct flight *f)
{
    if (f->facts.generation < PART_GENERATION_MOST)
        return false;
    (void)snprintf(
        f->message, sizeof f->message,
        "it is made of a document that was made of one, %u times; see whether the routes "
        "of its forefathers lead into each other",
        f->facts.generation);
    outcome_dead(f, TIMELINE_ROUTE, STR(""), DEAD_LOOP, -1, f->message);
    return true;
}

/* The step that made it could not say what it is (parts.h). */
static bool is_a_failed_part(struct flight *f)
{
    struct str why = { 0 };

    if (f->facts.generation > 0)
        why = facts_attribute(&f->facts, PARTS_FAILED);
    if (why.ptr == NULL)
        return false;
    (void)snprintf(f->message, sizeof f->message, "%.*s", STR_ARG(why));
    outcome_dead(f, TIMELINE_EXTRACT, STR(""), DEAD_EXTRACT_FAILED, -1, f->message);
    return true;
}

static bool walk_begin(struct flight *f)
{
    struct err err = { 0 };

    f->walk = (struct walk_at){ .begun = true, .bytes = &f->received };
    if (!variant_peek(f, &f->received, &err)) {
        outcome_read_failed(f, &err);
        return false;
    }
    fault_point_on(ROAD_WALK, buf_view(&f->received.buf));
    bool found = walk_find_facts(f);

    if (found)
        found = !is_a_loop(f) && !is_a_failed_part(f);
    if (found)
        walking_show(f);
    fault_point_on(ROAD_ROUTE, buf_view(&f->received.buf));
    variant_unpeek(f);
    return found;
}

bool walk_only(struct flight *f)
{
    f->walk = (struct walk_at){ .begun = true, .bytes = &f->received };
    return walk_find_facts(f) && !is_a_loop(f) && !is_a_failed_part(f) && walk_on(f) == WAY_ENDS;
}

bool walk_steps(struct flight *f, const struct plan_route *r)
{
    f->walk =
        (struct walk_at){ .begun = true, .entered = true, .in_route = true, .bytes = &f->received };
    f->route = r;
    return walk_on(f) == WAY_ENDS;
}

/* Bytes that no settlement will name are given up. */
static enum walk_result walk_end(struct flight *f, bool found)
{
    if (found && f->leg_count > 0) {
        f->settle.end = SETTLE_DELIVERIES;
        return WALK_SENDS;
    }
    if (found && f->settle.end != SETTLE_JOIN)
        f->settle.end = SETTLE_OVER;
    if (found)
        f->settle.state = DOCUMENT_DONE;
    if (!found)
        parts_drop(f);
    if (f->settle.end != SETTLE_JOIN && (!f->keeps_stages || f->settle.end == SETTLE_AGAIN))
        variants_drop_unkept(f);
    return WALK_ENDS;
}

enum walk_result walk(struct flight *f)
{
    if (!f->walk.begun && !f->may_block && answering_asks(f)) {
        f->walk.need = WALK_NEEDS_THREAD;
        return WALK_WAITS;
    }
    enum way way = f->walk.begun || walk_begin(f) ? walk_on(f) : WAY_DEAD;

    return way == WAY_WAITS ? WALK_WAITS : walk_end(f, way == WAY_ENDS);
}
