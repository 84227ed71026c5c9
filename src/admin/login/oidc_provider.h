/* oidc_provider.h - what is known of a provider: its configuration here, what it says of itself,
 * its keys.
 *
 * What it says of itself and its keys are asked for again after ten minutes; its keys also when a
 * token names one that is not known, at most once a minute.  A provider that does not answer is
 * left alone for five seconds.
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

struct engine;
struct oidc_provider;
struct plan;
struct yaml_node;

/* `auth: oidc` of the configuration in force; texts are terminated. */
struct oidc_settings {
    struct str issuer, client_id, client_secret, groups, scopes, redirect, title;
    const struct yaml_node *roles; /* lent by the plan */
    struct plan *plan;             /* a reference; NULL: none is configured */
};

/* *ret_there false: there is none.  The arena has its texts, among them the secret; each has at
 * most 4096 bytes (ERR_CONFIG). */
bool oidc_settings_read(struct engine *e, struct arena *a, struct oidc_settings *ret,
                        bool *ret_there, struct err *err);
void oidc_settings_done(struct oidc_settings *s);

struct oidc_provider *oidc_provider_new(void);
void oidc_provider_free(struct oidc_provider *p);

/* Where it is; copies in the arena. */
struct oidc_places {
    struct str authorization, token;
    bool tells_issuer; /* with the code */
    bool wants_post;   /* the secret in the body */
};

bool oidc_provider_places(struct oidc_provider *p, struct str issuer, struct arena *a,
                          struct oidc_places *ret, struct err *err);
/* As jwt_check(), with the keys of the provider. */
bool oidc_provider_check(struct oidc_provider *p, struct str token, const struct jwt_rules *rules,
                         json_t **ret_claims, struct err *err);
