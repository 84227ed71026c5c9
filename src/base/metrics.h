/* metrics.h - counters, gauges and histograms, as Prometheus reads them.
 *
 * A metric is a static variable in the file that counts; its owner registers it
 * with metrics_register().  Counting
 * is one relaxed atomic addition.  Series with labels are created in advance by
 * their owner (with the gateway, for example), never per event.
 *
 * Threads: counting from any; register and print take a lock.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

enum { METRIC_BUCKETS = 12 }; /* 100 us, 250 us, 500 us, 1 ms ... 1 s; the last is unbounded */

struct metric {
    const char *name;   /* "waybill_documents_accepted_total" */
    const char *help;   /* one line */
    const char *labels; /* "gateway=\"orders\"", or NULL; lives as long as the metric */
    enum metric_type type;
    bool slow; /* a histogram of what takes seconds: its buckets are a thousand times wider */
    int64_t (*read)(void *arg); /* for a value that is kept elsewhere; or NULL */
    void *arg;
    void *arg2; /* for the owner */

    _Atomic int64_t value; /* counter, gauge; count of a histogram */
    _Atomic int64_t sum_us;
    _Atomic int64_t bucket[METRIC_BUCKETS];
    struct metric *next;
};

void metrics_register(struct metric *m); /* m is lent until metrics_forget(); idempotent */
void metrics_forget(struct metric *m);
void metrics_print(struct buf *to); /* families in the order of registration */
/* Calls `see` for every counter and gauge; `see` must not register or forget metrics. */
void metrics_each(void (*see)(void *arg, const struct metric *m, int64_t value), void *arg);

static inline void metric_add(struct metric *m, int64_t n)
{
    atomic_fetch_add_explicit(&m->value, n, memory_order_relaxed);
}

static inline void metric_set(struct metric *m, int64_t v)
{
    atomic_store_explicit(&m->value, v, memory_order_relaxed);
}

static inline int64_t metric_value(struct metric *m)
{
    return atomic_load_explicit(&m->value, memory_order_relaxed);
}

void metric_observe_us(struct metric *m, int64_t us);
