#include "engine/upkeep/backups.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/thread.h"
#include "engine/plan/folders.h"
#include "engine/plan/plan.h"
#include "engine/road/road.h"

enum { PATH_MOST = 4000 };

struct backups {
    struct store *store;
    struct road *road;
    pthread_mutex_t mutex;
    pthread_t thread;
    bool started; /* the thread must be joined */
    bool stopping;
    struct backup_progress progress;

    /* Guarded by the mutex. */
    int64_t number, started_us, ended_us;
    bool running, ok;
    struct buf folder;
    struct config *config; /* a reference: says which folders may be used */
    struct backup_options options;
    struct backup_result result;
    struct err err;
};

static struct metric last = { .name = "waybill_backup_last_seconds",
                              .help = "When the last backup of this process was taken, 0: none.",
                              .type = METRIC_GAUGE };
static struct metric failed = { .name = "waybill_backups_failed_total",
                                .help = "Backups that were not finished.",
                                .type = METRIC_COUNTER };

struct backups *backups_new(struct store *store, struct road *road)
{
    struct backups *b = NEW(struct backups);

    b->store = store;
    b->road = road;
    b->folder = (struct buf)BUF_INIT(PATH_MOST + 1);
    (void)pthread_mutex_init(&b->mutex, NULL);
    metrics_register(&last);
    metrics_register(&failed);
    return b;
}

void backups_free(struct backups *b)
{
    if (b == NULL)
        return;
    (void)pthread_mutex_lock(&b->mutex);
    b->stopping = true;
    b->progress.stop = true;
    bool join = b->started;

    (void)pthread_mutex_unlock(&b->mutex);
    if (join)
        (void)pthread_join(b->thread, NULL);
    metrics_forget(&last);
    metrics_forget(&failed);
    buf_done(&b->folder);
    config_unref(b->config);
    free(b);
}

static void backups_tell(const struct backups *b, bool ok, const struct backup_result *r,
                         const struct err *err)
{
    if (!ok) {
        metric_add(&failed, 1);
        log_event(LOG_ERROR, "backup.fail", kv_z("folder", b->options.folder),
                  kv_z("why", err->text));
        return;
    }
    metric_set(&last, r->taken_us / CLOCK_S);
    log_event(LOG_INFO, "backup.take", kv_z("folder", b->options.folder), kv_int("files", r->files),
              kv_int("bytes", r->bytes), kv_int("documents", r->documents));
    if (r->damaged > 0)
        log_event(LOG_ERROR, "backup.damage", kv_int("count", r->damaged), kv_z("first", r->damage),
                  kv_z("hint", "Payloads of the store itself are missing or damaged: see `waybill "
                               "doctor`, and bring them back from an older backup."));
}

static void *backups_main(void *arg)
{
    struct backups *b = arg;
    struct backup_result result;
    struct err err = { 0 };
    bool ok = backup_run(b->store, &b->options, &b->progress, &result, &err);

    backups_tell(b, ok, &result, &err);
    (void)pthread_mutex_lock(&b->mutex);
    b->ok = ok;
    b->result = result;
    b->err = err;
    b->ended_us = clock_wall_us();
    b->running = false;
    (void)pthread_mutex_unlock(&b->mutex);
    return NULL;
}

static struct config *backups_config(struct backups *b)
{
    struct plan *plan = road_plan(b->road);
    struct config *config = config_ref(plan->config);

    plan_unref(plan);
    return config;
}

static bool backups_ask(struct config *config, struct str folder, struct err *err)
{
    AUTO(buf_done) struct buf path = BUF_INIT(PATH_MOST + 1);

    if (folder.len == 0 || folder.ptr[0] != '/' || folder.len > PATH_MOST ||
        str_find(folder, '\0') >= 0)
        return err_set(err, ERR_PERMANENT, 0, "the folder must be an absolute path");
    buf_put(&path, folder);
    return folders_ask_backup(config, path.ptr, err);
}

bool backups_may_use(struct backups *b, struct str folder, struct err *err)
{
    struct config *config = backups_config(b);
    bool ok = backups_ask(config, folder, err);

    config_unref(config);
    return ok;
}

/* With the mutex held, and no backup under way: the folder for the next one, if it may be used. */
static bool take_folder(struct backups *b, struct str folder, struct err *err)
{
    struct config *config = backups_config(b);

    if (!backups_ask(config, folder, err)) {
        config_unref(config);
        return false;
    }
    buf_clear(&b->folder);
    buf_put(&b->folder, folder);
    config_unref(b->config);
    b->config = config;
    return true;
}

/* With the mutex held. */
static bool upkeep_backups_start(struct backups *b, struct str folder, bool with_key,
                                 struct err *err)
{
    if (b->running || b->stopping)
        return err_set(err, ERR_PERMANENT, 0,
                       b->running ? "a backup is under way: see `waybill backup`"
                                  : "the node stops");
    if (b->started) /* the thread has ended, or is about to */
        (void)pthread_join(b->thread, NULL);
    b->started = false;
    if (!take_folder(b, folder, err))
        return false;
    b->options = (struct backup_options){ .folder = b->folder.ptr,
                                          .folders = b->config->folders,
                                          .with_key = with_key };
    b->number++;
    b->progress.stop = false;
    b->started_us = clock_wall_us();
    b->running = b->started = true;
    thread_start(&b->thread, "backup", backups_main, b);
    return true;
}

void backups_cancel(struct backups *b, int64_t number)
{
    (void)pthread_mutex_lock(&b->mutex);
    if (b->running && b->number == number)
        b->progress.stop = true;
    (void)pthread_mutex_unlock(&b->mutex);
}

bool backups_start(struct backups *b, struct str folder, bool with_key, int64_t *ret_number,
                   struct err *err)
{
    (void)pthread_mutex_lock(&b->mutex);
    bool ok = upkeep_backups_start(b, folder, with_key, err);

    *ret_number = b->number;
    (void)pthread_mutex_unlock(&b->mutex);
    return ok;
}

void backups_look(struct backups *b, struct arena *a, struct backups_look *ret)
{
    int stage = b->progress.stage;

    (void)pthread_mutex_lock(&b->mutex);
    *ret = (struct backups_look){ .number = b->number,
                                  .running = b->running,
                                  .ok = b->ok,
                                  .stage = (enum backup_stage)stage,
                                  .done = b->progress.done,
                                  .total = b->progress.total,
                                  .started_us = b->started_us,
                                  .ended_us = b->running ? 0 : b->ended_us };
    ret->folder = arena_copy(a, buf_view(&b->folder));
    if (!b->running && b->ok)
        ret->result = b->result;
    if (!b->running && !b->ok && b->number > 0)
        ret->error = arena_copy(a, str_of(b->err.text));
    (void)pthread_mutex_unlock(&b->mutex);
}
