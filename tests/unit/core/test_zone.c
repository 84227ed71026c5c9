#include "core/zone.h"

#include <fcntl.h>

#include "base/auto.h"
#include "base/file.h"
#include "core/civil.h"
#include "test.h"

static const int64_t never = INT64_MAX;

/* "2026-03-29 02:30" or with seconds, as if it were UTC. */
static int64_t at(const char *text)
{
    int y, mo, d, h, mi, s = 0;
    int n = sscanf(text, "%d-%d-%d %d:%d:%d", &y, &mo, &d, &h, &mi, &s);

    return n < 5 ? INT64_MIN : civil_day(y, mo, d) * CIVIL_DAY_S + h * 3600 + mi * 60 + s;
}

/* The zone's clock at an instant, and the instant that a local time means. */
TEST(zone_tells_the_time)
{
    static const struct {
        const char *zone, *utc, *local;
    } cases[] = {
        { "UTC", "2026-07-01 12:00", "2026-07-01 12:00" },
        { "Europe/Berlin", "2026-03-29 00:59:59", "2026-03-29 01:59:59" },
        { "Europe/Berlin", "2026-03-29 01:00", "2026-03-29 03:00" },
        { "Europe/Berlin", "2026-10-25 00:59:59", "2026-10-25 02:59:59" },
        { "Europe/Berlin", "2026-10-25 01:00", "2026-10-25 02:00" },
        { "Europe/Berlin", "2099-07-01 12:00", "2099-07-01 14:00" }, /* by the rule */
        { "Europe/Berlin", "2499-12-31 12:00", "2499-12-31 13:00" },
        { "America/New_York", "2026-03-08 07:00", "2026-03-08 03:00" },
        { "Australia/Lord_Howe", "2026-01-15 00:00", "2026-01-15 11:00" },
        { "Australia/Lord_Howe", "2050-06-15 00:00", "2050-06-15 10:30" },
        { "America/Sao_Paulo", "2018-12-01 12:00", "2018-12-01 10:00" },
        { "America/Sao_Paulo", "2026-12-01 12:00", "2026-12-01 09:00" },
        { "Pacific/Apia", "2011-12-30 09:59:59", "2011-12-29 23:59:59" },
        { "Pacific/Apia", "2011-12-30 10:00", "2011-12-31 00:00" },
        { "Asia/Kolkata", "2026-12-01 00:00", "2026-12-01 05:30" },
        { "America/St_Johns", "2045-07-01 12:00", "2045-07-01 09:30" },
        { "Europe/Dublin", "2060-01-01 12:00", "2060-01-01 12:00" }, /* winter is the exception */
        { "Europe/Dublin", "2060-07-01 12:00", "2060-07-01 13:00" },
        { "Etc/GMT+5", "2026-01-01 05:00", "2026-01-01 00:00" },
    };
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 22);

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct zone *z;
        struct err err;

        CHECK(zone_load(str_of(cases[i].zone), &a, &z, &err));
        CHECK(zone_local(z, at(cases[i].utc)) == at(cases[i].local));
    }
}

/* proves: WI5 */
TEST(zone_gap_is_the_first_valid_instant_and_overlap_the_first_of_two)
{
    static const struct {
        const char *zone, *local, *utc;
    } cases[] = {
        { "Europe/Berlin", "2026-03-29 01:59", "2026-03-29 00:59" },
        { "Europe/Berlin", "2026-03-29 02:00", "2026-03-29 01:00" },
        { "Europe/Berlin", "2026-03-29 02:30", "2026-03-29 01:00" },
        { "Europe/Berlin", "2026-03-29 03:00", "2026-03-29 01:00" },
        { "Europe/Berlin", "2026-03-29 03:01", "2026-03-29 01:01" },
        { "Europe/Berlin", "2026-10-25 01:59", "2026-10-24 23:59" },
        { "Europe/Berlin", "2026-10-25 02:00", "2026-10-25 00:00" },
        { "Europe/Berlin", "2026-10-25 02:59:59", "2026-10-25 00:59:59" },
        { "Europe/Berlin", "2026-10-25 03:00", "2026-10-25 02:00" },
        { "Australia/Lord_Howe", "2026-10-04 02:15", "2026-10-03 15:30" },
        { "Australia/Lord_Howe", "2026-04-05 01:45", "2026-04-04 14:45" },
        { "Australia/Lord_Howe", "2026-04-05 02:00", "2026-04-04 15:30" },
        { "Pacific/Apia", "2011-12-30 12:00", "2011-12-30 10:00" }, /* a day that was not */
        { "America/Sao_Paulo", "2018-11-04 00:00", "2018-11-04 03:00" },
        { "America/Sao_Paulo", "2018-02-17 23:30", "2018-02-18 01:30" },
    };
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 22);

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct zone *z;
        struct err err;

        CHECK(zone_load(str_of(cases[i].zone), &a, &z, &err));
        CHECK(zone_utc(z, at(cases[i].local)) == at(cases[i].utc));
    }
}

TEST(zone_utc_never_goes_down)
{
    static const char *const names[] = {
        "Europe/Berlin",     "Australia/Lord_Howe", "Pacific/Apia",
        "America/Sao_Paulo", "Africa/Monrovia",     "Asia/Manila"
    };
    const int64_t from = at("1830-01-01 00:00"), end = at("2060-01-01 00:00");
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 22);

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct zone *z;
        struct err err;
        int64_t last = INT64_MIN;

        CHECK(zone_load(str_of(names[i]), &a, &z, &err));
        for (int64_t local = from; local < end; local += 1711) {
            int64_t utc = zone_utc(z, local);

            CHECK(utc >= last);
            CHECK(zone_local(z, utc) >= local && zone_local(z, utc - 1) < local);
            last = utc;
        }
    }
}

TEST(zone_offsets_end)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    const struct zone *z;
    struct err err;
    int64_t until;

    CHECK(zone_load(STR("UTC"), &a, &z, &err));
    CHECK(zone_offset(z, 0, &until) == 0 && until == never);
    CHECK(zone_load(STR("Asia/Kolkata"), &a, &z, &err));
    CHECK(zone_offset(z, at("2026-01-01 00:00"), &until) == 19800 && until == never);
    CHECK(zone_load(STR("Europe/Berlin"), &a, &z, &err));
    CHECK(zone_offset(z, at("2026-01-01 00:00"), &until) == 3600);
    CHECK(until == at("2026-03-29 01:00"));
    CHECK(zone_offset(z, at("2400-01-01 00:00"), &until) == 3600);
    CHECK(until == at("2400-03-26 01:00"));
    CHECK(zone_offset(z, at("2501-01-01 00:00"), &until) == 3600 && until == never);
    CHECK(zone_offset(z, INT64_MIN, &until) == 3208); /* as the sun stood there */
}

TEST(zone_names_that_are_not_known)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    AUTO(buf_done) struct buf names = BUF_INIT(64 * 1024);
    static const char *const wrong[] = {
        "Europe/Berlim", "Europe",    "../etc/passwd", "",
        "zone.tab",      "tzdata.zi", "leapseconds",   "right/UTC"
    };
    const struct zone *z = NULL;
    struct err err = { 0 };

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        CHECK(!zone_load(str_of(wrong[i]), &a, &z, &err) && err.kind == ERR_CONFIG && z == NULL);
    zone_names(&names);
    CHECK(strstr(names.ptr, "\nEurope/Berlin\n") != NULL);
    CHECK(strstr(names.ptr, "\nAmerica/St_Johns\n") != NULL);
    CHECK(strstr(names.ptr, "\nUTC\n") != NULL);
}

TEST(zone_shelf_reads_each_once)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct zone_shelf shelf = { .arena = &a };
    const struct zone *one, *two, *three;
    struct err err;

    CHECK(zone_shelf_get(&shelf, STR("Europe/Berlin"), &one, &err));
    CHECK(zone_shelf_get(&shelf, STR("Asia/Tehran"), &two, &err));
    size_t used = a.used;

    CHECK(zone_shelf_get(&shelf, STR("Europe/Berlin"), &three, &err));
    CHECK(one == three && one != two && a.used == used);
    CHECK(!zone_shelf_get(&shelf, STR("Europe/Berlim"), &three, &err));
    CHECK(strstr(err.text, "Europe/Berlim") != NULL);
}

/* ---- files ---- */

/* One block of 64 bits: UTC, one type, no change, and the rule. */
static struct str file_with(struct buf *b, int32_t offset, const char *rule)
{
    static const char zeros[64];
    char type[6] = { (char)((uint32_t)offset >> 24), (char)((uint32_t)offset >> 16),
                     (char)((uint32_t)offset >> 8), (char)offset };

    b->len = 0;
    for (int i = 0; i < 2; i++) {
        buf_put(b, STR("TZif2"));
        buf_put(b, str_mem(zeros, 15 + 16));
        buf_put(b, str_mem("\0\0\0\1\0\0\0\0", 8)); /* types, chars */
        buf_put(b, str_mem(type, 6));
    }
    buf_puts(b, "\n");
    buf_puts(b, rule);
    buf_puts(b, "\n");
    return buf_view(b);
}

TEST(zone_rules)
{
    static const struct {
        const char *rule, *utc;
        int64_t offset;
    } cases[] = {
        { "<+00>0", "2030-07-01 00:00", 7 }, /* what the file itself says stays */
        { "CET-1CEST,M3.5.0,M10.5.0/3", "2030-07-01 00:00", 7200 },
        { "CET-1CEST,M3.5.0,M10.5.0/3", "2030-12-01 00:00", 3600 },
        { "<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2030-03-31 00:59", -7200 },
        { "<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "2030-03-31 01:00", -3600 },
        { "A1B0,J60/0,J300/0", "2028-03-01 00:59", -3600 }, /* a leap year changes nothing */
        { "A1B0,J60/0,J300/0", "2028-03-01 01:00", 0 },
        { "A1B0,60/0,300/0", "2028-02-29 12:00", -3600 },
        { "A1B0,60/0,300/0", "2028-03-01 01:00", 0 },
        { "A1B0,60/0,300/0", "2030-03-02 00:59", -3600 },
        { "XXX3EDT4,0/0,J365/23", "2030-01-01 00:00", -14400 }, /* summer all year */
        { "XXX3EDT4,0/0,J365/23", "2030-07-01 00:00", -14400 },
        { "A-9:30B-10:30:15,M10.1.0,M4.1.0/3", "2030-01-01 00:00", 37815 },
        { "A-9:30B-10:30:15,M10.1.0,M4.1.0/3", "2030-07-01 00:00", 34200 },
    };
    static const char *const wrong[] = {
        "CET",
        "-1",
        "CET-1CEST",
        "CET-1CEST,M3.5.0",
        "CET-1CEST,M3.5.0,M10.5.0/3x",
        "<CET-1",
        "CET-25",
        "CET-1:60",
        "CET-1CEST,M13.5.0,M10.5.0",
        "CET-1CEST,M3.0.0,M10.5.0",
        "<>0",
        "C-1D,J0,J1",
        "C-1D,J366,J1",
        "C-1D,366,1",
        "C-1D,M3.6.0,M10.5.0",
        "C-1D,1/168,200",
        "C-1D,M3.5.7,M10.5.0",
        "C-1D,",
        "C-1D-",
        "C-1:",
    };
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 22);
    AUTO(buf_done) struct buf b = BUF_INIT(4096);
    const struct zone *z;
    struct err err = { 0 };
    int64_t until;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK(zone_read(file_with(&b, 7, cases[i].rule), &a, &z, &err));
        CHECK(zone_offset(z, at(cases[i].utc), &until) == cases[i].offset);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        CHECK(!zone_read(file_with(&b, 7, wrong[i]), &a, &z, &err));
        CHECK(strstr(err.text, "rule") != NULL);
    }
    CHECK(!zone_read(file_with(&b, 100000, ""), &a, &z, &err)); /* more than a day */
    CHECK(zone_read(file_with(&b, -18000, ""), &a, &z, &err));
    CHECK(zone_offset(z, 0, &until) == -18000 && until == never);
}

/* Cut anywhere, or with any byte changed: an error or a zone, never a read outside. */
TEST(zone_files_that_are_damaged)
{
    AUTO(buf_done) struct buf file = BUF_INIT(ZONE_BYTES_MOST);
    struct err err = { 0 };

    CHECK(file_read_whole(AT_FDCWD, "/usr/share/zoneinfo/Europe/Berlin", &file, &err));
    for (size_t n = 0; n < file.len; n++) {
        AUTO(arena_done) struct arena a = ARENA_INIT(1 << 22);
        const struct zone *z = NULL;
        char *copy = malloc(n + 1); /* of its own, so that a sanitizer sees its end */

        memcpy(copy, file.ptr, n);
        CHECK(!zone_read(str_mem(copy, n), &a, &z, &err) && z == NULL);
        free(copy);
        for (int bit = 0; bit < 8; bit += 7) {
            int64_t until;

            file.ptr[n] = (char)(file.ptr[n] ^ 1 << bit);
            if (zone_read(buf_view(&file), &a, &z, &err)) {
                (void)zone_utc(z, at("2026-03-29 02:30"));
                (void)zone_offset(z, at("2026-03-29 02:30"), &until);
            }
            file.ptr[n] = (char)(file.ptr[n] ^ 1 << bit);
        }
    }
}

int main(void)
{
    return test_main();
}
