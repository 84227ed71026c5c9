#include "admin/login/oidc_provider.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "admin/login/json_in.h"
#include "admin/login/oidc_fetch.h"
#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"
#include "core/grammar.h"
#include "core/settings.h"
#include "engine/engine.h"
#include "engine/plan/plan.h"
#include "engine/road/road.h"
#include "store/people/secret.h"

#define SAID_US    (INT64_C(600) * CLOCK_S)
#define KEYS_US    (INT64_C(60) * CLOCK_S)
#define TROUBLE_US (INT64_C(5) * CLOCK_S)

enum {
    URL_MOST = 2000,
    VALUE_MOST = 4096,     /* all values, escaped, fit into the buffers of oidc.c */
    SCRATCH_MOST = 4 << 20 /* room for the longest value that settings.h reads, and its secrets */
};

struct oidc_provider {
    const struct egress *egress;
    pthread_mutex_t mutex;
    char *issuer; /* of the cached discovery document; NULL: none is cached */
    char *authorization, *token, *jwks;
    bool tells_issuer, wants_post;
    int64_t said_us;
    struct jwt_keys *keys; /* NULL: not fetched yet */
    int64_t keys_us;       /* when an unknown key last made us fetch them again; 0: never */
    /* The last failed request.  Logins that waited for the mutex meanwhile get the same error, and
     * do not each wait for a time-out of their own. */
    struct err trouble;
    char *troubled; /* issuer of that request; NULL: none failed */
    int64_t trouble_us;
};

/* ---- settings ---- */

static bool oidc_provider_find_secret(void *arg, struct str name, struct arena *a, struct str *ret,
                                      struct err *err)
{
    return secret_get(arg, name, a, ret, err);
}

/* A reference (file, secret) may expand to more than the arena and the buffers of a request hold,
 * and the client need not be logged in.  So values are read into a scratch arena and limited. */
static bool oidc_provider_read_text(struct settings s, const char *key, struct str *ret,
                                    struct err *err)
{
    AUTO(arena_done) struct arena scratch = ARENA_INIT(SCRATCH_MOST);
    struct arena *a = s.arena;
    struct str value;

    s.arena = &scratch;
    if (!settings_text(&s, key, &value, err))
        return false;
    bool fits = value.len <= VALUE_MOST;

    *ret = fits && value.ptr != NULL ? arena_copy(a, value) : (struct str){ 0 };
    if (settings_has(&s, key)) /* otherwise it is the default, in static storage */
        secret_clear(value);
    return fits || err_set(err, ERR_CONFIG, 0,
                           "auth: oidc: `%s` is longer than %d bytes: see what it is set to, or "
                           "the secret that it names",
                           key, VALUE_MOST);
}

bool oidc_settings_read(struct engine *e, struct arena *a, struct oidc_settings *ret,
                        bool *ret_there, struct err *err)
{
    struct plan *plan = road_plan(engine_road(e));
    const struct yaml_node *node = yaml_get(yaml_get(plan->config->root, "auth"), "oidc");
    struct settings s = { .node = node,
                          .own = grammar_oidc,
                          .secret = oidc_provider_find_secret,
                          .secret_arg = engine_store(e),
                          .reach = &plan->config->node,
                          .arena = a };

    *ret = (struct oidc_settings){ .plan = plan, .roles = yaml_get(node, "roles") };
    *ret_there = node != NULL && node->kind == YAML_MAP;
    if (!*ret_there)
        return true;
    return oidc_provider_read_text(s, "issuer", &ret->issuer, err) &&
           oidc_provider_read_text(s, "client_id", &ret->client_id, err) &&
           oidc_provider_read_text(s, "client_secret", &ret->client_secret, err) &&
           oidc_provider_read_text(s, "groups", &ret->groups, err) &&
           oidc_provider_read_text(s, "scopes", &ret->scopes, err) &&
           oidc_provider_read_text(s, "redirect", &ret->redirect, err) &&
           oidc_provider_read_text(s, "title", &ret->title, err);
}

void oidc_settings_done(struct oidc_settings *s)
{
    if (s->client_secret.len > 0)
        secret_clear(s->client_secret);
    plan_unref(s->plan);
    s->plan = NULL;
}

/* ---- what it says of itself ---- */

struct oidc_provider *oidc_provider_new(const struct egress *egress)
{
    struct oidc_provider *p = NEW(struct oidc_provider);

    p->egress = egress;
    (void)pthread_mutex_init(&p->mutex, NULL);
    return p;
}

static void oidc_provider_forget(struct oidc_provider *p)
{
    free(p->issuer);
    free(p->authorization);
    free(p->token);
    free(p->jwks);
    jwt_keys_free(p->keys);
    p->issuer = p->authorization = p->token = p->jwks = NULL;
    p->keys = NULL;
    p->said_us = p->keys_us = 0;
}

void oidc_provider_free(struct oidc_provider *p)
{
    if (p == NULL)
        return;
    oidc_provider_forget(p);
    free(p->troubled);
    (void)pthread_mutex_destroy(&p->mutex);
    free(p);
}

static bool fetch(const struct oidc_provider *p, const char *url, struct buf *to, struct err *err)
{
    struct oidc_fetch f = { .egress = p->egress, .url = url };
    int status;

    if (!oidc_fetch(&f, to, &status, err))
        return false;
    return status == 200 ||
           err_set(err, ERR_TRANSIENT, 0, "the provider answers %d to %.120s", status, url);
}

static bool has(const json_t *list, const char *word)
{
    const json_t *one;
    size_t i;

    json_array_foreach(list, i, one)
    {
        if (json_is_string(one) && str_is(str_of(json_string_value(one)), word))
            return true;
    }
    return false;
}

static char *oidc_provider_place(const json_t *said, const char *name)
{
    struct str url = json_in_text(said, name);

    return url.len > 0 && url.len <= URL_MOST && oidc_fetch_may(url) ? xstrndup(url) : NULL;
}

static bool oidc_provider_keep(struct oidc_provider *p, struct str issuer, const json_t *said,
                               struct err *err)
{
    const json_t *ways = json_object_get(said, "token_endpoint_auth_methods_supported");

    if (!str_eq(json_in_text(said, "issuer"), issuer))
        return err_set(err, ERR_CONFIG, 0,
                       "the provider calls itself by another name than `issuer` says: %.100s",
                       json_is_string(json_object_get(said, "issuer"))
                           ? json_string_value(json_object_get(said, "issuer"))
                           : "none");
    oidc_provider_forget(
        p); /* drops the keys, too: a withdrawn key is trusted for ten minutes at most */
    p->issuer = xstrndup(issuer);
    p->authorization = oidc_provider_place(said, "authorization_endpoint");
    p->token = oidc_provider_place(said, "token_endpoint");
    p->jwks = oidc_provider_place(said, "jwks_uri");
    p->tells_issuer =
        json_is_true(json_object_get(said, "authorization_response_iss_parameter_supported"));
    p->wants_post =
        ways != NULL && !has(ways, "client_secret_basic") && has(ways, "client_secret_post");
    p->said_us = clock_mono_us();
    if (p->authorization != NULL && p->token != NULL && p->jwks != NULL)
        return true;
    oidc_provider_forget(p);
    return err_set(err, ERR_CONFIG, 0, "the provider does not tell all its addresses, by https");
}

static bool oidc_provider_ask(struct oidc_provider *p, struct str issuer, struct err *err)
{
    AUTO(buf_done) struct buf url = BUF_INIT(URL_MOST + 100), text = BUF_INIT(OIDC_FETCH_MOST);
    AUTO(json_in_drop) json_t *said = NULL;
    bool slash = issuer.len > 0 && issuer.ptr[issuer.len - 1] == '/';

    if (issuer.len > URL_MOST)
        return err_set(err, ERR_CONFIG, 0, "issuer is longer than %d bytes", URL_MOST);
    buf_put(&url, issuer);
    buf_puts(&url,
             slash ? ".well-known/openid-configuration" : "/.well-known/openid-configuration");
    return fetch(p, url.ptr, &text, err) && json_in_object(buf_view(&text), &said, err) &&
           oidc_provider_keep(p, issuer, said, err);
}

static bool is_troubled(const struct oidc_provider *p, struct str issuer)
{
    return p->troubled != NULL && str_is(issuer, p->troubled) &&
           clock_mono_us() - p->trouble_us < TROUBLE_US;
}

static bool note_trouble(struct oidc_provider *p, struct str issuer, const struct err *err)
{
    free(p->troubled);
    p->troubled = xstrndup(issuer);
    p->trouble = *err;
    p->trouble_us = clock_mono_us();
    return false;
}

/* With the mutex held. */
static bool discover(struct oidc_provider *p, struct str issuer, struct err *err)
{
    if (p->issuer != NULL && str_is(issuer, p->issuer) && clock_mono_us() - p->said_us < SAID_US)
        return true;
    if (is_troubled(p, issuer)) {
        *err = p->trouble;
        return false;
    }
    return oidc_provider_ask(p, issuer, err) || note_trouble(p, issuer, err);
}

bool oidc_provider_places(struct oidc_provider *p, struct str issuer, struct arena *a,
                          struct oidc_places *ret, struct err *err)
{
    (void)pthread_mutex_lock(&p->mutex);
    bool ok = discover(p, issuer, err);

    if (ok)
        *ret = (struct oidc_places){ .authorization = arena_copy(a, str_of(p->authorization)),
                                     .token = arena_copy(a, str_of(p->token)),
                                     .tells_issuer = p->tells_issuer,
                                     .wants_post = p->wants_post };
    (void)pthread_mutex_unlock(&p->mutex);
    return ok;
}

/* ---- its keys ---- */

/* With the mutex held. */
static bool fetch_keys(struct oidc_provider *p, struct err *err)
{
    AUTO(buf_done) struct buf text = BUF_INIT(OIDC_FETCH_MOST);
    struct jwt_keys *fresh;

    if (!fetch(p, p->jwks, &text, err) || !jwt_keys_read(buf_view(&text), &fresh, err))
        return false;
    jwt_keys_free(p->keys);
    p->keys = fresh;
    return true;
}

/* Limits fetches, so that tokens with made-up key ids do not cause a request each. */
static bool may_ask_again(struct oidc_provider *p)
{
    int64_t now = clock_mono_us();

    if (p->keys_us != 0 && now - p->keys_us < KEYS_US)
        return false;
    p->keys_us = now;
    return true;
}

static bool login_oidc_provider_check(struct oidc_provider *p, struct str token,
                                      const struct jwt_rules *rules, json_t **ret_claims,
                                      struct err *err)
{
    struct err trouble = { 0 };

    if (!discover(p, rules->iss, err))
        return false;
    if (p->keys == NULL && is_troubled(p, rules->iss)) {
        *err = p->trouble;
        return false;
    }
    if (p->keys == NULL && !fetch_keys(p, err))
        return note_trouble(p, rules->iss, err);
    if (jwt_check(p->keys, token, rules, ret_claims, err))
        return true;
    if (err->sys != ENOKEY || !may_ask_again(p) || !fetch_keys(p, &trouble))
        return false;
    *err = (struct err){ 0 };
    return jwt_check(p->keys, token, rules, ret_claims, err);
}

bool oidc_provider_check(struct oidc_provider *p, struct str token, const struct jwt_rules *rules,
                         json_t **ret_claims, struct err *err)
{
    (void)pthread_mutex_lock(&p->mutex);
    bool ok = login_oidc_provider_check(p, token, rules, ret_claims, err);

    (void)pthread_mutex_unlock(&p->mutex);
    return ok;
}
