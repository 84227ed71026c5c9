#include "engine/upkeep/housekeeper.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/wait.h"
#include "core/lease_time.h"
#include "core/state.h"
#include "core/steady.h"
#include "engine/batch/batcher.h"
#include "engine/dispatch/govern.h"
#include "engine/intake/intake.h"
#include "engine/road/endpoints.h"
#include "engine/tally/charts.h"
#include "engine/tally/duty_count.h"
#include "engine/tally/mishaps.h"
#include "engine/tally/refusals.h"
#include "engine/tally/series.h"
#include "engine/tally/ways.h"
#include "engine/upkeep/admin_keys.h"
#include "engine/upkeep/controls.h"
#include "engine/upkeep/live.h"
#include "engine/watch/alerts.h"
#include "engine/watch/backlog.h"
#include "engine/watch/watchdog.h"
#include "store/kernel/health_look.h"
#include "store/kernel/node.h"
#include "store/kernel/reserve.h"
#include "store/payload/payload.h"
#include "store/payload/payload_days.h"
#include "store/road/accept.h"
#include "store/road/done.h"
#include "store/road/expire.h"
#include "store/road/lease_rows.h"
#include "store/road/rescue.h"
#include "store/road/retain_days.h"
#include "store/road/term.h"
#include "store/search/term_sweep.h"
#include "store/store.h"

enum {
    RULES_AHEAD = 32,
    TICK_US = 250 * CLOCK_MS,
    EXIT_DECLARED_DEAD = 75,
    EXPIRE_US = 500 * CLOCK_MS, /* per round: other duties wait */
    LOOK_US = 2 * CLOCK_S,
    LOOK_MOST_US = 60 * CLOCK_S,
    LOOK_SHARE = 200,
    KEYS_US = 60 * CLOCK_S,                   /* between two looks after the tables of keys ... */
    KEYS_AGAIN_US = STEADY_APART_US + CLOCK_S /* ... and after a step of the clock */
};

struct housekeeper {
    struct housekeeper_parts parts;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool stopping;
    struct watchdog *watchdog;
    int64_t queues_us, dead_us; /* the next checks; monotonic */
    int64_t keys_us;            /* the next look after the tables of keys; monotonic */
    int64_t term_slot;          /* the next slot of the attribute index to sweep */

    struct db *beat_db; /* PostgreSQL: a connection for the heartbeat alone */
    int64_t reachable_since_us;
    bool unreachable;
    bool closed; /* nothing can be stored */

    struct duty_count *counts; /* of each duty, guarded by the mutex */
};

/* ---- duties ---- */

static bool housekeeper_look_at_disk(struct housekeeper *k, struct err *err)
{
    int64_t free_bytes;

    if (!file_free_bytes(store_data_fd(k->parts.store), &free_bytes, err))
        return false;
    /* Without the reserve nothing is accepted, whatever `disk_reserve` says. */
    intake_note_disk(k->parts.intake, reserve_keep(k->parts.store) ? free_bytes : -1);
    return true;
}

static bool housekeeper_follow(struct housekeeper *k, struct err *err)
{
    return live_follow(k->parts.live, err);
}

static bool follow_holds(struct housekeeper *k, struct err *err)
{
    return controls_follow(k->parts.controls, err);
}

static bool note_uses_of_keys(struct housekeeper *k, struct err *err)
{
    return intake_note_uses(k->parts.intake, false, err);
}

static bool follow_rights(struct housekeeper *k, struct err *err)
{
    return admin_keys_follow(k->parts.admin_keys, err);
}

/* After a step of the clock soon again: only a second reading decides. */
static bool keep_key_tables(struct housekeeper *k, struct err *err)
{
    int64_t now = clock_mono_us();

    if (now < k->keys_us &&
        !(accept_keys_are_unsure(k->parts.store) && now >= k->keys_us - KEYS_US + KEYS_AGAIN_US))
        return true;
    k->keys_us = now + KEYS_US;
    return accept_keep_tables(k->parts.store, live_key_period_us(k->parts.live), err);
}

static bool keep_payload_tables(struct housekeeper *k, struct err *err)
{
    return payload_days_keep(k->parts.store, err);
}

static bool beat(struct housekeeper *k, int64_t *ret_sent_us, struct err *err)
{
    struct store *s = k->parts.store;

    if (k->beat_db == NULL && !store_connect_beat(s, &k->beat_db, err))
        return false;
    return (db_alive(k->beat_db) || db_revive(k->beat_db, err)) &&
           node_beat(s, k->beat_db, ret_sent_us, err);
}

/* Whoever placed a hold while the lease of this node was over did not wait for it: the node follows
 * what was changed before it goes by the new lease. */
static bool take_lease(struct housekeeper *k, int64_t sent_us, struct err *err)
{
    if (!node_may_act(k->parts.store) && !controls_follow(k->parts.controls, err))
        return false;
    node_renew(k->parts.store, sent_us);
    govern_set_lease(k->parts.govern, lease_end_us(sent_us));
    return true;
}

/* Renews the lease.  A node with a late heartbeat claims nothing more before its lease ends. */
static bool heartbeat(struct housekeeper *k, struct err *err)
{
    int64_t now = clock_mono_us(), sent_us;

    if (store_kind(k->parts.store) == DB_SQLITE)
        return true; /* the lock on the folder proves that this node lives */
    if (beat(k, &sent_us, err)) {
        if (k->unreachable) {
            log_event(LOG_INFO, "store.reach",
                      kv_int("after_ms", (now - k->reachable_since_us) / 1000));
            k->reachable_since_us = now;
        }
        k->unreachable = false;
        return take_lease(k, sent_us, err);
    }
    if (err->kind == ERR_PERMANENT) {
        log_event(LOG_ERROR, "node.dead", kv_z("why", err->text),
                  kv_z("hint", "Another node took over its work. Start it again."));
        log_stop();
        _exit(EXIT_DECLARED_DEAD);
    }
    if (!k->unreachable)
        k->reachable_since_us = now;
    k->unreachable = true;
    return false;
}

/* Closes the doors while nothing can be stored; a change is logged. */
static bool look_at_commits(struct housekeeper *k, struct err *err)
{
    char why[HEALTH_WHY];
    bool space = false;

    (void)err;
    health_look(k->parts.store);
    bool bad = health_of(k->parts.store, why, &space);

    intake_note_store(k->parts.intake,
                      k->unreachable ? "the database cannot be reached"
                      : bad          ? "nothing can be stored"
                                     : NULL,
                      bad && space);
    if (bad != k->closed && bad)
        log_event(LOG_ERROR, "store.closed", kv_z("why", why),
                  kv_z("hint", "Senders are told to come back later, until a commit succeeds."));
    else if (bad != k->closed)
        log_event(LOG_INFO, "store.open");
    k->closed = bad;
    return true;
}

/* After an outage every lease looks expired: declare no node dead before all had time to renew. */
static bool rescue(struct housekeeper *k, struct err *err)
{
    struct store *s = k->parts.store;
    int64_t moved;

    if (store_kind(s) == DB_SQLITE || k->unreachable ||
        clock_mono_us() - k->reachable_since_us < LEASE_TTL_US)
        return true;
    if (!rescue_dead_nodes(s, &moved, err))
        return false;
    if (moved > 0)
        log_event(LOG_WARN, "task.rescue", kv_int("count", moved));
    return true;
}

/* Returns tasks that were claimed by a commit with unknown outcome; the claimer finds them. */
static bool return_claims(struct housekeeper *k, struct err *err)
{
    int64_t count;

    if (k->unreachable)
        return true;
    if (!lease_return(k->parts.store, &count, err))
        return false;
    if (count > 0)
        log_event(LOG_WARN, "task.return", kv_int("count", count));
    return true;
}

static bool housekeeper_sweep(struct housekeeper *k, struct err *err)
{
    int64_t swept;

    if (!payload_sweep_uploads(k->parts.store, &swept, err))
        return false;
    if (swept > 0)
        log_event(LOG_INFO, "payload.sweep", kv_int("count", swept));
    return true;
}

static bool sweep_terms(struct housekeeper *k, struct err *err)
{
    int64_t gone;

    return terms_sweep(k->parts.store, &k->term_slot, &gone, err);
}

static bool keep_days(struct housekeeper *k, struct err *err)
{
    struct store *s = k->parts.store;
    int64_t days[RULES_AHEAD];
    size_t n = retain_days_all(s, days, RULES_AHEAD);

    for (size_t i = 0; i < n; i++)
        if (!done_keep_tables(s, days[i], err))
            return false;
    return done_refresh(s, err);
}

static bool tell_mishaps(struct housekeeper *k, struct err *err)
{
    return mishaps_write(k->parts.mishaps, k->parts.store, err);
}

static bool tell_refusals(struct housekeeper *k, struct err *err)
{
    return refusals_write(k->parts.refusals, k->parts.store, false, err);
}

static void note_expired(struct housekeeper *k, const int64_t *endpoints, size_t count)
{
    for (size_t i = 0; i < count; i++)
        mishaps_note(k->parts.mishaps, dead_codes[DEAD_EXPIRED], "endpoint",
                     name_text(k->parts.store, endpoints[i]),
                     "it waited longer than `expires` of its route or type");
}

/* Makes dead letters of deliveries past `expires`. */
static bool housekeeper_expire(struct housekeeper *k, struct err *err)
{
    int64_t endpoints[EXPIRE_MOST], next, now = govern_time(k->parts.govern).early_us;
    int64_t until = clock_mono_us() + EXPIRE_US;
    size_t n = EXPIRE_MOST, all = 0;

    if (!expire_next(k->parts.store, &next, err))
        return false;
    if (next == 0 || next > now)
        return true;
    while (n == EXPIRE_MOST && clock_mono_us() < until) {
        now = govern_time(k->parts.govern).early_us;
        if (!expire_due(k->parts.store, now, endpoints, &n, err))
            return false;
        note_expired(k, endpoints, n);
        all += n;
    }
    if (all > 0)
        log_event(LOG_WARN, "delivery.expire", kv_int("count", (int64_t)all),
                  kv_z("hint", "They waited longer than `expires` of their route or type says. "
                               "`waybill dead ls --error expired` lists them."));
    return true;
}

static bool count_series(struct housekeeper *k, struct err *err)
{
    (void)err;
    series_look(k->parts.series, clock_wall_us());
    return true;
}

static bool save_charts(struct housekeeper *k, struct err *err)
{
    return charts_save(k->parts.charts, false, err);
}

static bool look_at_ways(struct housekeeper *k, struct err *err)
{
    (void)err;
    ways_look(k->parts.ways);
    return true;
}

static bool learn(struct housekeeper *k, struct err *err)
{
    return store_kind(k->parts.store) == DB_SQLITE || road_learn(k->parts.road, err);
}

/* Limits a check to 1/LOOK_SHARE of the time, however much there is to count. */
static bool take_look(struct housekeeper *k, int64_t *due_us, struct err *err,
                      bool (*look)(struct watchdog *l, struct err *err))
{
    int64_t began = clock_mono_us();
    bool ok = look(k->watchdog, err);
    int64_t now = clock_mono_us(), rest = (now - began) * LOOK_SHARE;

    rest = rest > LOOK_US ? rest : LOOK_US;
    *due_us = now + (rest < LOOK_MOST_US ? rest : LOOK_MOST_US);
    return ok;
}

static bool look_at_queues(struct housekeeper *k, struct err *err)
{
    return take_look(k, &k->queues_us, err, watchdog_queues);
}

static bool housekeeper_look_at_dead(struct housekeeper *k, struct err *err)
{
    return take_look(k, &k->dead_us, err, watchdog_dead);
}

static bool look_at_queues_in_turn(struct housekeeper *k, struct err *err)
{
    return clock_mono_us() < k->queues_us || look_at_queues(k, err);
}

static bool look_at_dead_in_turn(struct housekeeper *k, struct err *err)
{
    return clock_mono_us() < k->dead_us || housekeeper_look_at_dead(k, err);
}

static bool look_at_certificates(struct housekeeper *k, struct err *err)
{
    return watchdog_certificates(k->watchdog, err);
}

static bool look_at_backlog(struct housekeeper *k, struct err *err)
{
    return backlog_look(k->parts.backlog, err);
}

/* One observation alone decides nothing: repeat soon those that alerts wait for. */
static bool tend_alerts(struct housekeeper *k, struct err *err)
{
    const unsigned queues = 1u << ALERT_QUEUE_DEPTH | 1u << ALERT_QUEUE_AGE | 1u << ALERT_STUCK |
                            1u << ALERT_SCALE_OUT | 1u << ALERT_SCALE_IN;
    unsigned wanted = alerts_wanted(k->parts.alerts);

    return ((wanted & 1u << ALERT_DEAD_LETTERS) == 0 || housekeeper_look_at_dead(k, err)) &&
           ((wanted & queues) == 0 || look_at_queues(k, err)) &&
           ((wanted & 1u << ALERT_CERTIFICATE) == 0 || look_at_certificates(k, err)) &&
           ((wanted & 1u << ALERT_WINDOW_TOO_SHORT) == 0 || look_at_backlog(k, err)) &&
           alerts_tend(k->parts.alerts, err);
}

static bool look_at_batches(struct housekeeper *k, struct err *err)
{
    /* A restored store builds no batches before an operator has released it. */
    return govern_is_restored(k->parts.govern) || batcher_look(k->parts.batcher, err);
}

static const struct duty {
    const char *name;
    int64_t every_us;
    bool (*run)(struct housekeeper *k, struct err *err);
} duties[] = {
    { .name = "heartbeat", .every_us = LEASE_BEAT_US, .run = heartbeat },
    { .name = "commits", .every_us = TICK_US, .run = look_at_commits },
    { .name = "holds", .every_us = TICK_US, .run = follow_holds },
    { .name = "batches", .every_us = TICK_US, .run = look_at_batches },
    { .name = "free space", .every_us = CLOCK_S, .run = housekeeper_look_at_disk },
    { .name = "configuration", .every_us = CLOCK_S / 2, .run = housekeeper_follow },
    { .name = "rights", .every_us = CLOCK_S / 2, .run = follow_rights },
    { .name = "uses of keys", .every_us = CLOCK_S, .run = note_uses_of_keys },
    { .name = "queues", .every_us = CLOCK_S, .run = look_at_queues_in_turn },
    { .name = "dead letters", .every_us = CLOCK_S, .run = look_at_dead_in_turn },
    { .name = "certificates", .every_us = INT64_C(3600) * CLOCK_S, .run = look_at_certificates },
    { .name = "backlog", .every_us = INT64_C(15) * CLOCK_S, .run = look_at_backlog },
    { .name = "rescue", .every_us = 2 * LEASE_BEAT_US, .run = rescue },
    { .name = "unsure claims", .every_us = CLOCK_S, .run = return_claims },
    { .name = "mishaps", .every_us = CLOCK_S, .run = tell_mishaps },
    { .name = "refusals", .every_us = CLOCK_S, .run = tell_refusals },
    { .name = "alerts", .every_us = CLOCK_S / 2, .run = tend_alerts },
    { .name = "expiry", .every_us = CLOCK_S, .run = housekeeper_expire },
    { .name = "endpoints", .every_us = CLOCK_S, .run = learn },
    { .name = "numbers", .every_us = CLOCK_S, .run = count_series },
    { .name = "charts", .every_us = CLOCK_S, .run = save_charts },
    { .name = "ways", .every_us = INT64_C(10) * CLOCK_S, .run = look_at_ways },
    { .name = "tables of days", .every_us = INT64_C(600) * CLOCK_S, .run = keep_days },
    { .name = "key tables", .every_us = CLOCK_S, .run = keep_key_tables },
    { .name = "payload tables", .every_us = INT64_C(60) * CLOCK_S, .run = keep_payload_tables },
    { .name = "sweep", .every_us = INT64_C(600) * CLOCK_S, .run = housekeeper_sweep },
    { .name = "search", .every_us = INT64_C(600) * CLOCK_S, .run = sweep_terms },
};

enum { DUTIES = sizeof duties / sizeof duties[0] };

/* ---- the thread ---- */

static bool wait_tick(struct housekeeper *k)
{
    int64_t until_us = clock_mono_us() + TICK_US;

    (void)pthread_mutex_lock(&k->mutex);
    while (!k->stopping && wait_until(&k->changed, &k->mutex, until_us)) {
    }
    bool go_on = !k->stopping;

    (void)pthread_mutex_unlock(&k->mutex);
    return go_on;
}

static bool housekeeper_do(struct housekeeper *k, size_t i, struct err *err)
{
    int64_t began_us = clock_mono_us();
    bool ok = duties[i].run(k, err);

    (void)pthread_mutex_lock(&k->mutex);
    duty_count_note(&k->counts[i], clock_mono_us() - began_us, ok ? NULL : err->text);
    (void)pthread_mutex_unlock(&k->mutex);
    return ok;
}

bool housekeeper_duty(struct housekeeper *k, size_t i, const char **ret_name, int64_t *ret_every_us,
                      struct duty_count *ret)
{
    if (i >= DUTIES)
        return false;
    *ret_name = duties[i].name;
    *ret_every_us = duties[i].every_us;
    (void)pthread_mutex_lock(&k->mutex);
    *ret = k->counts[i];
    (void)pthread_mutex_unlock(&k->mutex);
    return true;
}

static void *housekeeper_main(void *arg)
{
    struct housekeeper *k = arg;
    int64_t due_us[DUTIES];
    bool failing[DUTIES] = { 0 };

    for (size_t i = 0; i < DUTIES; i++)
        due_us[i] = clock_mono_us() + duties[i].every_us;
    while (wait_tick(k))
        for (size_t i = 0; i < DUTIES; i++) {
            struct err err = { 0 };

            if (clock_mono_us() < due_us[i])
                continue;
            bool ok = housekeeper_do(k, i, &err);

            if (!ok && !failing[i])
                log_event(LOG_WARN, "keeper.fail", kv_z("duty", duties[i].name),
                          kv_z("why", err.text));
            failing[i] = !ok;
            due_us[i] = clock_mono_us() + duties[i].every_us;
        }
    return NULL;
}

struct housekeeper *housekeeper_start(const struct housekeeper_parts *parts)
{
    struct housekeeper *k = NEW(struct housekeeper);
    struct err err = { 0 };

    k->parts = *parts;
    k->counts = xcalloc(DUTIES, sizeof *k->counts);
    k->reachable_since_us = clock_mono_us();
    (void)pthread_mutex_init(&k->mutex, NULL);
    (void)pthread_cond_init(&k->changed, NULL);
    k->watchdog = watchdog_new(&(struct watchdog_options){ .store = parts->store,
                                                           .road = parts->road,
                                                           .node = parts->node,
                                                           .alerts = parts->alerts,
                                                           .mishaps = parts->mishaps });
    /* Before the gateways open; the thread reports failures. */
    (void)housekeeper_look_at_disk(k, &err);
    (void)look_at_queues(k, &err);
    (void)housekeeper_look_at_dead(k, &err);
    (void)look_at_certificates(k, &err);
    (void)keep_days(k, &err);
    (void)keep_payload_tables(k, &err);
    thread_start(&k->thread, "housekeeper", housekeeper_main, k);
    return k;
}

void housekeeper_stop(struct housekeeper *k)
{
    if (k == NULL)
        return;
    (void)pthread_mutex_lock(&k->mutex);
    k->stopping = true;
    (void)pthread_cond_signal(&k->changed);
    (void)pthread_mutex_unlock(&k->mutex);
    (void)pthread_join(k->thread, NULL);
    struct err err = { 0 };

    series_look(k->parts.series, clock_wall_us());
    if (!k->unreachable) /* or the stop would wait for the store */
        (void)charts_save(k->parts.charts, true, &err);
    watchdog_free(k->watchdog);
    db_close(k->beat_db);
    free(k->counts);
    free(k);
}
