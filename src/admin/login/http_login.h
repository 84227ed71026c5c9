/* http_login.h - login and logout: the paths that need no session.
 *
 *   GET  /login/ways     the login methods: {"password":true,"oidc":null}
 *   POST /login          {"user":NAME,"password":TEXT}; sets the cookie (http_cookie.h)
 *   POST /logout         ends the session
 *   GET  /login/LINK     a page to choose a password (page.h)
 *   POST /login/LINK     {"user":NAME,"password":TEXT}, or the same as a form; works once
 *   GET  /oidc/start     redirects to the OpenID Connect provider (oidc.h)
 *   GET  /oidc/callback  the redirect back from it
 *
 * A wrong password and an unknown user give the same answer after the same time.  Failed attempts
 * are rate-limited (limit.h).  Passwords are hashed in the background pool.
 */
#pragma once

#include "base/http_server.h"

/* The handler's arg is the struct login. */
extern const struct http_handler http_login_handler;

/* Whether the path is one of those above. */
bool http_login_takes(const struct http_request *r);
