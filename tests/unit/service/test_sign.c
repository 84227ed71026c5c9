#include "pgp_stepping.h"
#include "test.h"

TEST(sign_is_verified)
{
    AUTO(step_done)
    struct step ed = PGP_STEP(&service_sign, "key", pgp_ed_private, "passphrase", "correct horse");
    AUTO(step_done)
    struct step rsa = PGP_STEP(&service_sign, "key", pgp_rsa_private, "armor", "true");
    AUTO(step_done)
    struct step v = PGP_STEP(&service_verify, "key", pgp_ed_public, "...", pgp_rsa_public);

    CHECK(pgp_makes(&ed, str_of(pgp_plain)));
    CHECK(pgp_gives(&v, buf_view(&ed.m.out), pgp_plain));
    CHECK(pgp_makes(&rsa, str_of(pgp_plain)));
    CHECK(str_starts(buf_view(&rsa.m.out), STR("-----BEGIN PGP MESSAGE-----")));
    CHECK(pgp_gives(&v, buf_view(&rsa.m.out), pgp_plain));
}

/* The same document and key give the same bytes, in pieces of any size. */
TEST(sign_is_repeatable)
{
    static const char *const keys[] = { pgp_rsa_private, pgp_other_private };

    for (size_t i = 0; i < 2; i++) {
        AUTO(step_done) struct step s = PGP_STEP(&service_sign, "key", keys[i]);
        AUTO(step_done) struct step again = PGP_STEP(&service_sign, "key", keys[i]);

        CHECK(s.self != NULL && step_run(&s, str_of(pgp_plain)) && s.ok);
        CHECK(pgp_makes(&again, str_of(pgp_plain)));
        CHECK(str_eq(buf_view(&s.m.out), buf_view(&again.m.out)));
    }
}

/* A document from before the key: a signature older than its key would not count. */
TEST(sign_is_not_older_than_its_key)
{
    AUTO(step_done) struct step s = PGP_STEP(&service_sign, "key", pgp_other_private);
    AUTO(step_done) struct step v = PGP_STEP(&service_verify, "key", pgp_other_public);

    s.document.received_us = INT64_C(1500000000) * 1000000;
    CHECK(pgp_makes(&s, str_of(pgp_plain)));
    CHECK(pgp_gives(&v, buf_view(&s.m.out), pgp_plain));
}

TEST(sign_names_what_is_wrong_with_a_key)
{
    const struct service_type *t = &service_sign;

    CHECK(PGP_REFUSES(t, "`key`: this is a public key", "key", pgp_rsa_public));
    CHECK(PGP_REFUSES(t, "has expired on 2020-12-31", "key", pgp_old_private));
    CHECK(PGP_REFUSES(t, "is revoked: ", "key", pgp_gone_private));
    CHECK(PGP_REFUSES(t, "`passphrase` is needed", "key", pgp_ed_private));
    CHECK(PGP_REFUSES(t, "`passphrase` does not unlock", "key", pgp_ed_private, "passphrase", "?"));
    CHECK(PGP_REFUSES(t, "`key` or `key_file` is needed", "armor", "false"));
}

int main(void)
{
    return test_main();
}
