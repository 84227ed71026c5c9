/* mariadb_query.c - parts of statements over a table: columns, ranges of keys, orders.
 *
 * A UUID of MariaDB has an order of its own (its last group first), so it is compared and ordered
 * as its bytes, which no index helps: reading a table by such a key sorts it.
 */
#include "base/require.h"
#include "table/mariadb/mariadb.h"

static const struct shape_column *query_column(const struct fit *fit, size_t i)
{
    return &fit->shape->columns[fit->columns[i].at];
}

enum mariadb_kind mariadb_kind_of(const struct fit *fit, size_t column)
{
    return (enum mariadb_kind)query_column(fit, column)->detail;
}

static void query_put_plain(struct buf *sql, const struct fit *fit, const char *table, size_t i)
{
    buf_puts(sql, table);
    mariadb_put_name(sql, query_column(fit, i)->name);
}

void mariadb_put_column(struct buf *sql, const struct fit *fit, const char *table, size_t i)
{
    enum mariadb_kind kind = mariadb_kind_of(fit, i);

    if (kind == MARIADB_UUID)
        buf_puts(sql, "CAST(");
    query_put_plain(sql, fit, table, i);
    if (kind == MARIADB_UUID)
        buf_puts(sql, " AS BINARY(16))");
    else if (kind == MARIADB_BIT || kind == MARIADB_BITS)
        buf_puts(sql, " + 0");
}

void mariadb_put_order(struct buf *sql, const struct fit *fit, const char *table)
{
    for (size_t i = 0; i < fit->key_count; i++) {
        if (i > 0)
            buf_puts(sql, ", ");
        if (mariadb_kind_of(fit, i) == MARIADB_UUID)
            mariadb_put_column(sql, fit, table, i);
        else
            query_put_plain(sql, fit, table, i);
    }
}

static void query_put_compared(struct buf *sql, const struct fit *fit, size_t i, const char *sign,
                               const struct cell *c, struct cell *params, size_t *count)
{
    bool uuid = mariadb_kind_of(fit, i) == MARIADB_UUID;

    if (uuid)
        mariadb_put_column(sql, fit, "t.", i);
    else
        query_put_plain(sql, fit, "t.", i);
    buf_printf(sql, " %s ?", sign);
    params[*count] = *c;
    if (uuid)
        params[*count].type = CELL_BYTES;
    ++*count;
}

/* (a, b) > (x, y) as a >= x AND (a > x OR a = x AND b > y): MariaDB takes no range of an index for
 * a comparison of rows. */
void mariadb_put_beyond(struct buf *sql, const struct fit *fit, const struct cell *key,
                        const char *sign, struct cell *params, size_t *count)
{
    char strict[2] = { sign[0], '\0' }, wide[3] = { sign[0], '=', '\0' };

    require(sign[0] == '<' || sign[0] == '>');
    query_put_compared(sql, fit, 0, fit->key_count > 1 ? wide : sign, &key[0], params, count);
    if (fit->key_count == 1)
        return;
    buf_puts(sql, " AND (");
    for (size_t i = 0; i < fit->key_count; i++) {
        buf_puts(sql, i > 0 ? " OR (" : "(");
        for (size_t j = 0; j <= i; j++) {
            const char *last = i + 1 == fit->key_count ? sign : strict;

            if (j > 0)
                buf_puts(sql, " AND ");
            query_put_compared(sql, fit, j, j == i ? last : "=", &key[j], params, count);
        }
        buf_putc(sql, ')');
    }
    buf_putc(sql, ')');
}

void mariadb_put_keys(struct buf *sql, const struct fit *fit, size_t rows)
{
    if (fit->key_count == 1) {
        query_put_plain(sql, fit, "", 0);
        buf_puts(sql, " IN (?");
        for (size_t i = 1; i < rows; i++)
            buf_puts(sql, ", ?");
        buf_putc(sql, ')');
        return;
    }
    for (size_t i = 0; i < rows; i++) {
        buf_puts(sql, i > 0 ? " OR (" : "(");
        for (size_t j = 0; j < fit->key_count; j++) {
            if (j > 0)
                buf_puts(sql, " AND ");
            query_put_plain(sql, fit, "", j);
            buf_puts(sql, " = ?");
        }
        buf_putc(sql, ')');
    }
}
