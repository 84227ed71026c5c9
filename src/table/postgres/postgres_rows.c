/* postgres_rows.c - rows of a table in order of the key, and rows by their keys.
 *
 * A range is read in pages, each a COPY that an index answers from where the one before has ended;
 * what ends early has at most a page to pass over.  A page is so many rows that they are about
 * PAGE_BYTES, as those before them were.
 *
 * COPY takes no parameters.  The ends of a page are given to the transaction as settings of ours
 * (waybill.after_1, waybill.upto_1, ..., waybill.rows) by a statement that takes them as
 * parameters, and the text of COPY names the settings: no value is ever a part of a statement.  The
 * server turns a value to text and back, which keeps it as it is for every type of a key.  The
 * statement that sets them also tells the types of the columns, which COPY does not say, and locks
 * the table, so that they are the same until the transaction ends.
 */
#include "table/postgres/postgres.h"

enum {
    PAGE_FIRST = 1000,
    PAGE_ROWS = 16000,
    PAGE_BYTES = 4 << 20,
    ROWS_OF_ONCE = 4000,
    ARGS_ARENA = 1 << 20,
    COUNT_EXACTLY = 1000000
};

/* ---- a range ---- */

struct postgres_paging {
    struct postgres *p;
    const struct fit *fit;
    row_fn *fn;
    void *arg;
    struct postgres_field *fields;
    struct postgres_copy copy; /* of this page */
    bool follows;              /* there may be another page */
    size_t page;
    struct arena *keys; /* of the last row of a page */
    struct cell *last;
};

/* The end of a range: `word` names it in settings. */
struct postgres_bound {
    const char *word, *compare;
    const struct cell *key; /* NULL: there is none */
};

enum { BOUNDS = 2 };

static bool page_take(void *arg, const struct cell *cells, struct err *err)
{
    struct postgres_paging *g = arg;

    if (g->follows && g->copy.rows == g->page)
        for (size_t i = 0; i < g->fit->key_count; i++) {
            enum cell_type t = cells[i].type;

            g->last[i] = cells[i];
            if (t == CELL_TEXT || t == CELL_BYTES || t == CELL_UUID)
                g->last[i].s = arena_copy(g->keys, cells[i].s);
        }
    return g->fn(g->arg, cells, err);
}

static bool page_take_fields(void *arg, const PGresult *row, struct err *err)
{
    struct postgres_paging *g = arg;
    int first = PQnfields(row) - (int)g->fit->count;

    (void)err;
    for (size_t i = 0; i < g->fit->count; i++)
        g->fields[i] = postgres_field(row, first + (int)i);
    return true;
}

/* SELECT set_config('waybill.after_1', $1::text, true), ... t.k, ... of no row. */
static bool page_prepare(struct postgres_paging *g, const struct postgres_bound *bounds,
                         struct err *err)
{
    struct postgres *p = g->p;
    struct arena a = ARENA_INIT(ARGS_ARENA);
    struct postgres_args *args = postgres_args(&a);
    struct buf unused = BUF_INIT(1000);
    bool ok = true;

    buf_clear(&p->sql);
    buf_puts(&p->sql, "SELECT ");
    for (size_t n = 0; ok && n < BOUNDS; n++) {
        size_t before = args->count;

        ok = bounds[n].key == NULL ||
             postgres_put_key(&unused, args, g->fit, bounds[n].key, &a, err);
        for (size_t i = before; i < args->count; i++)
            buf_printf(&p->sql,
                       "pg_catalog.set_config('waybill.%s_%zu', $%zu::pg_catalog.text, true), ",
                       bounds[n].word, i - before + 1, i + 1);
    }
    if (ok) {
        buf_printf(&p->sql, "pg_catalog.set_config('waybill.rows', $%zu::pg_catalog.text, true), ",
                   postgres_arg_int(args, (int64_t)g->page));
        postgres_columns(&p->sql, g->fit, 0, g->fit->count, "t.", false);
        buf_puts(&p->sql, " FROM (SELECT) s LEFT JOIN ");
        buf_put(&p->sql, g->fit->shape->quoted);
        buf_puts(&p->sql, " t ON false");
        ok = postgres_ask(p, args, page_take_fields, g, err);
    }
    buf_done(&unused);
    arena_done(&a);
    return ok;
}

/* (t.k1, t.k2) > (current_setting('waybill.after_1')::int8, ...): a comparison of rows, which an
 * index answers. */
static void page_bound(struct buf *to, const struct fit *fit, const struct postgres_bound *bound)
{
    buf_putc(to, '(');
    postgres_columns(to, fit, 0, fit->key_count, "t.", true);
    buf_printf(to, ") %s (", bound->compare);
    for (size_t i = 0; i < fit->key_count; i++)
        buf_printf(to, "%spg_catalog.current_setting('waybill.%s_%zu')::%s", i > 0 ? ", " : "",
                   bound->word, i + 1,
                   postgres_type_name(postgres_detail_type(postgres_column(fit, i))));
    buf_putc(to, ')');
}

static bool page_copy(struct postgres_paging *g, const struct postgres_bound *bounds,
                      struct err *err)
{
    struct buf *sql = &g->p->sql;
    const char *word = " WHERE ";

    buf_clear(sql);
    buf_puts(sql, "COPY (SELECT ");
    postgres_columns(sql, g->fit, 0, g->fit->count, "t.", false);
    buf_puts(sql, " FROM ");
    buf_put(sql, g->fit->shape->quoted);
    buf_puts(sql, " t");
    for (size_t n = 0; n < BOUNDS; n++) {
        if (bounds[n].key == NULL)
            continue;
        buf_puts(sql, word);
        page_bound(sql, g->fit, &bounds[n]);
        word = " AND ";
    }
    buf_puts(sql, " ORDER BY ");
    postgres_columns(sql, g->fit, 0, g->fit->key_count, "t.", true);
    buf_puts(sql, " LIMIT pg_catalog.current_setting('waybill.rows')::pg_catalog.int8) TO STDOUT "
                  "(FORMAT binary)");
    return postgres_copy(g->p, &g->copy, err);
}

static size_t page_rows(const struct postgres_copy *before)
{
    size_t rows = PAGE_FIRST;

    if (before->rows > 0)
        rows = PAGE_BYTES / (before->bytes / before->rows + 1) + 1;
    return rows < PAGE_ROWS ? rows : PAGE_ROWS;
}

/* Keys are of types that a fit lets be one (key.h), each of which has a name. */
static bool rows_keys_are_named(const struct fit *fit, struct err *err)
{
    for (size_t i = 0; i < fit->key_count; i++)
        if (postgres_type_name(postgres_detail_type(postgres_column(fit, i))) == NULL)
            return err_set(err, ERR_PERMANENT, 0, "column %zu of the key is of an unknown type",
                           i + 1);
    return true;
}

bool postgres_rows(struct database *d, const struct fit *fit, const struct cell *after,
                   const struct cell *upto, size_t most, row_fn *fn, void *arg, struct err *err)
{
    /* The key of the last row of a page, and of the one before, which asks for it. */
    struct arena kept = ARENA_INIT(1 << 20), keys[2] = { ARENA_INIT(1 << 20), ARENA_INIT(1 << 20) };
    struct postgres_paging g = { .p = postgres_of(d), .fit = fit, .fn = fn, .arg = arg };
    struct cell *last[2] = { ARENA_ARRAY(&kept, struct cell, fit->key_count),
                             ARENA_ARRAY(&kept, struct cell, fit->key_count) };
    struct cell *cells = ARENA_ARRAY(&kept, struct cell, fit->count);
    struct postgres_bound bounds[BOUNDS] = { { "after", ">", after }, { "upto", "<=", upto } };
    bool ok = rows_keys_are_named(fit, err);

    g.fields = ARENA_ARRAY(&kept, struct postgres_field, fit->count);
    for (size_t i = 0; ok && most > 0; i = 1 - i) {
        g.page = page_rows(&g.copy);
        g.page = most < g.page ? most : g.page;
        g.follows = most > g.page;
        g.keys = &keys[i];
        g.last = last[i];
        g.copy = (struct postgres_copy){
            .fields = g.fields, .count = fit->count, .cells = cells, .fn = page_take, .arg = &g
        };
        arena_reset(g.keys);
        ok = page_prepare(&g, bounds, err) && page_copy(&g, bounds, err);
        if (g.copy.ended || g.copy.rows < g.page)
            break;
        most -= g.page;
        bounds[0].key = g.last;
    }
    arena_done(&kept);
    arena_done(&keys[0]);
    arena_done(&keys[1]);
    return ok;
}

/* ---- by keys ---- */

struct postgres_choosing {
    struct postgres *p;
    const struct fit *fit;
    row_fn *fn;
    void *arg;
    struct cell *cells;
    bool ended; /* by fn */
};

static bool choosing_take(void *arg, const PGresult *row, struct err *err)
{
    struct postgres_choosing *g = arg;

    for (size_t i = 0; i < g->fit->count; i++)
        g->cells[i] = postgres_cell(g->p, row, (int)i);
    g->ended = !g->fn(g->arg, g->cells, err);
    return !g->ended;
}

bool postgres_rows_of(struct database *d, const struct fit *fit, const struct cell *keys,
                      size_t count, row_fn *fn, void *arg, struct err *err)
{
    struct postgres *p = postgres_of(d);
    struct arena kept = ARENA_INIT(1 << 20);
    struct postgres_choosing g = { .p = p, .fit = fit, .fn = fn, .arg = arg };
    bool ok = true;

    g.cells = ARENA_ARRAY(&kept, struct cell, fit->count);
    for (size_t at = 0; ok && !g.ended && at < count; at += ROWS_OF_ONCE) {
        size_t n = count - at < ROWS_OF_ONCE ? count - at : ROWS_OF_ONCE;
        struct arena a = ARENA_INIT(ARGS_ARENA);
        struct postgres_args *args = postgres_args(&a);
        struct buf bytes = BUF_INIT((size_t)2 * ROWS_OF_ONCE * SHAPE_KEY_BYTES);

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
        ok = ok && postgres_ask(p, args, choosing_take, &g, err);
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
