#include "core/doubt.h"

#include "base/require.h"

/* The delivery did not arrive.  While the breaker is open it waits and uses up no attempt. */
static enum doubt_next after_unreached(bool breaker_open)
{
    return breaker_open ? DOUBT_WAIT : DOUBT_SEND_LATER;
}

/* The delivery may have arrived. */
static enum doubt_next by_policy(const struct doubt_facts *f)
{
    bool found = f->source == DOUBT_INTENT;

    switch (f->policy) {
    case DOUBT_RESEND:
        return found ? DOUBT_SEND_NOW : after_unreached(f->breaker_open && !f->answered);
    case DOUBT_HOLD:
        return DOUBT_IN_DOUBT;
    case DOUBT_PROBE:
        return found ? DOUBT_ASK_NOW : DOUBT_ASK_LATER;
    case DOUBT_ASSUME:
        return DOUBT_UNCONFIRMED;
    }
    unreachable("a policy is one of four");
}

static enum doubt_next after_sending(const struct doubt_facts *f)
{
    switch (f->verdict) {
    case VERDICT_DELIVERED:
        return DOUBT_DELIVERED;
    case VERDICT_RETRY:
        return DOUBT_SEND_LATER;
    case VERDICT_UNREACHED:
        return after_unreached(f->breaker_open);
    case VERDICT_CREDENTIAL:
    case VERDICT_STRANGE:
        return DOUBT_WAIT;
    case VERDICT_DOUBT:
        return by_policy(f);
    case VERDICT_REJECTED:
    case VERDICT_FAILED:
        return DOUBT_DEAD;
    }
    unreachable("a verdict is one of eight");
}

/* A receiver that cannot be reached gave no answer: that does not count as an unclear one. */
static enum doubt_next after_asking(const struct doubt_facts *f)
{
    switch (f->verdict) {
    case VERDICT_DELIVERED:
        return DOUBT_DELIVERED;
    case VERDICT_RETRY:
        return DOUBT_SEND_NOW;
    case VERDICT_UNREACHED:
    case VERDICT_CREDENTIAL:
    case VERDICT_STRANGE:
        if (f->over)
            return DOUBT_IN_DOUBT;
        return f->breaker_open ? DOUBT_WAIT : DOUBT_ASK_LATER;
    case VERDICT_DOUBT:
        return f->asked + 1 < DOUBT_ASKED_MOST ? DOUBT_ASK_LATER : DOUBT_IN_DOUBT;
    case VERDICT_REJECTED:
    case VERDICT_FAILED:
        return DOUBT_IN_DOUBT;
    }
    unreachable("a verdict is one of eight");
}

enum doubt_next doubt_next(const struct doubt_facts *f)
{
    switch (f->source) {
    case DOUBT_SENT:
        return after_sending(f);
    case DOUBT_INTENT:
        return by_policy(f);
    case DOUBT_ASKED:
        return after_asking(f);
    }
    unreachable("there are three sources");
}

bool doubt_keeps_intent(const struct doubt_facts *f, enum doubt_next next)
{
    return next == DOUBT_ASK_NOW || next == DOUBT_ASK_LATER ||
           (next == DOUBT_WAIT && f->source == DOUBT_ASKED);
}
