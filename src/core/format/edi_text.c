#include "core/format/edi_text.h"

enum { SEQUENCE_MOST = 80 }; /* bytes of an HL7 escape sequence between its escape characters */

/* The separator that \F\ and so on stand for; '\0': another sequence. */
static char hl7_mark(const struct edi_marks *m, char letter)
{
    switch (letter) {
    case 'F':
        return m->element;
    case 'S':
        return m->component;
    case 'R':
        return m->repetition;
    case 'T':
        return m->sub;
    case 'E':
        return m->escape;
    default:
        return '\0';
    }
}

static char hl7_letter(const struct edi_marks *m, char c)
{
    return c == '\0'            ? '\0'
           : c == m->element    ? 'F'
           : c == m->component  ? 'S'
           : c == m->repetition ? 'R'
           : c == m->sub        ? 'T'
           : c == m->escape     ? 'E'
                                : '\0';
}

/* The length of a sequence such as \.br\ or \X0D\ at the start of `text`; 0: there is none. */
static size_t hl7_sequence(const struct edi_marks *m, struct str text)
{
    if (text.len < 3 || memchr("HNXZCM.", text.ptr[1], 7) == NULL)
        return 0;
    for (size_t i = 2; i < text.len && i < SEQUENCE_MOST; i++) {
        if (text.ptr[i] == m->escape)
            return i + 1;
        if (hl7_letter(m, text.ptr[i]) != '\0')
            return 0;
    }
    return 0;
}

static bool hl7_decode(const struct edi_marks *m, struct str text, struct buf *to)
{
    for (size_t i = 0; i < text.len;) {
        struct str rest = str_from(text, i);
        size_t kept = rest.ptr[0] == m->escape ? hl7_sequence(m, rest) : 1;
        char mark;

        if (kept == 0) {
            mark = rest.len >= 3 && rest.ptr[2] == m->escape ? hl7_mark(m, rest.ptr[1]) : '\0';
            if (mark == '\0')
                return false;
            buf_putc(to, mark);
            i += 3;
        } else {
            buf_put(to, str_mem(rest.ptr, kept));
            i += kept;
        }
    }
    return true;
}

static bool hl7_encode(const struct edi_marks *m, struct str value, struct outlet *to,
                       struct err *err)
{
    for (size_t i = 0; i < value.len;) {
        struct str rest = str_from(value, i);
        char letter = hl7_letter(m, rest.ptr[0]);
        size_t kept = letter == 'E' ? hl7_sequence(m, rest) : letter == '\0' ? 1 : 0;

        if (rest.ptr[0] == '\r' || rest.ptr[0] == '\n')
            return err_set(err, ERR_PERMANENT, 0,
                           "a line break would end the segment; write it as %c.br%c or %cX0D%c",
                           m->escape, m->escape, m->escape, m->escape);
        if (kept == 0 && m->escape == '\0')
            return err_set(err, ERR_PERMANENT, 0,
                           "it contains the separator `%c`, and MSH-2 names no escape character",
                           rest.ptr[0]);
        if (kept == 0)
            outlet_put(to, str_mem((char[]){ m->escape, letter, m->escape }, 3));
        else
            outlet_put(to, str_mem(rest.ptr, kept));
        i += kept > 0 ? kept : 1;
    }
    return true;
}

static bool is_mark(const struct edi_marks *m, char c)
{
    return c != '\0' && (c == m->element || c == m->component || c == m->repetition ||
                         c == m->end || (m->releases && c == m->escape));
}

static bool edifact_decode(const struct edi_marks *m, struct str text, struct buf *to)
{
    for (size_t i = 0; i < text.len; i++) {
        if (m->releases && text.ptr[i] == m->escape) {
            i++;
            if (i == text.len || !is_mark(m, text.ptr[i]))
                return false;
        }
        buf_putc(to, text.ptr[i]);
    }
    return true;
}

static bool plain_encode(enum edi_kind kind, const struct edi_marks *m, struct str value,
                         struct outlet *to, struct err *err)
{
    for (size_t i = 0; i < value.len; i++) {
        if (is_mark(m, value.ptr[i])) {
            if (!m->releases)
                return err_set(err, ERR_PERMANENT, 0,
                               "it contains the separator `%c`, which %s cannot escape here",
                               value.ptr[i], edi_name(kind));
            outlet_putc(to, m->escape);
        }
        outlet_putc(to, value.ptr[i]);
    }
    return true;
}

/* After decoding: a separator that was escaped and begins a sequence with what follows would be
 * taken for that sequence. */
static bool hl7_gives_back(const struct edi_marks *m, struct str text, struct str value)
{
    size_t at = 0;

    for (size_t i = 0; i < value.len;) {
        struct str rest = str_from(value, i);
        char letter = hl7_letter(m, rest.ptr[0]);
        size_t kept = letter == 'E' ? hl7_sequence(m, rest) : letter == '\0' ? 1 : 0;
        size_t written = kept > 0 ? kept : 3;

        if (text.len - at < written)
            return false;
        if (kept > 0 ? memcmp(text.ptr + at, rest.ptr, kept) != 0
                     : text.ptr[at] != m->escape || text.ptr[at + 1] != letter)
            return false;
        at += written;
        i += kept > 0 ? kept : 1;
    }
    return at == text.len;
}

bool edi_decode(enum edi_kind kind, const struct edi_marks *m, struct str text, struct buf *to)
{
    size_t before = to->len;

    if (kind == EDI_HL7 && m->escape != '\0' && memchr(text.ptr, m->escape, text.len) != NULL)
        return hl7_decode(m, text, to) && hl7_gives_back(m, text, str_from(buf_view(to), before));
    if (kind == EDI_EDIFACT)
        return edifact_decode(m, text, to);
    buf_put(to, text);
    return true;
}

bool edi_encode(enum edi_kind kind, const struct edi_marks *m, struct str value, struct outlet *to,
                struct err *err)
{
    return kind == EDI_HL7 ? hl7_encode(m, value, to, err) : plain_encode(kind, m, value, to, err);
}
