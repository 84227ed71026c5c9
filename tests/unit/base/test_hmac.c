#include "base/hmac.h"

#include <stdio.h>

#include "test.h"

static void hex(const struct hmac_value *v, char text[static 2 * HMAC_MOST + 1])
{
    for (size_t i = 0; i < v->size; i++)
        (void)snprintf(text + 2 * i, 3, "%02x", v->bytes[i]);
}

/* The test cases of RFC 4231. */
static const struct {
    struct str key, bytes;
    const char *sha256, *sha512;
} cases[] = {
    { STR("\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b"),
      STR("Hi There"), "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
      "87aa7cdea5ef619d4ff0b4241a1d6cb02379f4e2ce4ec2787ad0b30545e17cde"
      "daa833b7d6b8a702038b274eaea3f4e4be9d914eeb61f1702e696c203a126854" },
    { STR("Jefe"), STR("what do ya want for nothing?"),
      "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
      "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554"
      "9758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737" },
};

TEST(hmac_is_that_of_the_standard)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (size_t cut = 0; cut <= cases[i].bytes.len; cut++)
            for (enum hmac_kind kind = HMAC_SHA256; kind <= HMAC_SHA512; kind++) {
                struct hmac h = hmac_start(kind, cases[i].key);
                char text[2 * HMAC_MOST + 1] = "";

                hmac_add(&h, str_mem(cases[i].bytes.ptr, cut));
                hmac_add(&h, str_from(cases[i].bytes, cut));
                struct hmac_value v = hmac_end(&h);

                CHECK(v.size == hmac_size(kind));
                hex(&v, text);
                CHECK(strcmp(text, kind == HMAC_SHA256 ? cases[i].sha256 : cases[i].sha512) == 0);
            }
}

/* RFC 4231, test case 6: a key longer than a block. */
TEST(hmac_sha256_takes_all_at_once)
{
    char longer[131];
    struct hmac_value v = { .size = SHA256_SIZE };
    char text[2 * HMAC_MOST + 1] = "";

    memset(longer, 0xaa, sizeof longer);
    hmac_sha256(str_mem(longer, sizeof longer),
                STR("Test Using Larger Than Block-Size Key - Hash Key First"), v.bytes);
    hex(&v, text);
    CHECK(strcmp(text, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54") == 0);
}

TEST(hmac_same_compares_all_of_it)
{
    struct hmac h = hmac_start(HMAC_SHA256, STR("Jefe"));
    struct hmac_value a = hmac_end(&h), b = a;

    CHECK(hmac_same(&a, &b));
    b.bytes[31] ^= 1;
    CHECK(!hmac_same(&a, &b));
    b = a;
    b.size = 16;
    CHECK(!hmac_same(&a, &b));
    hmac_drop(&h);
}

int main(void)
{
    return test_main();
}
