/* verify.c - checks the signature of an OpenPGP message, and goes on with what was signed.
 *
 *     - verify: { key_file: [keys/partner.asc, keys/partner-2027.asc] }
 *
 * It takes messages with the document in them, armored or binary, and texts with a signature below
 * (`gpg --clearsign`).  A signature in a file of its own is another document, and cannot be checked
 * here.
 */
#include "core/connector.h"
#include "core/grammar.h"
#include "service/pgp/pgp_read.h"

struct verify {
    struct pgp *keys;
};

static const struct option options[] = {
    OPTION("key", OPT_TEXT, "the OpenPGP public keys that are trusted, as text",
           .flags = OPT_OR_LIST | OPT_ONE_OF),
    OPTION("key_file", OPT_FILE, "files with them", .flags = OPT_OR_LIST | OPT_ONE_OF),
    OPTIONS(grammar_stream_limits),
    { 0 },
};

static void unmake(void *self)
{
    pgp_unmake(((struct verify *)self)->keys);
}

static bool make(const struct settings *s, void **ret_self, struct err *err)
{
    struct verify *v = ARENA_NEW(s->arena, struct verify);

    if (!pgp_make(s, &v->keys, err))
        return false;
    bool ok = pgp_add(v->keys, s, "key", PGP_VERIFIES, err);

    if (ok && v->keys->count == 0)
        ok = err_set(err, ERR_CONFIG, 0, "`key` or `key_file` is needed");
    if (!ok)
        unmake(v);
    *ret_self = v;
    return ok;
}

static bool stream(void *self, struct service_io *io, struct service_failure *ret_failure)
{
    const struct verify *v = self;
    const struct pgp_reading reading = {
        .who = "verify", .option = "key", .keys = v->keys, .verifies = true
    };

    return pgp_read(&reading, io, ret_failure);
}

const struct service_type service_verify = {
    .kind = { .name = "verify",
              .help = "check its signature (OpenPGP), go on with what was signed",
              .keys = options,
              .example = "- verify: { key_file: keys/partner.asc }" },
    .caged = true,
    .streams = true,
    .discreet = true,
    .make = make,
    .unmake = unmake,
    .stream = stream,
};
