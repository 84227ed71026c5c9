/* json_scan.h - JSON read piece by piece, as events (RFC 8259).
 *
 * One pass, without a tree and without recursion.  The scanner validates everything it reads and
 * reports an event at the end of each value, name and bracket.  Its state is some bytes and one bit
 * per level, never the text: a body may come in pieces of any size.
 *
 *     struct json_scan s = { 0 };
 *     json_scan_give(&s, bytes, true);
 *     while ((e = json_scan_next(&s)) > JSON_END) ...
 *
 * Ownership: `text` is a view into the piece; it is empty for a token that began in an earlier
 * piece.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

enum { JSON_SCAN_DEPTH = 512 };

enum json_event {
    JSON_WRONG, /* not JSON: `why` says what is wrong, json_scan_at() where */
    JSON_MORE,  /* the piece is used up */
    JSON_END,   /* the value and the bytes have ended */
    JSON_OPEN,  /* an object or a list begins: json_scan_in_object() says which */
    JSON_CLOSE,
    JSON_KEY,    /* text is the name, between its quotes */
    JSON_TEXT,   /* text is between the quotes */
    JSON_SCALAR, /* a number, true, false or null: text is all of it */
};

struct json_scan {
    const char *at, *end; /* the rest of the piece */
    const char *piece;    /* its start */
    const char *from;     /* start of the token; NULL: in an earlier piece */
    int64_t before;       /* bytes of earlier pieces */
    int64_t began;        /* where a token began that is longer than its piece */
    bool last;            /* no piece follows */

    int state, token, left; /* of the automaton: json_scan.c */
    unsigned char lead;     /* first byte of a UTF-8 sequence, until the second was checked */
    const char *word;
    size_t depth;
    uint64_t objects[JSON_SCAN_DEPTH / 64]; /* bits: the level is an object */

    struct str text;
    bool escapes; /* the text contains escapes */
    const char *why;
};

/* Gives the next piece; a zeroed struct is at the start. */
void json_scan_give(struct json_scan *s, struct str piece, bool last);
enum json_event json_scan_next(struct json_scan *s);

int64_t json_scan_at(const struct json_scan *s);     /* offset of the next byte */
int64_t json_scan_from(const struct json_scan *s);   /* that of the last token's first byte */
bool json_scan_in_token(const struct json_scan *s);  /* the piece ended within one */
bool json_scan_is_over(const struct json_scan *s);   /* the outermost value has ended */
bool json_scan_in_object(const struct json_scan *s); /* else in a list; not at depth 0 */

/* Decodes the escape at raw[*at] of a text or a key that the scanner gave.  Returns its length in
 * bytes; 0: a lone surrogate. */
size_t json_scan_unescape(struct str raw, size_t *at, char out[static 4]);

/* Validates only.  False with ERR_PERMANENT: not JSON; the text says what is wrong and where. */
bool json_scan_check(struct json_scan *s, struct str piece, struct err *err);
bool json_scan_check_end(struct json_scan *s, struct err *err);
