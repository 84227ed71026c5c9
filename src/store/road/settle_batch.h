/* settle_batch.h - settlements that make their documents members of batches (batch.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct settle_bytes;
struct settle_op;
struct writer;

/* Why a batch closed. */
enum batch_why {
    BATCH_NOT_YET,
    BATCH_COUNT, /* it has as many members as it may have */
    BATCH_BYTES, /* the next member would have made it too large */
    BATCH_AGE,
    BATCH_TIME,  /* its schedule */
    BATCH_HAND,  /* a person closed it, or its name is not configured any more */
    BATCH_AGAIN, /* a batch of one document that is sent again */
    BATCH_WHYS
};

/* How the document of a settlement joins. */
struct batch_join {
    int64_t name, route, receiver, config; /* name ids; config: the version that was used */
    struct str part;                       /* each value has a batch of its own */
    int64_t size;                          /* of the member's bytes */
    struct settle_bytes *bytes;            /* NULL: the document's own */
    int64_t members_most, bytes_most;      /* limits; a single member may be larger */
    bool alone;                            /* it gets a batch of its own, which closes at once */

    int64_t batch; /* the answer: the number of its batch */
};

/* Adds each document with SETTLE_JOIN to one open batch, and closes batches that are full; in an
 * open transaction. */
bool settle_batch(struct writer *w, struct settle_op **ops, size_t count, struct err *err);
