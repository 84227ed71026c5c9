#include "core/reply.h"

#include "base/auto.h"
#include "test.h"

enum { ROOM = TIMELINE_MOST };

struct told {
    enum timeline_outcome outcome;
    const char *endpoint;
    int64_t at_us, status, size; /* size: of the kept answer; 0: none */
};

static void tell(struct buf *to, const struct told *lines, size_t count)
{
    for (size_t i = 0; i < count; i++)
        timeline_add(to, &(struct timeline_line){ .at_us = lines[i].at_us,
                                                  .stage = TIMELINE_DELIVERY,
                                                  .outcome = lines[i].outcome,
                                                  .took_us = 1,
                                                  .attempt = 1,
                                                  .status = lines[i].status,
                                                  .what = str_of(lines[i].endpoint),
                                                  .message = STR("said"),
                                                  .has_delivery = true,
                                                  .has_bytes = lines[i].size > 0,
                                                  .is_answer = lines[i].size > 0,
                                                  .size = lines[i].size,
                                                  .came = lines[i].size,
                                                  .ctype = STR("text/plain") });
}

TEST(the_delivery_that_ended_first_answers)
{
    static const struct {
        const char *what;
        struct told lines[4];
        size_t count;
        bool ended, delivered;
        int64_t status, size; /* size 0: no answer */
    } cases[] = {
        { "nothing was sent", { { 0 } }, 0, false, false, 0, 0 },
        { "it is tried again", { { TIMELINE_RETRY, "a", 1, 503, 3 } }, 1, false, false, 0, 0 },
        { "held, in doubt",
          { { TIMELINE_WAITS, "a", 1, 0, 0 }, { TIMELINE_DOUBT, "a", 2, 500, 0 } },
          2,
          false,
          false,
          0,
          0 },
        { "delivered", { { TIMELINE_DELIVERED, "a", 1, 201, 5 } }, 1, true, true, 201, 5 },
        { "without an answer", { { TIMELINE_DELIVERED, "a", 1, 204, 0 } }, 1, true, true, 204, 0 },
        { "at the second attempt",
          { { TIMELINE_RETRY, "a", 1, 503, 3 }, { TIMELINE_DELIVERED, "a", 2, 200, 0 } },
          2,
          true,
          true,
          200,
          0 },
        { "an answer that was repeated is kept once",
          { { TIMELINE_RETRY, "a", 1, 500, 3 }, { TIMELINE_DEAD, "a", 2, 500, 0 } },
          2,
          true,
          false,
          500,
          3 },
        { "rejected", { { TIMELINE_DEAD, "a", 1, 400, 7 } }, 1, true, false, 400, 7 },
        { "lines with answers stand behind the others of their commit",
          { { TIMELINE_DELIVERED, "b", 2, 204, 0 }, { TIMELINE_DELIVERED, "a", 1, 200, 9 } },
          2,
          true,
          true,
          200,
          9 },
        { "the other one is still tried",
          { { TIMELINE_RETRY, "a", 1, 503, 0 }, { TIMELINE_DELIVERED, "b", 2, 200, 9 } },
          2,
          true,
          true,
          200,
          9 },
        { "started again by a person",
          { { TIMELINE_DEAD, "a", 1, 400, 7 },
            { TIMELINE_DELIVERED, "b", 2, 202, 1 },
            { TIMELINE_DELIVERED, "a", 3, 200, 2 } },
          3,
          true,
          true,
          200,
          2 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(buf_done) struct buf timeline = BUF_INIT(ROOM);

        timeline_add(&timeline, &(struct timeline_line){ .stage = TIMELINE_ROUTE, .took_us = -1 });
        tell(&timeline, cases[i].lines, cases[i].count);
        struct reply_end end = reply_find(buf_view(&timeline));

        CHECK(end.has_ended == cases[i].ended);
        if (!end.has_ended)
            continue;
        CHECK(end.is_delivered == cases[i].delivered && end.line.status == cases[i].status);
        CHECK(end.has_answer == (cases[i].size > 0));
        CHECK(!end.has_answer || end.answer.size == cases[i].size);
    }
}

TEST(two_deliveries_of_one_endpoint_are_two)
{
    AUTO(buf_done) struct buf timeline = BUF_INIT(ROOM);
    struct timeline_line line = { .at_us = 1,
                                  .stage = TIMELINE_DELIVERY,
                                  .outcome = TIMELINE_DELIVERED,
                                  .took_us = 1,
                                  .status = 200,
                                  .what = STR("a"),
                                  .has_delivery = true };

    timeline_add(&timeline, &line);
    line.id_end = STR(".2");
    line.status = 400;
    line.at_us = 2;
    line.outcome = TIMELINE_DEAD;
    timeline_add(&timeline, &line);
    struct reply_end end = reply_find(buf_view(&timeline));

    CHECK(end.has_ended && end.is_delivered && end.line.status == 200);
}

TEST(a_status_that_leads_elsewhere_is_not_given)
{
    CHECK(reply_may_pass(200) && reply_may_pass(204) && reply_may_pass(400) && reply_may_pass(599));
    CHECK(!reply_may_pass(0) && !reply_may_pass(100) && !reply_may_pass(302) &&
          !reply_may_pass(600) && !reply_may_pass(-1));
}

int main(void)
{
    return test_main();
}
