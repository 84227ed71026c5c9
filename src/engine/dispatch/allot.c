/* allot.c - how many slots of a system this node may fill.
 *
 * The problem.  The concurrency of a system holds for all nodes together, but a commit per delivery
 * would be far slower than the deliveries, and a node that is alone should not notice.
 *
 * The method.  A node holds slots (store/govern/allot.h) and fills them from memory.  It asks when
 * it has more to send than it may, and gets all that are free.  It keeps what it got.  Once a
 * second it reads what all nodes hold: if another node wants more, it gives back what it does not
 * use, or, when it is busy itself, what is above its equal part.  It wants slots only for queues
 * that it may send from: not for those of endpoints that run elsewhere or are held.  A node without
 * slots parks its deliveries in the store, where the others claim them, if they may send to their
 * endpoints.
 *
 * Slots go round.  An equal part is rounded up, so that all slots are used, unless another node has
 * none: then it is rounded down.  If there are fewer slots than nodes that want some, a node has
 * its turn of TURN_LOOKS looks and gives its slot back; the store gives it to the node that has
 * waited longest.  So a node waits for at most a turn, a send and a few looks of each other one.
 *
 * Invariants, under the dispatcher's lock
 *   (1) active <= held and limit <= held, and the committed row has at least `held`: a lower limit
 *       takes effect before the operation, a higher one after its commit.
 *   (2) At most one operation of a system is under way (`asking`).
 *
 * Failure.  An operation that fails, or whose outcome is unknown, changes nothing here: the row
 * then has at least what this node may fill.  It is repeated by the next look; after an unknown
 * outcome always (`unsure`), because the row may have slots that nobody uses.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "engine/dispatch/dispatch_queues.h"
#include "store/govern/allot.h"

enum { ALLOT_AGAIN_US = 250 * CLOCK_MS, TURN_LOOKS = 5 };

struct allotment {
    struct allot_op op;
    struct dispatch *dispatch;
    struct system_live *system;
    int64_t held;      /* what the row has */
    int64_t part;      /* not more than this, because others want some; 0: all that are free */
    int64_t asked_us;  /* monotonic; 0: never */
    int looks;         /* since it has slots ... */
    bool over;         /* ... which were its turn: no more is asked for until they are given back */
    int64_t delivered; /* by the system, at the last look ... */
    bool idle;         /* ... which saw no leg with a slot */
    bool asking;
    bool wants;  /* as the row has it */
    bool unsure; /* the row may differ from what stands here */
};

struct allotment *allotment_new(struct dispatch *d, struct system_live *s)
{
    if (d->calls.allot == NULL)
        return NULL;
    struct allotment *a = NEW(struct allotment);

    a->dispatch = d;
    a->system = s;
    return a;
}

bool allotment_is_due(const struct system_live *s)
{
    return s->allotment != NULL && s->allotment->asking;
}

/* On a writer's thread. */
static void on_allotted(struct store_op *op)
{
    struct allotment *a = container_of(op, struct allotment, op.op);
    struct dispatch *d = a->dispatch;
    struct system_live *s = a->system;
    bool more = false;

    (void)pthread_mutex_lock(&d->mutex);
    a->asking = false;
    a->unsure = op->ok ? false : a->unsure || op->err.kind == ERR_UNCERTAIN;
    if (op->ok) {
        a->looks = a->held > 0 ? a->looks : 0;
        a->held = a->op.granted;
        a->wants = a->op.wants && a->op.granted < a->op.most;
        int64_t limit = a->op.upto < a->held ? a->op.upto : a->held;

        more = limit > s->limit;
        if (more)
            s->limit = limit < s->most ? limit : s->most;
    }
    (void)pthread_mutex_unlock(&d->mutex);
    if (more)
        d->calls.hungry(d->calls.arg); /* the claimer begins what waits */
}

static int64_t upto_of(const struct allotment *a)
{
    return a->part > 0 && a->part < a->system->most ? a->part : a->system->most;
}

static void allot_ask(struct allotment *a, bool wants, int64_t upto)
{
    const struct system_live *s = a->system;

    a->op = (struct allot_op){ .op = { .verb = &allot_verb, .done = on_allotted },
                               .system = s->word,
                               .most = s->most,
                               .keep = s->active > s->limit ? s->active : s->limit,
                               .upto = upto,
                               .wants = wants };
    a->asking = true;
    a->asked_us = clock_mono_us();
    a->dispatch->calls.allot(a->dispatch->calls.arg, &a->op);
}

void allotment_want(struct system_live *s)
{
    struct allotment *a = s->allotment;

    if (a == NULL || a->asking || a->over || s->limit >= upto_of(a) ||
        (a->asked_us != 0 && clock_mono_us() - a->asked_us < ALLOT_AGAIN_US))
        return;
    allot_ask(a, true, upto_of(a));
}

/* ---- once a second ---- */

static bool has_more(struct dispatch *d, const struct system_live *s)
{
    int64_t now = clock_wall_us();
    bool more = s->waiting > 0;

    for (const struct send_queue *l = s->queues; l != NULL && !more; l = l->next_of_system)
        more = l->stored && dispatch_may_send(d, l, now);
    return more;
}

/* Whether nothing was sent since the last look.  One look alone may fall between two sends. */
static bool sends_nothing(struct allotment *a)
{
    const struct system_live *s = a->system;
    bool was_idle = a->idle && a->delivered == s->delivered;

    a->idle = s->active == 0;
    a->delivered = s->delivered;
    return a->idle && was_idle;
}

/* The equal part of each node that wants slots, at least 1; 0: no other node wants any. */
static int64_t equal_part(int64_t most, const struct allotted *all)
{
    int64_t nodes = all->wanting + 1, part = most / nodes;

    if (all->wanting == 0)
        return 0;
    if (all->waiting == 0 && most % nodes != 0)
        part++;
    return part > 0 ? part : 1;
}

/* There are fewer slots than nodes that want some, and this one has had its turn. */
static bool turn_is_over(const struct allotment *a, const struct allotted *all)
{
    return all->waiting > 0 && a->system->most <= all->wanting && a->held > 0 &&
           a->looks > TURN_LOOKS;
}

/* A node that has much to send and sends nothing cannot: what it holds is of use to the others.  It
 * gives all of it back, and asks again at a later look, when the others had their turn. */
static void look_at(struct dispatch *d, struct system_live *s, const struct allotted *all)
{
    struct allotment *a = s->allotment;

    if (a == NULL || a->asking)
        return;
    bool more = has_more(d, s);

    a->over = turn_is_over(a, all);
    bool leaves = (sends_nothing(a) && all->wanting > 0 && a->held > 0) || a->over;

    a->looks++;
    a->part = equal_part(s->most, all);
    int64_t part = more && s->active > 0 ? upto_of(a) : s->active;

    if (a->over)
        s->limit = 0;
    else if (all->wanting > 0 && s->limit > part)
        s->limit = part;
    bool wants = more && s->limit < s->most;
    int64_t used = s->active > s->limit ? s->active : s->limit;

    if (a->unsure || a->held > used || wants != a->wants ||
        (wants && all->total < s->most && s->limit < upto_of(a)))
        allot_ask(a, wants, wants && !leaves ? upto_of(a) : 0);
}

static int allot_by_word(const void *word, const void *of)
{
    int64_t x = *(const int64_t *)word, y = ((const struct allotted *)of)->system;

    return (x > y) - (x < y);
}

void dispatch_allot(struct dispatch *d, const struct allotted *all, size_t count)
{
    static const struct allotted none = { 0 };

    (void)pthread_mutex_lock(&d->mutex);
    for (struct system_live *s = d->systems; s != NULL; s = s->next) {
        const struct allotted *of =
            count > 0 ? bsearch(&s->word, all, count, sizeof *all, allot_by_word) : NULL;

        look_at(d, s, of != NULL ? of : &none);
    }
    (void)pthread_mutex_unlock(&d->mutex);
}
