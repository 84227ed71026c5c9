/* parts.h - questions and answers that are larger than a message, while their parts come and go.
 *
 * A few at a time, for a while: what was begun and not ended gives way to what comes.  A location
 * that was started again knows none of them, and whoever asks begins again.
 *
 * Threads: any.
 */
#pragma once

#include "table/away/message.h"

struct parts;

struct parts *parts_new(void);
void parts_free(struct parts *p);

/* Takes a part of a question of `peer`.  *ret_whole: that was the last one, and `to` has the whole.
 * ERR_PERMANENT: it does not fit to those before; ERR_LIMIT: too large; ERR_TRANSIENT: no room. */
bool parts_put(struct parts *p, struct str peer, const struct envelope_part *part, struct str bytes,
               int64_t now_us, struct buf *to, bool *ret_whole, struct err *err);
/* Keeps an answer; its id is set. */
bool parts_keep(struct parts *p, struct str peer, struct str answer, int64_t now_us,
                struct envelope_part *ret, struct err *err);
/* Appends at most `most` bytes of an answer from part->at on to a frame; after the last ones it is
 * forgotten.  ERR_TRANSIENT: it is not there any more. */
bool parts_get(struct parts *p, struct str peer, struct envelope_part *part, size_t most,
               int64_t now_us, struct buf *to, struct err *err);
