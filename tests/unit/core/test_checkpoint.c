#include "core/checkpoint.h"

#include <stdlib.h>

#include "test.h"

static const unsigned char seed[KEY_FILE_BYTES] = "0123456789abcdef0123456789abcdef";

static struct checkpoint sample(char text[static CHECKPOINT_TEXT])
{
    struct checkpoint c = { .seq = 8412,
                            .hash = digest_of(STR("a line")),
                            .time = "2026-11-17T15:55:17.000000Z" };

    checkpoint_sign(&c, seed, text);
    return c;
}

TEST(a_checkpoint_comes_back_as_it_was_signed)
{
    char text[CHECKPOINT_TEXT], key[CHECKPOINT_KEY];
    struct checkpoint c = sample(text), back;
    struct err err = { 0 };

    CHECK(checkpoint_read(str_of(text), &back, &err));
    CHECK(back.seq == 8412 && digest_same(&back.hash, &c.hash));
    CHECK(str_is(str_of(back.time), c.time) && str_is(str_of(back.key), c.key));
    checkpoint_key(seed, key);
    CHECK(str_is(str_of(key), c.key));
}

/* No byte of it can be another one. */
TEST(a_changed_checkpoint_is_refused)
{
    char text[CHECKPOINT_TEXT];

    (void)sample(text);
    for (size_t i = 0; text[i] != '\0'; i++) {
        char was = text[i];
        struct checkpoint back;
        struct err err = { 0 };

        text[i] = was == '0' ? '1' : '0';
        if (checkpoint_read(str_of(text), &back, &err))
            printf("# byte %zu was changed\n", i);
        CHECK(!checkpoint_read(str_of(text), &back, &err) && err.kind == ERR_PERMANENT);
        text[i] = was;
    }
}

TEST(what_is_no_checkpoint_is_refused)
{
    char text[CHECKPOINT_TEXT], more[CHECKPOINT_TEXT + 10];
    struct checkpoint back;
    struct err err = { 0 };

    (void)sample(text);
    (void)snprintf(more, sizeof more, "%s\n", text);
    CHECK(!checkpoint_read(str_of(more), &back, &err));
    (void)snprintf(more, sizeof more, " %s", text);
    CHECK(!checkpoint_read(str_of(more), &back, &err));
    for (size_t n = 0; n < strlen(text); n++)
        CHECK(!checkpoint_read(str_mem(text, n), &back, &err));
    CHECK(!checkpoint_read(STR("head 1:2\n"), &back, &err));
    CHECK(!checkpoint_read(str_mem("waybill audit checkpoint 1\nhead 1\0:\n", 36), &back, &err));
}

int main(void)
{
    return test_main();
}
