#include "engine/road/work.h"

#include "base/container_of.h"
#include "engine/road/send.h"
#include "engine/road/settling.h"
#include "engine/road/state.h"
#include "engine/road/walk.h"

enum { BATCH = 32 }; /* flights a worker takes at once */

static void on_pool(struct pool_job *job)
{
    struct flight *f = container_of(job, struct flight, job);
    OUTBOX(out, f->road);

    work_on(f, &out);
}

void work_on_pool(struct flight *f)
{
    f->may_block = true;
    f->job = (struct pool_job){ .run = on_pool };
    pool_submit(f->road->pool, &f->job);
}

/* Everything that others wait for has been let go. */
static void wait_for_need(struct flight *f)
{
    switch (f->walk.need) {
    case WALK_NEEDS_THREAD:
        work_on_pool(f);
        break;
    }
}

/* The flight may be gone afterwards, or be somebody else's. */
static void after_walk(struct flight *f, enum walk_result result, struct outbox *out)
{
    switch (result) {
    case WALK_SENDS:
        send_legs(f, out);
        break;
    case WALK_ENDS:
        settle_flight(f, out);
        break;
    case WALK_WAITS:
        break;
    }
}

void work_on(struct flight *f, struct outbox *out)
{
    struct road *r = f->road;
    struct task_code c = suspects_enter(&r->suspects, &f->settle.task);
    enum walk_result result = WALK_SENDS;

    if (f->settle.task.kind != TASK_DELIVER) {
        walking_begin(f, c.slot >= 0 ? &r->walking[c.slot] : NULL);
        result = walk(f);
        if (result == WALK_WAITS)
            walking_wait(f);
        else
            walking_end(f);
    }
    bool large = f->holds_large;

    f->holds_large = false;
    after_walk(f, result, out);
    if (large)
        (void)pthread_mutex_unlock(&r->stock->large);
    suspects_leave(&r->suspects, c);
    if (result == WALK_WAITS)
        wait_for_need(f);
}

void *work_main(void *road)
{
    struct road *r = road;
    struct flight *batch[BATCH];
    size_t n;

    while ((n = road_take(r, batch, BATCH)) > 0) {
        OUTBOX(out, r);

        for (size_t i = 0; i < n; i++)
            work_on(batch[i], &out);
    }
    return NULL;
}
