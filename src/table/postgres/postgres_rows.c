/* postgres_rows.c - rows of a table in order of the key, and rows by their keys.
 *
 * A range is read in pages by key, each a statement of its own that the index answers; what ends
 * early has at most a page to pass over.
 */
#include "table/postgres/postgres.h"

enum { PAGE_ROWS = 4000, ARGS_ARENA = 1 << 20, COUNT_EXACTLY = 1000000 };

/* ---- reading ---- */

struct postgres_paging {
    struct postgres *p;
    const struct fit *fit;
    row_fn *fn;
    void *arg;
    struct cell *cells;
    size_t seen;  /* of this page */
    bool ended;   /* by fn */
    bool follows; /* there may be another page */
    size_t page;
    struct arena *keys; /* of the last row of a page */
    struct cell *last;
};

static bool paging_take(void *arg, const PGresult *row, struct err *err)
{
    struct postgres_paging *g = arg;

    for (size_t i = 0; i < g->fit->count; i++)
        g->cells[i] = postgres_cell(g->p, row, (int)i);
    g->seen++;
    if (g->follows && g->seen == g->page)
        for (size_t i = 0; i < g->fit->key_count; i++) {
            enum cell_type t = g->cells[i].type;

            g->last[i] = g->cells[i];
            if (t == CELL_TEXT || t == CELL_BYTES || t == CELL_UUID)
                g->last[i].s = arena_copy(g->keys, g->cells[i].s);
        }
    if (g->fn(g->arg, g->cells, err))
        return true;
    g->ended = true;
    return false;
}

/* (k1, k2) > ($1, $2): a comparison of rows, which an index answers. */
static bool rows_bound(struct postgres *p, struct postgres_args *args, const struct fit *fit,
                       const struct cell *key, const char *word, const char *compare,
                       struct arena *a, struct err *err)
{
    buf_printf(&p->sql, " %s (", word);
    postgres_columns(&p->sql, fit, 0, fit->key_count, "t.", true);
    buf_printf(&p->sql, ") %s (", compare);
    if (!postgres_put_key(&p->sql, args, fit, key, a, err))
        return false;
    buf_putc(&p->sql, ')');
    return true;
}

static bool rows_page(struct postgres_paging *g, const struct cell *after, const struct cell *upto,
                      struct err *err)
{
    struct postgres *p = g->p;
    struct arena a = ARENA_INIT(ARGS_ARENA);
    struct postgres_args *args = postgres_args(&a);

    buf_clear(&p->sql);
    buf_puts(&p->sql, "SELECT ");
    postgres_columns(&p->sql, g->fit, 0, g->fit->count, "t.", false);
    buf_puts(&p->sql, " FROM ");
    buf_put(&p->sql, g->fit->shape->quoted);
    buf_puts(&p->sql, " t");
    bool ok = (after == NULL || rows_bound(p, args, g->fit, after, "WHERE", ">", &a, err)) &&
              (upto == NULL ||
               rows_bound(p, args, g->fit, upto, after != NULL ? "AND" : "WHERE", "<=", &a, err));

    if (ok) {
        buf_puts(&p->sql, " ORDER BY ");
        postgres_columns(&p->sql, g->fit, 0, g->fit->key_count, "t.", true);
        buf_printf(&p->sql, " LIMIT $%zu", postgres_arg_int(args, (int64_t)g->page));
        g->seen = 0;
        ok = postgres_ask(p, args, paging_take, g, err);
    }
    arena_done(&a);
    return ok;
}

bool postgres_rows(struct database *d, const struct fit *fit, const struct cell *after,
                   const struct cell *upto, size_t most, row_fn *fn, void *arg, struct err *err)
{
    /* The key of the last row of a page, and of the one before, which asks for it. */
    struct arena kept = ARENA_INIT(1 << 20), keys[2] = { ARENA_INIT(1 << 20), ARENA_INIT(1 << 20) };
    struct postgres_paging g = { .p = postgres_of(d), .fit = fit, .fn = fn, .arg = arg };
    struct cell *last[2] = { ARENA_ARRAY(&kept, struct cell, fit->key_count),
                             ARENA_ARRAY(&kept, struct cell, fit->key_count) };
    bool ok = true;

    g.cells = ARENA_ARRAY(&kept, struct cell, fit->count);
    for (size_t i = 0; ok && most > 0; i = 1 - i) {
        g.page = most < PAGE_ROWS ? most : PAGE_ROWS;
        g.follows = most > g.page;
        g.keys = &keys[i];
        g.last = last[i];
        arena_reset(g.keys);
        ok = rows_page(&g, after, upto, err);
        if (g.ended || g.seen < g.page)
            break;
        most -= g.page;
        after = g.last;
    }
    arena_done(&kept);
    arena_done(&keys[0]);
    arena_done(&keys[1]);
    return ok;
}

/* ---- by keys ---- */

bool postgres_rows_of(struct database *d, const struct fit *fit, const struct cell *keys,
                      size_t count, row_fn *fn, void *arg, struct err *err)
{
    struct postgres *p = postgres_of(d);
    struct arena kept = ARENA_INIT(1 << 20);
    struct postgres_paging g = { .p = p, .fit = fit, .fn = fn, .arg = arg };
    bool ok = true;

    g.cells = ARENA_ARRAY(&kept, struct cell, fit->count);
    for (size_t at = 0; ok && !g.ended && at < count; at += PAGE_ROWS) {
        size_t n = count - at < PAGE_ROWS ? count - at : PAGE_ROWS;
        struct arena a = ARENA_INIT(ARGS_ARENA);
        struct postgres_args *args = postgres_args(&a);
        struct buf bytes = BUF_INIT((size_t)2 * PAGE_ROWS * SHAPE_KEY_BYTES);

        buf_clear(&p->sql);
        buf_puts(&p->sql, "SELECT ");
        postgres_columns(&p->sql, fit, 0, fit->count, "t.", false);
        buf_puts(&p->sql, " FROM ");
        ok = postgres_put_rows(p, args, fit, &keys[at * fit->key_count], n, fit->key_count, &bytes,
                               err);
        buf_puts(&p->sql, " JOIN ");
        buf_put(&p->sql, fit->shape->quoted);
        buf_puts(&p->sql, " t ON ");
        for (size_t i = 0; i < fit->key_count; i++) {
            buf_puts(&p->sql, i > 0 ? " AND " : "");
            postgres_columns(&p->sql, fit, i, i + 1, "t.", false);
            buf_printf(&p->sql, " = u.c%zu", i + 1);
        }
        if (p->mode == DATABASE_WRITE)
            buf_puts(&p->sql, " FOR NO KEY UPDATE OF t");
        ok = ok && postgres_ask(p, args, paging_take, &g, err);
        buf_done(&bytes);
        arena_done(&a);
    }
    arena_done(&kept);
    return ok;
}

/* ---- how many ---- */

static bool rows_take_number(void *arg, const PGresult *row, struct err *err)
{
    int64_t *n = arg;

    (void)err;
    *n = postgres_int(row, 0);
    return true;
}

/* Exactly up to a million; a table that is larger is estimated. */
bool postgres_count(struct database *d, const struct fit *fit, int64_t *ret, struct err *err)
{
    struct postgres *p = postgres_of(d);
    struct arena a = ARENA_INIT(ARGS_ARENA);
    struct postgres_args *args = postgres_args(&a);
    int64_t estimate = 0;

    *ret = 0;
    buf_clear(&p->sql);
    buf_puts(&p->sql, "SELECT count(*) FROM (SELECT FROM ");
    buf_put(&p->sql, fit->shape->quoted);
    buf_printf(&p->sql, " LIMIT %d) s", COUNT_EXACTLY + 1);
    bool ok = postgres_ask(p, NULL, rows_take_number, ret, err);

    if (ok && *ret > COUNT_EXACTLY) {
        buf_clear(&p->sql);
        buf_puts(&p->sql, "SELECT reltuples::int8 FROM pg_catalog.pg_class WHERE oid = "
                          "$1::pg_catalog.regclass");
        (void)postgres_arg_text(args, fit->shape->quoted);
        ok = postgres_ask(p, args, rows_take_number, &estimate, err);
        if (estimate > *ret)
            *ret = estimate;
    }
    arena_done(&a);
    return ok;
}
