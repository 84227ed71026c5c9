/* hl7_reply.h - what an acknowledgement says of the message that was sent.
 *
 * MSA-1 has the code, MSA-2 the control id (MSH-10) of the message that it is about.  An
 * acknowledgement of another message says nothing about ours: it came late, and whoever takes it
 * for an answer credits one message with the end of another.
 *
 * An answer is any message with an MSA, so that the response to a query is one too.
 */
#pragma once

#include "base/str.h"
#include "core/format/edi.h"

enum hl7_reply_kind {
    HL7_REPLY_ACCEPTED,   /* AA CA */
    HL7_REPLY_ERROR,      /* AE CE */
    HL7_REPLY_REJECTED,   /* AR CR */
    HL7_REPLY_OTHER,      /* it is about another message */
    HL7_REPLY_UNREADABLE, /* no HL7, no MSA, or a code that nobody knows */
};

struct hl7_reply {
    enum hl7_reply_kind kind;
    struct str code, control; /* MSA-1 and MSA-2 as they are written; empty: there is none */
    struct str text;          /* MSA-3, or what the first ERR says */
};

/* `control`: MSH-10 of the message that was sent.  The views are of `message`. */
void hl7_reply_read(struct str message, struct str control, struct hl7_reply *ret);
