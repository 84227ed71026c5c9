/* claims.c - claims in memory.
 *
 * The problem.  A claim keeps two workers from one task.  PostgreSQL keeps claims as rows
 * (task_lease), which costs a delete and an insert per task.  A SQLite store belongs to one
 * process, and the end of the process ends all its claims; so there a claim need not be durable,
 * and nothing is written for it.
 *
 * The method.  The claimed row stays in task_ready.  A hash table of marks (id, claim) says which
 * rows are claimed; settling matches the mark and deletes the row.  Claimed rows therefore stand
 * before the free ones of a queue, up to CLAIMS_MOST of them, and a claim that read the queue from
 * its start would read all of them each time.  So each queue has a cursor: claim_in_memory()
 * (task.c) reads on from claims_cursor(), marks what it takes, and stores with claims_read_to()
 * how far it came.
 *
 * Invariants
 *   (1) A free row stands behind the cursor of its queue, or claims_put_at() is about to be called
 *       for it.  A free row before the cursor would not be claimed until the next start.
 *   (2) Marks fill at most half of their table, cursors at most half of theirs: probing ends.
 *   (3) Only the writer's thread takes claims.  So when claims_full() was false, claims_take()
 *       refuses only a task that is claimed already.
 *   (4) A token is never given twice: it counts up from the epoch of the process, shifted by 32
 *       bits.
 *
 * Races.  Rows appear before the cursor: a task is woken, retried or given back.  Some of these
 * run claims_put_at() on the caller's thread, after the commit.  Until then the row is not found;
 * then the cursor moves back to just before it.  If this happens while a claim is reading, the
 * claim may have passed the place already, and claims_read_to() would move the cursor forward
 * over the row.  Therefore `put` collects the lowest place since claims_cursor(), and
 * claims_read_to() goes no further.  A task may also become ready again while its old mark still
 * stands (task_fail() with a time that has passed, woken before claims_drop()): a claim skips it,
 * the cursor passes it, and the claims_put_at() that follows claims_drop() moves the cursor back.
 * A superfluous claims_put_at(), for a row that is gone or that a rollback removed, costs only
 * reading.
 *
 * Crashes.  Marks and cursors are gone.  The next process starts without marks and with cursors at
 * the start of each queue: every row of task_ready is claimable.
 */
#include "store/road/claims.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"

enum { SLOTS = CLAIMS_MOST * 2, QUEUE_SLOTS = CLAIM_QUEUES * 2 };

struct mark {
    int64_t id, claim;       /* claim 0: empty */
    int64_t queue, until_us; /* until_us: its deadline; monotonic */
    int64_t lasts_us;        /* of a job */
};

struct cursor {
    int64_t queue;
    bool used;
    struct claim_place place;
    struct claim_place put; /* the lowest place put since claims_cursor() */
};

struct claims {
    pthread_mutex_t mutex;
    int64_t last; /* the last token */
    size_t count, queues;
    struct mark marks[SLOTS];
    struct cursor cursors[QUEUE_SLOTS];
};

static const struct claim_place start = { .prio = INT64_MIN };
static const struct claim_place nowhere = { INT64_MAX, INT64_MAX, INT64_MAX };

struct claims *claims_new(int64_t epoch)
{
    struct claims *c = NEW(struct claims);

    (void)pthread_mutex_init(&c->mutex, NULL);
    c->last = epoch << 32; /* (4) */
    return c;
}

void claims_free(struct claims *c)
{
    free(c);
}

static size_t claims_home(int64_t id, size_t slots)
{
    return (size_t)((uint64_t)id * UINT64_C(0x9e3779b97f4a7c15) >> 40) % slots;
}

static struct mark *claims_find(struct claims *c, int64_t id)
{
    size_t i = claims_home(id, SLOTS);

    while (c->marks[i].claim != 0 && c->marks[i].id != id)
        i = (i + 1) % SLOTS;
    return &c->marks[i];
}

bool claims_take(struct claims *c, struct task *t, int64_t lease_us)
{
    int64_t until_us = clock_mono_us() + lease_us;

    (void)pthread_mutex_lock(&c->mutex);
    struct mark *m = claims_find(c, t->id);
    bool ok = m->claim == 0 && c->count < CLAIMS_MOST;

    if (ok) {
        *m = (struct mark){
            .id = t->id, .claim = ++c->last, .queue = t->queue, .until_us = until_us
        };
        t->claim = m->claim;
        c->count++;
    }
    (void)pthread_mutex_unlock(&c->mutex);
    return ok;
}

bool claims_full(struct claims *c)
{
    (void)pthread_mutex_lock(&c->mutex);
    bool full = c->count == CLAIMS_MOST;

    (void)pthread_mutex_unlock(&c->mutex);
    return full;
}

bool claims_taken(struct claims *c, int64_t id)
{
    (void)pthread_mutex_lock(&c->mutex);
    bool taken = claims_find(c, id)->claim != 0;

    (void)pthread_mutex_unlock(&c->mutex);
    return taken;
}

bool claims_have(struct claims *c, const struct task *t)
{
    (void)pthread_mutex_lock(&c->mutex);
    bool have = t->claim != 0 && claims_find(c, t->id)->claim == t->claim;

    (void)pthread_mutex_unlock(&c->mutex);
    return have;
}

/* Open addressing without tombstones: entries behind the hole move up if their probe passes it. */
static void close_hole(struct claims *c, size_t hole)
{
    for (size_t i = (hole + 1) % SLOTS; c->marks[i].claim != 0; i = (i + 1) % SLOTS) {
        size_t h = claims_home(c->marks[i].id, SLOTS);
        bool stays = hole <= i ? (hole < h && h <= i) : (hole < h || h <= i);

        if (!stays) {
            c->marks[hole] = c->marks[i];
            hole = i;
        }
    }
    c->marks[hole].claim = 0;
}

static void claims_clear(struct claims *c, const struct mark *m)
{
    c->count--;
    close_hole(c, (size_t)(m - c->marks));
}

void claims_drop(struct claims *c, const struct task *t)
{
    (void)pthread_mutex_lock(&c->mutex);
    const struct mark *m = claims_find(c, t->id);

    if (t->claim != 0 && m->claim == t->claim)
        claims_clear(c, m);
    (void)pthread_mutex_unlock(&c->mutex);
}

void claims_end(struct claims *c, int64_t id)
{
    (void)pthread_mutex_lock(&c->mutex);
    const struct mark *m = claims_find(c, id);

    if (m->claim != 0)
        claims_clear(c, m);
    (void)pthread_mutex_unlock(&c->mutex);
}

static void late_note(const struct mark *m, int64_t over_us, struct claims_late *ret, size_t most,
                      size_t *io_count)
{
    struct claims_late *at = ret, *end = ret + *io_count;

    while (at < end && at->queue != m->queue)
        at++;
    if (at == end) {
        if (*io_count == most)
            return;
        (*io_count)++;
        *at = (struct claims_late){ .queue = m->queue };
    }
    at->count++;
    if (over_us > at->over_us) {
        at->over_us = over_us;
        at->id = m->id;
    }
}

/* In pieces: the writer waits for the mutex. */
size_t claims_late(struct claims *c, int64_t now_us, struct claims_late *ret, size_t most)
{
    enum { PIECE = 4096 };
    size_t count = 0;

    for (size_t from = 0; from < SLOTS; from += PIECE) {
        (void)pthread_mutex_lock(&c->mutex);
        for (size_t i = from; c->count > 0 && i < from + PIECE; i++)
            if (c->marks[i].claim != 0 && c->marks[i].queue > QUEUE_JOBS &&
                c->marks[i].until_us < now_us)
                late_note(&c->marks[i], now_us - c->marks[i].until_us, ret, most, &count);
        (void)pthread_mutex_unlock(&c->mutex);
    }
    return count;
}

static struct claim_mark claims_mark_of(const struct mark *m)
{
    return (struct claim_mark){
        .id = m->id, .claim = m->claim, .until_us = m->until_us, .lasts_us = m->lasts_us
    };
}

size_t claims_of_jobs(struct claims *c, struct claim_mark *ret, size_t most)
{
    enum { PIECE = 4096 };
    size_t n = 0;

    for (size_t from = 0; from < SLOTS; from += PIECE) {
        (void)pthread_mutex_lock(&c->mutex);
        for (size_t i = from; c->count > 0 && i < from + PIECE && n < most; i++) {
            const struct mark *m = &c->marks[i];

            if (m->claim != 0 && m->queue <= QUEUE_JOBS)
                ret[n++] = claims_mark_of(m);
        }
        (void)pthread_mutex_unlock(&c->mutex);
    }
    return n;
}

void claims_lasts(struct claims *c, const struct task *t, int64_t lasts_us)
{
    (void)pthread_mutex_lock(&c->mutex);
    struct mark *m = claims_find(c, t->id);

    if (t->claim != 0 && m->claim == t->claim)
        m->lasts_us = lasts_us;
    (void)pthread_mutex_unlock(&c->mutex);
}

bool claims_mark(struct claims *c, int64_t id, struct claim_mark *ret)
{
    (void)pthread_mutex_lock(&c->mutex);
    const struct mark *m = claims_find(c, id);

    *ret = claims_mark_of(m);
    ret->id = id;
    (void)pthread_mutex_unlock(&c->mutex);
    return ret->claim != 0;
}

/* NULL when the queue is new and the table is full. */
static struct cursor *cursor_of(struct claims *c, int64_t queue)
{
    size_t i = claims_home(queue, QUEUE_SLOTS);

    while (c->cursors[i].used && c->cursors[i].queue != queue)
        i = (i + 1) % QUEUE_SLOTS;
    if (!c->cursors[i].used) {
        if (c->queues == CLAIM_QUEUES)
            return NULL;
        c->queues++;
        c->cursors[i] =
            (struct cursor){ .queue = queue, .used = true, .place = start, .put = nowhere };
    }
    return &c->cursors[i];
}

static bool claims_before(struct claim_place a, struct claim_place b)
{
    if (a.prio != b.prio)
        return a.prio < b.prio;
    return a.rank != b.rank ? a.rank < b.rank : a.id < b.id;
}

struct claim_place claims_cursor(struct claims *c, int64_t queue)
{
    (void)pthread_mutex_lock(&c->mutex);
    struct cursor *u = cursor_of(c, queue);
    struct claim_place place = u != NULL ? u->place : start;

    if (u != NULL)
        u->put = nowhere;
    (void)pthread_mutex_unlock(&c->mutex);
    return place;
}

void claims_read_to(struct claims *c, int64_t queue, struct claim_place place)
{
    (void)pthread_mutex_lock(&c->mutex);
    struct cursor *u = cursor_of(c, queue);

    if (u != NULL) {
        u->place = claims_before(u->put, place) ? u->put : place;
        u->put = nowhere;
    }
    (void)pthread_mutex_unlock(&c->mutex);
}

void claims_put_at(struct claims *c, int64_t queue, struct claim_place place)
{
    struct claim_place ahead = { .prio = place.prio, .rank = place.rank, .id = place.id - 1 };

    (void)pthread_mutex_lock(&c->mutex);
    struct cursor *u = cursor_of(c, queue);

    if (u != NULL && claims_before(ahead, u->place))
        u->place = ahead;
    if (u != NULL && claims_before(ahead, u->put))
        u->put = ahead;
    (void)pthread_mutex_unlock(&c->mutex);
}
