/* bytes.h - the bytes of a flight: received, or made by its steps.  See flight.h.
 *
 * Small ones stay in memory.  What is larger than a segment entry lives in the store and is
 * read piece by piece by who sends it; steps need the whole of it in memory, one document
 * at a time.
 */
#pragma once

#include "engine/flight/flight.h"

/* The first `most` bytes of the document, for extraction. */
bool bytes_peek(struct flight *f, size_t most, struct err *err);
/* The bytes of a variant in memory, read from the store when they are not; only on a thread
 * that may block, when they are large. */
bool variant_load(struct flight *f, struct variant *v, struct err *err);
/* What the store keeps of bytes that steps made and parts send.  Large ones are put into
 * the store now, and are sent from there. */
bool variants_seal(struct flight *f, struct err *err);
