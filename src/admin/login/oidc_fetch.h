/* oidc_fetch.h - one blocking HTTP request to an OpenID Connect provider.
 *
 * Only https, or http to this machine, and nowhere that egress bars; certificates are verified;
 * redirects are not followed; ten seconds and 1 MiB at most.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

enum { OIDC_FETCH_MOST = 1 << 20 };

/* Whether the URL is allowed: https, or http to this machine. */
bool oidc_fetch_may(struct str url);

struct egress;

struct oidc_fetch {
    const struct egress *egress; /* where it may go */
    const char *url;
    const char *form;            /* body of a POST; NULL: a GET */
    const char *user, *password; /* for HTTP Basic; NULL: none */
};

/* Appends the body of the answer, whatever its status.  ERR_TRANSIENT: no answer; ERR_CONFIG: the
 * URL is not allowed. */
bool oidc_fetch(const struct oidc_fetch *f, struct buf *to, int *ret_status, struct err *err);
