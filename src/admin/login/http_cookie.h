/* http_cookie.h - the session of a browser: its cookie, and whether a request is our own page's.
 *
 * Over TLS the cookie is `__Host-waybill`, which a browser takes only from this host itself, by TLS
 * and for all paths; without TLS it is `waybill`.  TLS may also end before this node: then the
 * Origin of the page says so.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/http_server.h"

struct login;
struct principal;

/* The cookie of that name; ptr NULL: there is none.  Lent by the request. */
struct str http_cookie_find(const struct http_request *r, const char *name);

/* The page that asks came by TLS. */
bool http_cookie_is_secure(const struct http_request *r);
/* "Set-Cookie: ..." with the secret, or with an empty one to remove it. */
void http_cookie_put_session(struct buf *fields, bool secure, struct str secret);

/* Sec-Fetch-Site and Origin: another site asks.  Both may be missing: that is no browser of today.
 */
bool http_cookie_is_foreign(const struct http_request *r);
/* One of them says that our own page asks, and none that another site does. */
bool http_cookie_is_own(const struct http_request *r);

/* Who it is by the cookie, and what they may.  What changes something must come from our own page,
 * and say so; else nobody, and ret->refused tells why.  Does not block. */
bool http_cookie_identify(struct login *login, struct http_request *r, struct arena *a,
                          struct principal *ret);
