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
    BATCH_TIME,  /* of its schedule */
    BATCH_HAND,  /* a person, or its name is not configured any more */
    BATCH_AGAIN, /* of one document that is sent again */
    BATCH_WHYS
};

/* In the settle_op of the member. */
struct batch_join {
    int64_t name, route, receiver, config; /* words; config: the version that was used */
    struct str part;                       /* one batch for each */
    int64_t size;                          /* of what joins */
    struct settle_bytes *bytes;            /* NULL: the document's own */
    int64_t members_most, bytes_most;      /* a batch of more than one is not larger */
    bool alone;                            /* it makes a batch of its own, which closes at once */

    int64_t batch; /* the answer: which one */
};

/* Those of a group that join: each stands in exactly one batch afterwards. */
bool settle_batch(struct writer *w, struct settle_op **ops, size_t count, struct err *err);
