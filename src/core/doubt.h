/* doubt.h - the next step of a delivery, by the policy of its system.
 *
 * There are three sources of knowledge: the verdict of an attempt; an intent in the row of a
 * delivery that was claimed again, which means that it was perhaps sent and the result is unknown;
 * the receiver's answer whether it has the document.  The policy decides only about deliveries
 * that may have arrived:
 *   resend   send it again: at least once, perhaps twice
 *   hold     it is not sent before a person has decided
 *   probe    query the receiver; send again, under the same id, only if it does not have it
 *   assume   it counts as delivered, marked as unconfirmed
 *
 * Pure: facts in, decision out.  The length of a back-off is up to retry.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/verdict.h"

enum doubt_policy { DOUBT_RESEND, DOUBT_HOLD, DOUBT_PROBE, DOUBT_ASSUME };

enum doubt_source {
    DOUBT_SENT,   /* an attempt ended, with a verdict */
    DOUBT_INTENT, /* an intent was found; there is no verdict */
    DOUBT_ASKED,  /* the receiver was queried; DELIVERED: it has it, RETRY: it does not, UNREACHED
                   * or CREDENTIAL: it could not be queried, DOUBT: unclear, else: never possible */
};

enum { DOUBT_ASKED_MOST = 5 }; /* unclear answers before a person must decide */

struct doubt_facts {
    enum doubt_policy policy;
    enum doubt_source source;
    enum verdict_kind verdict;
    bool answered;     /* the endpoint answered: it was reached */
    bool breaker_open; /* with this verdict counted */
    bool over;         /* no more tries (retry_is_over) */
    int64_t asked;     /* unclear answers before this one */
};

enum doubt_next {
    DOUBT_DELIVERED,
    DOUBT_UNCONFIRMED, /* counts as delivered, marked as unconfirmed */
    DOUBT_SEND_NOW,    /* again, with the slot it holds */
    DOUBT_SEND_LATER,  /* again, after a back-off; dead if that is too late */
    DOUBT_WAIT,        /* ready: the breaker is open, no attempt is used up */
    DOUBT_ASK_NOW,     /* query the receiver, with the slot it holds */
    DOUBT_ASK_LATER,   /* query the receiver after a back-off */
    DOUBT_IN_DOUBT,    /* a person decides */
    DOUBT_DEAD,
};

enum doubt_next doubt_next(const struct doubt_facts *f);

/* The result is still unknown: the row keeps its intent, so that the next node that claims the
 * delivery queries the receiver. */
bool doubt_keeps_intent(const struct doubt_facts *f, enum doubt_next next);
