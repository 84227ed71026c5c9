/* verdict.h - the result of one attempt to send a document.
 *
 * A connector judges what it saw; the engine decides what follows (retry, dead letter, breaker).
 * The most important distinction is whether the receiver may have the document.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum verdict_kind {
    VERDICT_DELIVERED,
    VERDICT_RETRY,      /* the receiver does not have the document, and may accept it later */
    VERDICT_UNREACHED,  /* as RETRY, and the endpoint was not reached: counts for the breaker */
    VERDICT_CREDENTIAL, /* as RETRY, and our credential was refused: opens the breaker at once */
    VERDICT_STRANGE,    /* as RETRY, and what is there is not the known endpoint (a folder that was
                         * replaced): holds the endpoint until it is back or accepted */
    VERDICT_DOUBT,      /* the receiver may have it: the policy of its system decides */
    VERDICT_REJECTED,   /* the receiver will never accept it */
    VERDICT_FAILED,     /* it can never be sent: an invalid name, a missing payload */
};

enum { VERDICT_MESSAGE_MOST = 500, VERDICT_ANSWER_MOST = 64 << 10 };

struct verdict {
    enum verdict_kind kind;
    const char *code;       /* of a dead letter (state.h); NULL: the usual one */
    int64_t status;         /* of the answer; 0: none */
    bool hung;              /* the call was given up: opens the breaker at once */
    int64_t retry_after_us; /* the receiver asks for this pause of the whole endpoint; 0: none */
    char message[VERDICT_MESSAGE_MOST]; /* one line for people, without secrets */
};

/* Sets v->kind and the message: one line of UTF-8, cut at a character boundary, other bytes
 * replaced.  Returns the kind; the rest of *v is unchanged. */
enum verdict_kind verdict_say(struct verdict *v, enum verdict_kind kind, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
