/* oidc_fetch.h - a question to a provider, and its answer: blocking, small, and careful.
 *
 * https, or http when the host is this machine; certificates are checked; redirects are not
 * followed; ten seconds and 1 MiB at most.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

enum { OIDC_FETCH_MOST = 1 << 20 };

/* Whether an address is one that may be asked. */
bool oidc_fetch_may(struct str url);

struct oidc_fetch {
    const char *url;
    const char *form;            /* what is posted; NULL: a GET */
    const char *user, *password; /* by HTTP Basic; NULL: none */
};

/* The body, whatever the status.  ERR_TRANSIENT: there is no answer; ERR_CONFIG: the address may
 * not be asked. */
bool oidc_fetch(const struct oidc_fetch *f, struct buf *to, int *ret_status, struct err *err);
