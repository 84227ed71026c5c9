/* bytes.h - the bytes of a flight: received, or made by its steps.  See flight.h.
 *
 * Small payloads stay in memory.  A payload larger than a segment entry lives in the store: a step
 * that streams (step_io.h) and the sender read it piece by piece.  A step that needs all of it gets
 * it in memory, of one document at a time.
 *
 * Uploads that no commit has adopted are dropped when nobody needs them; what a crash leaves behind
 * is swept (payload.h).
 */
#pragma once

#include "engine/flight/flight.h"

static inline int64_t variant_size(const struct variant *v)
{
    return v->source.size != 0 ? v->source.size : (int64_t)v->buf.len;
}

static inline bool variant_is_in_memory(const struct variant *v)
{
    return (int64_t)v->buf.len == variant_size(v);
}

/* Reads the first `most` bytes of the document into memory, for a dry flight, which keeps them. */
bool bytes_read_first(struct flight *f, size_t most, struct err *err);
/* The digest of its bytes, wherever they are. */
struct sha256 variant_sha256(const struct flight *f, const struct variant *v);
/* Brings the first EXTRACT_BYTES_MOST bytes of a variant into memory, until variant_unpeek(): of
 * one large document at a time.  Blocks if they are only in the store. */
bool variant_peek(struct flight *f, struct variant *v, struct err *err);
void variant_unpeek(struct flight *f);
/* Brings the bytes of a variant into memory.  Reads from the store if they are not there yet, so
 * for large ones only on a thread that may block. */
bool variant_load(struct flight *f, struct variant *v, struct err *err);
/* The bytes of a step are in this upload now: they are read from there. */
void variant_set_stored(struct flight *f, struct variant *v, struct payload_ref place, int64_t size,
                        const struct sha256 *sha256);
/* No later step reads the bytes: frees what nobody sends, and moves to the store what is large. */
void variant_let_go(struct flight *f, struct variant *v);
/* The walk waits: a large variant is from here on only in the store. */
bool variant_rest(struct flight *f, struct variant *v, struct err *err);
/* Prepares for the settlement the variants that a leg sends, a batch gets or that are kept.  Large
 * ones are uploaded to the store now, and sent from there. */
bool variants_seal(struct flight *f, struct err *err);
/* Some of its bytes are uploads that no commit has adopted, as far as the flight knows. */
bool variants_have_uploads(const struct flight *f);
/* Deletes these, unless a document has adopted them.  Blocks on the store; not for a writer. */
void variants_drop_uploads(struct flight *f);
/* The same before the settlement, but for what it will store in any case. */
void variants_drop_unkept(struct flight *f);
/* The next run could be answered, or find in a record, something else than these bytes are made of,
 * and they are not stored. */
bool variants_may_differ(const struct flight *f);
/* So the settlement stores them, whatever comes of the run, and the next run takes them from there
 * (tries.h). */
void variants_keep(struct flight *f);
/* What an earlier run has stored takes the place of what the step that ran last would make. */
struct variant *variant_of_past(struct flight *f, struct str step,
                                const struct payload_source *stored);
