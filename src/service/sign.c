/* sign.c - signs a document (OpenPGP), piece by piece.
 *
 *     - sign: { key: secret:our-key, passphrase: secret:our-passphrase }
 *
 * The result is a message with the document in it, as `gpg --sign` makes it.  Its time is that at
 * which the document was received, so that the same document and key give the same bytes (with RSA
 * and Ed25519, whose signatures have no chance in them).
 */
#include <rnp/rnp_err.h>

#include "base/auto.h"
#include "core/connector.h"
#include "core/grammar.h"
#include "service/pgp/pgp_keys.h"
#include "service/pgp/pgp_stream.h"

struct sign {
    struct pgp *keys;
    bool armor;
};

static const struct option options[] = {
    OPTION("key", OPT_SECRET, "our OpenPGP private key", .flags = OPT_ONE_OF),
    OPTION("key_file", OPT_FILE, "a file with it, which has a passphrase", .flags = OPT_ONE_OF),
    OPTION("passphrase", OPT_SECRET, "its passphrase"),
    OPTION("armor", OPT_BOOL, "as text", .fallback = "false"),
    OPTIONS(grammar_stream_limits),
    { 0 },
};

static void unmake(void *self)
{
    pgp_unmake(((struct sign *)self)->keys);
}

static bool make(const struct settings *s, void **ret_self, struct err *err)
{
    struct sign *g = ARENA_NEW(s->arena, struct sign);

    if (!settings_bool(s, "armor", &g->armor, err) || !pgp_make(s, &g->keys, err))
        return false;
    bool ok = pgp_add(g->keys, s, "key", PGP_SIGNS, err);

    if (ok && g->keys->count == 0)
        ok = err_set(err, ERR_CONFIG, 0, "`key` or `key_file` is needed");
    if (!ok)
        unmake(g);
    *ret_self = g;
    return ok;
}

static rnp_result_t sign_run(const struct sign *g, const struct pgp_stream *x, int64_t received_us)
{
    rnp_op_sign_t op = NULL;
    rnp_result_t result = rnp_op_sign_create(&op, g->keys->ffi, x->in, x->out);

    for (size_t i = 0; i < g->keys->count && result == RNP_SUCCESS; i++)
        result = rnp_op_sign_add_signature(op, g->keys->keys[i].part, NULL);
    if (result == RNP_SUCCESS)
        result = rnp_op_sign_set_hash(op, "SHA256");
    if (result == RNP_SUCCESS)
        result = rnp_op_sign_set_creation_time(op, pgp_signing_time(g->keys, received_us));
    if (result == RNP_SUCCESS)
        result = rnp_op_sign_set_file_mtime(op, pgp_time(received_us));
    if (result == RNP_SUCCESS)
        result = rnp_op_sign_set_armor(op, g->armor);
    if (result == RNP_SUCCESS)
        result = rnp_op_sign_execute(op);
    (void)rnp_op_sign_destroy(op);
    return result;
}

static bool stream(void *self, struct service_io *io, struct service_failure *ret_failure)
{
    const struct sign *g = self;
    AUTO(pgp_stream_done) struct pgp_stream x = { 0 };

    return pgp_all_good(g->keys, PGP_SIGNS, io->document, "sign", ret_failure) &&
           pgp_stream_open(&x, io, ret_failure) &&
           pgp_stream_end(&x, sign_run(g, &x, io->document->received_us), "sign");
}

const struct service_type service_sign = {
    .kind = { .name = "sign",
              .help = "sign it (OpenPGP)",
              .keys = options,
              .example = "- sign: { key: secret:our-key, passphrase: secret:our-passphrase }" },
    .caged = true,
    .streams = true,
    .discreet = true,
    .make = make,
    .unmake = unmake,
    .stream = stream,
};
