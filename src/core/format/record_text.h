/* record_text.h - the value of a record: JSON or XML, as a slice of a document.
 *
 * Texts are sliced, never parsed and written again, so that every digit of a number and every
 * blank stays as it is:
 *
 *     JSON   the value, without blanks around it and without a byte order mark
 *     XML    the outermost element, without the declaration, comments and blanks around it
 *
 * A slice of XML stands in other documents, so it must be in UTF-8.  A document type declaration is
 * refused, as everywhere.
 *
 * Threads: pure; from any.
 */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

enum record_form { RECORD_JSON, RECORD_XML };

struct record_text {
    enum record_form form;
    struct str text; /* a view of the document */
};

/* By its first character that is no blank: `<` begins XML, all else is JSON.  ERR_PERMANENT: it is
 * neither, or not in UTF-8. */
bool record_text_read(struct str document, struct record_text *ret, struct err *err);

/* `{"previous":..,"new":..}` or `<record><previous>..</previous><new>..</new></record>`; without a
 * previous value (NULL) null, or an empty element.  Both are of the same form.  Of ERR_LIMIT: more
 * than `to` may hold. */
bool record_text_pair(const struct record_text *previous, const struct record_text *now,
                      struct buf *to, struct err *err);
