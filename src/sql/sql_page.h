/* sql_page.h - rows of a query that are taken together.
 *
 * A page collects rows as JSON until it is full.  It ends between two rows whose cursors differ:
 * the next query asks for rows behind the cursor, so rows with the same cursor are never parted.
 *
 * Each row has a key, by which it is known when it is read again: a digest of its cursor, its
 * values, and how many equal rows with the same cursor precede it.
 *
 * What a query must keep to is checked here: rows come in the order of the cursor, behind where the
 * query began, as far as values can be compared (sql_cursor.h).
 *
 * Pure: no I/O.  Rows are kept until sql_page_next().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/err.h"
#include "sql/sql_cursor.h"

enum { SQL_PAGE_ROWS_MOST = 10000, SQL_PAGE_BYTES_MOST = 64 << 20 };

struct sql_page_row {
    size_t from, len;   /* its JSON in `text` */
    bool untold;        /* it cannot be told: that is the reason, and no JSON */
    bool known;         /* it was taken before; for the caller */
    struct sha256 key;  /* of this row */
    struct sha256 base; /* without the number among equal ones */
    struct sql_cursor cursor;
};

struct sql_page {
    size_t full_rows, full_bytes; /* how many rows fill it; it may get some more of one cursor */
    struct sha256 seed;           /* keys of other gateways, columns, starts differ */
    struct sql_cursor from;       /* where the query began; count 0: it has no cursor */
    struct buf text;
    struct sql_page_row *rows;
    size_t count;
    bool carries; /* the last row belongs to the next page */
};

void sql_page_init(struct sql_page *p, size_t full_rows, size_t full_bytes,
                   const struct sha256 *seed);
void sql_page_done(struct sql_page *p);

/* A query begins; the page is empty. */
void sql_page_begin(struct sql_page *p, const struct sql_cursor *from);

/* Adds a row; `at` are its cursor columns (sql_cursor_find).  *ret_full: the page is complete, and
 * this row is carried to the next one.  *ret_untold: why it cannot be told, which is no error; the
 * text is lent until the next call.  ERR_CONFIG: the query is at fault; ERR_LIMIT: too many rows
 * have the same cursor. */
bool sql_page_add(struct sql_page *p, const struct sql_result *result, const struct datum *row,
                  const struct str *names, const size_t *at, bool *ret_full,
                  const struct err **ret_untold, struct err *err);

/* The rows of the page, without the one that is carried. */
size_t sql_page_rows(const struct sql_page *p);
/* How many of the first n rows of the page may be taken without parting rows of one cursor. */
size_t sql_page_whole(const struct sql_page *p, size_t n);
struct str sql_page_json(const struct sql_page *p, size_t i);
/* The row cannot be told after all. */
void sql_page_untell(struct sql_page *p, size_t i, const char *why);
/* Why a row that is `untold` is; lent. */
struct str sql_page_why(const struct sql_page *p, size_t i);

/* The next page: empty, but for the row that is carried. */
void sql_page_next(struct sql_page *p);
