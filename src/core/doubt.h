/* doubt.h - what follows from what is known of a delivery, by the policy of its system.
 *
 * Three kinds of knowledge: the verdict of an attempt; an intent found in the row of a delivery
 * that was claimed anew, so that it was perhaps sent and nobody knows what came of it; the
 * receiver's word whether it has it.  Only what may have arrived is a matter of policy:
 *   resend   send it again: it may arrive twice, never not at all
 *   hold     nobody sends it before a person has decided
 *   probe    ask the receiver; send it again, under the same id, only if it says it has nothing
 *   assume   it counts as delivered, marked as unconfirmed
 *
 * Pure: facts in, answer out; when something happens later is retry.h's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/verdict.h"

enum doubt_policy { DOUBT_RESEND, DOUBT_HOLD, DOUBT_PROBE, DOUBT_ASSUME };

enum doubt_source {
    DOUBT_SENT,   /* an attempt ended, with a verdict */
    DOUBT_INTENT, /* an intent was found: no verdict */
    DOUBT_ASKED,  /* the receiver was asked; DELIVERED: it has it, RETRY: it has not, UNREACHED or
                   * CREDENTIAL: nobody could be asked, else it is unclear */
};

enum { DOUBT_ASKED_MOST = 5 }; /* unclear answers, until a person must look */

struct doubt_facts {
    enum doubt_policy policy;
    enum doubt_source source;
    enum verdict_kind verdict;
    bool answered;     /* the verdict is about an answer: the endpoint was reached */
    bool breaker_open; /* after this verdict was counted */
    bool over;         /* the time for trying is over (retry_is_over) */
    int64_t asked;     /* unclear answers before this one */
};

enum doubt_next {
    DOUBT_DELIVERED,
    DOUBT_UNCONFIRMED, /* it counts as delivered, and says that nobody knows */
    DOUBT_SEND_NOW,    /* again, with the slot that it has */
    DOUBT_SEND_LATER,  /* again, after a back-off; dead when that would be too late */
    DOUBT_WAIT,        /* ready: the breaker is open, nothing is used up */
    DOUBT_ASK_NOW,     /* with the slot that it has */
    DOUBT_ASK_LATER,   /* after a back-off */
    DOUBT_IN_DOUBT,    /* a person decides */
    DOUBT_DEAD,
};

enum doubt_next doubt_next(const struct doubt_facts *f);

/* Nothing is known yet: the row keeps its intent, so that whoever claims it next asks. */
bool doubt_keeps_intent(const struct doubt_facts *f, enum doubt_next next);
