/* shape_say.h - lines for people about tables of others: the inside of shape.h. */
#pragma once

#include "base/buf.h"

/* Appends one line.  What would move the cursor becomes `?`, as names may be anything; a line that
 * the buffer has no room for is left out. */
void shape_say(struct buf *lines, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A name or a type in a line. */
#define SHAPE_NAME(s) STR_ARG(str_first((s), 100))
