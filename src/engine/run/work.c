#include "engine/run/work.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/container_of.h"
#include "engine/asking/calling.h"
#include "engine/flight/bytes.h"
#include "engine/flight/turns.h"
#include "engine/road/outcome.h"
#include "engine/road/state.h"
#include "engine/run/send.h"
#include "engine/run/settling.h"
#include "engine/walk/caging.h"
#include "engine/walk/parts.h"
#include "engine/walk/step.h"
#include "engine/walk/walk.h"

enum {
    BATCH = 32,                 /* flights a worker takes at once */
    TURN_WAIT_US = 1 * CLOCK_S, /* when too many wait for turns */
};

/* What has happened is as if it had not: the next run begins anew.  A document that expires
 * meanwhile is due when it expires. */
static void put_walk_back(struct flight *f, int64_t wait_us, bool failing, const char *why,
                          struct outbox *out)
{
    int64_t due = road_now_us(f->road) + wait_us;

    walking_begin(f, NULL);
    step_drop(f);
    parts_drop(f);
    variants_drop_unkept(f);
    if (f->expires_us != 0 && due > f->expires_us)
        due = f->expires_us;
    if (!f->recovered)
        buf_clear(&f->timeline);
    (void)snprintf(f->message, sizeof f->message, "%s", why);
    if (failing)
        outcome_held(f, due);
    else
        outcome_delayed(f, due);
    settle_flight(f, out);
}

void work_put_back(struct road *r, struct flight *first)
{
    OUTBOX(out, r);

    for (struct flight *next; first != NULL; first = next) {
        next = first->next;
        put_walk_back(first, 0, false, "the node stopped while it waited for a step", &out);
    }
}

static void wait_for_cage(struct flight *f, struct outbox *out)
{
    struct str step = f->route->steps[f->walk.step].name;
    char why[VERDICT_MESSAGE_MOST];
    int64_t wait_us;

    if (caging_put(f, &wait_us))
        return;
    (void)snprintf(why, sizeof why, "waits for its turn at the step %.*s", STR_ARG(step));
    put_walk_back(f, wait_us, false, why, out);
}

static void wait_for_answer(struct flight *f, struct outbox *out)
{
    struct calling_away away;

    if (!calling_put(f->road->calling, f, &away))
        put_walk_back(f, away.wait_us, away.failing, away.why, out);
}

static void wait_for_turn(struct flight *f, struct outbox *out)
{
    switch (turns_wait(f->road->turns, f)) {
    case TURN_IS_NOW:
        work_on_pool(f);
        break;
    case TURN_LATER:
        break;
    case TURN_FULL:
        put_walk_back(f, TURN_WAIT_US, false, "waits for its turn at its record", out);
        break;
    }
}

/* Everything that others wait for has been let go. */
static void wait_for_need(struct flight *f, struct outbox *out)
{
    switch (f->walk.need) {
    case WALK_NEEDS_THREAD:
        work_on_pool(f);
        break;
    case WALK_NEEDS_CAGE:
        wait_for_cage(f, out);
        break;
    case WALK_NEEDS_TURN:
        wait_for_turn(f, out);
        break;
    case WALK_NEEDS_ANSWER:
        wait_for_answer(f, out);
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

/* Walks the flight, then offers its deliveries or settles it.  The flight of a stored delivery is
 * not walked, only offered.  A walk that waits is handed on. */
static void work_on(struct flight *f, struct outbox *out)
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
        wait_for_need(f, out);
}

void work_go_on(struct road *r, struct flight **flights, size_t count)
{
    OUTBOX(out, r);

    for (size_t i = 0; i < count; i++)
        work_on(flights[i], &out);
}

static void on_pool(struct pool_job *job)
{
    struct flight *f = container_of(job, struct flight, job);

    work_go_on(f->road, &f, 1);
}

void work_on_pool(struct flight *f)
{
    f->may_block = true;
    f->job = (struct pool_job){ .run = on_pool };
    pool_submit(f->road->pool, &f->job);
}

void work_judge_answer(struct flight *f, const struct http_out_answer *answer)
{
    const struct plan_step *s = &f->route->steps[f->walk.step];

    if (s->service->http->ask != NULL) /* it has said so itself */
        return;
    struct task_code c = suspects_enter(&f->road->suspects, &f->settle.task);

    s->service->http->judge(s->self, answer, &f->called->verdict);
    suspects_leave(&f->road->suspects, c);
}

static bool has_workers(struct road *r)
{
    (void)pthread_mutex_lock(&r->mutex);
    bool has = !r->workers_end;

    (void)pthread_mutex_unlock(&r->mutex);
    return has;
}

void work_answered(struct flight *f)
{
    bool large = f->source.size > SEGMENT_PAYLOAD_MOST || f->called->io.upload != NULL ||
                 variant_size(f->walk.bytes) > SEGMENT_PAYLOAD_MOST;

    f->next = NULL;
    if (!has_workers(f->road)) {
        work_put_back(f->road, f);
    } else if (large) {
        work_on_pool(f);
    } else {
        f->may_block = false;
        road_queue(f->road, f);
    }
}

void *work_main(void *road)
{
    struct road *r = road;
    struct flight *batch[BATCH];
    size_t n;

    while ((n = road_take(r, batch, BATCH)) > 0)
        work_go_on(r, batch, n);
    return NULL;
}
