#include "test.h"

#include <stdio.h>

#include "base/auto.h"
#include "base/file.h"
#include "folder.h"
#include "store/db/pg_lineage.h"

static int reports;

static void count_report(void *arg, const char *what, const struct err *err)
{
    (void)arg;
    (void)what;
    (void)err;
    reports++;
}

static struct pg_lineage *lineage_at(int fd, struct err *err)
{
    struct pg_lineage *l = NULL;

    return pg_lineage_open(fd, count_report, NULL, &l, err) ? l : NULL;
}

static bool takes(struct pg_lineage *l, int64_t system, int64_t timeline, struct err *err)
{
    struct pg_server s = { .system = system, .timeline = timeline, .place = "db1:5432" };

    *err = (struct err){ 0 };
    return pg_lineage_take(l, &s, err);
}

/* proves: FO7 */
TEST(pg_lineage_passes_over_what_is_old_or_another)
{
    static const struct {
        const char *what;
        int64_t system, timeline;
        bool taken;
        const char *said;
    } cases[] = {
        { "the first server", 7, 2, true, "" },
        { "the same again", 7, 2, true, "" },
        { "an old primary", 7, 1, false, "db1:5432 is an old primary (timeline 1" },
        { "another server", 8, 9, false, "not a copy" },
        { "a promotion", 7, 3, true, "" },
        { "the primary before", 7, 2, false, "old primary" },
    };
    AUTO(folder_done) struct folder f = folder_make();
    struct err err = { 0 };
    struct pg_lineage *l = lineage_at(f.fd, &err);

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bool ok = takes(l, cases[i].system, cases[i].timeline, &err) == cases[i].taken &&
                  strstr(err.text, cases[i].said) != NULL &&
                  (cases[i].taken || err.sys == PG_PASSED_OVER);

        if (!ok)
            printf("# %s: %s\n", cases[i].what, err.text);
        CHECK(ok);
    }
    CHECK(pg_lineage_is_over(l, 2) && !pg_lineage_is_over(l, 3));
    pg_lineage_free(l);
    l = lineage_at(f.fd, &err); /* the folder remembers */
    CHECK(!takes(l, 7, 2, &err) && takes(l, 7, 3, &err));
    pg_lineage_free(l);
    CHECK(reports == 0);
}

TEST(pg_lineage_tells_what_was_passed_over_last)
{
    AUTO(folder_done) struct folder f = folder_make();
    struct err err = { 0 };
    struct pg_lineage *l = lineage_at(f.fd, &err);
    char text[100] = "";

    CHECK(!pg_lineage_passed_over(l, text, sizeof text));
    CHECK(takes(l, 7, 2, &err) && !takes(l, 7, 1, &err));
    pg_lineage_walked(l, &err);
    CHECK(pg_lineage_passed_over(l, text, sizeof text) && strstr(text, "db1:5432") != NULL);
    pg_lineage_walked(l, &(struct err){ 0 });
    CHECK(!pg_lineage_passed_over(l, text, sizeof text));
    pg_lineage_free(l);
}

TEST(pg_lineage_that_is_damaged_or_missing)
{
    AUTO(folder_done) struct folder f = folder_make();
    struct err err = { 0 };

    CHECK(publish_bytes(f.fd, PG_LINEAGE_FILE, STR("7 two\n"), 0600, &err));
    CHECK(lineage_at(f.fd, &err) == NULL && err.kind == ERR_CONFIG);
    CHECK(takes(NULL, 1, 1, &err) && takes(NULL, 2, 0, &err)); /* no folder, no memory */
}

int main(void)
{
    return test_main();
}
