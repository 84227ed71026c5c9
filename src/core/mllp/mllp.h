/* mllp.h - the frames of MLLP: where a message begins and ends in a stream of bytes.
 *
 *     VT message FS CR          0x0B ... 0x1C 0x0D
 *
 * Bytes come in pieces of any size, and go out as events; content is lent from the piece, never
 * copied or kept.  Line ends and blanks between frames are skipped, any other byte there means that
 * the other side does not speak MLLP.  An FS with anything else behind it than the end of a frame
 * belongs to the message.
 *
 * Tolerated: LF in place of the last CR; no CR at all, when the next frame begins, or when the
 * caller has waited for it for long enough (mllp_end_now).
 *
 * A reader has no limits of its own: it holds nothing.  How long a message may become, and how long
 * it may take, is up to the caller.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"

enum { MLLP_BEGIN_BYTE = 0x0b, MLLP_END_BYTE = 0x1c };

enum mllp_event {
    MLLP_MORE,  /* the piece is used up */
    MLLP_BEGIN, /* of a message */
    MLLP_BYTES, /* more of it */
    MLLP_END,
    MLLP_STRAY /* a byte between frames, which is not taken: this is not MLLP */
};

enum mllp_phase { MLLP_OUTSIDE, MLLP_INSIDE, MLLP_CLOSING };

struct mllp_reader {
    enum mllp_phase phase; /* zero: at the start */
};

/* Takes the next event off the front of *rest; *ret_bytes: of MLLP_BYTES, lent. */
enum mllp_event mllp_next(struct mllp_reader *r, struct str *rest, struct str *ret_bytes);

/* Only the last CR is missing. */
static inline bool mllp_is_closing(const struct mllp_reader *r)
{
    return r->phase == MLLP_CLOSING;
}

/* The CR does not come: the message has ended. */
void mllp_end_now(struct mllp_reader *r);

/* The bytes have one that begins or ends a frame, so they cannot be in one. */
bool mllp_has_border(struct str bytes);
/* Appends a message in its frame. */
void mllp_put(struct buf *to, struct str message);
