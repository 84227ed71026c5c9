#include "engine/road/work.h"

#include "engine/road/send.h"
#include "engine/road/settling.h"
#include "engine/road/state.h"
#include "engine/road/walk.h"

enum { BATCH = 32 }; /* flights a worker takes at once */

void work_on(struct flight *f)
{
    struct road *r = f->road;
    struct task_code c = suspects_enter(&r->suspects, &f->settle.task);

    if (f->settle.task.kind == TASK_DELIVER || walk(f))
        send_parts(f);
    else
        settle_flight(f);
    suspects_leave(&r->suspects, c);
}

void *work_main(void *road)
{
    struct road *r = road;
    struct flight *batch[BATCH];
    size_t n;

    while ((n = road_take(r, batch, BATCH)) > 0) {
        for (size_t i = 0; i < n; i++)
            work_on(batch[i]);
        send_flush(r);
    }
    return NULL;
}
