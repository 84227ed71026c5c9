/* oidc.h - log in at a provider: OpenID Connect, authorization code with PKCE.
 *
 *   GET /oidc/start      to the provider, with a cookie that ties what comes back to this browser
 *   GET /oidc/callback   the code to tokens, the ID token to a user, its groups to roles
 *
 * Verifier, state and nonce of a login are made from the one secret in the cookie, so that any node
 * can take the callback and nothing is kept.
 */
#pragma once

struct engine;
struct entry;
struct json_out;

#define OIDC_COOKIE "waybill_oidc"

/* Blocking, at the background pool for the outside. */
void oidc_start(struct entry *e);
void oidc_callback(struct entry *e);

/* {"title":..., "start":"/oidc/start"}, or null when the configuration has none. */
void oidc_describe(struct engine *engine, struct json_out *j);
