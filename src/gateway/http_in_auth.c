/* http_in_auth.c - who sends a request to a gateway on HTTP: a key, a user and a password, or a
 * signature.
 *
 * Keys and passwords are checked before a byte of the body is read.  So is what the head says of a
 * signature; the signature itself is checked when the body is whole, before it is committed.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/http_origin.h"
#include "gateway/http_in.h"

enum { BASIC_MOST = 1024 };

/* ---- a key ---- */

/* "Bearer KEY", or the field X-API-Key. */
static struct str http_in_key_of(const struct http_request *r)
{
    struct str scheme, rest = str_cut(r->authorization, ' ', &scheme);

    if (r->authorization.ptr != NULL && str_eq_nocase(scheme, STR("bearer")))
        return str_trim(rest);
    return r->authorization.ptr == NULL ? http_field(r, STR("X-API-Key")) : (struct str){ 0 };
}

static void note_refusal(struct post *p, struct str who, const char *why)
{
    p->self->port->note_refusal(p->self->intake, p->gateway, who, http_peer(p->request), why);
}

/* The key is good: it may still be one for other addresses. */
static void http_in_use_key(struct post *p, const struct intake_caller *c)
{
    if (c->network_count > 0 && !intake_is_from(c, http_peer(p->request))) {
        note_refusal(p, c->name, "this key does not work from this address");
        http_in_refuse(p, 403, "", "other_address", "This key does not work from this address.");
        return;
    }
    intake_note_use(c);
    p->caller = c->id;
    p->systems = c->systems;
    http_in_begin(p);
}

static void http_in_check_key(struct post *p)
{
    struct str key = http_in_key_of(p->request);
    const struct intake_caller *c;
    enum intake_auth auth =
        key.ptr == NULL ? AUTH_MISSING : p->self->port->check_key(p->table, p->gateway, key, &c);

    if (auth == AUTH_WRONG)
        note_refusal(p, STR(""), "this key is not known");
    else if (auth == AUTH_OTHER_GATEWAY || auth == AUTH_EXPIRED)
        note_refusal(p, c->name,
                     auth == AUTH_EXPIRED ? "this key has expired" : "it is for another gateway");
    if (auth == AUTH_OK)
        http_in_use_key(p, c);
    else if (auth == AUTH_OTHER_GATEWAY)
        http_in_refuse(p, 403, "", "other_gateway", "This key is for another gateway.");
    else
        http_in_refuse(p, 401, "WWW-Authenticate: Bearer\r\n", "unauthorized",
                       auth == AUTH_MISSING   ? "Send the gateway's key: Authorization: Bearer KEY."
                       : auth == AUTH_EXPIRED ? "This key has expired."
                                              : "This key is not known.");
}

/* The key of an administrator opens every gateway. */
static bool begin_for_admin(struct post *p)
{
    const struct intake_caller *c;

    if (p->self->port->check_key(p->table, p->gateway, http_in_key_of(p->request), &c) != AUTH_OK ||
        c->id != CALLER_ADMIN)
        return false;
    p->caller = c->id;
    http_in_begin(p);
    return true;
}

/* ---- a user and a password ---- */

static void on_verified(void *user, bool ok)
{
    struct post *p = http_in_post(user);

    p->verifying = false;
    if (p->request == NULL) {
        http_in_free(p); /* the client left during the check */
        return;
    }
    p->caller = CALLER_BASIC;
    if (!ok)
        note_refusal(p, str_of(p->basic != NULL ? p->basic->name : ""),
                     "the user or the password is wrong");
    if (ok)
        http_in_begin(p);
    else
        http_in_refuse(p, 401, "WWW-Authenticate: Basic\r\n", "unauthorized",
                       "User name or password is wrong.");
}

/* An unknown user costs as much as a wrong password: password_verify() then checks a dummy hash
 * that never matches. */
static const struct config_user *user_of(const struct config_gateway *g, struct str name)
{
    for (size_t i = 0; i < g->user_count; i++)
        if (str_is(name, g->users[i].name))
            return &g->users[i];
    return NULL;
}

static void verify(struct post *p, struct str name, struct str password)
{
    struct sender_login login = { .loop = http_loop(p->request),
                                  .gateway = p->gateway,
                                  .address = http_peer(p->request),
                                  .user = name,
                                  .password = password,
                                  .hash = p->basic != NULL ? p->basic->hash : NULL,
                                  .verified = on_verified,
                                  .arg = p };

    p->verifying = true;
    if (p->self->port->verify(p->self->intake, &login, &p->refusal))
        return;
    p->verifying = false;
    http_delay(p->request);
}

static void check_basic(struct post *p)
{
    struct str scheme, name, password, rest = str_cut(p->request->authorization, ' ', &scheme);
    char room[BASIC_MOST + 1];
    struct buf plain = { .ptr = room, .size = sizeof room, .cap = BASIC_MOST };
    struct err odd = { 0 };

    if (!str_eq_nocase(scheme, STR("basic")) || !base64_decode(str_trim(rest), &plain, &odd) ||
        memchr(plain.ptr, '\0', plain.len) != NULL) {
        if (begin_for_admin(p))
            return;
        http_in_refuse(p, 401, "WWW-Authenticate: Basic\r\n", "unauthorized",
                       "Send user name and password: Authorization: Basic.");
        return;
    }
    password = str_cut(buf_view(&plain), ':', &name);
    p->basic = user_of(p->gateway->config, name);
    verify(p, name, password);
    explicit_bzero(room, sizeof room);
}

/* ---- a signature ---- */

static void refuse_signature(struct post *p, const char *why)
{
    note_refusal(p, STR(""), why);
    http_in_refuse(p, 401, "", "bad_signature", why);
}

void http_in_refuse_signature(struct post *p)
{
    refuse_signature(p, "The signature does not fit the body.");
}

static void http_in_check_signature(struct post *p)
{
    const struct signature *rule = p->rule->signature;
    struct http_request *r = p->request;

    if (r->authorization.ptr != NULL && begin_for_admin(p))
        return;
    p->signature = NEW(struct signature_check);
    const char *wrong = signature_begin(p->signature, rule, http_field(r, rule->header),
                                        rule->timestamp.len > 0 ? http_field(r, rule->timestamp)
                                                                : (struct str){ 0 },
                                        r->received_us);

    if (wrong != NULL)
        refuse_signature(p, wrong);
    else
        http_in_begin(p);
}

bool http_in_is_signed(struct post *p)
{
    return signature_end(p->signature);
}

/* ---- all of them ---- */

/* A browser sends what a page of another site tells it to, but it does not know a key, and cannot
 * sign. */
static bool needs_origin(enum config_auth auth)
{
    return auth == CONFIG_AUTH_NONE || auth == CONFIG_AUTH_BASIC;
}

void http_in_authenticate(struct post *p)
{
    enum config_auth auth = p->gateway->config->auth;

    if (needs_origin(auth) && http_origin_is_doubtful(p->request)) {
        http_in_refuse(
            p, 403, "", "other_site",
            "A page of another site sends this: a gateway for browsers needs auth: key.");
        return;
    }
    switch (auth) {
    case CONFIG_AUTH_NONE:
        http_in_begin(p);
        break;
    case CONFIG_AUTH_KEY:
        http_in_check_key(p);
        break;
    case CONFIG_AUTH_BASIC:
        check_basic(p);
        break;
    case CONFIG_AUTH_HMAC:
        http_in_check_signature(p);
        break;
    }
}
