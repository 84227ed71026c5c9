#include "engine/road/work.h"

#include "engine/road/send.h"
#include "engine/road/settling.h"
#include "engine/road/state.h"
#include "engine/road/walk.h"

enum { BATCH = 32 }; /* flights a worker takes at once */

void work_on(struct flight *f, struct outbox *out)
{
    struct road *r = f->road;
    struct task_code c = suspects_enter(&r->suspects, &f->settle.task);

    bool walks = f->settle.task.kind != TASK_DELIVER;

    f->place = walks && c.slot >= 0 ? &r->walking[c.slot] : NULL;
    bool goes_on = !walks || walk(f);

    walking_end(f);
    if (goes_on)
        send_legs(f, out);
    else
        settle_flight(f, out);
    suspects_leave(&r->suspects, c);
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
