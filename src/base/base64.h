/* base64.h - bytes as text that survives JSON and headers (RFC 4648, with padding). */
#pragma once

#include <stdbool.h>

#include "base/buf.h"

/* Appends four letters for each three bytes. */
bool base64_encode(struct str bytes, struct buf *to, struct err *err)
    __attribute__((warn_unused_result));
/* Appends the bytes.  ERR_PERMANENT: it is not base64, with the place; padding may be left out,
 * blanks and line ends may not. */
bool base64_decode(struct str text, struct buf *to, struct err *err)
    __attribute__((warn_unused_result));
