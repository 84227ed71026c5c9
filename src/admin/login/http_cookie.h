/* http_cookie.h - the session cookie of a browser.
 *
 * Over TLS the cookie is `__Host-waybill`, which a browser accepts only from this host itself, over
 * TLS and for all paths; without TLS it is `waybill`.  When a proxy terminates TLS before this
 * node, the scheme of the Origin field shows that the page was loaded over TLS.
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

/* Whether the browser uses TLS, to this node or to a proxy before it. */
bool http_cookie_is_secure(const struct http_request *r);
/* Appends a Set-Cookie field with the secret; an empty secret removes the cookie. */
void http_cookie_put_session(struct buf *fields, bool secure, struct str secret);

/* Identifies the user by the session cookie, with their rights.  A request other than GET or HEAD
 * must prove that it comes from our own page; otherwise the cookie does not count, and ret->refused
 * says why.  Does not block. */
bool http_cookie_identify(struct login *login, struct http_request *r, struct arena *a,
                          struct principal *ret);
