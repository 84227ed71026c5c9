/* verdict.h - what came of one attempt to send a document.
 *
 * A connector judges what it saw; what follows from it (retry, dead letter, breaker) is the
 * engine's.  The difference that matters most: whether the receiver may have it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum verdict_kind {
    VERDICT_DELIVERED,
    VERDICT_RETRY,      /* the receiver does not have it, and may take it later */
    VERDICT_UNREACHED,  /* the same, and the endpoint was not reached at all: counts for the breaker
                         */
    VERDICT_CREDENTIAL, /* the same, and our credential was refused: opens the breaker at once */
    VERDICT_DOUBT,      /* it may have it: the policy of its system decides */
    VERDICT_REJECTED,   /* it will never take it */
    VERDICT_FAILED,     /* it can never be sent: a name that cannot be made, bytes that are gone */
};

enum { VERDICT_MESSAGE_MOST = 500, VERDICT_ANSWER_MOST = 64 << 10 };

struct verdict {
    enum verdict_kind kind;
    const char *code; /* of a dead letter (state.h), when there is a better one than the usual */
    int64_t status;   /* of the answer; 0: none */
    int64_t retry_after_us; /* the receiver asks for this pause, for everything; 0: it does not */
    char message[VERDICT_MESSAGE_MOST]; /* one line for people, without secrets */
};

/* Fill in the message as printf does: UTF-8 on one line, cut at a character, what does not
 * fit that replaced.  Returns v->kind = kind; the rest of *v stays. */
enum verdict_kind verdict_say(struct verdict *v, enum verdict_kind kind, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
