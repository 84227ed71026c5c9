/* payload.c - payloads of a document, to view: stages, payload, answers; and records. */
#include "store/payload/payload.h"
#include "admin/api/parts.h"
#include "admin/api/scope.h"
#include "admin/view/document_view.h"
#include "admin/view/payload_diff.h"
#include "base/auto.h"
#include "base/base64.h"
#include "base/clock.h"
#include "core/connector.h"
#include "core/stages.h"
#include "core/timeline.h"
#include "core/verdict.h"
#include "engine/engine.h"
#include "engine/rehearse/stage.h"
#include "store/road/set_record.h"
#include "store/store.h"

enum { PART_MOST = 1 << 20, TEXT_MOST = 4 * PART_MOST, NO_STAGE = -1 };

/* The parent is const, but the view was allocated for this answer; it may be completed. */
static struct document_view *api_payload_view_of(struct graphql_call *call)
{
    union {
        const void *given;
        struct document_view *own;
    } parent = { .given = call->parent };

    return parent.own;
}

/* ---- stages ---- */

struct shown_stage {
    int64_t number, time_us, size;
    struct str name;
    struct sha256 sha256;
    bool stored;
};

static struct shown_stage show_stage(const struct stage *s)
{
    return (struct shown_stage){ .number = s->number,
                                 .time_us = s->at_us,
                                 .size = s->bytes.size,
                                 .name = s->step,
                                 .sha256 = s->bytes.sha256,
                                 .stored = s->is_stored };
}

static bool doc_stages(struct graphql_call *call, struct err *err)
{
    struct document_view *v = api_payload_view_of(call);
    size_t count;

    if (!document_view_load(api_engine(call), v, call->arena, err))
        return false;
    const struct stage *steps = stages_read(v->doc.timeline, call->arena, &count);
    struct shown_stage *all = ARENA_ARRAY(call->arena, struct shown_stage, count + 1);

    all[0] = (struct shown_stage){ .time_us = v->doc.received_us,
                                   .size = v->doc.source.size,
                                   .name = name_text(api_store(call), v->doc.gateway),
                                   .sha256 = v->doc.source.sha256,
                                   .stored = true };
    for (size_t i = 0; i < count; i++)
        all[i + 1] = show_stage(&steps[i]);
    return graphql_set_structs(call, all, count + 1, sizeof *all);
}

static bool stage_size(struct graphql_call *call, struct err *err)
{
    const struct shown_stage *s = call->parent;

    (void)err;
    return s->stored ? graphql_set_int(call, s->size) : graphql_set_null(call);
}

static bool stage_sha256(struct graphql_call *call, struct err *err)
{
    const struct shown_stage *s = call->parent;
    char text[SHA256_TEXT];

    (void)err;
    return s->stored ? graphql_set_text(
                           call, arena_copy(call->arena, str_of(digest_text(&s->sha256, text))))
                     : graphql_set_null(call);
}

/* ---- a part of the bytes ---- */

struct payload {
    struct payload_source source;
    int64_t stage, from, bytes;
    int64_t computed_with; /* the version; 0: the bytes are stored */
    struct str text;
    bool truncated, is_text;
};

/* Bytes before the part are read, too, because the digest covers the whole payload. */
static bool read_part(struct graphql_call *call, const struct payload_source *source, int64_t from,
                      struct buf *to, struct err *err)
{
    struct payload_reader *r;
    struct str piece;
    bool ok;

    if (!payload_open(api_store(call), source, &r, err))
        return false;
    while ((ok = payload_next(r, &piece, err)) && piece.len > 0 && to->len < to->cap) {
        size_t skip = from < (int64_t)piece.len ? (size_t)from : piece.len;
        struct str rest = str_from(piece, skip);

        from -= (int64_t)skip;
        if (rest.len > to->cap - to->len)
            rest.len = to->cap - to->len;
        buf_put(to, rest);
        if (clock_mono_us() > call->deadline_us) {
            ok = err_set(err, ERR_LIMIT, 0,
                         "this far into a large payload takes too long: read it from "
                         "/documents/ID/payload with a range");
            break;
        }
    }
    payload_close(r);
    return ok;
}

/* The length of the UTF-8 character at the start; 0: it is invalid or incomplete. */
static size_t api_payload_character(struct str s)
{
    unsigned char c = (unsigned char)s.ptr[0];
    size_t n = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;

    return n <= s.len && str_is_utf8(str_mem(s.ptr, n)) ? n : 0;
}

/* Removes an incomplete character at the end; it belongs to the next part. */
static struct str without_cut_end(struct str s)
{
    for (size_t back = 1; back <= 3 && back < s.len; back++) {
        unsigned char c = (unsigned char)s.ptr[s.len - back];

        if ((c & 0xc0) == 0x80)
            continue;
        if (c >= 0xc0 && api_payload_character(str_from(s, s.len - back)) == 0 &&
            back < (c < 0xe0   ? 2u
                    : c < 0xf0 ? 3u
                               : 4u))
            s.len -= back;
        break;
    }
    return s;
}

static void put_hex(struct buf *to, struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        buf_putc(to, "0123456789abcdef"[(unsigned char)s.ptr[i] >> 4]);
        buf_putc(to, "0123456789abcdef"[(unsigned char)s.ptr[i] & 15]);
    }
}

static bool write_part(struct graphql_call *call, struct str part, struct payload *p,
                       struct err *err)
{
    AUTO(buf_done) struct buf text = BUF_INIT(TEXT_MOST);
    struct str as = graphql_arg(call, "as")->text;

    p->truncated = p->from + (int64_t)part.len < p->source.size;
    if (str_is(as, "text") && p->truncated)
        part = without_cut_end(part);
    p->bytes = (int64_t)part.len;
    p->is_text = payload_is_text(part);
    if (str_is(as, "hex"))
        put_hex(&text, part);
    else if (!str_is(as, "base64"))
        buf_put(&text, part); /* invalid UTF-8 is replaced when the answer is written */
    else if (!base64_encode(part, &text, err))
        return false;
    p->text = arena_copy(call->arena, buf_view(&text));
    return true;
}

/* Reads a part of the stage, which is computed again if it is not stored. */
static bool api_payload_read_stage(struct graphql_call *call, const struct document *d,
                                   struct payload *p, struct buf *part, struct err *err)
{
    const struct stage *s =
        p->stage > 0 ? document_view_stage(d, p->stage, call->arena, &p->source) : NULL;
    AUTO(buf_done) struct buf whole = BUF_INIT(SERVICE_BYTES_MOST);

    if (s == NULL || s->is_stored)
        return p->from >= p->source.size || read_part(call, &p->source, p->from, part, err);
    if (!stage_compute(engine_road(api_engine(call)), d, p->stage, call->deadline_us, &whole,
                       &p->computed_with, err))
        return err_context(err, "stage %lld was not stored, and cannot be computed again",
                           (long long)p->stage);
    p->source.size = (int64_t)whole.len;
    p->source.sha256 = digest_of(buf_view(&whole));
    struct str rest = str_from(buf_view(&whole), (size_t)p->from);

    buf_put(part, str_mem(rest.ptr, rest.len < part->cap ? rest.len : part->cap));
    return true;
}

static bool doc_payload(struct graphql_call *call, struct err *err)
{
    struct payload *p = ARENA_NEW(call->arena, struct payload);
    struct document_view *v = api_payload_view_of(call);
    int64_t length = 65536;

    (void)graphql_arg_int(call, "stage", &p->stage);
    (void)graphql_arg_int(call, "from", &p->from);
    (void)graphql_arg_int(call, "length", &length);
    if (length < 1 || length > PART_MOST)
        return err_set(err, ERR_LIMIT, 0, "length is between 1 and %d", PART_MOST);
    if (p->from < 0)
        return err_set(err, ERR_PERMANENT, 0, "from is not below 0");
    if (!document_view_load(api_engine(call), v, call->arena, err))
        return false;
    p->source = v->doc.source;
    if (p->stage < 0 ||
        (p->stage > 0 && document_view_stage(&v->doc, p->stage, call->arena, &p->source) == NULL))
        return graphql_set_null(call);
    AUTO(buf_done) struct buf part = BUF_INIT((size_t)length);

    return api_payload_read_stage(call, &v->doc, p, &part, err) &&
           write_part(call, buf_view(&part), p, err) && graphql_set_object(call, p);
}

bool api_read_stage(struct graphql_call *call, struct document_view *v, int64_t stage,
                    struct buf *to, bool *ret_found, struct err *err)
{
    struct payload p = { .stage = stage, .source = v->doc.source };

    *ret_found = false;
    if (!document_view_load(api_engine(call), v, call->arena, err))
        return false;
    if (stage < 0 ||
        (stage > 0 && document_view_stage(&v->doc, stage, call->arena, &p.source) == NULL))
        return true;
    *ret_found = true;
    if (!api_payload_read_stage(call, &v->doc, &p, to, err))
        return false;
    return p.source.size == (int64_t)to->len ||
           err_set(err, ERR_LIMIT, 0, "stage %lld has %lld bytes; at most %zu are tried here",
                   (long long)stage, (long long)p.source.size, to->cap);
}

/* ---- answers ---- */

static bool doc_answer(struct graphql_call *call, struct err *err)
{
    struct payload *p = ARENA_NEW(call->arena, struct payload);
    struct document_view *v = api_payload_view_of(call);
    AUTO(buf_done) struct buf part = BUF_INIT(VERDICT_ANSWER_MOST);

    if (!document_view_load(api_engine(call), v, call->arena, err))
        return false;
    if (!document_view_answer(v, graphql_arg_text(call, "delivery"), &p->source))
        return graphql_set_null(call);
    p->stage = NO_STAGE;
    return read_part(call, &p->source, 0, &part, err) &&
           write_part(call, buf_view(&part), p, err) && graphql_set_object(call, p);
}

static bool payload_stage(struct graphql_call *call, struct err *err)
{
    const struct payload *p = call->parent;

    (void)err;
    return p->stage == NO_STAGE ? graphql_set_null(call) : graphql_set_int(call, p->stage);
}

static bool delivery_answer(struct graphql_call *call, struct err *err)
{
    const struct delivery_view *d = call->parent;

    (void)err;
    return d->has_answer ? graphql_set_object(call, &d->answer) : graphql_set_null(call);
}

/* ---- records that documents leave behind ---- */

static bool api_record_find(struct graphql_call *call, struct err *err)
{
    struct set_record *r = ARENA_NEW(call->arena, struct set_record);
    struct str key = graphql_arg_text(call, "key");
    int64_t set;

    if (!api_sees_all(call, RIGHT_PAYLOAD) || key.len > SET_RECORD_KEY_MOST ||
        !name_find(api_store(call), NAME_SET, graphql_arg_text(call, "set"), &set))
        return graphql_set_null(call);
    if (!set_record_get(api_store(call), set, key, call->arena, r, err))
        return false;
    return r->version != 0 ? graphql_set_object(call, r) : graphql_set_null(call);
}

static bool api_record_value(struct graphql_call *call, struct err *err)
{
    const struct set_record *r = call->parent;

    (void)err;
    return str_is_utf8(r->value) ? graphql_set_text(call, r->value) : graphql_set_null(call);
}

static bool api_record_size(struct graphql_call *call, struct err *err)
{
    const struct set_record *r = call->parent;

    (void)err;
    return graphql_set_int(call, (int64_t)r->value.len);
}

const struct graphql_resolver api_payload[] = {
    { .field = "Query.record", .fn = api_record_find },
    { .field = "Record.value", .fn = api_record_value },
    { .field = "Record.size", .fn = api_record_size },
    GRAPHQL_MEMBER("Record.updated", struct set_record, updated_us),
    { .field = "Document.stages", .fn = doc_stages },
    GRAPHQL_MEMBER("Stage.stage", struct shown_stage, number),
    GRAPHQL_MEMBER("Stage.name", struct shown_stage, name),
    GRAPHQL_MEMBER("Stage.time", struct shown_stage, time_us),
    GRAPHQL_MEMBER("Stage.stored", struct shown_stage, stored),
    { .field = "Stage.size", .fn = stage_size },
    { .field = "Stage.sha256", .fn = stage_sha256 },
    { .field = "Document.payload", .fn = doc_payload },
    { .field = "Document.answer", .fn = doc_answer },
    { .field = "Delivery.answer", .fn = delivery_answer },
    GRAPHQL_MEMBER("Answer.time", struct timeline_line, at_us),
    API_NUMBER_AT("Answer.attempt", struct timeline_line, attempt),
    API_NUMBER_AT("Answer.status", struct timeline_line, status),
    API_TEXT_AT("Answer.contentType", struct timeline_line, ctype),
    GRAPHQL_MEMBER("Answer.size", struct timeline_line, came),
    GRAPHQL_MEMBER("Answer.kept", struct timeline_line, size),
    GRAPHQL_MEMBER("Answer.sha256", struct timeline_line, sha256),
    { .field = "Payload.stage", .fn = payload_stage },
    API_NUMBER_AT("Payload.computedWith", struct payload, computed_with),
    GRAPHQL_MEMBER("Payload.size", struct payload, source.size),
    GRAPHQL_MEMBER("Payload.sha256", struct payload, source.sha256),
    GRAPHQL_MEMBER("Payload.from", struct payload, from),
    GRAPHQL_MEMBER("Payload.bytes", struct payload, bytes),
    GRAPHQL_MEMBER("Payload.text", struct payload, text),
    GRAPHQL_MEMBER("Payload.truncated", struct payload, truncated),
    GRAPHQL_MEMBER("Payload.isText", struct payload, is_text),
};
const size_t api_payload_count = sizeof api_payload / sizeof api_payload[0];
