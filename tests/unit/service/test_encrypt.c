#include "pgp_stepping.h"
#include "test.h"

/* What `decrypt` makes of the last result of a step. */
static bool reads_back(struct step *d, const struct step *made, const char *plain)
{
    return pgp_gives(d, buf_view(&made->m.out), plain);
}

TEST(encrypt_for_several_recipients)
{
    AUTO(step_done)
    struct step e = PGP_STEP(&service_encrypt, "to", pgp_rsa_public, "...", pgp_ed_public);
    AUTO(step_done) struct step rsa = PGP_STEP(&service_decrypt, "key", pgp_rsa_private);
    AUTO(step_done)
    struct step ed =
        PGP_STEP(&service_decrypt, "key", pgp_ed_private, "passphrase", "correct horse");
    AUTO(step_done) struct step other = PGP_STEP(&service_decrypt, "key", pgp_other_private);

    CHECK(pgp_makes(&e, str_of(pgp_plain)));
    CHECK(reads_back(&rsa, &e, pgp_plain) && reads_back(&ed, &e, pgp_plain));
    CHECK(step_fails(&other, buf_view(&e.m.out), DEAD_DECRYPT_FAILED, "no such key"));
    CHECK(memmem(e.m.out.ptr, e.m.out.len, "quick brown", 11) == NULL);
}

TEST(encrypt_documents_of_any_size)
{
    AUTO(step_done)
    struct step e = PGP_STEP(&service_encrypt, "to", pgp_rsa_public, "armor", "true");
    AUTO(step_done) struct step d = PGP_STEP(&service_decrypt, "key", pgp_rsa_private);
    static const size_t sizes[] = { 0, 1, 4095, 65536, 1 << 20 };

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        AUTO(buf_done) struct buf in = BUF_INIT(2 << 20);

        while (in.len < sizes[i])
            buf_putc(&in, (char)('a' + in.len % 23));
        CHECK(pgp_makes(&e, buf_view(&in)));
        CHECK(str_starts(buf_view(&e.m.out), STR("-----BEGIN PGP MESSAGE-----")));
        step_run_pieces(&d, buf_view(&e.m.out), 1000);
        CHECK(d.ok && str_eq(buf_view(&d.m.out), buf_view(&in)));
    }
}

TEST(encrypt_signs_too)
{
    AUTO(step_done)
    struct step e = PGP_STEP(&service_encrypt, "to", pgp_rsa_public, "key", pgp_ed_private,
                             "passphrase", "correct horse");
    AUTO(step_done)
    struct step d = PGP_STEP(&service_decrypt, "key", pgp_rsa_private, "from", pgp_ed_public);
    AUTO(step_done)
    struct step other =
        PGP_STEP(&service_decrypt, "key", pgp_rsa_private, "from", pgp_other_public);

    CHECK(pgp_makes(&e, str_of(pgp_plain)));
    CHECK(reads_back(&d, &e, pgp_plain));
    CHECK(step_fails(&other, buf_view(&e.m.out), DEAD_DECRYPT_FAILED, "not among those of `from`"));
}

TEST(encrypt_refuses_keys_that_are_past)
{
    const struct service_type *t = &service_encrypt;

    CHECK(PGP_REFUSES(t, "has expired on 2020-12-31", "to", pgp_old_public));
    CHECK(PGP_REFUSES(t, "is revoked", "to", pgp_rsa_public, "...", pgp_gone_public));
    CHECK(PGP_REFUSES(t, "`to`: number 2: the key", "to", pgp_rsa_public, "...", pgp_gone_public));
    CHECK(PGP_REFUSES(t, "`to`: it is no OpenPGP key", "to", "anything"));
    CHECK(PGP_REFUSES(t, "`to`: it is empty", "to", ""));
    CHECK(PGP_REFUSES(t, "`to`: this is a private key", "to", pgp_rsa_private));
    CHECK(PGP_REFUSES(t, "`to` or `to_file` is needed", "armor", "true"));
}

/* It expires while the step runs. */
TEST(encrypt_asks_for_the_time_of_the_document)
{
    AUTO(step_done) struct step e = PGP_STEP(&service_encrypt, "to", pgp_late_public);

    CHECK(pgp_makes(&e, str_of(pgp_plain)));
    e.document.received_us = INT64_C(4102444801) * 1000000; /* 2100 */
    step_run_pieces(&e, str_of(pgp_plain), 0);
    CHECK(!e.ok && e.failure.code == DEAD_SERVICE_FAILED);
    CHECK(strstr(e.failure.message, "of `to` has expired on 2099-12-31") != NULL);
}

/* An io that fails is not called again, and its failure stands. */
TEST(encrypt_keeps_the_failure_of_the_io)
{
    AUTO(step_done) struct step e = PGP_STEP(&service_encrypt, "to", pgp_rsa_public);
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    AUTO(service_memory_done) struct service_memory m = { 0 };
    struct service_failure failure = { 0 };

    service_memory_init(&m, &e.document, str_of(pgp_plain), 100, &a);
    CHECK(!service_run(e.type, e.self, &m.io, &failure));
    CHECK(failure.code == DEAD_LIMIT && m.out.len <= 100);
}

int main(void)
{
    return test_main();
}
