#include "engine/tally/charts.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/metrics.h"
#include "engine/tally/ways.h"
#include "folder.h"
#include "store/open.h"
#include "store/store.h"
#include "test.h"

static struct metric accepted = { .name = "waybill_documents_accepted_total",
                                  .help = "-",
                                  .labels = "gateway=\"in\"",
                                  .type = METRIC_COUNTER };

/* A store, and what counts in it. */
struct desk {
    struct folder folder;
    struct store *store;
    struct series *series;
    struct ways *ways;
    struct charts *charts;
    int64_t gateway;
    _Atomic bool over;
};

static bool desk_open(struct desk *d, struct err *err)
{
    d->folder = folder_make();
    d->series = series_new();
    d->ways = ways_new();
    metrics_register(&accepted);
    if (!store_open(&(struct store_options){ .data = d->folder.path, .area = "internal" },
                    &d->store, err) ||
        !name_add(d->store, NAME_GATEWAY, STR("in"), &d->gateway, err))
        return false;
    d->charts = charts_new(d->store, d->series, d->ways);
    return true;
}

static void desk_close(struct desk *d)
{
    charts_free(d->charts);
    metrics_forget(&accepted);
    store_close(d->store);
    ways_free(d->ways);
    series_free(d->series);
    folder_done(&d->folder);
}

static int64_t ask(struct desk *d)
{
    struct gateway_counts one = { .gateway = d->gateway };
    struct err err = { 0 };

    return charts_gateways(d->charts, &one, 1, &err) ? one.accepted : -1;
}

static void *keep_asking(void *arg)
{
    static _Thread_local int64_t rows[SERIES_COARSE][SERIES_NAMES];
    struct desk *d = arg;
    int64_t from, wrong = 0;
    struct err err = { 0 };
    size_t n;

    while (!atomic_load(&d->over)) {
        wrong += ask(d) < 0;
        wrong +=
            !charts_series(d->charts, SERIES_STEP_FINE, 0, clock_wall_us(), rows, &n, &from, &err);
    }
    return wrong == 0 ? d : NULL;
}

TEST(charts_count_each_thing_once_before_and_after_a_save)
{
    struct desk d = { 0 };
    struct err err = { 0 };

    CHECK(desk_open(&d, &err));
    for (int64_t i = 1; i <= 3; i++) {
        metric_add(&accepted, 10);
        CHECK(ask(&d) == 10 * i); /* in memory */
        CHECK(charts_save(d.charts, true, &err));
        CHECK(ask(&d) == 10 * i); /* in the store */
    }
    desk_close(&d);
    metric_set(&accepted, 0);
}

TEST(charts_are_asked_while_they_are_saved)
{
    struct desk d = { 0 };
    struct err err = { 0 };
    pthread_t askers[2];
    void *fine;

    CHECK(desk_open(&d, &err));
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&askers[i], NULL, keep_asking, &d) == 0);
    for (int i = 0; i < 30; i++) {
        metric_add(&accepted, 1);
        CHECK(charts_save(d.charts, true, &err));
        clock_sleep_us(2 * CLOCK_MS);
    }
    atomic_store(&d.over, true);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_join(askers[i], &fine) == 0 && fine == &d);
    CHECK(ask(&d) == 30);
    desk_close(&d);
    metric_set(&accepted, 0);
}

int main(void)
{
    return test_main();
}
