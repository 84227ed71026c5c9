#include "test.h"

#include <pthread.h>

#include "base/auto.h"
#include "base/metrics.h"

static int64_t read_arg(void *arg)
{
    return *(int64_t *)arg;
}

static bool prints(const char *want)
{
    AUTO(buf_done) struct buf text = BUF_INIT(1 << 16);

    metrics_print(&text);
    if (strcmp(text.ptr, want) != 0)
        printf("# printed:\n%s# wanted:\n%s", text.ptr, want);
    return strcmp(text.ptr, want) == 0;
}

TEST(metrics_nothing_prints_nothing)
{
    CHECK(prints(""));
}

TEST(metrics_counter_and_gauge)
{
    int64_t elsewhere = -5;
    struct metric c = { .name = "w_c_total", .help = "A counter.", .type = METRIC_COUNTER };
    struct metric g = { .name = "w_g", .help = "A gauge.", .type = METRIC_GAUGE };
    struct metric r = { .name = "w_r",
                        .help = "Kept by somebody else.",
                        .type = METRIC_GAUGE,
                        .read = read_arg,
                        .arg = &elsewhere };

    metrics_register(&c);
    metrics_register(&g);
    metrics_register(&r);
    metric_add(&c, 2);
    metric_add(&c, 40);
    metric_set(&g, 9);
    metric_set(&g, INT64_MIN);
    CHECK(metric_value(&c) == 42);
    CHECK(prints("# HELP w_c_total A counter.\n# TYPE w_c_total counter\nw_c_total 42\n"
                 "# HELP w_g A gauge.\n# TYPE w_g gauge\nw_g -9223372036854775808\n"
                 "# HELP w_r Kept by somebody else.\n# TYPE w_r gauge\nw_r -5\n"));
    metrics_forget(&c);
    metrics_forget(&g);
    metrics_forget(&r);
    CHECK(prints(""));
}

TEST(metrics_family_stands_together_with_one_head)
{
    struct metric m[] = {
        { .name = "w_a_total", .help = "A.", .labels = "gateway=\"x\"", .type = METRIC_COUNTER },
        { .name = "w_b", .help = "B.", .type = METRIC_GAUGE },
        { .name = "w_a_total", .help = "A.", .labels = "gateway=\"y\"", .type = METRIC_COUNTER },
        { .name = "w_a", .help = "Not A.", .type = METRIC_GAUGE },
        { .name = "w_a_total", .help = "A.", .type = METRIC_COUNTER },
    };

    for (size_t i = 0; i < sizeof m / sizeof m[0]; i++) {
        metric_set(&m[i], (int64_t)i);
        metrics_register(&m[i]);
    }
    CHECK(prints("# HELP w_a_total A.\n# TYPE w_a_total counter\n"
                 "w_a_total{gateway=\"x\"} 0\nw_a_total{gateway=\"y\"} 2\nw_a_total 4\n"
                 "# HELP w_b B.\n# TYPE w_b gauge\nw_b 1\n"
                 "# HELP w_a Not A.\n# TYPE w_a gauge\nw_a 3\n"));
    for (size_t i = 0; i < sizeof m / sizeof m[0]; i++)
        metrics_forget(&m[i]);
}

TEST(metrics_histogram_is_cumulative)
{
    struct metric h = { .name = "w_s", .help = "Time.", .type = METRIC_HISTOGRAM };
    static const int64_t seen[] = { 0, 100, 101, 250, 999, 1000, 1000000, 1000001, 60000000, -7 };

    metrics_register(&h);
    for (size_t i = 0; i < sizeof seen / sizeof seen[0]; i++)
        metric_observe_us(&h, seen[i]);
    CHECK(metric_value(&h) == 10);
    CHECK(prints("# HELP w_s Time.\n# TYPE w_s histogram\n"
                 "w_s_bucket{le=\"0.0001\"} 3\nw_s_bucket{le=\"0.00025\"} 5\n"
                 "w_s_bucket{le=\"0.0005\"} 5\nw_s_bucket{le=\"0.001\"} 7\n"
                 "w_s_bucket{le=\"0.0025\"} 7\nw_s_bucket{le=\"0.005\"} 7\n"
                 "w_s_bucket{le=\"0.01\"} 7\nw_s_bucket{le=\"0.025\"} 7\n"
                 "w_s_bucket{le=\"0.1\"} 7\nw_s_bucket{le=\"0.25\"} 7\n"
                 "w_s_bucket{le=\"1\"} 8\nw_s_bucket{le=\"+Inf\"} 10\n"
                 "w_s_sum 62.002451\nw_s_count 10\n"));
    metrics_forget(&h);
}

TEST(metrics_histogram_with_labels_and_a_large_sum)
{
    AUTO(buf_done) struct buf text = BUF_INIT(1 << 16);
    struct metric h = {
        .name = "w_s", .help = "Time.", .labels = "to=\"erp\"", .type = METRIC_HISTOGRAM
    };

    metrics_register(&h);
    metric_observe_us(&h, INT64_C(123456789000001));
    metrics_print(&text);
    CHECK(strstr(text.ptr, "w_s_bucket{to=\"erp\",le=\"1\"} 0\n") != NULL);
    CHECK(strstr(text.ptr, "w_s_bucket{to=\"erp\",le=\"+Inf\"} 1\n") != NULL);
    CHECK(strstr(text.ptr, "\nw_s_sum{to=\"erp\"} 123456789.000001\n") != NULL);
    CHECK(strstr(text.ptr, "\nw_s_count{to=\"erp\"} 1\n") != NULL);
    metrics_forget(&h);
}

TEST(metrics_register_twice_and_forget_in_any_order)
{
    struct metric a = { .name = "w_a", .help = "A.", .type = METRIC_GAUGE };
    struct metric b = { .name = "w_b", .help = "B.", .type = METRIC_GAUGE };
    struct metric c = { .name = "w_c", .help = "C.", .type = METRIC_GAUGE };

    metrics_forget(&a); /* never registered */
    metrics_register(&a);
    metrics_register(&b);
    metrics_register(&b);
    metrics_register(&a);
    metrics_forget(&b); /* the last */
    metrics_register(&c);
    CHECK(
        prints("# HELP w_a A.\n# TYPE w_a gauge\nw_a 0\n# HELP w_c C.\n# TYPE w_c gauge\nw_c 0\n"));
    metrics_forget(&a); /* the first */
    metrics_register(&b);
    CHECK(
        prints("# HELP w_c C.\n# TYPE w_c gauge\nw_c 0\n# HELP w_b B.\n# TYPE w_b gauge\nw_b 0\n"));
    metrics_forget(&c);
    metrics_forget(&b);
    metrics_forget(&b);
    CHECK(prints(""));
}

static void *count(void *m)
{
    for (int i = 0; i < 20000; i++) {
        metric_add(m, 1);
        if (i % 100 == 0)
            metric_observe_us((struct metric *)m + 1, i);
    }
    return NULL;
}

TEST(metrics_count_from_many_threads_while_printed)
{
    enum { THREADS = 4 };
    struct metric m[] = { { .name = "w_c", .help = "C.", .type = METRIC_COUNTER },
                          { .name = "w_h", .help = "H.", .type = METRIC_HISTOGRAM } };
    pthread_t t[THREADS];

    metrics_register(&m[0]);
    metrics_register(&m[1]);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&t[i], NULL, count, m) == 0);
    for (int i = 0; i < 50; i++) {
        AUTO(buf_done) struct buf text = BUF_INIT(1 << 16);

        metrics_print(&text);
    }
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(t[i], NULL);
    CHECK(metric_value(&m[0]) == THREADS * 20000 && metric_value(&m[1]) == THREADS * 200);
    metrics_forget(&m[0]);
    metrics_forget(&m[1]);
}

int main(void)
{
    return test_main();
}
