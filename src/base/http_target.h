/* http_target.h - strict decoding of the parts of a request target.
 *
 * The server hands out the raw path and query; these functions decode them.  Anything
 * that two readers could understand differently is refused, not repaired: bad escapes,
 * escaped slashes, dot segments, control bytes, bytes that are not UTF-8.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

/* Append the decoded path.  ERR_PERMANENT: refused; ERR_LIMIT: the cap of `to`.
 * On failure `to` may hold a part of the path. */
bool http_decode_path(struct str raw, struct buf *to, struct err *err);

/* Append the decoded value of the first parameter of that name ("+" is a blank);
 * *ret_found tells whether there is one. */
bool http_decode_query(struct str query, struct str name, struct buf *to, bool *ret_found,
                       struct err *err);

/* A token of RFC 9110: the name of a field, a method. */
bool http_is_token(struct str s);

/* Append "Name: value\r\n".  Refuses values that would end the line. */
bool http_put_field(struct buf *to, const char *name, struct str value, struct err *err);
