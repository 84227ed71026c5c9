/* mariadb_changes.c - the changes of a table in their order, each with the row as it is now.
 *
 * Numbers of the journal are each drawn once, so that their order is that of (x, key).  Journal and
 * table are read by one statement, which sees both as of one moment.
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "table/key.h"
#include "table/mariadb/mariadb.h"

enum { CHANGES_KEYS = 128 /* of one statement */ };
enum { CHANGE_X, CHANGE_TIME, CHANGE_ORIGIN, CHANGE_IS_THERE, CHANGE_CELLS };

struct changes_reading {
    const struct fit *fit;
    change_fn *fn;
    void *arg;
};

static bool change_take(void *arg, const struct cell *cells, struct err *err)
{
    struct changes_reading *r = arg;
    const struct change change = { .x = cells[CHANGE_X].i,
                                   .at_us = cells[CHANGE_TIME].i,
                                   .gone = cells[CHANGE_IS_THERE].i == 0,
                                   .origin = cells[CHANGE_ORIGIN].s,
                                   .cells = cells + CHANGE_CELLS };

    return r->fn(r->arg, &change, err);
}

static bool changes_ask(struct database *d, const struct fit *fit, enum mariadb_kind x,
                        const struct buf *sql, const struct cell *params, size_t count,
                        struct changes_reading *r, struct err *err)
{
    enum mariadb_kind *kinds = xcalloc(fit->count + CHANGE_CELLS, sizeof *kinds);

    kinds[CHANGE_X] = x;
    kinds[CHANGE_TIME] = MARIADB_INT;
    kinds[CHANGE_ORIGIN] = MARIADB_TEXT;
    kinds[CHANGE_IS_THERE] = MARIADB_INT;
    for (size_t i = 0; i < fit->count; i++)
        kinds[CHANGE_CELLS + i] = mariadb_kind_of(fit, i);
    const struct mariadb_ask ask = { .sql = buf_view(sql),
                                     .params = params,
                                     .param_count = count,
                                     .kinds = kinds,
                                     .column_count = fit->count + CHANGE_CELLS,
                                     .fn = change_take,
                                     .arg = r };
    bool ok = mariadb_ask(d, &ask, err);

    free(kinds);
    return ok;
}

/* ---- of the journal ---- */

/* Column i of the key as the journal has it. */
static void changes_put_key(struct buf *sql, const struct fit *fit, size_t i)
{
    enum mariadb_kind kind = mariadb_kind_of(fit, i);

    if (kind == MARIADB_UUID)
        buf_printf(sql, "CAST(j.k%zu AS BINARY(16))", i + 1);
    else
        buf_printf(sql, "j.k%zu%s", i + 1,
                   kind == MARIADB_BIT || kind == MARIADB_BITS ? " + 0" : "");
}

static void changes_put_journal(struct buf *sql, const struct fit *fit)
{
    const struct shape *shape = fit->shape;

    buf_puts(sql, "SELECT j.x, j.at_us, j.origin, t.");
    mariadb_put_name(sql, shape->columns[fit->columns[0].at].name);
    buf_puts(sql, " IS NOT NULL");
    for (size_t i = 0; i < fit->count; i++) {
        buf_puts(sql, ", ");
        if (i < fit->key_count)
            changes_put_key(sql, fit, i);
        else
            mariadb_put_column(sql, fit, "t.", i);
    }
    buf_puts(sql, " FROM ");
    mariadb_put_journal(sql, shape);
    buf_puts(sql, " j FORCE INDEX (x) LEFT JOIN ");
    buf_put(sql, shape->quoted);
    buf_puts(sql, " t ON ");
    for (size_t i = 0; i < fit->key_count; i++) {
        buf_puts(sql, i > 0 ? " AND t." : "t.");
        mariadb_put_name(sql, shape->columns[fit->columns[i].at].name);
        buf_printf(sql, " = j.k%zu", i + 1);
    }
    buf_puts(sql, " WHERE j.x >= ? AND j.x < ? ORDER BY j.x LIMIT ?");
}

/* The smallest number behind the place. */
static int64_t changes_from(const struct change_place *after)
{
    return after->key.len == 0 || after->x == INT64_MAX ? after->x : after->x + 1;
}

/* ---- of a column ---- */

static bool changes_key(const struct fit *fit, struct str key, struct arena *a, struct cell *ret,
                        struct err *err)
{
    enum cell_type types[SHAPE_KEY_MOST];
    struct cell cells[SHAPE_KEY_MOST];

    for (size_t i = 0; i < fit->key_count; i++)
        types[i] = fit->columns[i].travels;
    if (!key_take(key, types, fit->key_count, a, cells, err))
        return false;
    for (size_t i = 0; i < fit->key_count; i++)
        if (!cell_cast(&cells[i], fit->shape->columns[fit->columns[i].at].natural, a, &ret[i], err))
            return false;
    return true;
}

static bool changes_of_column(struct database *d, const struct fit *fit, struct str column,
                              const struct change_place *after, int64_t below, size_t most,
                              struct changes_reading *r, struct err *err)
{
    const struct shape_column *c = shape_column(fit->shape, column);
    struct cell params[MARIADB_BEYOND_PARAMS + 4], key[SHAPE_KEY_MOST];
    struct buf sql = BUF_INIT(MARIADB_SQL_MOST);
    struct arena a = ARENA_INIT(1 << 20);
    size_t count = 0;

    if (c == NULL ||
        (c->natural != CELL_INT && c->natural != CELL_INSTANT && c->natural != CELL_LOCAL))
        return err_set(err, ERR_CONFIG, 0, "column %.*s is no number and no time of changes",
                       STR_ARG(str_first(column, 60)));
    struct cell x = { .type = c->natural, .i = after->x }, end = { .type = c->natural, .i = below };
    bool ok = true;

    if (c->natural != CELL_INT && after->x < 0)
        x.i = 0; /* no change is older than 1970 */
    buf_puts(&sql, "SELECT t.");
    mariadb_put_name(&sql, c->name);
    buf_puts(&sql, ", 0, '', 1");
    for (size_t i = 0; i < fit->count; i++) {
        buf_puts(&sql, ", ");
        mariadb_put_column(&sql, fit, "t.", i);
    }
    buf_puts(&sql, " FROM ");
    buf_put(&sql, fit->shape->quoted);
    buf_puts(&sql, " t WHERE t.");
    mariadb_put_name(&sql, c->name);
    buf_puts(&sql, " >= ? AND t.");
    mariadb_put_name(&sql, c->name);
    buf_puts(&sql, " < ?");
    params[count++] = x;
    params[count++] = end;
    if (after->key.len > 0 && (ok = changes_key(fit, after->key, &a, key, err))) {
        buf_puts(&sql, " AND (t.");
        mariadb_put_name(&sql, c->name);
        buf_puts(&sql, " > ? OR (");
        params[count++] = x;
        mariadb_put_beyond(&sql, fit, key, ">", params, &count);
        buf_puts(&sql, "))");
    }
    buf_puts(&sql, " ORDER BY t.");
    mariadb_put_name(&sql, c->name);
    buf_puts(&sql, ", ");
    mariadb_put_order(&sql, fit, "t.");
    buf_puts(&sql, " LIMIT ?");
    params[count++] = mariadb_int(most > INT64_MAX ? INT64_MAX : (int64_t)most);
    ok = ok && changes_ask(d, fit, (enum mariadb_kind)c->detail, &sql, params, count, r, err);
    arena_done(&a);
    buf_done(&sql);
    return ok;
}

bool mariadb_changes(struct database *d, const struct fit *fit, const struct capture *capture,
                     const struct change_place *after, int64_t below, size_t most, change_fn *fn,
                     void *arg, struct err *err)
{
    struct changes_reading r = { .fit = fit, .fn = fn, .arg = arg };

    if (capture->kind == CAPTURE_COLUMN)
        return changes_of_column(d, fit, capture->column, after, below, most, &r, err);
    const struct cell params[] = { mariadb_int(changes_from(after)), mariadb_int(below),
                                   mariadb_int(most > INT64_MAX ? INT64_MAX : (int64_t)most) };
    struct buf sql = BUF_INIT(MARIADB_SQL_MOST);

    changes_put_journal(&sql, fit);
    bool ok = changes_ask(d, fit, MARIADB_INT, &sql, params, 3, &r, err);

    buf_done(&sql);
    return ok;
}

/* ---- one number ---- */

struct changes_number {
    bool has;
    int64_t x;
};

static bool changes_number_take(void *arg, const struct cell *cells, struct err *err)
{
    struct changes_number *n = arg;

    (void)err;
    n->has = true;
    n->x = cells[0].i;
    return true;
}

static bool changes_number_ask(struct database *d, const struct buf *sql, const struct cell *params,
                               size_t count, struct changes_number *ret, struct err *err)
{
    static const enum mariadb_kind kind = MARIADB_INT;
    const struct mariadb_ask ask = { .sql = buf_view(sql),
                                     .params = params,
                                     .param_count = count,
                                     .kinds = &kind,
                                     .column_count = 1,
                                     .fn = changes_number_take,
                                     .arg = ret };

    return mariadb_ask(d, &ask, err);
}

/* ---- of some keys ---- */

struct changes_keys {
    struct changes_reading reading;
    bool over;
};

static bool changes_key_take(void *arg, const struct cell *cells, struct err *err)
{
    struct changes_keys *k = arg;
    const struct change change = {
        .x = cells[0].i, .at_us = cells[1].i, .origin = cells[2].s, .cells = cells + 3
    };

    k->over = !k->reading.fn(k->reading.arg, &change, err);
    return !k->over;
}

static void changes_put_keys(struct buf *sql, const struct fit *fit, size_t count)
{
    buf_puts(sql, "SELECT j.x, j.at_us, j.origin");
    for (size_t i = 0; i < fit->key_count; i++) {
        buf_puts(sql, ", ");
        changes_put_key(sql, fit, i);
    }
    buf_puts(sql, " FROM ");
    mariadb_put_journal(sql, fit->shape);
    buf_puts(sql, fit->key_count == 1 ? " j WHERE j.k1 IN (" : " j WHERE ");
    for (size_t n = 0; n < count; n++) {
        if (fit->key_count == 1) {
            buf_puts(sql, n > 0 ? ", ?" : "?");
            continue;
        }
        for (size_t i = 0; i < fit->key_count; i++)
            buf_printf(sql, "%sj.k%zu = ?", i > 0 ? " AND " : n > 0 ? " OR (" : "(", i + 1);
        buf_putc(sql, ')');
    }
    buf_puts(sql, fit->key_count == 1 ? ")" : "");
}

bool mariadb_changes_of(struct database *d, const struct fit *fit, const struct cell *keys,
                        size_t count, change_fn *fn, void *arg, struct err *err)
{
    enum mariadb_kind kinds[SHAPE_KEY_MOST + 3] = { MARIADB_INT, MARIADB_INT, MARIADB_TEXT };
    struct changes_keys k = { .reading = { .fit = fit, .fn = fn, .arg = arg } };
    struct buf sql = BUF_INIT(MARIADB_SQL_MOST);
    bool ok = true;

    for (size_t i = 0; i < fit->key_count; i++)
        kinds[3 + i] = mariadb_kind_of(fit, i);
    for (size_t at = 0, n; ok && !k.over && at < count; at += n) {
        n = count - at;
        n = n >= CHANGES_KEYS ? CHANGES_KEYS : n >= 16 ? 16 : 1; /* few different statements */
        buf_clear(&sql);
        changes_put_keys(&sql, fit, n);
        const struct mariadb_ask ask = { .sql = buf_view(&sql),
                                         .params = &keys[at * fit->key_count],
                                         .param_count = n * fit->key_count,
                                         .kinds = kinds,
                                         .column_count = fit->key_count + 3,
                                         .fn = changes_key_take,
                                         .arg = &k };

        ok = mariadb_ask(d, &ask, err);
    }
    buf_done(&sql);
    return ok;
}

bool mariadb_backlog(struct database *d, const struct fit *fit, const struct change_place *after,
                     int64_t most, int64_t *ret, struct err *err)
{
    const struct cell params[] = { mariadb_int(changes_from(after)), mariadb_int(most) };
    struct buf sql = BUF_INIT(MARIADB_SQL_MOST);
    struct changes_number n = { 0 };

    buf_puts(&sql, "SELECT COUNT(*) FROM (SELECT 1 FROM ");
    mariadb_put_journal(&sql, fit->shape);
    buf_puts(&sql, " WHERE x >= ? LIMIT ?) q");
    bool ok = changes_number_ask(d, &sql, params, 2, &n, err);

    buf_done(&sql);
    *ret = n.x;
    return ok;
}
