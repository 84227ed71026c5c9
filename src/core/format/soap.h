/* soap.h - SOAP 1.1 and 1.2: envelopes around documents, and what an answer says.
 *
 * expat reads, with namespaces: the prefix of an envelope does not matter.  Refused are a document
 * type declaration, an encoding that is not UTF-8, and more than SOAP_DEPTH elements in each other.
 * No text of more than SOAP_TEXT bytes is kept.
 *
 * Threads: pure; from any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

enum { SOAP_DEPTH = 512, SOAP_TEXT = 200 };

enum soap_version { SOAP_NONE, SOAP_1_1, SOAP_1_2 };

/* ---- documents ---- */

struct soap_document {
    enum soap_version envelope; /* SOAP_NONE: it is no envelope */
    size_t from;                /* where its outermost element begins: behind declarations */
};

/* Looks at a document, or at its beginning; `whole`: it is all of it, which then is checked to be
 * well-formed.  ERR_PERMANENT: it cannot be in an envelope; the text says why. */
bool soap_look(struct str bytes, bool whole, struct soap_document *ret, struct err *err);

/* What stands before and after the content of an envelope. */
struct str soap_before(enum soap_version version);
struct str soap_after(enum soap_version version);
struct str soap_content_type(enum soap_version version);

/* ---- answers ---- */

enum soap_said {
    SOAP_NO_ENVELOPE, /* something else */
    SOAP_ANSWER,      /* an envelope without a fault */
    SOAP_FAULT
};

enum soap_side {
    SOAP_OTHER_SIDE, /* a code of the receiver's own */
    SOAP_SENDER,     /* what was sent is wrong: Client, Sender, MustUnderstand, VersionMismatch */
    SOAP_RECEIVER    /* the receiver cannot now: Server, Receiver */
};

struct soap_fault {
    enum soap_side side;
    char code[SOAP_TEXT + 1];   /* without its prefix */
    char reason[SOAP_TEXT + 1]; /* for people, cut */
};

/* An answer, or the beginning of one.  *ret is set for SOAP_FAULT. */
enum soap_said soap_read(struct str answer, struct soap_fault *ret);

/* Appends a fault as a whole envelope.  `code`: our own word for it; `message`: a sentence. */
void soap_put_fault(struct buf *to, enum soap_version version, enum soap_side side,
                    const char *code, const char *message);
