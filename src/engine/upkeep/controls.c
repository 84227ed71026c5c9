#include "engine/upkeep/controls.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/metrics.h"
#include "core/lease_time.h"
#include "engine/dispatch/dispatch.h"
#include "engine/dispatch/govern.h"
#include "engine/intake/intake.h"
#include "engine/road/road.h"
#include "engine/tally/mishaps.h"
#include "store/backup/restore.h"
#include "store/kernel/node.h"
#include "store/store.h"

enum {
    ARENA_MOST = 16 << 20,
    READING_US = 2 * CLOCK_S,                     /* a slower reading of the clock is not used */
    ANSWER_US = LEASE_TTL_US + 2 * LEASE_BEAT_US, /* a node silent for this long is not alive */
    ASK_US = 20 * CLOCK_MS,
};

static const int64_t day_us = INT64_C(86400) * CLOCK_S;

/* A hold that has not ended. */
struct ward {
    struct hold hold;
    bool begun; /* its begin was logged */
    bool seen;  /* the store knows that this node follows it */
};

struct controls {
    struct controls_options o;
    pthread_mutex_t mutex;
    int64_t mark; /* the store's mark that is applied; -1: none yet */
    struct arena arena;
    struct ward *wards; /* on the arena */
    size_t count;
    _Atomic unsigned paused; /* bits of 1 << pause_what */
    bool empty;              /* being drained, and found empty at the last look */
    _Atomic bool restored;   /* restored from a backup and not released (restore.h) */
};

static struct metric active = { .name = "waybill_holds_active",
                                .help = "Holds that are in force.",
                                .type = METRIC_GAUGE };
#define PAUSED(word)                                                                            \
    {                                                                                           \
        .name = "waybill_paused", .help = "1 while somebody has paused this part of the node.", \
        .labels = "what=\"" word "\"", .type = METRIC_GAUGE                                     \
    }
static struct metric pauses[PAUSES] = { [PAUSE_INTAKE] = PAUSED("intake"),
                                        [PAUSE_DELIVERY] = PAUSED("delivery"),
                                        [PAUSE_JOBS] = PAUSED("jobs"),
                                        [PAUSE_DRAIN] = PAUSED("drain"),
                                        [PAUSE_DRAINED] = PAUSED("drained") };

static struct metric restored = {
    .name = "waybill_restore_waits",
    .help = "1 while nothing is sent because the store came out of a backup.",
    .type = METRIC_GAUGE
};

struct controls *controls_new(const struct controls_options *options)
{
    struct controls *w = NEW(struct controls);

    *w = (struct controls){ .o = *options, .mark = -1, .arena = ARENA_INIT(ARENA_MOST) };
    (void)pthread_mutex_init(&w->mutex, NULL);
    metrics_register(&active);
    metrics_register(&restored);
    for (int i = 0; i < PAUSES; i++)
        metrics_register(&pauses[i]);
    return w;
}

void controls_free(struct controls *w)
{
    if (w == NULL)
        return;
    metrics_forget(&active);
    metrics_forget(&restored);
    for (int i = 0; i < PAUSES; i++)
        metrics_forget(&pauses[i]);
    arena_done(&w->arena);
    free(w);
}

static struct str controls_name_of(const struct controls *w, const struct hold *h)
{
    return name_text(w->o.store, h->system);
}

/* ---- the clock ---- */

static void note_clock(struct controls *w, int64_t clock_us, int64_t asked_us)
{
    int64_t now = clock_mono_us(), step;

    if (now - asked_us > READING_US)
        return;
    switch (govern_note_clock(w->o.govern, clock_us, asked_us + (now - asked_us) / 2, &step)) {
    case STEADY_FROZE:
        log_event(LOG_WARN, "clock.step", kv_int("by_ms", step / CLOCK_MS),
                  kv_z("hint", "Nothing that waits is released by the clock until two readings of "
                               "it agree."));
        break;
    case STEADY_WENT_ON:
        log_event(LOG_INFO, "clock.steady", kv_int("by_ms", step / CLOCK_MS));
        road_wake(w->o.road);
        break;
    case STEADY_SAME:
        break;
    }
}

/* ---- following the store ---- */

static const struct ward *controls_find(const struct ward *wards, size_t count, int64_t num)
{
    for (size_t i = 0; i < count; i++)
        if (wards[i].hold.num == num)
            return &wards[i];
    return NULL;
}

/* A hold without a later begin applies from its creation, whatever the clocks say. */
static int64_t begin_of(const struct hold *h)
{
    return h->from_us <= h->made_us ? 0 : h->from_us;
}

static void give_holds(struct controls *w)
{
    struct govern_hold *list = xcalloc(w->count + 1, sizeof *list);

    for (size_t i = 0; i < w->count; i++)
        list[i] = (struct govern_hold){ .system = w->wards[i].hold.system,
                                        .from_us = begin_of(&w->wards[i].hold),
                                        .until_us = w->wards[i].hold.until_us };
    govern_set_holds(w->o.govern, list, w->count);
    free(list);
}

/* Holds in the first list began before this start: their begin is not logged. */
static bool read_holds(struct controls *w, struct err *err)
{
    struct arena fresh = ARENA_INIT(ARENA_MOST);
    struct hold *list = ARENA_ARRAY(&fresh, struct hold, HOLDS_MOST);
    size_t n;

    if (!hold_list(w->o.store, false, &fresh, list, &n, err)) {
        arena_done(&fresh);
        return false;
    }
    struct ward *wards = ARENA_ARRAY(&fresh, struct ward, n);
    int64_t late = govern_time(w->o.govern).late_us;

    for (size_t i = 0; i < n; i++) {
        const struct ward *old = controls_find(w->wards, w->count, list[i].num);

        wards[i] =
            (struct ward){ .hold = list[i],
                           .seen = old != NULL && old->seen,
                           .begun = old != NULL ? old->begun
                                                : w->mark < 0 && begin_of(&list[i]) <= late };
    }
    arena_done(&w->arena);
    w->arena = fresh;
    w->wards = wards;
    w->count = n;
    give_holds(w);
    return true;
}

static bool read_pauses(struct controls *w, struct err *err)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(ARENA_MOST);
    struct pause *list = ARENA_ARRAY(&a, struct pause, PAUSES_MOST);
    unsigned before = w->paused, paused = 0;
    size_t n;

    if (!pause_list(w->o.store, &a, list, &n, err))
        return false;
    for (size_t i = 0; i < n; i++)
        if (list[i].node == 0 || list[i].node == store_node(w->o.store))
            paused |= 1u << list[i].what;
    w->paused = paused;
    for (int i = 0; i < PAUSES; i++) {
        bool now = (paused >> i & 1) != 0;

        metric_set(&pauses[i], now);
        if (now && (before >> i & 1) == 0)
            log_event(LOG_WARN, "node.pause", kv_z("what", pause_names[i]));
        else if (!now && (before >> i & 1) != 0)
            log_event(LOG_INFO, "node.resume", kv_z("what", pause_names[i]));
    }
    bool drain = (paused >> PAUSE_DRAIN & 1) != 0;

    govern_set_pause(w->o.govern, drain || (paused >> PAUSE_DELIVERY & 1) != 0);
    intake_note_paused(w->o.intake, drain || (paused >> PAUSE_INTAKE & 1) != 0);
    road_set_draining(w->o.road, drain);
    return true;
}

/* Notes in the store that this node, which is to be drained, has nothing left: nothing in flight,
 * and no upload that was admitted before and is still being read.  It must be found empty twice: a
 * claim that was under way may still bring something. */
static bool note_drained(struct controls *w, struct err *err)
{
    unsigned paused = w->paused;
    bool was_empty = w->empty;

    w->empty = (paused >> PAUSE_DRAIN & 1) != 0 && intake_is_empty(w->o.intake) &&
               road_is_empty(w->o.road);
    if (!w->empty || !was_empty || (paused >> PAUSE_DRAINED & 1) != 0)
        return true;
    return pause_put(w->o.store, store_node(w->o.store), 1u << PAUSE_DRAINED, STR(""), STR("node"),
                     err);
}

static bool controls_read_restore(struct controls *w, struct err *err)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct restore r;

    if (!restore_newest(w->o.store, &a, &r, err))
        return false;
    bool before = w->restored, now = r.made_us != 0 && r.done_us == 0;

    w->restored = now;
    metric_set(&restored, now);
    govern_set_restored(w->o.govern, now);
    if (now && !before)
        log_event(LOG_WARN, "restore.wait", kv_str("source", r.source),
                  kv_z("hint", "The store came out of a backup: nothing is sent until `waybill "
                               "node release` says what becomes of what was in flight."));
    if (before && !now) {
        log_event(LOG_INFO, "restore.release", kv_z("in_flight", restore_rules[r.rule]),
                  kv_str("by", r.chosen_by));
        road_wake(w->o.road);
    }
    return true;
}

/* The governor has the hold, so no new delivery begins: record those that are being sent. */
static bool see(struct controls *w, struct ward *d, struct err *err)
{
    AUTO(buf_done) struct buf sending = BUF_INIT(HOLD_SENDING_BYTES);

    if (begin_of(&d->hold) <= govern_time(w->o.govern).late_us)
        dispatch_sending(road_dispatch(w->o.road), d->hold.system, HOLD_SENDING_MOST, &sending);
    d->seen = hold_see(w->o.store, d->hold.num, buf_view(&sending), err);
    return d->seen;
}

static bool controls_apply(struct controls *w, int64_t mark, struct err *err)
{
    if (!read_holds(w, err) || !read_pauses(w, err) || !controls_read_restore(w, err))
        return false;
    for (size_t i = 0; i < w->count; i++)
        if (!w->wards[i].seen && !see(w, &w->wards[i], err))
            return false;
    w->mark = mark;
    road_wake(w->o.road);
    return true;
}

/* ---- begin, expiry, reminders ---- */

static void tell_begun(struct controls *w, const struct govern_time *now)
{
    size_t n = 0;

    for (size_t i = 0; i < w->count; i++) {
        struct ward *d = &w->wards[i];

        if (begin_of(&d->hold) > now->late_us)
            continue;
        n += d->hold.until_us == 0 || d->hold.until_us > now->early_us;
        if (!d->begun)
            log_event(LOG_INFO, "hold.begin", kv_int("hold", d->hold.num),
                      kv_str("system", controls_name_of(w, &d->hold)),
                      kv_str("reason", d->hold.reason));
        d->begun = true;
    }
    metric_set(&active, (int64_t)n);
}

static bool controls_expire(struct controls *w, int64_t now_us, struct err *err)
{
    int64_t nums[HOLDS_MOST];
    bool any = false;
    size_t n;

    for (size_t i = 0; i < w->count; i++)
        any = any || (w->wards[i].hold.until_us != 0 && w->wards[i].hold.until_us <= now_us);
    if (!any)
        return true;
    road_wake(w->o.road); /* the governor ignores them already */
    if (!hold_expire(w->o.store, now_us, nums, &n, err))
        return false;
    for (size_t i = 0; i < n; i++) {
        const struct ward *d = controls_find(w->wards, w->count, nums[i]);

        if (d != NULL)
            log_event(LOG_INFO, "hold.expire", kv_int("hold", nums[i]),
                      kv_str("system", controls_name_of(w, &d->hold)));
    }
    return true;
}

static void remind_of(struct controls *w, const struct hold *h, int64_t now_us)
{
    char text[300];

    (void)snprintf(text, sizeof text, "hold %lld without an end, of %.*s, for %lld days: %.*s",
                   (long long)h->num, (int)(h->owner.len < 80 ? h->owner.len : 80), h->owner.ptr,
                   (long long)((now_us - h->from_us) / day_us),
                   (int)(h->reason.len < 120 ? h->reason.len : 120), h->reason.ptr);
    log_event(LOG_WARN, "hold.remind", kv_int("hold", h->num),
              kv_str("system", controls_name_of(w, h)), kv_str("owner", h->owner),
              kv_str("reason", h->reason), kv_int("days", (now_us - h->from_us) / day_us),
              kv_z("hint", "It has no end: `waybill hold end ID` when it is not needed any more."));
    mishaps_note(w->o.mishaps, "hold", "system", controls_name_of(w, h), text);
}

static bool controls_remind(struct controls *w, int64_t now_us, struct err *err)
{
    int64_t nums[HOLDS_MOST];
    bool any = false;
    size_t n;

    for (size_t i = 0; i < w->count; i++)
        any = any || (w->wards[i].hold.until_us == 0 && w->wards[i].hold.from_us <= now_us &&
                      w->wards[i].hold.reminded_us <= now_us - day_us);
    if (!any)
        return true;
    if (!hold_remind(w->o.store, now_us, now_us - day_us, nums, &n, err))
        return false;
    for (size_t i = 0; i < n; i++) {
        const struct ward *d = controls_find(w->wards, w->count, nums[i]);

        if (d != NULL)
            remind_of(w, &d->hold, now_us);
    }
    return true;
}

static bool upkeep_controls_follow(struct controls *w, struct err *err)
{
    int64_t asked, mark, clock;

    fault_point(HOLDS_READ);
    asked = clock_mono_us();
    if (!hold_look(w->o.store, &mark, &clock, err))
        return false;
    note_clock(w, clock, asked);
    if (mark != w->mark && !controls_apply(w, mark, err))
        return false;
    if (!note_drained(w, err))
        return false;
    struct govern_time now = govern_time(w->o.govern);

    tell_begun(w, &now);
    return now.frozen ||
           (controls_expire(w, now.early_us, err) && controls_remind(w, now.early_us, err));
}

bool controls_follow(struct controls *w, struct err *err)
{
    (void)pthread_mutex_lock(&w->mutex);
    bool ok = upkeep_controls_follow(w, err);

    (void)pthread_mutex_unlock(&w->mutex);
    return ok;
}

/* ---- changes ---- */

/* Waits until every live node follows the hold, or the hold has ended. */
static bool await_all(struct controls *w, struct arena *a, struct controls_placed *ret,
                      struct err *err)
{
    int64_t until = clock_mono_us() + ANSWER_US;
    struct hold now;

    for (;;) {
        if (!hold_blind(w->o.store, ret->num, ret->blind, CONTROLS_BLIND_MOST, &ret->blind_count,
                        err))
            return false;
        if (ret->blind_count == 0 || clock_mono_us() > until)
            return true;
        if (!hold_get(w->o.store, ret->num, a, &now, err) || now.ended_us != 0) {
            ret->blind_count = 0;
            return err->kind == ERR_NONE;
        }
        clock_sleep_us(ASK_US);
    }
}

bool controls_hold(struct controls *w, const struct hold *h, struct arena *a,
                   struct controls_placed *ret, struct err *err)
{
    *ret = (struct controls_placed){ 0 };
    if (!hold_add(w->o.store, h, &ret->num, err))
        return false;
    log_event(LOG_INFO, "hold.add", kv_int("hold", ret->num),
              kv_str("system", controls_name_of(w, h)), kv_str("reason", h->reason),
              kv_str("owner", h->owner));
    ret->sending = ARENA_ARRAY(a, struct str, CONTROLS_SENDING_MOST);
    if (controls_follow(w, err) && await_all(w, a, ret, err) &&
        hold_sending(w->o.store, ret->num, a, ret->sending, CONTROLS_SENDING_MOST,
                     &ret->sending_count, err))
        return true;
    return err_behind(err,
                      "hold %lld is placed, but who goes by it is not known: see `waybill hold ls`",
                      (long long)ret->num);
}

bool controls_end(struct controls *w, int64_t num, struct str by, bool *ret_was, struct err *err)
{
    if (!hold_end(w->o.store, num, by, ret_was, err))
        return false;
    if (*ret_was)
        log_event(LOG_INFO, "hold.end", kv_int("hold", num), kv_str("by", by));
    return controls_follow(w, err);
}

bool controls_pause(struct controls *w, int64_t node, unsigned what, struct str reason,
                    struct str by, struct err *err)
{
    return pause_put(w->o.store, node, what, reason, by, err) && controls_follow(w, err);
}

bool controls_resume(struct controls *w, int64_t node, unsigned what, int64_t *ret_count,
                     struct err *err)
{
    return pause_drop(w->o.store, node, what, ret_count, err) && controls_follow(w, err);
}

bool controls_jobs_rest(struct controls *w)
{
    return (atomic_load(&w->paused) & (1u << PAUSE_JOBS | 1u << PAUSE_DRAIN)) != 0;
}

bool controls_release(struct controls *w, enum restore_rule rule, const struct restore_order *order,
                      struct restore *ret, struct restore_progress *ret_progress, struct err *err)
{
    return restore_choose(w->o.store, rule, order->who, err) &&
           restore_apply(w->o.store, rule, order, ret_progress, err) && controls_follow(w, err) &&
           restore_newest(w->o.store, order->arena, ret, err);
}

void controls_tell(struct controls *w, struct buf *to)
{
    unsigned paused = w->paused;

    for (int i = 0; i < PAUSE_DRAIN; i++) /* a paused intake reports itself */
        if (i != PAUSE_INTAKE && (paused >> i & 1) != 0)
            buf_printf(to, "%s is paused on this node\n", pause_names[i]);
    if ((paused >> PAUSE_DRAIN & 1) != 0)
        buf_printf(to, "this node is %s: see `waybill node resume`\n",
                   (paused >> PAUSE_DRAINED & 1) != 0 ? "drained" : "being drained");
    if (w->restored)
        buf_puts(to,
                 "the store came out of a backup: nothing is sent until `waybill node release`\n");
    if (govern_time(w->o.govern).frozen)
        buf_puts(to, "the clock jumped: nothing that waits is released by it until it is steady\n");
}
