/* edi_units.h - the messages, transactions or interchanges of a text, found piece by piece.
 *
 * For whoever cuts a large text into documents: it comes in pieces of any size, and goes out as
 * units, each of them as bytes of the text, never copied.  What a unit needs around it to be read
 * alone stands in `head` and `tail`: a transaction of X12 needs ISA and GS, which say its
 * separators and parties, and their ends.
 *
 *     kind     unit             bytes                head                tail
 *     HL7      MESSAGE          MSH to the next      -                   -
 *     HL7      SEGMENTS         a segment `tag` to   MSH to the first    -
 *                               the next one         such segment
 *     X12      INTERCHANGE      ISA to IEA           -                   -
 *     X12      GROUP            GS to GE             ISA                 IEA
 *     X12      MESSAGE          ST to SE             ISA GS              GE IEA
 *     EDIFACT  INTERCHANGE      UNA UNB to UNZ       -                   -
 *     EDIFACT  GROUP            UNG to UNE           UNA UNB             UNZ
 *     EDIFACT  MESSAGE          UNH to UNT           UNA UNB (UNG)       (UNE) UNZ
 *
 * Tails count one, and have the control reference of their head.  FHS, BHS, BTS and FTS of HL7 are
 * left out.
 *
 *     edi_units_init(&u, EDI_X12, EDI_UNIT_MESSAGE, STR(""));
 *     edi_units_give(&u, piece, last);
 *     while ((e = edi_units_next(&u)) > EDI_UNITS_END) ...   EDI_UNITS_MORE: give the next piece
 *
 * Everything is checked that holds the units together: names of segments, that what begins also
 * ends, and that no segment stands outside of a unit.  Counts and references are not: partners get
 * them wrong, and the bytes are theirs.
 *
 * Limits: EDI_UNITS_HEAD_MOST bytes of head; nothing else is kept.  Every unit repeats its head:
 * who writes them bounds what comes out, not only what comes in.
 */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "core/format/edi.h"

enum {
    EDI_UNITS_HEAD_MOST = 64 << 10,
    EDI_UNITS_TAIL_MOST = 3 * EDI_UNITS_HEAD_MOST + 64, /* two references, and two ends */
    EDI_UNITS_LEVELS = 3
};

enum edi_unit { EDI_UNIT_INTERCHANGE, EDI_UNIT_GROUP, EDI_UNIT_MESSAGE, EDI_UNIT_SEGMENTS };

enum edi_units_event {
    EDI_UNITS_WRONG, /* edi_units_fail() says what */
    EDI_UNITS_MORE,  /* the piece is used up */
    EDI_UNITS_END,
    EDI_UNITS_BEGIN, /* of a unit: `head` and `tail` are those of this unit, until it closes */
    EDI_UNITS_BYTES, /* more bytes of it: `bytes`, lent until the next call */
    EDI_UNITS_CLOSE
};

struct edi_units {
    enum edi_kind kind;
    enum edi_unit unit;
    struct str tag; /* EDI_UNIT_SEGMENTS: its units begin with this segment */

    struct str piece; /* the rest of it */
    bool last;
    int64_t at;                  /* offset of the first byte of `piece` */
    int64_t segment_at, segment; /* offset and number, from 1, of the current segment */

    int phase; /* see edi_units.c */
    char open[EDI_HEADER_BYTES];
    size_t open_len;
    struct edi_marks marks;
    bool hidden; /* the next byte stands behind a release character */
    bool fresh;  /* the next segment begins an interchange */
    bool una;    /* the segment before was UNA */
    int sink;    /* where the bytes of the segment go */

    bool level_open[EDI_UNITS_LEVELS];
    size_t head_len[EDI_UNITS_LEVELS]; /* of the head in front of that level */
    bool in_unit, in_message;
    bool to_close, to_begin, to_open; /* events that wait */
    int64_t units_of_message, message_at;

    struct buf head, tail;
    bool tail_is_old; /* the head has changed since it was made */
    struct str bytes;
    int64_t units; /* begun so far */

    char why[160];
    bool is_limit;
};

/* `tag` is lent; it is for EDI_UNIT_SEGMENTS only. */
void edi_units_init(struct edi_units *u, enum edi_kind kind, enum edi_unit unit, struct str tag);
void edi_units_done(struct edi_units *u); /* safe on a zeroed one */

/* The next piece, lent until EDI_UNITS_MORE; `last`: none follows. */
void edi_units_give(struct edi_units *u, struct str piece, bool last);
enum edi_units_event edi_units_next(struct edi_units *u);
/* Sets what went wrong, with segment and byte counted from 1; false. */
bool edi_units_fail(const struct edi_units *u, struct err *err);
