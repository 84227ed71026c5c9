/* settling.h - commit 2: what came of a flight is written down, then it is gone. */
#pragma once

struct flight;
struct outbox;

/* All parts have their outcome, or there are none.  May block on the store when a lane is new, or
 * bytes are large.  What was sent is never forgotten: a flight whose outcome cannot be written
 * down now waits for that. */
void settle_flight(struct flight *f, struct outbox *out);

void settling_metrics_register(void);
void settling_metrics_forget(void);
