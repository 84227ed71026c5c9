/* hold.c - holds, and what waits for systems: holds, holdAdd, holdEnd, system. */
#include "admin/api/scope.h"
#include "admin/api/system.h"
#include "base/clock.h"
#include "core/option.h"
#include "core/window.h"
#include "engine/dispatch/govern.h"
#include "engine/engine.h"
#include "engine/plan/plan.h"
#include "engine/road/road.h"
#include "engine/upkeep/controls.h"
#include "store/store.h"

enum { OWNER_MOST = 100 };

/* ---- looking ---- */

struct shown_hold {
    struct hold hold;
    struct str id, system;
    const char *state;
    int64_t waiting, sending, drained_us;
};

static const char *api_hold_state_of(const struct hold *h, const struct govern_time *now)
{
    if (h->ended_us != 0 || (h->until_us != 0 && h->until_us <= now->early_us))
        return "ended";
    return h->from_us > h->made_us && h->from_us > now->late_us ? "planned" : "active";
}

static struct shown_hold *api_hold_show(struct graphql_call *call, const struct hold *h)
{
    struct shown_hold *v = ARENA_NEW(call->arena, struct shown_hold);
    struct govern_time now = govern_time(engine_govern(api_engine(call)));
    struct backlog_view waits;

    *v = (struct shown_hold){ .hold = *h,
                              .id = str_of(arena_printf(call->arena, "%lld", (long long)h->num)),
                              .system = name_text(api_store(call), h->system),
                              .state = api_hold_state_of(h, &now) };
    bool over = h->ended_us != 0;

    backlog_of(engine_backlog(api_engine(call)), h->system, h->until_us, &waits);
    v->waiting = over ? 0 : waits.ready + waits.later;
    v->sending = over ? 0 : waits.sending;
    v->drained_us = over || h->until_us == 0 || v->waiting + v->sending == 0 ? 0 : waits.gone_us;
    return v;
}

const void *api_show_hold(struct graphql_call *call, const struct hold *h)
{
    return api_hold_show(call, h);
}

static bool holds(struct graphql_call *call, struct err *err)
{
    struct hold *all = ARENA_ARRAY(call->arena, struct hold, HOLDS_MOST);
    bool ended = false;
    size_t n;

    (void)graphql_arg_bool(call, "ended", &ended);
    if (!backlog_look(engine_backlog(api_engine(call)), err) ||
        !hold_list(api_store(call), ended, call->arena, all, &n, err))
        return false;
    const void **list = ARENA_ARRAY(call->arena, const void *, n);
    size_t seen = 0;

    for (size_t i = 0; i < n; i++)
        if (api_sees(call, RIGHT_SEE, 0, all[i].system))
            list[seen++] = api_hold_show(call, &all[i]);
    return graphql_set_objects(call, list, seen);
}

/* ---- a system ---- */

/* Systems out of scope are not found, and not suggested either. */
static bool api_hold_find_system(struct graphql_call *call, enum right right, struct str name,
                                 int64_t *ret, struct err *err)
{
    struct plan *plan = road_plan(engine_road(api_engine(call)));
    struct option_guess guess = { .word = name };
    struct str near = { 0 };
    bool found = false;

    for (size_t i = 0; !found && i < plan->system_count; i++) {
        if (!api_sees_system(call, right, plan->systems[i].name))
            continue;
        found = str_eq(plan->systems[i].name, name);
        if (found)
            *ret = plan->systems[i].word;
        option_guess_try(&guess, plan->systems[i].name);
    }
    if (!found && guess.best.len > 0)
        near = arena_copy(call->arena, guess.best);
    plan_unref(plan);
    if (found)
        return true;
    if (near.len > 0)
        return err_set(err, ERR_PERMANENT, 0, "there is no system %.64s; did you mean %.*s?",
                       arena_text(call->arena, name), STR_ARG(near));
    return err_set(err, ERR_PERMANENT, 0, "there is no system %.64s in the live configuration",
                   arena_text(call->arena, name));
}

bool api_read_holds(struct graphql_call *call, const struct api_holds **ret, struct err *err)
{
    struct api_holds *h = ARENA_NEW(call->arena, struct api_holds);

    h->list = ARENA_ARRAY(call->arena, struct hold, HOLDS_MOST);
    *ret = h;
    return hold_list(api_store(call), false, call->arena, h->list, &h->count, err);
}

/* When the last hold of the system ends; 0: one of them has no end. */
static int64_t held_until(const struct api_holds *holds, int64_t system, int64_t from_us)
{
    for (size_t i = 0; i < holds->count; i++) {
        const struct hold *h = &holds->list[i];

        if (h->system != system || h->from_us > from_us)
            continue;
        if (h->until_us == 0)
            return 0;
        if (h->until_us > from_us)
            from_us = h->until_us;
    }
    return from_us;
}

/* When the window of the system is open, at or after `from_us`; 0: never. */
static int64_t open_at(struct graphql_call *call, int64_t system, int64_t from_us)
{
    struct plan *plan = road_plan(engine_road(api_engine(call)));
    const struct plan_system *s = plan_system_find(plan, system);
    int64_t change;

    if (from_us != 0 && s != NULL && !window_set_open(s->windows, from_us, &change))
        from_us = change;
    plan_unref(plan);
    return from_us;
}

static void see_window(struct graphql_call *call, int64_t system, int64_t begin_us,
                       struct shown_system *v)
{
    struct plan *plan = road_plan(engine_road(api_engine(call)));
    const struct plan_system *s = plan_system_find(plan, system);

    v->fits_is_known = s != NULL && s->windows != NULL && v->drained_us != 0;
    v->fits = v->fits_is_known && window_set_fits(s->windows, begin_us, v->drained_us - begin_us);
    plan_unref(plan);
}

void api_see_system(struct graphql_call *call, const struct api_holds *holds,
                    struct shown_system *io)
{
    struct engine *e = api_engine(call);
    int64_t ask, begin = held_until(holds, io->word, govern_time(engine_govern(e)).early_us);

    begin = open_at(call, io->word, begin);
    io->holds = holds;
    io->held = govern_why(engine_govern(e), io->word, clock_mono_us(), &ask);
    backlog_of(engine_backlog(e), io->word, begin, &io->waits);
    io->drained_us =
        begin != 0 && (io->held & (HELD_PAUSE | HELD_RESTORE)) == 0 ? io->waits.gone_us : 0;
    see_window(call, io->word, begin, io);
}

static bool api_hold_system_of(struct graphql_call *call, struct err *err)
{
    struct shown_system *v = ARENA_NEW(call->arena, struct shown_system);
    const struct api_holds *holds;
    struct err none = { 0 };

    v->name = graphql_arg_text(call, "name");
    if (!api_hold_find_system(call, RIGHT_SEE, v->name, &v->word, &none))
        return graphql_set_null(call);
    if (!backlog_look(engine_backlog(api_engine(call)), err) || !api_read_holds(call, &holds, err))
        return false;
    api_see_system(call, holds, v);
    api_describe_system(call, v);
    return graphql_set_object(call, v);
}

static bool system_window_fits(struct graphql_call *call, struct err *err)
{
    const struct shown_system *v = call->parent;

    (void)err;
    return v->fits_is_known ? graphql_set_bool(call, v->fits) : graphql_set_null(call);
}

static bool system_held(struct graphql_call *call, struct err *err)
{
    const struct shown_system *v = call->parent;

    (void)err;
    return api_set_held(call, v->held);
}

/* ---- placing ---- */

struct placed {
    struct shown_hold *hold;
    struct controls_placed placed;
};

static bool api_hold_check_times(const struct hold *h, int64_t now_us, struct err *err)
{
    char text[CLOCK_TEXT];

    if (h->until_us == 0)
        return h->owner.len > 0 || err_set(err, ERR_PERMANENT, 0,
                                           "a hold without an end needs an owner, who is "
                                           "reminded of it each day: give --owner or --until");
    if (h->until_us <= now_us)
        return err_set(err, ERR_PERMANENT, 0, "until is in the past: it is %s now",
                       clock_utc_text(now_us, text));
    if (h->until_us <= h->from_us)
        return err_set(err, ERR_PERMANENT, 0, "until is not after from");
    return true;
}

static bool check_texts(const struct hold *h, struct err *err)
{
    if (h->reason.len == 0)
        return err_set(err, ERR_PERMANENT, 0,
                       "a hold has a reason: whoever meets it wants to know");
    if (h->reason.len > API_REASON_MOST || h->owner.len > OWNER_MOST)
        return err_set(err, ERR_LIMIT, 0, "a reason is at most %d bytes, an owner %d",
                       API_REASON_MOST, OWNER_MOST);
    return true;
}

static bool hold_add_one(struct graphql_call *call, struct err *err)
{
    struct engine *e = api_engine(call);
    struct placed *p = ARENA_NEW(call->arena, struct placed);
    int64_t now = govern_time(engine_govern(e)).early_us;
    struct hold order = { 0 }, made;

    order.reason = graphql_arg_text(call, "reason");
    order.owner = graphql_arg_text(call, "owner");
    (void)graphql_arg_int(call, "from", &order.from_us);
    (void)graphql_arg_int(call, "until", &order.until_us);
    if (!api_hold_find_system(call, RIGHT_HOLD, graphql_arg_text(call, "system"), &order.system,
                              err) ||
        !check_texts(&order, err) || !api_hold_check_times(&order, now, err))
        return false;
    if (order.owner.len == 0)
        order.owner = api_name(call);
    bool ok = controls_hold(engine_controls(e), &order, call->arena, &p->placed, err) &&
              (hold_get(engine_store(e), p->placed.num, call->arena, &made, err) ||
               err_behind(err, "hold %lld is placed, but cannot be shown: see `waybill hold ls`",
                          (long long)p->placed.num));

    if (!ok)
        return false;
    p->hold = api_hold_show(call, &made);
    return graphql_set_object(call, p);
}

/* The caller may hold the system of the delivery "DOCUMENT.ENDPOINT", yet its document may be out
 * of the caller's scope. */
static bool sees_delivery(const struct graphql_call *call, struct str delivery, bool *ret,
                          struct err *err)
{
    struct id id;

    *ret = false;
    return !id_parse(str_first(delivery, ID_TEXT - 1), &id) ||
           api_is_there(call, RIGHT_SEE, &id, ret, err);
}

static bool placed_sending(struct graphql_call *call, struct err *err)
{
    const struct controls_placed *p = &((const struct placed *)call->parent)->placed;
    struct str *seen = p->sending;
    size_t count = p->sending_count;

    if (!api_sees_all(call, RIGHT_SEE)) {
        int64_t from = clock_mono_us();

        seen = ARENA_ARRAY(call->arena, struct str, p->sending_count);
        count = 0;
        for (size_t i = 0; i < p->sending_count; i++) {
            bool sees;

            if (!sees_delivery(call, p->sending[i], &sees, err))
                return false;
            if (sees)
                seen[count++] = p->sending[i];
        }
        graphql_lend(call, clock_mono_us() - from); /* the hold is placed: answer anyway */
    }
    return graphql_set_texts(call, seen, count);
}

static bool placed_unconfirmed(struct graphql_call *call, struct err *err)
{
    const struct placed *p = call->parent;
    struct str *ids = ARENA_ARRAY(call->arena, struct str, CONTROLS_BLIND_MOST);

    (void)err;
    for (size_t i = 0; i < p->placed.blind_count; i++)
        ids[i] = str_of(arena_printf(call->arena, "%lld", (long long)p->placed.blind[i]));
    return graphql_set_texts(call, ids, p->placed.blind_count);
}

static bool hold_end_one(struct graphql_call *call, struct err *err)
{
    struct engine *e = api_engine(call);
    struct hold made;
    int64_t num;
    bool was = false;

    if (!str_to_i64(graphql_arg_text(call, "id"), &num))
        return graphql_set_null(call);
    if (!hold_get(engine_store(e), num, call->arena, &made, err))
        return err->kind == ERR_NONE && graphql_set_null(call);
    if (!api_sees(call, RIGHT_HOLD, 0, made.system))
        return graphql_set_null(call);
    if (!controls_end(engine_controls(e), num, api_name(call), &was, err))
        return false;
    if (!was)
        return graphql_set_null(call);
    return hold_get(engine_store(e), num, call->arena, &made, err) &&
           graphql_set_object(call, api_hold_show(call, &made));
}

const struct graphql_resolver api_hold[] = {
    { .field = "Query.system", .fn = api_hold_system_of },
    GRAPHQL_MEMBER("System.name", struct shown_system, name),
    { .field = "System.held", .fn = system_held },
    GRAPHQL_MEMBER("System.waiting", struct shown_system, waits.ready),
    GRAPHQL_MEMBER("System.sending", struct shown_system, waits.sending),
    GRAPHQL_MEMBER("System.retrying", struct shown_system, waits.later),
    API_NUMBER_AT("System.perHour", struct shown_system, waits.per_hour),
    API_NUMBER_AT("System.drained", struct shown_system, drained_us),
    { .field = "System.windowFits", .fn = system_window_fits },
    { .field = "Query.holds", .fn = holds },
    { .field = "Mutation.holdAdd", .fn = hold_add_one },
    { .field = "Mutation.holdEnd", .fn = hold_end_one },
    GRAPHQL_POINTER("PlacedHold.hold", struct placed, hold),
    { .field = "PlacedHold.sending", .fn = placed_sending },
    { .field = "PlacedHold.unconfirmed", .fn = placed_unconfirmed },
    GRAPHQL_MEMBER("Hold.id", struct shown_hold, id),
    GRAPHQL_MEMBER("Hold.system", struct shown_hold, system),
    GRAPHQL_MEMBER("Hold.state", struct shown_hold, state),
    GRAPHQL_MEMBER("Hold.from", struct shown_hold, hold.from_us),
    API_NUMBER_AT("Hold.until", struct shown_hold, hold.until_us),
    GRAPHQL_MEMBER("Hold.reason", struct shown_hold, hold.reason),
    GRAPHQL_MEMBER("Hold.owner", struct shown_hold, hold.owner),
    GRAPHQL_MEMBER("Hold.made", struct shown_hold, hold.made_us),
    API_NUMBER_AT("Hold.ended", struct shown_hold, hold.ended_us),
    API_TEXT_AT("Hold.endedBy", struct shown_hold, hold.ended_by),
    GRAPHQL_MEMBER("Hold.waiting", struct shown_hold, waiting),
    GRAPHQL_MEMBER("Hold.sending", struct shown_hold, sending),
    API_NUMBER_AT("Hold.drained", struct shown_hold, drained_us),
};
const size_t api_hold_count = sizeof api_hold / sizeof api_hold[0];
