#include "engine/run/slow.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/log.h"
#include "engine/dispatch/dispatch.h"
#include "engine/road/naming.h"
#include "engine/road/state.h"
#include "store/road/aloft.h"
#include "store/store.h"

enum {
    SLOW_US = 1 * CLOCK_S,
    SLOW_LOOK_US = 500 * CLOCK_MS,
    NOTES_MOST = 512, /* of one look; the others follow at the next */
    NOTE_BYTES_MOST = FACTS_BYTES_MOST + (64 << 10)
};

/* Its memory is its own: the flight may end before the note is written. */
struct note {
    struct aloft_op aloft;
    struct arena arena;
    struct road *road;
};

struct look {
    bool again; /* notes were lost: note everything once more */
    struct store_op *first, *last;
    size_t count;
};

/* On a writer's thread. */
static void on_noted(struct store_op *op)
{
    struct note *n = container_of(op, struct note, aloft.op);

    (void)atomic_fetch_sub(&n->road->notes_open, 1);
    if (!op->ok && !atomic_exchange(&n->road->notes_lost, true))
        log_event(LOG_WARN, "flights.unseen", kv_z("why", op->err.text),
                  kv_z("hint", "Documents that are being sent are not shown so; this is repeated "
                               "until the store can be written."));
    arena_done(&n->arena);
    free(n);
}

static struct note *note_of(const struct flight *f)
{
    struct note *n = NEW(struct note);

    n->arena = (struct arena)ARENA_INIT(NOTE_BYTES_MOST);
    n->road = f->road;
    n->aloft = (struct aloft_op){ .op = { .verb = &aloft_verb, .done = on_noted },
                                  .flight = { .task = f->settle.task, .doc = f->source.num } };
    return n;
}

static void slow_add(struct look *k, struct note *n)
{
    n->aloft.op.next = k->first;
    k->first = &n->aloft.op;
    if (k->last == NULL)
        k->last = k->first;
    k->count++;
}

/* With the place locked.  A walk has no deliveries yet.  A member that came out of a batch keeps
 * the batch as its route: a repeated run finds it by that. */
static void see_walking(void *arg, struct walking_place *p)
{
    struct look *k = arg;
    const struct flight *f = p->flight;

    if (k->count == NOTES_MOST || (p->noted && !k->again))
        return;
    struct note *n = note_of(f);

    naming_fill(f->road, &p->facts, f->batch != NULL ? &f->batch->chain : NULL, &n->arena,
                &n->aloft.flight);
    p->noted = true;
    slow_add(k, n);
}

/* With the dispatcher's lock held. */
static void see_slow(void *arg, struct leg *p, bool sending)
{
    enum leg_noted now = sending ? LEG_NOTED_SENDING : LEG_NOTED_WAITING;
    struct look *k = arg;
    struct flight *f = p->flight;

    if (k->count == NOTES_MOST || (p->noted == now && !k->again))
        return;
    struct note *n = note_of(f);

    n->aloft.id = arena_copy(&n->arena, p->row.id);
    n->aloft.endpoint = p->row.endpoint;
    n->aloft.system = p->row.system;
    n->aloft.sending = sending;
    if (f->settle.task.kind != TASK_DELIVER && (!f->noted || k->again))
        naming_fill(f->road, &f->facts, f->route, &n->arena, &n->aloft.flight);
    p->noted = now;
    f->noted = true;
    slow_add(k, n);
}

void slow_note(struct road *r)
{
    int64_t now = clock_mono_us();
    struct look k = { 0 };

    if (now - r->slow_looked_us < SLOW_LOOK_US || atomic_load(&r->notes_open) > 0)
        return;
    r->slow_looked_us = now;
    k.again = atomic_exchange(&r->notes_lost, false);
    walking_each_old(r, now - SLOW_US, see_walking, &k);
    dispatch_each_old(r->dispatch, now - SLOW_US, see_slow, &k);
    (void)atomic_fetch_add(&r->notes_open, (int64_t)k.count);
    if (k.count > 0)
        writers_submit_always(store_writers(r->store), k.first, k.last, k.count);
}
