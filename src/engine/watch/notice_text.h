/* notice_text.h - what a notice says: as JSON for a webhook, as lines for people.
 *
 * Pure.  Bounds: texts of an alert are cut, a whole notice has NOTICE_TEXT_MOST bytes.
 */
#pragma once

#include "base/buf.h"
#include "store/watch/alert.h"

enum { NOTICE_TEXT_MOST = 16 << 10 };

/* A JSON object; its field `text` is what chat services show. */
void notice_put_json(struct buf *to, const struct notice *w, const struct alert *a);
/* A text such as a mail has. */
void notice_put_lines(struct buf *to, const struct notice *w, const struct alert *a);
