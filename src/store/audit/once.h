/* once.h - changes that are asked for under an id of their caller are done once.
 *
 * Begun before the change, ended behind it: a caller who did not hear the answer asks again under
 * the same id, on any node, and gets the first answer.  What was begun and has no end (a crash in
 * between) is told as that; it is never done a second time.  Ids are remembered for a day, each
 * caller has its own.
 *
 * Threads: any that may block; it runs in the writer.
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
    ONCE_NEW,   /* it is begun now: do it, then once_end() or once_drop() */
    ONCE_OTHER, /* another question was asked under this id */
    ONCE_BEGUN, /* the same, and it has no end */
    ONCE_DONE   /* the same, and here is its answer */
};

struct once_found {
    enum once_state state;
    int64_t age_us;    /* since it was begun */
    struct str answer; /* of ONCE_DONE, on the arena; ptr NULL: it was not kept */
};

bool once_begin(struct store *s, const struct once_id *id, const struct sha256 *question,
                struct arena *a, struct once_found *ret, struct err *err);
/* It was done.  An answer with ptr NULL, or one that is too long, is not kept. */
bool once_end(struct store *s, const struct once_id *id, struct str answer, struct err *err);
/* Nothing was done: it may be asked again. */
bool once_drop(struct store *s, const struct once_id *id, struct err *err);
