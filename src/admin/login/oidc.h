/* oidc.h - log in at a provider: OpenID Connect, authorization code with PKCE.
 *
 *   GET /oidc/start      redirects to the provider; a cookie binds the callback to this browser
 *   GET /oidc/callback   exchanges the code for tokens; the ID token gives the user, its groups
 *                        the roles
 *
 * Verifier, state and nonce of a login are derived from the one secret in the cookie.  So nothing
 * is stored, and any node can take the callback.
 */
#pragma once

struct engine;
struct entry;
struct json_out;

#define OIDC_COOKIE "waybill_oidc"

/* These block: they run in the login background pool (login_background()). */
void oidc_start(struct entry *e);
void oidc_callback(struct entry *e);

/* Writes {"title":..., "start":"/oidc/start"}, or null when no provider is configured. */
void oidc_describe(struct engine *engine, struct json_out *j);
