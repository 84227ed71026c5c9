#include "engine/upkeep/archiver.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/fault.h"
#include "base/wait.h"
#include "engine/plan/folders.h"
#include "engine/plan/plan.h"
#include "engine/threads/crew.h"
#include "store/retention/archive.h"
#include "store/store.h"

enum {
    WAIT_US = 10 * CLOCK_S,   /* for a copy, before other work goes on */
    SILENT_US = 60 * CLOCK_S, /* a folder that is silent for longer has failed */
    STOP_US = CLOCK_S,        /* for a copy under way when the node stops */
};

/* One copy.  It belongs to its thread when it was given up. */
struct archiving {
    struct crew_call call;
    struct archiver *archiver;
    struct store *store;
    struct config *config; /* a reference: the one that names the folder */
    char *folder;
    int64_t day;
    struct archive_made made;
    struct err err;
    bool ok, done; /* done: under the archiver's mutex */
};

struct archiver {
    struct store *store;
    struct crew *crew; /* of one thread */
    _Atomic bool stopping;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct archiving *under_way; /* or done, and its result was not taken; NULL: none */
};

static void archiving_free(struct archiving *g)
{
    config_unref(g->config);
    free(g->folder);
    free(g);
}

/* ---- on the thread of the crew ---- */

static void archiving_run(struct crew_call *call)
{
    struct archiving *g = container_of(call, struct archiving, call);

    g->ok = folders_ask_archive(g->config, g->folder, &g->err) &&
            archive_day(g->store, str_of(g->folder), g->day, &call->call, &g->made, &g->err);
}

static void archiving_done(struct crew_call *call)
{
    struct archiving *g = container_of(call, struct archiving, call);
    struct archiver *a = g->archiver;

    (void)pthread_mutex_lock(&a->mutex);
    g->done = true;
    (void)pthread_cond_broadcast(&a->changed);
    (void)pthread_mutex_unlock(&a->mutex);
}

/* Only when the node stops: the crew's patience is endless. */
static void archiving_lost(struct crew_call *call, bool committed)
{
    struct archiving *g = container_of(call, struct archiving, call);
    struct archiver *a = g->archiver;

    (void)committed;
    (void)pthread_mutex_lock(&a->mutex);
    a->under_way = NULL;
    (void)pthread_mutex_unlock(&a->mutex);
}

static void archiving_back(struct crew_call *call)
{
    archiving_free(container_of(call, struct archiving, call));
}

/* ---- the purger's side, with the mutex held ---- */

static int64_t silent_most_us(void)
{
    const char *ms = fault_switch("WAYBILL_TEST_ARCHIVE_SILENT_MS");
    int64_t n;

    return ms != NULL && str_to_i64(str_of(ms), &n) ? n * CLOCK_MS : SILENT_US;
}

static struct archiving *archiving_start(struct archiver *a, const struct plan *plan, int64_t day)
{
    struct archiving *g = NEW(struct archiving);

    *g = (struct archiving){ .call = { .call = { .stop = &a->stopping },
                                       .patience_us = INT64_MAX / 4,
                                       .run = archiving_run,
                                       .done = archiving_done,
                                       .lost = archiving_lost,
                                       .back = archiving_back },
                             .archiver = a,
                             .store = a->store,
                             .config = config_ref(plan->config),
                             .folder = xstrndup(plan->retention.archive),
                             .day = day };
    call_alive(&g->call.call);
    crew_submit(a->crew, &g->call);
    return g;
}

/* Drops the result of another day: the store has it. */
static void drop_other(struct archiver *a, struct str folder, int64_t day)
{
    struct archiving *g = a->under_way;

    if (g != NULL && g->done && (g->day != day || !str_is(folder, g->folder))) {
        archiving_free(g);
        a->under_way = NULL;
    }
}

/* The time at which the wait ends: the copy of another day is not waited for. */
static int64_t wait_end_us(struct archiver *a, const struct archiving *g, int64_t day,
                           int64_t began_us)
{
    int64_t silent_us = atomic_load(&g->call.call.alive_us) + silent_most_us();

    if (g->day != day || atomic_load(&a->stopping))
        return 0;
    return silent_us < began_us + WAIT_US ? silent_us : began_us + WAIT_US;
}

static bool is_silent(const struct archiving *g, struct err *err)
{
    int64_t silent_us = clock_mono_us() - atomic_load(&g->call.call.alive_us);

    if (silent_us < silent_most_us())
        return false;
    (void)err_set(err, ERR_TRANSIENT, 0, "the folder %.100s has not answered for %lld s", g->folder,
                  (long long)(silent_us / CLOCK_S));
    return true;
}

static bool take_result(struct archiver *a, struct archive_made *ret, struct err *err)
{
    struct archiving *g = a->under_way;
    bool ok = g->ok;

    a->under_way = NULL;
    *ret = g->made;
    *err = g->err;
    archiving_free(g);
    return ok;
}

/* ---- life ---- */

bool archiver_copy(struct archiver *a, const struct plan *plan, int64_t day,
                   struct archive_made *ret, struct err *err)
{
    struct str folder = plan->retention.archive;
    int64_t began_us = clock_mono_us();
    bool ok = true;

    *ret = (struct archive_made){ .busy = true };
    (void)pthread_mutex_lock(&a->mutex);
    drop_other(a, folder, day);
    if (a->under_way == NULL && !atomic_load(&a->stopping))
        a->under_way = archiving_start(a, plan, day);
    for (const struct archiving *g; (g = a->under_way) != NULL && !g->done;) {
        int64_t end_us = wait_end_us(a, g, day, began_us);

        if (end_us <= clock_mono_us())
            break;
        (void)wait_until(&a->changed, &a->mutex, end_us);
    }
    if (a->under_way != NULL && a->under_way->done && a->under_way->day == day)
        ok = take_result(a, ret, err);
    else if (a->under_way != NULL && !a->under_way->done)
        ok = !is_silent(a->under_way, err);
    (void)pthread_mutex_unlock(&a->mutex);
    return ok;
}

struct archiver *archiver_new(struct store *s)
{
    struct archiver *a = NEW(struct archiver);

    a->store = s;
    a->crew = crew_new("archiver", 1, 0);
    (void)pthread_mutex_init(&a->mutex, NULL);
    (void)pthread_cond_init(&a->changed, NULL);
    return a;
}

void archiver_rest(struct archiver *a)
{
    atomic_store(&a->stopping, true);
    crew_hurry(a->crew, STOP_US);
    (void)pthread_mutex_lock(&a->mutex);
    (void)pthread_cond_broadcast(&a->changed);
    (void)pthread_mutex_unlock(&a->mutex);
}

size_t archiver_free(struct archiver *a)
{
    size_t lost = crew_free(a->crew);

    if (lost > 0) /* its thread may wake up before the process ends */
        return lost;
    if (a->under_way != NULL)
        archiving_free(a->under_way);
    (void)pthread_mutex_destroy(&a->mutex);
    (void)pthread_cond_destroy(&a->changed);
    free(a);
    return 0;
}
