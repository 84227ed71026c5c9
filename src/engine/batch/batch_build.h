/* batch_build.h - the document of a closing batch.
 *
 * Members are read one after the other and written as they come: what is kept is up to a segment
 * entry, or an upload.  A member that cannot be joined steps aside, and it begins again without
 * that one; or, with `bad: all`, the batch waits for a person.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

struct batch;
struct mishaps;
struct plan;
struct road;
struct store;

struct batch_parts {
    struct store *store;
    struct road *road;
    struct mishaps *mishaps;
};

/* On a thread that may block; the batch is claimed.  True: something waits to be carried on now. */
bool batch_build(const struct batch_parts *parts, struct plan *p, const struct batch *b,
                 const _Atomic bool *resting);
