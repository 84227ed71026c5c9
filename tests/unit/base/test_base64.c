#include "base/base64.h"

#include "base/auto.h"
#include "test.h"

TEST(base64_of_the_standard)
{
    static const char *const cases[][2] = {
        { "", "" },
        { "f", "Zg==" },
        { "fo", "Zm8=" },
        { "foo", "Zm9v" },
        { "foob", "Zm9vYg==" },
        { "fooba", "Zm9vYmE=" },
        { "foobar", "Zm9vYmFy" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        AUTO(buf_done) struct buf b = BUF_INIT(100);
        AUTO(buf_done) struct buf back = BUF_INIT(100);
        struct err err = { 0 };

        CHECK(base64_encode(str_of(cases[i][0]), &b, &err));
        CHECK(str_is(buf_view(&b), cases[i][1]));
        CHECK(base64_decode(buf_view(&b), &back, &err));
        CHECK(str_is(buf_view(&back), cases[i][0]));
    }
}

TEST(base64_of_every_byte_and_length)
{
    unsigned char bytes[256];

    for (int i = 0; i < 256; i++)
        bytes[i] = (unsigned char)(i * 7 + 3);
    for (size_t len = 0; len <= sizeof bytes; len++) {
        AUTO(buf_done) struct buf b = BUF_INIT(1000);
        AUTO(buf_done) struct buf back = BUF_INIT(1000);
        struct err err = { 0 };
        struct str in = str_mem(bytes, len);

        CHECK(base64_encode(in, &b, &err) && base64_decode(buf_view(&b), &back, &err));
        CHECK(str_eq(buf_view(&back), in));
        while (b.len > 0 && b.ptr[b.len - 1] == '=')
            b.len--;
        buf_clear(&back);
        CHECK(base64_decode(buf_view(&b), &back, &err) && str_eq(buf_view(&back), in));
    }
}

TEST(base64_that_is_none)
{
    static const char *const bad[] = { "A",         "=",      "==",   "A===",  "AB=C",  "Zg==Zg==",
                                       "Zm9v Zm9v", "Zm9v\n", "Zm_v", "Zm9v=", "Zm9v==" };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        AUTO(buf_done) struct buf b = BUF_INIT(100);
        struct err err = { 0 };

        CHECK(!base64_decode(str_of(bad[i]), &b, &err));
        CHECK(err.kind == ERR_PERMANENT && b.len == 0);
    }
}

TEST(base64_meets_the_cap)
{
    AUTO(buf_done) struct buf b = BUF_INIT(8);
    struct err err = { 0 };

    CHECK(!base64_encode(STR("seven b"), &b, &err) && err.kind == ERR_LIMIT && b.len == 0);
    CHECK(base64_encode(STR("six by"), &b, &err));
}

int main(void)
{
    return test_main();
}
