#include "core/job_type.h"

#include <stdlib.h>

#include "base/auto.h"
#include "test.h"

TEST(steps_are_text_with_their_durations)
{
    AUTO(buf_done) struct buf steps = BUF_INIT(2 * JOB_STEP_BYTES);
    struct job_io io = { .steps = &steps };

    job_step(&io, "listed", 1234567);
    job_step(&io,
             "gr\xc3\xbc\xc3\x9f"
             "e",
             0);
    job_step(&io,
             "gr\xfc\xdf"
             "e \xc3\xa4",
             5); /* no UTF-8 */
    CHECK(strcmp(steps.ptr, "1234.567 ms  listed\n0.000 ms  gr\xc3\xbc\xc3\x9f"
                            "e\n"
                            "0.005 ms  gr??e ??\n") == 0);
}

TEST(steps_have_a_limit)
{
    AUTO(buf_done) struct buf steps = BUF_INIT(2 * JOB_STEP_BYTES);
    static char large[JOB_STEP_BYTES * 4];
    struct job_io io = { .steps = &steps };

    memset(large, 'x', sizeof large - 1);
    for (int i = 0; i < 1000; i++)
        job_step(&io, i % 2 == 0 ? large : "short", INT64_MAX);
    CHECK(steps.len > JOB_STEP_BYTES && steps.len < 2 * JOB_STEP_BYTES);
}

int main(void)
{
    return test_main();
}
