#include "admin/http/manual.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "admin/api/audit.h"
#include "admin/api/parts.h"
#include "admin/api/scope.h"
#include "admin/http/visit.h"
#include "admin/login/identify.h"
#include "admin/login/principal.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/container_of.h"
#include "base/http_target.h"
#include "base/json.h"
#include "engine/engine.h"
#include "engine/intake/spool.h"
#include "engine/manual.h"

enum { ARENA_MOST = 256 << 10 };

/* One request, from its head to its answer. */
struct post {
    struct http_visit visit; /* first */
    const struct identify *known;
    struct principal who;
    struct str by; /* Waybill-By, as sent */

    struct arena arena; /* copies of the head, which may be gone while the background pool works */
    struct manual_request q;
    int64_t size, size_most;
    struct buf body;
    struct spool_body *spool;
    struct manual_bytes bytes;
    struct manual_result result;
    bool ok;
    struct err err;
};

/* ---- objects ---- */

static void post_free(struct http_visit *visit)
{
    struct post *p = container_of(visit, struct post, visit);

    if (p->spool != NULL)
        spool_abort(p->spool);
    buf_done(&p->body);
    arena_done(&p->arena);
    free(p);
}

static struct post *post_new(struct http_request *r, const struct identify *known)
{
    struct post *p = NEW(struct post);

    *p = (struct post){ .known = known,
                        .arena = ARENA_INIT(ARENA_MOST),
                        .body = BUF_INIT(SEGMENT_PAYLOAD_MOST) };
    http_visit_begin(&p->visit, r, &http_manual_handler, post_free);
    return p;
}

static void http_manual_end_with_error(struct post *p, int status, const char *fields,
                                       const char *code, const char *message)
{
    http_visit_error(&p->visit, status, fields, code, message);
}

/* ---- who sends ---- */

/* False: refused, and answered. */
static bool admits(struct post *p)
{
    int64_t caller;

    if (!identify(p->known, p->visit.request, &p->arena, &p->who, &caller))
        http_manual_end_with_error(
            p, 401, "WWW-Authenticate: Bearer\r\n", "unauthorized",
            "Send the admin token of the node: Authorization: Bearer TOKEN.");
    else if (rights_has(&p->who.rights, RIGHT_EDIT))
        return true;
    else {
        identify_note_forbidden(&p->who, STR("documents"), RIGHT_EDIT);
        http_manual_end_with_error(p, 403, "", "forbidden", "This needs the right `edit`.");
    }
    return false;
}

/* Sets the scope, owner and name for the timeline from the principal. */
static void take_who(struct post *p)
{
    struct manual_request *q = &p->q;
    bool all = rights_everywhere(&p->who.rights, RIGHT_EDIT) &&
               rights_everywhere(&p->who.rights, RIGHT_SEE);

    q->sees = all ? NULL : principal_edits;
    q->sends = principal_sends;
    q->sees_arg = &p->who;
    q->owner = p->who.name;
    q->who = api_who(&p->who, p->by, &p->arena);
}

/* ---- answers ---- */

static void http_manual_answer_trouble(struct post *p)
{
    const struct err *e = &p->err;

    if (e->kind == ERR_LIMIT && e->sys == ENOSPC)
        http_manual_end_with_error(p, 507, "Retry-After: 30\r\n", "no_space", e->text);
    else if (e->kind == ERR_LIMIT)
        http_manual_end_with_error(p, 413, "", "too_large", e->text);
    else if (e->kind == ERR_UNCERTAIN)
        http_manual_end_with_error(
            p, 503, "Retry-After: 2\r\n", "uncertain",
            "The document may or may not have been stored. Send it again with the same "
            "Idempotency-Key.");
    else if (e->kind == ERR_TRANSIENT)
        http_manual_end_with_error(p, 503, "Retry-After: 2\r\n", "unavailable", e->text);
    else
        http_manual_end_with_error(p, 500, "", "failed", e->text);
}

static void http_manual_answer_refusal(struct post *p)
{
    const struct manual_result *r = &p->result;

    if (r->key_differs)
        http_manual_end_with_error(p, 422, "", "key_reused", r->text);
    else if (r->result == OPERATE_NONE)
        http_manual_end_with_error(p, 404, "", "unknown_document", r->text);
    else
        http_manual_end_with_error(p, 409, "", r->result == OPERATE_BUSY ? "busy" : "refused",
                                   r->text);
}

static void answer_made(struct post *p)
{
    AUTO(buf_done) struct buf text = BUF_INIT(4096);
    AUTO(buf_done) struct buf fields = BUF_INIT(256);
    struct http_request *r = p->visit.request;
    struct json_out j = { .to = &text };
    char id[ID_TEXT];

    (void)id_text(&p->result.id, id);
    buf_printf(&fields, "Location: /documents/%s\r\n%s", id,
               p->result.repeated ? "Idempotent-Replay: true\r\n" : "");
    json_open(&j, '{');
    json_key(&j, "document");
    json_z(&j, id);
    json_key(&j, "message");
    json_z(&j, p->result.text);
    json_close(&j, '}');
    buf_putc(&text, '\n');
    post_free(&p->visit);
    http_answer(r, 202, buf_view(&fields), STR("application/json"), buf_view(&text));
}

/* ---- at the background pool ---- */

static struct post *post_of_job(struct background_job *job)
{
    return container_of(http_visit_of_job(job), struct post, visit);
}

static bool http_manual_to_background(struct post *p, void (*run)(struct background_job *),
                                      void (*done)(struct loop_msg *))
{
    return http_visit_to_background(&p->visit, engine_background(p->who.engine), run, done);
}

/* The request as JSON, for the audit log. */
static struct str http_manual_asked_of(struct post *p)
{
    AUTO(buf_done) struct buf text = BUF_INIT(64 << 10);
    const struct manual_request *q = &p->q;
    struct json_out j = { .to = &text };

    json_open(&j, '{');
    json_key(&j, "size");
    json_int(&j, p->bytes.size);
    if (q->is_edit) {
        json_key(&j, "as");
        json_z(&j, q->beside ? "beside" : "supersede");
        json_key(&j, "from");
        json_z(&j, q->to_router ? "router" : "gateway");
    } else {
        json_key(&j, "gateway");
        json_str(&j, str_first(q->gateway, AUDIT_NAME_MOST));
    }
    json_key(&j, "by");
    json_str(&j, str_first(q->who, AUDIT_NAME_MOST));
    json_close(&j, '}');
    return arena_copy(&p->arena, buf_view(&text));
}

static void make_in_background(struct background_job *job)
{
    struct post *p = post_of_job(job);

    struct audit_entry e = api_audit_entry(
        &p->who, p->q.is_edit ? STR("documentEdit") : STR("documentSend"), (struct str){ 0 });

    e.became = http_manual_asked_of(p);
    audit_begin(&e);
    p->ok = manual_make(engine_manual(p->who.engine), &p->q, &p->bytes, &p->result, &p->err);
    audit_end();
}

/* NULL: the client is gone, or the request was refused and answered. */
static struct post *agreed(struct loop_msg *msg)
{
    struct http_visit *visit = http_visit_back(msg);

    if (visit == NULL)
        return NULL;
    struct post *p = container_of(visit, struct post, visit);

    if (p->ok && p->result.result == OPERATE_DONE)
        return p;
    if (p->ok)
        http_manual_answer_refusal(p);
    else
        http_manual_answer_trouble(p);
    return NULL;
}

static void made(struct loop_msg *msg)
{
    struct post *p = agreed(msg);

    if (p != NULL)
        answer_made(p);
}

static void ask_in_background(struct background_job *job)
{
    struct post *p = post_of_job(job);

    p->ok = manual_ask(engine_manual(p->who.engine), &p->q, &p->result, &p->size_most, &p->err);
}

static void http_manual_asked(struct loop_msg *msg)
{
    struct post *p = agreed(msg);

    if (p == NULL)
        return;
    if (p->visit.request->content_length > p->size_most)
        http_manual_end_with_error(p, 413, "", "too_large",
                                   "It is larger than limits.size of its gateway.");
    else
        http_read_body(p->visit.request);
}

/* ---- the head ---- */

/* Reads a header field; ptr NULL: it is missing.  False: too long, or not UTF-8. */
static bool http_manual_text_of(struct post *p, const char *field, size_t most, struct str *ret)
{
    struct str value = http_field(p->visit.request, str_of(field));

    *ret = value.ptr == NULL ? value : arena_copy(&p->arena, value);
    return value.len <= most && str_is_utf8(value);
}

static bool read_attributes(struct post *p)
{
    struct facts *f = &p->q.given;
    struct str name, value;

    f->attributes = ARENA_ARRAY(&p->arena, struct fact, FACTS_ATTRIBUTES_MOST);
    for (size_t i = 0; http_field_at(p->visit.request, i, &name, &value); i++) {
        struct str key, rest = str_cut(value, '=', &key);

        if (!str_eq_nocase(name, STR("Waybill-Attribute")))
            continue;
        if (f->attribute_count == FACTS_ATTRIBUTES_MOST || key.len == 0 ||
            str_find(value, '=') < 0 || !str_is_utf8(value))
            return false;
        f->attributes[f->attribute_count++] =
            (struct fact){ arena_copy(&p->arena, key), arena_copy(&p->arena, rest) };
    }
    return true;
}

static bool http_manual_read_fields(struct post *p)
{
    struct manual_request *q = &p->q;

    if (!http_manual_text_of(p, "Waybill-Sender", FACTS_VALUE_MOST, &q->given.sender) ||
        !http_manual_text_of(p, "Waybill-Receiver", FACTS_VALUE_MOST, &q->given.receiver) ||
        !http_manual_text_of(p, "Waybill-Type", FACTS_VALUE_MOST, &q->given.type) ||
        !http_manual_text_of(p, "Waybill-Name", MANUAL_NAME_MOST, &q->name) ||
        !http_manual_text_of(p, "Content-Type", MANUAL_NAME_MOST, &q->ctype) ||
        !http_manual_text_of(p, "Idempotency-Key", MANUAL_KEY_MOST, &q->key) ||
        !http_manual_text_of(p, "Waybill-By", MANUAL_WHO_MOST, &p->by) || !api_is_who(p->by) ||
        !read_attributes(p))
        return false;
    take_who(p);
    return true;
}

/* Reads a query parameter that is one of two words, or missing.  False: it is another word. */
static bool http_manual_read_word(struct post *p, const char *name, const char *first,
                                  const char *second, bool *ret_second)
{
    AUTO(buf_done) struct buf value = BUF_INIT(64);
    struct err err;
    bool given;

    if (!http_decode_query(p->visit.request->query, str_of(name), &value, &given, &err))
        return false;
    *ret_second = given && str_is(buf_view(&value), second);
    return !given || *ret_second || str_is(buf_view(&value), first);
}

static bool read_gateway(struct post *p)
{
    AUTO(buf_done) struct buf value = BUF_INIT(256);
    struct err err;
    bool given;

    if (!http_decode_query(p->visit.request->query, STR("gateway"), &value, &given, &err) || !given)
        return false;
    p->q.gateway = arena_copy(&p->arena, buf_view(&value));
    p->q.to_router = true;
    return true;
}

static bool read_edit(struct post *p)
{
    struct str rest = str_from(p->visit.request->path, strlen("/documents/")), id;

    (void)str_cut(rest, '/', &id);
    p->q.is_edit = true;
    if (!id_parse(id, &p->q.original)) {
        http_manual_end_with_error(p, 404, "", "unknown_document", "There is no such document.");
        return false;
    }
    if (http_manual_read_word(p, "as", "supersede", "beside", &p->q.beside) &&
        http_manual_read_word(p, "from", "gateway", "router", &p->q.to_router))
        return true;
    http_manual_end_with_error(p, 400, "", "bad_query",
                               "as is supersede or beside, from is gateway or router.");
    return false;
}

static bool read_send(struct post *p)
{
    if (read_gateway(p))
        return true;
    http_manual_end_with_error(p, 400, "", "bad_query", "Say where it came in: gateway=NAME.");
    return false;
}

static bool http_manual_has_facts(const struct facts *f)
{
    return f->sender.ptr != NULL || f->receiver.ptr != NULL || f->type.ptr != NULL ||
           f->attribute_count > 0;
}

/* Reads the head of a request to /documents/ID/edit or /documents. */
static void read_request(struct post *p)
{
    if (!(str_is(p->visit.request->path, "/documents") ? read_send(p) : read_edit(p)))
        return;
    if (!http_manual_read_fields(p))
        http_manual_end_with_error(
            p, 400, "", "bad_field",
            "A Waybill- field or the Idempotency-Key is too long, no UTF-8, or no K=V.");
    else if (http_manual_has_facts(&p->q.given) && !p->q.to_router)
        http_manual_end_with_error(p, 400, "", "bad_query",
                                   "Sender, receiver, type and attributes are for from=router.");
    else
        (void)http_manual_to_background(p, ask_in_background, http_manual_asked);
}

static void http_manual_on_head(struct http_request *r, void *arg)
{
    struct post *p = post_new(r, arg);

    if (admits(p))
        read_request(p);
}

/* ---- the body ---- */

/* Called when the body is complete.  Rights are checked again, because they may have been revoked
 * while the body arrived.  False: refused, and answered. */
static bool http_manual_make(struct post *p)
{
    if (!admits(p))
        return false;
    take_who(p);
    return http_manual_to_background(p, make_in_background, made);
}

static void on_spool_drained(void *user)
{
    struct post *p = user;

    http_resume(p->visit.request);
}

static void http_manual_on_spooled(void *user, const struct spool_result *r)
{
    struct post *p = user;

    p->spool = NULL;
    if (!r->ok) {
        p->err = r->err;
        http_manual_answer_trouble(p);
        return;
    }
    p->bytes = (struct manual_bytes){
        .is_spooled = true, .place = r->place, .size = r->size, .sha256 = r->sha256
    };
    struct engine *e = p->who.engine;

    if (!http_manual_make(p))
        spool_drop(engine_spool(e), r->place);
}

static const struct spool_calls spool_calls = { .drained = on_spool_drained,
                                                .done = http_manual_on_spooled };

static void http_manual_on_body(struct http_request *r, struct str bytes)
{
    struct post *p = r->user;

    p->size += (int64_t)bytes.len;
    if (p->size > p->size_most) {
        http_manual_end_with_error(p, 413, "", "too_large",
                                   "It is larger than limits.size of its gateway.");
        return;
    }
    if (p->spool == NULL && p->size <= SEGMENT_PAYLOAD_MOST) {
        buf_put(&p->body, bytes);
        return;
    }
    if (p->spool == NULL) { /* too large for memory: the bytes so far go to the spool first */
        p->spool = spool_begin(engine_spool(p->who.engine), http_loop(r), &spool_calls, p);
        if (p->body.len > 0)
            (void)spool_add(p->spool, buf_view(&p->body));
        buf_done(&p->body);
    }
    if (!spool_add(p->spool, bytes))
        http_pause(r);
}

static void http_manual_on_end(struct http_request *r)
{
    struct post *p = r->user;

    if (p->spool != NULL) {
        spool_end(p->spool);
        return;
    }
    p->bytes = (struct manual_bytes){ .body = buf_view(&p->body),
                                      .size = (int64_t)p->body.len,
                                      .sha256 = digest_of(buf_view(&p->body)) };
    (void)http_manual_make(p);
}

const struct http_handler http_manual_handler = {
    .head = http_manual_on_head,
    .body = http_manual_on_body,
    .end = http_manual_on_end,
    .gone = http_visit_gone,
};
