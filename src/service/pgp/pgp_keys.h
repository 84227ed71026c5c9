/* pgp_keys.h - the OpenPGP keys of a step, from its options.
 *
 * An option such as `to` has keys as text (armored; best a secret), `to_file` beside it has them in
 * files of the version, armored or binary.  One text may hold several keys.
 *
 * Refused when the step is made: what is no key, a private key where a public one is wanted and the
 * other way round, a wrong passphrase, a key that is revoked or has expired, or has no part for its
 * use.  For reading old messages neither expiry nor revocation matter: PGP_DECRYPTS takes such keys
 * too.  A private key in a file must have a passphrase, because whoever may read the configuration
 * may read its files.
 *
 * Ownership: on the arena of the settings, but for what librnp has: pgp_unmake().
 * Threads: one at a time.
 */
#pragma once

#include <rnp/rnp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/service.h"
#include "core/settings.h"

enum {
    PGP_KEYS_MOST = 100,
    PGP_PRINT = 65 /* the text of a fingerprint */
};

enum pgp_use { PGP_ENCRYPTS, PGP_SIGNS, PGP_DECRYPTS, PGP_VERIFIES };

struct pgp_key {
    enum pgp_use use;
    const char *option;       /* that named it */
    rnp_key_handle_t primary; /* with its subkeys */
    rnp_key_handle_t part;    /* ENCRYPTS, SIGNS: the one of them that is used */
    char print[PGP_PRINT];    /* fingerprint of the primary key */
};

struct pgp {
    rnp_ffi_t ffi;
    struct pgp_key keys[PGP_KEYS_MOST];
    size_t count;
};

bool pgp_make(const struct settings *s, struct pgp **ret, struct err *err);
void pgp_unmake(struct pgp *p); /* NULL is fine */

/* Adds the keys of `option` and `option`_file; none if neither is set.  Private keys are unlocked
 * with `passphrase`. */
bool pgp_add(struct pgp *p, const struct settings *s, const char *option, enum pgp_use use,
             struct err *err);
size_t pgp_count(const struct pgp *p, enum pgp_use use);

/* The fingerprint of a key, or of the key whose subkey it is. */
void pgp_print(rnp_key_handle_t key, char to[static PGP_PRINT]);

/* Times as OpenPGP has them: seconds, within 32 bits. */
uint32_t pgp_time(int64_t us);
/* The time of a signature: that of the document, or of the newest key if that is later. */
uint32_t pgp_signing_time(const struct pgp *p, int64_t received_us);

/* The key of this print whose signatures the step trusts, or NULL. */
const struct pgp_key *pgp_trusted(const struct pgp *p, const char *primary_print);

/* False: this key or subkey is revoked, or has expired at that time; the text goes on behind "the
 * key X ". */
enum { PGP_WHY = 100 };
bool pgp_is_good(rnp_key_handle_t key, int64_t at_us, char why[static PGP_WHY]);
/* The same for all keys of a use that have a `part`; false: the failure names the key. */
bool pgp_all_good(const struct pgp *p, enum pgp_use use, const struct service_document *d,
                  const char *who, struct service_failure *ret_failure);
