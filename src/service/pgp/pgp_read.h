/* pgp_read.h - reads one OpenPGP message: decrypts it, checks its signature, or both.
 *
 * Its content is put while it is read.  True only if the message came to its end, its integrity
 * protection (MDC or AEAD) is right if it is encrypted, and a key that the step trusts has signed
 * it if the step wants that; everything else is `decrypt_failed`, with the reason.
 */
#pragma once

#include <stdbool.h>

#include "core/service.h"
#include "service/pgp/pgp_keys.h"

struct pgp_reading {
    const char *who;    /* the step, for messages */
    const char *option; /* that names the keys which are trusted */
    const struct pgp *keys;
    bool decrypts; /* it must be encrypted; otherwise it must not */
    bool verifies; /* it must be signed by a key that is trusted */
};

bool pgp_read(const struct pgp_reading *r, struct service_io *io,
              struct service_failure *ret_failure);
