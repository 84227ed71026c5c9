/* What people are told of a table of a link. */
#include "admin/view/link_view.h"

#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/clock.h"
#include "test.h"

#define NOW (INT64_C(1000000) * CLOCK_S)

static bool says(const struct buf *b, const char *text)
{
    return strstr(b->ptr, text) != NULL;
}

TEST(names_of_jobs)
{
    struct str link, table;

    CHECK(link_view_split(STR("orders/customer"), &link, &table));
    CHECK(str_is(link, "orders") && str_is(table, "customer"));
    CHECK(link_view_split(STR("orders/public.customer"), &link, &table));
    CHECK(str_is(table, "public.customer"));
    CHECK(!link_view_split(STR("orders"), &link, &table));
    CHECK(!link_view_split(STR("orders/"), &link, &table));
    CHECK(!link_view_split(STR("/customer"), &link, &table));
    CHECK(link_view_is_verify(STR("o/c/verify"), STR("o"), STR("c")));
    CHECK(link_view_is_verify(STR("o/c/verify-2"), STR("o"), STR("c")));
    CHECK(!link_view_is_verify(STR("o/c"), STR("o"), STR("c")));
    CHECK(!link_view_is_verify(STR("o/cc/verify"), STR("o"), STR("c")));
    CHECK(!link_view_is_verify(STR("oo/c/verify"), STR("o"), STR("c")));
    CHECK(!link_view_is_verify(STR("o/c/verifyx"), STR("o"), STR("c")));
}

static void view(struct link_state *s, struct job_record *job, struct arena *a,
                 struct link_view *ret)
{
    AUTO(buf_done) struct buf text = BUF_INIT(64 << 10);

    job->name = STR("orders/customer");
    s->reached.key = STR("");
    link_state_write(s, &text);
    link_view_make(job, buf_view(&text), NOW, a, ret);
}

TEST(how_a_table_stands_in_words)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    AUTO(buf_done) struct buf b = BUF_INIT(64 << 10);
    struct job_record job = { .due_us = NOW + 1 };
    struct link_state s = { .stands = LINK_CURRENT, .current_us = NOW - 3 * CLOCK_S };
    struct link_view v;

    view(&s, &job, &a, &v);
    CHECK(v.lag_us == 3 * CLOCK_S && v.broken.len == 0);
    CHECK(str_is(v.link, "orders") && str_is(v.table, "customer"));
    link_view_explain(&v, NULL, &b);
    CHECK(says(&b, "It is current: everything was written 3 seconds ago.\n"));
    CHECK(says(&b, "It was never verified.\n"));

    buf_clear(&b);
    s = (struct link_state){ .stands = LINK_LOADING, .load_rows = 7, .load_total = 10 };
    view(&s, &job, &a, &v);
    CHECK(v.lag_us == -1);
    link_view_explain(&v, NULL, &b);
    CHECK(says(&b, "7 of about 10 so far"));

    buf_clear(&b);
    s = (struct link_state){ .stands = LINK_BEHIND, .backlog = 12, .set_aside = 2 };
    (void)snprintf(s.message, sizeof s.message, "transaction of pid 4711, open for 93 s");
    view(&s, &job, &a, &v);
    link_view_explain(&v, &(struct pass){ .result = PASS_OK, .mode = STR("full"), .ended_us = NOW },
                      &b);
    CHECK(says(&b, "It is behind: 12 changes wait at the source.\n"));
    CHECK(says(&b, "It waits: transaction of pid 4711, open for 93 s.\n"));
    CHECK(says(&b, "2 rows are set aside"));
    CHECK(says(&b, "(full): ok, 0 missing"));
}

TEST(a_stop_has_a_remedy)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct job_record job = { .due_us = NOW + 1 };
    struct link_view v;

    for (enum link_reason r = LINK_SCHEMA_DRIFT; r < LINK_REASONS; r++) {
        AUTO(buf_done) struct buf b = BUF_INIT(64 << 10);
        struct link_state s = { .stands = LINK_STOPPED, .reason = r, .since_us = NOW - CLOCK_S };

        view(&s, &job, &a, &v);
        link_view_remedy(&v, &b);
        CHECK(b.len > 0 && b.ptr[b.len - 1] == '.');
        link_view_explain(&v, NULL, &b);
        CHECK(says(&b, link_reasons[r]));
    }
}

TEST(a_job_that_is_paused_comes_first)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    AUTO(buf_done) struct buf b = BUF_INIT(64 << 10);
    struct job_record job = { .stop = JOB_PAUSED, .stop_why = STR("their release") };
    struct link_state s = { .stands = LINK_STOPPED, .reason = LINK_DELETES };
    struct link_view v;

    view(&s, &job, &a, &v);
    link_view_remedy(&v, &b);
    CHECK(says(&b, "jobs resume") && !says(&b, "go-on"));
    buf_clear(&b);
    link_view_explain(&v, NULL, &b);
    CHECK(says(&b, "Its job is paused: their release.\n"));
}

TEST(a_state_that_cannot_be_read_is_said)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    AUTO(buf_done) struct buf b = BUF_INIT(64 << 10);
    struct job_record job = { .name = STR("o/c"), .due_us = NOW + 1 };
    struct link_view v;

    link_view_make(&job, STR("{"), NOW, &a, &v);
    CHECK(v.broken.len > 0);
    link_view_explain(&v, NULL, &b);
    CHECK(says(&b, "cannot be read") && says(&b, "jobs reset"));
    link_view_make(&job, STR(""), NOW, &a, &v);
    CHECK(v.broken.len == 0 && v.state.stands == LINK_NEW);
}

int main(void)
{
    return test_main();
}
