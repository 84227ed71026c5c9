#include "engine/tally/charts.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/metrics.h"
#include "base/wait.h"
#include "engine/tally/ways.h"
#include "store/store.h"
#include "store/watch/chart.h"

enum {
    FINE_US = SERIES_STEP_FINE * CLOCK_S,
    MINUTE_US = 60 * CLOCK_S,
    ALONE_US = 60 * CLOCK_S,  /* how often is saved when no other node reads it ... */
    SHARED_US = 10 * CLOCK_S, /* ... and when others may */
    IDLE_US = CLOCK_S / 2,    /* how long a question waits for the end of a save */
    READS_MOST = 5            /* of a question, if saves come in between */
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
    int64_t every_us;

    pthread_mutex_t mutex; /* guards the fields below; never held over a call of the store */
    pthread_cond_t idle;
    bool saving;         /* one thread saves: only it changes what follows */
    int64_t saves;       /* how many have ended */
    int64_t saved_us;    /* when the last one began; monotonic */
    int64_t upto_us;     /* steps that begin before this are saved */
    struct totals saved; /* as of the last save */
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
    (void)pthread_cond_init(&c->idle, NULL);
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

/* By the thread that set `saving`, without the lock: what was saved before only this thread
 * changes. */
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
    (void)pthread_mutex_lock(&c->mutex);
    struct totals old = c->saved;

    c->saved = now;
    now = old; /* freed */
    if (n > 0)
        c->upto_us = steps[n - 1].at_us + FINE_US;
    (void)pthread_mutex_unlock(&c->mutex);
    return true;
}

/* With the lock held; false: somebody still saves. */
static bool charts_wait_idle(struct charts *c, int64_t patience_us)
{
    int64_t until = clock_mono_us() + patience_us;

    while (c->saving && clock_mono_us() < until)
        (void)wait_until(&c->idle, &c->mutex, until);
    return !c->saving;
}

bool charts_save(struct charts *c, bool stopping, struct err *err)
{
    int64_t now = clock_mono_us();

    (void)pthread_mutex_lock(&c->mutex);
    bool due = stopping || now - c->saved_us >= c->every_us;

    due = due && charts_wait_idle(c, stopping ? IDLE_US : 0);
    if (due) {
        c->saving = true;
        c->saved_us = now;
    }
    (void)pthread_mutex_unlock(&c->mutex);
    if (!due)
        return true;
    bool ok = save(c, stopping, err);

    (void)pthread_mutex_lock(&c->mutex);
    c->saving = false;
    c->saves++;
    (void)pthread_cond_broadcast(&c->idle);
    (void)pthread_mutex_unlock(&c->mutex);
    return ok;
}

/* ---- questions ---- */

/* What a question reads from the store. */
struct charts_read {
    bool (*read)(struct store *s, struct charts_read *r, struct err *err);
    int64_t from_us, to_us, step_us;
    struct chart_step *steps;
    struct chart_count *counts;
    size_t count;
};

/* Reads, and returns with the lock held if it could.  What a save moves from memory to the store
 * in between would be missed or counted twice, so the read is repeated; a few times, because the
 * store may be slow. */
static bool charts_read(struct charts *c, struct charts_read *r, struct err *err)
{
    for (int i = 1;; i++) {
        (void)pthread_mutex_lock(&c->mutex);
        (void)charts_wait_idle(c, IDLE_US);
        int64_t saves = c->saves;

        (void)pthread_mutex_unlock(&c->mutex);
        if (!r->read(c->store, r, err))
            return false;
        (void)pthread_mutex_lock(&c->mutex);
        if ((c->saves == saves && !c->saving) || i == READS_MOST)
            return true;
        (void)pthread_mutex_unlock(&c->mutex);
    }
}

static void add_step(int64_t *to, const int64_t value[static SERIES_NAMES])
{
    for (int i = 0; i < SERIES_NAMES; i++) {
        int64_t before = to[i] == SERIES_NONE ? 0 : to[i];

        to[i] = i == SERIES_WAITING ? value[i] : before + value[i];
    }
}

static bool charts_read_steps(struct store *s, struct charts_read *r, struct err *err)
{
    return chart_steps(s, r->from_us, r->to_us, r->step_us, r->steps, &r->count, err);
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
    size_t own_count = 0;

    if (from > first)
        first = from <= last ? from : last;
    *ret_from_us = first * step_us;
    *ret_count = (size_t)(last - first + 1);
    memset(ret, 0xff, *ret_count * sizeof *ret); /* SERIES_NONE */
    struct charts_read r = { .read = charts_read_steps,
                             .from_us = first * step_us,
                             .to_us = (last + 1) * step_us,
                             .step_us = step_us,
                             .steps = steps };
    bool ok = charts_read(c, &r, err);

    if (ok) {
        own_count = series_steps(c->series, c->upto_us, wall_us, own);
        (void)pthread_mutex_unlock(&c->mutex);
    }
    for (size_t i = 0; ok && i < r.count; i++)
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

static bool charts_read_counts(struct store *s, struct charts_read *r, struct err *err)
{
    return chart_since(s, r->from_us, CHART_ACCEPTED, r->counts, &r->count, err);
}

bool charts_gateways(struct charts *c, struct gateway_counts *io, size_t count, struct err *err)
{
    AUTO(totals_done) struct totals stored = totals_new(), now = totals_new();

    struct charts_read r = { .read = charts_read_counts,
                             .from_us = clock_wall_us() - DAY_US,
                             .counts = stored.list };

    if (!charts_read(c, &r, err))
        return false;
    stored.count = r.count;
    count_now(c, &now);
    add_gateways(io, count, &stored, NULL);
    add_gateways(io, count, &now, &c->saved);
    (void)pthread_mutex_unlock(&c->mutex);
    return true;
}
