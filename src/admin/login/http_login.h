/* http_login.h - the ways in and out, which nobody must be logged in for.
 *
 *   GET  /login/ways     which there are: {"password":true,"oidc":null}
 *   POST /login          {"user":NAME,"password":TEXT} to a cookie (http_cookie.h)
 *   POST /logout         ends the session
 *   GET  /login/LINK     a page to choose a password (login_page.h)
 *   POST /login/LINK     {"user":NAME,"password":TEXT}, or the same as a form; the link is used up
 *   GET  /oidc/start     to the provider
 *   GET  /oidc/callback  and back from it (oidc.h)
 *
 * A wrong password and an unknown user give the same answer, after the same time; who tries too
 * often has to wait (login_limit.h).  Passwords are hashed at the background pool, two at a time.
 */
#pragma once

#include "base/http_server.h"

/* Its arg is the struct login. */
extern const struct http_handler http_login_handler;

/* The path is one of these. */
bool http_login_takes(const struct http_request *r);
