#include "engine/road/redrive.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/log.h"
#include "engine/road/state.h"
#include "store/manual/dead.h"
#include "store/road/retain_days.h"
#include "store/store.h"

enum { REST_US = 50 * CLOCK_MS };

struct redrive {
    struct pool_job job;
    struct road *road;
    struct plan *plan; /* a reference */
};

static bool system_is_known(const struct plan *p, struct str *name)
{
    if (name->ptr == NULL)
        return true;
    *name = router_system(p->router, *name);
    return name->ptr != NULL;
}

static bool has_answer(void *arg, const struct dead_letter *letter)
{
    const struct plan *p = arg;
    struct facts x = letter->facts;
    size_t at;

    if (!system_is_known(p, &x.sender) || !system_is_known(p, &x.receiver))
        return false;
    x.sender_unknown = x.receiver_unknown = false;
    if (x.type.ptr != NULL && p->config->type_count > 0 && !router_type_known(p->router, x.type))
        return false;
    x.type_unknown = false;
    return router_find(p->router, &x, &at) != NULL;
}

static bool redrive_is_over(const struct redrive *d)
{
    struct plan *now = road_plan(d->road);
    bool over = atomic_load(&d->road->stopping) || now->version != d->plan->version;

    plan_unref(now);
    return over; /* a newer version has a re-drive of its own */
}

static void redrive_code(struct redrive *d, struct str code)
{
    struct dead_redrive page = { 0 };
    char who[60];
    int64_t moved = 0;
    struct err err = { 0 };

    (void)snprintf(who, sizeof who, "configuration version %lld", (long long)d->plan->version);
    struct operate_order order = { .who = str_of(who),
                                   .from = RETRY_ROUTE,
                                   .bulk = true,
                                   .config = d->plan->version,
                                   .keep_days = RETAIN_BY_RULE };

    do {
        if (page.looked > 0)
            clock_sleep_us(REST_US);
        if (redrive_is_over(d))
            return;
        if (!dead_redrive(d->road->store, code, page.next, &order, has_answer, d->plan, &page,
                          &err)) {
            log_event(LOG_WARN, "dead.redrive", kv_str("code", code), kv_z("why", err.text));
            return;
        }
        moved += page.moved;
        if (page.moved > 0)
            road_note_backlog(d->road);
    } while (page.next != 0);
    if (moved > 0)
        log_event(LOG_INFO, "dead.redriven", kv_str("code", code), kv_int("count", moved),
                  kv_int("version", d->plan->version));
}

static void run(struct pool_job *job)
{
    struct redrive *d = container_of(job, struct redrive, job);

    redrive_code(d, str_of(dead_codes[DEAD_NO_ROUTE]));
    redrive_code(d, str_of(dead_codes[DEAD_UNKNOWN_SYSTEM]));
    plan_unref(d->plan);
    free(d);
}

void redrive_start(struct road *r, struct plan *plan)
{
    struct redrive *d = NEW(struct redrive);

    *d = (struct redrive){ .job = { .run = run }, .road = r, .plan = plan_ref(plan) };
    pool_submit(r->pool, &d->job);
}

void redrive_newest(struct road *r)
{
    struct plan *p = road_plan(r);

    if (!plan_is_idle(p))
        redrive_start(r, p);
    plan_unref(p);
}

void redrive_note_dead(struct flight *f)
{
    struct plan *p = road_plan(f->road);

    if ((f->dead == DEAD_NO_ROUTE || f->dead == DEAD_UNKNOWN_SYSTEM) &&
        p->version != f->plan->version)
        atomic_store(&f->road->redrive_asked, true);
    plan_unref(p);
}
