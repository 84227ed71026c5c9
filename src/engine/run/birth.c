#include "engine/run/birth.h"

#include "engine/dispatch/dispatch.h"
#include "engine/road/order_keep.h"
#include "engine/road/state.h"
#include "engine/walk/caging.h"

enum {
    KEPT_SHARE = 4,    /* so many flights kept in lanes weigh as one */
    BUSY_FLIGHTS = 48, /* above this weight of waiting flights the node is busy */
};

bool road_reserve(struct road *r, int64_t size)
{
    if (atomic_load(&r->idle) || atomic_load(&r->backlog) || atomic_load(&r->stopping) ||
        atomic_load(&r->draining) || size > SEGMENT_PAYLOAD_MOST)
        return false;
    if (atomic_fetch_add(&r->flights, 1) >= FLIGHTS_MOST ||
        atomic_load(&r->bytes) + size > r->options.bytes_most) {
        (void)atomic_fetch_sub(&r->flights, 1);
        return false;
    }
    (void)atomic_fetch_add(&r->bytes, size);
    return true;
}

void road_unreserve(struct road *r, int64_t size)
{
    (void)atomic_fetch_sub(&r->flights, 1);
    (void)atomic_fetch_sub(&r->bytes, size);
}

void road_born(struct road *r, const struct accept_op *a, struct buf *body)
{
    struct flight *f = flight_new(r->stock);
    struct err err;

    f->settle.task = a->task;
    f->source = (struct payload_source){
        .id = a->id, .num = a->num, .size = a->size, .sha256 = a->sha256, .place = a->place
    };
    f->received.source = f->source;
    (void)id_text(&a->id, f->id);
    flight_trace(f);
    f->gateway = a->gateway;
    f->received_us = a->received_us;
    f->seq = a->seq;
    f->config = a->config;
    f->name = arena_copy(&f->arena, a->name);
    f->ctype = arena_copy(&f->arena, a->ctype);
    f->head = arena_copy(&f->arena, a->head);
    struct buf room = f->received.buf; /* swapped: the caller reuses the empty buffer */

    f->received.buf = *body;
    f->received.buf.cap = room.cap;
    room.cap = body->cap;
    *body = room;
    f->counted = a->size;
    f->was_born = true;
    f->plan = road_plan_of(r, a->config, &err); /* in force or just replaced: does not block */
    if (f->plan == NULL)
        f->plan = road_plan(r);
    road_queue(r, f);
}

bool road_is_busy(struct road *r)
{
    return atomic_load_explicit(&r->queue.count, memory_order_relaxed) +
               dispatch_waiting_fast(r->dispatch) + caging_waiting_fast(r->caging) +
               keep_count(r->keeping) / KEPT_SHARE >
           BUSY_FLIGHTS;
}
