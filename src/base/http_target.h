/* http_target.h - the parts of a request target, decoded with care.
 *
 * The server hands out the raw path and query; these turn them into text.  What
 * could mean two things to two readers is refused, never cleaned: bad escapes,
 * escaped slashes, dot segments, control bytes, bytes that are not UTF-8.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

/* Append the decoded path.  Fails with ERR_PERMANENT for what is refused and
 * ERR_LIMIT at the cap of `to`; `to` may then hold a part of it. */
bool http_decode_path(struct str raw, struct buf *to, struct err *err);

/* Append the decoded value of the first parameter of that name ("+" is a blank);
 * *ret_found tells whether there is one. */
bool http_decode_query(struct str query, struct str name, struct buf *to, bool *ret_found,
                       struct err *err);

/* What RFC 9110 calls a token: the name of a field, a method. */
bool http_is_token(struct str s);

/* Append "Name: value\r\n".  Refuses values that would end the line. */
bool http_put_field(struct buf *to, const char *name, struct str value, struct err *err);
