/* table.h - CSV and fixed-width records: rows of cells.
 *
 * A row is read as cells without quotes and padding, and written again by a style; what the style
 * does not say of a row is kept by whoever needs the same bytes (table_json.h).
 *
 * Limits: TABLE_CELLS_MOST cells in a row; the text is at most TABLE_BYTES_MOST.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "core/format/csv.h"
#include "core/format/outlet.h"

enum { TABLE_CELLS_MOST = 4096, TABLE_BYTES_MOST = 64 << 20 };

struct table_column {
    struct str name;
    size_t width; /* characters; fixed-width records only */
};

struct table_style {
    bool fixed;
    char separator;                     /* CSV */
    bool quote_all;                     /* CSV: else only what needs it */
    struct str end;                     /* of a row */
    const struct table_column *columns; /* fixed */
    size_t column_count;
};

struct table_row {
    struct str cells[TABLE_CELLS_MOST]; /* on the reader's arena, until the next row */
    size_t count;
    struct str raw; /* as it is written, with its end */
    struct str end;
    size_t number; /* from 1 */
    size_t quoted; /* CSV: cells in quotes */
};

struct table_reader {
    const struct table_style *style;
    struct str text;
    size_t at, number;
    struct arena arena;
};

/* Leaves out `start` bytes of the text.  style: lent. */
void table_reader_init(struct table_reader *r, const struct table_style *style, struct str text,
                       size_t start);
void table_reader_done(struct table_reader *r);
/* False: the end (err->kind is ERR_NONE), or a failure with row, line and byte. */
bool table_next(struct table_reader *r, struct table_row *ret, struct err *err);

/* Writes a row with its end.  False: a cell is wider than its column. */
bool table_put(const struct table_style *style, const struct str *cells, size_t count,
               struct outlet *to, struct err *err);
