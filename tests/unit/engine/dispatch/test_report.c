/* What a node reports about an endpoint.  A real plan of a small configuration; nothing is sent. */
#include <string.h>

#include "engine/dispatch/dispatch_queues.h"
#include "engine/dispatch/field.h"

enum { FAILURES = 3 /* of the breaker of endpoint one */ };

struct scene {
    struct field *field;
    struct dispatch *d;
    int64_t endpoint;
    int jobs; /* how often a report was to be written */
    int began, ended;
};

static void on_report(void *arg, int64_t endpoint)
{
    struct scene *s = arg;

    CHECK(endpoint == s->endpoint);
    s->jobs++;
}

static void on_refusing(void *arg, int64_t endpoint, const char *why)
{
    struct scene *s = arg;

    CHECK(endpoint == s->endpoint);
    s->began += why != NULL;
    s->ended += why == NULL;
}

static void on_change(void *arg, int64_t endpoint, const struct breaker *b, int64_t pause_until_us,
                      const char *why, bool here)
{
    (void)arg;
    (void)endpoint;
    (void)b;
    (void)pause_until_us;
    (void)why;
    (void)here;
}

static void on_room(void *arg)
{
    (void)arg;
}

static void scene_init(struct scene *s)
{
    *s = (struct scene){ .field = field_new() };
    struct field *f = s->field;

    dispatch_free(f->dispatch);
    f->dispatch = s->d = dispatch_new(f->govern, &(struct dispatch_calls){ .changed = on_change,
                                                                           .refusing = on_refusing,
                                                                           .report = on_report,
                                                                           .hungry = on_room,
                                                                           .arg = s });
    dispatch_use(s->d, f->plan);
    s->endpoint = word(f, NAME_ENDPOINT, "one");
}

/* One attempt that ends so.  Pauses that the receiver asks for are over when it begins. */
static void attempt(struct scene *s, enum verdict_kind kind, int64_t status, int64_t retry_after_us)
{
    struct leg *p = leg(s->field, "hub", "one");
    struct verdict v = { .kind = kind, .status = status, .retry_after_us = retry_after_us };
    struct endpoint_live *e = dispatch_endpoint(s->d, s->endpoint);
    struct dispatch_next next;

    (void)snprintf(v.message, sizeof v.message, "answer %d", (int)status);
    e->pause_until_us = 0;
    dispatch_try(s->d, s->endpoint);
    CHECK(offer(s->field, p, NULL) == DISPATCH_BEGIN);
    (void)dispatch_ended(s->d, p, &v, &next);
}

static void refuse(struct scene *s)
{
    for (int i = 0; i < FAILURES; i++)
        attempt(s, VERDICT_RETRY, 503, 0);
}

static bool says(struct scene *s, const char *text)
{
    struct endpoint_report report;

    dispatch_report(s->d, s->endpoint, &report);
    return text[0] == '\0' ? report.text[0] == '\0' : strstr(report.text, text) != NULL;
}

/* The job runs: it writes the report as it is now, or fails. */
static bool job(struct scene *s, bool ok)
{
    struct endpoint_report report;

    dispatch_report(s->d, s->endpoint, &report);
    return dispatch_reported(s->d, s->endpoint, &report, ok);
}

TEST(a_pause_does_not_withdraw_the_report_of_an_endpoint_that_takes_nothing)
{
    struct scene s;

    scene_init(&s);
    for (int i = 0; i < FAILURES; i++) {
        CHECK(says(&s, ""));
        attempt(&s, VERDICT_RETRY, 503, CLOCK_S);
    }
    CHECK(says(&s, "takes nothing: answer 503") && s.jobs == 1 && s.began == 1);
    CHECK(!job(&s, true));
    attempt(&s, VERDICT_RETRY, 503, CLOCK_S);
    dispatch_calm(s.d);
    CHECK(says(&s, "takes nothing") && s.jobs == 1);
    attempt(&s, VERDICT_DELIVERED, 200, 0);
    CHECK(says(&s, "") && s.jobs == 2 && s.ended == 1);
    field_free(s.field);
}

TEST(the_end_of_one_trouble_does_not_withdraw_the_report_of_another)
{
    struct scene s;

    scene_init(&s);
    refuse(&s);
    attempt(&s, VERDICT_STRANGE, 7, 0);
    CHECK(s.ended == 1 && says(&s, "answer 7"));
    attempt(&s, VERDICT_UNREACHED, 0, 0); /* the breaker is open for another reason */
    CHECK(says(&s, "its breaker is open"));
    attempt(&s, VERDICT_DELIVERED, 200, 0);
    CHECK(says(&s, ""));
    field_free(s.field);
}

TEST(an_open_breaker_alone_is_no_report)
{
    struct scene s;

    scene_init(&s);
    for (int i = 0; i < FAILURES; i++)
        attempt(&s, VERDICT_UNREACHED, 0, 0);
    dispatch_calm(s.d);
    CHECK(says(&s, "") && s.jobs == 0);
    field_free(s.field);
}

TEST(a_report_is_written_by_one_job_at_a_time_until_the_store_has_it)
{
    struct scene s;

    scene_init(&s);
    refuse(&s);
    attempt(&s, VERDICT_DELIVERED, 200, 0); /* it ends before the job has run */
    dispatch_calm(s.d);
    CHECK(s.jobs == 1 && says(&s, ""));
    CHECK(job(&s, false)); /* the first that failed in a row is logged */
    CHECK(s.jobs == 1);
    dispatch_calm(s.d);
    CHECK(s.jobs == 2 && !job(&s, false));
    dispatch_calm(s.d);
    CHECK(s.jobs == 3);
    struct endpoint_report before;

    dispatch_report(s.d, s.endpoint, &before);
    refuse(&s); /* while it is being written */
    CHECK(s.jobs == 3 && !dispatch_reported(s.d, s.endpoint, &before, true));
    dispatch_calm(s.d);
    CHECK(s.jobs == 4 && says(&s, "takes nothing") && !job(&s, true));
    dispatch_calm(s.d);
    CHECK(s.jobs == 4);
    field_free(s.field);
}

TEST(refusing_lasts_while_something_waits_for_the_endpoint)
{
    struct scene s;

    scene_init(&s);
    refuse(&s);
    struct endpoint_live *e = dispatch_endpoint(s.d, s.endpoint);
    struct send_queue *l = dispatch_queue_of(s.d, word(s.field, NAME_SYSTEM, "hub"), s.endpoint);

    e->refusing.last_us = 1; /* long ago */
    l->stored = true;        /* held, outside of its window, or at a slow rate */
    dispatch_calm(s.d);
    CHECK(s.ended == 0 && says(&s, "takes nothing"));
    l->stored = false;
    struct leg *p = leg(s.field, "hub", "one");
    struct dispatch_next next;

    CHECK(offer(s.field, p, NULL) == DISPATCH_BEGIN);
    dispatch_calm(s.d);
    CHECK(s.ended == 0);
    dispatch_back(s.d, p, &next);
    dispatch_calm(s.d);
    CHECK(s.ended == 1 && says(&s, ""));
    field_free(s.field);
}

TEST(a_long_text_is_cut_between_characters)
{
    char text[REPORT_TEXT], message[REPORT_TEXT * 2] = "";

    for (size_t i = 0; i + 2 < sizeof message; i += 2)
        memcpy(message + i, "\xc3\xa4", 3);
    report_set(text, "", message);
    CHECK(strlen(text) == REPORT_TEXT - 2 && str_is_utf8(str_of(text)));
    report_set(text, "x", message);
    CHECK(strlen(text) == REPORT_TEXT - 1 && str_is_utf8(str_of(text)));
}

int main(void)
{
    return test_main();
}
