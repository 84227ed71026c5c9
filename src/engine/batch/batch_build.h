/* batch_build.h - builds the document of a closing batch.
 *
 * Members are read one after the other and written as they are read: in memory up to the size of a
 * segment entry, beyond that to an upload.  A member that cannot be joined becomes a dead letter of
 * its own and the build starts again without it; with `bad: all` the batch waits for a person
 * instead.
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

/* Blocks.  The batch must be claimed.  True: new tasks may be ready now. */
bool batch_build(const struct batch_parts *parts, struct plan *p, const struct batch *b,
                 const _Atomic bool *resting);
