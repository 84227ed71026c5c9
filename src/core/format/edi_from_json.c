/* edi_from_json.c - the way back of edi_json.h.
 *
 * Two passes over the text: the first reads what stands beside the segments, in any order, the
 * second writes them.  The end of a segment is written when the next one begins, because only the
 * last may be without.
 */
#include <stdarg.h>
#include <stdio.h>

#include "base/auto.h"
#include "core/format/edi_json.h"
#include "core/format/edi_text.h"
#include "core/json_scan.h"

/* Lists inside of each other: items of a segment, repetitions, components, subcomponents. */
enum nest { ITEMS, REPETITIONS, COMPONENTS, SUBS, NESTS };

struct from_json {
    enum edi_kind kind;
    struct outlet out;
    struct json_scan scan;
    struct buf text;                /* a text without its JSON escapes */
    struct buf end, own_end, start; /* of all segments, of this one, before them */
    bool has_end, has_own_end;
    char separator; /* X12 */

    struct edi_marks marks;
    size_t number, from; /* of the segment: from 1, and its offset in what is written */
    size_t counts[NESTS];
    bool header, plain; /* MSH, FHS, BHS; ISA or UNA: items are plain texts */
    bool una;           /* the segment before was UNA */
    bool unb;           /* this is UNB without UNA: its syntax version says if elements repeat */
    struct err *err;
};

static bool back_wrong(struct from_json *f, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool back_wrong(struct from_json *f, const char *format, ...)
{
    char why[160];
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(why, sizeof why, format, ap);
    va_end(ap);
    if (f->number > 0)
        return err_set(f->err, ERR_PERMANENT, 0, "JSON: segment %zu, byte %lld: %s", f->number,
                       (long long)json_scan_at(&f->scan), why);
    return err_set(f->err, ERR_PERMANENT, 0, "JSON: byte %lld: %s",
                   (long long)json_scan_at(&f->scan), why);
}

static bool back_next(struct from_json *f, enum json_event *ret)
{
    *ret = json_scan_next(&f->scan);
    return *ret != JSON_WRONG || back_wrong(f, "%s", f->scan.why);
}

static bool back_unescape(struct from_json *f, struct buf *to)
{
    struct str raw = f->scan.text;
    char piece[4];

    buf_clear(to);
    if (!f->scan.escapes) {
        buf_put(to, raw);
        return true;
    }
    for (size_t i = 0; i < raw.len;) {
        size_t n = 1;

        if (raw.ptr[i] == '\\')
            n = json_scan_unescape(raw, &i, piece);
        else
            piece[0] = raw.ptr[i++];
        if (n == 0)
            return back_wrong(f, "half of a pair of surrogates");
        buf_put(to, str_mem(piece, n));
    }
    return true;
}

/* ---- beside the segments ---- */

static bool back_key(struct from_json *f, struct str key, enum json_event e)
{
    if (str_is(key, "end") && e == JSON_TEXT)
        return (f->has_end = true) && back_unescape(f, &f->end);
    if (str_is(key, "start") && e == JSON_TEXT)
        return back_unescape(f, &f->start);
    if (!back_unescape(f, &f->text))
        return false;
    if (str_is(key, "separator") && e == JSON_TEXT) {
        if (f->text.len != 1)
            return back_wrong(f, "`separator` is one byte");
        f->separator = f->text.ptr[0];
    }
    if (str_is(key, "format") && e == JSON_TEXT && !str_is(buf_view(&f->text), edi_word(f->kind)))
        return back_wrong(f, "its format is `%.20s`, not %s", f->text.ptr, edi_word(f->kind));
    return true;
}

static bool read_beside(struct from_json *f, struct str json)
{
    struct str key = { 0 };
    enum json_event e;

    json_scan_give(&f->scan, json, true);
    if (!back_next(f, &e))
        return false;
    if (e != JSON_OPEN || !json_scan_in_object(&f->scan))
        return back_wrong(f, "an object with a list `segments` is expected");
    while (back_next(f, &e) && e != JSON_END) {
        if (e == JSON_KEY && f->scan.depth == 1)
            key = f->scan.text;
        else if (e == JSON_TEXT && f->scan.depth == 1 && !back_key(f, key, e))
            return false;
    }
    return e == JSON_END;
}

/* ---- values ---- */

static bool back_raw(struct from_json *f, struct str value)
{
    if (f->kind == EDI_HL7 &&
        (memchr(value.ptr, '\r', value.len) != NULL || memchr(value.ptr, '\n', value.len) != NULL))
        return back_wrong(f, "a line break would end the segment");
    outlet_put(&f->out, value);
    return true;
}

static bool back_value(struct from_json *f, struct str value)
{
    struct err err;

    if (f->plain)
        return back_raw(f, value);
    return edi_encode(f->kind, &f->marks, value, &f->out, &err) || back_wrong(f, "%s", err.text);
}

static bool back_hex(struct from_json *f, struct str digits)
{
    if (digits.len % 2 != 0)
        return back_wrong(f, "`hex` has an odd number of digits");
    for (size_t i = 0; i < digits.len; i += 2) {
        int high = str_hex_digit(digits.ptr[i]), low = str_hex_digit(digits.ptr[i + 1]);

        if (high < 0 || low < 0)
            return back_wrong(f, "`hex` has something else than hex digits");
        outlet_putc(&f->out, (char)(high * 16 + low));
    }
    return true;
}

/* Reads the separators that the segment written so far says. */
static bool back_header(struct from_json *f, struct str header)
{
    const char *why = "it is too short";
    size_t una, at = 0;

    if (edi_read_header(f->kind, header, &f->marks, &una, &why, &at) != EDI_HEADER_YES)
        return back_wrong(f, "%.3s: %s", header.ptr, why);
    return true;
}

/* UNB and its first element are written. */
static bool back_unb(struct from_json *f)
{
    struct str text = str_from(outlet_view(&f->out), f->from);
    char header[EDI_HEADER_BYTES];
    size_t len = text.len < sizeof header ? text.len : sizeof header - 1;

    if (f->out.over)
        return true;
    memcpy(header, text.ptr, len);
    header[len] = f->marks.element;
    return back_header(f, str_mem(header, len + 1));
}

/* Writes what stands before the next value of a list. */
static bool back_separate(struct from_json *f, enum nest nest)
{
    static const char *const names[] = { "items", "repetitions", "components", "subcomponents" };
    const char marks[NESTS] = { f->marks.element, f->marks.repetition, f->marks.component,
                                f->marks.sub };
    size_t n = f->counts[nest]++;

    if (f->has_own_end && nest == ITEMS)
        return back_wrong(f, "`end` is the last item of its segment");
    if (n == 0)
        return true;
    if (nest == ITEMS && ((f->header && n <= 2) || (f->plain && f->kind == EDI_EDIFACT && n == 1)))
        return true; /* MSH-1 is the separator itself, and UNA has none */
    if (marks[nest] == '\0')
        return back_wrong(f, "the header names no separator for %s", names[nest]);
    if (nest == ITEMS && n == 2 && f->unb && !back_unb(f))
        return false;
    outlet_putc(&f->out, marks[nest]);
    return true;
}

/* {"raw": ..}, {"hex": ..} or {"end": ..} */
static bool back_object(struct from_json *f, enum nest nest)
{
    enum json_event e;
    struct str key;

    if (!back_next(f, &e))
        return false;
    key = e == JSON_KEY ? f->scan.text : (struct str){ 0 };
    bool end = str_is(key, "end") && nest == ITEMS && f->counts[ITEMS] > 0;

    if ((!end && !str_is(key, "raw") && !str_is(key, "hex")) || f->counts[ITEMS] == 0)
        return back_wrong(f,
                          "an object here has one key, `raw`, `hex` or, as the last item, `end`");
    if (!back_next(f, &e))
        return false;
    if (e != JSON_TEXT)
        return back_wrong(f, "the value of `%.*s` is a text", STR_ARG(key));
    if (!back_unescape(f, end ? &f->own_end : &f->text) || (!end && !back_separate(f, nest)))
        return false;
    if (end)
        f->has_own_end = true;
    else if (str_is(key, "raw") ? !back_raw(f, buf_view(&f->text))
                                : !back_hex(f, buf_view(&f->text)))
        return false;
    return back_next(f, &e) && (e == JSON_CLOSE || back_wrong(f, "more than one key"));
}

/* ---- segments ---- */

static bool back_tag(struct from_json *f)
{
    struct str tag = buf_view(&f->text);

    f->header = f->kind == EDI_HL7 && edi_tag_is_hl7_header(tag);
    f->plain = f->kind == EDI_X12       ? str_is(tag, "ISA")
               : f->kind == EDI_EDIFACT ? str_is(tag, "UNA")
                                        : false;
    if (f->number == 1 && !f->header && !f->plain && !str_is(tag, "UNB"))
        return back_wrong(f, "%s", edi_header_rule(f->kind));
    f->unb = f->kind == EDI_EDIFACT && str_is(tag, "UNB") && !f->una;
    if (f->plain || f->unb)
        f->marks = (struct edi_marks){ .element = f->kind == EDI_X12 ? f->separator : '+',
                                       .component = ':',
                                       .escape = '?',
                                       .releases = f->kind == EDI_EDIFACT,
                                       .end = f->kind == EDI_X12 ? f->end.ptr[0] : '\'' };
    return back_raw(f, tag);
}

/* MSH-1 and MSH-2 say the separators of all that follows. */
static bool back_msh(struct from_json *f, size_t n)
{
    struct str value = buf_view(&f->text);
    const char *why;

    if (n == 1) {
        if (value.len != 1)
            return back_wrong(f, "item 1 of a header is the field separator, one byte");
        f->marks = (struct edi_marks){ .element = value.ptr[0] };
    } else if (!edi_hl7_marks(str_mem(&f->marks.element, 1), value, &f->marks, &why)) {
        return back_wrong(f, "%s", why);
    }
    return back_raw(f, value);
}

/* A text, number, true, false or null. */
static bool back_scalar(struct from_json *f, enum nest nest, enum json_event e)
{
    size_t n = f->counts[nest];

    if (n == 0 && nest == ITEMS && e != JSON_TEXT)
        return back_wrong(f, "the first item of a segment is its name");
    if (!back_separate(f, nest))
        return false;
    if (e == JSON_TEXT) {
        if (!back_unescape(f, &f->text))
            return false;
    } else {
        buf_clear(&f->text);
        buf_put(&f->text, str_is(f->scan.text, "null") ? STR("") : f->scan.text);
    }
    if (nest == ITEMS && n == 0)
        return back_tag(f);
    if (nest == ITEMS && f->header && n <= 2)
        return back_msh(f, n);
    return back_value(f, buf_view(&f->text));
}

/* The end of the segment that was written last; `last`: of all. */
static void back_end(struct from_json *f, bool last)
{
    struct str own = buf_view(&f->own_end), end = buf_view(&f->end);
    bool una = f->una;
    bool ends = f->kind == EDI_HL7 ? own.len > 0 && (own.ptr[0] == '\r' || own.ptr[0] == '\n')
                                   : una || (own.len > 0 && own.ptr[0] == f->marks.end);

    if (f->number == 0)
        return;
    if (f->has_own_end && (ends || last)) {
        outlet_put(&f->out, own);
        return;
    }
    if (f->kind == EDI_HL7) {
        outlet_put(&f->out, end);
        return;
    }
    if (!una)
        outlet_putc(&f->out, f->marks.end);
    outlet_put(&f->out, str_from(end, 1));
}

static bool segment_done(struct from_json *f)
{
    struct str text = str_from(outlet_view(&f->out), f->from);

    f->una = false;
    if (f->counts[ITEMS] == 0)
        return back_wrong(f, "a segment without a name");
    if (f->header && f->counts[ITEMS] < 3)
        return back_wrong(f, "the header needs its separators, items 1 and 2");
    if (f->out.over)
        return true;
    if (f->plain && f->kind == EDI_X12) {
        char header[EDI_HEADER_BYTES];

        if (text.len != EDI_HEADER_BYTES - 1)
            return back_wrong(f,
                              "ISA has %zu bytes with its separators, not 105: its elements "
                              "have fixed widths",
                              text.len);
        memcpy(header, text.ptr, text.len);
        header[text.len] = f->marks.end;
        return back_header(f, str_mem(header, sizeof header));
    }
    if (f->plain) {
        f->una = true;
        return text.len == 9 ? back_header(f, text) : back_wrong(f, "UNA has six separators");
    }
    if (f->unb && f->counts[ITEMS] == 2)
        return back_unb(f);
    return true;
}

static bool back_segment(struct from_json *f)
{
    enum nest nest = ITEMS, most = f->kind == EDI_HL7 ? SUBS : COMPONENTS;
    enum json_event e;

    back_end(f, false);
    f->number++;
    f->from = outlet_view(&f->out).len;
    f->has_own_end = f->header = f->plain = f->unb = false;
    f->counts[ITEMS] = 0;
    while (back_next(f, &e)) {
        bool object = e == JSON_OPEN && json_scan_in_object(&f->scan);

        if (e == JSON_CLOSE && nest == ITEMS)
            return segment_done(f);
        if (e == JSON_CLOSE) {
            nest--;
        } else if (object) {
            if (!back_object(f, nest))
                return false;
        } else if (e == JSON_OPEN) {
            if (nest == most || f->plain || f->counts[ITEMS] == 0 ||
                (f->header && f->counts[ITEMS] <= 2))
                return back_wrong(f, "a list is not expected here");
            if (!back_separate(f, nest))
                return false;
            f->counts[++nest] = 0;
        } else if (!back_scalar(f, nest, e)) {
            return false;
        }
    }
    return false;
}

/* Goes to the list `segments` of the object. */
static bool find_segments(struct from_json *f, struct str json)
{
    enum json_event e;
    bool named = false;

    f->scan = (struct json_scan){ 0 };
    json_scan_give(&f->scan, json, true);
    while (back_next(f, &e) && e != JSON_END) {
        if (named && e == JSON_OPEN && !json_scan_in_object(&f->scan))
            return true;
        if (named)
            return back_wrong(f, "`segments` is a list");
        named = e == JSON_KEY && f->scan.depth == 1 && str_is(f->scan.text, "segments");
    }
    return e == JSON_END && back_wrong(f, "the list `segments` is missing");
}

static bool back_all(struct from_json *f, struct str json)
{
    enum json_event e;

    if (!read_beside(f, json))
        return false;
    if (!f->has_end || f->end.len == 0) {
        buf_clear(&f->end);
        buf_putc(&f->end, f->kind == EDI_HL7 ? '\r' : f->kind == EDI_X12 ? '~' : '\'');
    }
    if (!find_segments(f, json))
        return false;
    outlet_put(&f->out, buf_view(&f->start));
    while (back_next(f, &e)) {
        if (e == JSON_CLOSE) {
            back_end(f, true);
            return f->out.over || edi_check(f->kind, outlet_view(&f->out), f->number, f->err);
        }
        if (e != JSON_OPEN || json_scan_in_object(&f->scan))
            return back_wrong(f, "a segment is a list");
        if (!back_segment(f))
            return false;
        if (f->out.over) /* and so without the separators of a header */
            return true;
    }
    return false;
}

bool edi_from_json(enum edi_kind kind, struct str json, size_t most, struct buf *to,
                   struct err *err)
{
    struct from_json f = { .kind = kind,
                           .separator = '*',
                           .text = BUF_INIT(json.len),
                           .end = BUF_INIT(json.len + 1),
                           .own_end = BUF_INIT(json.len),
                           .start = BUF_INIT(json.len),
                           .err = err };

    outlet_init(&f.out, to, most);
    bool ok = back_all(&f, json);

    buf_done(&f.text);
    buf_done(&f.end);
    buf_done(&f.own_end);
    buf_done(&f.start);
    return outlet_end(&f.out, ok, err);
}
