#include "engine/engine.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/metrics.h"
#include "base/patient.h"
#include "base/require.h"
#include "engine/batch/batcher.h"
#include "engine/dispatch/govern.h"
#include "engine/intake/intake.h"
#include "engine/intake/listeners.h"
#include "engine/intake/poller.h"
#include "engine/intake/spool.h"
#include "engine/manual.h"
#include "engine/plan/plan.h"
#include "engine/probes.h"
#include "engine/road/endpoints.h"
#include "engine/road/road.h"
#include "engine/run/life.h"
#include "engine/run/sender.h"
#include "engine/tally/charts.h"
#include "engine/tally/mishaps.h"
#include "engine/tally/refusals.h"
#include "engine/tally/series.h"
#include "engine/tally/ways.h"
#include "engine/threads/background.h"
#include "engine/threads/crew.h"
#include "engine/threads/pool.h"
#include "engine/upkeep/admin_keys.h"
#include "engine/upkeep/backups.h"
#include "engine/upkeep/controls.h"
#include "engine/upkeep/file_config.h"
#include "engine/upkeep/housekeeper.h"
#include "engine/upkeep/live.h"
#include "engine/upkeep/purger.h"
#include "engine/watch/alerts.h"
#include "engine/watch/backlog.h"
#include "store/kernel/health_look.h"
#include "store/kernel/told.h"
#include "store/open.h"
#include "store/payload/payload.h"
#include "store/retention/retain_bytes.h"
#include "store/road/recorder.h"
#include "store/store.h"

enum {
    POOL_THREADS = 32,
    LOOKS_LOST_MOST = 32,
    DESK_THREADS = 3,
    DESK_QUEUE = 256,
    SPOOL_THREADS = 2,
    LINE_MOST = 500,
    LOOKS_STOP_US = CLOCK_S, /* for polls when the node stops */
};

struct engine {
    const struct config_node *node;
    const struct egress *egress;
    const struct connectors *connectors;
    struct store *store;
    struct loop *loops[ENGINE_LOOPS_MOST];
    size_t loop_count;
    struct background *background;
    struct spool *spool;
    struct pool *pool;
    struct crew *senders, *looks;
    struct probes *probes;
    size_t lost; /* threads that hung when the engine stopped */
    struct govern *govern;
    struct road *road;
    struct intake *intake;
    struct poller *poller;
    struct listeners *listeners;
    struct live *live;
    struct file_config *file_config; /* NULL: the store is the truth */
    struct admin_keys *admin_keys;
    struct controls *controls;
    struct backlog *backlog;
    struct alerts *alerts;
    struct backups *backups;
    struct batcher *batcher;
    struct housekeeper *housekeeper;
    struct purger *purger;
    struct series *series;
    struct charts *charts;
    struct mishaps *mishaps;
    struct refusals *refusals;
    struct ways *ways;
    struct manual manual;
};

static int64_t read_syncs(void *arg)
{
    (void)arg;
    return (int64_t)file_syncs();
}

static int64_t read_log_drops(void *arg)
{
    (void)arg;
    return (int64_t)log_dropped();
}

static struct metric syncs_metric = { .name = "waybill_syncs_total",
                                      .help = "Calls that put data on stable storage.",
                                      .read = read_syncs };
static struct metric log_metric = { .name = "waybill_log_dropped_total",
                                    .help = "Log lines lost because the log could not be written.",
                                    .read = read_log_drops };

static int64_t read_hanging(void *arg)
{
    struct engine *e = arg;
    struct crew_look senders, looks;

    crew_look(e->senders, &senders);
    crew_look(e->looks, &looks);
    return (int64_t)(senders.lost + looks.lost);
}

static struct metric hanging_metric = {
    .name = "waybill_threads_hanging",
    .help = "Threads that hang in calls to the outside and were given up.",
    .type = METRIC_GAUGE,
    .read = read_hanging
};

struct store *engine_store(struct engine *e)
{
    return e->store;
}

struct housekeeper *engine_housekeeper(struct engine *e)
{
    return e->housekeeper;
}

struct intake *engine_intake(struct engine *e)
{
    return e->intake;
}

const struct connectors *engine_connectors(const struct engine *e)
{
    return e->connectors;
}

struct live *engine_live(struct engine *e)
{
    return e->live;
}

struct file_config *engine_file_config(struct engine *e)
{
    return e->file_config;
}

struct govern *engine_govern(struct engine *e)
{
    return e->govern;
}

struct backlog *engine_backlog(struct engine *e)
{
    return e->backlog;
}

struct refusals *engine_refusals(struct engine *e)
{
    return e->refusals;
}

struct admin_keys *engine_admin_keys(struct engine *e)
{
    return e->admin_keys;
}

struct controls *engine_controls(struct engine *e)
{
    return e->controls;
}

struct backups *engine_backups(struct engine *e)
{
    return e->backups;
}

struct background *engine_background(struct engine *e)
{
    return e->background;
}

struct batcher *engine_batcher(struct engine *e)
{
    return e->batcher;
}

struct purger *engine_purger(struct engine *e)
{
    return e->purger;
}

struct road *engine_road(struct engine *e)
{
    return e->road;
}

struct mishaps *engine_mishaps(struct engine *e)
{
    return e->mishaps;
}

struct alerts *engine_alerts(struct engine *e)
{
    return e->alerts;
}

struct poller *engine_poller(struct engine *e)
{
    return e->poller;
}

struct probes *engine_probes(struct engine *e)
{
    return e->probes;
}

struct listeners *engine_listeners(struct engine *e)
{
    return e->listeners;
}

void engine_gateway_why(struct engine *e, struct str gateway, struct buf *to)
{
    intake_why(e->intake, gateway, to);
    poller_why(e->poller, gateway, to);
    listeners_why(e->listeners, gateway, to);
}

struct series *engine_series(struct engine *e)
{
    return e->series;
}

struct charts *engine_charts(struct engine *e)
{
    return e->charts;
}

struct ways *engine_ways(struct engine *e)
{
    return e->ways;
}

const struct manual *engine_manual(const struct engine *e)
{
    return &e->manual;
}

struct spool *engine_spool(struct engine *e)
{
    return e->spool;
}

const struct egress *engine_egress(const struct engine *e)
{
    return e->egress;
}

const struct config_node *engine_node(struct engine *e)
{
    return e->node;
}

struct loop **engine_loops(struct engine *e)
{
    return e->loops;
}

size_t engine_loop_count(const struct engine *e)
{
    return e->loop_count;
}

static size_t workers_for_this_machine(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    return cores >= 4 ? (size_t)cores / 2 : 1;
}

static struct plan *plan_of(void *arg, int64_t version, struct err *err)
{
    return live_plan_of(((struct engine *)arg)->live, version, err);
}

static bool start_road(struct engine *e, const struct engine_options *o, struct err *err)
{
    struct road_options road = { .store = e->store,
                                 .area = o->node->area,
                                 .pool = e->pool,
                                 .senders = e->senders,
                                 .govern = e->govern,
                                 .mishaps = e->mishaps,
                                 .ways = e->ways,
                                 .workers = workers_for_this_machine(),
                                 .bytes_most = (int64_t)o->node->memory_bytes / 4,
                                 .egress = o->egress,
                                 .plan_of = plan_of,
                                 .arg = e,
                                 .unclean = recorder_unclean(store_recorder(e->store)) };

    return road_start(&road, &e->road, err);
}

/* Holds every delivery at once; the housekeeper reads the row of the restore a moment later. */
static void engine_went_back(void *govern)
{
    govern_set_restored(govern, true);
}

static void make_legs(struct engine *e)
{
    e->background = background_new(DESK_THREADS, DESK_QUEUE);
    e->spool = spool_new(e->store, SPOOL_THREADS);
    e->pool = pool_new(POOL_THREADS);
    e->senders = crew_new("sender", SENDERS, SENDERS_LOST_MOST);
    e->looks = crew_new("look", LOOKS_MOST, LOOKS_LOST_MOST);
    e->probes = probes_new(&(struct probes_options){
        .store = e->store, .connectors = e->connectors, .node = e->node, .egress = e->egress });
    e->govern = govern_new();
    told_watch(e->store, engine_went_back, e->govern);
    e->series = series_new();
    e->mishaps = mishaps_new();
    e->refusals = refusals_new();
    e->ways = ways_new();
    e->charts = charts_new(e->store, e->series, e->ways);
}

static const char *engine_closed_why(void *arg)
{
    return intake_closed_why(arg);
}

static void make_doors(struct engine *e, const struct engine_options *o)
{
    manual_metrics_register();
    e->intake = intake_new(
        &(struct intake_options){ .store = e->store,
                                  .background = e->background,
                                  .spool = e->spool,
                                  .road = e->road,
                                  .refusals = e->refusals,
                                  .connectors = o->connectors,
                                  .area = o->node->area,
                                  .loops = e->loops,
                                  .loop_count = e->loop_count,
                                  .memory = o->memory,
                                  .disk_reserve_bytes = (int64_t)o->node->disk_reserve_bytes,
                                  .commit_queue = (size_t)o->node->commit_queue,
                                  .replies = (size_t)o->node->replies,
                                  .admin_token = o->admin_token });
    e->poller = poller_new(&(struct poller_options){ .store = e->store,
                                                     .looks = e->looks,
                                                     .road = e->road,
                                                     .connectors = o->connectors,
                                                     .area = o->node->area,
                                                     .mishaps = e->mishaps,
                                                     .egress = e->egress,
                                                     .closed = engine_closed_why,
                                                     .arg = e->intake });
    e->listeners = listeners_new(&(struct listeners_options){ .store = e->store,
                                                              .intake = e->intake,
                                                              .connectors = o->connectors,
                                                              .loops = e->loops,
                                                              .loop_count = e->loop_count,
                                                              .node = o->node,
                                                              .mishaps = e->mishaps });
    e->live = live_new(&(struct live_options){ .store = e->store,
                                               .intake = e->intake,
                                               .road = e->road,
                                               .poller = e->poller,
                                               .listeners = e->listeners,
                                               .connectors = o->connectors,
                                               .node = o->node,
                                               .file_rules = o->file != NULL });
    if (o->file != NULL)
        e->file_config = file_config_new(e->live, o->file, o->confirmed);
    e->controls = controls_new(&(struct controls_options){ .store = e->store,
                                                           .govern = e->govern,
                                                           .road = e->road,
                                                           .intake = e->intake,
                                                           .mishaps = e->mishaps });
    e->alerts = alerts_new(&(struct alerts_options){ .store = e->store,
                                                     .road = e->road,
                                                     .mishaps = e->mishaps,
                                                     .node = o->node,
                                                     .senders = e->senders,
                                                     .looks = e->looks });
    mishaps_tell(e->mishaps, alerts_count, e->alerts);
    e->backlog = backlog_new(&(struct backlog_options){ .store = e->store,
                                                        .govern = e->govern,
                                                        .road = e->road,
                                                        .alerts = e->alerts,
                                                        .mishaps = e->mishaps });
    e->backups = backups_new(e->store, e->road);
    e->admin_keys = admin_keys_new(e->store);
    e->batcher = batcher_new(e->store, e->road, e->mishaps, e->pool);
    e->manual =
        (struct manual){ .store = e->store, .intake = e->intake, .live = e->live, .road = e->road };
}

/* Cleans up after earlier runs, loads the configuration, then holds and admin keys. */
static bool engine_recover(struct engine *e, const struct engine_options *o, struct err *err)
{
    int64_t swept;

    if (!retain_recover(e->store, err) || !payload_sweep_files(e->store, &swept, err))
        return false;
    /* Logged at every start, also when nothing was swept. */
    log_event(LOG_INFO, "payload.sweep", kv_int("count", swept));
    if (!live_start(e->live, o->file_text, err))
        return false;
    if (e->file_config != NULL)
        file_config_apply(e->file_config, o->file_text);
    return road_learn(e->road, err) && controls_follow(e->controls, err) &&
           admin_keys_follow(e->admin_keys, err);
}

static struct housekeeper *start_housekeeper(struct engine *e)
{
    return housekeeper_start(&(struct housekeeper_parts){ .node = e->node,
                                                          .store = e->store,
                                                          .intake = e->intake,
                                                          .govern = e->govern,
                                                          .road = e->road,
                                                          .live = e->live,
                                                          .controls = e->controls,
                                                          .admin_keys = e->admin_keys,
                                                          .batcher = e->batcher,
                                                          .backlog = e->backlog,
                                                          .alerts = e->alerts,
                                                          .mishaps = e->mishaps,
                                                          .refusals = e->refusals,
                                                          .series = e->series,
                                                          .charts = e->charts,
                                                          .ways = e->ways });
}

bool engine_start(const struct engine_options *o, struct store *store, struct engine **ret,
                  struct err *err)
{
    struct engine *e = NEW(struct engine);

    e->store = store;
    e->node = o->node;
    e->egress = o->egress;
    e->connectors = o->connectors;
    require(o->loop_count <= ENGINE_LOOPS_MOST);
    e->loop_count = o->loop_count;
    memcpy(e->loops, o->loops, o->loop_count * sizeof e->loops[0]);
    make_legs(e);
    bool ok = start_road(e, o, err);

    if (ok) {
        make_doors(e, o);
        ok = engine_recover(e, o, err);
    }
    *ret = e;
    if (!ok)
        return false;
    road_run(e->road);
    e->housekeeper = start_housekeeper(e);
    e->purger = purger_start(
        &(struct purger_options){ .store = e->store,
                                  .road = e->road,
                                  .govern = e->govern,
                                  .mishaps = e->mishaps,
                                  .disk_reserve_bytes = (int64_t)o->node->disk_reserve_bytes });
    poller_run(e->poller);
    listeners_run(e->listeners);
    metrics_register(&syncs_metric);
    metrics_register(&log_metric);
    hanging_metric.arg = e;
    metrics_register(&hanging_metric);
    return true;
}

/* A part stops after every part that may still give it work.  The heartbeat continues while
 * deliveries end. */
void engine_stop(struct engine *e)
{
    metrics_forget(&hanging_metric);
    listeners_stop(e->listeners);
    crew_hurry(e->looks, LOOKS_STOP_US);
    purger_hurry(e->purger);
    poller_stop(e->poller);
    e->lost += purger_stop(e->purger);
    e->purger = NULL;
    if (e->intake != NULL) {
        struct err err = { 0 };

        intake_stop(e->intake);
        /* What the store does not take now is lost: the node ends. */
        (void)intake_note_uses(e->intake, true, &err);
        (void)refusals_write(e->refusals, e->store, true, &err);
    }
    probes_hurry(e->probes); /* people wait for them in the background */
    background_free(e->background);
    e->background = NULL;
    e->lost += probes_free(e->probes);
    e->probes = NULL;
    backups_free(e->backups);
    e->backups = NULL;
    if (e->batcher != NULL)
        batcher_rest(e->batcher);
    road_rest(e->road);
    housekeeper_stop(e->housekeeper);
    e->housekeeper = NULL;
    road_stop(e->road);
    alerts_stop(e->alerts);
    crew_hurry(e->senders, 0); /* after road_rest(), or the start has failed */
    e->lost += crew_free(e->senders) + crew_free(e->looks) + patient_hanging();
    e->senders = e->looks = NULL;
    pool_free(e->pool);
    e->pool = NULL;
    road_drain(e->road);
    spool_free(e->spool);
    e->spool = NULL;
}

void engine_free(struct engine *e)
{
    if (e->lost > 0) { /* a thread that hangs may wake up: what it reads stays, until _exit() */
        told_watch(e->store, NULL, NULL);
        store_leave(e->store);
        return;
    }
    metrics_forget(&syncs_metric);
    metrics_forget(&log_metric);
    file_config_free(e->file_config);
    live_free(e->live);
    admin_keys_free(e->admin_keys);
    controls_free(e->controls);
    backlog_free(e->backlog);
    alerts_free(e->alerts);
    batcher_free(e->batcher);
    poller_free(e->poller);
    listeners_free(e->listeners);
    manual_metrics_forget();
    intake_free(e->intake);
    road_free(e->road);
    told_watch(e->store, NULL, NULL);
    govern_free(e->govern);
    charts_free(e->charts);
    series_free(e->series);
    mishaps_free(e->mishaps);
    refusals_free(e->refusals);
    ways_free(e->ways);
    store_close(e->store);
    free(e);
}

void engine_add_lost(struct engine *e, size_t count)
{
    e->lost += count;
}

size_t engine_lost(const struct engine *e)
{
    return e->lost;
}

void engine_not_ready(struct engine *e, struct buf *to)
{
    const char *closed = intake_closed_why(e->intake), *trouble = live_trouble(e->live);

    char why[HEALTH_WHY];
    bool space;

    if (closed != NULL)
        buf_printf(to, "%s\n", closed);
    if (health_of(e->store, why, &space))
        buf_printf(to, "%s\n", why);
    if (trouble != NULL)
        buf_printf(to, "%s\n", trouble);
    (void)crew_tell(e->senders, "deliveries", to);
    (void)crew_tell(e->looks, "looks of gateways", to);
}

/* What the configuration names and this build cannot run, or cannot set up. */
static void tell_broken(struct engine *e, struct buf *to)
{
    struct plan *p = road_plan(e->road);

    for (size_t i = 0; p != NULL && i < p->gateway_count; i++)
        if (p->gateways[i].broken != NULL && to->len + LINE_MOST < to->cap)
            buf_printf(to, "gateway %.*s: %.300s\n", STR_ARG(p->gateways[i].name),
                       p->gateways[i].broken);
    for (size_t i = 0; p != NULL && i < p->endpoint_count; i++)
        if (p->endpoints[i].broken != NULL && to->len + LINE_MOST < to->cap)
            buf_printf(to, "endpoint %.*s: %.300s\n", STR_ARG(p->endpoints[i].name),
                       p->endpoints[i].broken);
    plan_unref(p);
}

void engine_troubles(struct engine *e, struct buf *to)
{
    if (e->file_config != NULL)
        file_config_tell(e->file_config, to);
    controls_tell(e->controls, to);
    poller_troubles(e->poller, to);
    listeners_troubles(e->listeners, to);
    tell_broken(e, to);
    alerts_tell(e->alerts, to);
}
