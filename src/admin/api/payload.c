/* payload.c - payloads of a document, to view: stages, payload, answers; and records. */
#include "store/payload/payload.h"
#include "admin/api/parts.h"
#include "admin/api/scope.h"
#include "admin/view/document_view.h"
#include "admin/view/payload_diff.h"
#include "base/auto.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/log.h"
#include "core/connector.h"
#include "core/format/record_text.h"
#include "core/stages.h"
#include "core/timeline.h"
#include "core/verdict.h"
#include "engine/engine.h"
#include "engine/rehearse/stage.h"
#include "store/govern/record_table.h"
#include "store/road/set_record.h"
#include "store/store.h"

enum { PART_MOST = 1 << 20, TEXT_MOST = 4 * PART_MOST, NO_STAGE = -1, IMPORT_BYTES_MOST = 4 << 20 };

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

/* ---- records ----
 *
 * They belong to no system: only who sees payloads of all systems sees them, and only who may
 * configure changes them. */

struct shown_record {
    int64_t set;
    struct str key;
    int64_t size, updated_us;
};

struct record_page {
    struct shown_record *list;
    size_t count;
    struct str next;
};

static bool api_record_say_unknown(struct graphql_call *call, struct str set, struct err *err)
{
    return err_set(err, ERR_PERMANENT, 0,
                   "there is no set of records %.64s; `waybill records ls` lists those there are",
                   arena_text(call->arena, set));
}

/* *ret 0: the caller sees none, or there is none. */
static bool api_record_set(struct graphql_call *call, int64_t *ret, struct err *err)
{
    *ret = 0;
    return !api_sees_all(call, RIGHT_PAYLOAD) ||
           record_set_find(api_store(call), graphql_arg_text(call, "set"), ret, err);
}

static bool api_record_find(struct graphql_call *call, struct err *err)
{
    struct shown_record *v = ARENA_NEW(call->arena, struct shown_record);
    struct set_record r;

    v->key = graphql_arg_text(call, "key");
    if (!api_record_set(call, &v->set, err))
        return false;
    if (v->set == 0 || v->key.len > SET_RECORD_KEY_MOST)
        return graphql_set_null(call);
    if (!set_record_get(api_store(call), v->set, v->key, call->arena, &r, err))
        return false;
    v->size = (int64_t)r.value.len;
    v->updated_us = r.updated_us;
    return r.version != 0 ? graphql_set_object(call, v) : graphql_set_null(call);
}

/* Of a page the values are read one by one, if they are asked for. */
static bool api_record_value(struct graphql_call *call, struct err *err)
{
    const struct shown_record *v = call->parent;
    struct set_record r;

    if (!set_record_get(api_store(call), v->set, v->key, call->arena, &r, err))
        return false;
    return r.version != 0 && str_is_utf8(r.value) ? graphql_set_text(call, r.value)
                                                  : graphql_set_null(call);
}

static bool api_record_key(struct graphql_call *call, struct err *err)
{
    const struct shown_record *v = call->parent;

    (void)err;
    return str_is_utf8(v->key) ? graphql_set_text(call, v->key) : graphql_set_null(call);
}

static bool api_record_fill(struct graphql_call *call, int64_t set, size_t first,
                            struct record_page *page, struct err *err)
{
    struct record_row rows[RECORD_PAGE_MOST];
    struct str after = graphql_arg_text(call, "after");

    if (!records_page(api_store(call), set, after, call->arena, rows, first, &page->count, err))
        return false;
    page->list = ARENA_ARRAY(call->arena, struct shown_record, page->count);
    for (size_t i = 0; i < page->count; i++)
        page->list[i] = (struct shown_record){
            .set = set, .key = rows[i].key, .size = rows[i].size, .updated_us = rows[i].updated_us
        };
    if (page->count == first)
        page->next = rows[page->count - 1].key;
    return true;
}

static bool api_record_list(struct graphql_call *call, struct err *err)
{
    struct record_page *page = ARENA_NEW(call->arena, struct record_page);
    size_t first;
    int64_t set;

    if (!api_read_count(call, "first", RECORD_PAGE_MOST, &first, err) ||
        !api_record_set(call, &set, err))
        return false;
    if (set == 0 && api_sees_all(call, RIGHT_PAYLOAD))
        return api_record_say_unknown(call, graphql_arg_text(call, "set"), err);
    if (set != 0 && !api_record_fill(call, set, first, page, err))
        return false;
    return graphql_set_object(call, page);
}

static bool api_record_sets(struct graphql_call *call, struct err *err)
{
    struct record_set *list = ARENA_ARRAY(call->arena, struct record_set, RECORD_SETS_MOST);
    size_t count = 0;

    if (api_sees_all(call, RIGHT_PAYLOAD) &&
        !record_sets(api_store(call), call->arena, list, &count, err))
        return false;
    return graphql_set_structs(call, list, count, sizeof *list);
}

static bool api_record_read(const struct graphql_value *v, struct record_put *ret, struct err *err)
{
    struct record_text text;

    ret->key = graphql_value_field(v, "key")->text;
    if (ret->key.len == 0 || ret->key.len > SET_RECORD_KEY_MOST)
        return err_set(err, ERR_LIMIT, 0, "the key of a record has 1 to %d bytes",
                       SET_RECORD_KEY_MOST);
    if (!record_text_read(graphql_value_field(v, "value")->text, &text, err))
        return false;
    ret->value = text.text;
    return text.text.len <= SET_RECORD_VALUE_MOST ||
           err_set(err, ERR_LIMIT, 0, "the value of a record has at most %d bytes",
                   SET_RECORD_VALUE_MOST);
}

/* One value of the request may stand for many records. */
static bool api_record_read_all(struct graphql_call *call, const struct record_put **ret,
                                size_t *ret_count, struct err *err)
{
    const struct graphql_value *list = graphql_arg(call, "records");
    size_t count = list->kind == GRAPHQL_LIST ? list->count : 0, all = 0;

    if (count == 0 || count > RECORD_PORTION_MOST)
        return err_set(err, ERR_LIMIT, 0, "1 to %d records at a time", RECORD_PORTION_MOST);
    struct record_put *puts = ARENA_ARRAY(call->arena, struct record_put, count);

    for (size_t i = 0; i < count; i++) {
        if (!api_record_read(&list->items[i], &puts[i], err))
            return err_context(err, "record %zu", i + 1);
        all += puts[i].value.len;
        if (all > IMPORT_BYTES_MOST)
            return err_set(err, ERR_LIMIT, 0, "at most %d MiB of records at a time",
                           IMPORT_BYTES_MOST >> 20);
    }
    *ret = puts;
    *ret_count = count;
    return true;
}

static bool api_record_import(struct graphql_call *call, struct err *err)
{
    struct str name = graphql_arg_text(call, "set");
    const struct record_put *list;
    int64_t set, changed;
    size_t count;

    if (!api_record_read_all(call, &list, &count, err) ||
        !record_set_id(api_store(call), name, &set, err) ||
        !records_import(api_store(call), set, list, count, &changed, err))
        return false;
    log_event(LOG_INFO, "records.import", kv_str("set", name), kv_int("count", (int64_t)count),
              kv_int("changed", changed), kv_str("by", api_name(call)));
    return graphql_set_int(call, changed);
}

static bool api_record_remove(struct graphql_call *call, struct err *err)
{
    struct str name = graphql_arg_text(call, "set"), key = graphql_arg_text(call, "key");
    int64_t set, count;

    if (!record_set_find(api_store(call), name, &set, err))
        return false;
    if (set == 0)
        return api_record_say_unknown(call, name, err);
    if (!records_remove(api_store(call), set, key, &count, err))
        return false;
    log_event(LOG_INFO, "records.remove", kv_str("set", name), kv_int("count", count),
              kv_str("by", api_name(call)));
    return graphql_set_int(call, count);
}

const struct graphql_resolver api_payload[] = {
    { .field = "Query.record", .fn = api_record_find },
    { .field = "Query.records", .fn = api_record_list },
    { .field = "Query.recordSets", .fn = api_record_sets },
    { .field = "Mutation.recordsImport", .fn = api_record_import },
    { .field = "Mutation.recordsRemove", .fn = api_record_remove },
    { .field = "Record.key", .fn = api_record_key },
    { .field = "Record.value", .fn = api_record_value },
    GRAPHQL_MEMBER("Record.size", struct shown_record, size),
    GRAPHQL_MEMBER("Record.updated", struct shown_record, updated_us),
    GRAPHQL_LIST_OF("RecordPage.items", struct record_page, list, count),
    API_TEXT_AT("RecordPage.next", struct record_page, next),
    GRAPHQL_MEMBER("RecordSet.name", struct record_set, name),
    GRAPHQL_MEMBER("RecordSet.records", struct record_set, records),
    GRAPHQL_MEMBER("RecordSet.updated", struct record_set, updated_us),
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
