#include "engine/duties.h"

#include "base/clock.h"
#include "engine/batch/batcher.h"
#include "engine/engine.h"
#include "engine/intake/poller.h"
#include "engine/plan/plan.h"
#include "engine/plan/plan_batch.h"
#include "engine/road/road.h"
#include "engine/upkeep/housekeeper.h"
#include "engine/upkeep/purger.h"
#include "store/store.h"

struct duties {
    struct arena *arena;
    struct duty_shown *list;
    size_t count;
};

static struct duty_shown *duties_add(struct duties *d, const char *kind, struct str name)
{
    static struct duty_shown left_out;
    struct duty_shown *shown = d->count < DUTIES_MOST ? &d->list[d->count++] : &left_out;

    *shown = (struct duty_shown){ .kind = kind, .name = name, .counted = true };
    return shown;
}

/* When it is done again, if it is done every so long. */
static void duties_foresee(struct duty_shown *shown)
{
    if (shown->count.last_us != 0)
        shown->next_us = shown->count.last_us + shown->every_us;
}

static void duties_add_keeper(struct duties *d, struct engine *e)
{
    struct duty_count count;
    int64_t every_us;
    const char *name;

    for (size_t i = 0; housekeeper_duty(engine_housekeeper(e), i, &name, &every_us, &count); i++) {
        struct duty_shown *shown = duties_add(d, "keeper", str_of(name));

        shown->every_us = every_us;
        shown->count = count;
        duties_foresee(shown);
    }
    struct duty_shown *shown = duties_add(d, "retention", STR("retention"));

    purger_duty(engine_purger(e), &shown->every_us, &shown->count);
    duties_foresee(shown);
}

static void duties_add_polls(struct duties *d, struct engine *e)
{
    struct poll_shown *polls = ARENA_ARRAY(d->arena, struct poll_shown, DUTIES_MOST);
    size_t n = poller_duties(engine_poller(e), polls, DUTIES_MOST);

    for (size_t i = 0; i < n; i++) {
        struct duty_shown *shown = duties_add(d, "poll", str_of(polls[i].gateway));

        shown->every_us = polls[i].every_us;
        shown->next_us = polls[i].next_us;
        shown->count = polls[i].count;
    }
}

/* Their times are in the store, so whichever node served the last one; nobody counts them. */
static bool duties_add_batches(struct duties *d, struct engine *e, const struct plan *p,
                               struct err *err)
{
    for (size_t i = 0; i < p->batch_count; i++) {
        const struct plan_batch *b = &p->batches[i];

        if (b->at == NULL)
            continue;
        struct duty_shown *shown = duties_add(d, "batch", name_text(engine_store(e), b->word));

        shown->counted = false;
        if (!batcher_next(engine_batcher(e), b, &shown->next_us, &shown->count.last_us, err))
            return false;
    }
    return true;
}

bool duties_list(struct engine *e, struct arena *a, struct duty_shown **ret, size_t *ret_count,
                 struct err *err)
{
    struct duties d = { .arena = a, .list = ARENA_ARRAY(a, struct duty_shown, DUTIES_MOST) };
    struct plan *p = road_plan(engine_road(e));

    duties_add_keeper(&d, e);
    duties_add_polls(&d, e);
    bool ok = p == NULL || duties_add_batches(&d, e, p, err);

    plan_unref(p);
    *ret = d.list;
    *ret_count = d.count;
    return ok;
}
