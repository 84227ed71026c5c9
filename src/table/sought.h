/* sought.h - rows that should not be there, as a driver is asked for them (database.h, find), and
 * what it has found.
 *
 *     SOUGHT_DUPLICATES  values of the columns that several rows have; where one of them is NULL
 *                        they count as different, as in a unique index
 *     SOUGHT_ORPHANS     rows whose columns name a row of another table that is not there; where
 *                        one of them is NULL they name none, as in a foreign key
 *     SOUGHT_OLDER       rows whose column, a point in time, is before another one; NULL is not
 *     SOUGHT_ROWS        all rows
 *
 * Values are compared as the database compares them: by the collation of the column.  Counting
 * ends at `most`.  Values of rows are shown as short texts, as the database writes them.
 *
 * Ownership: texts are lent, or in the caller's arena.
 * Threads: any; nothing here has a state.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "table/cell.h"
#include "table/shape.h"

enum {
    SOUGHT_COLUMNS_MOST = SHAPE_KEY_MOST,
    SOUGHT_SHOWN_MOST = SHAPE_KEY_MOST + SOUGHT_COLUMNS_MOST,
    SOUGHT_EXAMPLES_MOST = 10,
    SOUGHT_VALUE_MOST = 60 /* characters of a value that are shown */
};

enum sought_kind { SOUGHT_DUPLICATES, SOUGHT_ORPHANS, SOUGHT_OLDER, SOUGHT_ROWS };

/* Only rows with this value in a column count. */
struct sought_value {
    size_t column;     /* its place in shape->columns */
    struct cell value; /* of the natural type of the column; NULL: rows that have none there */
};

struct sought {
    enum sought_kind kind;
    const struct shape *shape;
    size_t columns[SOUGHT_COLUMNS_MOST], count; /* places in shape->columns; ROWS: none */
    const struct shape *in;                     /* ORPHANS: the other table ... */
    size_t keys[SOUGHT_COLUMNS_MOST];           /* ... and its columns, one for each of `columns` */
    int64_t before_us;                          /* OLDER: as an instant ... */
    int64_t before_local_us;                    /* ... and on the clock of columns without a zone */
    const struct sought_value *values;
    size_t value_count;
    int64_t most; /* at least 1 */
    size_t shown; /* so many examples are wanted */
};

struct found {
    int64_t count;                             /* most of `sought`: there may be more */
    struct str examples[SOUGHT_EXAMPLES_MOST]; /* "id = 7, order_id = 9" */
    size_t example_count;
};

/* The places of columns with these names.  ERR_CONFIG: the table has no such column. */
bool sought_places(const struct shape *s, const struct str *names, size_t count, size_t *ret,
                   struct err *err);
/* A value that was written as text, in the natural type of the column.  ERR_CONFIG: it has no such
 * form. */
bool sought_value_of(const struct shape *s, struct str name, struct str text, struct arena *a,
                     struct sought_value *ret, struct err *err);

/* ---- for drivers ---- */

static inline const struct shape_column *sought_column(const struct sought *s, size_t i)
{
    return &s->shape->columns[s->columns[i]];
}

/* The columns that are shown of a row, in order: those of the key, then those that are looked at;
 * of duplicates the latter only, and how often they are there stands behind them.  Returns how many
 * columns there are. */
size_t sought_shown(const struct sought *s, size_t places[static SOUGHT_SHOWN_MOST]);

/* OLDER: what the column is compared with; ERR_CONFIG: it is no point in time. */
bool sought_before(const struct sought *s, struct cell *ret, struct err *err);

/* A row: the texts of the columns that are shown, ptr NULL for NULL; of duplicates with their
 * number behind them.  Texts may have more characters than are shown. */
void found_add(struct found *f, const struct sought *s, const struct str *texts, struct arena *a);
