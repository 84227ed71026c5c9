/* json.h - writes JSON.
 *
 * A writer over a struct buf that adds the commas and escapes the text; it never
 * builds a tree.  Reading is done by jansson, or by core/json_scan.h.
 *
 *     struct json_out j = { .to = &buf };
 *     json_open(&j, '{');
 *     json_key(&j, "id");  json_str(&j, id);
 *     json_close(&j, '}');
 *
 * Bytes that are not UTF-8 become U+FFFD, so that what we write always parses.
 * The cap of the buffer must be large enough (buf_put()).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

struct json_out {
    struct buf *to;
    bool comma; /* the next value needs one before it */
};

void json_open(struct json_out *j, char bracket);  /* '{' or '[' */
void json_close(struct json_out *j, char bracket); /* '}' or ']' */
void json_key(struct json_out *j, const char *key);
void json_str(struct json_out *j, struct str s);
void json_z(struct json_out *j, const char *z); /* NULL writes null */
void json_int(struct json_out *j, int64_t v);
void json_bool(struct json_out *j, bool v);
void json_none(struct json_out *j); /* null; the name json_null is taken by jansson */
void json_raw(struct json_out *j, struct str value); /* already JSON */

/* Appends s escaped, without the quotes. */
void json_escape(struct buf *to, struct str s);
