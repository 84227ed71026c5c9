/* http_in.c - POST /in/GATEWAY: a document comes in over HTTP.
 *
 * Everything that the head decides is decided before a byte of the body is read: whether the
 * gateway exists, who is sending, whether there is room, whether the caller is within its limits.
 * Without a key a browser would send whatever a page of another site tells it to, from inside of
 * the network and with the password it remembers: such requests are refused.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/http_origin.h"
#include "base/http_target.h"
#include "base/require.h"
#include "core/connector.h"
#include "core/grammar.h"
#include "core/head.h"
#include "core/http_user.h"

enum {
    MAGIC = 0x68747470,
    KEY_MOST = 255,   /* bytes of Idempotency-Key */
    NAME_MOST = 1024, /* bytes of Waybill-Name */
    HEAD_MOST = 33 << 10,
    BASIC_MOST = 1024,
};

struct http_in {
    struct intake *intake;
    const struct intake_port *port;
};

/* One request, from its head to its answer. */
struct post {
    struct http_user user; /* first: http_user.h */
    unsigned magic;
    struct http_in *self;
    struct http_request *request; /* NULL: the client is gone */
    struct intake_table *table;
    const struct intake_gateway *gateway;
    const struct config_user *basic; /* the authenticated user; owned by the table */
    int64_t caller, size;
    struct str systems; /* that the caller's key is bound to; owned by the table; empty: none */
    struct arrival *arrival;
    bool verifying;
    struct intake_answer refusal; /* that is answered after a delay */
};

static const struct http_handler handler;

static void *open_http(struct intake *in, const struct intake_port *port)
{
    struct http_in *self = NEW(struct http_in);

    *self = (struct http_in){ .intake = in, .port = port };
    return self;
}

static void close_http(void *self)
{
    free(self);
}

static void free_post(struct post *p)
{
    if (p->table != NULL)
        p->self->port->release(p->table);
    p->magic = 0;
    free(p);
}

/* ---- answers ---- */

static void answer_error(struct post *p, int status, const char *fields, const char *code,
                         const char *message)
{
    struct http_request *r = p->request;

    if (p->gateway != NULL)
        p->self->port->count_refusal(p->gateway, status);
    free_post(p);
    http_answer_error(r, status, str_of(fields), code, message);
}

static void http_in_answer_refusal(struct post *p, const struct intake_answer *a)
{
    char fields[48] = "";

    if (a->retry_after_s > 0)
        (void)snprintf(fields, sizeof fields, "Retry-After: %d\r\n", a->retry_after_s);
    answer_error(p, a->status, fields, a->code, a->message);
}

/* The answer to an accepted document, formatted by hand: every document needs one. */
static void answer_accepted(struct post *p, const struct intake_answer *a)
{
    struct http_request *r = p->request;
    char id[ID_TEXT], fields_room[96], body_room[64];
    struct buf fields = { .ptr = fields_room,
                          .size = sizeof fields_room,
                          .cap = sizeof fields_room - 1 };
    struct buf body = { .ptr = body_room, .size = sizeof body_room, .cap = sizeof body_room - 1 };

    (void)id_text(&a->id, id);
    buf_put(&fields, STR("Location: /documents/"));
    buf_put(&fields, str_mem(id, ID_TEXT - 1));
    buf_put(&fields, a->repeated ? STR("\r\nIdempotent-Replay: true\r\n") : STR("\r\n"));
    buf_put(&body, STR("{\"document\":\""));
    buf_put(&body, str_mem(id, ID_TEXT - 1));
    buf_put(&body, STR("\"}\n"));
    free_post(p);
    http_answer(r, 202, buf_view(&fields), STR("application/json"), buf_view(&body));
}

/* ---- the arrival ---- */

static struct post *post_of(void *user)
{
    struct post *p = user;

    require(p->magic == MAGIC);
    return p;
}

static void on_more(void *user)
{
    http_resume(post_of(user)->request);
}

static void http_in_on_done(void *user, const struct intake_answer *answer)
{
    struct post *p = post_of(user);

    p->arrival = NULL;
    if (answer->status == 202)
        answer_accepted(p, answer);
    else
        http_in_answer_refusal(p, answer);
}

static const struct arrival_calls arrival_calls = { .more = on_more, .done = http_in_on_done };

/* Header fields about the document are stored with it, so that extraction sees them now and after a
 * replay.  Fields about the connection, and secrets of the sender, are not. */
static bool http_in_is_kept(struct str name)
{
    static const char *const left_out[] = {
        "authorization",
        "proxy-authorization",
        "cookie",
        "host",
        "connection",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "content-length",
        "content-type",
        "content-encoding",
        "expect",
        "accept",
        "accept-encoding",
        "accept-language",
        "user-agent",
        "x-api-key",
        "idempotency-key",
        "waybill-name",
        "origin",
        "referer",
    };

    for (size_t i = 0; i < sizeof left_out / sizeof left_out[0]; i++)
        if (str_eq_nocase(name, str_of(left_out[i])))
            return false;
    return true;
}

static void keep_fields(const struct http_request *r, struct buf *to)
{
    struct str name, value;
    struct err err;

    if (r->query.len > 0) {
        buf_put(to, STR(":query: "));
        buf_put(to, r->query);
        buf_putc(to, '\n');
    }
    for (size_t i = 0; http_field_at(r, i, &name, &value); i++)
        if (http_in_is_kept(name) && buf_reserve(to, name.len + value.len + 3, &err)) {
            buf_put(to, name);
            buf_put(to, STR(": "));
            buf_put(to, value);
            buf_putc(to, '\n');
        }
}

/* True: continue with this head; false: it was answered. */
static bool check_head(struct post *p)
{
    const struct http_request *r = p->request;
    struct str encoding = http_field(r, STR("Content-Encoding"));

    if (encoding.len > 0 && !str_eq_nocase(encoding, STR("identity")))
        answer_error(p, 415, "Accept-Encoding: identity\r\n", "unsupported_encoding",
                     "Send the body as it is, without Content-Encoding.");
    else if (r->content_length > 0 && (uint64_t)r->content_length > p->gateway->config->size_bytes)
        answer_error(p, 413, "", "too_large", "The body is larger than this gateway takes.");
    else if (r->content_length == 0 || (r->content_length < 0 && !r->chunked))
        answer_error(p, 400, "", "empty_body", "A document has at least one byte.");
    else if (r->idempotency_key.ptr != NULL &&
             (r->idempotency_key.len == 0 || r->idempotency_key.len > KEY_MOST))
        answer_error(p, 400, "", "bad_key", "An Idempotency-Key has 1 to 255 bytes.");
    else if (http_field(r, STR("Waybill-Name")).len > NAME_MOST ||
             !str_is_utf8(http_field(r, STR("Waybill-Name"))) || !str_is_utf8(r->content_type))
        answer_error(p, 400, "", "bad_name", "Waybill-Name is at most 1024 bytes of UTF-8.");
    else
        return true;
    return false;
}

/* The sender is authenticated: admission, then the body. */
static void http_in_begin(struct post *p)
{
    struct http_request *r = p->request;
    char room[HEAD_MOST + 1];
    struct buf head = { .ptr = room, .size = sizeof room, .cap = HEAD_MOST };
    struct intake_answer refusal;
    struct arrival_head h = { .loop = http_loop(r),
                              .table = p->table,
                              .gateway = p->gateway,
                              .caller = p->caller,
                              .user = str_of(p->basic != NULL ? p->basic->name : ""),
                              .content_length = r->content_length,
                              .ctype = r->content_type,
                              .name = http_field(r, STR("Waybill-Name")),
                              .has_key = r->idempotency_key.ptr != NULL,
                              .key = r->idempotency_key };

    if (!check_head(p))
        return;
    room[0] = '\0';
    if (p->systems.len > 0)
        head_put_senders(&head, p->systems);
    keep_fields(r, &head);
    h.head = buf_view(&head);
    p->arrival = p->self->port->begin(p->self->intake, &h, &arrival_calls, p, &refusal);
    if (p->arrival == NULL)
        http_in_answer_refusal(p, &refusal);
    else
        http_read_body(r);
}

/* ---- authentication ---- */

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
        answer_error(p, 403, "", "other_address", "This key does not work from this address.");
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
        answer_error(p, 403, "", "other_gateway", "This key is for another gateway.");
    else
        answer_error(p, 401, "WWW-Authenticate: Bearer\r\n", "unauthorized",
                     auth == AUTH_MISSING   ? "Send the gateway's key: Authorization: Bearer KEY."
                     : auth == AUTH_EXPIRED ? "This key has expired."
                                            : "This key is not known.");
}

static void on_verified(void *user, bool ok)
{
    struct post *p = post_of(user);

    p->verifying = false;
    if (p->request == NULL) {
        free_post(p); /* the client left during the check */
        return;
    }
    p->caller = CALLER_BASIC;
    if (!ok)
        note_refusal(p, str_of(p->basic != NULL ? p->basic->name : ""),
                     "the user or the password is wrong");
    if (ok)
        http_in_begin(p);
    else
        answer_error(p, 401, "WWW-Authenticate: Basic\r\n", "unauthorized",
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

/* A login was refused without a look at the password.  Who guesses on many connections would get
 * such answers by the thousand, and take the processor from people who log in. */
static void http_in_on_delayed(struct http_request *r)
{
    struct post *p = post_of(r->user);

    http_in_answer_refusal(p, &p->refusal);
}

static void check_basic(struct post *p)
{
    struct str scheme, name, password, rest = str_cut(p->request->authorization, ' ', &scheme);
    char room[BASIC_MOST + 1];
    struct buf plain = { .ptr = room, .size = sizeof room, .cap = BASIC_MOST };
    const struct intake_port *port = p->self->port;
    struct err odd = { 0 };

    if (!str_eq_nocase(scheme, STR("basic")) || !base64_decode(str_trim(rest), &plain, &odd) ||
        memchr(plain.ptr, '\0', plain.len) != NULL) {
        const struct intake_caller *c;

        if (port->check_key(p->table, p->gateway, http_in_key_of(p->request), &c) == AUTH_OK &&
            c->id == CALLER_ADMIN) {
            p->caller = c->id;
            http_in_begin(p);
            return;
        }
        answer_error(p, 401, "WWW-Authenticate: Basic\r\n", "unauthorized",
                     "Send user name and password: Authorization: Basic.");
        return;
    }
    password = str_cut(buf_view(&plain), ':', &name);
    p->basic = user_of(p->gateway->config, name);
    verify(p, name, password);
    explicit_bzero(room, sizeof room);
}

/* ---- the request ---- */

static bool http_in_find_gateway(struct post *p)
{
    char room[128];
    struct buf path = { .ptr = room, .size = sizeof room, .cap = sizeof room - 1 };
    struct err err;

    room[0] = '\0';
    if (!http_decode_path(p->request->path, &path, &err))
        return false;
    p->gateway = p->self->port->find(p->table, str_from(buf_view(&path), strlen("/in/")));
    return p->gateway != NULL && p->gateway->type == &gateway_http;
}

static void http_in_on_head(struct http_request *r, void *arg)
{
    struct post *p = NEW(struct post);

    *p =
        (struct post){ .user = { .handler = &handler }, .magic = MAGIC, .self = arg, .request = r };
    r->user = p;
    p->table = p->self->port->table(p->self->intake);
    if (!http_in_find_gateway(p)) {
        answer_error(p, 404, "", "unknown_gateway", "There is no gateway of this name.");
        return;
    }
    if (!p->gateway->here) {
        char text[100];

        (void)snprintf(text, sizeof text, "Only nodes of area %s run this gateway.",
                       grammar_areas[p->gateway->config->area]);
        answer_error(p, 404, "", "elsewhere", text);
        return;
    }
    if (r->method != HTTP_METHOD_POST) {
        answer_error(p, 405, "Allow: POST\r\n", "method_not_allowed", "Send documents with POST.");
        return;
    }
    if (p->gateway->config->auth != CONFIG_AUTH_KEY && http_origin_is_doubtful(r)) {
        answer_error(p, 403, "", "other_site",
                     "A page of another site sends this: a gateway for browsers needs auth: key.");
        return;
    }
    switch (p->gateway->config->auth) {
    case CONFIG_AUTH_NONE:
        http_in_begin(p);
        break;
    case CONFIG_AUTH_KEY:
        http_in_check_key(p);
        break;
    case CONFIG_AUTH_BASIC:
        check_basic(p);
        break;
    }
}

static void http_in_on_body(struct http_request *r, struct str bytes)
{
    struct post *p = post_of(r->user);

    p->size += (int64_t)bytes.len;
    if ((uint64_t)p->size > p->gateway->config->size_bytes) {
        p->self->port->abort(p->arrival);
        answer_error(p, 413, "", "too_large", "The body is larger than this gateway takes.");
        return;
    }
    if (!p->self->port->add(p->arrival, bytes))
        http_pause(r);
}

static void http_in_on_end(struct http_request *r)
{
    struct post *p = post_of(r->user);

    if (p->size == 0) {
        p->self->port->abort(p->arrival);
        answer_error(p, 400, "", "empty_body", "A document has at least one byte.");
        return;
    }
    p->self->port->end(p->arrival);
}

static void http_in_on_gone(struct http_request *r)
{
    struct post *p = post_of(r->user);

    if (p->arrival != NULL)
        p->self->port->abort(p->arrival);
    p->request = NULL;
    if (!p->verifying)
        free_post(p);
}

static const struct http_handler handler = {
    .head = http_in_on_head,
    .body = http_in_on_body,
    .end = http_in_on_end,
    .gone = http_in_on_gone,
    .delayed = http_in_on_delayed,
};

static const struct option options[] = {
    OPTIONS(grammar_senders),
    OPTIONS(grammar_reply),
    { 0 },
};

const struct gateway_type gateway_http = {
    .kind = { .name = "http", .help = "`POST /in/NAME`", .keys = options },
    .path = "/in/",
    .handler = &handler,
    .open = open_http,
    .close = close_http,
};
