#include "engine/road/road.h"

#include "base/log.h"
#include "engine/dispatch/govern.h"
#include "engine/plan/plan.h"
#include "engine/road/state.h"
#include "engine/transfer/transfer.h"

/* ---- plans ---- */

struct plan *road_plan(struct road *r)
{
    (void)pthread_rwlock_rdlock(&r->plan_lock);
    struct plan *p = plan_ref(r->plan);

    (void)pthread_rwlock_unlock(&r->plan_lock);
    return p;
}

static struct plan *known_plan(struct road *r, int64_t version)
{
    struct plan *p = NULL;

    (void)pthread_rwlock_rdlock(&r->plan_lock);
    if (r->plan->version == version)
        p = r->plan;
    for (size_t i = 0; i < ROAD_PLANS_MOST && p == NULL; i++)
        if (r->older[i] != NULL && r->older[i]->version == version)
            p = r->older[i];
    if (p != NULL)
        (void)plan_ref(p);
    (void)pthread_rwlock_unlock(&r->plan_lock);
    return p;
}

struct plan *road_plan_of(struct road *r, int64_t version, struct err *err)
{
    struct plan *p = known_plan(r, version), *old;

    if (p != NULL)
        return p;
    p = r->options.plan_of(r->options.arg, version, err);
    if (p == NULL || p->lacks_secret) /* the next one may have it */
        return p;
    (void)pthread_rwlock_wrlock(&r->plan_lock);
    old = r->older[r->older_next];
    r->older[r->older_next] = plan_ref(p);
    r->older_next = (r->older_next + 1) % ROAD_PLANS_MOST;
    (void)pthread_rwlock_unlock(&r->plan_lock);
    plan_unref(old);
    return p;
}

struct plan *road_set_plan(struct road *r, struct plan *plan)
{
    (void)pthread_rwlock_wrlock(&r->plan_lock);
    struct plan *old = r->plan, *oldest = NULL;

    r->plan = plan_ref(plan);
    if (old != NULL && old->version != plan->version && !old->lacks_secret) {
        oldest = r->older[r->older_next]; /* documents in flight refer to the old one */
        r->older[r->older_next] = plan_ref(old);
        r->older_next = (r->older_next + 1) % ROAD_PLANS_MOST;
    }
    (void)pthread_rwlock_unlock(&r->plan_lock);
    plan_unref(oldest);
    atomic_store(&r->idle, plan_is_idle(plan));
    return old;
}

/* ---- for the rest of the engine ---- */

int64_t road_now_us(const struct road *r)
{
    return govern_time(r->options.govern).early_us;
}

struct dispatch *road_dispatch(struct road *r)
{
    return r->dispatch;
}

struct calling *road_calling(struct road *r)
{
    return r->calling;
}

struct flight_stock *road_stock(struct road *r)
{
    return r->stock;
}

bool road_transfer(struct road *r, struct transfer *t)
{
    (void)pthread_mutex_lock(&r->mutex);
    bool open = !r->hub_closed;

    if (open)
        transfer_submit(r->hub, t, t);
    (void)pthread_mutex_unlock(&r->mutex);
    return open;
}

/* ---- to the workers ---- */

/* With the mutex held, so that nobody else writes it: two plain moves suffice. */
static void flights_count(struct flights *f, size_t by)
{
    size_t now = atomic_load_explicit(&f->count, memory_order_relaxed);

    atomic_store_explicit(&f->count, now + by, memory_order_relaxed);
}

void road_queue(struct road *r, struct flight *first)
{
    struct flight *last = first;
    size_t count = 1;

    for (; last->next != NULL; count++)
        last = last->next;
    (void)pthread_mutex_lock(&r->mutex);
    *r->queue.end = first;
    r->queue.end = &last->next;
    flights_count(&r->queue, count);
    bool wake = r->sleeping > 0;

    (void)pthread_mutex_unlock(&r->mutex);
    if (wake)
        (void)pthread_cond_signal(&r->filled);
}

size_t road_take(struct road *r, struct flight **ret, size_t most)
{
    size_t n = 0;

    (void)pthread_mutex_lock(&r->mutex);
    while (r->queue.first == NULL && !r->workers_end) {
        r->sleeping++;
        (void)pthread_cond_wait(&r->filled, &r->mutex);
        r->sleeping--;
    }
    for (; r->queue.first != NULL && n < most; n++) {
        ret[n] = r->queue.first;
        r->queue.first = ret[n]->next;
        ret[n]->next = NULL;
    }
    flights_count(&r->queue, -n);
    if (r->queue.first == NULL)
        r->queue.end = &r->queue.first;
    (void)pthread_mutex_unlock(&r->mutex);
    return n;
}

/* ---- to the claimer ---- */

void road_wake(struct road *r)
{
    (void)pthread_mutex_lock(&r->claimer_mutex);
    r->claimer_asked = true;
    (void)pthread_cond_signal(&r->claimer_wake);
    (void)pthread_mutex_unlock(&r->claimer_mutex);
}

void road_note_due(struct road *r, int64_t due_us)
{
    (void)pthread_mutex_lock(&r->claimer_mutex);
    if (r->next_due_us == 0 || due_us < r->next_due_us) {
        r->next_due_us = due_us;
        r->claimer_asked = true;
        (void)pthread_cond_signal(&r->claimer_wake);
    }
    (void)pthread_mutex_unlock(&r->claimer_mutex);
}

static void put_unsettled(struct flight *f)
{
    struct road *r = f->road;

    (void)pthread_mutex_lock(&r->claimer_mutex);
    f->next = NULL;
    *r->unsettled.end = f;
    r->unsettled.end = &f->next;
    r->unsettled.count++;
    (void)pthread_mutex_unlock(&r->claimer_mutex);
}

void road_unsettled(struct flight *f)
{
    if (f->tries++ == 0)
        log_event(LOG_WARN, "document.unsettled", kv_z("document", f->id),
                  kv_z("why", f->settle.op.err.text),
                  kv_z("hint", "What came of it is kept in memory and written when the store "
                               "can be."));
    put_unsettled(f);
}

void road_settle_again(struct flight *f)
{
    f->unfilled = true;
    put_unsettled(f);
    road_wake(f->road);
}

void road_load_later(struct flight *f)
{
    f->unloaded = true;
    put_unsettled(f);
    road_wake(f->road);
}

void road_set_draining(struct road *r, bool drain)
{
    if (atomic_exchange(&r->draining, drain) && !drain)
        road_note_backlog(r);
}

bool road_is_empty(struct road *r)
{
    return atomic_load(&r->flights) == 0;
}

void road_watch_callers(struct road *r, void (*settled)(void *arg, int64_t num), void *arg)
{
    r->caller_settled = settled;
    r->caller_arg = arg;
}

void road_tell_jobs(struct road *r, void (*due)(void *arg, int64_t queue), void *arg)
{
    if (due != NULL) /* a call that has begun still needs the old one */
        r->jobs_arg = arg;
    atomic_store(&r->jobs_due, due);
    road_wake(r);
}

void road_token_due(struct road *r, int64_t due_us)
{
    road_note_due(r, due_us);
}

struct suspects *road_suspects(struct road *r)
{
    return &r->suspects;
}

void road_note_backlog(struct road *r)
{
    if (!atomic_exchange(&r->backlog, true))
        road_wake(r);
}

void road_gone(struct flight *f)
{
    struct road *r = f->road;

    suspects_forgive(&r->suspects, &f->settle.task);
    (void)atomic_fetch_sub(&r->bytes, f->counted);
    flight_free(f);
    (void)atomic_fetch_sub(&r->flights, 1);
    if (atomic_load(&r->backlog))
        road_wake(r);
}
