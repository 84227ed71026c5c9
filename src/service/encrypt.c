/* encrypt.c - encrypts a document for one or more recipients (OpenPGP), piece by piece.
 *
 *     - encrypt: { to: secret:bank-key, armor: true }
 *     - encrypt: { to_file: [keys/bank.asc, keys/auditor.asc], key: secret:our-key }
 *
 * Every message has a session key of its own, so the same document gives other bytes each time; a
 * recipient gets the same content.  With `key` it is signed before it is encrypted, in one message.
 * It is not compressed: the step `compress` is there for that.
 */
#include <rnp/rnp_err.h>

#include "base/auto.h"
#include "core/connector.h"
#include "core/grammar.h"
#include "service/pgp/pgp_keys.h"
#include "service/pgp/pgp_stream.h"

struct encrypt {
    struct pgp *keys;
    bool armor;
};

static const struct option options[] = {
    OPTION("to", OPT_TEXT, "the OpenPGP public keys of the recipients, as text",
           .flags = OPT_OR_LIST | OPT_ONE_OF),
    OPTION("to_file", OPT_FILE, "files with them", .flags = OPT_OR_LIST | OPT_ONE_OF),
    OPTION("key", OPT_SECRET, "our OpenPGP private key: it is signed with it, too"),
    OPTION("key_file", OPT_FILE, "a file with it, which has a passphrase"),
    OPTION("passphrase", OPT_SECRET, "its passphrase"),
    OPTION("armor", OPT_BOOL, "as text", .fallback = "false"),
    OPTIONS(grammar_stream_limits),
    { 0 },
};

static void unmake(void *self)
{
    pgp_unmake(((struct encrypt *)self)->keys);
}

static bool make(const struct settings *s, void **ret_self, struct err *err)
{
    struct encrypt *e = ARENA_NEW(s->arena, struct encrypt);

    if (!settings_bool(s, "armor", &e->armor, err) || !pgp_make(s, &e->keys, err))
        return false;
    bool ok =
        pgp_add(e->keys, s, "to", PGP_ENCRYPTS, err) && pgp_add(e->keys, s, "key", PGP_SIGNS, err);

    if (ok && pgp_count(e->keys, PGP_ENCRYPTS) == 0)
        ok = err_set(err, ERR_CONFIG, 0, "`to` or `to_file` is needed");
    if (!ok)
        unmake(e);
    *ret_self = e;
    return ok;
}

static rnp_result_t encrypt_add_keys(const struct pgp *p, rnp_op_encrypt_t op)
{
    rnp_result_t result = RNP_SUCCESS;

    for (size_t i = 0; i < p->count && result == RNP_SUCCESS; i++)
        result = p->keys[i].use == PGP_ENCRYPTS
                     ? rnp_op_encrypt_add_recipient(op, p->keys[i].part)
                     : rnp_op_encrypt_add_signature(op, p->keys[i].part, NULL);
    return result;
}

static rnp_result_t encrypt_run(const struct encrypt *e, const struct pgp_stream *x,
                                int64_t received_us)
{
    uint32_t at = pgp_time(received_us);
    rnp_op_encrypt_t op = NULL;
    rnp_result_t result = rnp_op_encrypt_create(&op, e->keys->ffi, x->in, x->out);

    if (result == RNP_SUCCESS)
        result = encrypt_add_keys(e->keys, op);
    if (result == RNP_SUCCESS)
        result = rnp_op_encrypt_set_cipher(op, "AES256");
    if (result == RNP_SUCCESS)
        result = rnp_op_encrypt_set_hash(op, "SHA256");
    if (result == RNP_SUCCESS)
        result = rnp_op_encrypt_set_file_mtime(op, at);
    if (result == RNP_SUCCESS)
        result = rnp_op_encrypt_set_creation_time(op, pgp_signing_time(e->keys, received_us));
    if (result == RNP_SUCCESS)
        result = rnp_op_encrypt_set_armor(op, e->armor);
    if (result == RNP_SUCCESS)
        result = rnp_op_encrypt_execute(op);
    (void)rnp_op_encrypt_destroy(op);
    return result;
}

static bool stream(void *self, struct service_io *io, struct service_failure *ret_failure)
{
    const struct encrypt *e = self;
    AUTO(pgp_stream_done) struct pgp_stream x = { 0 };

    return pgp_all_good(e->keys, PGP_ENCRYPTS, io->document, "encrypt", ret_failure) &&
           pgp_all_good(e->keys, PGP_SIGNS, io->document, "encrypt", ret_failure) &&
           pgp_stream_open(&x, io, ret_failure) &&
           pgp_stream_end(&x, encrypt_run(e, &x, io->document->received_us), "encrypt");
}

const struct service_type service_encrypt = {
    .kind = { .name = "encrypt",
              .help = "encrypt it (OpenPGP)",
              .keys = options,
              .example = "- encrypt: { to_file: keys/partner.asc, armor: true }" },
    .caged = true,
    .streams = true,
    .discreet = true,
    .make = make,
    .unmake = unmake,
    .stream = stream,
};
