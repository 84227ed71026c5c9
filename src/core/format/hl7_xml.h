/* hl7_xml.h - HL7 v2 as XML, and back to the same bytes.
 *
 *     <HL7Message end="&#13;">
 *     <MSH><MSH.1>|</MSH.1><MSH.2>^~\&amp;</MSH.2><MSH.3><MSH.3.1>LAB</MSH.3.1></MSH.3>...</MSH>
 *     <PID><PID.1/><PID.3><PID.3.1>4711</PID.3.1><PID.3.4>MR</PID.3.4></PID.3><PID.3>...</PID.3></PID>
 *     </HL7Message>
 *
 * A repeated field is a repeated element.  A component is PID.3.1 also where the field has only
 * one, so that a style sheet finds it at one place; subcomponents are PID.3.1.2.  A text is as
 * people read it (edi_text.h).  An empty element stands for every empty field and component that is
 * there.
 *
 * As in edi_json.h: the attribute `end` of the message, or of a segment that ends otherwise,
 * `start` of the message, and as="raw" or as="hex" of a value.
 *
 * Back, numbers that are left out are empty fields.  A document type declaration is refused.
 */
#pragma once

#include "core/format/outlet.h"

/* Both append to `to`, at most `most` bytes; when they fail it is as it was. */
bool hl7_to_xml(struct str text, size_t most, struct buf *to, struct err *err);
bool hl7_from_xml(struct str xml, size_t most, struct buf *to, struct err *err);
