#include "core/verdict.h"

#include "test.h"

TEST(verdict_says_what_printf_says)
{
    struct verdict v = { .status = 503, .retry_after_us = 7, .code = "limit" };

    CHECK(verdict_say(&v, VERDICT_RETRY, "status %d from %s", 503, "api") == VERDICT_RETRY);
    CHECK(v.kind == VERDICT_RETRY && strcmp(v.message, "status 503 from api") == 0);
    CHECK(v.status == 503 && v.retry_after_us == 7 && strcmp(v.code, "limit") == 0);
    CHECK(verdict_say(&v, VERDICT_DELIVERED, "%s", "") == VERDICT_DELIVERED);
    CHECK(v.message[0] == '\0');
}

TEST(verdict_is_one_line_of_text)
{
    struct verdict v = { 0 };

    (void)verdict_say(&v, VERDICT_REJECTED, "%s", "no\r\nway\tout\x7f \xe2\x82\xac");
    CHECK(strcmp(v.message, "no  way out  \xe2\x82\xac") == 0);
    (void)verdict_say(&v, VERDICT_REJECTED, "%s",
                      "gr\xfc\xdf"
                      "e");
    CHECK(strcmp(v.message, "gr??e") == 0);
}

TEST(verdict_is_cut_at_a_character)
{
    char text[2 * VERDICT_MESSAGE_MOST];

    for (size_t before = VERDICT_MESSAGE_MOST - 8; before < VERDICT_MESSAGE_MOST + 8; before++) {
        struct verdict v = { 0 };

        memset(text, 'x', sizeof text);
        memcpy(text + before, "\xf0\x9f\x98\x80", 4);
        text[sizeof text - 1] = '\0';
        (void)verdict_say(&v, VERDICT_REJECTED, "%s", text);
        size_t len = strlen(v.message);

        CHECK(len < VERDICT_MESSAGE_MOST && len >= VERDICT_MESSAGE_MOST - 4);
        CHECK(str_is_utf8(str_of(v.message)) && strchr(v.message, '?') == NULL);
        CHECK(memcmp(v.message, text, len) == 0);
    }
}

int main(void)
{
    return test_main();
}
