/* The state of a job as people see it. */
#include "admin/view/job_view.h"

#include <string.h>

#include "test.h"

#define NOW 1000

TEST(the_state_of_a_job)
{
    static const struct {
        const char *what, *want;
        struct job_record r;
        int64_t next, nominal, lag;
    } cases[] = {
        { "later", "scheduled", { .due_us = 1500, .next = { 1500, 1400 } }, 1500, 1400, -1 },
        { "now", "due", { .due_us = 1000, .next = { 1000, 900 } }, 1000, 900, 0 },
        { "over", "due", { .due_us = 400, .next = { 400, 400 } }, 400, 400, 600 },
        { "claimed",
          "running",
          { .due_us = 400, .next = { 400, 400 }, .running = true },
          0,
          400,
          -1 },
        { "beside",
          "running",
          { .due_us = 1500, .next = { 1500, 1500 }, .open_runs = 2 },
          1500,
          1500,
          -1 },
        { "paused",
          "paused",
          { .due_us = 400, .next = { 400, 400 }, .stop = JOB_PAUSED },
          0,
          0,
          -1 },
        { "asked while it is paused",
          "due",
          { .due_us = 900, .next = { 1400, 1400 }, .stop = JOB_PAUSED, .asked_us = 900 },
          900,
          0,
          100 },
        { "it runs while it is paused",
          "running",
          { .due_us = 900, .stop = JOB_PAUSED, .asked_us = 900, .running = true },
          0,
          0,
          -1 },
        { "suspended", "suspended", { .due_us = 400, .stop = JOB_SUSPENDED }, 0, 0, -1 },
        { "at its end", "ended", { .stop = JOB_AT_END }, 0, 0, -1 },
        { "gone", "gone", { .due_us = 400, .gone_us = 300 }, 0, 0, -1 },
        { "gone, and paused before", "gone", { .stop = JOB_PAUSED, .gone_us = 300 }, 0, 0, -1 },
        { "gone while it runs", "running", { .gone_us = 300, .running = true }, 0, 0, -1 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct job_record *r = &cases[i].r;

        printf("# %s\n", cases[i].what);
        CHECK(strcmp(job_shown_words[job_shown_of(r, NOW)], cases[i].want) == 0);
        CHECK(job_shown_next(r) == cases[i].next && job_shown_nominal(r) == cases[i].nominal);
        CHECK(job_shown_lag(r, NOW) == cases[i].lag);
    }
}

TEST(every_refusal_is_told)
{
    static const enum job_answer answers[] = { JOB_UNKNOWN,     JOB_IS_GONE,    JOB_IS_RUNNING,
                                               JOB_NOT_RUNNING, JOB_IS_STOPPED, JOB_NOT_STOPPED,
                                               JOB_NOT_KEPT,    JOB_OLD_PLAN };

    CHECK(job_answer_text(JOB_RUN, JOB_OK) == NULL);
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++)
        for (size_t k = 0; k < i; k++)
            CHECK(strcmp(job_answer_text(JOB_PAUSE, answers[i]),
                         job_answer_text(JOB_PAUSE, answers[k])) != 0);
}

int main(void)
{
    return test_main();
}
