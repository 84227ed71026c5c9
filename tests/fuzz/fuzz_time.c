/* fuzz_time.c - any bytes as the file of a time zone, and as a schedule in that zone.
 *
 * Local times lead to instants that go up with them, a schedule comes after the time that was
 * asked for or never, and nothing outside of the bytes is touched.
 *
 *     tools/run_fuzz 60 fuzz_time
 */
#include "base/auto.h"
#include "base/clock.h"
#include "base/require.h"
#include "core/cron.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void try_zone(const struct zone *z)
{
    int64_t last_s = INT64_MIN;

    for (int64_t local_s = -4000000000; local_s < 20000000000; local_s += 31556952) {
        int64_t until_s, utc_s = zone_utc(z, local_s);

        require(utc_s >= last_s && zone_local(z, utc_s) >= local_s);
        require(zone_local(z, utc_s - 1) < local_s);
        (void)zone_offset(z, utc_s, &until_s);
        require(until_s > utc_s);
        last_s = utc_s;
    }
}

static void try_cron(struct str text, const struct zone *z)
{
    int64_t at_us = 1773000000000000;
    struct cron c;
    struct err err;

    if (!cron_parse(text, &c, &err))
        return;
    for (int i = 0; i < 3; i++) {
        int64_t next_us = cron_next(&c, z, at_us);

        require(next_us > at_us);
        at_us = next_us;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(16 << 20);
    const struct zone *z;
    struct err err;

    require(zone_load(STR("UTC"), &a, &z, &err));
    if (zone_read(str_mem(bytes, size), &a, &z, &err))
        try_zone(z);
    try_cron(str_mem(bytes, size), z);
    try_cron(STR("30 2 * * *"), z);
    try_cron(STR("*/20 * 29 2 *"), z);
    return 0;
}
