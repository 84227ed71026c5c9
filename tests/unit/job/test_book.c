/* What a book makes of the jobs of a configuration.  Queues come from a real store. */
#include "job/book.h"

#include "app/registry.h"
#include "base/auto.h"
#include "base/clock.h"
#include "core/config.h"
#include "folder.h"
#include "store/job/job.h"
#include "store/open.h"
#include "store/store.h"
#include "test.h"

struct bench {
    struct folder folder;
    struct store *store;
};

static void bench_done(struct bench *b)
{
    if (b->store != NULL)
        store_close(b->store);
    folder_done(&b->folder);
}

static struct bench bench_make(void)
{
    struct bench b = { .folder = folder_make() };
    struct err err = { 0 };

    if (!store_open(&(struct store_options){ .data = b.folder.path, .area = "internal" }, &b.store,
                    &err))
        (void)printf("# %s\n", err.text);
    return b;
}

static void book_done(struct book **b)
{
    book_unref(*b);
}

static struct book *book_of(struct bench *b, const char *text)
{
    static const struct config_options options = { .connectors = &registry };
    AUTO(config_report_done) struct config_report report = CONFIG_REPORT_INIT;
    struct config *config = config_load(str_of(text), "test", &options, &report);
    struct book *book = NULL;
    struct err err = { 0 };

    if (config == NULL)
        (void)printf("# %s\n", report.problems.items[0].message);
    else if (!book_build(config, 7, &registry, b->store, &book, &err))
        (void)printf("# %s\n", err.text);
    config_unref(config);
    return book;
}

TEST(a_book_has_what_the_configuration_says)
{
    AUTO(bench_done) struct bench b = bench_make();
    AUTO(book_done)
    struct book *book = book_of(
        &b, "jobs:\n"
            "  z: { kind: note, every: 10m }\n"
            "  a: { kind: note, title: A, at: [ \"0 2 * * *\", \"14:00\" ], zone: Europe/Berlin,\n"
            "       area: dmz, parallel: 3, timeout: 2m, log: all }\n"
            "  c: { kind: call, url: \"http://x/\", once: 2026-12-24T22:00 }\n");
    const struct book_job *a, *c, *z;
    int64_t queue;
    struct err err;

    CHECK(book != NULL && book->version == 7 && book->count == 3);
    CHECK(str_is(book->jobs[0].name, "a") && str_is(book->jobs[2].name, "z")); /* by name */
    a = book_find(book, STR("a")), c = book_find(book, STR("c")), z = book_find(book, STR("z"));
    CHECK(a != NULL && c != NULL && z != NULL && book_find(book, STR("b")) == NULL);
    CHECK(str_is(a->title, "A") && str_is(a->kind, "note") && str_is(a->zone, "Europe/Berlin"));
    CHECK(str_is(a->times, "0 2 * * *, 14:00") && str_is(z->times, "every 10m"));
    CHECK(str_is(c->times, "once 2026-12-24T22:00") && str_is(z->zone, "UTC"));
    CHECK(a->log == JOB_LOG_ALL && z->log == JOB_LOG_ERRORS);
    CHECK(a->parallel == 3 && z->parallel == 1);
    CHECK(a->timeout_us == INT64_C(120) * CLOCK_S && z->timeout_us == INT64_C(3600) * CLOCK_S);
    CHECK(c->timeout_us == INT64_C(30) * CLOCK_S); /* its kind has another default */
    CHECK(job_queue(b.store, STR("dmz"), &queue, &err) && a->queue == queue);
    CHECK(job_queue(b.store, STR(""), &queue, &err) && z->queue == queue && a->queue != queue);
    CHECK(a->self != NULL && a->broken == NULL && a->seed != z->seed);
}

#define SAME(one, two)                                              \
    do {                                                            \
        AUTO(book_done) struct book *x = book_of(&b, one);          \
        AUTO(book_done) struct book *y = book_of(&b, two);          \
                                                                    \
        CHECK(x != NULL && y != NULL);                              \
        same = digest_same(&x->jobs[0].digest, &y->jobs[0].digest); \
    } while (0)

TEST(a_digest_covers_what_the_job_does_and_when)
{
    static const char one[] = "calendars: { f: { dates: [ 12-25 ] }, g: { dates: [ 01-01 ] } }\n"
                              "jobs: { j: { kind: note, at: \"@daily\", holidays: f } }\n";
    static const struct {
        const char *text;
        bool same;
    } cases[] = {
        { "# a comment\ncalendars: { f: { dates: [ \"12-25\" ] }, g: { dates: [ 05-01 ] } }\n"
          "jobs: { j: { kind: note, at: '@daily', holidays: f } }\n",
          true }, /* another calendar */
        { "calendars: { f: { dates: [ 12-25 ] } }\n"
          "jobs: { j: { kind: note, at: \"@daily\", holidays: f, title: T, log: all } }\n",
          true },
        { "calendars: { f: { dates: [ 12-26 ] } }\n"
          "jobs: { j: { kind: note, at: \"@daily\", holidays: f } }\n",
          false },
        { "calendars: { f: { dates: [ 12-25 ] } }\n"
          "jobs: { j: { kind: note, at: \"@hourly\", holidays: f } }\n",
          false },
        { "calendars: { f: { dates: [ 12-25 ] } }\n"
          "jobs: { j: { kind: note, at: \"@daily\", holidays: f, text: x } }\n",
          false },
        { "calendars: { f: { dates: [ 12-25 ] } }\n"
          "jobs: { j: { kind: note, at: \"@daily\", holidays: f, retry: { for: 0s } } }\n",
          false },
    };
    AUTO(bench_done) struct bench b = bench_make();

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bool same;

        SAME(one, cases[i].text);
        if (same != cases[i].same)
            printf("# %s\n", cases[i].text);
        CHECK(same == cases[i].same);
    }
}

TEST(what_cannot_run_here_is_broken_and_keeps_nothing_else_from_running)
{
    AUTO(bench_done) struct bench b = bench_make();
    AUTO(book_done)
    struct book *book =
        book_of(&b, "jobs:\n"
                    "  a: { kind: call, url: \"http://x/\", every: 1s, password: secret:none }\n"
                    "  b: { kind: note, at: \"@daily\", zone: Mars/Olympus }\n"
                    "  c: { kind: note, at: \"@daily\" }\n");

    CHECK(book != NULL && book->count == 3);
    CHECK(book->jobs[0].broken != NULL && strstr(book->jobs[0].broken, "none") != NULL);
    CHECK(book->jobs[0].self == NULL && book->jobs[0].schedule.form == SCHEDULE_EVERY);
    CHECK(book->jobs[1].broken != NULL && strstr(book->jobs[1].broken, "Mars/Olympus") != NULL);
    CHECK(book->jobs[2].broken == NULL && book->jobs[2].self != NULL);
}

/* What ends its runs is known all the same. */
TEST(a_job_whose_zone_is_not_known_has_all_but_its_times)
{
    AUTO(bench_done) struct bench b = bench_make();
    AUTO(book_done)
    struct book *book =
        book_of(&b, "jobs:\n"
                    "  a: { kind: note, at: \"@daily\", zone: Mars/Olympus, timeout: 8h,\n"
                    "       parallel: 3, suspend: 7, retry: { first: 9s } }\n"
                    "  b: { kind: call, url: \"http://x/\", every: 9s, zone: Mars/Olympus }\n"
                    "  c: { kind: note, every: 9s }\n");
    const struct book_job *a, *c;

    CHECK(book != NULL && book->count == 3 && book->unknown_count == 2);
    a = &book->jobs[0], c = &book->jobs[1];
    CHECK(a->times_unknown && c->times_unknown && !book->jobs[2].times_unknown);
    CHECK(a->schedule.form == SCHEDULE_AT && a->schedule.suspend == 7 && a->parallel == 3);
    CHECK(a->schedule.retry.first_us == 9 * CLOCK_S && a->self != NULL);
    CHECK(a->timeout_us == INT64_C(8) * 3600 * CLOCK_S && c->timeout_us == 30 * CLOCK_S);
    CHECK(c->schedule.form == SCHEDULE_EVERY && strstr(c->broken, "Mars/Olympus") != NULL);
    CHECK(nominal_any(&a->schedule.times, 0) != 0); /* of some zone */
}

TEST(a_job_whose_service_acknowledges_later)
{
    AUTO(bench_done) struct bench b = bench_make();
    AUTO(book_done)
    struct book *book =
        book_of(&b, "location: { url: \"https://here.example/below/\" }\n"
                    "jobs:\n"
                    "  a: { kind: call, url: \"http://x/\", every: 1s, ack: later }\n"
                    "  b: { kind: call, url: \"http://x/\", every: 1s, ack: later, timeout: 5s }\n"
                    "  c: { kind: call, url: \"http://x/\", every: 1s, ack: now }\n");

    CHECK(book != NULL && str_is(book->ack_url, "https://here.example/below/work/ack"));
    CHECK(book->jobs[0].leaves && book->jobs[0].timeout_us == INT64_C(3600) * CLOCK_S);
    CHECK(book->jobs[1].leaves && book->jobs[1].timeout_us == 5 * CLOCK_S);
    CHECK(!book->jobs[2].leaves && book->jobs[2].timeout_us == 30 * CLOCK_S);
    CHECK(book->jobs[0].broken == NULL);
}

TEST(where_the_address_of_this_site_is_not_known_it_is_broken)
{
    AUTO(bench_done) struct bench b = bench_make();
    AUTO(book_done)
    struct book *book =
        book_of(&b, "location: { url: \"https://${secret:none}/\" }\n"
                    "jobs: { a: { kind: call, url: \"http://x/\", every: 1s, ack: later } }\n");

    CHECK(book != NULL && book->jobs[0].broken != NULL);
    CHECK(strstr(book->jobs[0].broken, "location.url") != NULL);
}

/* ---- links ---- */

#define LINKS(base, link, tables)                                                           \
    "databases:\n  a: { kind: postgres, dsn: \"host=x dbname=" base "\" }\n"                \
    "  b: { kind: postgres, dsn: \"host=y\" }\n  c: { kind: mariadb, dsn: \"z\" }\n"        \
    "links:\n  l: { from: a, to: b, verify: [ { every: 1h } ], " link ", tables: { " tables \
    " } }\n"

TEST(a_table_of_a_link_is_a_job)
{
    AUTO(bench_done) struct bench b = bench_make();
    AUTO(book_done)
    struct book *book =
        book_of(&b, LINKS("one", "area: dmz, every: 3s, idle_most: 30s, retry: { for: 9s }",
                          "t: {}, s.u: {}"));
    int64_t queue;
    struct err err;

    CHECK(book != NULL && book->count == 4);
    const struct book_job *t = book_find(book, STR("l/t"));

    CHECK(t != NULL && book_find(book, STR("l/s.u/verify")) != NULL);
    CHECK(str_is(t->kind, "replicate") && t->self != NULL && t->broken == NULL);
    CHECK(job_queue(b.store, STR("dmz"), &queue, &err) && t->queue == queue);
    CHECK(str_is(t->times, "every 3s") && t->schedule.form == SCHEDULE_EVERY);
    CHECK(t->schedule.every_us == 3 * CLOCK_S && t->schedule.idle_most_us == 30 * CLOCK_S);
    CHECK(t->schedule.suspend == 0 && t->parallel == 1);
    CHECK(t->schedule.retry.first_us == CLOCK_S && t->schedule.retry.most_us == 60 * CLOCK_S);
    CHECK(t->schedule.retry.for_us == 9 * CLOCK_S);
}

/* `one` is without a secret, which this store does not have. */
TEST(a_link_that_was_changed_is_another_job_where_it_matters)
{
    static const struct {
        const char *text;
        bool same;
    } cases[] = {
        { "# a comment\n" LINKS("one", "every: 3s", "t: {  }, u: {}"), true },
        { LINKS("one", "every: 3s, title: T", "t: {}"), true },
        { LINKS("two", "every: 3s", "t: {}"), false }, /* another database */
        { LINKS("one", "every: 4s", "t: {}"), false },
        { LINKS("one", "every: 3s, deletes: { most: 5 }", "t: {}"), false },
        { LINKS("one", "every: 3s", "t: { to: v }"), false },
        { LINKS("one", "every: 3s", "t: { cast: { a: dec } }"), false },
        { LINKS("one", "every: 3s", "t: {}") "  m: { from: c, to: b, tables: { w: {} } }\n", true },
    };
    AUTO(bench_done) struct bench b = bench_make();

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(book_done) struct book *x = book_of(&b, LINKS("one", "every: 3s", "t: {}"));
        AUTO(book_done) struct book *y = book_of(&b, cases[i].text);

        CHECK(x != NULL && y != NULL);
        const struct book_job *one = book_find(x, STR("l/t")), *two = book_find(y, STR("l/t"));

        CHECK(one != NULL && two != NULL);
        if (digest_same(&one->digest, &two->digest) != cases[i].same)
            printf("# %s\n", cases[i].text);
        CHECK(digest_same(&one->digest, &two->digest) == cases[i].same);
    }
}

TEST(a_link_whose_secret_is_missing_is_broken)
{
    AUTO(bench_done) struct bench b = bench_make();
    AUTO(book_done)
    struct book *book =
        book_of(&b, "databases: { a: { kind: postgres, dsn: secret:none }, b: { kind: mariadb, "
                    "dsn: x } }\nlinks: { l: { from: a, to: b, tables: { t: {} } } }\n");

    CHECK(book != NULL && book->count == 1 && book->jobs[0].self == NULL);
    CHECK(strstr(book->jobs[0].broken, "database a") != NULL);
    CHECK(strstr(book->jobs[0].broken, "none") != NULL);
}

int main(void)
{
    return test_main();
}
