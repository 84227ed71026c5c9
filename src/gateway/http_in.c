/* http_in.c - POST /in/GATEWAY: a document comes in over HTTP.
 *
 * Everything that the head decides is decided before a byte of the body is read: whether the
 * gateway exists, who is sending, whether there is room, whether the caller is within its limits.
 * Without a key a browser would send whatever a page of another site tells it to, from inside of
 * the network and with the password it remembers: such requests are refused.
 */
#include "gateway/http_in.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/http_origin.h"
#include "base/http_target.h"
#include "base/require.h"
#include "core/grammar.h"
#include "core/head.h"

enum {
    KEY_MOST = 255,   /* bytes of Idempotency-Key */
    NAME_MOST = 1024, /* bytes of Waybill-Name */
    HEAD_MOST = 33 << 10,
    FAULT_MOST = 8 << 10,
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

void http_in_free(struct post *p)
{
    if (p->signature != NULL) {
        signature_drop(p->signature);
        free(p->signature);
    }
    http_in_form_free(p->form);
    if (p->waits != NULL)
        p->self->port->leave(p->waits);
    if (p->table != NULL)
        p->self->port->release(p->table);
    p->magic = 0;
    free(p);
}

/* ---- answers ---- */

/* The sender's fault, unless the same may be taken later. */
static void answer_fault(struct http_request *r, enum soap_version version, int status,
                         const char *fields, const char *code, const char *message)
{
    bool later = status >= 500 || status == 408 || status == 429;
    AUTO(buf_done) struct buf body = BUF_INIT(FAULT_MOST);

    soap_put_fault(&body, version, later ? SOAP_RECEIVER : SOAP_SENDER, code, message);
    http_answer(r, status, str_of(fields), soap_content_type(version), buf_view(&body));
}

void http_in_refuse(struct post *p, int status, const char *fields, const char *code,
                    const char *message)
{
    struct http_request *r = p->request;
    enum soap_version soap = p->soap;

    if (p->gateway != NULL)
        p->self->port->count_refusal(p->gateway, status);
    http_in_free(p);
    if (soap != SOAP_NONE)
        answer_fault(r, soap, status, fields, code, message);
    else
        http_answer_error(r, status, str_of(fields), code, message);
}

static void refuse_by(struct post *p, const struct intake_answer *a)
{
    char fields[48] = "";

    if (a->retry_after_s > 0)
        (void)snprintf(fields, sizeof fields, "Retry-After: %d\r\n", a->retry_after_s);
    http_in_refuse(p, a->status, fields, a->code, a->message);
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
    if (p->soap != SOAP_NONE) { /* nothing is answered yet: SOAP calls it one-way */
        http_in_free(p);
        http_answer(r, 202, buf_view(&fields), STR(""), STR(""));
        return;
    }
    buf_put(&body, STR("{\"document\":\""));
    buf_put(&body, str_mem(id, ID_TEXT - 1));
    buf_put(&body, STR("\"}\n"));
    http_in_free(p);
    http_answer(r, 202, buf_view(&fields), STR("application/json"), buf_view(&body));
}

/* ---- the arrival ---- */

struct post *http_in_post(void *user)
{
    struct post *p = user;

    require(p->magic == HTTP_IN_MAGIC);
    return p;
}

static void on_more(void *user)
{
    http_resume(http_in_post(user)->request);
}

static void http_in_on_done(void *user, const struct intake_answer *answer)
{
    struct post *p = http_in_post(user);

    p->arrival = NULL;
    if (answer->waits != NULL)
        http_in_wait(p, answer->waits);
    else if (answer->status == 202)
        answer_accepted(p, answer);
    else
        refuse_by(p, answer);
}

static const struct arrival_calls arrival_calls = { .more = on_more,
                                                    .done = http_in_on_done,
                                                    .replied = http_in_on_replied };

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

static void keep_query(const struct http_request *r, struct buf *to)
{
    if (r->query.len == 0)
        return;
    buf_put(to, STR(":query: "));
    buf_put(to, r->query);
    buf_putc(to, '\n');
}

static void keep_fields(const struct http_request *r, struct buf *to)
{
    struct str name, value;
    struct err err;

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
        http_in_refuse(p, 415, "Accept-Encoding: identity\r\n", "unsupported_encoding",
                       "Send the body as it is, without Content-Encoding.");
    else if (r->content_length > 0 && (uint64_t)r->content_length > p->gateway->config->size_bytes)
        http_in_refuse(p, 413, "", "too_large", "The body is larger than this gateway takes.");
    else if (r->content_length == 0 || (r->content_length < 0 && !r->chunked))
        http_in_refuse(p, 400, "", "empty_body", "A document has at least one byte.");
    else if (r->idempotency_key.ptr != NULL &&
             (r->idempotency_key.len == 0 || r->idempotency_key.len > KEY_MOST))
        http_in_refuse(p, 400, "", "bad_key", "An Idempotency-Key has 1 to 255 bytes.");
    else if (http_field(r, STR("Waybill-Name")).len > NAME_MOST ||
             !str_is_utf8(http_field(r, STR("Waybill-Name"))) || !str_is_utf8(r->content_type))
        http_in_refuse(p, 400, "", "bad_name", "Waybill-Name is at most 1024 bytes of UTF-8.");
    else
        return true;
    return false;
}

/* What the head says of the document is told at the end of the form, with what that says. */
static bool begin_form(struct post *p, struct buf *head)
{
    const char *wrong;

    keep_fields(p->request, head);
    wrong = http_in_form_begin(p, buf_view(head), http_field(p->request, STR("Waybill-Name")));
    buf_clear(head);
    if (wrong != NULL)
        http_in_refuse(p, 400, "", "bad_form", wrong);
    return wrong == NULL;
}

void http_in_begin(struct post *p)
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
                              .key = r->idempotency_key,
                              .wait_us = p->rule != NULL ? p->rule->wait_us : 0 };

    if (!check_head(p))
        return;
    room[0] = '\0';
    if (p->rule != NULL && p->rule->form && multipart_is_form(r->content_type)) {
        if (!begin_form(p, &head))
            return;
    } else {
        if (p->systems.len > 0)
            head_put_senders(&head, p->systems);
        keep_query(r, &head);
        keep_fields(r, &head);
    }
    h.head = buf_view(&head);
    p->arrival = p->self->port->begin(p->self->intake, &h, &arrival_calls, p, &refusal);
    if (p->arrival == NULL)
        refuse_by(p, &refusal);
    else
        http_read_body(r);
}

/* ---- the request ---- */

/* A login was refused without a look at the password.  Who guesses on many connections would get
 * such answers by the thousand, and take the processor from people who log in. */
static void http_in_on_delayed(struct http_request *r)
{
    struct post *p = http_in_post(r->user);

    refuse_by(p, &p->refusal);
}

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

/* SOAP 1.2 has a content type of its own. */
static enum soap_version soap_version_of(struct str content_type)
{
    struct str type;

    (void)str_cut(content_type, ';', &type);
    return str_eq_nocase(str_trim(type), STR("application/soap+xml")) ? SOAP_1_2 : SOAP_1_1;
}

static void http_in_on_head(struct http_request *r, void *arg)
{
    struct post *p = NEW(struct post);

    *p = (struct post){
        .user = { .handler = &handler }, .magic = HTTP_IN_MAGIC, .self = arg, .request = r
    };
    r->user = p;
    p->table = p->self->port->table(p->self->intake);
    if (!http_in_find_gateway(p)) {
        http_in_refuse(p, 404, "", "unknown_gateway", "There is no gateway of this name.");
        return;
    }
    p->rule = p->gateway->self;
    if (p->rule != NULL && p->rule->soap)
        p->soap = soap_version_of(r->content_type);
    if (!p->gateway->here) {
        char text[100];

        (void)snprintf(text, sizeof text, "Only nodes of area %s run this gateway.",
                       grammar_areas[p->gateway->config->area]);
        http_in_refuse(p, 404, "", "elsewhere", text);
        return;
    }
    if (r->method != HTTP_METHOD_POST) {
        http_in_refuse(p, 405, "Allow: POST\r\n", "method_not_allowed",
                       "Send documents with POST.");
        return;
    }
    if (p->gateway->broken != NULL) {
        http_in_refuse(p, 503, "Retry-After: 60\r\n", "broken_gateway",
                       "This gateway cannot be used: its operator has to look.");
        return;
    }
    http_in_authenticate(p);
}

static void http_in_on_body(struct http_request *r, struct str bytes)
{
    struct post *p = http_in_post(r->user);

    p->size += (int64_t)bytes.len;
    if ((uint64_t)p->size > p->gateway->config->size_bytes) {
        p->self->port->abort(p->arrival);
        http_in_refuse(p, 413, "", "too_large", "The body is larger than this gateway takes.");
        return;
    }
    if (p->signature != NULL)
        signature_add(p->signature, bytes);
    if (p->form != NULL) {
        const char *wrong = http_in_form_take(p->form, bytes, &bytes);

        if (wrong != NULL) {
            p->self->port->abort(p->arrival);
            http_in_refuse(p, 400, "", "bad_form", wrong);
            return;
        }
        if (bytes.len == 0)
            return;
    }
    if (!p->self->port->add(p->arrival, bytes))
        http_pause(r);
}

static void http_in_on_end(struct http_request *r)
{
    struct post *p = http_in_post(r->user);

    if (p->size == 0) {
        p->self->port->abort(p->arrival);
        http_in_refuse(p, 400, "", "empty_body", "A document has at least one byte.");
        return;
    }
    if (p->signature != NULL && !http_in_is_signed(p)) {
        p->self->port->abort(p->arrival);
        http_in_refuse_signature(p);
        return;
    }
    if (p->form != NULL && http_in_form_wrong(p->form) != NULL) {
        p->self->port->abort(p->arrival);
        http_in_refuse(p, 400, "", "bad_form", http_in_form_wrong(p->form));
        return;
    }
    if (p->form != NULL)
        http_in_form_describe(p);
    p->self->port->end(p->arrival);
}

static void http_in_on_gone(struct http_request *r)
{
    struct post *p = http_in_post(r->user);

    if (p->arrival != NULL)
        p->self->port->abort(p->arrival);
    p->request = NULL;
    if (!p->verifying)
        http_in_free(p);
}

static const struct http_handler handler = {
    .head = http_in_on_head,
    .body = http_in_on_body,
    .end = http_in_on_end,
    .gone = http_in_on_gone,
    .delayed = http_in_on_delayed,
};

/* ---- options ---- */

static const struct option options[] = {
    OPTIONS(grammar_senders),
    OPTION("hmac", OPT_MAP, "for `auth: hmac`: how requests are signed", .keys = signature_checks),
    OPTION("form", OPT_BOOL,
           "of multipart/form-data the one file is the document, and the fields are `query:`",
           .fallback = "false"),
    OPTION("reply", OPT_WORD,
           "what the sender is answered; `receiver` waits for the receiver's own answer",
           .words = OPTION_WORDS("ack", "soap", "receiver"), .fallback = "ack"),
    OPTIONS(grammar_wait),
    { 0 },
};

static void http_in_check(const struct yaml_node *map, struct problem_list *problems)
{
    const struct yaml_node *auth = yaml_get(map, "auth"), *hmac = yaml_get(map, "hmac");
    bool is_signed = str_is(yaml_text(auth), "hmac");

    if (is_signed && hmac == NULL)
        problem_add(problems, auth->place,
                    "hmac: { header: X-Signature, secret: \"${secret:NAME}\" }",
                    "`auth: hmac` needs `hmac`");
    if (!is_signed && hmac != NULL)
        problem_add(problems, hmac->place, "add `auth: hmac`, or leave `hmac` out",
                    "`hmac` is only used with `auth: hmac`");
    signature_check(hmac, problems);
    grammar_check_wait(map, problems);
}

static bool http_in_make(const struct settings *s, void **ret_self, struct err *err)
{
    struct http_in_rule rule = { 0 };
    struct str reply;

    *ret_self = NULL;
    if (!signature_read(s, "hmac", &rule.signature, err) ||
        !settings_text(s, "reply", &reply, err) || !settings_bool(s, "form", &rule.form, err))
        return false;
    rule.soap = str_is(reply, "soap");
    if (str_is(reply, "receiver") && !settings_duration(s, "wait", &rule.wait_us, err))
        return false;
    if (rule.signature == NULL && !rule.soap && !rule.form && rule.wait_us == 0)
        return true;
    struct http_in_rule *kept = ARENA_NEW(s->arena, struct http_in_rule);

    *kept = rule;
    *ret_self = kept;
    return true;
}

static void http_in_unmake(void *self)
{
    (void)self; /* everything is on the arena */
}

const struct gateway_type gateway_http = {
    .kind = { .name = "http", .help = "`POST /in/NAME`", .keys = options, .check = http_in_check },
    .path = "/in/",
    .handler = &handler,
    .open = open_http,
    .close = close_http,
    .make = http_in_make,
    .unmake = http_in_unmake,
};
