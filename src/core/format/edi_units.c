/* edi_units.c - a lexer over pieces, and above it a stack of at most three levels.
 *
 * The lexer has three phases.  BETWEEN segments it passes blanks on to where the bytes of the last
 * segment went.  OPENING a segment it gathers bytes, at most EDI_HEADER_BYTES, until it knows the
 * name (and of a header the separators): only then is known which unit they belong to.  In the BODY
 * it looks for the terminator.
 */
#include "core/format/edi_units.h"

#include <stdarg.h>
#include <stdio.h>

enum phase { BEFORE_ALL, BETWEEN, OPENING, BODY };
enum sink { NOWHERE, TO_HEAD, TO_UNIT };

/* What holds units, from the outside in.  MSH has no end: the next header ends the message. */
static const struct {
    const char *begin, *end;
    bool optional;
} levels[][EDI_UNITS_LEVELS] = {
    [EDI_HL7] = { { .begin = "FHS", .end = "FTS", .optional = true },
                  { .begin = "BHS", .end = "BTS", .optional = true },
                  { .begin = "MSH" } },
    [EDI_X12] = { { .begin = "ISA", .end = "IEA" },
                  { .begin = "GS", .end = "GE" },
                  { .begin = "ST", .end = "SE" } },
    [EDI_EDIFACT] = { { .begin = "UNB", .end = "UNZ" },
                      { .begin = "UNG", .end = "UNE", .optional = true },
                      { .begin = "UNH", .end = "UNT" } },
};

static size_t unit_level(const struct edi_units *u)
{
    return u->unit == EDI_UNIT_SEGMENTS ? (size_t)EDI_UNIT_MESSAGE : (size_t)u->unit;
}

void edi_units_init(struct edi_units *u, enum edi_kind kind, enum edi_unit unit, struct str tag)
{
    *u = (struct edi_units){
        .kind = kind,
        .unit = unit,
        .tag = tag,
        .fresh = true,
        .head = BUF_INIT(EDI_UNITS_HEAD_MOST),
        .tail = BUF_INIT(EDI_UNITS_TAIL_MOST),
    };
}

void edi_units_done(struct edi_units *u)
{
    buf_done(&u->head);
    buf_done(&u->tail);
}

void edi_units_give(struct edi_units *u, struct str piece, bool last)
{
    u->piece = piece;
    u->last = last;
}

static bool units_wrong(struct edi_units *u, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool units_wrong(struct edi_units *u, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(u->why, sizeof u->why, format, ap);
    va_end(ap);
    return false;
}

bool edi_units_fail(const struct edi_units *u, struct err *err)
{
    return err_set(err, u->is_limit ? ERR_LIMIT : ERR_PERMANENT, 0,
                   "%s: segment %lld, byte %lld: %s", edi_name(u->kind), (long long)u->segment,
                   (long long)u->segment_at + 1, u->why);
}

/* ---- heads and tails ---- */

static void cut_head(struct edi_units *u, size_t len)
{
    if (u->head.len > len) {
        u->tail_is_old = true;
        u->head.len = len;
        u->head.ptr[len] = '\0';
    }
}

static bool keep_head(struct edi_units *u, struct str bytes)
{
    struct err err;

    u->tail_is_old = true;
    if (buf_append(&u->head, bytes, &err))
        return true;
    u->is_limit = true;
    return units_wrong(u, "more than %d bytes stand before the first unit", EDI_UNITS_HEAD_MOST);
}

/* The end of one level: IEA*1*000000001~ with the reference of its header. */
static void put_end(struct edi_units *u, size_t level, struct str reference, struct str end)
{
    char element = u->marks.element;

    buf_puts(&u->tail, levels[u->kind][level].end);
    buf_put(&u->tail, str_mem((char[]){ element, '1', element }, 3));
    buf_put(&u->tail, reference);
    buf_put(&u->tail, end);
}

/* The ends of what the head begins, from the inside out. */
static bool make_tail(struct edi_units *u)
{
    static const size_t places[][2] = { [EDI_X12] = { 13, 6 }, [EDI_EDIFACT] = { 5, 5 } };
    struct str references[2] = { 0 }, end = { 0 };
    struct edi_reader r;
    struct edi_segment s;

    if (u->kind == EDI_HL7 || !u->tail_is_old)
        return true;
    u->tail_is_old = false;
    buf_clear(&u->tail);
    edi_reader_init(&r, u->kind, buf_view(&u->head));
    while (edi_next(&r, &s) == EDI_SEGMENT)
        for (size_t i = 0; i < 2; i++)
            if (str_is(s.tag, levels[u->kind][i].begin)) {
                (void)edi_element(&s, places[u->kind][i], &references[i]);
                end = s.end;
            }
    for (size_t i = 2; i-- > 0;)
        if (i < unit_level(u) && u->level_open[i])
            put_end(u, i, references[i], end);
    return r.why == NULL || units_wrong(u, "in what stands before it: %s", r.why);
}

/* ---- levels ---- */

static void units_close(struct edi_units *u)
{
    u->to_close = u->to_close || u->in_unit;
    u->in_unit = false;
}

static void units_begin(struct edi_units *u)
{
    u->to_begin = u->in_unit = true;
    u->units++;
    u->units_of_message++;
    u->sink = TO_UNIT;
}

/* HL7: a message has no end of its own. */
static bool end_message(struct edi_units *u)
{
    if (u->kind != EDI_HL7 || !u->in_message)
        return true;
    u->in_message = u->level_open[EDI_UNIT_MESSAGE] = false;
    if (u->unit == EDI_UNIT_SEGMENTS && u->units_of_message == 0)
        return units_wrong(u, "the message that begins at byte %lld has no segment %.*s",
                           (long long)u->message_at + 1, STR_ARG(u->tag));
    units_close(u);
    return true;
}

static bool begin_hl7(struct edi_units *u, size_t level)
{
    if (level < EDI_UNIT_MESSAGE) {
        u->sink = NOWHERE;
        return true;
    }
    u->in_message = true;
    u->units_of_message = 0;
    u->message_at = u->segment_at;
    cut_head(u, 0);
    if (u->unit == EDI_UNIT_SEGMENTS)
        u->sink = TO_HEAD;
    else
        units_begin(u);
    return true;
}

static bool begin_level(struct edi_units *u, size_t level, struct str tag)
{
    if (!end_message(u))
        return false;
    for (size_t i = level; i < EDI_UNITS_LEVELS; i++)
        if (u->level_open[i])
            return units_wrong(u, "%.*s, but %s before it has not ended: %s is missing",
                               STR_ARG(tag), levels[u->kind][i].begin, levels[u->kind][i].end);
    for (size_t i = 0; i < level; i++)
        if (!u->level_open[i] && !levels[u->kind][i].optional)
            return units_wrong(u, "%.*s without %s before it", STR_ARG(tag),
                               levels[u->kind][i].begin);
    /* A level that may be left out, and is the unit: its bytes would belong to none. */
    if (u->kind != EDI_HL7 && level > unit_level(u) && !u->level_open[unit_level(u)])
        return units_wrong(u, "%.*s stands outside of %s and its end", STR_ARG(tag),
                           levels[u->kind][unit_level(u)].begin);
    u->level_open[level] = true;
    if (u->kind == EDI_HL7)
        return begin_hl7(u, level);
    if (level > unit_level(u)) {
        u->sink = TO_UNIT;
    } else if (level < unit_level(u)) {
        units_close(u);
        cut_head(u, u->una ? u->head.len : u->head_len[level]);
        u->sink = TO_HEAD;
    } else if (u->una) { /* the unit began with UNA */
        u->sink = TO_UNIT;
    } else {
        units_close(u);
        units_begin(u);
    }
    return true;
}

static bool end_level(struct edi_units *u, size_t level, struct str tag)
{
    if (!end_message(u))
        return false;
    for (size_t i = level + 1; i < EDI_UNITS_LEVELS; i++)
        if (u->level_open[i])
            return units_wrong(u, "%.*s, but %s before it has not ended: %s is missing",
                               STR_ARG(tag), levels[u->kind][i].begin, levels[u->kind][i].end);
    if (!u->level_open[level])
        return units_wrong(u, "%.*s without %s before it", STR_ARG(tag),
                           levels[u->kind][level].begin);
    u->level_open[level] = false;
    if (u->kind == EDI_HL7 || level < unit_level(u)) {
        units_close(u);
        u->sink = NOWHERE;
        if (level > 0)
            cut_head(u, u->head_len[level]);
    }
    return true;
}

/* UNA stands before its UNB and belongs to it. */
static bool begin_una(struct edi_units *u)
{
    if (u->level_open[0])
        return units_wrong(u, "UNA, but UNB before it has not ended: UNZ is missing");
    units_close(u);
    cut_head(u, 0);
    if (u->unit == EDI_UNIT_INTERCHANGE)
        units_begin(u);
    else
        u->sink = TO_HEAD;
    return true;
}

static bool other_segment(struct edi_units *u, struct str tag)
{
    size_t level = unit_level(u);

    if (u->kind == EDI_HL7 ? u->in_message : u->in_unit && u->level_open[level]) {
        if (u->unit == EDI_UNIT_SEGMENTS && str_eq(tag, u->tag)) {
            units_close(u);
            units_begin(u);
        }
        return true;
    }
    return units_wrong(u, "segment %.*s stands outside of %s%s", STR_ARG(tag),
                       levels[u->kind][level].begin, u->kind == EDI_HL7 ? "" : " and its end");
}

static bool begin_segment(struct edi_units *u, struct str tag)
{
    if (u->kind == EDI_EDIFACT && str_is(tag, "UNA"))
        return begin_una(u);
    for (size_t i = 0; i < EDI_UNITS_LEVELS; i++) {
        if (str_is(tag, levels[u->kind][i].begin))
            return begin_level(u, i, tag);
        if (levels[u->kind][i].end != NULL && str_is(tag, levels[u->kind][i].end))
            return end_level(u, i, tag);
    }
    return other_segment(u, tag);
}

/* The head in front of the next level ends with this segment. */
static void mark_head(struct edi_units *u)
{
    for (size_t i = 1; i < EDI_UNITS_LEVELS; i++)
        if (u->sink == TO_HEAD && u->level_open[i - 1] && !u->level_open[i])
            u->head_len[i] = u->head.len;
}

static bool units_end(struct edi_units *u)
{
    if (!end_message(u))
        return false;
    for (size_t i = 0; i < EDI_UNITS_LEVELS; i++)
        if (u->level_open[i])
            return units_wrong(u, "the text ends within %s: %s is missing",
                               levels[u->kind][i].begin, levels[u->kind][i].end);
    units_close(u);
    return true;
}

/* ---- the lexer ---- */

static bool is_end(const struct edi_units *u, char c)
{
    return u->marks.end == '\0' ? c == '\r' || c == '\n' : c == u->marks.end;
}

/* Takes the first n bytes off the piece. */
static struct str take_bytes(struct edi_units *u, size_t n)
{
    struct str bytes = str_mem(u->piece.ptr, n);

    u->piece = str_from(u->piece, n);
    u->at += (int64_t)n;
    return bytes;
}

/* Passes bytes of the current segment on; true: they are an event. */
static bool units_pass(struct edi_units *u, struct str bytes)
{
    u->bytes = bytes;
    if (u->sink == TO_HEAD)
        (void)keep_head(u, bytes);
    return u->sink == TO_UNIT && bytes.len > 0;
}

/* What is known of the segment whose first bytes are in `open`. */
static enum edi_header know(struct edi_units *u, size_t *ret_una)
{
    struct str open = str_mem(u->open, u->open_len);
    enum edi_header found = EDI_HEADER_NO;
    bool must = u->segment == 1 || (u->kind != EDI_HL7 && u->fresh);
    const char *why = NULL;
    size_t at = 0;

    *ret_una = 0;
    if (must || u->kind == EDI_HL7)
        found = edi_read_header(u->kind, open, &u->marks, ret_una, &why, &at);
    if (found == EDI_HEADER_BAD) {
        u->segment_at += (int64_t)at;
        (void)units_wrong(u, "%s", why);
    } else if (found == EDI_HEADER_NO && must) {
        (void)units_wrong(u, "%s", edi_header_rule(u->kind));
        return EDI_HEADER_BAD;
    }
    if (found != EDI_HEADER_NO)
        return found;
    return u->open_len > EDI_TAG_MOST || is_end(u, u->open[u->open_len - 1]) ? EDI_HEADER_YES
                                                                             : EDI_HEADER_MORE;
}

/* The name is known: decides where the segment goes, and what happens before. */
static bool opened(struct edi_units *u, size_t una)
{
    size_t len = u->open_len;
    bool ended = una == 0 && len > 0 && is_end(u, u->open[len - 1]);
    struct str text = str_mem(u->open, ended ? len - 1 : len);
    size_t tag = una > 0 ? 3 : edi_tag_len(u->kind, &u->marks, text);

    if (tag == 0)
        return units_wrong(u, "no segment name of %s letters and digits",
                           u->kind == EDI_X12 ? "two or three" : "three");
    struct str name = str_mem(u->open, tag);

    if (!begin_segment(u, name))
        return false;
    u->una = una > 0;
    u->fresh = u->kind == EDI_X12 ? str_is(name, "IEA") : str_is(name, "UNZ");
    u->phase = ended || una > 0 ? BETWEEN : BODY;
    u->hidden = false;
    u->to_open = true;
    return true;
}

static void start_segment(struct edi_units *u)
{
    mark_head(u);
    u->phase = OPENING;
    u->open_len = 0;
    u->segment++;
    u->segment_at = u->at;
}

/* Blanks and, before all, a byte order mark; true: they are an event. */
static bool units_skip_blanks(struct edi_units *u)
{
    size_t n = 0;

    while (n < u->piece.len && (edi_is_blank(u->kind, u->piece.ptr[n]) ||
                                (u->phase == BEFORE_ALL && u->at + (int64_t)n < 3 &&
                                 u->piece.ptr[n] == "\xef\xbb\xbf"[u->at + (int64_t)n])))
        n++;
    bool event = units_pass(u, take_bytes(u, n));

    if (u->piece.len > 0)
        start_segment(u);
    return event;
}

static bool open_segment(struct edi_units *u)
{
    while (u->piece.len > 0) {
        size_t una;

        u->open[u->open_len++] = *take_bytes(u, 1).ptr;
        enum edi_header found = know(u, &una);

        if (found == EDI_HEADER_BAD)
            return false;
        if (found == EDI_HEADER_YES)
            return opened(u, una);
        if (u->open_len == sizeof u->open)
            return units_wrong(u, "the header has no end");
    }
    return true;
}

/* Bytes up to the terminator; true: they are an event. */
static bool units_read_body(struct edi_units *u)
{
    size_t n = 0;
    bool ended = false;

    for (; n < u->piece.len && !ended; n++) {
        char c = u->piece.ptr[n];

        ended = !u->hidden && is_end(u, c);
        u->hidden = !u->hidden && u->marks.releases && c == u->marks.escape;
    }
    if (ended)
        u->phase = BETWEEN;
    return units_pass(u, take_bytes(u, n));
}

/* All bytes have come. */
static enum edi_units_event finish(struct edi_units *u)
{
    bool cut = u->phase == OPENING || (u->phase == BODY && u->kind != EDI_HL7);

    if (u->phase == BEFORE_ALL) {
        u->segment = 1;
        u->segment_at = u->at;
        (void)units_wrong(u, "there is nothing");
        return EDI_UNITS_WRONG;
    }
    bool bare = u->kind == EDI_HL7 && u->open_len == EDI_TAG_MOST &&
                !edi_tag_is_hl7_header(str_mem(u->open, EDI_TAG_MOST));

    if (cut && !(bare && opened(u, 0))) { /* a name alone is a segment, if it is no header */
        if (u->why[0] == '\0')
            (void)units_wrong(u, "the text ends within this segment");
        return EDI_UNITS_WRONG;
    }
    if (u->to_open || u->to_close || u->to_begin)
        return EDI_UNITS_MORE; /* by the last segment; it is asked again */
    if (!units_end(u))
        return EDI_UNITS_WRONG;
    return u->to_close ? EDI_UNITS_MORE : EDI_UNITS_END;
}

/* An event that waits, or MORE. */
static enum edi_units_event waiting(struct edi_units *u)
{
    if (u->to_close) {
        u->to_close = false;
        return EDI_UNITS_CLOSE;
    }
    if (u->to_begin) {
        u->to_begin = false;
        return make_tail(u) ? EDI_UNITS_BEGIN : EDI_UNITS_WRONG;
    }
    if (u->to_open) {
        u->to_open = false;
        if (units_pass(u, str_mem(u->open, u->open_len)))
            return EDI_UNITS_BYTES;
    }
    return EDI_UNITS_MORE;
}

enum edi_units_event edi_units_next(struct edi_units *u)
{
    while (u->why[0] == '\0') {
        enum edi_units_event e = waiting(u);

        if (e != EDI_UNITS_MORE)
            return e;
        if (u->piece.len == 0 && !u->last)
            return EDI_UNITS_MORE;
        if (u->piece.len == 0) {
            e = finish(u);
            if (e != EDI_UNITS_MORE)
                return e;
        } else if (u->phase == OPENING) {
            (void)open_segment(u);
        } else if (u->phase == BODY ? units_read_body(u) : units_skip_blanks(u)) {
            return EDI_UNITS_BYTES;
        }
    }
    return EDI_UNITS_WRONG;
}
