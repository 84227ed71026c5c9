#include "base/varint.h"

#include "test.h"

TEST(varint_comes_back_in_as_few_bytes_as_it_needs)
{
    static const struct {
        uint64_t n;
        size_t len;
    } cases[] = {
        { 0, 1 },           { 1, 1 },           { 127, 1 },      { 128, 2 },
        { 16383, 2 },       { 16384, 3 },       { 1u << 31, 5 }, { (uint64_t)INT64_MAX, 9 },
        { 1ull << 63, 10 }, { UINT64_MAX, 10 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char bytes[VARINT_MOST + 1];
        char *end = varint_put(bytes, cases[i].n);
        struct str s = str_mem(bytes, (size_t)(end - bytes)), less = s;
        uint64_t back = 42;

        CHECK(s.len == cases[i].len);
        less.len--;
        CHECK(!varint_take(&less, &back) && less.len == s.len - 1 && back == 42);
        CHECK(varint_take(&s, &back) && back == cases[i].n && s.len == 0);
    }
}

TEST(varint_beyond_64_bits_is_none)
{
    static const char over[] = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02";
    static const char endless[] = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
    struct str a = str_mem(over, sizeof over - 1), b = str_mem(endless, sizeof endless - 1);
    uint64_t n;

    CHECK(!varint_take(&a, &n) && a.len == 10);
    CHECK(!varint_take(&b, &n) && b.len == 12);
}

TEST(varint_text_comes_back)
{
    char bytes[64];
    char *end = varint_put_text(varint_put_text(bytes, STR("abc")), STR(""));
    struct str s = str_mem(bytes, (size_t)(end - bytes)), text;

    CHECK(s.len == 5);
    CHECK(varint_take_text(&s, &text) && str_is(text, "abc") && text.ptr == bytes + 1);
    CHECK(varint_take_text(&s, &text) && text.len == 0 && s.len == 0);
    CHECK(!varint_take_text(&s, &text));
}

/* proves: S5 */
TEST(varint_text_longer_than_what_is_there_is_none)
{
    struct str cut = STR("\x04"
                         "abc"),
               huge = STR("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
                          "abc"),
               text;

    CHECK(!varint_take_text(&cut, &text) && cut.len == 4);
    CHECK(!varint_take_text(&huge, &text) && huge.len == 13);
}

int main(void)
{
    return test_main();
}
