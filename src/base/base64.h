/* base64.h - bytes as text that survives JSON, headers and addresses (RFC 4648). */
#pragma once

#include <stdbool.h>

#include "base/buf.h"

/* Appends four letters for each three bytes, with padding. */
bool base64_encode(struct str bytes, struct buf *to, struct err *err)
    __attribute__((warn_unused_result));
/* Appends the bytes.  ERR_PERMANENT: it is not base64, with the place; padding may be left out,
 * blanks and line ends may not. */
bool base64_decode(struct str text, struct buf *to, struct err *err)
    __attribute__((warn_unused_result));

/* With - and _ in place of + and /, and without padding (RFC 4648, 5).  Decoding takes one text
 * only for the same bytes: bits that are left over must be 0. */
bool base64url_encode(struct str bytes, struct buf *to, struct err *err)
    __attribute__((warn_unused_result));
bool base64url_decode(struct str text, struct buf *to, struct err *err)
    __attribute__((warn_unused_result));
