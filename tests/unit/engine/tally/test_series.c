#include "engine/tally/series.h"

#include "test.h"

#include "base/clock.h"
#include "base/metrics.h"

#define AT(seconds) ((int64_t)(seconds)*CLOCK_S)

static int64_t read_number(void *arg)
{
    return *(const int64_t *)arg;
}

/* Look while the metrics say this. */
static void note(struct series *s, int64_t at_s, int64_t accepted, int64_t waiting)
{
    struct metric in = { .name = "waybill_documents_accepted_total",
                         .help = "x",
                         .read = read_number,
                         .arg = &accepted };
    struct metric depth = { .name = "waybill_queue_depth",
                            .help = "x",
                            .type = METRIC_GAUGE,
                            .read = read_number,
                            .arg = &waiting };

    metrics_register(&in);
    metrics_register(&depth);
    series_look(s, AT(at_s));
    metrics_forget(&in);
    metrics_forget(&depth);
}

TEST(series_counts_each_step_and_tells_what_waits)
{
    struct series *s = series_new();
    struct series_step got[SERIES_FINE];

    note(s, 1000001, 3, 7); /* what came before the first look counts too */
    note(s, 1000005, 5, 9);
    note(s, 1000012, 5, 2);
    note(s, 1000031, 11, 0);
    CHECK(series_steps(s, AT(1000000), AT(1000035), got) == 3); /* nothing from 20 to 30 */
    CHECK(got[0].at_us == AT(1000000) && got[1].at_us == AT(1000010));
    CHECK(got[2].at_us == AT(1000030));
    CHECK(got[0].value[SERIES_ACCEPTED] == 5 && got[0].value[SERIES_WAITING] == 9);
    CHECK(got[1].value[SERIES_ACCEPTED] == 0 && got[1].value[SERIES_WAITING] == 2);
    CHECK(got[2].value[SERIES_ACCEPTED] == 6 && got[2].value[SERIES_WAITING] == 0);
    CHECK(series_steps(s, AT(1000001), AT(1000035), got) == 2); /* whole steps */
    CHECK(series_steps(s, AT(1000040), AT(1000035), got) == 0);
    series_free(s);
}

TEST(series_forgets_what_is_old)
{
    struct series *s = series_new();
    struct series_step got[SERIES_FINE];

    note(s, 1000000, 4, 0);
    note(s, 1000000 + 3600, 5, 0); /* the same place of the ring */
    CHECK(series_steps(s, 0, AT(1003600), got) == 1);
    CHECK(got[0].at_us == AT(1003600) && got[0].value[SERIES_ACCEPTED] == 1);
    series_free(s);
}

TEST(series_survives_counters_that_go_and_clocks_that_jump)
{
    struct series *s = series_new();
    struct series_step got[SERIES_FINE];
    struct series_now now;

    note(s, 1000000, 10, 0);
    note(s, 1000001, 4, 0); /* a gateway went, and its counter with it */
    note(s, 1000002, 6, 0);
    CHECK(series_steps(s, AT(1000000), AT(1000002), got) == 1);
    CHECK(got[0].value[SERIES_ACCEPTED] == 12);
    note(s, -50, 9, 0); /* before there was time */
    note(s, 5, 10, 0);
    CHECK(series_steps(s, 0, AT(5), got) == 1);
    CHECK(got[0].value[SERIES_ACCEPTED] == 1 && got[0].at_us == 0);
    series_now(s, &now);
    CHECK(now.total[SERIES_ACCEPTED] == 10);
    series_free(s);
}

TEST(series_reads_the_metrics)
{
    static struct metric in = { .name = "waybill_documents_accepted_total",
                                .help = "x",
                                .labels = "gateway=\"a\"" };
    static struct metric out = { .name = "waybill_deliveries_total",
                                 .help = "x",
                                 .labels = "outcome=\"delivered\"" };
    static struct metric parked = { .name = "waybill_deliveries_total",
                                    .help = "x",
                                    .labels = "outcome=\"parked\"" };
    static struct metric dead = { .name = "waybill_dead_letters",
                                  .help = "x",
                                  .type = METRIC_GAUGE };
    struct metric *all[] = { &in, &out, &parked, &dead };
    struct series *s = series_new();
    struct series_now now;

    for (size_t i = 0; i < 4; i++) {
        metrics_register(all[i]);
        metric_add(all[i], (int64_t)i + 1);
    }
    series_look(s, AT(1000000));
    series_now(s, &now);
    CHECK(now.total[SERIES_ACCEPTED] == 1 && now.total[SERIES_DELIVERED] == 2);
    CHECK(now.total[SERIES_DEAD] == 0 && now.dead_letters == 4);
    for (size_t i = 0; i < 4; i++)
        metrics_forget(all[i]);
    series_free(s);
}

int main(void)
{
    return test_main();
}
