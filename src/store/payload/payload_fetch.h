/* payload_fetch.h - reading many small payloads at once, ahead of their use.
 *
 * On PostgreSQL a payload is a row, and reading it is a trip to the server.  A claim brings many
 * documents, so their payloads are fetched together: one trip for each day of their tables, and for
 * no more than PAYLOAD_FETCH_BYTES.  Payloads in segments are read where they are used, and so
 * is everything that is large, missing or damaged: payload_open() says what is the matter with it.
 *
 * Threads: any that may block.
 */
#pragma once

#include "store/payload/payload.h"

enum {
    PAYLOAD_FETCH_SIZE = 64 << 10, /* of one payload */
    PAYLOAD_FETCH_BYTES = 4 << 20, /* of one trip */
};

struct payload_fetch {
    struct payload_source source;
    struct buf *to; /* empty; filled if the bytes are there and whole, else empty still */
};

void payload_fetch(struct store *s, struct payload_fetch *fetches, size_t count);
