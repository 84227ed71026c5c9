#include "core/template.h"

#include "base/clock.h"
#include "base/require.h"
#include "core/units.h"

enum piece_kind {
    PIECE_LITERAL,
    PIECE_ATTRIBUTE,
    PIECE_ID,
    PIECE_DELIVERY,
    PIECE_SENDER,
    PIECE_RECEIVER,
    PIECE_TYPE,
    PIECE_NAME,
    PIECE_GATEWAY,
    PIECE_ENDPOINT,
    PIECE_DATE,
    PIECE_TIME,
    PIECE_TIMESTAMP,
    PIECE_KINDS
};

static const char *const words[PIECE_KINDS] = {
    [PIECE_ID] = "id",
    [PIECE_DELIVERY] = "delivery",
    [PIECE_SENDER] = "sender",
    [PIECE_RECEIVER] = "receiver",
    [PIECE_TYPE] = "type",
    [PIECE_NAME] = "name",
    [PIECE_GATEWAY] = "gateway",
    [PIECE_ENDPOINT] = "endpoint",
    [PIECE_DATE] = "date",
    [PIECE_TIME] = "time",
    [PIECE_TIMESTAMP] = "timestamp",
};

struct piece {
    enum piece_kind kind;
    struct str text; /* the literal, or the word between the braces */
};

struct template
{
    size_t count;
    struct piece pieces[];
};

/* ---- compiling ---- */

const char *template_word_at(size_t n)
{
    return n < PIECE_KINDS - PIECE_ID ? words[n + PIECE_ID] : NULL;
}

static enum piece_kind template_kind_of(struct str word)
{
    for (unsigned i = 0; i < PIECE_KINDS; i++)
        if (words[i] != NULL && str_is(word, words[i]))
            return i;
    return PIECE_ATTRIBUTE;
}

static size_t find_reference(struct str s)
{
    for (size_t i = 0; i + 1 < s.len; i++)
        if (s.ptr[i] == '$' && s.ptr[i + 1] == '{')
            return i;
    return s.len;
}

/* Takes the first piece off *rest.  The error does not quote the text, which may contain an
 * expanded secret. */
static bool template_take_piece(struct str *rest, struct piece *ret, struct err *err)
{
    size_t literal = find_reference(*rest);
    struct err why;

    if (literal > 0) {
        *ret = (struct piece){ PIECE_LITERAL, str_mem(rest->ptr, literal) };
        *rest = str_from(*rest, literal);
        return true;
    }
    ptrdiff_t close = str_find(*rest, '}');

    if (close < 0)
        return err_set(err, ERR_CONFIG, 0, "a `${` is not closed");
    struct str word = str_mem(rest->ptr + 2, (size_t)close - 2);

    if (!units_name(word, &why))
        return err_set(err, ERR_CONFIG, 0, "between `${` and `}` stands no name");
    *ret = (struct piece){ template_kind_of(word), word };
    *rest = str_from(*rest, (size_t)close + 1);
    return true;
}

bool template_compile(struct str text, struct arena *a, const struct template **ret,
                      struct err *err)
{
    struct piece piece;
    size_t count = 0;

    for (struct str rest = text; rest.len > 0; count++)
        if (!template_take_piece(&rest, &piece, err))
            return false;
    struct template *t = arena_alloc(a, sizeof(struct template) + count * sizeof(struct piece));
    struct str rest = arena_copy(a, text);

    for (t->count = 0; t->count < count; t->count++) {
        bool again = template_take_piece(&rest, &t->pieces[t->count], err);

        require(again);
    }
    *ret = t;
    return true;
}

/* ---- rendering ---- */

/* Cuts "2026-11-15T02:52:10.123456Z" down to the date, the time or the basic format. */
static struct str time_text(enum piece_kind kind, int64_t us, char text[static CLOCK_TEXT])
{
    char utc[CLOCK_TEXT];

    (void)clock_utc_text(us, utc);
    memcpy(text, utc, CLOCK_TEXT);
    if (kind == PIECE_DATE)
        return str_mem(text, 10);
    memcpy(text + 4, utc + 5, 2);
    memcpy(text + 6, utc + 8, 3); /* with the T */
    memcpy(text + 9, utc + 11, 2);
    memcpy(text + 11, utc + 14, 2);
    memcpy(text + 13, utc + 17, 2);
    text[15] = 'Z';
    return kind == PIECE_TIME ? str_mem(text + 9, 6) : str_mem(text, 16);
}

static struct str template_value_of(const struct piece *p, const struct template_values *v,
                                    char text[static CLOCK_TEXT])
{
    switch (p->kind) {
    case PIECE_LITERAL:
        return p->text;
    case PIECE_ATTRIBUTE:
        return facts_attribute(v->facts, p->text);
    case PIECE_ID:
        return v->id;
    case PIECE_DELIVERY:
        return v->delivery;
    case PIECE_SENDER:
        return v->facts->sender;
    case PIECE_RECEIVER:
        return v->facts->receiver;
    case PIECE_TYPE:
        return v->facts->type;
    case PIECE_NAME:
        return v->name;
    case PIECE_GATEWAY:
        return v->gateway;
    case PIECE_ENDPOINT:
        return v->endpoint;
    case PIECE_DATE:
    case PIECE_TIME:
    case PIECE_TIMESTAMP:
        return time_text(p->kind, v->received_us, text);
    default:
        unreachable("a kind of piece");
    }
}

/* Percent-encodes everything but the unreserved characters of RFC 3986. */
static bool append_escaped(struct buf *to, struct str value, struct err *err)
{
    static const char hex[] = "0123456789ABCDEF";

    for (size_t i = 0; i < value.len; i++) {
        char c = value.ptr[i];
        char triple[3] = { '%', hex[(unsigned char)c >> 4], hex[(unsigned char)c & 15] };
        bool plain = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
                     c == '-' || c == '.' || c == '_' || c == '~';

        if (!buf_append(to, plain ? str_mem(value.ptr + i, 1) : str_mem(triple, 3), err))
            return false;
    }
    return true;
}

static bool fits_path(const struct piece *p, struct str value, struct err *err)
{
    if (p->kind == PIECE_LITERAL || (value.ptr[0] != '.' && str_find(value, '/') < 0))
        return true;
    return err_set(err, ERR_PERMANENT, 0,
                   "the document's `%.*s` %s: only the template makes folders and hidden names",
                   STR_ARG(p->text), value.ptr[0] == '.' ? "begins with a dot" : "has a `/`");
}

/* A part of the path that is `.` or `..` leads elsewhere, and is understood so when it is escaped.
 * It can only come to be of values that are dots. */
static bool fits_url(const struct piece *p, struct str value, struct str before, struct err *err)
{
    size_t dots = 0;

    while (dots < value.len && value.ptr[dots] == '.')
        dots++;
    if (p->kind == PIECE_LITERAL || dots < value.len || str_find(before, '?') >= 0)
        return true;
    return err_set(err, ERR_PERMANENT, 0,
                   "the document's `%.*s` has nothing but dots: it would lead to another address",
                   STR_ARG(p->text));
}

static bool core_template_render(const struct template *t, const struct template_values *v,
                                 struct buf *to, struct err *err)
{
    char text[CLOCK_TEXT];
    size_t start = to->len;

    for (size_t i = 0; i < t->count; i++) {
        const struct piece *p = &t->pieces[i];
        struct str value = template_value_of(p, v, text);

        if (value.len == 0)
            return err_set(err, ERR_PERMANENT, 0, "the document has no `%.*s`", STR_ARG(p->text));
        if ((v->path && !fits_path(p, value, err)) ||
            (v->url && !fits_url(p, value, str_from(buf_view(to), start), err)))
            return false;
        if (v->url && p->kind != PIECE_LITERAL ? !append_escaped(to, value, err)
                                               : !buf_append(to, value, err))
            return false;
    }
    return true;
}

bool template_render(const struct template *t, const struct template_values *v, struct buf *to,
                     struct err *err)
{
    size_t before = to->len;

    if (core_template_render(t, v, to, err))
        return true;
    if (to->len > before) {
        to->len = before;
        to->ptr[before] = '\0';
    }
    return false;
}
