/* outlet.h - what a conversion writes, up to a limit.
 *
 * Over the limit everything is left out and nothing fails: the writer asks once, at its end.  What
 * is written before that is at most the limit, and outlet_end() takes it back.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

struct outlet {
    struct buf *to;
    size_t from, most; /* bytes in `to` before; bytes that may be added */
    bool over;
};

/* At most `most` bytes, and never more than `to` may hold. */
void outlet_init(struct outlet *o, struct buf *to, size_t most);
void outlet_put(struct outlet *o, struct str bytes);
void outlet_puts(struct outlet *o, const char *z);
void outlet_putc(struct outlet *o, char c);
/* A JSON string with its quotes.  The text is UTF-8. */
void outlet_json(struct outlet *o, struct str text);
/* Text of an element or of an attribute in double quotes.  The text has only characters of XML. */
void outlet_xml(struct outlet *o, struct str text);
void outlet_hex(struct outlet *o, struct str bytes);

/* What was written so far. */
struct str outlet_view(const struct outlet *o);
/* `ok`: the conversion was.  False, with `to` as it was before: it was not, or the limit was
 * reached (ERR_LIMIT). */
bool outlet_end(struct outlet *o, bool ok, struct err *err);
