#include "core/format/edi_path.h"

static bool path_number(struct str s, size_t *at, unsigned *ret)
{
    size_t from = *at;
    unsigned n = 0;

    for (; *at < s.len && *at - from < 4 && s.ptr[*at] >= '0' && s.ptr[*at] <= '9'; (*at)++)
        n = n * 10 + (unsigned)(s.ptr[*at] - '0');
    *ret = n;
    return *at > from && n > 0;
}

static bool path_take(struct str s, size_t *at, char c)
{
    if (*at >= s.len || s.ptr[*at] != c)
        return false;
    (*at)++;
    return true;
}

/* "[2]"; without it *ret is 1. */
static bool path_index(struct str s, size_t *at, unsigned *ret)
{
    *ret = 1;
    return !path_take(s, at, '[') || (path_number(s, at, ret) && path_take(s, at, ']'));
}

/* ISA06, N104, SVC01-2 */
static bool parse_x12(struct str s, struct edi_path *p)
{
    ptrdiff_t dash = str_find(s, '-');
    size_t name = dash < 0 ? s.len : (size_t)dash, at;

    if (name < 4 || name > 5)
        return false;
    p->tag = str_mem(s.ptr, name - 2);
    p->nth = p->repetition = 1;
    at = name - 2;
    if (!path_number(str_mem(s.ptr, name), &at, &p->element) || at != name)
        return false;
    at = name + 1;
    return dash < 0 || (path_number(s, &at, &p->component) && at == s.len);
}

bool edi_path_parse(enum edi_kind kind, struct str text, struct edi_path *ret)
{
    struct edi_path p = { 0 };
    size_t at = 3;

    if (kind == EDI_X12) {
        if (!parse_x12(text, &p))
            return false;
        *ret = p;
        return true;
    }
    if (text.len < 5)
        return false;
    p.tag = str_mem(text.ptr, 3);
    if (!path_index(text, &at, &p.nth) || !path_take(text, &at, '-') ||
        !path_number(text, &at, &p.element) || !path_index(text, &at, &p.repetition))
        return false;
    if (path_take(text, &at, '.') && !path_number(text, &at, &p.component))
        return false;
    if (p.component > 0 && path_take(text, &at, '.') && !path_number(text, &at, &p.sub))
        return false;
    if (p.component > 0 && p.sub == 0 && path_take(text, &at, '-') &&
        !path_number(text, &at, &p.last_component))
        return false;
    if (at != text.len)
        return false;
    *ret = p;
    return true;
}

/* The n-th piece, from 1. */
static bool piece_at(const struct edi_marks *m, char mark, struct str text, unsigned n,
                     struct str *ret)
{
    struct str rest = text;

    if (rest.ptr == NULL)
        return false;
    for (unsigned i = 1; edi_cut(m, mark, &rest, ret); i++)
        if (i == n)
            return true;
    return false;
}

/* A value that cannot be decoded is taken as it is written. */
static void path_put_value(enum edi_kind kind, const struct edi_marks *m, struct str text,
                           struct buf *to)
{
    size_t before = to->len;

    if (edi_decode(kind, m, text, to))
        return;
    to->len = before;
    to->ptr[before] = '\0';
    buf_put(to, text);
}

static void put_components(enum edi_kind kind, const struct edi_path *p, const struct edi_marks *m,
                           struct str text, struct buf *to)
{
    struct str piece;

    for (unsigned i = p->component;
         i <= p->last_component && piece_at(m, m->component, text, i, &piece); i++) {
        if (piece.len > 0 && i > p->component)
            buf_putc(to, '^');
        path_put_value(kind, m, piece, to);
    }
}

/* Elements whose bytes are separators themselves, or of fixed width: they are not cut. */
static bool element_is_whole(enum edi_kind kind, const struct edi_segment *s, unsigned element)
{
    return kind == EDI_HL7   ? element <= 2 && edi_tag_is_hl7_header(s->tag)
           : kind == EDI_X12 ? str_is(s->tag, "ISA")
                             : str_is(s->tag, "UNA");
}

bool edi_path_value(enum edi_kind kind, const struct edi_path *p, const struct edi_segment *s,
                    struct buf *to, size_t *ret_at)
{
    const struct edi_marks *m = &s->marks;
    struct str text, one;

    if (!edi_element(s, p->element, &text))
        return false;
    *ret_at = s->at + (size_t)(text.ptr - s->text.ptr);
    if (element_is_whole(kind, s, p->element)) {
        buf_put(to, text);
        return p->repetition == 1 && p->component <= 1;
    }
    if (!piece_at(m, m->repetition, text, p->repetition, &text))
        return false;
    if (p->last_component > 0) {
        put_components(kind, p, m, text, to);
        return true;
    }
    if (p->component > 0 && !piece_at(m, m->component, text, p->component, &text))
        return false;
    if (p->sub > 0 && !piece_at(m, m->sub, text, p->sub, &text))
        return false;
    *ret_at = s->at + (size_t)(text.ptr - s->text.ptr);
    /* What has parts is not decoded: they could not be told from separators in a value. */
    if ((p->component == 0 && piece_at(m, m->component, text, 2, &one)) ||
        (p->sub == 0 && piece_at(m, m->sub, text, 2, &one)))
        buf_put(to, text);
    else
        path_put_value(kind, m, text, to);
    return true;
}

/* ---- in a whole text ---- */

/* The segment that the path names; with ERR_NONE there is none. */
static bool path_segment(enum edi_kind kind, const struct edi_path *p, struct str text,
                         struct edi_segment *ret, struct err *err)
{
    struct edi_reader r;
    enum edi_found found;
    unsigned seen = 0;

    *err = (struct err){ 0 };
    edi_reader_init(&r, kind, text);
    while ((found = edi_next(&r, ret)) == EDI_SEGMENT)
        if (str_eq(ret->tag, p->tag) && ++seen == p->nth)
            return true;
    return found == EDI_WRONG && edi_fail(&r, err);
}

bool edi_path_get(enum edi_kind kind, const struct edi_path *p, struct str text, struct buf *to,
                  struct err *err)
{
    struct edi_segment s;
    size_t at;

    return path_segment(kind, p, text, &s, err) && edi_path_value(kind, p, &s, to, &at);
}

/* Where a value goes: it replaces `slice`, behind separators that are missing. */
struct path_place {
    struct str slice;
    struct {
        char mark;
        unsigned count;
    } pads[4];
    size_t pad_count;
};

/* Narrows the place to the n-th piece of it, from 1. */
static bool narrow(struct path_place *place, const struct edi_marks *m, char mark, unsigned n,
                   struct err *err)
{
    struct str rest = place->slice, piece = place->slice;
    unsigned have = 0;

    while (have < n && edi_cut(m, mark, &rest, &piece))
        have++;
    if (have == n) {
        place->slice = piece;
        return true;
    }
    if (mark == '\0')
        return err_set(err, ERR_PERMANENT, 0, "the message has no separator for this place");
    place->slice = str_mem(place->slice.ptr + place->slice.len, 0);
    place->pads[place->pad_count].mark = mark;
    place->pads[place->pad_count++].count = n - have;
    return true;
}

static bool find_place(enum edi_kind kind, const struct edi_path *p, const struct edi_segment *s,
                       struct path_place *ret, struct err *err)
{
    const struct edi_marks *m = &s->marks;
    bool header = kind == EDI_HL7 && edi_tag_is_hl7_header(s->tag);

    *ret = (struct path_place){ .slice = s->text };
    if (element_is_whole(kind, s, p->element))
        return err_set(err, ERR_PERMANENT, 0,
                       "%.*s says the separators of the message and is not set", STR_ARG(s->tag));
    if (p->last_component > 0)
        return err_set(err, ERR_PERMANENT, 0, "one component can be set, not several");
    return narrow(ret, m, m->element, header ? p->element : p->element + 1, err) &&
           narrow(ret, m, m->repetition, p->repetition, err) &&
           (p->component == 0 || narrow(ret, m, m->component, p->component, err)) &&
           (p->sub == 0 || narrow(ret, m, m->sub, p->sub, err));
}

bool edi_path_set(enum edi_kind kind, const struct edi_path *p, struct str text, struct str value,
                  struct outlet *to, struct err *err)
{
    struct edi_segment s;
    struct path_place place;

    if (!path_segment(kind, p, text, &s, err))
        return err->kind != ERR_NONE
                   ? false
                   : err_set(err, ERR_PERMANENT, 0, "there is no segment %.*s", STR_ARG(p->tag));
    if (!find_place(kind, p, &s, &place, err))
        return false;
    size_t at = (size_t)(place.slice.ptr - text.ptr);

    outlet_put(to, str_mem(text.ptr, at));
    for (size_t i = 0; i < place.pad_count; i++)
        for (unsigned k = 0; k < place.pads[i].count; k++)
            outlet_putc(to, place.pads[i].mark);
    if (!edi_encode(kind, &s.marks, value, to, err))
        return false;
    outlet_put(to, str_from(text, at + place.slice.len));
    return true;
}

const char *const *edi_own_paths(enum edi_kind kind, enum edi_own what)
{
    static const char *const paths[3][3][3] = {
        [EDI_HL7] = { { "MSH-4.1", "MSH-3.1" }, { "MSH-6.1", "MSH-5.1" }, { "MSH-9.1-2" } },
        [EDI_X12] = { { "ISA06" }, { "ISA08" }, { "ST01", "GS01" } },
        [EDI_EDIFACT] = { { "UNB-2.1" }, { "UNB-3.1" }, { "UNH-2.1" } },
    };

    return paths[kind][what];
}
