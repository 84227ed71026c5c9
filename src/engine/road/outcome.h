/* outcome.h - what came of a delivery, or of a document: its state, and a line in its timeline.
 *
 * Nothing is written here: that is settling.h.
 */
#pragma once

#include "engine/flight/flight.h"

void outcome_of_leg(struct leg *p, bool breaker_open);
void outcome_parked(struct leg *p, unsigned why);
/* It was sent before a crash: by the policy of its system, with a line in the timeline. */
void outcome_unknown(struct leg *p);
/* Its line in the timeline, and counted: before it is settled. */
void outcome_note(struct flight *f, const struct leg *p);

void outcome_dead(struct flight *f, enum timeline_stage stage, struct str what, enum dead_code code,
                  int64_t took_us, const char *message);
void outcome_again(struct flight *f, const struct err *err); /* not now */
void outcome_delayed(struct flight *f, int64_t due_us);      /* the same, as it should be */
/* Bytes that cannot be read: gone or damaged is for ever, anything else may pass. */
void outcome_read_failed(struct flight *f, const struct err *err);

void outcome_metrics_register(void);
void outcome_metrics_forget(void);
