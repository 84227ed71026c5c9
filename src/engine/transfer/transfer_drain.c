#include "engine/transfer/transfer_drain.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/container_of.h"
#include "base/require.h"

struct drain *drain_new(const struct drain_owner *owner, struct handle *handle,
                        const struct answer_sink *sink)
{
    struct drain *d = NEW(struct drain);

    d->owner = *owner;
    d->handle = handle;
    d->sink = sink;
    for (size_t i = 0; i < DRAIN_PIECES; i++)
        d->pieces[i] = (struct buf)BUF_INIT(DRAIN_PIECE);
    return d;
}

void drain_free(struct drain *d)
{
    if (d == NULL)
        return;
    require(!d->putting);
    for (size_t i = 0; i < DRAIN_PIECES; i++)
        buf_done(&d->pieces[i]);
    free(d);
}

static void drain_run(struct pool_job *job)
{
    struct drain *d = container_of(job, struct drain, job);

    d->put_ok = d->sink->put(d->sink->arg, buf_view(d->from), &d->err);
    d->owner.back(d->owner.arg, d);
}

/* The piece that is filled goes to the pool, the other one is filled next. */
static void drain_put(struct drain *d)
{
    require(!d->putting);
    d->putting = true;
    d->from = &d->pieces[d->filling];
    d->filling = (d->filling + 1) % DRAIN_PIECES;
    d->job.run = drain_run;
    pool_submit(d->owner.pool, &d->job);
}

bool drain_take(struct drain *d, struct str bytes)
{
    if (d->failed)
        return false;
    if (bytes.len > DRAIN_PIECE - d->pieces[d->filling].len) {
        d->paused = d->putting;
        if (d->paused)
            return false;
        drain_put(d);
    }
    buf_put(&d->pieces[d->filling], bytes);
    d->came += (int64_t)bytes.len;
    return true;
}

bool drain_rest(struct drain *d)
{
    if (!d->putting && !d->failed && d->pieces[d->filling].len > 0)
        drain_put(d);
    return d->putting;
}

void drain_returned(struct drain *d)
{
    require(d->putting);
    d->putting = false;
    d->failed = !d->put_ok;
    buf_clear(d->from);
}
