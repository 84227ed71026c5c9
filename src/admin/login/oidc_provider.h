/* oidc_provider.h - an OpenID Connect provider: its settings in the configuration, its discovery
 * document, its keys.
 *
 * Discovery document and keys are cached for ten minutes.  The keys are also fetched again when a
 * token names an unknown key, at most once a minute.  After a failed request the provider is not
 * asked again for five seconds.
 *
 * Threads: any that may block.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "admin/login/jwt.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct egress;
struct engine;
struct oidc_provider;
struct plan;
struct yaml_node;

/* `auth: oidc` of the configuration in force; texts are terminated. */
struct oidc_settings {
    struct str issuer, client_id, client_secret, groups, scopes, redirect, title;
    const struct yaml_node *roles; /* lent by the plan */
    struct plan *plan;             /* reference that keeps `roles` alive */
};

/* *ret_there: whether a provider is configured.  Texts, among them the client secret, are in the
 * arena; oidc_settings_done() clears the secret.  ERR_CONFIG: a text is longer than 4096 bytes. */
bool oidc_settings_read(struct engine *e, struct arena *a, struct oidc_settings *ret,
                        bool *ret_there, struct err *err);
void oidc_settings_done(struct oidc_settings *s);

/* egress: where it may be asked; lent. */
struct oidc_provider *oidc_provider_new(const struct egress *egress);
void oidc_provider_free(struct oidc_provider *p);

/* Addresses of the provider, from its discovery document; copies in the arena. */
struct oidc_places {
    struct str authorization, token;
    bool tells_issuer; /* sends `iss` with the code (RFC 9207) */
    bool wants_post;   /* the client secret in the body, not as HTTP Basic */
};

bool oidc_provider_places(struct oidc_provider *p, struct str issuer, struct arena *a,
                          struct oidc_places *ret, struct err *err);
/* As jwt_check(), with the keys of the provider. */
bool oidc_provider_check(struct oidc_provider *p, struct str token, const struct jwt_rules *rules,
                         json_t **ret_claims, struct err *err);
