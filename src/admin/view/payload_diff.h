/* payload_diff.h - what differs between two payloads, for people.
 *
 * Line by line, as `diff -u` writes it.  Payloads often are one long line: in both payloads a line
 * over PAYLOAD_DIFF_LINE bytes is broken after the delimiters of XML, JSON, CSV and EDI.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"

enum {
    PAYLOAD_DIFF_LINE = 160,
    PAYLOAD_DIFF_IN = 256 << 10, /* of each payload */
    PAYLOAD_DIFF_OUT = 4 << 10
};

/* UTF-8 without control characters but blanks and line breaks. */
bool payload_is_text(struct str s);

/* Appends up to PAYLOAD_DIFF_OUT bytes, cut at the end of a line if possible; *ret_cut: the
 * difference is longer.  False: a payload is not text or too long, and nothing was appended. */
bool payload_diff(struct str was, struct str would, struct buf *to, bool *ret_cut);
