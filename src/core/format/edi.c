#include "core/format/edi.h"

static const struct edi_marks edifact_marks = {
    .element = '+', .component = ':', .escape = '?', .releases = true, .end = '\''
};

const char *edi_name(enum edi_kind kind)
{
    static const char *const names[] = { "HL7", "X12", "EDIFACT" };

    return names[kind];
}

const char *edi_header_rule(enum edi_kind kind)
{
    static const char *const rules[] = { "it begins with neither MSH, FHS nor BHS",
                                         "an interchange begins with ISA",
                                         "an interchange begins with UNA or UNB" };

    return rules[kind];
}

static bool edi_is_letter(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool edi_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool edi_is_name(char c)
{
    return edi_is_letter(c) || edi_is_digit(c);
}

bool edi_is_blank(enum edi_kind kind, char c)
{
    /* MLLP frames a message with VT and FS; a file that was cut out of a connection has them. */
    return c == '\r' || c == '\n' || c == ' ' || c == '\t' ||
           (kind == EDI_HL7 && (c == '\x0b' || c == '\x1c'));
}

bool edi_tag_is_hl7_header(struct str tag)
{
    return str_is(tag, "MSH") || str_is(tag, "FHS") || str_is(tag, "BHS");
}

bool edi_is_plain(enum edi_kind kind, struct str tag, size_t element)
{
    return kind == EDI_HL7   ? element <= 2 && edi_tag_is_hl7_header(tag)
           : kind == EDI_X12 ? str_is(tag, "ISA")
                             : str_is(tag, "UNA");
}

/* ---- headers ---- */

/* A byte that may separate: no letter, no digit, no byte of a multibyte character. */
static bool may_separate(char c)
{
    unsigned char u = (unsigned char)c;

    return u > 0 && u < 0x80 && !edi_is_name(c) && !(c >= 'a' && c <= 'z');
}

/* HL7 has printed ones; whatever says them again, as an acknowledgement does, sends no control
 * character. */
static bool may_separate_hl7(char c)
{
    return may_separate(c) && (unsigned char)c >= ' ' && c != 0x7f;
}

static bool all_differ(const struct edi_marks *m)
{
    const char marks[] = { m->element, m->component, m->repetition, m->sub, m->escape, m->end };

    for (size_t i = 0; i < sizeof marks; i++)
        for (size_t j = 0; j < i; j++)
            if (marks[i] != '\0' && marks[i] == marks[j])
                return false;
    return true;
}

static enum edi_header header_bad(const char **ret_why, size_t *ret_at, const char *why, size_t at)
{
    *ret_why = why;
    *ret_at = at;
    return EDI_HEADER_BAD;
}

/* MSH|^~\&| : component, repetition, escape, subcomponent; later ones may be missing, and a fifth
 * (truncation) is of no use to a reader. */
static enum edi_header header_hl7(struct str head, struct edi_marks *ret, const char **ret_why,
                                  size_t *ret_at)
{
    struct edi_marks m = { 0 };
    char *const marks[] = { &m.component, &m.repetition, &m.escape, &m.sub };
    size_t n = 0, at = 4;

    if (head.len < 4)
        return EDI_HEADER_MORE;
    m.element = head.ptr[3];
    if (!may_separate_hl7(m.element))
        return header_bad(ret_why, ret_at, "this byte cannot be the field separator", 3);
    for (; at < head.len && head.ptr[at] != m.element; at++) {
        char c = head.ptr[at];

        if (c == '\r' || c == '\n')
            break;
        if (n == 5 || !may_separate_hl7(c))
            return header_bad(ret_why, ret_at, "this byte cannot be a separator", at);
        if (n < 4)
            *marks[n] = c;
        n++;
    }
    if (at == head.len && n < 5 && head.len < EDI_HEADER_BYTES)
        return EDI_HEADER_MORE;
    if (!all_differ(&m))
        return header_bad(ret_why, ret_at, "two of the separators are the same byte", 4);
    *ret = m;
    return EDI_HEADER_YES;
}

static enum edi_header header_x12(struct str head, struct edi_marks *ret, const char **ret_why,
                                  size_t *ret_at)
{
    static const unsigned char places[] = { 3,  6,  17, 20, 31, 34, 50,  53,
                                            69, 76, 81, 83, 89, 99, 101, 103 };
    struct edi_marks m = { 0 };

    if (head.len < 4)
        return EDI_HEADER_MORE;
    m.element = head.ptr[3];
    for (size_t i = 0; i < sizeof places; i++)
        if (places[i] < head.len && head.ptr[places[i]] != m.element)
            return header_bad(ret_why, ret_at,
                              "ISA has fixed widths, and here its element separator is missing",
                              places[i]);
    if (head.len < EDI_HEADER_BYTES)
        return EDI_HEADER_MORE;
    m.component = head.ptr[104];
    m.end = head.ptr[105];
    /* ISA11 is a code until 00401 and the repetition separator from 00402 on. */
    if (memcmp(head.ptr + 84, "00402", 5) >= 0 && may_separate(head.ptr[82]) && head.ptr[82] != ' ')
        m.repetition = head.ptr[82];
    if (!may_separate(m.element) || !may_separate(m.component) || !may_separate(m.end))
        return header_bad(ret_why, ret_at, "a letter or a digit stands where ISA has a separator",
                          !may_separate(m.element)     ? 3
                          : !may_separate(m.component) ? 104
                                                       : 105);
    if (!all_differ(&m))
        return header_bad(ret_why, ret_at, "two of the separators are the same byte", 104);
    *ret = m;
    return EDI_HEADER_YES;
}

/* UNB+UNOC:4+ : from syntax version 4 on elements repeat, by default with a star. */
static enum edi_header header_unb(struct str head, struct edi_marks *ret, const char **ret_why,
                                  size_t *ret_at)
{
    static const char *const why = "UNB begins with a syntax identifier and its version, such as "
                                   "UNOC:3";
    struct edi_marks m = edifact_marks;
    size_t i = 4;

    if (head.len > 3 && head.ptr[3] != m.element)
        return header_bad(ret_why, ret_at, why, 3);
    while (i < head.len && i < 12 && edi_is_name(head.ptr[i]))
        i++;
    if (i >= head.len)
        return EDI_HEADER_MORE;
    if (head.ptr[i] == m.component && i + 1 < head.len && edi_is_digit(head.ptr[i + 1])) {
        m.repetition = head.ptr[i + 1] >= '4' ? '*' : '\0';
        i += 2;
    } else if (head.ptr[i] == m.component) {
        i++;
    }
    if (i >= head.len)
        return EDI_HEADER_MORE;
    if (head.ptr[i] != m.element && head.ptr[i] != m.component && head.ptr[i] != m.end)
        return header_bad(ret_why, ret_at, why, i);
    *ret = m;
    return EDI_HEADER_YES;
}

static enum edi_header header_una(struct str head, struct edi_marks *ret, size_t *ret_len,
                                  const char **ret_why, size_t *ret_at)
{
    struct edi_marks m = { 0 };

    if (head.len < 9)
        return EDI_HEADER_MORE;
    m.component = head.ptr[3];
    m.element = head.ptr[4];
    if (head.ptr[6] != ' ') {
        m.escape = head.ptr[6];
        m.releases = true;
    }
    if (head.ptr[7] != ' ')
        m.repetition = head.ptr[7];
    m.end = head.ptr[8];
    for (size_t i = 3; i < 9; i++)
        if (i != 5 && !may_separate(head.ptr[i]))
            return header_bad(ret_why, ret_at, "UNA has a byte that cannot separate", i);
    if (!all_differ(&m))
        return header_bad(ret_why, ret_at, "two of the separators are the same byte", 3);
    *ret = m;
    *ret_len = 9;
    return EDI_HEADER_YES;
}

/* `head` begins with `tag`, or is the start of it. */
static enum edi_header tag_begins(struct str head, const char *tag)
{
    size_t n = head.len < 3 ? head.len : 3;

    return memcmp(head.ptr, tag, n) != 0 ? EDI_HEADER_NO : n < 3 ? EDI_HEADER_MORE : EDI_HEADER_YES;
}

enum edi_header edi_read_header(enum edi_kind kind, struct str head, struct edi_marks *ret,
                                size_t *ret_len, const char **ret_why, size_t *ret_at)
{
    static const char *const tags[][4] = {
        [EDI_HL7] = { "MSH", "FHS", "BHS" }, [EDI_X12] = { "ISA" }, [EDI_EDIFACT] = { "UNA", "UNB" }
    };
    enum edi_header found = EDI_HEADER_NO;
    size_t i = 0;

    *ret_len = 0;
    if (head.len == 0)
        return EDI_HEADER_MORE;
    for (; tags[kind][i] != NULL && found != EDI_HEADER_YES; i++) {
        enum edi_header this = tag_begins(head, tags[kind][i]);

        found = this != EDI_HEADER_NO ? this : found;
    }
    if (found != EDI_HEADER_YES)
        return found;
    if (kind == EDI_HL7)
        return header_hl7(head, ret, ret_why, ret_at);
    if (kind == EDI_X12)
        return header_x12(head, ret, ret_why, ret_at);
    return i == 1 ? header_una(head, ret, ret_len, ret_why, ret_at)
                  : header_unb(head, ret, ret_why, ret_at);
}

bool edi_hl7_marks(struct str msh1, struct str msh2, struct edi_marks *ret, const char **ret_why)
{
    char header[16] = "MSH";
    size_t una, at;

    *ret_why = "MSH-1 is the field separator, one byte";
    if (msh1.len != 1)
        return false;
    *ret_why = "MSH-2 is the other separators, up to five bytes";
    if (msh2.len > 5 || memchr(msh2.len > 0 ? msh2.ptr : "", msh1.ptr[0], msh2.len) != NULL)
        return false;
    header[3] = msh1.ptr[0];
    memcpy(header + 4, msh2.ptr, msh2.len);
    header[4 + msh2.len] = msh1.ptr[0];
    return edi_read_header(EDI_HL7, str_mem(header, msh2.len + 5), ret, &una, ret_why, &at) ==
           EDI_HEADER_YES;
}

/* ---- segments ---- */

size_t edi_tag_len(enum edi_kind kind, const struct edi_marks *m, struct str segment)
{
    size_t n = 0, least = kind == EDI_X12 ? 2 : 3;

    while (n < segment.len && n < EDI_TAG_MOST && edi_is_name(segment.ptr[n]))
        n++;
    if (n < least || !edi_is_letter(segment.ptr[0]))
        return 0;
    /* EDIFACT may number nested segments behind the name: LIN:1. */
    if (n < segment.len && segment.ptr[n] != m->element &&
        (kind != EDI_EDIFACT || segment.ptr[n] != m->component))
        return 0;
    return n;
}

static bool edi_wrong(struct edi_reader *r, size_t at, const char *why)
{
    r->why = why;
    r->wrong_at = at;
    return false;
}

static bool edi_over(struct edi_reader *r, size_t at, const char *why)
{
    r->is_limit = true;
    return edi_wrong(r, at, why);
}

void edi_reader_init(struct edi_reader *r, enum edi_kind kind, struct str text)
{
    *r = (struct edi_reader){ .kind = kind, .text = text, .fresh = true };
    if (str_starts(text, STR("\xef\xbb\xbf")))
        r->at = 3;
    while (r->at < text.len && edi_is_blank(kind, text.ptr[r->at]))
        r->at++;
    r->start = r->at;
}

/* The offset of the first byte of the segment's end; the length of the text: it has none. */
static size_t edi_find_end(const struct edi_reader *r, size_t from)
{
    const struct edi_marks *m = &r->marks;

    for (size_t i = from; i < r->text.len; i++) {
        char c = r->text.ptr[i];

        if (m->end == '\0' ? c == '\r' || c == '\n' : c == m->end)
            return i;
        if (m->releases && c == m->escape)
            i++;
    }
    return r->text.len;
}

static bool pieces_fit(const struct edi_segment *s)
{
    const struct edi_marks *m = &s->marks;
    size_t n = 0;

    for (size_t i = 0; i < s->text.len && n <= EDI_PIECES_MOST; i++) {
        char c = s->text.ptr[i];

        n += c == m->element || c == m->component || c == m->repetition || c == m->sub;
    }
    return n <= EDI_PIECES_MOST;
}

/* Separators for the segment at r->at, if it is a header.  *ret_una: the length of UNA. */
static bool edi_take_header(struct edi_reader *r, size_t *ret_una)
{
    struct str head = str_from(r->text, r->at);
    struct edi_marks m = r->marks;
    const char *why = NULL;
    size_t at = 0;
    bool must = r->number == 0 || (r->kind != EDI_HL7 && r->fresh);
    enum edi_header found = EDI_HEADER_NO;

    *ret_una = 0;
    if (must || r->kind == EDI_HL7)
        found = edi_read_header(r->kind, head, &m, ret_una, &why, &at);
    r->is_cut = found == EDI_HEADER_MORE;
    if (found == EDI_HEADER_BAD)
        return edi_wrong(r, r->at + at, why);
    if (found != EDI_HEADER_YES && (must || (r->is_cut && head.len >= EDI_TAG_MOST)))
        return edi_wrong(r, r->is_cut ? r->text.len : r->at,
                         r->is_cut ? "the text ends within its header" : edi_header_rule(r->kind));
    r->marks = m;
    return true;
}

/* An interchange begins where the one before has ended, and nowhere else: what begins it says the
 * separators of what follows. */
static bool follow(struct edi_reader *r, const struct edi_segment *s)
{
    bool unb = str_is(s->tag, "UNB");

    if (r->kind == EDI_HL7)
        return true;
    if (r->una && !unb)
        return edi_wrong(r, s->at, "behind UNA stands UNB");
    if (!r->fresh && !r->una && r->kind == EDI_X12 && str_is(s->tag, "ISA"))
        return edi_wrong(r, s->at, "ISA, but the interchange before has not ended: IEA is missing");
    if (!r->fresh && !r->una && r->kind == EDI_EDIFACT && (unb || str_is(s->tag, "UNA")))
        return edi_wrong(r, s->at, "UNB, but the interchange before has not ended: UNZ is missing");
    r->fresh = r->kind == EDI_X12 ? str_is(s->tag, "IEA") : str_is(s->tag, "UNZ");
    r->una = false;
    return true;
}

static bool check_segment(struct edi_reader *r, struct edi_segment *s, size_t end)
{
    size_t tag;

    if (r->kind != EDI_HL7 && end == r->text.len) {
        r->is_cut = true;
        return edi_wrong(r, end, "the text ends within a segment: its terminator is missing");
    }
    tag = edi_tag_len(r->kind, &s->marks, s->text);
    if (tag == 0) {
        r->is_cut = end == r->text.len;
        return edi_wrong(r, s->at,
                         r->kind == EDI_X12 ? "no segment name of two or three letters and digits"
                                            : "no segment name of three letters and digits");
    }
    s->tag = str_mem(s->text.ptr, tag);
    while (tag < s->text.len && s->text.ptr[tag] != s->marks.element)
        if (s->text.ptr[tag++] != s->marks.component && !edi_is_digit(s->text.ptr[tag - 1]))
            return edi_wrong(r, s->at + tag - 1, "only numbers may stand behind a segment name");
    if (!pieces_fit(s))
        return edi_over(r, s->at, "the segment has more than 1000000 parts");
    return true;
}

static bool within_limits(struct edi_reader *r)
{
    if (r->text.len > EDI_BYTES_MOST)
        return edi_over(r, EDI_BYTES_MOST, "the text has more than 64 MiB");
    return r->number < EDI_SEGMENTS_MOST || edi_over(r, r->at, "more than 10000000 segments");
}

enum edi_found edi_next(struct edi_reader *r, struct edi_segment *ret)
{
    size_t una, end, next;

    if (r->why != NULL)
        return EDI_WRONG;
    if (r->at == r->text.len && r->number > 0)
        return EDI_END;
    if (!within_limits(r) || !edi_take_header(r, &una))
        return EDI_WRONG;
    struct edi_segment s = { .marks = r->marks, .number = r->number + 1, .at = r->at };

    end = una > 0 ? r->at + una : edi_find_end(r, r->at);
    s.text = str_mem(r->text.ptr + r->at, end - r->at);
    if (una > 0)
        s.tag = str_mem(s.text.ptr, 3);
    else if (!check_segment(r, &s, end) || !follow(r, &s))
        return EDI_WRONG;
    next = una > 0 || end == r->text.len ? end : end + 1;
    while (next < r->text.len && edi_is_blank(r->kind, r->text.ptr[next]))
        next++;
    s.end = str_mem(r->text.ptr + end, next - end);
    r->at = next;
    r->number++;
    if (una > 0) { /* UNB keeps what UNA said */
        r->fresh = false;
        r->una = true;
    }
    *ret = s;
    return EDI_SEGMENT;
}

bool edi_fail(const struct edi_reader *r, struct err *err)
{
    return err_set(err, r->is_limit ? ERR_LIMIT : ERR_PERMANENT, 0, "%s: segment %zu, byte %zu: %s",
                   edi_name(r->kind), r->number + 1, r->wrong_at + 1, r->why);
}

bool edi_check(enum edi_kind kind, struct str text, size_t segments, struct err *err)
{
    struct edi_reader r;
    struct edi_segment s;
    enum edi_found found;

    edi_reader_init(&r, kind, text);
    while ((found = edi_next(&r, &s)) == EDI_SEGMENT)
        ;
    if (found == EDI_END && r.number == segments)
        return true;
    if (found == EDI_END)
        return err_set(err, ERR_PERMANENT, 0,
                       "what comes out has %zu segments instead of %zu: a value has a separator in "
                       "it",
                       r.number, segments);
    (void)edi_fail(&r, err);
    return err_context(err, "what comes out is not right");
}

/* ---- inside of a segment ---- */

bool edi_cut(const struct edi_marks *m, char mark, struct str *rest, struct str *ret)
{
    if (rest->ptr == NULL)
        return false;
    *ret = *rest;
    for (size_t i = 0; mark != '\0' && i < rest->len; i++) {
        if (rest->ptr[i] == mark) {
            ret->len = i;
            *rest = str_mem(rest->ptr + i + 1, rest->len - i - 1);
            return true;
        }
        if (m->releases && rest->ptr[i] == m->escape)
            i++;
    }
    rest->ptr = NULL;
    return true;
}

bool edi_element(const struct edi_segment *s, size_t n, struct str *ret)
{
    bool header = edi_tag_is_hl7_header(s->tag) && s->marks.end == '\0';
    struct str rest = s->text, piece;

    if (header && n == 1) { /* the separator behind the name */
        *ret = str_mem(s->text.ptr + 3, s->text.len > 3 ? 1 : 0);
        return s->text.len > 3;
    }
    for (size_t i = header ? 1 : 0; edi_cut(&s->marks, s->marks.element, &rest, &piece); i++)
        if (i == n && n > 0) {
            *ret = piece;
            return true;
        }
    return false;
}
