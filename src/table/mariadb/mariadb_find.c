/* mariadb_find.c - rows that should not be there (sought.h).
 *
 * What takes too long is ended by the server itself, so that it does not go on when nobody reads
 * its answer any more.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"
#include "table/mariadb/mariadb.h"
#include "table/sought.h"

/* ---- parts of statements ---- */

static void mariadb_find_put_column(struct buf *sql, const char *table,
                                    const struct shape_column *c)
{
    buf_puts(sql, table);
    mariadb_put_name(sql, c->name);
}

/* A short text, whatever its type. */
static void mariadb_find_put_text(struct buf *sql, const struct shape_column *c)
{
    switch ((enum mariadb_kind)c->detail) {
    case MARIADB_NONE:
    case MARIADB_BYTES:
        buf_puts(sql, "HEX(LEFT(");
        mariadb_find_put_column(sql, "t.", c);
        buf_printf(sql, ", %d))", SOUGHT_VALUE_MOST / 2 + 1);
        return;
    case MARIADB_BIT:
    case MARIADB_BITS:
        buf_puts(sql, "CAST(");
        mariadb_find_put_column(sql, "t.", c);
        buf_puts(sql, " + 0 AS CHAR)");
        return;
    default:
        buf_puts(sql, "LEFT(CAST(");
        mariadb_find_put_column(sql, "t.", c);
        buf_printf(sql, " AS CHAR), %d)", SOUGHT_VALUE_MOST + 1);
    }
}

static void mariadb_find_put_shown(struct buf *sql, const struct sought *s)
{
    size_t places[SOUGHT_SHOWN_MOST], n = sought_shown(s, places);

    for (size_t i = 0; i < n; i++) {
        buf_puts(sql, i > 0 ? ", " : "");
        mariadb_find_put_text(sql, &s->shape->columns[places[i]]);
    }
    buf_puts(sql, s->kind == SOUGHT_DUPLICATES ? ", CAST(COUNT(*) AS CHAR)" : "");
}

static void mariadb_find_put_values(struct buf *sql, const struct sought *s, struct cell *params,
                                    size_t *count)
{
    for (size_t i = 0; i < s->value_count; i++) {
        mariadb_find_put_column(sql, " AND t.", &s->shape->columns[s->values[i].column]);
        buf_puts(sql, s->values[i].value.type == CELL_NULL ? " IS NULL" : " = ?");
        if (s->values[i].value.type != CELL_NULL)
            params[(*count)++] = s->values[i].value;
    }
}

static void mariadb_find_put_not_null(struct buf *sql, const struct sought *s)
{
    for (size_t i = 0; i < s->count; i++) {
        mariadb_find_put_column(sql, " AND t.", sought_column(s, i));
        buf_puts(sql, " IS NOT NULL");
    }
}

static void mariadb_find_put_none(struct buf *sql, const struct sought *s)
{
    buf_puts(sql, " AND NOT EXISTS (SELECT 1 FROM ");
    buf_put(sql, s->in->quoted);
    buf_puts(sql, " k WHERE ");
    for (size_t i = 0; i < s->count; i++) {
        mariadb_find_put_column(sql, i > 0 ? " AND k." : "k.", &s->in->columns[s->keys[i]]);
        mariadb_find_put_column(sql, " = t.", sought_column(s, i));
    }
    buf_putc(sql, ')');
}

static void mariadb_find_put_groups(struct buf *sql, const struct sought *s)
{
    buf_puts(sql, " GROUP BY ");
    for (size_t i = 0; i < s->count; i++)
        mariadb_find_put_column(sql, i > 0 ? ", t." : "t.", sought_column(s, i));
    buf_puts(sql, " HAVING COUNT(*) > 1");
}

static bool mariadb_find_put(struct buf *sql, const struct sought *s, struct cell *params,
                             size_t *count, struct err *err)
{
    buf_puts(sql, s->kind == SOUGHT_ROWS ? "SELECT COUNT(*) FROM (SELECT 1" : "SELECT ");
    if (s->kind != SOUGHT_ROWS)
        mariadb_find_put_shown(sql, s);
    buf_puts(sql, " FROM ");
    buf_put(sql, s->shape->quoted);
    buf_puts(sql, " t WHERE TRUE");
    mariadb_find_put_values(sql, s, params, count);
    if (s->kind == SOUGHT_OLDER) {
        mariadb_find_put_column(sql, " AND t.", sought_column(s, 0));
        buf_puts(sql, " < ?");
        if (!sought_before(s, &params[(*count)++], err))
            return false;
    }
    mariadb_find_put_not_null(sql, s);
    if (s->kind == SOUGHT_ORPHANS)
        mariadb_find_put_none(sql, s);
    if (s->kind == SOUGHT_DUPLICATES)
        mariadb_find_put_groups(sql, s);
    buf_puts(sql, s->kind == SOUGHT_ROWS ? " LIMIT ?) s" : " LIMIT ?");
    params[(*count)++] = mariadb_int(s->most);
    return true;
}

/* ---- asking ---- */

struct mariadb_finding {
    const struct sought *s;
    struct found *found;
    struct arena *arena;
    size_t width;
};

static bool mariadb_find_take(void *arg, const struct cell *cells, struct err *err)
{
    const struct mariadb_finding *f = arg;
    struct str texts[SOUGHT_SHOWN_MOST + 1];

    (void)err;
    if (f->s->kind == SOUGHT_ROWS) {
        f->found->count = cells[0].i;
        return true;
    }
    for (size_t i = 0; i < f->width; i++)
        texts[i] = cells[i].type == CELL_NULL ? (struct str){ 0 } : cells[i].s;
    found_add(f->found, f->s, texts, f->arena);
    return true;
}

static bool mariadb_find_ask(struct database *d, const struct sought *s, const struct buf *sql,
                             const struct cell *params, size_t count, struct mariadb_finding *f,
                             struct err *err)
{
    enum mariadb_kind kinds[SOUGHT_SHOWN_MOST + 1];
    size_t places[SOUGHT_SHOWN_MOST];

    f->width =
        s->kind == SOUGHT_ROWS ? 1 : sought_shown(s, places) + (s->kind == SOUGHT_DUPLICATES);
    for (size_t i = 0; i < f->width; i++)
        kinds[i] = s->kind == SOUGHT_ROWS ? MARIADB_INT : MARIADB_TEXT;
    const struct mariadb_ask ask = { .sql = buf_view(sql),
                                     .params = params,
                                     .param_count = count,
                                     .kinds = kinds,
                                     .column_count = f->width,
                                     .fn = mariadb_find_take,
                                     .arg = f };

    return mariadb_ask(d, &ask, err);
}

bool mariadb_find(struct database *d, const struct sought *s, struct arena *a, struct found *ret,
                  struct err *err)
{
    AUTO(buf_done) struct buf sql = BUF_INIT(MARIADB_SQL_MOST), limit = BUF_INIT(200);
    struct mariadb_finding f = { .s = s, .found = ret, .arena = a };
    struct cell *params = xcalloc(s->value_count + 2, sizeof *params);
    struct err why = { 0 };
    size_t count = 0;

    *ret = (struct found){ 0 };
    buf_printf(&limit, "SET SESSION max_statement_time = %.3f",
               (double)d->timeout_us * 0.9 / CLOCK_S);
    bool ok =
        mariadb_find_put(&sql, s, params, &count, err) && mariadb_run(d, buf_view(&limit), err);

    if (ok) {
        ok = mariadb_find_ask(d, s, &sql, params, count, &f, err);
        if (!d->lost && !mariadb_run(d, STR("SET SESSION max_statement_time = DEFAULT"), &why)) {
            d->lost = true;
            if (ok)
                *err = why;
            ok = false;
        }
    }
    free(params);
    return ok;
}
