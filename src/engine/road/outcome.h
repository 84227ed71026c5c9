/* outcome.h - the outcome of a delivery or a document: its state, and a line in its timeline.
 *
 * All of it happens in memory; settling.h commits it.
 */
#pragma once

#include "engine/flight/flight.h"

/* An attempt or a question to the receiver ended with p->verdict.  breaker_open: after this
 * verdict. */
void outcome_of_leg(struct leg *p, bool breaker_open);
/* The leg was not sent and waits in the store, for these reasons (held_reason; 0: its turn). */
void outcome_parked(struct leg *p, unsigned why);
/* A claimed leg has an intent from before a crash: the policy of its system decides.  Adds the line
 * to the timeline at once. */
void outcome_unknown(struct leg *p);
/* Counts the outcome and adds its line to the timeline; once per leg, before the settlement. */
void outcome_note(struct flight *f, const struct leg *p);

/* One try of a step that failed. */
struct outcome_try {
    const struct verdict *verdict;
    int64_t attempt, took_us; /* attempt: from 1 */
    int64_t due_us;           /* when the next one is */
};

/* The run is repeated a little later, because of f->message; nothing went wrong. */
void outcome_later(struct flight *f);
/* The document is a dead letter. */
void outcome_dead(struct flight *f, enum timeline_stage stage, struct str what, enum dead_code code,
                  int64_t took_us, const char *message);
void outcome_again(struct flight *f, const struct err *err); /* to be retried after a back-off */
/* A secret that the steps of the route name cannot be read now: to be retried as well. */
void outcome_lacks_secret(struct flight *f, const struct plan_route *r);
/* The process of a step died of it: to be retried as well. */
void outcome_step_died(struct flight *f, struct str step, int64_t took_us, const char *message);
/* The service that a step asks did not answer, or not well, or a step has failed for now: to be
 * tried again then. */
void outcome_step_again(struct flight *f, struct str step, const struct outcome_try *t);
/* The same without an attempt: the service is left alone until then.  f->message says why. */
void outcome_held(struct flight *f, int64_t due_us);
void outcome_delayed(struct flight *f, int64_t due_us); /* runs at this time; no failure */
/* Bytes cannot be read: missing, damaged or too large is final (dead); any other failure is
 * retried. */
void outcome_read_failed(struct flight *f, const struct err *err);

void outcome_metrics_register(void);
void outcome_metrics_forget(void);
