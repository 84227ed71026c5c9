/* batcher.c - when batches close, who builds their documents, when their members end.
 *
 * Problem.  Documents join a batch by settlements on any node, but must leave as one document,
 * once, although nodes crash, clocks are set and configurations change.  Members may be many and
 * large, and the housekeeper that drives the work must not miss its heartbeat.
 *
 * Method.  All state is in the store (store/batch/batch.h); this file only polls for the next
 * transition and makes it.  Every transition is one transaction that checks its precondition, so
 * any node may try any of them at any time, and all but one attempt change nothing:
 *
 *     open ──► closing    close_by_time(), close_by_name(), or the settlement that fills it
 *     closing, claimed    build_one() claims, a pool thread builds (batch_build.c)
 *     closing ──► closed  the commit of the batch's document, with the links to its members
 *     closing ──► ended   no document: the members of `join: each` run on, or there are none
 *     closed ──► ended    end_some(), a page of members per transaction
 *
 * Invariants
 *   (1) A time of a schedule is served once.  The last served time is a row; batch_close() moves it
 *       by compare-and-set in the transaction that closes the batches.
 *   (2) Nobody joins a batch that has closed.  Later a member leaves only if it cannot be joined,
 * if a person removes it because the batch cannot be built or was restored, or with `join: each` to
 * run on.  A person's removal invalidates the claim of a running build. (3) A batch gets at most
 * one document.  A claim is (node, claim number); the commit of the document checks it and does
 * nothing if another claim has been made since. (4) A member of a batch with a document ends only
 * after that document is over: `done` if it was delivered, else in the same state. (5) At most
 * BUILDS_MOST builds run on a node.
 *
 * Crashes.  A transaction that was not committed leaves the earlier state, and the next poll
 * repeats it:
 *   - while closing: the batch is still open, and its time is not served (1);
 *   - after the claim or while building: the batch is closing.  The node's next start releases its
 *     claims (batch_start()); on PostgreSQL another node takes over when this one is dead or
 *     silent, and in any case when the claim is an hour old.  An upload that no document names is
 *     swept by the store (payload.h);
 *   - after the commit of the document: the batch is closed, and the document has its own task;
 *   - between two pages of ending members: the batch is still closed, without the members that
 *     ended; batch_over() finds it again.
 *
 * Races
 *   - Two nodes see the same time or age due: the compare-and-set, or `state = open` in the update,
 *     lets one of them close.  The slots cached here may be stale by SLOT_US; the compare-and-set
 *     then fails, and the slot is read again.
 *   - A build takes longer than its claim and another one starts: the slower commit is refused (3)
 *     and its spooled body is deleted.
 *   - A node that does not follow a new version yet closes a batch that only this version names.
 *     The batch is smaller than it could be; plan_for() builds it by the rules of its last member.
 *   - The batch's document becomes live again between batch_over() and end_state(): nothing ends.
 */
#include "engine/batch/batcher.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/metrics.h"
#include "core/retain_rule.h"
#include "engine/batch/batch_build.h"
#include "engine/road/road.h"
#include "engine/threads/pool.h"
#include "store/batch/batch.h"
#include "store/batch/batch_members.h"
#include "store/road/retain_days.h"
#include "store/search/document.h"
#include "store/store.h"

enum {
    BUILDS_MOST = 4,
    NAMES_MOST = 256,
    OVER_MOST = 16,
    KEEP_DAYS = RETAIN_DAYS, /* how long rows of ended batches are kept */
    ANY_US = 10 * CLOCK_S,   /* how often to query for batches that the plan does not name */
    SWEEP_US = 600 * CLOCK_S,
    SLOT_US = 10 * CLOCK_S,
    OVER_US = 500 * CLOCK_MS,
    ENDING_US = 500 * CLOCK_MS, /* the housekeeper must get back to its heartbeat */
};

struct slot {
    int64_t last_us, read_us; /* last_us: the last served time; read_us: monotonic, 0: stale */
};

struct batcher {
    struct store *store;
    struct road *road;
    struct mishaps *mishaps;
    struct pool *pool;
    _Atomic int building;
    _Atomic bool resting;
    bool started, any;
    struct slot *slots;
    size_t slot_count;
    int64_t slots_of; /* version */
    int64_t asked_us, swept_us, over_us;
    int64_t over_after; /* the number behind which batch_over() continues; 0: from the start */
};

static struct metric closed[BATCH_WHYS] = {
#define CLOSED(why_, word)                                       \
    [why_] = { .name = "waybill_batches_closed_total",           \
               .help = "Batches that this node closed, by why.", \
               .labels = "why=\"" word "\"" }
    CLOSED(BATCH_AGE, "age"),
    CLOSED(BATCH_TIME, "time"),
    CLOSED(BATCH_HAND, "hand"),
};

struct batcher *batcher_new(struct store *store, struct road *road, struct mishaps *mishaps,
                            struct pool *pool)
{
    struct batcher *b = NEW(struct batcher);

    *b = (struct batcher){ .store = store, .road = road, .mishaps = mishaps, .pool = pool };
    for (size_t i = 0; i < BATCH_WHYS; i++)
        if (closed[i].name != NULL)
            metrics_register(&closed[i]);
    return b;
}

void batcher_rest(struct batcher *b)
{
    atomic_store(&b->resting, true);
}

void batcher_free(struct batcher *b)
{
    if (b == NULL)
        return;
    for (size_t i = 0; i < BATCH_WHYS; i++)
        if (closed[i].name != NULL)
            metrics_forget(&closed[i]);
    free(b->slots);
    free(b);
}

/* ---- closing ---- */

static bool close_some(struct batcher *b, struct batch_close *c, struct err *err)
{
    if (!batch_close(b->store, c, err))
        return false;
    if (!c->ours || c->closed == 0)
        return true;
    metric_add(&closed[c->why], c->closed);
    log_event(LOG_INFO, "batch.close", kv_str("batch", name_text(b->store, c->name)),
              kv_z("why", batch_whys[c->why]), kv_int("count", c->closed), kv_str("by", c->by));
    return true;
}

/* The cache of slots is in the order of the plan's batches, so a new version empties it. */
static void remember_slots(struct batcher *b, const struct plan *p)
{
    if (b->slots != NULL && b->slots_of == p->version && b->slot_count == p->batch_count)
        return;
    free(b->slots);
    b->slots = xcalloc(p->batch_count + 1, sizeof *b->slots);
    b->slot_count = p->batch_count;
    b->slots_of = p->version;
}

/* Reads the last served time, at most every SLOT_US.  A time more than a day ahead of the clock is
 * reset to now. */
static bool read_slot(struct batcher *b, const struct plan_batch *of, int64_t now,
                      struct slot *slot, struct err *err)
{
    int64_t mono = clock_mono_us();

    if (slot->read_us != 0 && mono - slot->read_us < SLOT_US)
        return true;
    if (!batch_slot(b->store, of->word, now, &slot->last_us, err))
        return false;
    slot->read_us = mono;
    if (!batch_slot_is_wrong(slot->last_us, now))
        return true;
    log_event(
        LOG_WARN, "batch.clock", kv_str("batch", of->name),
        kv_int("ahead_s", (slot->last_us - now) / CLOCK_S),
        kv_z("hint", "Its last time is more than a day ahead of the clock. It goes on from now."));
    slot->read_us = 0;
    return batch_slot_reset(b->store, of->word, slot->last_us, now, err);
}

static bool close_by_time(struct batcher *b, const struct plan *p, size_t at, int64_t now,
                          struct err *err)
{
    const struct plan_batch *of = &p->batches[at];
    struct slot *slot = &b->slots[at];
    int64_t due;

    if (of->at == NULL)
        return true;
    if (!read_slot(b, of, now, slot, err))
        return false;
    due = slot->read_us != 0 ? batch_due(of->at, of->missed_each, slot->last_us, now) : 0;
    if (due == 0)
        return true;
    struct batch_close c = { .name = of->word,
                             .receiver = of->receiver != 0 ? of->receiver : BATCH_ANY_RECEIVER,
                             .opened_until_us = INT64_MAX,
                             .why = BATCH_TIME,
                             .by = STR(""),
                             .slot_from_us = slot->last_us,
                             .slot_us = due,
                             .empty = of->empty_send,
                             .config = p->version };

    slot->read_us = 0; /* another node may have moved it first */
    return close_some(b, &c, err);
}

/* Closes batches past their age.  A batch that is not configured any more gets no new members and
 * has no rule that would close it: it is closed at once. */
static bool close_by_name(struct batcher *b, const struct plan *p, int64_t now, struct err *err)
{
    struct batch_name names[NAMES_MOST];
    size_t n;

    if (!batch_names_open(b->store, names, NAMES_MOST, &n, err))
        return false;
    for (size_t i = 0; i < n; i++) {
        const struct plan_batch *of = plan_batch_find(p, names[i].name);
        struct batch_close c = { .name = names[i].name,
                                 .receiver = BATCH_ANY_RECEIVER,
                                 .opened_until_us = of != NULL ? now - of->age_us : INT64_MAX,
                                 .why = of != NULL ? BATCH_AGE : BATCH_HAND,
                                 .by =
                                     of != NULL ? STR("") : STR("it is not configured any more") };

        if (of != NULL && (of->age_us == 0 || names[i].opened_us > c.opened_until_us))
            continue;
        if (!close_some(b, &c, err))
            return false;
    }
    return true;
}

bool batcher_next(struct batcher *b, const struct plan_batch *of, int64_t *ret_us,
                  int64_t *ret_last_us, struct err *err)
{
    int64_t last, now = road_now_us(b->road);

    *ret_us = *ret_last_us = 0;
    if (of->at == NULL)
        return true;
    if (!batch_slot(b->store, of->word, now, &last, err))
        return false;
    *ret_us = batch_next(of->at, last);
    *ret_last_us = last;
    return true;
}

/* ---- building ---- */

struct build {
    struct pool_job job;
    struct batcher *batcher;
    struct plan *plan; /* holds a reference */
    struct batch batch;
    struct arena arena;
};

static void run_build(struct pool_job *job)
{
    struct build *d = container_of(job, struct build, job);
    struct batcher *b = d->batcher;

    struct batch_parts parts = { .store = b->store, .road = b->road, .mishaps = b->mishaps };

    if (batch_build(&parts, d->plan, &d->batch, &b->resting))
        road_note_backlog(b->road);
    plan_unref(d->plan);
    arena_done(&d->arena);
    free(d);
    (void)atomic_fetch_sub(&b->building, 1);
}

/* The newest plan that names the batch, or the plan under which its last member joined. */
static struct plan *plan_for(struct batcher *b, const struct batch *of, struct err *err)
{
    struct plan *p = road_plan(b->road);

    if (plan_batch_find(p, of->name) != NULL)
        return p;
    plan_unref(p);
    return road_plan_of(b->road, of->config, err);
}

/* Claims one closing batch and submits its build; *ret_more: there may be others. */
static bool build_one(struct batcher *b, bool *ret_more, struct err *err)
{
    struct build *d = NEW(struct build);
    bool found = false;

    *ret_more = false;
    *d = (struct build){ .job = { .run = run_build }, .batcher = b };
    d->arena = (struct arena)ARENA_INIT(1 << 20);
    bool ok = batch_claim(b->store, &d->arena, &d->batch, &found, err);

    if (ok && found) {
        fault_point(BATCH_CLAIMED);
        d->plan = plan_for(b, &d->batch, err);
        if (d->plan != NULL) {
            *ret_more = true;
            (void)atomic_fetch_add(&b->building, 1);
            pool_submit(b->pool, &d->job);
            return true;
        }
        struct err why = *err;

        ok = false;
        (void)batch_back(b->store, &d->batch, road_now_us(b->road) + 10 * CLOCK_S, STR(""),
                         str_of(why.text), err);
        *err = why;
    }
    arena_done(&d->arena);
    free(d);
    return ok;
}

static bool build_some(struct batcher *b, struct err *err)
{
    bool more;

    if (!batch_waits(b->store, &more, err))
        return false;
    while (more && !atomic_load(&b->resting) && atomic_load(&b->building) < BUILDS_MOST)
        if (!build_one(b, &more, err))
            return false;
    return true;
}

/* ---- ending ---- */

/* The state in which the members end: that of the batch's document.  DOCUMENT_ACTIVE: not over. */
static bool end_state(struct batcher *b, const struct batch_over *of, enum document_state *ret,
                      struct err *err)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(16 << 20);
    struct document d;

    *ret = DOCUMENT_DONE;
    if (!document_get(b->store, &of->doc_id, &a, &d, err))
        return err->kind == ERR_NONE; /* purged, so it was over long ago */
    if (!document_is_over(d.is))
        *ret = DOCUMENT_ACTIVE; /* retried since batch_over() listed it */
    else if (d.is != DOCUMENT_DELIVERED)
        *ret = d.is;
    return true;
}

/* Ends at least one page of members; *ret_left: the time was up before the last page. */
static bool batcher_end_one(struct batcher *b, const struct batch_over *of, int64_t until_us,
                            bool *ret_left, struct err *err)
{
    enum document_state state;

    *ret_left = false;
    if (!end_state(b, of, &state, err))
        return false;
    if (state == DOCUMENT_ACTIVE)
        return true;
    do {
        if (!batch_end(b->store, of, state, RETAIN_BY_RULE, ret_left, err))
            return false;
        fault_point(BATCH_ENDED);
    } while (*ret_left && clock_mono_us() < until_us && !atomic_load(&b->resting));
    return true;
}

static bool end_some(struct batcher *b, struct err *err)
{
    struct batch_over over[OVER_MOST];
    int64_t until = clock_mono_us() + ENDING_US;
    bool left;
    size_t n;

    if (b->over_after == 0 && clock_mono_us() - b->over_us < OVER_US)
        return true;
    b->over_us = clock_mono_us();
    if (!batch_over(b->store, b->over_after, over, OVER_MOST, &n, err))
        return false;
    b->over_after = n == OVER_MOST ? over[n - 1].num : 0;
    for (size_t i = 0; i < n && !atomic_load(&b->resting); i++) {
        if (!batcher_end_one(b, &over[i], until, &left, err))
            return false;
        if (left || clock_mono_us() >= until) { /* the next poll continues here */
            b->over_after = left ? over[i].num - 1 : over[i].num;
            return true;
        }
    }
    return true;
}

/* ---- polling ---- */

/* Without batches in the configuration, the store is queried only every ANY_US. */
static bool has_work(struct batcher *b, const struct plan *p, struct err *err)
{
    int64_t now = clock_mono_us();

    if (p->batch_count > 0 || b->any)
        b->any = true;
    if (p->batch_count > 0 || (b->asked_us != 0 && now - b->asked_us < ANY_US))
        return true;
    b->asked_us = now;
    return batch_any(b->store, &b->any, err);
}

static bool batcher_sweep(struct batcher *b, struct err *err)
{
    int64_t now = clock_mono_us();

    if (b->swept_us != 0 && now - b->swept_us < SWEEP_US)
        return true;
    b->swept_us = now;
    return batch_forget(b->store, road_now_us(b->road) - (int64_t)KEEP_DAYS * 86400 * CLOCK_S, err);
}

static bool batch_batcher_look(struct batcher *b, const struct plan *p, struct err *err)
{
    int64_t now = road_now_us(b->road);

    remember_slots(b, p);
    for (size_t i = 0; i < p->batch_count; i++)
        if (!close_by_time(b, p, i, now, err))
            return false;
    return close_by_name(b, p, now, err) && build_some(b, err) && end_some(b, err) &&
           batcher_sweep(b, err);
}

bool batcher_look(struct batcher *b, struct err *err)
{
    if (!b->started && !batch_start(b->store, err))
        return false;
    b->started = true;
    struct plan *p = road_plan(b->road);
    bool ok = has_work(b, p, err) && (!b->any || batch_batcher_look(b, p, err));

    plan_unref(p);
    return ok;
}
