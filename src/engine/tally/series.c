#include "engine/tally/series.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/metrics.h"

const char *const series_words[SERIES_NAMES] = {
    [SERIES_ACCEPTED] = "accepted", [SERIES_DELIVERED] = "delivered", [SERIES_DEAD] = "dead",
    [SERIES_RETRYING] = "retrying", [SERIES_WAITING] = "waiting",
};

/* A ring: the value of step n (wall time / step) is at n % slots, if `step` there is n. */
struct ring {
    int step_s;
    size_t slots;
    int64_t step[SERIES_FINE];
    int64_t value[SERIES_FINE][SERIES_NAMES];
};

struct series {
    pthread_mutex_t mutex;
    struct ring fine;
    struct series_now now;
};

struct series *series_new(void)
{
    struct series *s = NEW(struct series);

    (void)pthread_mutex_init(&s->mutex, NULL);
    s->fine.step_s = SERIES_STEP_FINE;
    s->fine.slots = SERIES_FINE;
    return s;
}

void series_free(struct series *s)
{
    free(s);
}

/* ---- sampling ---- */

static void series_add(struct ring *r, int64_t wall_us, const int64_t delta[static SERIES_NAMES],
                       int64_t waiting)
{
    int64_t n = wall_us / (r->step_s * CLOCK_S);
    size_t at = (size_t)(n % (int64_t)r->slots);

    if (r->step[at] != n) {
        r->step[at] = n;
        memset(r->value[at], 0, sizeof r->value[at]);
    }
    for (int i = 0; i < SERIES_NAMES; i++)
        r->value[at][i] += delta[i];
    r->value[at][SERIES_WAITING] = waiting;
}

static void series_note(struct series *s, int64_t wall_us,
                        const int64_t totals[static SERIES_NAMES])
{
    int64_t delta[SERIES_NAMES] = { 0 };

    /* A counter removed with its gateway lowers the total: that is no negative work. */
    for (int i = 0; i < SERIES_NAMES; i++)
        if (totals[i] > s->now.total[i])
            delta[i] = totals[i] - s->now.total[i];
    memcpy(s->now.total, totals, sizeof s->now.total);
    if (wall_us < 0)
        return;
    series_add(&s->fine, wall_us, delta, totals[SERIES_WAITING]);
}

struct sums {
    int64_t total[SERIES_NAMES], dead_letters;
};

static void add_metric(void *arg, const struct metric *m, int64_t value)
{
    static const struct {
        const char *name, *labels; /* NULL: any */
        enum series_name to;
    } known[] = {
        { "waybill_documents_accepted_total", NULL, SERIES_ACCEPTED },
        { "waybill_deliveries_total", "outcome=\"delivered\"", SERIES_DELIVERED },
        { "waybill_deliveries_total", "outcome=\"dead\"", SERIES_DEAD },
        { "waybill_documents_dead_total", NULL, SERIES_DEAD },
        { "waybill_deliveries_total", "outcome=\"retry\"", SERIES_RETRYING },
        { "waybill_queue_depth", NULL, SERIES_WAITING },
    };
    struct sums *to = arg;

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(m->name, known[i].name) == 0 &&
            (known[i].labels == NULL ||
             (m->labels != NULL && strcmp(m->labels, known[i].labels) == 0)))
            to->total[known[i].to] += value;
    if (strcmp(m->name, "waybill_dead_letters") == 0)
        to->dead_letters += value;
}

void series_look(struct series *s, int64_t wall_us)
{
    struct sums sums = { 0 };

    metrics_each(add_metric, &sums);
    (void)pthread_mutex_lock(&s->mutex);
    series_note(s, wall_us, sums.total);
    s->now.dead_letters = sums.dead_letters;
    (void)pthread_mutex_unlock(&s->mutex);
}

void series_now(struct series *s, struct series_now *ret)
{
    (void)pthread_mutex_lock(&s->mutex);
    *ret = s->now;
    (void)pthread_mutex_unlock(&s->mutex);
}

/* ---- reading ---- */

size_t series_steps(struct series *s, int64_t from_us, int64_t wall_us,
                    struct series_step ret[static SERIES_FINE])
{
    struct ring *r = &s->fine;
    int64_t step_us = r->step_s * CLOCK_S, last = wall_us / step_us;
    int64_t first = last - SERIES_FINE + 1, from = (from_us + step_us - 1) / step_us;
    size_t n = 0;

    (void)pthread_mutex_lock(&s->mutex);
    for (int64_t i = from > first ? from : first; i <= last; i++) {
        size_t at = (size_t)(i % (int64_t)r->slots);

        if (i < 0 || r->step[at] != i)
            continue;
        ret[n].at_us = i * step_us;
        memcpy(ret[n++].value, r->value[at], sizeof ret->value);
    }
    (void)pthread_mutex_unlock(&s->mutex);
    return n;
}
