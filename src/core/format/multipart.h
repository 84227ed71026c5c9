/* multipart.h - multipart/form-data (RFC 7578) read piece by piece, as events.
 *
 * One pass: of a part only its head is kept, at most MULTIPART_HEAD bytes.  Bytes before the first
 * delimiter are skipped, at most MULTIPART_SKIP of them; what follows the last one is ignored.  At
 * most MULTIPART_PARTS parts.  Only what browsers and HTTP clients send is read: delimiters on
 * lines of their own that end with CR LF, parts as they are, without a transfer encoding.
 *
 *     multipart_begin(&m, content_type)
 *     multipart_give(&m, piece); while ((e = multipart_next(&m)) > MULTIPART_MORE) ...
 *
 * Ownership: `name`, `file` and `ctype` are valid until the next part, `bytes` until the next
 * event.
 *
 * Threads: a reader belongs to one thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

enum {
    MULTIPART_BOUNDARY = 70, /* as in RFC 2046 */
    MULTIPART_HEAD = 4096,
    MULTIPART_SKIP = 4096,
    MULTIPART_PARTS = 100,
};

enum multipart_event {
    MULTIPART_WRONG, /* `why` says what */
    MULTIPART_MORE,  /* the piece is used up */
    MULTIPART_PART,  /* a part begins: name, file, ctype */
    MULTIPART_BYTES, /* some of its bytes */
    MULTIPART_OVER   /* the part has ended */
};

struct multipart {
    char delimiter[4 + MULTIPART_BOUNDARY + 1]; /* CR LF - - BOUNDARY */
    size_t delimiter_len, matched;              /* matched: bytes of it that were read last */
    struct str left;                            /* of the piece */
    int state;                                  /* of the automaton: multipart.c */
    size_t parts, skipped;
    char head[MULTIPART_HEAD + 1];
    size_t head_len;

    struct str name, file, ctype; /* file.ptr NULL: it is no file; ctype empty: not said */
    struct str bytes;
    const char *why;
};

/* The content type is multipart/form-data. */
bool multipart_is_form(struct str content_type);
/* NULL: begun; else what is wrong with the content type. */
const char *multipart_begin(struct multipart *m, struct str content_type);
void multipart_give(struct multipart *m, struct str piece);
enum multipart_event multipart_next(struct multipart *m);
/* The last delimiter was read. */
bool multipart_is_whole(const struct multipart *m);
