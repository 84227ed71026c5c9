/* csv.h - the cells of a CSV text, as views (RFC 4180).
 *
 * A quote inside of an unquoted cell is an ordinary character.  Rows end with LF, CR or both; a
 * line break at the end of the text begins no further row.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct csv_reader {
    const char *at, *from, *end;
    char separator;
    const char *why; /* after a failure: what is wrong at `at` */
};

struct csv_cell {
    struct str raw; /* without the enclosing quotes */
    bool quoted;
    bool doubled; /* contains "", which stands for one quote */
    bool last;    /* the last cell of its row */
    size_t at;    /* offset of its first byte */
};

/* Skips a byte order mark; `separator` '\0': the most frequent of comma, semicolon and tab in the
 * first line, outside of quotes. */
void csv_init(struct csv_reader *r, struct str text, char separator);
bool csv_next(struct csv_reader *r, struct csv_cell *ret);
/* The next character at raw[*at]; a doubled quote is one. */
char csv_char(const struct csv_cell *c, size_t *at);
