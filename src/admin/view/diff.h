/* diff.h - the difference of two texts, line by line, as `diff -u` writes it.
 *
 * Up to DIFF_LINES lines of each text; beyond that everything between the common start and the
 * common end counts as changed. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

enum { DIFF_LINES = 20000, DIFF_TABLE = 4 << 20 };

/* Appends nothing when the texts are equal. */
bool diff_text(struct str old, struct str new, const char *old_name, const char *new_name,
               struct buf *out, struct err *err);
