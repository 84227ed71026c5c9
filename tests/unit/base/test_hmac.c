#include "base/hmac.h"

#include "test.h"

static bool is(struct str key, struct str data, const char *hex)
{
    struct sha256 got;
    char text[SHA256_TEXT];

    hmac_sha256(key, data, got.bytes);
    return strcmp(digest_text(&got, text), hex) == 0;
}

/* RFC 4231, test cases 1, 2 and 6. */
TEST(hmac_of_the_standard)
{
    static const char twenty[20] = { 0x0b, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b,
                                     0x0b, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b };
    char longer[131];

    memset(longer, 0xaa, sizeof longer);
    CHECK(is(str_mem(twenty, sizeof twenty), STR("Hi There"),
             "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"));
    CHECK(is(STR("Jefe"), STR("what do ya want for nothing?"),
             "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"));
    CHECK(is(str_mem(longer, sizeof longer),
             STR("Test Using Larger Than Block-Size Key - Hash Key First"),
             "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"));
}

TEST(hmac_of_nothing)
{
    CHECK(is(STR(""), STR(""), "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"));
    CHECK(is((struct str){ 0 }, STR(""),
             "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"));
}

int main(void)
{
    return test_main();
}
