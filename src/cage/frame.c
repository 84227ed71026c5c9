#include "cage/frame.h"

#include "base/require.h"
#include "base/varint.h"

struct frame_header {
    uint32_t length;
    uint8_t kind, flags;
    uint16_t zero;
};

_Static_assert(sizeof(struct frame_header) == FRAME_HEADER, "the header has no holes");

static bool frame_kind_is(uint8_t kind)
{
    return (kind >= FRAME_SETUP && kind <= FRAME_STOP) ||
           (kind >= FRAME_READY && kind <= FRAME_FAIL) ||
           (kind >= FRAME_SQL_FIRST && kind <= FRAME_SQL_LAST);
}

enum frame_take frame_take(struct str *bytes, struct frame *ret)
{
    struct frame_header h;

    if (bytes->len < FRAME_HEADER)
        return FRAME_INCOMPLETE;
    memcpy(&h, bytes->ptr, sizeof h);
    if (h.length > FRAME_BODY_MOST || !frame_kind_is(h.kind) || (h.flags & ~FRAME_LAST) != 0 ||
        h.zero != 0)
        return FRAME_MALFORMED;
    if (bytes->len - FRAME_HEADER < h.length)
        return FRAME_INCOMPLETE;
    *ret = (struct frame){ .kind = (enum frame_kind)h.kind,
                           .last = (h.flags & FRAME_LAST) != 0,
                           .body = str_mem(bytes->ptr + FRAME_HEADER, h.length) };
    *bytes = str_from(*bytes, FRAME_HEADER + (size_t)h.length);
    return FRAME_TAKEN;
}

size_t frame_begin(struct buf *to, enum frame_kind kind)
{
    struct frame_header h = { .kind = (uint8_t)kind };
    size_t begun = to->len;

    buf_put(to, str_mem(&h, sizeof h));
    return begun;
}

void frame_end(struct buf *to, size_t begun, bool last)
{
    size_t length = to->len - begun - FRAME_HEADER;
    struct frame_header h;

    require(length <= FRAME_BODY_MOST);
    memcpy(&h, to->ptr + begun, sizeof h);
    h.length = (uint32_t)length;
    h.flags = last ? FRAME_LAST : 0;
    memcpy(to->ptr + begun, &h, sizeof h);
}

void frame_put(struct buf *to, enum frame_kind kind, bool last, struct str body)
{
    size_t begun = frame_begin(to, kind);

    buf_put(to, body);
    frame_end(to, begun, last);
}

/* ---- heads ---- */

enum {
    SENDER_UNKNOWN = 1,
    RECEIVER_UNKNOWN = 2,
    TYPE_UNKNOWN = 4,
    /* What a head needs beside its texts. */
    HEAD_MORE = 64 + 16 * VARINT_MOST
};

static void head_put_number(struct buf *to, uint64_t n)
{
    char text[VARINT_MOST];

    buf_put(to, str_mem(text, (size_t)(varint_put(text, n) - text)));
}

static void head_put_text(struct buf *to, struct str s)
{
    head_put_number(to, s.ptr == NULL ? 0 : s.len + 1);
    buf_put(to, s);
}

static bool head_take_text(struct str *body, struct str *ret)
{
    struct str rest = *body;
    uint64_t n;

    if (!varint_take(&rest, &n) || (n > 0 && n - 1 > rest.len))
        return false;
    *ret = n == 0 ? (struct str){ 0 } : str_mem(rest.ptr, (size_t)n - 1);
    *body = str_from(rest, ret->len);
    return true;
}

/* The bytes of the texts and lengths of attributes. */
static size_t head_attributes_size(const struct fact *attributes, size_t count)
{
    size_t size = VARINT_MOST;

    for (size_t i = 0; i < count; i++)
        size += attributes[i].name.len + attributes[i].value.len + 2 * VARINT_MOST;
    return size;
}

static void head_put_attributes(struct buf *to, const struct fact *attributes, size_t count)
{
    head_put_number(to, count);
    for (size_t i = 0; i < count; i++) {
        head_put_text(to, attributes[i].name);
        head_put_text(to, attributes[i].value);
    }
}

static bool head_take_attributes(struct str *body, struct arena *a, struct fact **ret,
                                 size_t *ret_count)
{
    uint64_t count;

    /* An attribute has two bytes at least: a count is bounded by what came. */
    if (!varint_take(body, &count) || count > body->len / 2)
        return false;
    *ret_count = (size_t)count;
    *ret = count > 0 ? ARENA_ARRAY(a, struct fact, *ret_count) : NULL;
    for (size_t i = 0; i < *ret_count; i++)
        if (!head_take_text(body, &(*ret)[i].name) || !head_take_text(body, &(*ret)[i].value))
            return false;
    return true;
}

/* ---- of a document ---- */

static size_t head_document_size(const struct service_document *d)
{
    const struct facts *f = d->facts;

    return HEAD_MORE + d->name.len + d->ctype.len + d->gateway.len + f->sender.len +
           f->receiver.len + f->type.len + head_attributes_size(f->attributes, f->attribute_count);
}

bool frame_put_document(struct buf *to, const struct service_document *d, int64_t size)
{
    const struct facts *f = d->facts;

    if (head_document_size(d) > FRAME_HEAD_MOST)
        return false;
    buf_put(to, str_mem(d->id.bytes, sizeof d->id.bytes));
    buf_put(to, str_mem(&d->received_us, sizeof d->received_us));
    buf_put(to, str_mem(&size, sizeof size));
    buf_putc(to, (char)((f->sender_unknown ? SENDER_UNKNOWN : 0) |
                        (f->receiver_unknown ? RECEIVER_UNKNOWN : 0) |
                        (f->type_unknown ? TYPE_UNKNOWN : 0)));
    head_put_text(to, d->name);
    head_put_text(to, d->ctype);
    head_put_text(to, d->gateway);
    head_put_text(to, f->sender);
    head_put_text(to, f->receiver);
    head_put_text(to, f->type);
    head_put_attributes(to, f->attributes, f->attribute_count);
    return true;
}

bool frame_take_document(struct str *body, struct arena *a, struct service_document *ret,
                         int64_t *ret_size)
{
    struct facts *f = ARENA_NEW(a, struct facts);
    struct service_document d = { .facts = f };
    size_t fixed = sizeof d.id.bytes + sizeof d.received_us + sizeof *ret_size + 1;
    struct str rest = *body;

    if (rest.len < fixed)
        return false;
    memcpy(d.id.bytes, rest.ptr, sizeof d.id.bytes);
    memcpy(&d.received_us, rest.ptr + sizeof d.id.bytes, sizeof d.received_us);
    unsigned unknown = (unsigned char)rest.ptr[fixed - 1];

    rest = str_from(rest, fixed);
    f->sender_unknown = (unknown & SENDER_UNKNOWN) != 0;
    f->receiver_unknown = (unknown & RECEIVER_UNKNOWN) != 0;
    f->type_unknown = (unknown & TYPE_UNKNOWN) != 0;
    if (!head_take_text(&rest, &d.name) || !head_take_text(&rest, &d.ctype) ||
        !head_take_text(&rest, &d.gateway) || !head_take_text(&rest, &f->sender) ||
        !head_take_text(&rest, &f->receiver) || !head_take_text(&rest, &f->type) ||
        !head_take_attributes(&rest, a, &f->attributes, &f->attribute_count))
        return false;
    memcpy(ret_size, body->ptr + sizeof d.id.bytes + sizeof d.received_us, sizeof *ret_size);
    *ret = d;
    *body = rest;
    return true;
}

/* ---- of a part ---- */

bool frame_put_part(struct buf *to, const struct service_part *p)
{
    size_t size = HEAD_MORE + p->sender.len + p->receiver.len + p->type.len + p->name.len +
                  p->ctype.len + head_attributes_size(p->attributes, p->attribute_count);

    if (size > FRAME_HEAD_MOST || p->attribute_count > FACTS_ATTRIBUTES_MOST)
        return false;
    head_put_text(to, p->sender);
    head_put_text(to, p->receiver);
    head_put_text(to, p->type);
    head_put_text(to, p->name);
    head_put_text(to, p->ctype);
    head_put_number(to, p->parts > 0 ? (uint64_t)p->parts : 0);
    head_put_attributes(to, p->attributes, p->attribute_count);
    return true;
}

bool frame_take_part(struct str body, struct arena *a, struct service_part *ret)
{
    struct service_part p = { 0 };
    struct fact *attributes;
    uint64_t parts;

    if (body.len > FRAME_HEAD_MOST || !head_take_text(&body, &p.sender) ||
        !head_take_text(&body, &p.receiver) || !head_take_text(&body, &p.type) ||
        !head_take_text(&body, &p.name) || !head_take_text(&body, &p.ctype) ||
        !varint_take(&body, &parts) || parts > INT64_MAX ||
        !head_take_attributes(&body, a, &attributes, &p.attribute_count) || body.len > 0 ||
        p.attribute_count > FACTS_ATTRIBUTES_MOST)
        return false;
    p.parts = (int64_t)parts;
    p.attributes = attributes;
    *ret = p;
    return true;
}
