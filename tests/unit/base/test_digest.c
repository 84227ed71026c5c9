#include "test.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/chance.h"
#include "base/digest.h"
#include "dies.h"

static char million[1000000];

TEST(digest_known_vectors)
{
    memset(million, 'a', sizeof million);
    const struct {
        struct str in;
        const char *want;
    } cases[] = {
        { STR(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
        { { NULL, 0 }, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
        { STR("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
        { STR("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
        { str_mem(million, sizeof million),
          "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sha256 d = digest_of(cases[i].in);
        char text[SHA256_TEXT];

        CHECK(strcmp(digest_text(&d, text), cases[i].want) == 0);
    }
}

TEST(digest_in_pieces_equals_digest_at_once)
{
    static char bytes[70000];

    chance_bytes(bytes, sizeof bytes);
    struct sha256 want = digest_of(str_mem(bytes, sizeof bytes));

    for (int round = 0; round < 50; round++) {
        struct digest d = digest_start();
        struct str rest = str_mem(bytes, sizeof bytes);

        while (rest.len > 0) {
            size_t n = (size_t)chance_u64() % (round < 25 ? 5000 : 130);

            n = n < rest.len ? n : rest.len;
            digest_add(&d, (struct str){ rest.ptr, n }); /* pieces of 0 bytes too */
            rest = str_from(rest, n);
        }
        struct sha256 got = digest_end(&d);

        CHECK(digest_same(&got, &want));
    }
}

TEST(digest_several_at_a_time)
{
    struct digest a = digest_start(), b = digest_start();

    digest_add(&a, STR("ab"));
    digest_add(&b, STR("x"));
    struct sha256 whole = digest_of(STR("abc")), other;

    digest_add(&a, STR("c"));
    struct sha256 got = digest_end(&a);

    CHECK(digest_same(&got, &whole));
    other = digest_end(&b);
    CHECK(!digest_same(&got, &other));
}

TEST(digest_drop_is_safe_at_any_time)
{
    struct digest none = { 0 }, d = digest_start();

    digest_drop(&none);
    digest_add(&d, STR("half"));
    digest_drop(&d);
    digest_drop(&d);
    d = digest_start();
    (void)digest_end(&d);
    digest_drop(&d);
}

static void add_after_the_end(void)
{
    struct digest d = digest_start();

    (void)digest_end(&d);
    digest_add(&d, STR("late"));
}

TEST(digest_add_after_the_end_is_a_mistake)
{
    CHECK(dies(add_after_the_end));
}

TEST(digest_same_looks_at_every_byte)
{
    struct sha256 a = digest_of(STR("a")), b = a;

    CHECK(digest_same(&a, &b));
    for (int i = 0; i < SHA256_SIZE; i++) {
        b.bytes[i] ^= 1;
        CHECK(!digest_same(&a, &b));
        b.bytes[i] ^= 1;
    }
}

TEST(digest_parse_takes_its_own_text_and_nothing_else)
{
    static const char *const wrong[] = {
        "",
        "ba7816bf",
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015a",
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015add",
        "BA7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        "ga7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015a:",
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015a`",
    };
    struct sha256 d, want = digest_of(STR("abc")), untouched = want;

    CHECK(
        digest_parse(STR("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"), &d) &&
        digest_same(&d, &want));
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        CHECK(!digest_parse(str_of(wrong[i]), &untouched) && digest_same(&untouched, &want));
    for (int i = 0; i < 1000; i++) {
        struct sha256 any, back;
        char text[SHA256_TEXT];

        chance_bytes(any.bytes, sizeof any.bytes);
        CHECK(digest_parse(str_of(digest_text(&any, text)), &back) && digest_same(&any, &back));
    }
}

static void *work(void *arg)
{
    struct sha256 want = digest_of(STR("abc"));

    for (int i = 0; i < 200; i++) {
        struct digest d = digest_start();

        digest_add(&d, STR("abc"));
        struct sha256 streamed = digest_end(&d), whole = digest_of(STR("abc"));

        if (!digest_same(&streamed, &want) || !digest_same(&whole, &want))
            *(int *)arg = 1;
    }
    return NULL;
}

TEST(digest_from_many_threads) /* which end, and leave nothing behind */
{
    enum { THREADS = 8 };
    pthread_t t[THREADS];
    int wrong[THREADS] = { 0 };

    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&t[i], NULL, work, &wrong[i]) == 0);
    for (int i = 0; i < THREADS; i++) {
        (void)pthread_join(t[i], NULL);
        CHECK(wrong[i] == 0);
    }
}

int main(void)
{
    return test_main();
}
