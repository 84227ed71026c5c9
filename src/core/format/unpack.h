/* unpack.h - compressed bytes of a stream, unpacked piece by piece.
 *
 * `packed` is the input of a service with its position: what is read as headers and what goes to a
 * decoder comes from the same place.  `unpack` is one decoder: gzip, zstd, zlib or plain deflate.
 * Its memory is the state of the library (deflate 32 KiB, zstd a window of at most 8 MiB).
 *
 * A small document can unpack to a huge one.  packed_count() holds what comes out to PACKED_RATIO
 * times the size of the document, or PACKED_FREE bytes if that is more, and to the limit of the
 * caller.  The size of the document counts and not the bytes read so far, so that the result does
 * not depend on the size of the pieces.
 *
 * Failures begin with `who`, the name of the step; places are bytes of the input, from 1.
 */
#pragma once

#include "core/service.h"

enum { PACKED_RATIO = 100, PACKED_FREE = 1 << 20 };

struct packed {
    struct service_io *io;
    struct service_failure *failure;
    const char *who;
    struct str rest; /* what was read and not used, lent by the io or in `head` */
    int64_t at;      /* the offset of rest[0] */
    bool ended;      /* the io has no more; `rest` may have */
    int64_t out;     /* bytes that came out */

    struct str after; /* the piece behind `head` */
    char head[64];
};

/* Reads until `rest` has at least `least` bytes (at most sizeof head) or the input has ended. */
bool packed_fill(struct packed *p, size_t least);
void packed_skip(struct packed *p, size_t count); /* of `rest` */
/* Appends the next `count` bytes to `to`; `what` they are, for the failure when they are missing.
 */
bool packed_take(struct packed *p, size_t count, struct buf *to, const char *what);
/* `more` bytes came out; fails when that is too much. */
bool packed_count(struct packed *p, size_t more, int64_t most);
/* False, with "WHO: WHAT at byte N: HEX", N and HEX being those of the rest. */
bool packed_bad(struct packed *p, const char *what);

enum unpack_format { UNPACK_GZIP, UNPACK_ZSTD, UNPACK_ZLIB, UNPACK_RAW, UNPACK_FORMATS };

struct unpack;

struct unpack *unpack_new(enum unpack_format format);
void unpack_free(struct unpack *u);  /* NULL is fine */
void unpack_reset(struct unpack *u); /* for the next stream of the same format */

/* Reads and unpacks some more.  *ret is lent until the next call and may be empty; *ret_end: the
 * stream has ended, and what follows it is the rest.  An input that ends before fails. */
bool unpack_step(struct unpack *u, struct packed *p, struct str *ret, bool *ret_end);
