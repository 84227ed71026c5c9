/* What the queue check finds is told once: lines, mishaps, alerts.  The alerts are ours. */
#include "job/telling.h"

#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "engine/tally/mishaps.h"
#include "engine/watch/alerts.h"
#include "test.h"

static int64_t alerts_seen, alerts_over;

void alerts_see(struct alerts *a, enum alert_code code, struct str object, int64_t value,
                const char *message)
{
    (void)a, (void)code, (void)object, (void)message;
    alerts_seen += value;
}

void alerts_see_over(struct alerts *a, enum alert_code code,
                     bool (*is_so)(const void *ctx, enum alert_code code, struct str object),
                     const void *ctx)
{
    (void)a;
    alerts_over += !is_so(ctx, code, STR("j0"));
}

struct scene {
    struct mishaps *mishaps;
    struct telling *telling;
    FILE *log;
};

static struct scene scene_begin(void)
{
    struct scene s = { .mishaps = mishaps_new(), .log = tmpfile() };

    s.telling = telling_new(NULL, s.mishaps);
    alerts_seen = alerts_over = 0;
    if (s.log != NULL)
        log_start(fileno(s.log));
    return s;
}

/* How many lines of the log have this text; ends the scene. */
struct said {
    int64_t named, more;
    char last_more[400];
};

static struct said scene_end(struct scene *s)
{
    struct said said = { 0 };
    char line[4096];

    log_stop();
    rewind(s->log);
    while (fgets(line, sizeof line, s->log) != NULL) {
        said.named += strstr(line, "\"job.overdue\"") != NULL;
        if (strstr(line, "\"job.overdue_more\"") == NULL)
            continue;
        said.more++;
        (void)snprintf(said.last_more, sizeof said.last_more, "%.399s", line);
    }
    (void)fclose(s->log);
    telling_free(s->telling);
    mishaps_free(s->mishaps);
    return said;
}

/* A whole look that finds j0 and so on. */
static void look(const struct scene *s, enum telling_of of, int jobs)
{
    char name[20];

    for (int i = 0; i < jobs; i++) {
        (void)snprintf(name, sizeof name, "j%d", i);
        telling_found(s->telling, of, str_of(name), "why");
    }
    telling_end(s->telling, of);
}

TEST(each_is_told_once_and_again_when_it_comes_back)
{
    struct scene s = scene_begin();

    CHECK(s.log != NULL);
    for (int i = 0; i < 3; i++)
        look(&s, TELLING_UNCLAIMED, 2);
    look(&s, TELLING_TOKENLESS, 0); /* it shares the alert */
    int64_t over = alerts_over;

    look(&s, TELLING_UNCLAIMED, 0);
    int64_t over_now = alerts_over;

    look(&s, TELLING_UNCLAIMED, 1);
    struct said said = scene_end(&s);

    CHECK(over == 0 && over_now == 1 && alerts_seen == 7);
    CHECK(said.named == 3 && said.more == 0);
}

TEST(a_flood_is_cut_and_counted_once)
{
    struct scene s = scene_begin();

    CHECK(s.log != NULL);
    look(&s, TELLING_UNCLAIMED, 500);
    look(&s, TELLING_UNCLAIMED, 500);
    struct said said = scene_end(&s);

    CHECK(said.named == TELLING_LINES && said.more == 1);
    CHECK(strstr(said.last_more, "\"count\":480") != NULL);
}

/* Suspended jobs are told by whoever suspended them, and take no room from those that are late. */
TEST(many_suspended_jobs_hide_no_late_ones)
{
    struct scene s = scene_begin();

    CHECK(s.log != NULL);
    for (int i = 0; i < 3; i++) {
        look(&s, TELLING_SUSPENDED, TELLING_MOST + 500);
        look(&s, TELLING_UNCLAIMED, 3);
    }
    struct said said = scene_end(&s);

    CHECK(said.named == 3 && said.more == 0);
}

TEST(what_has_no_room_is_told_once)
{
    struct scene s = scene_begin();

    CHECK(s.log != NULL);
    for (int i = 0; i < 3; i++)
        look(&s, TELLING_UNCLAIMED, TELLING_MOST + 500);
    look(&s, TELLING_UNCLAIMED, TELLING_MOST); /* all have room ... */
    look(&s, TELLING_UNCLAIMED, TELLING_MOST + 7);
    struct said said = scene_end(&s);

    CHECK(said.named == TELLING_LINES && said.more == 2);
    CHECK(strstr(said.last_more, "\"count\":7,") != NULL ||
          strstr(said.last_more, "\"count\":7}") != NULL);
    CHECK(alerts_seen == 3 * (TELLING_MOST + 500) + TELLING_MOST + TELLING_MOST + 7);
}

int main(void)
{
    return test_main();
}
