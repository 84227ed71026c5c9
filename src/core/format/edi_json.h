/* edi_json.h - HL7, X12 and EDIFACT as JSON, and back to the same bytes.
 *
 *     { "format": "hl7", "end": "\r",
 *       "segments": [ ["MSH", "|", "^~\\&", [["LAB"]], [["WEST", "1.2", "ISO"]], ...],
 *                     ["PID", [], [], [["4711", "", "", "MR"], ["99"]], ...] ] }
 *
 * A segment is a list: its name, then its elements, so that item 3 of PID is PID-3.  An element is
 * a list of its repetitions, a repetition a list of its components, an empty one an empty list: the
 * shape does not depend on how much a partner filled in.  A component is a text as people read it
 * (edi_text.h), or a list of its subcomponents.  MSH-1 and MSH-2, all elements of ISA, and the
 * separators behind UNA are plain texts.
 *
 * So that what comes back is the same, byte for byte:
 *
 *     "end"         what ends a segment; of X12 "separator" besides
 *     "start"       a byte order mark or blanks before the first segment
 *     {"end": ".."} as the last item of a segment that ends otherwise, or does not end
 *     {"raw": ".."} a value whose escapes are not those we would write, as it stands
 *     {"hex": ".."} a value that is not UTF-8, as it stands
 *
 * Back, a number is taken as it is written, null is empty, and a list may be left out around a
 * single value.  What was written is read once more before it is given.
 */
#pragma once

#include "core/format/edi.h"
#include "core/format/outlet.h"

/* Both append to `to`, at most `most` bytes; when they fail it is as it was. */
bool edi_to_json(enum edi_kind kind, struct str text, size_t most, struct buf *to, struct err *err);
bool edi_from_json(enum edi_kind kind, struct str json, size_t most, struct buf *to,
                   struct err *err);

/* The word for a format: "hl7". */
const char *edi_word(enum edi_kind kind);
