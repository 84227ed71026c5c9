#include "core/format/outlet.h"

#include "base/json.h"

void outlet_init(struct outlet *o, struct buf *to, size_t most)
{
    size_t room = to->cap - to->len;

    *o = (struct outlet){ .to = to, .from = to->len, .most = most < room ? most : room };
}

void outlet_put(struct outlet *o, struct str bytes)
{
    if (o->over || bytes.len > o->most - (o->to->len - o->from))
        o->over = true;
    else
        buf_put(o->to, bytes);
}

void outlet_puts(struct outlet *o, const char *z)
{
    outlet_put(o, str_of(z));
}

void outlet_putc(struct outlet *o, char c)
{
    outlet_put(o, str_mem(&c, 1));
}

void outlet_json(struct outlet *o, struct str text)
{
    enum { PIECE = 1024 };
    char room[6 * PIECE + 1] = "";

    outlet_putc(o, '"');
    while (text.len > 0 && !o->over) {
        struct buf piece = { .ptr = room, .size = sizeof room, .cap = sizeof room - 1 };
        struct str first = str_first(text, PIECE);

        json_escape(&piece, first);
        outlet_put(o, buf_view(&piece));
        text = str_from(text, first.len);
    }
    outlet_putc(o, '"');
}

static const char *xml_reference(char c)
{
    switch (c) {
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '&':
        return "&amp;";
    case '"':
        return "&quot;";
    case '\t': /* the reader would make a blank of it in an attribute */
        return "&#9;";
    case '\n':
        return "&#10;";
    case '\r':
        return "&#13;";
    default:
        return NULL;
    }
}

void outlet_xml(struct outlet *o, struct str text)
{
    size_t from = 0;

    for (size_t i = 0; i < text.len; i++) {
        const char *reference = xml_reference(text.ptr[i]);

        if (reference == NULL)
            continue;
        outlet_put(o, str_mem(text.ptr + from, i - from));
        outlet_puts(o, reference);
        from = i + 1;
    }
    outlet_put(o, str_from(text, from));
}

void outlet_hex(struct outlet *o, struct str bytes)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < bytes.len; i++) {
        unsigned char c = (unsigned char)bytes.ptr[i];

        outlet_put(o, str_mem((char[]){ digits[c >> 4], digits[c & 15] }, 2));
    }
}

struct str outlet_view(const struct outlet *o)
{
    return str_from(buf_view(o->to), o->from);
}

bool outlet_end(struct outlet *o, bool ok, struct err *err)
{
    if (ok && !o->over)
        return true;
    if (o->to->len > o->from) {
        o->to->len = o->from;
        o->to->ptr[o->from] = '\0';
    }
    return ok ? err_set(err, ERR_LIMIT, 0, "what comes out is larger than %zu bytes", o->most)
              : false;
}
