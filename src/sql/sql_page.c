#include "sql/sql_page.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/require.h"
#include "sql/sql_row.h"

/* A row as JSON, each byte escaped, fits behind a page that is almost full. */
enum { PAGE_TEXT_MOST = SQL_PAGE_BYTES_MOST + 7 * SQL_ROW_MOST };

void sql_page_init(struct sql_page *p, size_t full_rows, size_t full_bytes,
                   const struct sha256 *seed)
{
    require(full_rows < SQL_PAGE_ROWS_MOST);
    *p = (struct sql_page){ .full_rows = full_rows,
                            .full_bytes =
                                full_bytes < SQL_PAGE_BYTES_MOST ? full_bytes : SQL_PAGE_BYTES_MOST,
                            .seed = *seed,
                            .text = BUF_INIT(PAGE_TEXT_MOST),
                            .rows = xcalloc(SQL_PAGE_ROWS_MOST + 1, sizeof *p->rows) };
}

void sql_page_done(struct sql_page *p)
{
    buf_done(&p->text);
    free(p->rows);
    p->rows = NULL;
}

void sql_page_begin(struct sql_page *p, const struct sql_cursor *from)
{
    require(p->count == 0 && !p->carries);
    p->from = *from;
}

/* ---- keys ---- */

static struct sha256 page_base_of(const struct sql_page *p, const struct sql_page_row *r)
{
    struct digest d = digest_start();

    digest_add(&d, str_mem(p->seed.bytes, SHA256_SIZE));
    for (size_t i = 0; i < r->cursor.count; i++) {
        struct datum v = sql_cursor_value(&r->cursor, i);

        digest_add(&d, str_mem(&v.bytes.len, sizeof v.bytes.len));
        digest_add(&d, v.bytes);
    }
    digest_add(&d, r->untold ? STR("!") : STR("="));
    digest_add(&d, str_mem(p->text.ptr + r->from, r->len));
    return digest_end(&d);
}

/* The number among equal rows: those of one cursor follow each other, in any order. */
static struct sha256 page_key_of(const struct sql_page *p, size_t at)
{
    const struct sql_page_row *r = &p->rows[at];
    struct digest d = digest_start();
    size_t equal = 0;

    for (size_t i = at;
         r->cursor.count > 0 && i > 0 && sql_cursor_same(&p->rows[i - 1].cursor, &r->cursor); i--)
        equal += memcmp(p->rows[i - 1].base.bytes, r->base.bytes, SHA256_SIZE) == 0;
    digest_add(&d, str_mem(r->base.bytes, SHA256_SIZE));
    digest_add(&d, str_mem(&equal, sizeof equal));
    return digest_end(&d);
}

/* ---- rows ---- */

static bool take_cursor_of(struct sql_page_row *r, const struct datum *row, const struct str *names,
                           const size_t *at, size_t count, struct err *err)
{
    r->cursor = (struct sql_cursor){ 0 };
    for (size_t i = 0; i < count; i++)
        if (!sql_cursor_add(&r->cursor, names[i], &row[at[i]], err))
            return false;
    return true;
}

static bool is_in_order(const struct sql_page *p, const struct sql_page_row *r, struct err *err)
{
    const struct sql_cursor *before = p->count > 0 ? &p->rows[p->count - 1].cursor : NULL;
    enum sql_order from = sql_cursor_order(&r->cursor, &p->from);

    if (before != NULL && sql_cursor_order(&r->cursor, before) == SQL_ORDER_BEFORE)
        return err_set(err, ERR_CONFIG, 0,
                       "the rows do not come in the order of the cursor: end the query with ORDER "
                       "BY and the columns of `cursor`");
    if (before == NULL && (from == SQL_ORDER_BEFORE || from == SQL_ORDER_SAME))
        return err_set(err, ERR_CONFIG, 0,
                       "the query returns a row that is not behind its cursor: compare the columns "
                       "of `cursor` with > and not with >=");
    return true;
}

bool sql_page_add(struct sql_page *p, const struct sql_result *result, const struct datum *row,
                  const struct str *names, const size_t *at, bool *ret_full,
                  const struct err **ret_untold, struct err *err)
{
    static _Thread_local struct err untold;
    struct sql_page_row *r = &p->rows[p->count];
    size_t columns = p->from.count;

    require(!p->carries);
    *r = (struct sql_page_row){ .from = p->text.len };
    *ret_full = false;
    *ret_untold = NULL;
    if (!take_cursor_of(r, row, names, at, columns, err) ||
        (columns > 0 && !is_in_order(p, r, err)))
        return false;
    bool parts = columns == 0 || p->count == 0 ||
                 !sql_cursor_same(&r->cursor, &p->rows[p->count - 1].cursor);

    if (columns > 0 && parts && (p->count >= p->full_rows || p->text.len >= p->full_bytes))
        *ret_full = true;
    else if (p->count == SQL_PAGE_ROWS_MOST || p->text.len >= SQL_PAGE_BYTES_MOST)
        return err_set(err, ERR_LIMIT, 0,
                       columns == 0 ? "the query returns more rows than are taken at once: give it "
                                      "a `cursor`"
                                    : "too many rows have the same cursor: add a column to "
                                      "`cursor` that tells them apart");
    untold = (struct err){ 0 };
    r->untold = !sql_row_json(result->columns, row, result->column_count, &p->text, &untold);
    r->len = p->text.len - r->from;
    if (r->untold)
        *ret_untold = &untold;
    r->base = page_base_of(p, r); /* the same row, whatever is said of it */
    r->key = page_key_of(p, p->count++);
    if (r->untold) {
        buf_puts(&p->text, untold.text);
        r->len = p->text.len - r->from;
    }
    p->carries = *ret_full;
    return true;
}

size_t sql_page_rows(const struct sql_page *p)
{
    return p->count - p->carries;
}

size_t sql_page_whole(const struct sql_page *p, size_t n)
{
    require(n <= sql_page_rows(p));
    while (n > 0 && n < p->count && sql_cursor_same(&p->rows[n - 1].cursor, &p->rows[n].cursor))
        n--;
    return n;
}

/* Over its JSON, which is larger. */
void sql_page_untell(struct sql_page *p, size_t i, const char *why)
{
    struct sql_page_row *r = &p->rows[i];
    size_t n = strlen(why);

    r->len = n < r->len ? n : r->len;
    memcpy(p->text.ptr + r->from, why, r->len);
    r->untold = true;
}

struct str sql_page_why(const struct sql_page *p, size_t i)
{
    require(p->rows[i].untold);
    return str_mem(p->text.ptr + p->rows[i].from, p->rows[i].len);
}

struct str sql_page_json(const struct sql_page *p, size_t i)
{
    return p->rows[i].untold ? STR("") : str_mem(p->text.ptr + p->rows[i].from, p->rows[i].len);
}

void sql_page_next(struct sql_page *p)
{
    struct sql_page_row last = p->count > 0 ? p->rows[p->count - 1] : (struct sql_page_row){ 0 };

    if (!p->carries) {
        p->count = 0;
        buf_clear(&p->text);
        return;
    }
    memmove(p->text.ptr, p->text.ptr + last.from, last.len);
    buf_cut(&p->text, last.len);
    last.from = 0;
    last.known = false;
    p->rows[0] = last;
    p->count = 1;
    p->carries = false;
}
