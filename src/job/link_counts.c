#include "job/link_counts.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/metrics.h"

enum { TABLES_MOST = 1000, LABELS_MOST = 600 };

enum link_metric {
    LINK_METRIC_STATE,
    LINK_METRIC_LAG,
    LINK_METRIC_BACKLOG,
    LINK_METRIC_WRITTEN,
    LINK_METRIC_REMOVED,
    LINK_METRIC_BYTES,
    LINK_METRIC_ASIDE,
    LINK_METRIC_CONFLICTS,
    LINK_METRIC_DIFFERENCES, /* from here on: of verification */
    LINK_METRIC_VERIFIED,
    LINK_METRICS
};

struct link_count {
    struct link_count *next;
    unsigned refs;
    _Atomic int64_t current_us, same_us; /* 0: never */
    struct metric metrics[LINK_METRICS];
    char labels[LABELS_MOST];
};

static pthread_mutex_t link_counts_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct link_count *link_counts;
static size_t link_counts_count;

static const struct {
    const char *name, *help;
    enum metric_type type;
} link_metrics[LINK_METRICS] = {
    [LINK_METRIC_STATE] = { "waybill_repl_state",
                            "How a table of a link stands: 0 new, 1 loading, 2 current, 3 behind, "
                            "4 stopped.",
                            METRIC_GAUGE },
    [LINK_METRIC_LAG] = { "waybill_repl_lag_seconds",
                          "How long ago a table of a link was current; -1: never.", METRIC_GAUGE },
    [LINK_METRIC_BACKLOG] = { "waybill_repl_backlog",
                              "Changes that wait at the source of a table of a link.",
                              METRIC_GAUGE },
    [LINK_METRIC_WRITTEN] = { "waybill_repl_rows_total", "Rows of a link that were written.",
                              METRIC_COUNTER },
    [LINK_METRIC_REMOVED] = { "waybill_repl_removed_total", "Rows of a link that were removed.",
                              METRIC_COUNTER },
    [LINK_METRIC_BYTES] = { "waybill_repl_bytes_total", "Bytes of rows of a link.",
                            METRIC_COUNTER },
    [LINK_METRIC_ASIDE] = { "waybill_repl_set_aside", "Rows of a link that could not be written.",
                            METRIC_GAUGE },
    [LINK_METRIC_CONFLICTS] = { "waybill_repl_conflicts_total",
                                "Rows of a link that goes both ways that have lost against others.",
                                METRIC_COUNTER },
    [LINK_METRIC_DIFFERENCES] = { "waybill_repl_differences",
                                  "Rows of a table of a link that differ, as its last pass of "
                                  "verification has left them.",
                                  METRIC_GAUGE },
    [LINK_METRIC_VERIFIED] = { "waybill_repl_verified_seconds",
                               "How long ago verification has found both sides of a table of a "
                               "link the same; -1: not yet.",
                               METRIC_GAUGE },
};

static int64_t link_counts_age(int64_t then_us)
{
    int64_t now_us = clock_wall_us();

    if (then_us == 0)
        return -1;
    return now_us > then_us ? (now_us - then_us) / CLOCK_S : 0;
}

static int64_t link_counts_lag(void *arg)
{
    struct link_count *c = arg;

    return link_counts_age(atomic_load(&c->current_us));
}

static int64_t link_counts_verified(void *arg)
{
    struct link_count *c = arg;

    return link_counts_age(atomic_load(&c->same_us));
}

/* A text of the configuration as the value of a label. */
static size_t link_counts_label(char *to, size_t room, const char *key, struct str value)
{
    size_t n = (size_t)snprintf(to, room, "%s=\"", key);

    for (size_t i = 0; i < value.len && n + 3 < room; i++) {
        if (value.ptr[i] == '"' || value.ptr[i] == '\\')
            to[n++] = '\\';
        to[n++] = (unsigned char)value.ptr[i] < ' ' ? ' ' : value.ptr[i];
    }
    to[n++] = '"';
    return n;
}

static struct link_count *link_counts_new(const char *labels)
{
    struct link_count *c = NEW(struct link_count);

    *c = (struct link_count){ .refs = 1, .next = link_counts };
    (void)snprintf(c->labels, sizeof c->labels, "%s", labels);
    for (int i = 0; i < LINK_METRICS; i++)
        c->metrics[i] = (struct metric){ .name = link_metrics[i].name,
                                         .help = link_metrics[i].help,
                                         .type = link_metrics[i].type,
                                         .labels = c->labels,
                                         .read = i == LINK_METRIC_LAG        ? link_counts_lag
                                                 : i == LINK_METRIC_VERIFIED ? link_counts_verified
                                                                             : NULL,
                                         .arg = c };
    link_counts = c;
    link_counts_count++;
    return c;
}

struct link_count *link_counts_take(struct str link, struct str table)
{
    char labels[LABELS_MOST];
    size_t n = link_counts_label(labels, LABELS_MOST / 2, "link", link);

    labels[n++] = ',';
    n += link_counts_label(labels + n, LABELS_MOST - n - 1, "table", table);
    labels[n] = '\0';
    (void)pthread_mutex_lock(&link_counts_mutex);
    struct link_count *c = link_counts;

    while (c != NULL && !str_is(str_mem(labels, n), c->labels))
        c = c->next;
    if (c != NULL)
        c->refs++;
    else if (link_counts_count < TABLES_MOST)
        c = link_counts_new(labels);
    (void)pthread_mutex_unlock(&link_counts_mutex);
    return c;
}

void link_counts_put(struct link_count *c)
{
    if (c == NULL)
        return;
    (void)pthread_mutex_lock(&link_counts_mutex);
    if (--c->refs == 0) {
        struct link_count **at = &link_counts;

        while (*at != c)
            at = &(*at)->next;
        *at = c->next;
        link_counts_count--;
        for (int i = 0; i < LINK_METRICS; i++)
            metrics_forget(&c->metrics[i]);
        free(c);
    }
    (void)pthread_mutex_unlock(&link_counts_mutex);
}

void link_counts_set(struct link_count *c, const struct link_state *s)
{
    if (c == NULL)
        return;
    atomic_store(&c->current_us, s->current_us);
    metric_set(&c->metrics[LINK_METRIC_STATE], s->stands);
    metric_set(&c->metrics[LINK_METRIC_BACKLOG], s->backlog);
    metric_set(&c->metrics[LINK_METRIC_WRITTEN], s->written);
    metric_set(&c->metrics[LINK_METRIC_REMOVED], s->removed);
    metric_set(&c->metrics[LINK_METRIC_BYTES], s->bytes);
    metric_set(&c->metrics[LINK_METRIC_ASIDE], s->set_aside);
    metric_set(&c->metrics[LINK_METRIC_CONFLICTS], s->conflicts);
    for (int i = 0; i < LINK_METRIC_DIFFERENCES; i++)
        metrics_register(&c->metrics[i]);
}

void link_counts_differ(struct link_count *c, int64_t rows, int64_t now_us)
{
    if (c == NULL)
        return;
    if (rows == 0)
        atomic_store(&c->same_us, now_us);
    metric_set(&c->metrics[LINK_METRIC_DIFFERENCES], rows);
    for (int i = LINK_METRIC_DIFFERENCES; i < LINK_METRICS; i++)
        metrics_register(&c->metrics[i]);
}
