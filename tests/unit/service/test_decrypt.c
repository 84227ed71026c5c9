#include "pgp_stepping.h"
#include "test.h"

TEST(decrypt_reads_what_gpg_encrypts)
{
    AUTO(step_done)
    struct step rsa = PGP_STEP(&service_decrypt, "key", pgp_rsa_private);
    AUTO(step_done)
    struct step ed =
        PGP_STEP(&service_decrypt, "key", pgp_ed_private, "passphrase", "correct horse");

    CHECK(pgp_gives(&rsa, PGP_SAMPLE(pgp_for_rsa_and_ed), pgp_plain)); /* compressed, two keys */
    CHECK(pgp_gives(&rsa, PGP_SAMPLE(pgp_for_rsa_bzip2), pgp_plain));
    CHECK(pgp_gives(&ed, PGP_SAMPLE(pgp_for_rsa_and_ed), pgp_plain));
    CHECK(pgp_gives(&ed, PGP_SAMPLE(pgp_for_ed_flat), pgp_plain));
    CHECK(pgp_gives(&ed, str_of(pgp_for_ed_armored), pgp_plain));
    /* A signature is not looked at: the step names nobody whose it must be. */
    CHECK(pgp_gives(&rsa, PGP_SAMPLE(pgp_for_rsa_by_ed), pgp_plain));
    CHECK(pgp_gives(&rsa, PGP_SAMPLE(pgp_for_rsa_by_other), pgp_plain));
}

TEST(decrypt_has_several_keys)
{
    AUTO(step_done)
    struct step s = PGP_STEP(&service_decrypt, "key", pgp_rsa_private, "...", pgp_ed_private,
                             "passphrase", "correct horse");

    CHECK(pgp_gives(&s, PGP_SAMPLE(pgp_for_ed_flat), pgp_plain));
    CHECK(pgp_gives(&s, PGP_SAMPLE(pgp_for_rsa_bzip2), pgp_plain));
}

TEST(decrypt_says_why_it_refuses)
{
    AUTO(step_done)
    struct step s = PGP_STEP(&service_decrypt, "key", pgp_rsa_private);
    const struct {
        struct str in;
        const char *why;
    } cases[] = {
        { PGP_SAMPLE(pgp_for_ed_flat), "and the step has no such key" },
        { str_of(pgp_for_ed_armored), "and the step has no such key" },
        { PGP_SAMPLE(pgp_for_rsa_no_mdc), "it has no integrity protection" },
        { PGP_SAMPLE(pgp_by_password), "with a password" },
        { PGP_SAMPLE(pgp_by_ed), "it is not encrypted" },
        { STR("plain text, and no message"), "no OpenPGP message" },
        { STR(""), "no OpenPGP message" },
        { STR("-----BEGIN PGP MESSAGE-----\n\nAAAA\n"), "no OpenPGP message" },
    };

    CHECK(s.self != NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK(step_fails(&s, cases[i].in, DEAD_DECRYPT_FAILED, cases[i].why));
}

/* Whatever was put before, the step does not say that it is right.  Compressed and flat, because
 * damage within compressed bytes is seen by another one. */
static bool damage_is_seen(struct step *s, struct str message)
{
    AUTO(buf_done) struct buf copy = BUF_INIT(1 << 16);

    buf_put(&copy, message);
    for (size_t at = 0; at < message.len; at++) {
        copy.ptr[at] = (char)(copy.ptr[at] ^ 1 << (at % 8));
        step_run_pieces(s, buf_view(&copy), 0);
        /* The head may say less than it did and still be read: then the content is what it was. */
        bool same = s->ok && str_eq(buf_view(&s->m.out), str_of(pgp_plain));

        copy.ptr[at] = message.ptr[at];
        if (s->ok ? same : s->failure.code == DEAD_DECRYPT_FAILED)
            continue;
        printf("# byte %zu: %s\n", at, s->ok ? "another text" : s->failure.message);
        return false;
    }
    return true;
}

/* proves: PR9 */
TEST(decrypt_gives_nothing_that_was_changed)
{
    AUTO(step_done)
    struct step rsa = PGP_STEP(&service_decrypt, "key", pgp_rsa_private);
    AUTO(step_done)
    struct step ed =
        PGP_STEP(&service_decrypt, "key", pgp_ed_private, "passphrase", "correct horse");

    CHECK(rsa.self != NULL && ed.self != NULL);
    CHECK(damage_is_seen(&rsa, PGP_SAMPLE(pgp_for_rsa_bzip2)));
    CHECK(damage_is_seen(&ed, PGP_SAMPLE(pgp_for_ed_flat)));
}

TEST(decrypt_gives_nothing_that_was_cut_off)
{
    AUTO(step_done)
    struct step ed =
        PGP_STEP(&service_decrypt, "key", pgp_ed_private, "passphrase", "correct horse");
    struct str whole = PGP_SAMPLE(pgp_for_ed_flat);

    CHECK(ed.self != NULL);
    for (size_t len = 0; len < whole.len; len++) {
        step_run_pieces(&ed, str_first(whole, len), 0);
        CHECK(!ed.ok && ed.failure.code == DEAD_DECRYPT_FAILED);
    }
}

TEST(decrypt_wants_a_signature)
{
    AUTO(step_done)
    struct step s = PGP_STEP(&service_decrypt, "key", pgp_rsa_private, "from", pgp_ed_public);

    CHECK(pgp_gives(&s, PGP_SAMPLE(pgp_for_rsa_by_ed), pgp_plain));
    CHECK(step_fails(&s, PGP_SAMPLE(pgp_for_rsa_by_other), DEAD_DECRYPT_FAILED,
                     "which is not among those of `from`"));
    CHECK(step_fails(&s, PGP_SAMPLE(pgp_for_rsa_bzip2), DEAD_DECRYPT_FAILED, "it is not signed"));
}

TEST(decrypt_names_what_is_wrong_with_a_key)
{
    const struct service_type *t = &service_decrypt;

    CHECK(PGP_REFUSES(t, "`key`: it is no OpenPGP key", "key", "not a key"));
    CHECK(PGP_REFUSES(t, "`key`: number 2: it is no OpenPGP key", "key", pgp_rsa_private, "...",
                      "not a key"));
    CHECK(PGP_REFUSES(t, "`key`: this is a public key", "key", pgp_rsa_public));
    CHECK(PGP_REFUSES(t, "`passphrase` is needed", "key", pgp_ed_private));
    CHECK(PGP_REFUSES(t, "`passphrase` does not unlock", "key", pgp_ed_private, "passphrase", "?"));
    CHECK(PGP_REFUSES(t, "`from`: this is a private key", "key", pgp_rsa_private, "from",
                      pgp_other_private));
    CHECK(PGP_REFUSES(t, "is revoked", "key", pgp_rsa_private, "from", pgp_gone_public));
}

/* Messages that were encrypted before are read all the same. */
TEST(decrypt_takes_keys_that_are_past)
{
    static const char *const keys[] = { pgp_old_private, pgp_gone_private };

    for (size_t i = 0; i < 2; i++) {
        AUTO(step_done) struct step s = PGP_STEP(&service_decrypt, "key", keys[i]);

        CHECK(s.self != NULL);
        CHECK(step_fails(&s, PGP_SAMPLE(pgp_for_ed_flat), DEAD_DECRYPT_FAILED, "no such key"));
    }
}

int main(void)
{
    return test_main();
}
