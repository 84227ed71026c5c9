/* edi.h - the segments of HL7 v2 (ER7), X12 and UN/EDIFACT, read as views of the text.
 *
 * The three formats have one shape: segments with a name, cut into elements, repetitions and
 * components.  They differ in where the separators are said and in how one is written inside of a
 * value:
 *
 *     HL7      MSH-1 and MSH-2 (FHS, BHS alike); a segment ends with CR, LF or both; a separator in
 *              a value is an escape sequence, \F\ - so a separator byte always separates
 *     X12      fixed positions of ISA; nothing can be escaped
 *     EDIFACT  UNA, else the defaults :+.? '; a release character hides the byte behind it
 *
 * The reader checks what it needs to find segments and their names; it knows no message types,
 * counts or order of segments.  Blanks and line breaks between segments belong to the end of the
 * one before, so that text and end of all segments together are the bytes that were read.
 *
 * Limits: EDI_BYTES_MOST, EDI_SEGMENTS_MOST and, in one segment, EDI_PIECES_MOST separators.
 * Nothing is allocated.
 *
 * Not read: binary data of a stated length (X12 BIN and BDS, EDIFACT UNO) that contain separators.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

enum {
    EDI_BYTES_MOST = 64 << 20,
    EDI_SEGMENTS_MOST = 10000000,
    EDI_PIECES_MOST = 1000000,
    EDI_HEADER_BYTES = 106, /* of ISA with its end: the longest header that has separators in it */
    EDI_TAG_MOST = 3
};

enum edi_kind { EDI_HL7, EDI_X12, EDI_EDIFACT };

/* The separators; '\0': there is none. */
struct edi_marks {
    char element, component, repetition, sub;
    char escape;   /* HL7: begins and ends a sequence.  EDIFACT: hides the next byte */
    bool releases; /* `escape` hides the next byte */
    char end;      /* of a segment; '\0': CR or LF */
};

struct edi_segment {
    struct str tag;  /* its name: "PID" */
    struct str text; /* from its name to its end, without that */
    struct str end;  /* its terminator and the blanks behind it; empty: the bytes end here */
    struct edi_marks marks;
    size_t number; /* from 1 */
    size_t at;     /* offset of its first byte */
};

enum edi_found {
    EDI_WRONG,
    EDI_END, /* no segment is left */
    EDI_SEGMENT
};

struct edi_reader {
    enum edi_kind kind;
    struct str text;
    size_t at, number;
    struct edi_marks marks;
    bool fresh;   /* the next segment begins an interchange (X12, EDIFACT) */
    bool una;     /* the segment before was UNA: UNB follows */
    size_t start; /* bytes before the first segment: a byte order mark, blanks */

    /* After EDI_WRONG: */
    const char *why;
    size_t wrong_at; /* byte offset */
    bool is_limit;   /* a limit of ours, not a mistake of the text */
    bool is_cut;     /* more bytes might have helped */
};

/* "HL7", "X12", "EDIFACT". */
const char *edi_name(enum edi_kind kind);

void edi_reader_init(struct edi_reader *r, enum edi_kind kind, struct str text);
enum edi_found edi_next(struct edi_reader *r, struct edi_segment *ret);
/* Sets what went wrong, with segment and byte counted from 1; false. */
bool edi_fail(const struct edi_reader *r, struct err *err);

/* For a writer: the text is one of this format, with so many segments.  False: a value has a
 * separator in it, or a name is none. */
bool edi_check(enum edi_kind kind, struct str text, size_t segments, struct err *err);

/* ---- headers: also for those who see a text in pieces ---- */

/* The first segment of a message or an interchange, as far as the separators are said in it. */
enum edi_header {
    EDI_HEADER_NO,   /* the bytes do not begin with one */
    EDI_HEADER_MORE, /* they may; more of them are needed, at most EDI_HEADER_BYTES */
    EDI_HEADER_YES,
    EDI_HEADER_BAD /* they do, and it is wrong: *ret_why, *ret_at */
};

/* Reads the separators at the start of `head`.  *ret_len: bytes of UNA, which has no end of its
 * own; 0 for the others. */
enum edi_header edi_read_header(enum edi_kind kind, struct str head, struct edi_marks *ret,
                                size_t *ret_len, const char **ret_why, size_t *ret_at);

/* The separators that MSH-1 and MSH-2 say; false: *ret_why. */
bool edi_hl7_marks(struct str msh1, struct str msh2, struct edi_marks *ret, const char **ret_why);

/* What a text without a header breaks: "an interchange begins with ISA". */
const char *edi_header_rule(enum edi_kind kind);

/* May stand between two segments. */
bool edi_is_blank(enum edi_kind kind, char c);
/* The length of the name at the start of a segment; 0: it has none. */
size_t edi_tag_len(enum edi_kind kind, const struct edi_marks *m, struct str segment);

/* ---- inside of a segment ---- */

/* Cuts the next piece off the front of *rest at `mark`; `rest->ptr` is NULL after the last one.  A
 * text with n marks has n + 1 pieces; without a mark ('\0') it is one. */
bool edi_cut(const struct edi_marks *m, char mark, struct str *rest, struct str *ret);

/* Element `n` as it is written, from 1, as the standard counts: MSH-1 is the separator itself.
 * False: the segment has fewer. */
bool edi_element(const struct edi_segment *s, size_t n, struct str *ret);
/* MSH, FHS, BHS of HL7. */
bool edi_tag_is_hl7_header(struct str tag);
/* The element is separators itself, or stands between them by its width alone, and is not cut:
 * MSH-1 and MSH-2, all of ISA and of UNA. */
bool edi_is_plain(enum edi_kind kind, struct str tag, size_t element);
