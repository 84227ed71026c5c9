/* head.h - what came with a document besides its bytes, as it is stored: lines "Name: value\n".
 *
 * Names that begin with a colon are the gateway's own; no header field of a sender has such a name.
 *
 *     :senders: acme beta     first, if at all: the systems that the sender's key is bound to
 *     :caller: 4711           then, if at all: the node on which the sender waits for the answer of
 *                             the receiver (`reply: receiver`)
 *     :failed: why            first, and alone: the gateway could not tell the document, which is
 *                             a dead letter from the beginning
 *     :query: a=1&b=2         the query of the request
 *     Name: value             header fields, as far as they are about the document
 *
 * The binding is stored with the document, not looked up by the key: the key may be removed before
 * the document is routed again, and the same walk must give the same result.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

/* The value of the first line of this name; ptr NULL: none. */
struct str head_field(struct str head, struct str name);

/* `systems`: names, separated by blanks. */
void head_put_senders(struct buf *to, struct str systems);
/* True: the document was not sent with a bound key, or with one for this system. */
bool head_lets_send(struct str head, struct str system);
/* The systems of the binding; ptr NULL: there is none. */
struct str head_senders(struct str head);
/* The head without the binding, the caller and the failure, for what a person makes of the
 * document. */
struct str head_unbound(struct str head);

/* At most HEAD_FAILURE_MOST bytes; what is no plain text is left out of `why`. */
enum { HEAD_FAILURE_MOST = 600 };
void head_put_failure(struct buf *to, struct str why);
/* Why it is a dead letter from the beginning; ptr NULL: it is none. */
struct str head_failure(struct str head);

/* Appends the head with the caller in its place.  At most HEAD_CALLER_MOST bytes longer. */
enum { HEAD_CALLER_MOST = 32 };
void head_put_caller(struct buf *to, struct str head, int64_t node);
/* The node on which the sender waits, or waited; 0: it does not wait for the receiver. */
int64_t head_caller(struct str head);
