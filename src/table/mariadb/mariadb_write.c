/* mariadb_write.c - rows go into a table, and out of it.
 *
 * INSERT ... ON DUPLICATE KEY UPDATE takes any unique key for the one that is meant, and would
 * overwrite another row that has, say, the same e-mail address.  So the update first looks whether
 * the row that it found has the key of the one that is written; if it has not, a subquery that
 * yields two rows is asked for its one value, which fails (ER_SUBQUERY_NO_1_ROW): such a row is
 * refused, as it is everywhere else.  Where the key itself is there, its row is the one that is
 * found: the primary key is looked at first.
 *
 * Statements have few sizes, so that they stay prepared.
 */
#include "table/mariadb/mariadb.h"

enum { WRITE_ROWS = 256 };

static size_t write_size(const struct cell *cells, size_t count)
{
    size_t size = 0;

    for (size_t i = 0; i < count; i++) {
        enum cell_type t = cells[i].type;
        bool bytes =
            t == CELL_DEC || t == CELL_TEXT || t == CELL_BYTES || t == CELL_JSON || t == CELL_UUID;

        size += 48 + (bytes ? cells[i].s.len : 0);
    }
    return size;
}

/* How many of `count` rows go into one statement. */
static bool write_take(const struct database *d, const struct cell *cells, size_t wide,
                       size_t count, size_t *ret, struct err *err)
{
    static const size_t sizes[] = { WRITE_ROWS, 64, 16, 4, 1 };
    size_t n = 0, bytes = 1024;

    while (n < count && n < WRITE_ROWS && (n + 1) * wide <= MARIADB_PARAMS_MOST) {
        bytes += write_size(&cells[n * wide], wide);
        if (bytes > d->packet)
            break;
        n++;
    }
    if (n == 0)
        return err_set(err, ERR_LIMIT, 0,
                       "a row is larger than the server takes (max_allowed_packet is %zu)",
                       d->packet);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i] <= n) {
            *ret = sizes[i];
            return true;
        }
    *ret = 1;
    return true;
}

static struct str write_name(const struct fit *fit, size_t i)
{
    return fit->shape->columns[fit->columns[i].at].name;
}

/* `name` = IF(`key` is the one that is written, `name`, fail) */
static void write_put_check(struct buf *sql, const struct fit *fit)
{
    struct str first = write_name(fit, 0);
    bool uuid =
        mariadb_kind_of(fit, 0) == MARIADB_UUID; /* it takes no number, even if none comes */

    mariadb_put_name(sql, first);
    buf_puts(sql, " = IF(");
    for (size_t i = 0; i < fit->key_count; i++) {
        if (i > 0)
            buf_puts(sql, " AND ");
        mariadb_put_name(sql, write_name(fit, i));
        buf_puts(sql, " <=> VALUES(");
        mariadb_put_name(sql, write_name(fit, i));
        buf_putc(sql, ')');
    }
    buf_puts(sql, ", ");
    mariadb_put_name(sql, first);
    buf_puts(sql, uuid ? ", (SELECT UUID() UNION ALL SELECT UUID()))"
                       : ", (SELECT 1 UNION ALL SELECT 2))");
}

static void write_put_insert(struct buf *sql, const struct fit *fit, size_t rows)
{
    buf_puts(sql, "INSERT INTO ");
    buf_put(sql, fit->shape->quoted);
    buf_puts(sql, " (");
    for (size_t i = 0; i < fit->count; i++) {
        if (i > 0)
            buf_puts(sql, ", ");
        mariadb_put_name(sql, write_name(fit, i));
    }
    buf_puts(sql, ") VALUES ");
    for (size_t r = 0; r < rows; r++) {
        buf_puts(sql, r > 0 ? ", (?" : "(?");
        for (size_t i = 1; i < fit->count; i++)
            buf_puts(sql, ", ?");
        buf_putc(sql, ')');
    }
}

static void write_put_update(struct buf *sql, const struct fit *fit)
{
    buf_puts(sql, " ON DUPLICATE KEY UPDATE ");
    write_put_check(sql, fit);
    for (size_t i = fit->key_count; i < fit->count; i++) {
        buf_puts(sql, ", ");
        mariadb_put_name(sql, write_name(fit, i));
        buf_puts(sql, " = VALUES(");
        mariadb_put_name(sql, write_name(fit, i));
        buf_putc(sql, ')');
    }
}

static bool write_pieces(struct database *d, const struct fit *fit, const struct cell *rows,
                         size_t count, bool add, struct err *err)
{
    struct buf sql = BUF_INIT(MARIADB_SQL_MOST);
    bool ok = true;

    for (size_t at = 0, n; ok && at < count; at += n) {
        const struct cell *part = &rows[at * fit->count];

        if (!write_take(d, part, fit->count, count - at, &n, err)) {
            ok = false;
            break;
        }
        buf_clear(&sql);
        write_put_insert(&sql, fit, n);
        if (!add)
            write_put_update(&sql, fit);
        ok = mariadb_tell(d, buf_view(&sql), part, n * fit->count, NULL, err);
    }
    buf_done(&sql);
    return ok;
}

bool mariadb_upsert(struct database *d, const struct fit *fit, const struct cell *rows,
                    size_t count, struct err *err)
{
    return write_pieces(d, fit, rows, count, false, err);
}

bool mariadb_add(struct database *d, const struct fit *fit, const struct cell *rows, size_t count,
                 struct err *err)
{
    return write_pieces(d, fit, rows, count, true, err);
}

bool mariadb_remove(struct database *d, const struct fit *fit, const struct cell *keys,
                    size_t count, int64_t *ret_removed, struct err *err)
{
    struct buf sql = BUF_INIT(MARIADB_SQL_MOST);
    int64_t removed = 0, all = 0;
    bool ok = true;

    for (size_t at = 0, n; ok && at < count; at += n) {
        const struct cell *part = &keys[at * fit->key_count];

        if (!write_take(d, part, fit->key_count, count - at, &n, err)) {
            ok = false;
            break;
        }
        buf_clear(&sql);
        buf_puts(&sql, "DELETE FROM ");
        buf_put(&sql, fit->shape->quoted);
        buf_puts(&sql, " WHERE ");
        mariadb_put_keys(&sql, fit, n);
        ok = mariadb_tell(d, buf_view(&sql), part, n * fit->key_count, &removed, err);
        all += removed;
    }
    buf_done(&sql);
    if (ok)
        *ret_removed = all;
    return ok;
}
