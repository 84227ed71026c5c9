/* mariadb_rows.c - rows of a table, by ranges of its key or by keys. */
#include <stdlib.h>

#include "base/alloc.h"
#include "table/mariadb/mariadb.h"

enum { ROWS_KEYS = 128 /* of one statement */ };

static enum mariadb_kind *rows_kinds(const struct fit *fit)
{
    enum mariadb_kind *kinds = xcalloc(fit->count + 1, sizeof *kinds);

    for (size_t i = 0; i < fit->count; i++)
        kinds[i] = mariadb_kind_of(fit, i);
    return kinds;
}

static void rows_put_select(struct buf *sql, const struct fit *fit, const char *table)
{
    buf_puts(sql, "SELECT ");
    for (size_t i = 0; i < fit->count; i++) {
        if (i > 0)
            buf_puts(sql, ", ");
        mariadb_put_column(sql, fit, table, i);
    }
    buf_puts(sql, " FROM ");
    buf_put(sql, fit->shape->quoted);
}

static bool rows_key_has_uuid(const struct fit *fit)
{
    for (size_t i = 0; i < fit->key_count; i++)
        if (mariadb_kind_of(fit, i) == MARIADB_UUID)
            return true;
    return false;
}

static bool rows_ask(struct database *d, const struct fit *fit, const struct buf *sql,
                     const struct cell *params, size_t count, row_fn *fn, void *arg,
                     struct err *err)
{
    enum mariadb_kind *kinds = rows_kinds(fit);
    const struct mariadb_ask ask = { .sql = buf_view(sql),
                                     .params = params,
                                     .param_count = count,
                                     .kinds = kinds,
                                     .column_count = fit->count,
                                     .fn = fn,
                                     .arg = arg };
    bool ok = mariadb_ask(d, &ask, err);

    free(kinds);
    return ok;
}

bool mariadb_rows(struct database *d, const struct fit *fit, const struct cell *after,
                  const struct cell *upto, size_t most, row_fn *fn, void *arg, struct err *err)
{
    struct cell params[2 * MARIADB_BEYOND_PARAMS + 1];
    struct buf sql = BUF_INIT(MARIADB_SQL_MOST);
    size_t count = 0;

    rows_put_select(&sql, fit, "t.");
    buf_puts(&sql, rows_key_has_uuid(fit) ? " t" : " t FORCE INDEX (PRIMARY)");
    if (after != NULL) {
        buf_puts(&sql, " WHERE ");
        mariadb_put_beyond(&sql, fit, after, ">", params, &count);
    }
    if (upto != NULL) {
        buf_puts(&sql, after != NULL ? " AND " : " WHERE ");
        mariadb_put_beyond(&sql, fit, upto, "<=", params, &count);
    }
    buf_puts(&sql, " ORDER BY ");
    mariadb_put_order(&sql, fit, "t.");
    buf_puts(&sql, " LIMIT ?");
    params[count++] = mariadb_int(most > INT64_MAX ? INT64_MAX : (int64_t)most);
    bool ok = rows_ask(d, fit, &sql, params, count, fn, arg, err);

    buf_done(&sql);
    return ok;
}

struct rows_fetching {
    row_fn *fn;
    void *arg;
    bool over;
};

static bool rows_fetched(void *arg, const struct cell *cells, struct err *err)
{
    struct rows_fetching *f = arg;

    f->over = !f->fn(f->arg, cells, err);
    return !f->over;
}

bool mariadb_rows_of(struct database *d, const struct fit *fit, const struct cell *keys,
                     size_t count, row_fn *fn, void *arg, struct err *err)
{
    struct rows_fetching f = { .fn = fn, .arg = arg };
    struct buf sql = BUF_INIT(MARIADB_SQL_MOST);
    bool ok = true;

    for (size_t at = 0; ok && !f.over && at < count;) {
        size_t n = count - at < ROWS_KEYS ? count - at : ROWS_KEYS;

        if (n < ROWS_KEYS && n > 1) /* few different statements: they are kept prepared */
            n = n >= 16 ? 16 : 1;
        buf_clear(&sql);
        rows_put_select(&sql, fit, "");
        buf_puts(&sql, " WHERE ");
        mariadb_put_keys(&sql, fit, n);
        if (d->writing)
            buf_puts(&sql, " FOR UPDATE");
        ok = rows_ask(d, fit, &sql, &keys[at * fit->key_count], n * fit->key_count, rows_fetched,
                      &f, err);
        at += n;
    }
    buf_done(&sql);
    return ok;
}

static bool count_take(void *arg, const struct cell *cells, struct err *err)
{
    int64_t *ret = arg;

    (void)err;
    *ret = cells[0].i;
    return true;
}

bool mariadb_count(struct database *d, const struct fit *fit, int64_t *ret, struct err *err)
{
    static const enum mariadb_kind kind = MARIADB_INT;
    struct buf sql = BUF_INIT(MARIADB_SQL_MOST);

    buf_puts(&sql, "SELECT COUNT(*) FROM ");
    buf_put(&sql, fit->shape->quoted);
    const struct mariadb_ask ask = {
        .sql = buf_view(&sql), .kinds = &kind, .column_count = 1, .fn = count_take, .arg = ret
    };
    bool ok = mariadb_ask(d, &ask, err);

    buf_done(&sql);
    return ok;
}
