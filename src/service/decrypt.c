/* decrypt.c - decrypts an OpenPGP message, armored or binary, piece by piece.
 *
 *     - decrypt: { key: secret:our-key, passphrase: secret:our-passphrase }
 *     - decrypt: { key: [secret:new-key, secret:old-key], from_file: keys/partner.asc }
 *
 * A message without integrity protection is refused.  With `from` it must be signed with one of
 * those keys; without, a signature in it is not looked at, as encryption alone says nothing about
 * who sent it.
 */
#include "core/connector.h"
#include "core/grammar.h"
#include "service/pgp/pgp_read.h"

struct decrypt {
    struct pgp *keys;
};

static const struct option options[] = {
    OPTION("key", OPT_SECRET, "our OpenPGP private keys, as text",
           .flags = OPT_OR_LIST | OPT_ONE_OF),
    OPTION("key_file", OPT_FILE, "files with them, which have a passphrase",
           .flags = OPT_OR_LIST | OPT_ONE_OF),
    OPTION("passphrase", OPT_SECRET, "their passphrase"),
    OPTION("from", OPT_TEXT,
           "OpenPGP public keys, as text: it must be signed with one of them; left out: a "
           "signature is not looked at",
           .flags = OPT_OR_LIST),
    OPTION("from_file", OPT_FILE, "files with them", .flags = OPT_OR_LIST),
    OPTIONS(grammar_stream_limits),
    { 0 },
};

static void unmake(void *self)
{
    pgp_unmake(((struct decrypt *)self)->keys);
}

static bool make(const struct settings *s, void **ret_self, struct err *err)
{
    struct decrypt *d = ARENA_NEW(s->arena, struct decrypt);

    if (!pgp_make(s, &d->keys, err))
        return false;
    bool ok = pgp_add(d->keys, s, "key", PGP_DECRYPTS, err) &&
              pgp_add(d->keys, s, "from", PGP_VERIFIES, err);

    if (ok && pgp_count(d->keys, PGP_DECRYPTS) == 0)
        ok = err_set(err, ERR_CONFIG, 0, "`key` or `key_file` is needed");
    if (!ok)
        unmake(d);
    *ret_self = d;
    return ok;
}

static bool stream(void *self, struct service_io *io, struct service_failure *ret_failure)
{
    const struct decrypt *d = self;
    const struct pgp_reading reading = { .who = "decrypt",
                                         .option = "from",
                                         .keys = d->keys,
                                         .decrypts = true,
                                         .verifies = pgp_count(d->keys, PGP_VERIFIES) > 0 };

    return pgp_read(&reading, io, ret_failure);
}

const struct service_type service_decrypt = {
    .kind = { .name = "decrypt",
              .help = "decrypt it (OpenPGP)",
              .keys = options,
              .example = "- decrypt: { key: secret:our-key, passphrase: secret:our-passphrase }" },
    .caged = true,
    .streams = true,
    .discreet = true,
    .make = make,
    .unmake = unmake,
    .stream = stream,
};
