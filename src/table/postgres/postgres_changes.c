/* postgres_changes.c - changes in their order, each with the row as it is now.
 *
 * The journal says which keys; the row is read by its key, once for each (LATERAL ... LIMIT 1, so
 * that no plan reads the whole table).  By a column, the rows are their own changes.
 */
#include "table/key.h"
#include "table/postgres/postgres.h"

enum { ARGS_ARENA = 1 << 20, PLACE_ARENA = 1 << 20, JOURNAL_KEYS = 4000 /* of one statement */ };

/* ---- a place ---- */

/* The key of a place, as the columns have it by nature; *ret NULL: it has none. */
static bool place_cells(const struct fit *fit, const struct change_place *place, struct arena *a,
                        struct cell **ret, struct err *err)
{
    enum cell_type types[SHAPE_KEY_MOST];
    struct cell *cells = ARENA_ARRAY(a, struct cell, fit->key_count);

    *ret = NULL;
    if (place->key.len == 0)
        return true;
    for (size_t i = 0; i < fit->key_count; i++)
        types[i] = fit->columns[i].travels;
    if (!key_take(place->key, types, fit->key_count, a, cells, err))
        return false;
    for (size_t i = 0; i < fit->key_count; i++) {
        struct cell came = cells[i];

        if (!cell_cast(&came, postgres_column(fit, i)->natural, a, &cells[i], err))
            return false;
    }
    *ret = cells;
    return true;
}

/* (x, k1, ...) > ($1, $2, ...), of the journal. */
static bool place_put(struct postgres *p, struct postgres_args *args, const struct fit *fit,
                      const struct change_place *after, struct arena *a, struct err *err)
{
    struct cell *key;

    if (!place_cells(fit, after, a, &key, err))
        return false;
    if (key == NULL) {
        buf_printf(&p->sql, "j.x >= $%zu", postgres_arg_x(args, after->x));
        return true;
    }
    buf_puts(&p->sql, "(j.x, ");
    postgres_keys(&p->sql, fit, "j.");
    buf_printf(&p->sql, ") > ($%zu, ", postgres_arg_x(args, after->x));
    if (!postgres_put_key(&p->sql, args, fit, key, a, err))
        return false;
    buf_putc(&p->sql, ')');
    return true;
}

/* ---- the journal ---- */

struct postgres_window {
    struct postgres *p;
    const struct fit *fit;
    change_fn *fn;
    void *arg;
    struct cell *cells;
};

enum { AT_X, AT_TIME, AT_ORIGIN, AT_THERE, AT_CELLS };

static bool window_take(void *arg, const PGresult *row, struct err *err)
{
    struct postgres_window *w = arg;
    struct change c = { .x = postgres_int(row, AT_X),
                        .at_us = postgres_int(row, AT_TIME),
                        .gone = !postgres_bool(row, AT_THERE),
                        .origin = postgres_text(row, AT_ORIGIN),
                        .cells = w->cells };

    for (size_t i = 0; i < w->fit->count; i++)
        w->cells[i] = postgres_cell(w->p, row, AT_CELLS + (int)i);
    return w->fn(w->arg, &c, err);
}

static void changes_select(struct buf *to, const struct fit *fit)
{
    buf_puts(to, "SELECT j.x, j.at_us, j.origin, t.there, ");
    postgres_keys(to, fit, "j.");
    for (size_t i = fit->key_count; i < fit->count; i++)
        buf_printf(to, ", t.v%zu", i + 1);
    buf_puts(to, " FROM (SELECT j.x, j.at_us, j.origin, ");
    postgres_keys(to, fit, "j.");
    buf_puts(to, " FROM ");
    postgres_part(to, fit->shape, PART_JOURNAL);
    buf_puts(to, " j WHERE ");
}

static void changes_join(struct buf *to, const struct fit *fit)
{
    buf_puts(to, ") j LEFT JOIN LATERAL (SELECT true");
    if (fit->count > fit->key_count)
        buf_puts(to, ", ");
    postgres_columns(to, fit, fit->key_count, fit->count, "t.", false);
    buf_puts(to, " FROM ");
    buf_put(to, fit->shape->quoted);
    buf_puts(to, " t WHERE ");
    for (size_t i = 0; i < fit->key_count; i++) {
        buf_puts(to, i > 0 ? " AND " : "");
        postgres_columns(to, fit, i, i + 1, "t.", true);
        buf_printf(to, " = j.k%zu", i + 1);
        buf_puts(to, postgres_collate(postgres_column(fit, i)));
    }
    buf_puts(to, " LIMIT 1) AS t(there");
    for (size_t i = fit->key_count; i < fit->count; i++)
        buf_printf(to, ", v%zu", i + 1);
    buf_puts(to, ") ON true ORDER BY j.x, ");
    postgres_keys(to, fit, "j.");
}

static bool changes_by_journal(struct postgres_window *w, const struct change_place *after,
                               int64_t below, size_t most, struct err *err)
{
    struct postgres *p = w->p;
    struct arena a = ARENA_INIT(ARGS_ARENA);
    struct postgres_args *args = postgres_args(&a);

    buf_clear(&p->sql);
    changes_select(&p->sql, w->fit);
    bool ok = place_put(p, args, w->fit, after, &a, err);

    if (ok) {
        buf_printf(&p->sql, " AND j.x < $%zu ORDER BY j.x, ", postgres_arg_x(args, below));
        postgres_keys(&p->sql, w->fit, "j.");
        buf_printf(&p->sql, " LIMIT $%zu",
                   postgres_arg_int(args, most > INT64_MAX ? INT64_MAX : (int64_t)most));
        changes_join(&p->sql, w->fit);
        ok = postgres_ask(p, args, window_take, w, err);
    }
    arena_done(&a);
    return ok;
}

/* ---- by a column ---- */

static bool column_take(void *arg, const PGresult *row, struct err *err)
{
    struct postgres_window *w = arg;
    const struct cell x = postgres_cell(w->p, row, (int)w->fit->count);
    struct change c = { .x = x.i, .origin = STR(""), .cells = w->cells };

    for (size_t i = 0; i < w->fit->count; i++)
        w->cells[i] = postgres_cell(w->p, row, (int)i);
    return w->fn(w->arg, &c, err);
}

static bool column_arg(struct postgres_args *args, const struct shape_column *c, int64_t x,
                       struct arena *a, size_t *ret, struct err *err)
{
    Oid type = c->natural == CELL_INT ? TYPE_INT8 : postgres_detail_type(c);
    const struct cell cell = { .type = c->natural, .i = x };
    struct buf bytes = BUF_INIT(16);
    bool ok = postgres_put(&bytes, type, &cell, err);

    if (ok)
        *ret = postgres_arg(args, type, arena_copy(a, buf_view(&bytes)));
    buf_done(&bytes);
    return ok;
}

static bool column_where(struct postgres_window *w, struct postgres_args *args,
                         const struct shape_column *c, const struct change_place *after,
                         int64_t below, struct arena *a, struct err *err)
{
    struct buf *sql = &w->p->sql;
    struct cell *key;
    size_t from, to;

    if (!place_cells(w->fit, after, a, &key, err) || !column_arg(args, c, below, a, &to, err) ||
        !column_arg(args, c, after->x, a, &from, err))
        return false;
    buf_puts(sql, " t WHERE t.");
    postgres_name(sql, c->name);
    buf_printf(sql, " < $%zu AND ", to);
    if (key != NULL) {
        buf_puts(sql, "(t.");
        postgres_name(sql, c->name);
        buf_puts(sql, ", ");
        postgres_columns(sql, w->fit, 0, w->fit->key_count, "t.", true);
        buf_printf(sql, ") > ($%zu, ", from);
        if (!postgres_put_key(sql, args, w->fit, key, a, err))
            return false;
        buf_putc(sql, ')');
    } else {
        buf_puts(sql, "t.");
        postgres_name(sql, c->name);
        buf_printf(sql, " >= $%zu", from);
    }
    return true;
}

static bool changes_by_column(struct postgres_window *w, const struct capture *capture,
                              const struct change_place *after, int64_t below, size_t most,
                              struct err *err)
{
    struct postgres *p = w->p;
    const struct shape_column *c;
    struct arena a = ARENA_INIT(ARGS_ARENA);
    struct postgres_args *args = postgres_args(&a);
    bool ok = postgres_capture_column(w->fit, capture, &c, err);

    if (ok) {
        buf_clear(&p->sql);
        buf_puts(&p->sql, "SELECT ");
        postgres_columns(&p->sql, w->fit, 0, w->fit->count, "t.", false);
        buf_puts(&p->sql, ", t.");
        postgres_name(&p->sql, c->name);
        buf_puts(&p->sql, " FROM ");
        buf_put(&p->sql, w->fit->shape->quoted);
        ok = column_where(w, args, c, after, below, &a, err);
    }
    if (ok) {
        buf_puts(&p->sql, " ORDER BY t.");
        postgres_name(&p->sql, c->name);
        buf_puts(&p->sql, ", ");
        postgres_columns(&p->sql, w->fit, 0, w->fit->key_count, "t.", true);
        buf_printf(&p->sql, " LIMIT $%zu",
                   postgres_arg_int(args, most > INT64_MAX ? INT64_MAX : (int64_t)most));
        ok = postgres_ask(p, args, column_take, w, err);
    }
    arena_done(&a);
    return ok;
}

bool postgres_changes(struct database *d, const struct fit *fit, const struct capture *capture,
                      const struct change_place *after, int64_t below, size_t most, change_fn *fn,
                      void *arg, struct err *err)
{
    struct arena kept = ARENA_INIT(1 << 20);
    struct postgres_window w = { .p = postgres_of(d),
                                 .fit = fit,
                                 .fn = fn,
                                 .arg = arg,
                                 .cells = ARENA_ARRAY(&kept, struct cell, fit->count) };
    bool ok = capture->kind == CAPTURE_JOURNAL
                  ? changes_by_journal(&w, after, below, most, err)
                  : changes_by_column(&w, capture, after, below, most, err);

    arena_done(&kept);
    return ok;
}

/* ---- what else is asked of a journal ---- */

struct journal_keys {
    struct postgres *p;
    const struct fit *fit;
    change_fn *fn;
    void *arg;
    bool ended;
};

static bool journal_take_key(void *arg, const PGresult *row, struct err *err)
{
    struct journal_keys *k = arg;
    struct cell cells[SHAPE_KEY_MOST];
    const struct change c = { .x = postgres_int(row, 0),
                              .at_us = postgres_int(row, 1),
                              .origin = postgres_text(row, 2),
                              .cells = cells };

    for (size_t i = 0; i < k->fit->key_count; i++)
        cells[i] = postgres_cell(k->p, row, 3 + (int)i);
    k->ended = !k->fn(k->arg, &c, err);
    return !k->ended;
}

static bool journal_piece(struct journal_keys *k, const struct cell *keys, size_t count,
                          struct err *err)
{
    struct postgres *p = k->p;
    const struct fit *fit = k->fit;
    struct arena a = ARENA_INIT(ARGS_ARENA);
    struct postgres_args *args = postgres_args(&a);
    struct buf bytes = BUF_INIT((size_t)2 * JOURNAL_KEYS * SHAPE_KEY_BYTES);

    buf_clear(&p->sql);
    buf_puts(&p->sql, "SELECT j.x, j.at_us, j.origin, ");
    postgres_keys(&p->sql, fit, "j.");
    buf_puts(&p->sql, " FROM ");
    bool ok = postgres_put_rows(p, args, fit, keys, count, fit->key_count, &bytes, err);

    buf_puts(&p->sql, " JOIN ");
    postgres_part(&p->sql, fit->shape, PART_JOURNAL);
    buf_puts(&p->sql, " j ON ");
    for (size_t i = 0; i < fit->key_count; i++)
        buf_printf(&p->sql, "%sj.k%zu = u.c%zu", i > 0 ? " AND " : "", i + 1, i + 1);
    ok = ok && postgres_ask(p, args, journal_take_key, k, err);
    buf_done(&bytes);
    arena_done(&a);
    return ok;
}

bool postgres_changes_of(struct database *d, const struct fit *fit, const struct cell *keys,
                         size_t count, change_fn *fn, void *arg, struct err *err)
{
    struct journal_keys k = { .p = postgres_of(d), .fit = fit, .fn = fn, .arg = arg };

    for (size_t at = 0; at < count && !k.ended; at += JOURNAL_KEYS) {
        size_t n = count - at < JOURNAL_KEYS ? count - at : JOURNAL_KEYS;

        if (!journal_piece(&k, &keys[at * fit->key_count], n, err))
            return false;
    }
    return true;
}

static bool journal_take_number(void *arg, const PGresult *row, struct err *err)
{
    int64_t *n = arg;

    (void)err;
    *n = postgres_int(row, 0);
    return true;
}

bool postgres_backlog(struct database *d, const struct fit *fit, const struct change_place *after,
                      int64_t most, int64_t *ret, struct err *err)
{
    struct postgres *p = postgres_of(d);
    struct arena a = ARENA_INIT(PLACE_ARENA);
    struct postgres_args *args = postgres_args(&a);

    *ret = 0;
    buf_clear(&p->sql);
    buf_puts(&p->sql, "SELECT count(*) FROM (SELECT FROM ");
    postgres_part(&p->sql, fit->shape, PART_JOURNAL);
    buf_puts(&p->sql, " j WHERE ");
    bool ok = place_put(p, args, fit, after, &a, err);

    if (ok) {
        buf_printf(&p->sql, " LIMIT $%zu) s", postgres_arg_int(args, most));
        ok = postgres_ask(p, args, journal_take_number, ret, err);
    }
    arena_done(&a);
    return ok;
}
