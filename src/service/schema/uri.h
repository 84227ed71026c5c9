/* uri.h - a reference resolved against a base (RFC 3986, section 5).
 *
 * The texts are names, not addresses: nothing is fetched.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"

/* Appends `reference`, without its fragment, as seen from `base`; either may be empty. */
bool uri_resolve(struct str base, struct str reference, struct buf *to, struct err *err);
