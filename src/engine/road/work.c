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

    if (f->settle.task.kind == TASK_DELIVER || walk(f))
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
