#include "engine/walk/answer_take.h"

#include <stdio.h>

#include "base/auto.h"
#include "test.h"

enum { ARENA = 1 << 20 };

TEST(what_comes_of_an_answer)
{
    static const struct {
        struct http_out_answer a;
        int64_t within_us;
        bool has_upload;
        enum answer_came came;
    } cases[] = {
        { { .status = 204 }, 0, true, ANSWER_EMPTY },
        { { .status = 204 }, 5, true, ANSWER_EMPTY },
        { { .status = 200, .body = STR("yes"), .came = 3 }, 0, true, ANSWER_CAME },
        { { .status = 200, .body = STR("yes"), .came = 3 }, 5, true, ANSWER_CAME },
        { { .status = 202, .body = STR("yes"), .came = 3 }, 0, true, ANSWER_CAME },
        { { .status = 202, .body = STR("yes"), .came = 3 }, 5, true, ANSWER_LATER },
        { { .status = 200, .body = STR("0123456789"), .came = 10 }, 0, true, ANSWER_CAME },
        { { .status = 200, .body = STR("01234567890"), .came = 11 }, 0, true, ANSWER_TOO_LARGE },
        { { .status = 200, .body = STR("01"), .came = 5, .is_too_large = true },
          0,
          true,
          ANSWER_TOO_LARGE },
        { { .status = 200, .body = STR("01"), .came = 9, .is_drained = true },
          0,
          true,
          ANSWER_CAME },
        /* it was cut: the sink did not get the rest */
        { { .status = 200, .body = STR("01"), .came = 9 }, 0, true, ANSWER_TOO_LARGE },
        { { .status = 200, .body = STR("01"), .came = 9, .is_drained = true },
          0,
          false,
          ANSWER_TOO_LARGE },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(arena_done) struct arena a = ARENA_INIT(ARENA);
        struct plan_answer rule = { .most = 10, .within_us = cases[i].within_us };
        struct answer_upload upload = { 0 };
        struct answer_doc *doc = NULL;
        enum answer_came came =
            answer_take(&rule, &cases[i].a, cases[i].has_upload ? &upload : NULL, &a, &doc);

        CHECK(came == cases[i].came && (doc != NULL) == (came == ANSWER_CAME));
        if (doc == NULL)
            continue;
        bool drained = cases[i].a.is_drained;

        CHECK(doc->rule == &rule && doc->status == cases[i].a.status);
        CHECK(doc->upload == (drained ? &upload : NULL));
        CHECK(str_eq(doc->bytes, drained ? (struct str){ 0 } : cases[i].a.body));
    }
}

TEST(what_is_awaited_is_awaited_once)
{
    struct plan_answer rule = { .word = 7 };
    struct flight f = { .arena = ARENA_INIT(ARENA) };
    char name[20];

    for (int round = 0; round < 2; round++) /* a settlement that is prepared again */
        for (int i = 0; i < 9; i++) {
            (void)snprintf(name, sizeof name, "d%d", i);
            answer_await(&f, &rule, str_of(arena_text(&f.arena, str_of(name))), 3, 100 + i);
        }
    CHECK(f.settle.wait_count == 9);
    for (int i = 0; i < 9; i++) {
        (void)snprintf(name, sizeof name, "d%d", i);
        CHECK(str_is(f.settle.waits[i].delivery, name) && f.settle.waits[i].due_us == 100 + i);
        CHECK(f.settle.waits[i].endpoint == 7 && f.settle.waits[i].system == 3);
    }
    arena_done(&f.arena);
}

int main(void)
{
    return test_main();
}
