#include "engine/watch/alerts.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "core/config.h"
#include "core/state.h"
#include "engine/plan/plan.h"
#include "engine/road/road.h"
#include "engine/tally/mishaps.h"
#include "engine/watch/alert_looks.h"
#include "engine/watch/notices.h"
#include "store/govern/ledger.h"
#include "store/store.h"
#include "store/watch/alert.h"
#include "store/watch/mishap.h"

enum {
    OBJECT = 200,
    MESSAGE = 400,
    ARENA_MOST = 8 << 20,
    TURN_WORD = 0,            /* name id 0: the turn of alerts, next to those of polls */
    TURN_US = 15 * CLOCK_S,   /* a turn expires after this */
    ASK_US = 2 * CLOCK_S,     /* how often other nodes try to take it */
    RENEW_US = 5 * CLOCK_S,   /* how often the turn is renewed */
    KEEP_US = 60 * CLOCK_S,   /* how often an open alert is refreshed in the store */
    GROWS_US = 5 * CLOCK_S,   /* the same while its count grows */
    CHANGES_MOST = 64,        /* written per round */
    GONE_US = 180 * CLOCK_S,  /* an object without observations is cleared after this */
    STALE_US = 900 * CLOCK_S, /* an alert that no node refreshes is cleared after this */
    LATE_US = 60 * CLOCK_S    /* a notice is late after this */
};

/* Certificates are checked only once an hour. */
static const int64_t gone_slow_us = INT64_C(3) * 3600 * CLOCK_S;

enum pending { NOTHING, RAISE, CLEAR };

struct watch {
    struct watch *next;
    enum alert_code code;
    char object[OBJECT], message[MESSAGE];
    struct alert_watch is;
    enum pending pending;
    int64_t count;
    int64_t kept_count;       /* as last written */
    int64_t seen_us, kept_us; /* monotonic */
    const char *ended;        /* why it was cleared */
};

struct alerts {
    struct alerts_options o;
    struct notices *notices;
    struct alert_looks looks;

    pthread_mutex_t mutex;
    struct watch *watches;
    size_t watch_count;
    unsigned hints; /* bits of 1 << code: check these soon */
    int64_t unwatched;
    _Atomic bool turn;

    /* used by the housekeeper only */
    int64_t renew_us, reconcile_us, remind_us, sum_us;
    _Atomic int64_t late, given_up;
    struct metric open, waiting, lost;
};

struct str alerts_own_name(const struct alerts *a)
{
    return str_of(a->looks.own);
}

/* Objects of a single node begin with "node ". */
static bool speaks_for(const struct alerts *a, struct str object)
{
    return str_starts(object, STR("node ")) ? str_eq(object, alerts_own_name(a)) : a->turn;
}

/* ---- observations ---- */

static struct watch *alerts_find(struct alerts *a, enum alert_code code, struct str object)
{
    struct watch *w = a->watches;

    object = str_first(object, OBJECT - 1);
    while (w != NULL && !(w->code == code && str_is(object, w->object)))
        w = w->next;
    return w;
}

static struct watch *alerts_add(struct alerts *a, enum alert_code code, struct str object)
{
    struct watch *w;

    if (a->watch_count == ALERTS_OPEN_MOST) {
        a->unwatched++;
        return NULL;
    }
    object = str_first(object, OBJECT - 1);
    w = NEW(struct watch);
    *w = (struct watch){ .next = a->watches, .code = code };
    (void)snprintf(w->object, sizeof w->object, "%.*s", STR_ARG(object));
    a->watches = w;
    a->watch_count++;
    return w;
}

/* Disk and certificates: the thresholds depend on the node's settings. */
static struct alert_rule alerts_rule_of(const struct alerts *a, const struct plan *p,
                                        enum alert_code code)
{
    struct alert_rule r = p->alerts.rules[code];
    int64_t bytes = p->alerts.disk_free_bytes;

    if (code == ALERT_DISK) {
        if (bytes == 0)
            bytes = (int64_t)a->o.node->disk_reserve_bytes * 2;
        r.high = -(bytes < INT64_MAX / 2 ? bytes : INT64_MAX / 2);
        r.low = r.high + r.high / 4;
    } else if (code == ALERT_CERTIFICATE) {
        r.high = -p->alerts.certificate_us / CLOCK_S;
        r.low = r.high - 1;
    }
    return r;
}

static void alerts_note(struct watch *w, const struct alert_rule *r, int64_t value,
                        const char *message, int64_t now_us)
{
    bool bad = !r->off && value >= r->high;

    w->seen_us = now_us;
    if (bad)
        (void)snprintf(w->message, sizeof w->message, "%s", message);
    if (bad && value > w->count && r->high >= 1 && w->code != ALERT_RECEIVER_FAILING &&
        w->code != ALERT_RECEIVER_REJECTING)
        w->count = value;
    switch (alert_watch_look(&w->is, r, value, now_us)) {
    case ALERT_RAISED: /* a clear that was not written yet is cancelled */
        w->pending = w->pending == CLEAR ? NOTHING : RAISE;
        break;
    case ALERT_CLEARED:
        w->pending = w->pending == RAISE ? NOTHING : CLEAR;
        w->ended = r->off ? "its rule is off" : "";
        break;
    case ALERT_SAME:
        break;
    }
}

void alerts_see(struct alerts *a, enum alert_code code, struct str object, int64_t value,
                const char *message)
{
    struct plan *p = road_plan(a->o.road);

    if (p == NULL)
        return;
    struct alert_rule r = alerts_rule_of(a, p, code);

    plan_unref(p);
    if (!speaks_for(a, object))
        return;
    (void)pthread_mutex_lock(&a->mutex);
    struct watch *w = alerts_find(a, code, object);

    if (w == NULL && !r.off && value >= r.high)
        w = alerts_add(a, code, object);
    if (w != NULL)
        alerts_note(w, &r, value, message, clock_mono_us());
    (void)pthread_mutex_unlock(&a->mutex);
}

void alerts_see_over(struct alerts *a, enum alert_code code,
                     bool (*is_so)(const void *ctx, enum alert_code code, struct str object),
                     const void *ctx)
{
    struct plan *p = road_plan(a->o.road);

    if (p == NULL)
        return;
    struct alert_rule r = alerts_rule_of(a, p, code);

    plan_unref(p);
    (void)pthread_mutex_lock(&a->mutex);
    for (struct watch *w = a->watches; w != NULL; w = w->next)
        if (w->code == code && speaks_for(a, str_of(w->object)) &&
            !is_so(ctx, code, str_of(w->object)))
            alerts_note(w, &r, 0, "", clock_mono_us());
    (void)pthread_mutex_unlock(&a->mutex);
}

bool alerts_is_open(struct alerts *a, enum alert_code code, struct str object)
{
    (void)pthread_mutex_lock(&a->mutex);
    const struct watch *w = alerts_find(a, code, object);
    bool open = w != NULL && w->is.on;

    (void)pthread_mutex_unlock(&a->mutex);
    return open;
}

/* Codes that may mean a new dead letter; checking costs little. */
static bool is_dead_code(struct str code)
{
    for (int i = 0; i < DEAD_CODES; i++)
        if (str_is(code, dead_codes[i]))
            return true;
    return str_is(code, "in_doubt") || str_is(code, "batch");
}

void alerts_count(void *alerts, const struct mishap *list, size_t count)
{
    static const enum alert_code of_endpoints[] = { ALERT_RECEIVER_FAILING,
                                                    ALERT_RECEIVER_REJECTING };
    static const struct str prefix = { "endpoint ", 9 };
    struct alerts *a = alerts;

    (void)pthread_mutex_lock(&a->mutex);
    const struct watch *dead = alerts_find(a, ALERT_DEAD_LETTERS, ALERTS_STORE);
    bool known = dead != NULL && dead->is.on;

    for (size_t i = 0; i < count; i++) {
        if (!known && is_dead_code(list[i].code))
            a->hints |= 1u << ALERT_DEAD_LETTERS;
        for (size_t k = 0; k < 2 && str_starts(list[i].object, prefix); k++) {
            struct watch *w = alerts_find(a, of_endpoints[k], str_from(list[i].object, prefix.len));

            if (w != NULL)
                w->count += list[i].count;
        }
    }
    (void)pthread_mutex_unlock(&a->mutex);
}

unsigned alerts_wanted(struct alerts *a)
{
    unsigned wanted;

    (void)pthread_mutex_lock(&a->mutex);
    wanted = a->hints;
    a->hints = 0;
    for (const struct watch *w = a->watches; w != NULL; w = w->next)
        if (w->is.leaning && w->is.looks < ALERT_LOOKS)
            wanted |= 1u << w->code;
    (void)pthread_mutex_unlock(&a->mutex);
    return wanted;
}

/* ---- writing ---- */

static size_t targets_of(const struct plan *p, enum alert_code code,
                         struct str names[static ALERT_TARGETS_MOST])
{
    size_t n = 0;

    for (size_t i = 0; i < p->alerts.target_count; i++)
        if ((p->alerts.targets[i].codes >> code & 1) != 0)
            names[n++] = p->alerts.targets[i].name;
    return n;
}

/* A copy of what is written; the watch may change meanwhile. */
struct change {
    struct watch *watch;
    struct watch was;
    struct str targets[ALERT_TARGETS_MOST];
    struct alert_say say;
};

static void alerts_prepare(struct change *c, const struct plan *p, struct watch *w)
{
    c->watch = w;
    c->was = *w;
    c->say = (struct alert_say){ .code = str_of(alert_codes[w->code]),
                                 .object = str_of(c->was.object),
                                 .message = str_of(w->pending == CLEAR ? w->ended : c->was.message),
                                 .count = w->count,
                                 .targets = c->targets,
                                 .target_count = targets_of(p, w->code, c->targets) };
}

static bool raise_one(struct alerts *a, struct change *c, struct err *err)
{
    bool fresh;
    int64_t num;

    if (!alert_raise(a->o.store, &c->say, &num, &fresh, err))
        return false;
    /* The looks of a silent gateway go well, so nobody else counts this. */
    if (fresh && c->was.code == ALERT_SILENCE && a->o.mishaps != NULL)
        mishaps_note(a->o.mishaps, "silence", "gateway", c->say.object, c->was.message);
    if (fresh)
        log_event(LOG_WARN, "alert.raise", kv_int("alert", num), kv_str("code", c->say.code),
                  kv_str("object", c->say.object), kv_int("count", c->say.count),
                  kv_str("message", c->say.message));
    return true;
}

static bool clear_one(struct alerts *a, struct change *c, struct err *err)
{
    int64_t num;

    if (!alert_clear(a->o.store, &c->say, &num, err))
        return false;
    if (num != 0)
        log_event(LOG_INFO, "alert.clear", kv_int("alert", num), kv_str("code", c->say.code),
                  kv_str("object", c->say.object), kv_int("count", c->say.count),
                  kv_str("why", c->say.message));
    return true;
}

/* If the alert was cleared elsewhere, observations start from zero. */
static bool keep_one(struct alerts *a, struct change *c, struct err *err)
{
    bool open;

    if (!alert_keep(a->o.store, &c->say, &open, err))
        return false;
    (void)pthread_mutex_lock(&a->mutex);
    if (!open)
        c->watch->is = (struct alert_watch){ 0 };
    (void)pthread_mutex_unlock(&a->mutex);
    return true;
}

static bool write_one(struct alerts *a, struct change *c, struct err *err)
{
    bool ok = c->was.pending == RAISE   ? raise_one(a, c, err)
              : c->was.pending == CLEAR ? clear_one(a, c, err)
                                        : keep_one(a, c, err);

    if (!ok && err->kind != ERR_LIMIT)
        return false;
    (void)pthread_mutex_lock(&a->mutex);
    c->watch->kept_us = clock_mono_us();
    c->watch->kept_count = c->was.count;
    if (c->watch->pending == c->was.pending)
        c->watch->pending = NOTHING;
    else if (c->was.pending != NOTHING && c->watch->pending == NOTHING)
        c->watch->pending = c->was.pending == RAISE ? CLEAR : RAISE; /* it changed back */
    (void)pthread_mutex_unlock(&a->mutex);
    return ok;
}

/* Frees watches that are over and written.  Only the housekeeper frees one, so pointers stay valid
 * in its round. */
static void alerts_forget(struct alerts *a)
{
    (void)pthread_mutex_lock(&a->mutex);
    for (struct watch **at = &a->watches; *at != NULL;) {
        struct watch *w = *at;
        bool mute = !speaks_for(a, str_of(w->object));

        if (!mute && (w->is.on || w->is.leaning || w->pending != NOTHING)) {
            at = &w->next;
            continue;
        }
        *at = w->next;
        a->watch_count--;
        free(w);
    }
    (void)pthread_mutex_unlock(&a->mutex);
}

static bool is_endpoint(const struct plan *p, struct str name)
{
    for (size_t i = 0; i < p->endpoint_count; i++)
        if (str_eq(p->endpoints[i].name, name))
            return true;
    return false;
}

static bool is_silence(const struct plan *p, struct str gateway)
{
    for (size_t i = 0; i < p->alerts.silence_count; i++)
        if (str_eq(p->alerts.silences[i].gateway, gateway))
            return true;
    return false;
}

/* False: the object is not in the configuration any more. */
static bool is_configured(const struct plan *p, const struct watch *w)
{
    struct str object = str_of(w->object);

    if (w->code == ALERT_SILENCE)
        return is_silence(p, object);
    if (w->code == ALERT_GATEWAY_FAILING)
        return config_gateway_find(p->config, object) != NULL;
    if (w->code == ALERT_RECEIVER_FAILING || w->code == ALERT_RECEIVER_REJECTING)
        return is_endpoint(p, object) || plan_asking_find(p, object) != NULL;
    if (w->code == ALERT_UNANSWERED)
        return plan_answer_find(p, object) != NULL;
    return true;
}

static void see_gone(struct watch *w, const struct plan *p, int64_t now_us)
{
    bool unseen =
        now_us - w->seen_us >= (w->code == ALERT_CERTIFICATE ? gone_slow_us : (int64_t)GONE_US);

    if (!w->is.on || w->pending != NOTHING || (!unseen && is_configured(p, w)))
        return;
    w->is = (struct alert_watch){ 0 };
    w->pending = CLEAR;
    w->ended = "it is not looked at any more";
}

/* Whether an open alert must be refreshed; sooner when its count grows. */
static bool is_due(const struct watch *w, int64_t now_us)
{
    bool counts = w->code == ALERT_DEAD_LETTERS || w->code == ALERT_RECEIVER_FAILING ||
                  w->code == ALERT_RECEIVER_REJECTING || w->code == ALERT_UNANSWERED;
    bool grows = counts && w->count > w->kept_count;

    return w->is.on && now_us - w->kept_us >= (grows ? GROWS_US : KEEP_US);
}

static bool write_changes(struct alerts *a, struct err *err)
{
    struct watch *due[CHANGES_MOST];
    struct plan *p = road_plan(a->o.road);
    int64_t now = clock_mono_us();
    size_t n = 0;
    bool ok = true;

    (void)pthread_mutex_lock(&a->mutex);
    for (struct watch *w = a->watches; w != NULL; w = w->next) {
        see_gone(w, p, now);
        if (n < CHANGES_MOST && (w->pending != NOTHING || is_due(w, now)))
            due[n++] = w;
    }
    (void)pthread_mutex_unlock(&a->mutex);
    for (size_t i = 0; ok && i < n; i++) {
        struct change c;

        (void)pthread_mutex_lock(&a->mutex);
        alerts_prepare(&c, p, due[i]);
        (void)pthread_mutex_unlock(&a->mutex);
        ok = write_one(a, &c, err);
    }
    plan_unref(p);
    alerts_forget(a);
    return ok;
}

/* ---- the turn ---- */

static void alerts_adopt(struct alerts *a, const struct alert *row, enum alert_code code)
{
    int64_t now = clock_mono_us();

    (void)pthread_mutex_lock(&a->mutex);
    struct watch *w = alerts_find(a, code, row->object);

    if (w == NULL)
        w = alerts_add(a, code, row->object);
    if (w != NULL && !w->is.on && w->pending == NOTHING) {
        w->is = (struct alert_watch){ .on = true };
        w->count = row->count;
        w->seen_us = now;
        w->kept_us = now;
        (void)snprintf(w->message, sizeof w->message, "%.*s", STR_ARG(row->message));
        a->hints |= 1u << code;
    }
    (void)pthread_mutex_unlock(&a->mutex);
}

/* Clears an alert of another node that has not been refreshed for long. */
static bool end_stale(struct alerts *a, const struct alert *row, enum alert_code code,
                      struct err *err)
{
    struct plan *p = road_plan(a->o.road);
    struct change c = { .say = { .code = row->code, .object = row->object, .count = row->count } };

    c.say.message = STR("nobody has seen it for a while");
    c.say.targets = c.targets;
    if (code < ALERT_CODES)
        c.say.target_count = targets_of(p, code, c.targets);
    plan_unref(p);
    return clear_one(a, &c, err);
}

/* Adopts alerts that are open in the store and unknown here: from before a restart, or of another
 * node. */
static bool reconcile(struct alerts *a, struct err *err)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(ARENA_MOST);
    struct alert *list = ARENA_ARRAY(&arena, struct alert, ALERTS_OPEN_MOST);
    int64_t now = road_now_us(a->o.road);
    size_t n;

    if (!alert_list(a->o.store, false, &arena, list, ALERTS_OPEN_MOST, &n, err))
        return false;
    for (size_t i = 0; i < n; i++) {
        enum alert_code code = alert_code_of(list[i].code);

        if (code < ALERT_CODES && speaks_for(a, list[i].object))
            alerts_adopt(a, &list[i], code);
        else if (a->turn && now - list[i].last_us > STALE_US && !end_stale(a, &list[i], code, err))
            return false;
    }
    return true;
}

/* This node has got the turn: adopt open alerts and check everything soon. */
static void see_all(struct alerts *a, int64_t now_us)
{
    a->reconcile_us = now_us;
    (void)pthread_mutex_lock(&a->mutex);
    a->hints = ~0u;
    (void)pthread_mutex_unlock(&a->mutex);
}

static bool alerts_take_turn(struct alerts *a, int64_t now_us, struct err *err)
{
    bool ours = false, had = a->turn;

    if (now_us < a->renew_us)
        return true;
    if (!poll_turn(a->o.store, TURN_WORD, TURN_US, &ours, err)) {
        if (now_us - a->renew_us > TURN_US)
            a->turn = false;
        return false;
    }
    a->turn = ours;
    a->renew_us = now_us + (ours ? RENEW_US : ASK_US);
    if (ours && !had)
        see_all(a, now_us);
    return true;
}

/* ---- the housekeeper's round ---- */

/* Reminds of dead letters while there are some. */
static bool alerts_remind(struct alerts *a, int64_t now_us, struct err *err)
{
    struct plan *p = road_plan(a->o.road);
    struct str targets[ALERT_TARGETS_MOST];
    struct alert_say say = { .code = str_of(alert_codes[ALERT_DEAD_LETTERS]),
                             .object = ALERTS_STORE,
                             .targets = targets,
                             .target_count = targets_of(p, ALERT_DEAD_LETTERS, targets) };
    int64_t num, period_us = p->alerts.remind_us;
    bool ok = period_us == 0 || alert_remind(a->o.store, &say, period_us, &num, err);

    a->remind_us = now_us + (period_us > 0 && period_us < RENEW_US ? period_us : RENEW_US);
    plan_unref(p);
    return ok;
}

static bool sum(struct alerts *a, struct err *err)
{
    struct alert_sums sums;
    int64_t now = clock_mono_us();

    if (now < a->sum_us)
        return true;
    a->sum_us = now + CLOCK_S;
    if (!alert_sum(a->o.store, LATE_US, &sums, err))
        return false;
    metric_set(&a->open, sums.open);
    metric_set(&a->waiting, sums.waiting);
    metric_set(&a->lost, sums.given_up);
    a->late = sums.late;
    a->given_up = sums.given_up;
    return true;
}

static bool now_and_then(struct alerts *a, int64_t now_us, struct err *err)
{
    if (now_us >= a->reconcile_us) {
        if (!reconcile(a, err))
            return false;
        a->reconcile_us = now_us + KEEP_US;
    }
    return !a->turn || now_us < a->remind_us || alerts_remind(a, now_us, err);
}

bool alerts_tend(struct alerts *a, struct err *err)
{
    int64_t now = clock_mono_us();

    if (!alerts_take_turn(a, now, err) || !now_and_then(a, now, err) ||
        !alert_looks_run(&a->looks, a, &a->o, a->turn, err) || !write_changes(a, err))
        return false;
    return notices_tend(a->notices, a->turn, err) && sum(a, err);
}

void alerts_tell(struct alerts *a, struct buf *to)
{
    int64_t late = a->late, given_up = a->given_up;

    if (late > 0)
        buf_printf(to, "notices of alerts that could not be sent yet: %lld\n", (long long)late);
    if (given_up > 0)
        buf_printf(to, "notices of alerts that were given up: %lld\n", (long long)given_up);
}

/* ---- life ---- */

static void alerts_gauge(struct metric *m, const char *name, const char *help)
{
    *m = (struct metric){ .name = name, .help = help, .type = METRIC_GAUGE };
    metrics_register(m);
}

struct alerts *alerts_new(const struct alerts_options *options)
{
    struct alerts *a = NEW(struct alerts);

    a->o = *options;
    a->turn = store_kind(options->store) == DB_SQLITE;
    (void)pthread_mutex_init(&a->mutex, NULL);
    a->notices = notices_new(options->store, options->road);
    alert_looks_init(&a->looks, options);
    alerts_gauge(&a->open, "waybill_alerts_open", "Alerts that are raised and not cleared.");
    alerts_gauge(&a->waiting, "waybill_alert_notices_waiting",
                 "Notices of alerts that are not sent yet.");
    alerts_gauge(&a->lost, "waybill_alert_notices_given_up",
                 "Notices of alerts that nobody heard.");
    return a;
}

void alerts_stop(struct alerts *a)
{
    struct err err = { 0 };

    if (a == NULL)
        return;
    notices_stop(a->notices);
    if (a->turn)
        (void)poll_turn_end(a->o.store, TURN_WORD, &err); /* or it expires */
}

void alerts_free(struct alerts *a)
{
    if (a == NULL)
        return;
    struct metric *own[] = { &a->open, &a->waiting, &a->lost };

    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        metrics_forget(own[i]);
    for (struct watch *w = a->watches, *next; w != NULL; w = next) {
        next = w->next;
        free(w);
    }
    alert_looks_done(&a->looks);
    notices_free(a->notices);
    free(a);
}
