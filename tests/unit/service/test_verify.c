#include "pgp_stepping.h"
#include "test.h"

TEST(verify_goes_on_with_what_was_signed)
{
    AUTO(step_done)
    struct step v = PGP_STEP(&service_verify, "key", pgp_ed_public, "...", pgp_rsa_public);

    CHECK(pgp_gives(&v, PGP_SAMPLE(pgp_by_ed), pgp_plain));
    CHECK(pgp_gives(&v, str_of(pgp_by_rsa_armored), pgp_plain));
    CHECK(pgp_gives(&v, PGP_SAMPLE(pgp_by_ed_and_other), pgp_plain)); /* one of them is enough */
    CHECK(pgp_gives(&v, str_of(pgp_by_ed_clear), pgp_plain));
}

TEST(verify_says_why_it_refuses)
{
    AUTO(step_done) struct step v = PGP_STEP(&service_verify, "key", pgp_ed_public);
    const struct {
        struct str in;
        const char *why;
    } cases[] = {
        { PGP_SAMPLE(pgp_by_other), "which is not among those of `key`" },
        { str_of(pgp_by_rsa_armored), "which is not among those of `key`" },
        { PGP_SAMPLE(pgp_by_ed_expired), "has expired" },
        { PGP_SAMPLE(pgp_for_ed_flat), "a step `decrypt` comes first" },
        { PGP_SAMPLE(pgp_by_password), "a step `decrypt` comes first" },
        { STR("plain text, and no message"), "no OpenPGP message" },
        { STR(""), "no OpenPGP message" },
    };

    CHECK(v.self != NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK(step_fails(&v, cases[i].in, DEAD_DECRYPT_FAILED, cases[i].why));
}

TEST(verify_gives_nothing_that_was_changed)
{
    AUTO(step_done) struct step v = PGP_STEP(&service_verify, "key", pgp_ed_public);
    AUTO(step_done)
    struct step s = PGP_STEP(&service_sign, "key", pgp_ed_private, "passphrase", "correct horse");
    AUTO(buf_done) struct buf copy = BUF_INIT(1 << 16);

    /* Of our own making: the text lies in it as it is. */
    CHECK(v.self != NULL && pgp_makes(&s, str_of(pgp_plain)));
    buf_put(&copy, buf_view(&s.m.out));
    char *word = memmem(copy.ptr, copy.len, "quick", 5);

    CHECK(word != NULL);
    if (word == NULL)
        return;
    word[0] = 'Q';
    CHECK(
        step_fails(&v, buf_view(&copy), DEAD_DECRYPT_FAILED, "it was changed after it was signed"));
    word[0] = 'q';
    CHECK(pgp_gives(&v, buf_view(&copy), pgp_plain));
    for (size_t len = 0; len < copy.len; len++) {
        step_run_pieces(&v, str_mem(copy.ptr, len), 0);
        CHECK(!v.ok && v.failure.code == DEAD_DECRYPT_FAILED);
    }
}

/* The key is judged at the time of the document, not at that of a replay. */
TEST(verify_judges_keys_at_the_time_of_the_document)
{
    AUTO(step_done) struct step v = PGP_STEP(&service_verify, "key", pgp_old_public);

    CHECK(v.self != NULL);
    CHECK(step_fails(&v, PGP_SAMPLE(pgp_by_old), DEAD_DECRYPT_FAILED,
                     "which has expired on 2020-12-31"));
    CHECK(PGP_REFUSES(&service_verify, "is revoked", "key", pgp_gone_public));
}

/* Clocks differ a little: a signature from the near future counts, one from far ahead does not. */
TEST(verify_takes_clocks_that_are_ahead)
{
    AUTO(step_done) struct step v = PGP_STEP(&service_verify, "key", pgp_ed_public);

    v.document.received_us = INT64_C(1780271940) * 1000000; /* a minute before it was signed */
    CHECK(pgp_gives(&v, PGP_SAMPLE(pgp_by_ed), pgp_plain));
    v.document.received_us = INT64_C(1780268400) * 1000000; /* an hour */
    CHECK(step_fails(&v, PGP_SAMPLE(pgp_by_ed), DEAD_DECRYPT_FAILED, "of a time to come"));
}

int main(void)
{
    return test_main();
}
