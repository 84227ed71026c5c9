/* json_check.h - whether bytes are one JSON value, piece by piece (RFC 8259).
 *
 * Keeps a state of some bytes and one bit for each level; never the text.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

enum { JSON_CHECK_DEPTH = 512 };

struct json_check {
    int state; /* where it stands: json_check.c */
    int token, left;
    unsigned char lead; /* of a character, until the byte behind it */
    const char *word;
    size_t depth;
    uint64_t objects[JSON_CHECK_DEPTH / 64]; /* bits: the level is an object */
    int64_t at;
};

/* A zeroed struct is at the start.  False with ERR_PERMANENT: it is none, and where. */
bool json_check_add(struct json_check *c, struct str bytes, struct err *err);
bool json_check_end(struct json_check *c, struct err *err);
