/* postgres_find.c - rows that should not be there (sought.h).
 *
 * A whole table is looked at here, so the planner may sort and join as it does for others: what is
 * off for streams in order of an index (postgres.c) is on again.
 */
#include "base/auto.h"
#include "table/postgres/postgres.h"
#include "table/sought.h"

enum { FIND_ARENA = 1 << 20, VALUE_BYTES = 1 << 20 /* of one that rows are chosen by */ };

/* ---- parts of statements ---- */

static void postgres_find_put_column(struct buf *to, const char *table,
                                     const struct shape_column *c)
{
    buf_puts(to, table);
    postgres_name(to, c->name);
}

/* Short texts: whatever its type, and however large. */
static void postgres_find_put_shown(struct buf *to, const struct sought *s)
{
    size_t places[SOUGHT_SHOWN_MOST], n = sought_shown(s, places);

    for (size_t i = 0; i < n; i++) {
        buf_puts(to, i > 0 ? ", pg_catalog.\"left\"(" : "pg_catalog.\"left\"(");
        postgres_find_put_column(to, "t.", &s->shape->columns[places[i]]);
        buf_printf(to, "::pg_catalog.text, %d)", SOUGHT_VALUE_MOST + 1);
    }
}

static void postgres_find_put_grouped(struct buf *to, const struct sought *s)
{
    for (size_t i = 0; i < s->count; i++)
        postgres_find_put_column(to, i > 0 ? ", t." : "t.", sought_column(s, i));
}

/* A parameter of the type of the column: "$3". */
static bool postgres_find_put_cell(struct buf *to, struct postgres_args *args,
                                   const struct shape_column *c, const struct cell *cell,
                                   struct arena *a, struct err *err)
{
    AUTO(buf_done) struct buf bytes = BUF_INIT(VALUE_BYTES);
    Oid type = postgres_detail_type(c);

    if (!postgres_put(&bytes, type, cell, err))
        return false;
    buf_printf(to, "$%zu", postgres_arg(args, type, arena_copy(a, buf_view(&bytes))));
    return true;
}

static bool postgres_find_put_values(struct postgres *p, struct postgres_args *args,
                                     const struct sought *s, struct arena *a, struct err *err)
{
    for (size_t i = 0; i < s->value_count; i++) {
        const struct shape_column *c = &s->shape->columns[s->values[i].column];

        postgres_find_put_column(&p->sql, " AND t.", c);
        if (s->values[i].value.type == CELL_NULL) {
            buf_puts(&p->sql, " IS NULL");
            continue;
        }
        buf_puts(&p->sql, " = ");
        if (!postgres_find_put_cell(&p->sql, args, c, &s->values[i].value, a, err))
            return false;
    }
    return true;
}

static void postgres_find_put_not_null(struct buf *to, const struct sought *s)
{
    for (size_t i = 0; i < s->count; i++) {
        postgres_find_put_column(to, " AND t.", sought_column(s, i));
        buf_puts(to, " IS NOT NULL");
    }
}

static void postgres_find_put_none(struct buf *to, const struct sought *s)
{
    buf_puts(to, " AND NOT EXISTS (SELECT FROM ");
    buf_put(to, s->in->quoted);
    buf_puts(to, " k WHERE ");
    for (size_t i = 0; i < s->count; i++) {
        postgres_find_put_column(to, i > 0 ? " AND k." : "k.", &s->in->columns[s->keys[i]]);
        postgres_find_put_column(to, " = t.", sought_column(s, i));
    }
    buf_putc(to, ')');
}

static bool postgres_find_put_older(struct postgres *p, struct postgres_args *args,
                                    const struct sought *s, struct arena *a, struct err *err)
{
    struct cell before;

    postgres_find_put_column(&p->sql, " AND t.", sought_column(s, 0));
    buf_puts(&p->sql, " < ");
    return sought_before(s, &before, err) &&
           postgres_find_put_cell(&p->sql, args, sought_column(s, 0), &before, a, err);
}

static bool postgres_find_put(struct postgres *p, struct postgres_args *args,
                              const struct sought *s, struct arena *a, struct err *err)
{
    buf_clear(&p->sql);
    buf_puts(&p->sql,
             s->kind == SOUGHT_ROWS ? "SELECT pg_catalog.count(*) FROM (SELECT" : "SELECT ");
    if (s->kind != SOUGHT_ROWS)
        postgres_find_put_shown(&p->sql, s);
    if (s->kind == SOUGHT_DUPLICATES)
        buf_puts(&p->sql, ", pg_catalog.count(*)::pg_catalog.text");
    buf_puts(&p->sql, " FROM ");
    buf_put(&p->sql, s->shape->quoted);
    buf_puts(&p->sql, " t WHERE true");
    if (!postgres_find_put_values(p, args, s, a, err) ||
        (s->kind == SOUGHT_OLDER && !postgres_find_put_older(p, args, s, a, err)))
        return false;
    postgres_find_put_not_null(&p->sql, s);
    if (s->kind == SOUGHT_ORPHANS)
        postgres_find_put_none(&p->sql, s);
    if (s->kind == SOUGHT_DUPLICATES) {
        buf_puts(&p->sql, " GROUP BY ");
        postgres_find_put_grouped(&p->sql, s);
        buf_puts(&p->sql, " HAVING pg_catalog.count(*) > 1");
    }
    buf_printf(&p->sql, " LIMIT $%zu%s", postgres_arg_int(args, s->most),
               s->kind == SOUGHT_ROWS ? ") s" : "");
    return true;
}

/* ---- asking ---- */

struct postgres_finding {
    const struct sought *s;
    struct found *found;
    struct arena *arena;
};

static bool postgres_find_take(void *arg, const PGresult *row, struct err *err)
{
    const struct postgres_finding *f = arg;
    struct str texts[SOUGHT_SHOWN_MOST + 1];
    int n = PQnfields(row);

    (void)err;
    if (f->s->kind == SOUGHT_ROWS) {
        f->found->count = postgres_int(row, 0);
        return true;
    }
    for (int i = 0; i < n && i <= SOUGHT_SHOWN_MOST; i++)
        texts[i] = PQgetisnull(row, 0, i) ? (struct str){ 0 } : postgres_text(row, i);
    found_add(f->found, f->s, texts, f->arena);
    return true;
}

bool postgres_find(struct database *d, const struct sought *s, struct arena *a, struct found *ret,
                   struct err *err)
{
    AUTO(arena_done) struct arena own = ARENA_INIT(FIND_ARENA + SOUGHT_COLUMNS_MOST * VALUE_BYTES);
    struct postgres *p = postgres_of(d);
    struct postgres_args *args = postgres_args(&own);
    struct postgres_finding f = { .s = s, .found = ret, .arena = a };

    *ret = (struct found){ 0 };
    return postgres_run(p,
                        "SET LOCAL enable_sort TO DEFAULT; SET LOCAL enable_hashjoin TO DEFAULT; "
                        "SET LOCAL enable_mergejoin TO DEFAULT; "
                        "SET LOCAL enable_bitmapscan TO DEFAULT; "
                        "SET LOCAL max_parallel_workers_per_gather TO DEFAULT; "
                        "SET LOCAL plan_cache_mode TO DEFAULT",
                        err) &&
           postgres_find_put(p, args, s, &own, err) &&
           postgres_ask_once(p, args, postgres_find_take, &f, err);
}
