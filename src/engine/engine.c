#include "engine/engine.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/metrics.h"
#include "engine/desk.h"
#include "engine/intake.h"
#include "engine/keeper.h"
#include "engine/live.h"
#include "engine/spool.h"
#include "store/payload.h"
#include "store/store.h"

enum { DESK_THREADS = 3, DESK_QUEUE = 256, SPOOL_THREADS = 2, LOOPS_MOST = 16 };

struct engine {
    struct store *store;
    struct loop *loops[LOOPS_MOST];
    size_t loop_count;
    struct desk *desk;
    struct spool *spool;
    struct intake *intake;
    struct live *live;
    struct keeper *keeper;
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

struct store *engine_store(struct engine *e)
{
    return e->store;
}

struct intake *engine_intake(struct engine *e)
{
    return e->intake;
}

struct live *engine_live(struct engine *e)
{
    return e->live;
}

struct desk *engine_desk(struct engine *e)
{
    return e->desk;
}

struct loop **engine_loops(struct engine *e)
{
    return e->loops;
}

size_t engine_loop_count(const struct engine *e)
{
    return e->loop_count;
}

static bool start_loops(struct engine *e, size_t count, struct err *err)
{
    for (size_t i = 0; i < count && i < LOOPS_MOST; i++) {
        char name[16];

        (void)snprintf(name, sizeof name, "io %zu", i);
        if (!loop_start(name, &e->loops[i], err))
            return false;
        e->loop_count++;
    }
    return true;
}

bool engine_start(const struct engine_options *o, struct store *store, struct engine **ret,
                  struct err *err)
{
    struct engine *e = NEW(struct engine);
    int64_t swept;

    e->store = store;
    if (!start_loops(e, o->loop_count, err)) {
        engine_free(e);
        return false;
    }
    e->desk = desk_new(DESK_THREADS, DESK_QUEUE);
    e->spool = spool_new(store, SPOOL_THREADS);
    e->intake = intake_new(&(struct intake_options){
        .store = store,
        .desk = e->desk,
        .spool = e->spool,
        .loops = e->loops,
        .loop_count = e->loop_count,
        .memory_bytes = (int64_t)o->node->memory_bytes / 2, /* the rest is ours */
        .disk_reserve_bytes = (int64_t)o->node->disk_reserve_bytes,
        .commit_queue = (size_t)o->node->commit_queue,
        .admin_token = o->admin_token });
    e->live = live_new(store, e->intake, o->node);
    bool ok = payload_sweep_files(store, &swept, err);

    if (ok) /* a step of every start, so it is told also when there was nothing */
        log_event(LOG_INFO, "payload.sweep", kv_int("count", swept));
    if (!ok || !live_start(e->live, o->file_text, err)) {
        engine_stop(e);
        engine_free(e);
        return false;
    }
    e->keeper = keeper_start(e);
    metrics_register(&syncs_metric);
    metrics_register(&log_metric);
    *ret = e;
    return true;
}

void engine_stop(struct engine *e)
{
    if (e->intake != NULL)
        intake_stop(e->intake);
    keeper_stop(e->keeper);
    e->keeper = NULL;
    spool_free(e->spool);
    e->spool = NULL;
    desk_free(e->desk);
    e->desk = NULL;
}

void engine_free(struct engine *e)
{
    metrics_forget(&syncs_metric);
    metrics_forget(&log_metric);
    for (size_t i = 0; i < e->loop_count; i++)
        loop_stop(e->loops[i]);
    live_free(e->live);
    intake_free(e->intake);
    store_close(e->store);
    free(e);
}

void engine_not_ready(struct engine *e, struct buf *to)
{
    const char *closed = intake_closed_why(e->intake), *trouble = live_trouble(e->live);

    if (closed != NULL)
        buf_printf(to, "%s\n", closed);
    if (trouble != NULL)
        buf_printf(to, "%s\n", trouble);
}
