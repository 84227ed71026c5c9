/* once.h - a change that its caller gave an id (an idempotency key) is done once.
 *
 * The id is recorded before the change, the answer after it.  A caller that did not get the answer
 * asks again under the same id, on any node, and gets the first answer.  A change that has begun
 * and has no answer (a crash in between) is reported as begun and never done a second time.  Ids
 * are kept for a day; each caller has its own.
 *
 * Threads: any that may block; the changes run in the writer.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/str.h"

struct store;

enum { ONCE_CLIENT_MOST = 100, ONCE_ANSWER_MOST = 256 << 10 };

struct once_id {
    struct str who, client;
};

enum once_state {
    ONCE_NEW,   /* recorded now: do the change, then once_end() or once_drop() */
    ONCE_OTHER, /* another request was made under this id */
    ONCE_BEGUN, /* the same request has begun and has no answer */
    ONCE_DONE   /* the same request was done; here is its answer */
};

struct once_found {
    enum once_state state;
    int64_t age_us;    /* since it was begun */
    struct str answer; /* of ONCE_DONE, in the arena; ptr NULL: it was not kept */
};

bool once_begin(struct store *s, const struct once_id *id, const struct sha256 *question,
                struct arena *a, struct once_found *ret, struct err *err);
/* The change was done.  An answer that is too long, or has ptr NULL, is not kept. */
bool once_end(struct store *s, const struct once_id *id, struct str answer, struct err *err);
/* Nothing was done: deletes the id, so that the caller may try again. */
bool once_drop(struct store *s, const struct once_id *id, struct err *err);
