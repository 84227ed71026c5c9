#include "delivery/s3_object.h"

#include <stdio.h>

#include "base/auto.h"
#include "base/clock.h"
#include "core/s3/s3_text.h"

#define META_DELIVERY "x-amz-meta-waybill-delivery"
#define META_DOCUMENT "x-amz-meta-waybill-document"
#define META_SHA256   "x-amz-meta-waybill-sha256"

enum {
    OBJECT_ARENA = 1 << 20,
    CODE_MOST = 100,
    RENDER_MOST = 64 << 10,
    HEAD_MOST = 64 << 10,
    NAME_MOST = 3 * 1024,
    TYPE_MOST = 256
};

void s3_object_init(struct s3_object *o, const struct s3_service *service, struct s3_lines *lines,
                    const struct sending *s, struct call *c)
{
    *o = (struct s3_object){
        .service = service,
        .sending = s,
        .talk = { .lines = lines,
                  .call = c,
                  .whole = s->next == NULL,
                  .began_us = clock_mono_us() },
        .arena = ARENA_INIT(OBJECT_ARENA),
        .exchange = { .head = BUF_INIT(HEAD_MOST), .body = BUF_INIT(S3_ANSWER_MOST) },
    };
}

void s3_object_done(struct s3_object *o)
{
    s3_exchange_done(&o->exchange);
    arena_done(&o->arena);
}

/* ---- names ---- */

bool s3_object_name(struct s3_object *o, const struct template *bucket, const struct template *key,
                    struct err *err)
{
    AUTO(buf_done) struct buf name = BUF_INIT(RENDER_MOST);
    AUTO(buf_done) struct buf path = BUF_INIT(RENDER_MOST);
    struct template_values values = sending_values(o->sending);

    values.path = true; /* only the template makes folders: many take a `/` in a key for one */
    if (!template_render(bucket, &values, &name, err) ||
        !s3_bucket_check(o->service, buf_view(&name), err)) {
        err->kind = ERR_PERMANENT;
        return err_context(err, "the name of the bucket");
    }
    if (!template_render(key, &values, &path, err) || !s3_key_check(buf_view(&path), err)) {
        err->kind = ERR_PERMANENT;
        return err_context(err, "the name of the object");
    }
    o->bucket = arena_copy(&o->arena, buf_view(&name));
    o->key = arena_copy(&o->arena, buf_view(&path));
    o->sha256 = o->sending->sha256 != NULL ? *o->sending->sha256 : digest_of(o->sending->bytes);
    return true;
}

/* ---- fields ---- */

/* Fields are ASCII.  Ids have nothing to encode, unless somebody names an endpoint so. */
static struct str s3_plain_text(struct s3_object *o, struct str text)
{
    AUTO(buf_done) struct buf out = BUF_INIT(NAME_MOST);
    struct err err = { 0 };

    (void)s3_encode(str_first(text, NAME_MOST / 3), true, &out, &err);
    return arena_copy(&o->arena, buf_view(&out));
}

static struct str s3_type_of(const struct sending *s)
{
    bool fits = s->ctype.len > 0 && s->ctype.len <= TYPE_MOST && !str_has_control(s->ctype);

    for (size_t i = 0; fits && i < s->ctype.len; i++)
        fits = (unsigned char)s->ctype.ptr[i] < 0x7f;
    return fits ? s->ctype : STR("application/octet-stream");
}

static void s3_object_add_field(struct s3_order *order, struct str name, struct str value)
{
    order->fields[order->field_count++] = (struct http_out_field){ name, value };
}

void s3_object_put_fields(struct s3_object *o, struct s3_order *order)
{
    char hex[SHA256_TEXT];

    s3_object_add_field(order, STR("Content-Type"), s3_type_of(o->sending));
    s3_object_add_field(order, STR(META_DELIVERY), s3_plain_text(o, o->sending->delivery));
    s3_object_add_field(order, STR(META_DOCUMENT), s3_plain_text(o, o->sending->document));
    s3_object_add_field(order, STR(META_SHA256),
                        arena_copy(&o->arena, str_of(digest_text(&o->sha256, hex))));
}

/* ---- bytes ---- */

bool s3_object_next(struct s3_object *o, size_t most, struct str *ret, struct err *err)
{
    if (o->piece.len == 0 && !o->sending->next(o->sending->next_arg, &o->piece, err))
        return err_context(err, "the bytes of the document");
    *ret = str_mem(o->piece.ptr, o->piece.len < most ? o->piece.len : most);
    o->piece = str_from(o->piece, ret->len);
    return true;
}

bool s3_object_rewind(struct s3_object *o, struct err *err)
{
    o->piece = STR("");
    return o->sending->next == NULL || o->sending->rewind(o->sending->next_arg, err);
}

static bool s3_read_bytes(void *arg, char *to, size_t room, size_t *ret_read, struct err *err)
{
    struct s3_object *o = arg;
    struct str piece;

    if (!s3_object_next(o, room, &piece, err))
        return false;
    if (piece.len == 0)
        return err_set(err, ERR_PERMANENT, 0, "the document is shorter than it was");
    memcpy(to, piece.ptr, piece.len);
    *ret_read = piece.len;
    return true;
}

/* ---- requests ---- */

void s3_object_ask(struct s3_object *o, const struct s3_order *order, struct str bytes,
                   int64_t size, bool is_final)
{
    o->exchange.size = size;
    o->exchange.bytes = bytes;
    o->exchange.read = s3_read_bytes;
    o->exchange.read_arg = o;
    o->exchange.is_final = is_final;
    s3_talk_ask(&o->talk, o->service, order, &o->exchange);
    o->code = STR("");
}

void s3_object_judge(struct s3_object *o, bool changes, struct verdict *ret)
{
    const struct s3_asked asked = { .service = o->service,
                                    .bucket = o->bucket,
                                    .key = o->key,
                                    /* who did not get all bytes has stored none */
                                    .changes = changes && o->exchange.is_sent,
                                    .is_chosen = o->bucket_is_chosen };

    AUTO(arena_done) struct arena a = ARENA_INIT(S3_ANSWER_ARENA);
    struct str code;

    s3_judge(&asked, &o->exchange.answer, &a, ret, &code);
    o->code = arena_copy(&o->arena, str_first(code, CODE_MOST));
}

/* ---- what is there ---- */

/* The answer to HEAD has no body, and so no code: what is wrong is asked again, for one byte. */
static void ask_why(struct s3_object *o, struct verdict *ret)
{
    struct s3_order order = {
        .method = "GET", .bucket = o->bucket, .key = o->key, .digest = digest_of(STR(""))
    };

    s3_object_add_field(&order, STR("Range"), STR("bytes=0-0"));
    s3_object_ask(o, &order, STR(""), 0, false);
    s3_object_judge(o, false, ret);
}

static bool s3_is_ours(struct s3_object *o)
{
    char hex[SHA256_TEXT], size[32];

    (void)snprintf(size, sizeof size, "%lld", (long long)o->sending->size);
    return str_eq(s3_exchange_field(&o->exchange, META_DELIVERY),
                  s3_plain_text(o, o->sending->delivery)) &&
           str_is(s3_exchange_field(&o->exchange, META_SHA256), digest_text(&o->sha256, hex)) &&
           str_is(s3_exchange_field(&o->exchange, "Content-Length"), size);
}

enum s3_found s3_object_find(struct s3_object *o, struct verdict *ret_why)
{
    struct s3_order order = {
        .method = "HEAD", .bucket = o->bucket, .key = o->key, .digest = digest_of(STR(""))
    };
    const struct http_out_answer *a = &o->exchange.answer;

    s3_object_ask(o, &order, STR(""), 0, false);
    if (a->reach == HTTP_OUT_ANSWERED && a->status == 404)
        return S3_FOUND_NOTHING;
    if (a->reach == HTTP_OUT_ANSWERED && a->status == 200 &&
        s3_exchange_field(&o->exchange, "ETag").len > 0)
        return s3_is_ours(o) ? S3_FOUND_OURS : S3_FOUND_OTHER;
    if (a->reach == HTTP_OUT_ANSWERED && a->status >= 300)
        ask_why(o, ret_why);
    else
        s3_object_judge(o, false, ret_why);
    return S3_FOUND_UNKNOWN;
}
