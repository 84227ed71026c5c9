#include "table/cell.h"

#include <math.h>
#include <stdio.h>

#include "base/require.h"
#include "table/cell_cast.h"
#include "table/cell_dec.h"
#include "table/cell_time.h"

const char *const cell_types[CELL_TYPES] = {
    [CELL_NULL] = "null",   [CELL_INT] = "int",         [CELL_DEC] = "dec",
    [CELL_FLOAT] = "float", [CELL_TEXT] = "text",       [CELL_BYTES] = "bytes",
    [CELL_BOOL] = "bool",   [CELL_INSTANT] = "instant", [CELL_LOCAL] = "local",
    [CELL_DATE] = "date",   [CELL_TIME] = "time",       [CELL_UUID] = "uuid",
    [CELL_JSON] = "json",
};

enum cell_type cell_type_named(struct str name)
{
    enum cell_type t = CELL_NULL;

    while (t < CELL_TYPES && !str_is(name, cell_types[t]))
        t++;
    return t;
}

bool cell_same(const struct cell *a, const struct cell *b)
{
    if (a->type != b->type)
        return false;
    switch (a->type) {
    case CELL_NULL:
        return true;
    case CELL_FLOAT:
        return a->f == b->f || (isnan(a->f) && isnan(b->f));
    case CELL_DEC:
    case CELL_TEXT:
    case CELL_BYTES:
    case CELL_UUID:
    case CELL_JSON:
        return str_eq(a->s, b->s);
    default:
        return a->i == b->i;
    }
}

/* ---- for people ---- */

/* A text of at most `most` bytes; "..." stands for what is left out. */
struct shown {
    char *to;
    size_t len, most;
    bool cut;
};

static void shown_add(struct shown *s, const char *p, size_t len)
{
    if (s->cut || len > s->most - s->len) {
        s->cut = true;
        return;
    }
    memcpy(s->to + s->len, p, len);
    s->len += len;
}

/* Characters that would move the cursor are shown as escapes, and so is what is not UTF-8. */
static void shown_add_text(struct shown *s, struct str text)
{
    for (size_t i = 0; i < text.len && !s->cut;) {
        unsigned char c = (unsigned char)text.ptr[i];
        size_t n = c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
        char as[8];

        if (n > text.len - i || (c >= 0x80 && !str_is_utf8(str_mem(text.ptr + i, n))))
            n = 1;
        /* 0xc2 begins the control characters beyond ASCII. */
        bool odd = c < ' ' || c == 0x7f || (c >= 0x80 && n == 1) ||
                   (c == 0xc2 && (unsigned char)text.ptr[i + 1] < 0xa0);

        if (!odd)
            shown_add(s, text.ptr + i, n);
        for (size_t j = 0; odd && j < n; j++) {
            unsigned char b = (unsigned char)text.ptr[i + j];
            int len = b == '\n'   ? snprintf(as, sizeof as, "\\n")
                      : b == '\t' ? snprintf(as, sizeof as, "\\t")
                                  : snprintf(as, sizeof as, "\\x%02x", b);

            shown_add(s, as, (size_t)len);
        }
        i += n;
    }
}

static void shown_add_bytes(struct shown *s, struct str bytes)
{
    static const char hex[] = "0123456789abcdef";

    shown_add(s, "x'", 2);
    for (size_t i = 0; i < bytes.len && !s->cut; i++) {
        unsigned char c = (unsigned char)bytes.ptr[i];

        shown_add(s, (char[]){ hex[c >> 4], hex[c & 15] }, 2);
    }
    shown_add(s, "'", 1);
}

static void shown_add_cell(struct shown *s, const struct cell *c)
{
    char text[CELL_DEC_DOUBLE_MOST];

    switch (c->type) {
    case CELL_NULL:
        shown_add(s, "NULL", 4);
        break;
    case CELL_INT:
        shown_add_text(s,
                       str_mem(text, (size_t)snprintf(text, sizeof text, "%lld", (long long)c->i)));
        break;
    case CELL_FLOAT:
        shown_add_text(s, str_mem(text, cell_dec_text_of_double(c->f, text)));
        break;
    case CELL_BOOL:
        shown_add_text(s, c->i != 0 ? STR("true") : STR("false"));
        break;
    case CELL_INSTANT:
    case CELL_LOCAL:
    case CELL_DATE:
    case CELL_TIME:
        if (!cell_time_is_fine(c->type, c->i))
            shown_add_text(
                s, str_mem(text, (size_t)snprintf(text, sizeof text, "%lld", (long long)c->i)));
        else
            shown_add_text(s, str_mem(text, cell_time_put(c->type, c->i, text)));
        break;
    case CELL_UUID:
        if (c->s.len == CELL_UUID_BYTES) {
            cell_uuid_put(c->s.ptr, text);
            shown_add_text(s, str_mem(text, CELL_UUID_TEXT));
            break;
        }
        /* fall through */
    case CELL_BYTES:
        shown_add_bytes(s, c->s);
        break;
    default:
        shown_add_text(s, c->s);
        break;
    }
}

struct str cell_text(const struct cell *c, size_t most, struct arena *a)
{
    static const char dots[] = "...";
    /* No cell is longer than that; what is long is text. */
    size_t room = c->type == CELL_TEXT || c->type == CELL_DEC || c->type == CELL_JSON ||
                          c->type == CELL_BYTES || c->type == CELL_UUID
                      ? c->s.len
                      : CELL_DEC_DOUBLE_MOST;
    struct shown s = { .most = most };

    if (room > SIZE_MAX / 8 || room * 4 + 8 > most)
        room = most;
    else
        room = room * 4 + 8; /* "\x00" */
    s.to = arena_alloc(a, room + 1);
    s.most = room;
    shown_add_cell(&s, c);
    if (s.cut) {
        size_t dot_count = most < 3 ? most : 3;
        struct str head =
            str_first(str_mem(s.to, s.len), s.len < most - dot_count ? s.len : most - dot_count);

        memcpy(s.to + head.len, dots, dot_count);
        s.len = head.len + dot_count;
    }
    return str_mem(s.to, s.len);
}
