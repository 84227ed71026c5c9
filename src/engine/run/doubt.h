/* doubt.h - sends to systems that are not idempotent.
 *
 * A delivery to a system whose policy is not `resend` takes three steps: the slot, a committed
 * intent (store/road/intent.h), the first byte.  So after a crash at most as many deliveries are in
 * doubt as the system has slots, and all others were certainly not sent.  A delivery that is
 * claimed with an intent in its row follows the policy: `hold` waits for an operator, `assume`
 * counts it as delivered, `probe` asks the receiver, under the same slot and with the same key, and
 * sends again only when the receiver does not have it.
 */
#pragma once

#include "engine/flight/flight.h"
#include "engine/road/outbox.h"

/* As send_begin(), for a leg whose system is not idempotent. */
bool doubt_start(struct leg *p, struct outbox *out);
/* A claimed delivery has an intent.  True: the policy decided, and the flight is settled.  False:
 * the receiver must be asked, or the delivery may be sent again; offer it. */
bool doubt_settle(struct flight *f, struct leg *p, struct outbox *out);
