#include "engine/walk/born.h"

#include "base/clock.h"
#include "engine/road/state.h"
#include "store/search/document.h"

enum { LOOK_US = CLOCK_MS / 2 };

static bool born_may_be_claimed(struct road *r)
{
    return !atomic_load(&r->idle) && !atomic_load(&r->stopping) && !atomic_load(&r->draining);
}

static int64_t born_bytes_most(const struct road *r)
{
    return r->options.bytes_most < BORN_BYTES_MOST ? r->options.bytes_most : BORN_BYTES_MOST;
}

/* While there is a backlog, parts queue behind it. */
bool born_has_room(struct road *r, size_t count, size_t bytes)
{
    return born_may_be_claimed(r) && !atomic_load(&r->backlog) &&
           atomic_load(&r->flights) + (int64_t)count <= BORN_FLIGHTS_MOST &&
           atomic_load(&r->bytes) + (int64_t)bytes <= born_bytes_most(r);
}

bool born_wait_for_room(struct road *r, size_t count, size_t bytes, int64_t most_us)
{
    int64_t until = clock_mono_us() + most_us;
    bool room;

    while (!(room = born_has_room(r, count, bytes)) && born_may_be_claimed(r) &&
           clock_mono_us() < until)
        clock_sleep_us(LOOK_US);
    return room;
}

static bool born_take_room(struct road *r, int64_t size)
{
    if (atomic_fetch_add(&r->flights, 1) >= BORN_FLIGHTS_MOST ||
        atomic_load(&r->bytes) + size > born_bytes_most(r)) {
        (void)atomic_fetch_sub(&r->flights, 1);
        return false;
    }
    (void)atomic_fetch_add(&r->bytes, size);
    return true;
}

static void born_leave_room(struct road *r, int64_t size)
{
    (void)atomic_fetch_sub(&r->flights, 1);
    (void)atomic_fetch_sub(&r->bytes, size);
}

/* They begin with the plan of their parent.  If there is no room for one there is none for those
 * behind it: they begin in their order. */
void born_reserve(struct flight *parent, struct offspring_part *parts, size_t count)
{
    bool room = born_has_room(parent->road, 1, 0) && parent->plan->version == parent->config;

    for (size_t i = 0; i < count; i++) {
        struct offspring_part *p = &parts[i];
        bool small = !p->is_uploaded && p->kind != LINK_ANSWER;

        room = room && (!small || born_take_room(parent->road, p->size));
        p->claim_wanted = room && small;
    }
}

static struct flight *born_flight(const struct flight *parent, const struct offspring_op *o,
                                  const struct offspring_part *p)
{
    struct flight *f = flight_new(parent->road->stock);
    const struct document d = { .source = { .id = p->id,
                                            .num = p->num,
                                            .size = p->size,
                                            .sha256 = p->sha256,
                                            .place = p->place },
                                .gateway = parent->gateway,
                                .config = o->config,
                                .received_us = o->received_us,
                                .sender = p->sender,
                                .receiver = p->receiver,
                                .type = p->type,
                                .seq = p->seq,
                                .child = p->child,
                                .name = arena_copy(&f->arena, p->name),
                                .ctype = arena_copy(&f->arena, p->ctype),
                                .head = arena_copy(&f->arena, parent->head),
                                .facts = arena_copy(&f->arena, p->facts),
                                .timeline = arena_copy(&f->arena, p->timeline) };

    f->settle.task = p->task;
    f->plan = plan_ref(parent->plan);
    flight_fill(f, &d);
    flight_begin_run(f, &d);
    buf_put(&f->received.buf, p->bytes);
    f->counted = p->size;
    f->was_born = true;
    return f;
}

void born_begin(struct flight *parent, const struct offspring_op *o)
{
    struct road *r = parent->road;
    bool made = o->op.ok && o->result == OFFSPRING_MADE;
    struct flight *first = NULL, **end = &first;
    size_t count = 0;

    for (size_t i = 0; i < o->count; i++) {
        struct offspring_part *p = &o->parts[i];
        bool claimed = made && p->claim_wanted && p->claimed;

        if (claimed) {
            *end = born_flight(parent, o, p);
            end = &(*end)->next;
            count++;
        } else if (p->claim_wanted) {
            born_leave_room(r, p->size);
        }
        p->claim_wanted = false;
    }
    if (first != NULL)
        road_queue(r, first);
    if (count < o->count)
        road_note_backlog(r);
}
