/* bytes.h - the bytes of a flight: received, or made by its steps.  See flight.h.
 *
 * Small payloads stay in memory.  A payload larger than a segment entry lives in the store, and the
 * sender reads it piece by piece.  Steps need the whole payload in memory; for large ones that is
 * one document at a time.
 */
#pragma once

#include "engine/flight/flight.h"

/* Reads the first `most` bytes of the document into memory, for extraction. */
bool bytes_peek(struct flight *f, size_t most, struct err *err);
/* Brings the bytes of a variant into memory.  Reads from the store if they are not there yet, so
 * for large ones only on a thread that may block. */
bool variant_load(struct flight *f, struct variant *v, struct err *err);
/* A leg sends these bytes, or a batch gets them. */
bool variant_is_used(const struct flight *f, const struct variant *v);
/* No later step reads the bytes: frees what a step made and nobody sends. */
void variant_let_go(struct flight *f, struct variant *v);
/* Prepares for the settlement the variants that a leg sends or a batch gets.  Large ones are
 * uploaded to the store now, and sent from there. */
bool variants_seal(struct flight *f, struct err *err);
