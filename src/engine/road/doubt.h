/* doubt.h - sends that may not happen twice.
 *
 * A system whose policy is not `resend` is sent to in three steps: the slot, a committed
 * intent (store/road/intent.h), the first byte.  So after a crash at most as many deliveries are in
 * doubt as its concurrency allows, and every other one was certainly not sent.  What is claimed
 * with an intent in its row goes by the policy: `hold` waits for a person, `assume` counts as
 * delivered, `probe` asks the receiver, under the same slot and with the same key, and sends
 * again only when it says that it has nothing.
 */
#pragma once

#include "engine/flight/flight.h"
#include "engine/road/outbox.h"

/* As send_begin(), for a part whose system minds a second send. */
bool doubt_start(struct leg *p, struct outbox *out);
/* A claimed delivery was sent before, and nobody knows what came of it; false: its receiver
 * must be asked, or it may be sent again. */
bool doubt_settle(struct flight *f, struct leg *p, struct outbox *out);
