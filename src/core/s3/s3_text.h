/* s3_text.h - names of objects in URLs and answers, percent-encoded as S3 wants it.
 *
 * Only letters, digits and `-._~` stay as they are, so the text of a path is at the same time the
 * text that is signed.
 *
 * Threads: any.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

/* Appends; `slash`: a `/` stays as it is. */
bool s3_encode(struct str text, bool slash, struct buf *to, struct err *err);

/* The way back, as services answer with encoding-type=url: a `+` is a blank.  ERR_PERMANENT: an
 * escape is broken. */
bool s3_decode(struct str text, struct buf *to, struct err *err);
