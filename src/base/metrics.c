#include "base/metrics.h"

#include <pthread.h>
#include <stdbool.h>

#include "base/require.h"

static const int64_t bounds_us[METRIC_BUCKETS] = { 100,   250,   500,    1000,   2500,    5000,
                                                   10000, 25000, 100000, 250000, 1000000, 0 };

enum { SLOWER = 1000 };

static int64_t metrics_bound_us(const struct metric *m, int i)
{
    return bounds_us[i] * (m->slow ? SLOWER : 1);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct metric *first, **end = &first;

void metrics_register(struct metric *m)
{
    bool there = false;

    require(m->name != NULL && m->help != NULL);
    (void)pthread_mutex_lock(&mutex);
    for (const struct metric *o = first; o != NULL; o = o->next)
        there = there || o == m;
    if (!there) {
        m->next = NULL;
        *end = m;
        end = &m->next;
    }
    (void)pthread_mutex_unlock(&mutex);
}

void metrics_forget(struct metric *m)
{
    (void)pthread_mutex_lock(&mutex);
    for (struct metric **p = &first; *p != NULL; p = &(*p)->next)
        if (*p == m) {
            *p = m->next;
            if (end == &m->next)
                end = p;
            break;
        }
    (void)pthread_mutex_unlock(&mutex);
}

void metric_observe_us(struct metric *m, int64_t us)
{
    int i = 0;

    while (i < METRIC_BUCKETS - 1 && us > metrics_bound_us(m, i))
        i++;
    atomic_fetch_add_explicit(&m->bucket[i], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&m->sum_us, us > 0 ? us : 0, memory_order_relaxed);
    atomic_fetch_add_explicit(&m->value, 1, memory_order_relaxed);
}

static void print_labels(struct buf *to, const struct metric *m)
{
    if (m->labels != NULL)
        buf_printf(to, "{%s}", m->labels);
}

/* Prints all digits, so that a sum that grew for months still shows its last second. */
static void print_seconds(struct buf *to, int64_t us)
{
    buf_printf(to, " %lld.%06lld\n", (long long)(us / 1000000), (long long)(us % 1000000));
}

static void print_histogram(struct buf *to, struct metric *m)
{
    const char *own = m->labels != NULL ? m->labels : "", *comma = m->labels != NULL ? "," : "";
    int64_t below = 0;

    for (int i = 0; i < METRIC_BUCKETS; i++) {
        below += atomic_load(&m->bucket[i]);
        buf_printf(to, "%s_bucket{%s%sle=\"", m->name, own, comma);
        if (i == METRIC_BUCKETS - 1)
            buf_puts(to, "+Inf");
        else
            buf_printf(to, "%g", (double)metrics_bound_us(m, i) / 1e6);
        buf_printf(to, "\"} %lld\n", (long long)below);
    }
    buf_printf(to, "%s_sum", m->name);
    print_labels(to, m);
    print_seconds(to, atomic_load(&m->sum_us));
    buf_printf(to, "%s_count", m->name);
    print_labels(to, m);
    buf_printf(to, " %lld\n", (long long)below);
}

static int64_t metrics_value_of(struct metric *m)
{
    return m->read != NULL ? m->read(m->arg) : metric_value(m);
}

static void print_one(struct buf *to, struct metric *m)
{
    if (m->type == METRIC_HISTOGRAM) {
        print_histogram(to, m);
        return;
    }
    buf_puts(to, m->name);
    print_labels(to, m);
    buf_printf(to, " %lld\n", (long long)metrics_value_of(m));
}

void metrics_each(void (*see)(void *arg, const struct metric *m, int64_t value), void *arg)
{
    (void)pthread_mutex_lock(&mutex);
    for (struct metric *m = first; m != NULL; m = m->next)
        if (m->type != METRIC_HISTOGRAM)
            see(arg, m, metrics_value_of(m));
    (void)pthread_mutex_unlock(&mutex);
}

static bool is_first_of_family(const struct metric *m)
{
    for (const struct metric *o = first; o != m; o = o->next)
        if (str_eq(str_of(o->name), str_of(m->name)))
            return false;
    return true;
}

void metrics_print(struct buf *to)
{
    static const char *const types[] = { "counter", "gauge", "histogram" };

    (void)pthread_mutex_lock(&mutex);
    for (struct metric *m = first; m != NULL; m = m->next) {
        if (!is_first_of_family(m))
            continue;
        buf_printf(to, "# HELP %s %s\n# TYPE %s %s\n", m->name, m->help, m->name, types[m->type]);
        for (struct metric *o = m; o != NULL; o = o->next)
            if (str_eq(str_of(o->name), str_of(m->name)))
                print_one(to, o);
    }
    (void)pthread_mutex_unlock(&mutex);
}
