#include "engine/rehearse/stage.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/wait.h"
#include "core/stages.h"
#include "engine/flight/bytes.h"
#include "engine/rehearse/past.h"
#include "engine/road/road.h"
#include "store/search/document.h"

enum { ARENA_MOST = 3 * STAGES_ARENA_MOST };

/* The stages of the timeline, and those of the walk, which repeats the last run. */
struct recomputing {
    const struct stage *told, *made;
    size_t told_count, made_count, earlier; /* earlier: stages of runs before the last */
};

static bool is_the_last_run(struct recomputing *c)
{
    if (c->made_count == 0 || c->made_count > c->told_count)
        return false;
    c->earlier = c->told_count - c->made_count;
    for (size_t i = 0; i < c->made_count; i++)
        if (!str_eq(c->made[i].step, c->told[c->earlier + i].step))
            return false;
    return true;
}

/* The bytes after the n-th step of the walk: those of the last step up to it that changed them. */
static struct variant *stage_after(struct flight *f, int64_t nth)
{
    struct variant *found = &f->received;

    for (size_t i = 0; i < f->made_count && f->made[i]->step_number <= nth; i++)
        found = f->made[i];
    return found;
}

/* What was stored of the run must be what the walk has made. */
static bool stage_agrees(const struct recomputing *c, struct flight *f, struct err *err)
{
    for (size_t i = 0; i < c->made_count; i++) {
        const struct stage *s = &c->told[c->earlier + i];
        struct variant *v = stage_after(f, (int64_t)i + 1);

        if (!s->is_stored)
            continue;
        struct sha256 now = digest_of(buf_view(&v->buf));

        if (memcmp(&now, &s->bytes.sha256, sizeof now) != 0)
            return err_set(err, ERR_PERMANENT, 0,
                           "its steps no longer make what they made: stage %lld differs from what "
                           "was stored",
                           (long long)s->number);
    }
    return true;
}

static bool stage_take(struct past *p, int64_t number, struct buf *to, struct err *err)
{
    struct flight *f = p->was.flight;
    struct recomputing c = { 0 };

    if (p->why[0] != '\0')
        return err_set(err, ERR_PERMANENT, 0, "%s", p->why);
    c.told = stages_read(p->doc->timeline, p->arena, &c.told_count);
    c.made = stages_read(buf_view(&f->timeline), p->arena, &c.made_count);
    if (f->settle.end == SETTLE_DEAD && f->dead == DEAD_BUDGET && clock_mono_us() >= p->until_us)
        return err_set(err, ERR_LIMIT, 0, "%s", f->message);
    if (!is_the_last_run(&c))
        return err_set(err, ERR_PERMANENT, 0, "its steps are not those that ran then");
    if (stages_gap_behind(p->doc->timeline, &c.told[c.earlier]))
        return err_set(err, ERR_PERMANENT, 0, "parts of its timeline were left out");
    int64_t nth = number - (int64_t)c.earlier;

    if (nth < 1)
        return err_set(err, ERR_PERMANENT, 0, "the document ran again after it");
    if (!stage_agrees(&c, f, err))
        return false;
    struct variant *v = stage_after(f, nth);

    return variant_load(f, v, err) && buf_append(to, buf_view(&v->buf), err);
}

static bool stage_walk(struct past *p, int64_t number, struct buf *to, struct err *err)
{
    bool given;
    bool ok = past_walk(p, &given, err) && stage_take(p, number, to, err);

    if (p->was.flight != NULL)
        flight_free(p->was.flight);
    return ok;
}

/* What the steps make stays in memory until the end, so one at a time; and a large document only
 * while no other one is in memory. */
static bool stage_walk_alone(struct past *p, int64_t number, struct buf *to, struct err *err)
{
    struct flight_stock *stock = road_stock(p->road);
    bool large = p->doc->source.size > SEGMENT_PAYLOAD_MOST;
    int64_t now_us = clock_mono_us();
    int64_t lock_us = now_us + (p->until_us - now_us) / 2; /* the rest is for the steps */
    bool ok;

    if (!wait_lock(&stock->computing, lock_us))
        return err_set(err, ERR_TRANSIENT, 0, "busy: another stage is being computed, try again");
    if (large && !wait_lock(&stock->large, lock_us)) {
        ok = err_set(err, ERR_TRANSIENT, 0, "busy: a large document is being processed, try again");
    } else {
        ok = stage_walk(p, number, to, err);
        if (large)
            (void)pthread_mutex_unlock(&stock->large);
    }
    (void)pthread_mutex_unlock(&stock->computing);
    return ok;
}

bool stage_compute(struct road *r, const struct document *d, int64_t number, int64_t until_us,
                   struct buf *to, int64_t *ret_config, struct err *err)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(ARENA_MOST);
    struct past p = {
        .road = r, .doc = d, .arena = &arena, .keeps_all = true, .until_us = until_us
    };

    if (str_is(d->code, dead_codes[DEAD_POISON]))
        return err_set(err, ERR_PERMANENT, 0, "the program ended while it worked on it");
    p.plan = past_plan(r, d, err);
    if (p.plan == NULL)
        return false;
    bool ok = stage_walk_alone(&p, number, to, err);

    if (ok)
        *ret_config = p.plan->version;
    plan_unref(p.plan);
    return ok;
}
