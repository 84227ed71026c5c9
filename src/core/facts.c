#include "core/facts.h"

#include <limits.h>

#include "base/require.h"
#include "base/varint.h"

enum {
    FORMAT = 1,
    SENDER = 1,
    RECEIVER = 2,
    TYPE = 4,
    NAMES = 7,
    BEGIN = 8,
    BATCHES = 16,
    PARTIAL = 32,
    GENERATION = 64
};

/* The most bytes that an attribute and a whole record need beside their texts. */
enum { ATTRIBUTE_MORE = 2 * VARINT_MOST, RECORD_MORE = 3 + 10 * VARINT_MOST };

struct str facts_attribute(const struct facts *f, struct str name)
{
    for (size_t i = 0; i < f->attribute_count; i++)
        if (str_eq(f->attributes[i].name, name))
            return f->attributes[i].value;
    return (struct str){ 0 };
}

static struct str facts_text_copy(struct arena *a, struct str s)
{
    return s.ptr != NULL ? arena_copy(a, s) : s;
}

struct facts facts_copy(struct arena *a, const struct facts *f)
{
    struct facts c = *f;

    c.sender = facts_text_copy(a, f->sender);
    c.receiver = facts_text_copy(a, f->receiver);
    c.type = facts_text_copy(a, f->type);
    c.begin = (struct facts_begin){ 0 };
    c.attributes = ARENA_ARRAY(a, struct fact, f->attribute_count + 1);
    for (size_t i = 0; i < f->attribute_count; i++)
        c.attributes[i] = (struct fact){ facts_text_copy(a, f->attributes[i].name),
                                         facts_text_copy(a, f->attributes[i].value) };
    return c;
}

void facts_keep_begin(struct facts *f)
{
    if (!f->begin.is)
        f->begin = (struct facts_begin){ .is = true,
                                         .sender = f->sender,
                                         .receiver = f->receiver,
                                         .type = f->type,
                                         .attribute_count = f->attribute_count };
}

void facts_begin_again(struct facts *f)
{
    const struct facts_begin *b = &f->begin;

    if (!b->is)
        return;
    f->sender = b->sender;
    f->receiver = b->receiver;
    f->type = b->type;
    f->sender_unknown = f->receiver_unknown = f->type_unknown = false;
    if (f->attribute_count > b->attribute_count)
        f->attribute_count = b->attribute_count;
    f->begin = (struct facts_begin){ 0 };
}

static struct str name_or_none(bool unknown, struct str name)
{
    return unknown ? str_first(name, FACTS_VALUE_MOST) : STR("");
}

/* What facts_write() writes: texts cut to their limits, and how many attributes fit. */
struct plan {
    struct str sender, receiver, type;
    struct facts_begin begin;
    size_t attributes, size;
};

static struct facts_begin begin_cut(const struct facts_begin *b)
{
    struct facts_begin cut = *b;

    cut.sender = str_first(b->sender, FACTS_VALUE_MOST);
    cut.receiver = str_first(b->receiver, FACTS_VALUE_MOST);
    cut.type = str_first(b->type, FACTS_VALUE_MOST);
    if (cut.attribute_count > FACTS_ATTRIBUTES_MOST)
        cut.attribute_count = FACTS_ATTRIBUTES_MOST;
    return cut;
}

_Static_assert(RECORD_MORE + 6 * FACTS_VALUE_MOST + FACTS_ATTRIBUTES_BYTES <= FACTS_BYTES_MOST,
               "there is room for names and attributes of any length");

static bool attribute_fits(const struct fact *fact, size_t size)
{
    return fact->name.len <= FACTS_VALUE_MOST && fact->value.len <= FACTS_VALUE_MOST &&
           size + fact->name.len + fact->value.len + ATTRIBUTE_MORE <= FACTS_ATTRIBUTES_BYTES;
}

static struct plan plan(const struct facts *f)
{
    struct plan p = {
        .sender = name_or_none(f->sender_unknown, f->sender),
        .receiver = name_or_none(f->receiver_unknown, f->receiver),
        .type = name_or_none(f->type_unknown, f->type),
        .begin = begin_cut(&f->begin),
    };

    while (p.attributes < f->attribute_count && p.attributes < FACTS_ATTRIBUTES_MOST) {
        const struct fact *fact = &f->attributes[p.attributes];

        if (!attribute_fits(fact, p.size))
            break;
        p.size += fact->name.len + fact->value.len + ATTRIBUTE_MORE;
        p.attributes++;
    }
    p.size += RECORD_MORE + p.sender.len + p.receiver.len + p.type.len + p.begin.sender.len +
              p.begin.receiver.len + p.begin.type.len;
    return p;
}

bool facts_fit(const struct facts *f)
{
    return plan(f).attributes == f->attribute_count && f->sender.len <= FACTS_VALUE_MOST &&
           f->receiver.len <= FACTS_VALUE_MOST && f->type.len <= FACTS_VALUE_MOST;
}

static char *put_name(char *at, bool there, struct str name)
{
    return there ? varint_put_text(at, name) : at;
}

static char *put_begin(char *at, const struct facts_begin *b)
{
    bool sender = b->sender.ptr != NULL, receiver = b->receiver.ptr != NULL,
         type = b->type.ptr != NULL;

    if (!b->is)
        return at;
    *at++ = (char)((sender ? SENDER : 0) | (receiver ? RECEIVER : 0) | (type ? TYPE : 0));
    at = put_name(put_name(put_name(at, sender, b->sender), receiver, b->receiver), type, b->type);
    return varint_put(at, b->attribute_count);
}

void facts_write(const struct facts *f, struct buf *to)
{
    if (!f->sender_unknown && !f->receiver_unknown && !f->type_unknown && f->attribute_count == 0 &&
        !f->begin.is && f->batches == 0 && f->generation == 0 && !f->partial)
        return;
    struct plan p = plan(f);
    struct err err;
    bool room = buf_reserve(to, p.size, &err);

    require(room); /* the cap of `to` is FACTS_BYTES_MOST or more */
    char *start = to->ptr + to->len, *at = start;

    *at++ = FORMAT;
    *at++ = (char)((f->sender_unknown ? SENDER : 0) | (f->receiver_unknown ? RECEIVER : 0) |
                   (f->type_unknown ? TYPE : 0) | (p.begin.is ? BEGIN : 0) |
                   (f->batches > 0 ? BATCHES : 0) | (f->partial ? PARTIAL : 0) |
                   (f->generation > 0 ? GENERATION : 0));
    at = put_name(at, f->sender_unknown, p.sender);
    at = put_name(at, f->receiver_unknown, p.receiver);
    at = put_name(at, f->type_unknown, p.type);
    at = put_begin(at, &p.begin);
    if (f->batches > 0)
        at = varint_put(at, f->batches);
    if (f->generation > 0)
        at = varint_put(at, f->generation);
    at = varint_put(at, p.attributes);
    for (size_t i = 0; i < p.attributes; i++)
        at = varint_put_text(varint_put_text(at, f->attributes[i].name), f->attributes[i].value);
    buf_added(to, (size_t)(at - start));
}

static bool facts_take_name(struct str *bytes, bool there, struct str *name, bool *unknown)
{
    if (!there)
        return true;
    *unknown = true;
    return varint_take_text(bytes, name);
}

static bool take_begin(struct str *bytes, bool there, struct facts_begin *ret)
{
    unsigned names = there && bytes->len > 0 ? (unsigned char)bytes->ptr[0] : 0;
    uint64_t count;
    bool had;

    *ret = (struct facts_begin){ .is = there };
    if (!there)
        return true;
    if (bytes->len == 0 || (names & ~(unsigned)NAMES) != 0)
        return false;
    *bytes = str_from(*bytes, 1);
    if (!facts_take_name(bytes, names & SENDER, &ret->sender, &had) ||
        !facts_take_name(bytes, names & RECEIVER, &ret->receiver, &had) ||
        !facts_take_name(bytes, names & TYPE, &ret->type, &had) || !varint_take(bytes, &count) ||
        count > FACTS_ATTRIBUTES_MOST)
        return false;
    ret->attribute_count = (size_t)count;
    return true;
}

static bool take_number(struct str *bytes, bool there, unsigned *ret)
{
    uint64_t count = 0;

    if (there && (!varint_take(bytes, &count) || count > UINT_MAX))
        return false;
    *ret = (unsigned)count;
    return true;
}

static bool take_attributes(struct str bytes, struct fact *to, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!varint_take_text(&bytes, &to[i].name) || !varint_take_text(&bytes, &to[i].value))
            return false;
    return bytes.len == 0;
}

bool facts_are_partial(struct str bytes)
{
    return bytes.len >= 2 && bytes.ptr[0] == FORMAT && (bytes.ptr[1] & PARTIAL) != 0;
}

bool facts_read(struct str bytes, struct arena *a, struct facts *ret)
{
    struct facts found = *ret;
    uint64_t count;

    if (bytes.len == 0)
        return true;
    if (bytes.len < 2 || bytes.len > FACTS_BYTES_MOST || bytes.ptr[0] != FORMAT)
        return false;
    unsigned names = (unsigned char)bytes.ptr[1];

    bytes = str_from(bytes, 2);
    found.partial = (names & PARTIAL) != 0;
    if ((names & ~(unsigned)(NAMES | BEGIN | BATCHES | PARTIAL | GENERATION)) != 0 ||
        !facts_take_name(&bytes, names & SENDER, &found.sender, &found.sender_unknown) ||
        !facts_take_name(&bytes, names & RECEIVER, &found.receiver, &found.receiver_unknown) ||
        !facts_take_name(&bytes, names & TYPE, &found.type, &found.type_unknown) ||
        !take_begin(&bytes, names & BEGIN, &found.begin) ||
        !take_number(&bytes, names & BATCHES, &found.batches) ||
        !take_number(&bytes, names & GENERATION, &found.generation) ||
        !varint_take(&bytes, &count) || count > FACTS_ATTRIBUTES_MOST)
        return false;
    found.attribute_count = (size_t)count;
    found.attributes = count > 0 ? ARENA_ARRAY(a, struct fact, (size_t)count) : NULL;
    if (!take_attributes(bytes, found.attributes, found.attribute_count))
        return false;
    *ret = found;
    return true;
}
