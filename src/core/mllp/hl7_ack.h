/* hl7_ack.h - the acknowledgement of an HL7 message, made of the message's own MSH.
 *
 *     MSH|^~\&|RECEIVER|PLACE|SENDER|PLACE|20261118074500+0000||ACK^A01^ACK|CONTROL|P|2.5
 *     MSA|AA|THEIRS
 *
 * The original mode has AA, AE and AR.  Who fills MSH-15 asks for the enhanced mode: CA, CE, CR,
 * always (AL), never (NE), on errors (ER) or on success (SU) alone; with NE or nothing there,
 * MSH-16 says the same of AA, AE, AR.
 *
 * It is written in the separators and in the character set of the message: what is copied is copied
 * byte for byte, but for control characters, which are left out.  MSA-2 is MSH-10 of the message.
 */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "core/format/edi.h"

enum hl7_verdict {
    HL7_ACCEPT, /* it is stored */
    HL7_ERROR,  /* it is not; the same message may be taken later */
    HL7_REJECT  /* ... and will never be */
};

enum { HL7_ACK_MOST = 24 << 10, HL7_CONTROL_MOST = 20 };

/* The code that the sender wants; NULL: it wants no acknowledgement of this.  msh NULL: there is no
 * MSH. */
const char *hl7_ack_code(const struct edi_segment *msh, enum hl7_verdict verdict);

struct hl7_ack {
    const char *code;    /* of hl7_ack_code() */
    struct str control;  /* MSH-10 of the acknowledgement, at most HL7_CONTROL_MOST bytes */
    int64_t at_us;       /* its time */
    const char *message; /* for people, of an error; NULL: none */
};

/* Appends it, without a frame, at most HL7_ACK_MOST bytes if MSH was kept by hl7_head.h. */
void hl7_ack_put(struct buf *to, const struct edi_segment *msh, const struct hl7_ack *ack);
