#include "engine/road/order_keep.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "engine/road/state.h"
#include "store/payload/payload.h"
#include "store/road/accept.h"

enum {
    KEPT_MOST = 512,
    SLOTS = 1024,
    SLOW_LANES = 1024,
    KEEP_US = 500 * CLOCK_MS,
};

struct keeping {
    struct road *road;
    pthread_mutex_t mutex;
    struct flight *slots[SLOTS]; /* hash table by the number of the delivery, chained by `next` */
    _Atomic size_t count;
    _Atomic int64_t slow[SLOW_LANES]; /* lanes of which a flight was dropped, by hash */
};

struct keeping *keep_new(struct road *r)
{
    struct keeping *k = NEW(struct keeping);

    k->road = r;
    (void)pthread_mutex_init(&k->mutex, NULL);
    return k;
}

void keep_free(struct keeping *k)
{
    if (k == NULL)
        return;
    keep_sweep(k->road, true);
    free(k);
}

size_t keep_count(const struct keeping *k)
{
    return atomic_load_explicit(&k->count, memory_order_relaxed);
}

static size_t order_keep_slot_of(int64_t delivery)
{
    return (size_t)((uint64_t)delivery * UINT64_C(0x9e3779b97f4a7c15) >> 32) % SLOTS;
}

static _Atomic int64_t *slow_of(struct keeping *k, int64_t lane)
{
    return &k->slow[(uint64_t)lane / 2 % SLOW_LANES];
}

void keep_note_moved(struct keeping *k, int64_t lane)
{
    if (atomic_load_explicit(slow_of(k, lane), memory_order_relaxed) == lane)
        atomic_store(slow_of(k, lane), 0);
}

/* Only flights that send the received bytes are kept: bytes that a step made get their place in the
 * store with the commit, and such a delivery is loaded from there. */
bool keep_wants(struct flight *f)
{
    struct keeping *k = f->road->keeping;
    int64_t lane = f->leg_count == 1 ? f->legs[0]->row.lane : 0;

    return lane != 0 && f->settle.task.kind == TASK_RUN && f->legs[0]->variant == &f->received &&
           f->source.size <= SEGMENT_PAYLOAD_MOST && keep_count(k) < KEPT_MOST &&
           !atomic_load(&f->road->stopping) &&
           atomic_load_explicit(slow_of(k, lane), memory_order_relaxed) != lane;
}

/* Bring the flight into the state in which load_deliveries() would have loaded it. */
static void carry_on(struct flight *f, const struct task *t)
{
    struct leg *p = f->legs[0];
    const struct settle_op *was = &f->settle;
    const struct plan_system *system;

    plan_unref(f->plan);
    plan_unref(p->plan);
    p->plan = NULL;
    f->plan = road_plan(f->road);
    system = plan_system_find(f->plan, p->row.system);
    p->in_doubt = system != NULL ? system->in_doubt : DOUBT_HOLD;
    f->settle = (struct settle_op){ .task = *t,
                                    .sender = was->sender,
                                    .receiver = was->receiver,
                                    .type = was->type,
                                    .route = was->route,
                                    .end = SETTLE_DELIVERIES };
    f->answers = NULL; /* of its steps: the first settlement has what came of them */
    f->was_born = false;
    f->began_us = clock_mono_us();
    f->next = NULL;
    road_queue(f->road, f);
}

/* The settlement has made the leg a row. */
static void make_stored(struct flight *f)
{
    struct leg *p = f->legs[0];

    p->row.num = f->settle.parts[0].num;
    p->row.queue = f->settle.parts[0].queue;
    p->held_why = 0;
    buf_clear(&f->timeline);
    buf_clear(&f->stages);
    f->tries = 0;
    f->began_us = clock_mono_us();
}

bool keep_put(struct flight *f)
{
    struct keeping *k = f->road->keeping;

    if (!f->settle.ours || f->settle.over || atomic_load(&f->road->stopping))
        return false; /* when the node stops, a claim that came with it ends with the process */
    make_stored(f);
    if (f->settle.went.id != 0) {
        struct task went = f->settle.went;

        carry_on(f, &went);
        return true;
    }
    (void)pthread_mutex_lock(&k->mutex);
    bool keep = !atomic_load(&f->road->stopping);
    struct flight **slot = &k->slots[order_keep_slot_of(f->legs[0]->row.num)];

    if (keep) {
        f->next = *slot;
        *slot = f;
        k->count++;
    }
    (void)pthread_mutex_unlock(&k->mutex);
    return keep;
}

static struct flight **order_keep_find(struct keeping *k, int64_t delivery)
{
    struct flight **at = &k->slots[order_keep_slot_of(delivery)];

    while (*at != NULL && (*at)->legs[0]->row.num != delivery)
        at = &(*at)->next;
    return at;
}

static struct flight *order_keep_take(struct keeping *k, struct flight **at)
{
    struct flight *f = *at;

    if (f != NULL) {
        *at = f->next;
        k->count--;
    }
    return f;
}

bool keep_has(struct keeping *k, int64_t delivery)
{
    if (keep_count(k) == 0)
        return false;
    (void)pthread_mutex_lock(&k->mutex);
    bool has = *order_keep_find(k, delivery) != NULL;

    (void)pthread_mutex_unlock(&k->mutex);
    return has;
}

bool keep_go(struct road *r, const struct task *t)
{
    struct keeping *k = r->keeping;

    if (keep_count(k) == 0)
        return false;
    (void)pthread_mutex_lock(&k->mutex);
    struct flight *f = order_keep_take(k, order_keep_find(k, t->id));

    (void)pthread_mutex_unlock(&k->mutex);
    if (f != NULL)
        carry_on(f, t);
    return f != NULL;
}

void keep_sweep(struct road *r, bool all)
{
    struct keeping *k = r->keeping;
    int64_t now = clock_mono_us();
    struct flight *old = NULL;

    if (keep_count(k) == 0)
        return;
    (void)pthread_mutex_lock(&k->mutex);
    for (size_t i = 0; i < SLOTS; i++)
        for (struct flight **at = &k->slots[i]; *at != NULL;) {
            if (!all && now - (*at)->began_us < KEEP_US) {
                at = &(*at)->next;
                continue;
            }
            struct flight *f = order_keep_take(k, at);

            f->next = old;
            old = f;
        }
    (void)pthread_mutex_unlock(&k->mutex);
    for (struct flight *f = old, *next; f != NULL; f = next) {
        next = f->next;
        atomic_store(slow_of(k, f->legs[0]->row.lane), f->legs[0]->row.lane);
        road_gone(f);
    }
}
