#include "engine/tally/charts.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/metrics.h"
#include "engine/tally/ways.h"
#include "store/store.h"
#include "store/watch/chart.h"

enum {
    FINE_US = SERIES_STEP_FINE * CLOCK_S,
    MINUTE_US = 60 * CLOCK_S,
    ALONE_US = 60 * CLOCK_S,  /* how often is saved when no other node reads it ... */
    SHARED_US = 10 * CLOCK_S, /* ... and when others may */
};
#define DAY_US (INT64_C(86400) * CLOCK_S)

/* Totals of this process, sorted; at most CHART_COUNTS_MOST. */
struct totals {
    struct chart_count *list;
    size_t count;
};

struct charts {
    struct store *store;
    struct series *series;
    struct ways *ways;
    pthread_mutex_t mutex;
    int64_t every_us, saved_us; /* monotonic */
    int64_t upto_us;            /* steps that begin before this are saved */
    struct totals saved;        /* as of the last save */
};

static struct totals totals_new(void)
{
    return (struct totals){ .list = xcalloc(CHART_COUNTS_MOST, sizeof(struct chart_count)) };
}

static void totals_done(struct totals *t)
{
    free(t->list);
}

struct charts *charts_new(struct store *store, struct series *series, struct ways *ways)
{
    struct charts *c = NEW(struct charts);

    *c = (struct charts){ .store = store,
                          .series = series,
                          .ways = ways,
                          .every_us = store_kind(store) == DB_SQLITE ? ALONE_US : SHARED_US,
                          .saved_us = clock_mono_us(),
                          .saved = totals_new() };
    (void)pthread_mutex_init(&c->mutex, NULL);
    return c;
}

void charts_free(struct charts *c)
{
    if (c == NULL)
        return;
    totals_done(&c->saved);
    free(c);
}

/* ---- totals of this process ---- */

static int charts_by_key(const void *a, const void *b)
{
    const struct chart_count *x = a, *y = b;

    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->one != y->one)
        return x->one < y->one ? -1 : 1;
    return x->two < y->two ? -1 : x->two > y->two;
}

static int64_t total_of(const struct totals *t, const struct chart_count *key)
{
    const struct chart_count *found =
        t->count > 0 ? bsearch(key, t->list, t->count, sizeof *t->list, charts_by_key) : NULL;

    return found != NULL ? found->n : 0;
}

struct counting {
    struct store *store;
    struct totals *to;
};

/* Counters of gateways have the label gateway="NAME". */
static void add_counter_of(void *arg, const struct metric *m, int64_t value)
{
    static const struct {
        const char *name;
        int64_t kind;
    } known[] = {
        { "waybill_documents_accepted_total", CHART_ACCEPTED },
        { "waybill_documents_repeated_total", CHART_REPEATED },
        { "waybill_documents_refused_total", CHART_REFUSED },
    };
    struct counting *k = arg;
    struct str name;
    int64_t word;

    if (m->labels == NULL || !str_starts(str_of(m->labels), STR("gateway=\"")))
        return;
    (void)str_cut(str_from(str_of(m->labels), strlen("gateway=\"")), '"', &name);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(m->name, known[i].name) == 0 && k->to->count < CHART_COUNTS_MOST &&
            name_find(k->store, NAME_GATEWAY, name, &word))
            k->to->list[k->to->count++] =
                (struct chart_count){ .kind = known[i].kind, .one = word, .n = value };
}

static void count_now(struct charts *c, struct totals *ret)
{
    struct way_seen *ways = xcalloc(WAYS_MOST, sizeof *ways);
    size_t n = ways_list(c->ways, ways);
    struct counting k = { c->store, ret };

    for (size_t i = 0; i < n && ret->count < CHART_COUNTS_MOST; i++)
        ret->list[ret->count++] = (struct chart_count){
            .kind = ways[i].kind, .one = ways[i].from, .two = ways[i].to, .n = ways[i].total
        };
    free(ways);
    metrics_each(add_counter_of, &k);
    qsort(ret->list, ret->count, sizeof *ret->list, charts_by_key);
}

/* ---- saving ---- */

/* Complete steps that are not saved yet; those after the end of the node, too. */
static size_t steps_to_save(struct charts *c, int64_t wall_us, bool stopping,
                            struct chart_step ret[static SERIES_FINE])
{
    struct series_step steps[SERIES_FINE];
    size_t n = series_steps(c->series, c->upto_us, wall_us, steps), kept = 0;

    for (size_t i = 0; i < n; i++)
        if (stopping || steps[i].at_us + FINE_US <= wall_us)
            ret[kept++] = (struct chart_step){ .at_us = steps[i].at_us,
                                               .accepted = steps[i].value[SERIES_ACCEPTED],
                                               .delivered = steps[i].value[SERIES_DELIVERED],
                                               .dead = steps[i].value[SERIES_DEAD],
                                               .retrying = steps[i].value[SERIES_RETRYING],
                                               .waiting = steps[i].value[SERIES_WAITING] };
    return kept;
}

/* With the lock held. */
static bool save(struct charts *c, bool stopping, struct err *err)
{
    AUTO(totals_done) struct totals now = totals_new(), more = totals_new();
    struct chart_step steps[SERIES_FINE];
    int64_t wall = clock_wall_us();
    size_t n = steps_to_save(c, wall, stopping, steps);

    count_now(c, &now);
    for (size_t i = 0; i < now.count; i++) {
        struct chart_count one = now.list[i];

        one.n -= total_of(&c->saved, &now.list[i]);
        if (one.n > 0)
            more.list[more.count++] = one;
    }
    struct chart_add add = { .steps = steps,
                             .step_count = n,
                             .minute_us = wall / MINUTE_US * MINUTE_US,
                             .counts = more.list,
                             .count = more.count };

    if (!chart_add(c->store, &add, err))
        return false;
    struct totals old = c->saved;

    c->saved = now;
    now = old; /* freed */
    if (n > 0)
        c->upto_us = steps[n - 1].at_us + FINE_US;
    return true;
}

bool charts_save(struct charts *c, bool stopping, struct err *err)
{
    int64_t now = clock_mono_us();
    bool ok = true;

    (void)pthread_mutex_lock(&c->mutex);
    if (stopping || now - c->saved_us >= c->every_us) {
        c->saved_us = now;
        ok = save(c, stopping, err);
    }
    (void)pthread_mutex_unlock(&c->mutex);
    return ok;
}

/* ---- questions ---- */

static void add_step(int64_t *to, const int64_t value[static SERIES_NAMES])
{
    for (int i = 0; i < SERIES_NAMES; i++) {
        int64_t before = to[i] == SERIES_NONE ? 0 : to[i];

        to[i] = i == SERIES_WAITING ? value[i] : before + value[i];
    }
}

bool charts_series(struct charts *c, int step_s, int64_t since_us, int64_t wall_us,
                   int64_t (*ret)[SERIES_NAMES], size_t *ret_count, int64_t *ret_from_us,
                   struct err *err)
{
    int64_t step_us = step_s * CLOCK_S, last = wall_us / step_us;
    int64_t slots = step_s == SERIES_STEP_FINE ? SERIES_FINE : SERIES_COARSE;
    int64_t first = last - slots + 1, from = since_us / step_us;
    struct chart_step *steps = xcalloc(CHART_STEPS_MOST, sizeof *steps);
    struct series_step own[SERIES_FINE];
    size_t n = 0, own_count = 0;

    if (from > first)
        first = from <= last ? from : last;
    *ret_from_us = first * step_us;
    *ret_count = (size_t)(last - first + 1);
    memset(ret, 0xff, *ret_count * sizeof *ret); /* SERIES_NONE */
    (void)pthread_mutex_lock(&c->mutex);
    bool ok = chart_steps(c->store, first * step_us, (last + 1) * step_us, step_us, steps, &n, err);

    if (ok)
        own_count = series_steps(c->series, c->upto_us, wall_us, own);
    (void)pthread_mutex_unlock(&c->mutex);
    for (size_t i = 0; ok && i < n; i++)
        add_step(ret[steps[i].at_us / step_us - first],
                 (int64_t[]){ [SERIES_ACCEPTED] = steps[i].accepted,
                              [SERIES_DELIVERED] = steps[i].delivered,
                              [SERIES_DEAD] = steps[i].dead,
                              [SERIES_RETRYING] = steps[i].retrying,
                              [SERIES_WAITING] = steps[i].waiting });
    for (size_t i = 0; i < own_count; i++)
        if (own[i].at_us / step_us >= first && own[i].at_us / step_us <= last)
            add_step(ret[own[i].at_us / step_us - first], own[i].value);
    free(steps);
    return ok;
}

static void charts_add_gateway(struct gateway_counts *g, int64_t kind, int64_t n)
{
    if (kind == CHART_ACCEPTED)
        g->accepted += n;
    else if (kind == CHART_REPEATED)
        g->repeated += n;
    else if (kind == CHART_REFUSED)
        g->refused += n;
}

static void add_gateways(struct gateway_counts *io, size_t count, const struct totals *from,
                         const struct totals *less)
{
    for (size_t i = 0; i < from->count; i++)
        for (size_t k = 0; from->list[i].kind >= CHART_ACCEPTED && k < count; k++)
            if (io[k].gateway == from->list[i].one)
                charts_add_gateway(&io[k], from->list[i].kind,
                                   from->list[i].n -
                                       (less != NULL ? total_of(less, &from->list[i]) : 0));
}

bool charts_gateways(struct charts *c, struct gateway_counts *io, size_t count, struct err *err)
{
    AUTO(totals_done) struct totals stored = totals_new(), now = totals_new();

    (void)pthread_mutex_lock(&c->mutex);
    bool ok = chart_since(c->store, clock_wall_us() - DAY_US, CHART_ACCEPTED, stored.list,
                          &stored.count, err);

    if (ok) {
        count_now(c, &now);
        add_gateways(io, count, &stored, NULL);
        add_gateways(io, count, &now, &c->saved);
    }
    (void)pthread_mutex_unlock(&c->mutex);
    return ok;
}
