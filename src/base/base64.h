/* base64.h - bytes as text that survives JSON, headers and addresses (RFC 4648). */
#pragma once

#include <stdbool.h>

#include "base/buf.h"

/* Appends four characters for each three bytes, with padding. */
bool base64_encode(struct str bytes, struct buf *to, struct err *err)
    __attribute__((warn_unused_result));
/* Appends the bytes.  ERR_PERMANENT: not base64; the text says where.  Padding is optional; blanks
 * and line ends are refused. */
bool base64_decode(struct str text, struct buf *to, struct err *err)
    __attribute__((warn_unused_result));

/* With - and _ in place of + and /, and without padding (RFC 4648, 5).  Decoding accepts
 * exactly one text for given bytes: unused bits must be 0. */
bool base64url_encode(struct str bytes, struct buf *to, struct err *err)
    __attribute__((warn_unused_result));
bool base64url_decode(struct str text, struct buf *to, struct err *err)
    __attribute__((warn_unused_result));
