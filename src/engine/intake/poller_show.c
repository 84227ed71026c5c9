/* poller_show.c - what people are told of the polls of this node. */
#include <stdio.h>

#include "base/clock.h"
#include "engine/intake/poller_state.h"

enum { FAILURES_TOLD = 3 /* failures in a row before poller_troubles() reports */ };

void poller_why(struct poller *p, struct str gateway, struct buf *to)
{
    (void)pthread_mutex_lock(&p->mutex);
    for (const struct duty *d = p->duties; d != NULL; d = d->next)
        if (d->failures > 0 && !d->gone && str_is(gateway, d->name))
            buf_puts(to, d->error);
    (void)pthread_mutex_unlock(&p->mutex);
}

void poller_troubles(struct poller *p, struct buf *to)
{
    (void)pthread_mutex_lock(&p->mutex);
    for (const struct duty *d = p->duties; d != NULL; d = d->next)
        if ((d->failures >= FAILURES_TOLD || d->lost > 0) && !d->gone && to->len + 500 < to->cap)
            buf_printf(to, "gateway %s has failed %lld times: %s\n", d->name,
                       (long long)d->failures, d->error);
    (void)pthread_mutex_unlock(&p->mutex);
}

size_t poller_duties(struct poller *p, struct poll_shown *ret, size_t most)
{
    int64_t now_us = clock_mono_us(), wall_us = clock_wall_us();
    size_t n = 0;

    (void)pthread_mutex_lock(&p->mutex);
    for (const struct duty *d = p->duties; d != NULL && n < most; d = d->next) {
        if (d->gone)
            continue;
        ret[n] = (struct poll_shown){ .every_us = d->every_us,
                                      .next_us = d->busy ? 0 : wall_us + d->due_us - now_us,
                                      .count = d->count };
        (void)snprintf(ret[n++].gateway, sizeof ret->gateway, "%s", d->name);
    }
    (void)pthread_mutex_unlock(&p->mutex);
    return n;
}
