/* edi_text.h - a value of a message as it is written, and as people read it.
 *
 *     HL7       Smith \T\ Sons   Smith & Sons      \F\ \S\ \T\ \R\ \E\ ; other sequences, such as
 *                                                   \.br\ and \X0D\, stay as they are
 *     EDIFACT   what?? ?'s it    what? 's it
 *     X12       nothing is escaped
 *
 * Both directions: decoding and encoding what it gave is the same text again, or edi_decode() says
 * that it is not.
 */
#pragma once

#include "base/buf.h"
#include "core/format/edi.h"
#include "core/format/outlet.h"

/* Appends the value as people read it.  False: encoding would not give `text` back (a lone escape
 * character, a released letter); what was appended is of no use then. */
bool edi_decode(enum edi_kind kind, const struct edi_marks *m, struct str text, struct buf *to);

/* Appends `value` with every separator escaped.  *err: it cannot be written - X12 has no escapes,
 * and in HL7 a line break would end the segment. */
bool edi_encode(enum edi_kind kind, const struct edi_marks *m, struct str value, struct outlet *to,
                struct err *err);
