#include "admin/http/document.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "admin/api/audit.h"
#include "admin/api/scope.h"
#include "admin/http/visit.h"
#include "admin/login/identify.h"
#include "admin/login/principal.h"
#include "admin/view/document_view.h"
#include "admin/view/payload_range.h"
#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/http_target.h"
#include "base/json.h"
#include "core/connector.h"
#include "core/stages.h"
#include "engine/engine.h"
#include "engine/rehearse/stage.h"
#include "store/payload/archive_read.h"
#include "store/people/caller.h"
#include "store/search/document.h"

enum {
    ANSWER_MOST = 8 << 20,
    ARENA_MOST = STAGES_ARENA_MOST + (16 << 20),
    DELIVERY_MOST = 512,
    NOTE_MOST = 4096,
    PIECE_MOST = 256 << 10, /* of bytes that were computed */
    COMPUTE_US = 10 * CLOCK_S,
    HELD_MOST = 128 << 20 /* bytes of computed stages that wait for their readers, all together */
};

static _Atomic size_t computed_held;

/* One request, until it is answered. */
struct reading {
    struct http_visit visit; /* first */
    struct principal who;    /* PRINCIPAL_NOBODY: a caller of a gateway */
    int64_t caller;

    struct id id;
    bool wants_payload, head_only;
    int64_t stage;        /* after which step (core/stages.h); 0: as it was received */
    struct str answer_of; /* the delivery whose receiver's answer is wanted; ptr NULL: none */
    struct arena arena;
    struct document document;
    bool found, no_stage, is_forbidden, is_archived;
    bool is_unstored; /* the stage is not stored */
    struct buf answer;
    struct err err;

    struct payload_reader *reader; /* NULL: the bytes were computed ... */
    struct buf computed;
    size_t held;           /* its part of `computed_held` */
    int64_t computed_with; /* ... with this version; 0: they are stored */
    struct str unread;     /* of these bytes */
    struct str piece;
    enum range_result range;
    /* Offset of the range in the payload; bytes still to be skipped before it; bytes still to be
     * sent. */
    int64_t from, skip, left;
};

static void drop_computed(struct reading *v)
{
    buf_done(&v->computed);
    v->unread = (struct str){ 0 };
    (void)atomic_fetch_sub(&computed_held, v->held);
    v->held = 0;
}

/* Counts the computed bytes, which stay in memory until they are sent. */
static bool hold_computed(struct reading *v)
{
    v->held = v->computed.len;
    if (atomic_fetch_add(&computed_held, v->held) + v->held <= HELD_MOST)
        return true;
    drop_computed(v);
    return err_set(&v->err, ERR_TRANSIENT, 0,
                   "busy: computed stages that wait for slow readers fill the memory for them "
                   "(%d MiB), try again",
                   HELD_MOST >> 20);
}

static void reading_free(struct http_visit *visit)
{
    struct reading *v = container_of(visit, struct reading, visit);

    payload_close(v->reader);
    buf_done(&v->answer);
    drop_computed(v);
    arena_done(&v->arena);
    free(v);
}

static struct reading *reading_new(struct http_request *r)
{
    struct reading *v = NEW(struct reading);

    *v = (struct reading){ .answer = BUF_INIT(ANSWER_MOST),
                           .computed = BUF_INIT(SERVICE_BYTES_MOST),
                           .arena = ARENA_INIT(ARENA_MOST) };
    http_visit_begin(&v->visit, r, &http_document_handler, reading_free);
    return v;
}

static void http_document_end_with_error(struct reading *v, int status, const char *fields,
                                         const char *code, const char *message)
{
    http_visit_error(&v->visit, status, fields, code, message);
}

static void http_document_to_background(struct reading *v, void (*run)(struct background_job *),
                                        void (*done)(struct loop_msg *))
{
    (void)http_visit_to_background(&v->visit, engine_background(v->who.engine), run, done);
}

static struct reading *back_from_background(struct loop_msg *msg)
{
    struct http_visit *visit = http_visit_back(msg);

    return visit != NULL ? container_of(visit, struct reading, visit) : NULL;
}

static struct reading *reading_of_job(struct background_job *job)
{
    return container_of(http_visit_of_job(job), struct reading, visit);
}

/* ---- who may ---- */

static bool http_document_is_known(const struct reading *v)
{
    return v->who.kind != PRINCIPAL_NOBODY;
}

static bool may_see(const struct reading *v)
{
    return http_document_is_known(v) ? principal_sees_document(&v->who, RIGHT_SEE, &v->document)
                                     : v->caller > 0 && v->caller == v->document.caller;
}

static bool may_take(const struct reading *v)
{
    return !http_document_is_known(v) ||
           principal_sees_document(&v->who, RIGHT_DOWNLOAD, &v->document);
}

/* An archive does not record sender and receiver, so it takes the rights for all systems. */
static bool may_look_in_archives(const struct reading *v)
{
    return http_document_is_known(v) && rights_everywhere(&v->who.rights, RIGHT_DOWNLOAD) &&
           rights_everywhere(&v->who.rights, RIGHT_SEE);
}

/* The bytes after a step: those that are stored, or computed again. */
static bool choose_stage(struct reading *v)
{
    struct payload_source *source = &v->document.source;
    const struct stage *s = document_view_stage(&v->document, v->stage, &v->arena, source);

    if (s == NULL || s->is_stored)
        return s != NULL;
    v->is_unstored = true;
    if (!stage_compute(engine_road(v->who.engine), &v->document, v->stage,
                       clock_mono_us() + COMPUTE_US, &v->computed, &v->computed_with, &v->err))
        return false;
    v->unread = buf_view(&v->computed);
    source->size = (int64_t)v->unread.len;
    source->sha256 = digest_of(v->unread);
    if (v->head_only)
        drop_computed(v);
    else if (!hold_computed(v))
        v->computed_with = 0;
    return v->computed_with != 0;
}

/* Replaces the source by the one that was asked for: a stage, or an answer. */
static bool choose_source(struct reading *v)
{
    struct document_view view;

    if (v->answer_of.ptr == NULL)
        return v->is_archived || v->stage == 0 || choose_stage(v);
    return document_view_make(v->who.engine, &v->document, false, &v->arena, &view, &v->err) &&
           document_view_load(v->who.engine, &view, &v->arena, &v->err) &&
           document_view_answer(&view, v->answer_of, &v->document.source);
}

static void show_document(struct reading *v)
{
    struct engine *e = v->who.engine;
    struct document_view view;

    v->found = document_view_make(e, &v->document, false, &v->arena, &view, &v->err);
    if (v->found)
        document_view_json(engine_store(e), &view, &v->answer);
}

/* Writes the download to the audit log; called before the first byte is sent. */
static bool note_download(struct reading *v)
{
    AUTO(buf_done) struct buf which = BUF_INIT(NOTE_MOST);
    struct json_out j = { .to = &which };
    char id[ID_TEXT];
    struct audit_entry e =
        api_audit_entry(&v->who, STR("payloadDownload"), str_of(id_text(&v->id, id)));
    struct store *s = engine_store(v->who.engine);

    if (!http_document_is_known(v) && !caller_name(s, v->caller, &v->arena, &e.actor, &v->err))
        return false;
    if (v->stage != 0 || v->answer_of.ptr != NULL) {
        json_open(&j, '{');
        json_key(&j, v->stage != 0 ? "stage" : "answer");
        if (v->stage != 0)
            json_int(&j, v->stage);
        else
            json_str(&j, v->answer_of);
        json_close(&j, '}');
    }
    e.became = buf_view(&which);
    return audit_append(s, &e, &v->err);
}

/* ---- at the background pool ---- */

/* What was not stored is not in the archive either. */
static void look_in_archives(struct reading *v)
{
    struct store *s = engine_store(v->who.engine);
    struct payload_source *source = &v->document.source;

    v->is_archived = archive_source(s, &v->id, v->stage, source, &v->found, &v->err);
    if (v->is_archived && !v->found && v->stage != 0)
        v->no_stage = archive_source(s, &v->id, 0, source, &v->found, &v->err) && v->found;
}

static void http_document_look_up(struct background_job *job)
{
    struct reading *v = reading_of_job(job);
    struct store *s = engine_store(v->who.engine);

    v->found = document_get(s, &v->id, &v->arena, &v->document, &v->err);
    if (!v->found && v->err.kind == ERR_NONE && v->wants_payload && may_look_in_archives(v) &&
        v->answer_of.ptr == NULL)
        look_in_archives(v);
    if (!v->found || v->no_stage || !may_see(v))
        return;
    if (!v->wants_payload)
        show_document(v);
    else if (!may_take(v))
        v->is_forbidden = true;
    else if (!choose_source(v))
        v->no_stage = v->err.kind == ERR_NONE;
    else if (v->computed_with == 0 && !payload_open(s, &v->document.source, &v->reader, &v->err))
        v->reader = NULL;
    else
        v->found = v->head_only || note_download(v);
}

static bool next_piece_of(struct reading *v)
{
    if (v->computed_with == 0)
        return payload_next(v->reader, &v->piece, &v->err);
    v->piece = str_mem(v->unread.ptr, v->unread.len < PIECE_MOST ? v->unread.len : PIECE_MOST);
    v->unread = str_from(v->unread, v->piece.len);
    return true;
}

static void http_document_read_piece(struct background_job *job)
{
    struct reading *v = reading_of_job(job);

    do { /* bytes before the range are read for the digest, and not sent */
        if (!next_piece_of(v))
            return;
        int64_t cut = v->skip < (int64_t)v->piece.len ? v->skip : (int64_t)v->piece.len;

        v->piece = str_from(v->piece, (size_t)cut);
        v->skip -= cut;
        if ((int64_t)v->piece.len > v->left)
            v->piece.len = (size_t)v->left;
    } while (v->piece.len == 0 && v->left > 0);
}

/* ---- bytes ---- */

static void piece_done(struct loop_msg *msg);

static void http_document_next_piece(struct reading *v)
{
    if (v->left > 0) {
        http_document_to_background(v, http_document_read_piece, piece_done);
        return;
    }
    http_answer_end(v->visit.request);
    reading_free(&v->visit);
}

static void http_document_send_piece(struct reading *v)
{
    v->left -= (int64_t)v->piece.len;
    if (http_answer_bytes(v->visit.request, v->piece))
        http_document_next_piece(v);
}

static void piece_done(struct loop_msg *msg)
{
    struct reading *v = back_from_background(msg);

    if (v == NULL)
        return;
    if (v->err.kind != ERR_NONE) {
        http_visit_abort(&v->visit); /* damaged: break the transfer, never let it look whole */
        return;
    }
    http_document_send_piece(v);
}

static void start_answer(struct reading *v)
{
    const struct payload_source *src = &v->document.source;
    char fields[400], etag[SHA256_TEXT];
    int n = snprintf(fields, sizeof fields,
                     "ETag: \"%s\"\r\nAccept-Ranges: bytes\r\nX-Content-Type-Options: nosniff\r\n"
                     "Content-Disposition: attachment\r\nCache-Control: no-store\r\n",
                     digest_text(&src->sha256, etag));

    if (v->range == RANGE_PART)
        n += snprintf(fields + n, sizeof fields - (size_t)n,
                      "Content-Range: bytes %lld-%lld/%lld\r\n", (long long)v->from,
                      (long long)(v->from + v->left - 1), (long long)src->size);
    if (v->computed_with != 0)
        n += snprintf(fields + n, sizeof fields - (size_t)n, "Waybill-Computed: version %lld\r\n",
                      (long long)v->computed_with);
    v->visit.is_answering = true;
    http_answer_start(v->visit.request, v->range == RANGE_PART ? 206 : 200,
                      str_mem(fields, (size_t)n), STR("application/octet-stream"), v->left);
}

static void http_document_answer_trouble(struct reading *v, const char *code)
{
    if (v->err.kind == ERR_TRANSIENT)
        http_document_end_with_error(v, 503, "Retry-After: 2\r\n", "unavailable", v->err.text);
    else
        http_document_end_with_error(v, 500, "", code, v->err.text);
}

/* The stage is not stored, and something is in the way of computing it again. */
static void answer_not_computed(struct reading *v)
{
    AUTO(buf_done) struct buf why = BUF_INIT(NOTE_MOST);

    if (v->err.kind == ERR_TRANSIENT) {
        http_document_answer_trouble(v, "unavailable");
        return;
    }
    buf_printf(&why, "Stage %lld was not stored, and cannot be computed again: %s.",
               (long long)v->stage, v->err.text);
    http_document_end_with_error(v, 409, "", "not_computed", why.ptr);
}

static void answer_payload_trouble(struct reading *v)
{
    http_document_answer_trouble(v, v->err.sys == ENOENT ? "payload_missing" : "payload_corrupt");
}

static void first_piece_done(struct loop_msg *msg)
{
    struct reading *v = back_from_background(msg);

    if (v == NULL)
        return;
    if (v->err.kind != ERR_NONE) {
        answer_payload_trouble(v);
        return;
    }
    start_answer(v);
    http_document_send_piece(v);
}

/* The head is sent only when the first piece has been read, so that a missing or damaged payload
 * can still be answered with an error.  Most payloads are a single piece. */
static void start_payload(struct reading *v)
{
    int64_t size = v->document.source.size;
    char fields[64];

    v->range = payload_range(v->visit.request->range, size, &v->from, &v->left);
    v->skip = v->from;
    if (v->range == RANGE_UNSATISFIABLE) {
        (void)snprintf(fields, sizeof fields, "Content-Range: bytes */%lld\r\n", (long long)size);
        http_document_end_with_error(v, 416, fields, "bad_range", "The payload has no such bytes.");
    } else if (v->visit.request->method == HTTP_METHOD_HEAD) {
        start_answer(v);
        http_answer_end(v->visit.request);
        reading_free(&v->visit);
    } else {
        http_document_to_background(v, http_document_read_piece, first_piece_done);
    }
}

/* ---- the request ---- */

/* An unknown id and a document out of scope give the same answer. */
static void looked_up(struct loop_msg *msg)
{
    struct reading *v = back_from_background(msg);

    if (v == NULL)
        return;
    if (!v->found && v->err.kind != ERR_NONE) {
        http_document_answer_trouble(v, "failed");
    } else if (!v->found || !may_see(v)) {
        http_document_end_with_error(v, 404, "", "unknown_document", "There is no such document.");
    } else if (!v->wants_payload) {
        http_answer(v->visit.request, 200, STR("Cache-Control: no-store\r\n"),
                    STR("application/json"), buf_view(&v->answer));
        reading_free(&v->visit);
    } else if (v->is_forbidden) {
        identify_note_forbidden(&v->who, STR("documents"), RIGHT_DOWNLOAD);
        http_document_end_with_error(v, 403, "", "forbidden",
                                     "This needs the right `download` for its systems.");
    } else if (v->no_stage && v->answer_of.ptr != NULL) {
        http_document_end_with_error(v, 404, "", "unknown_answer",
                                     "No answer is kept of a delivery with this id or endpoint.");
    } else if (v->no_stage) {
        http_document_end_with_error(
            v, 404, "", "unknown_stage",
            v->is_archived ? "It is archived, without such a stage: only what was stored is there."
                           : "No step with this number ran: see its timeline.");
    } else if (v->is_unstored && v->computed_with == 0) {
        answer_not_computed(v);
    } else if (v->computed_with == 0 && v->reader == NULL) {
        answer_payload_trouble(v);
    } else {
        start_payload(v);
    }
}

static bool read_stage(struct reading *v)
{
    AUTO(buf_done) struct buf value = BUF_INIT(64);
    struct err err;
    bool given;

    if (!http_decode_query(v->visit.request->query, STR("stage"), &value, &given, &err))
        return false;
    return !given || (str_to_i64(buf_view(&value), &v->stage) && v->stage >= 1);
}

static bool read_answer_of(struct reading *v)
{
    AUTO(buf_done) struct buf value = BUF_INIT(DELIVERY_MOST);
    struct err err;
    bool given;

    if (!http_decode_query(v->visit.request->query, STR("answer"), &value, &given, &err))
        return false;
    if (given)
        v->answer_of = arena_copy(&v->arena, buf_view(&value));
    return !given || v->stage == 0;
}

/* Without the right for any system the request is refused before the lookup. */
static bool may_ask(struct reading *v)
{
    enum right missing = !rights_has(&v->who.rights, RIGHT_SEE) ? RIGHT_SEE
                         : v->wants_payload && !rights_has(&v->who.rights, RIGHT_DOWNLOAD)
                             ? RIGHT_DOWNLOAD
                             : RIGHT_ANY;

    if (missing == RIGHT_ANY)
        return true;
    identify_note_forbidden(&v->who, STR("documents"), missing);
    http_document_end_with_error(v, 403, "", "forbidden",
                                 missing == RIGHT_SEE ? "This needs the right `see`."
                                                      : "This needs the right `download`.");
    return false;
}

static void http_document_on_head(struct http_request *r, void *arg)
{
    struct reading *v = reading_new(r);
    struct str id, tail = str_cut(str_from(r->path, strlen("/documents/")), '/', &id);
    bool known = identify(arg, r, &v->arena, &v->who, &v->caller);

    if (r->method != HTTP_METHOD_GET && r->method != HTTP_METHOD_HEAD) {
        http_document_end_with_error(v, 405, "Allow: GET, HEAD\r\n", "method_not_allowed",
                                     "Read with GET.");
        return;
    }
    if (!known && v->caller == 0) {
        http_document_end_with_error(v, 401, "WWW-Authenticate: Bearer\r\n", "unauthorized",
                                     "Send the key that sent the document, or the admin token.");
        return;
    }
    v->wants_payload = str_is(tail, "payload");
    v->head_only = r->method == HTTP_METHOD_HEAD;
    if (known && !may_ask(v))
        return;
    if (v->wants_payload && !read_stage(v)) {
        http_document_end_with_error(v, 400, "", "bad_stage", "stage is a number from 1 on.");
        return;
    }
    if (v->wants_payload && !read_answer_of(v)) {
        http_document_end_with_error(v, 400, "", "bad_answer",
                                     "answer is the id or the endpoint of a delivery, and "
                                     "excludes a stage.");
        return;
    }
    if (v->answer_of.ptr != NULL && !known) {
        http_document_end_with_error(v, 403, "", "forbidden",
                                     "What receivers answered is for the admin token.");
        return;
    }
    if (v->stage != 0 && !known) {
        http_document_end_with_error(v, 403, "", "forbidden",
                                     "What steps made of it is for the admin token.");
        return;
    }
    if (!id_parse(id, &v->id) || (tail.len > 0 && !v->wants_payload)) {
        http_document_end_with_error(v, 404, "", "unknown_document", "There is no such document.");
        return;
    }
    http_document_to_background(v, http_document_look_up, looked_up);
}

static void http_document_on_drained(struct http_request *r)
{
    http_document_next_piece((struct reading *)r->user);
}

const struct http_handler http_document_handler = {
    .head = http_document_on_head,
    .gone = http_visit_gone,
    .drained = http_document_on_drained,
};
