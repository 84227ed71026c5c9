/* postgres_prune.c - rows of a journal of rows that were removed long ago.
 *
 * The row of waybill_capture is held first, and what somebody else holds is left to the next time:
 * we wait for nobody while we hold something, so no program is ever in a circle with us.
 */
#include "table/postgres/postgres.h"

enum { ARGS_ARENA = 1 << 20 };

static bool prune_take(void *arg, const PGresult *row, struct err *err)
{
    int64_t *n = arg;

    (void)err;
    *n = postgres_int(row, 0);
    return true;
}

bool postgres_pruned(struct database *d, const struct fit *fit, int64_t *ret, struct err *err)
{
    struct postgres *p = postgres_of(d);
    struct arena a = ARENA_INIT(ARGS_ARENA);
    struct postgres_args *args = postgres_args(&a);

    *ret = 0;
    (void)postgres_arg_text(args, fit->shape->name);
    buf_clear(&p->sql);
    buf_puts(&p->sql, "SELECT " POSTGRES_PRUNED " FROM ");
    postgres_capture_table(&p->sql, fit->shape);
    buf_puts(&p->sql, " WHERE table_name = $1");
    bool ok = postgres_ask(p, args, prune_take, ret, err);

    arena_done(&a);
    return ok;
}

static bool prune_hold(struct postgres *p, const struct fit *fit, bool *ret, struct err *err)
{
    struct arena a = ARENA_INIT(ARGS_ARENA);
    struct postgres_args *args = postgres_args(&a);
    int64_t pruned = -1;

    (void)postgres_arg_text(args, fit->shape->name);
    buf_clear(&p->sql);
    buf_puts(&p->sql, "SELECT pruned FROM ");
    postgres_capture_table(&p->sql, fit->shape);
    buf_puts(&p->sql, " WHERE table_name = $1 FOR UPDATE SKIP LOCKED");
    bool ok = postgres_ask(p, args, prune_take, &pruned, err);

    *ret = pruned >= 0;
    arena_done(&a);
    return ok;
}

static void prune_put(struct buf *sql, const struct fit *fit, size_t older, size_t most,
                      size_t below)
{
    buf_puts(sql, "WITH old AS (SELECT ");
    postgres_keys(sql, fit, "j.");
    buf_puts(sql, " FROM ");
    postgres_part(sql, fit->shape, PART_JOURNAL);
    buf_printf(sql,
               " j WHERE j.gone_at < "
               "(extract(epoch FROM pg_catalog.clock_timestamp()) * 1000000)::bigint - $%zu "
               "AND j.x::text::bigint < $%zu "
               "ORDER BY j.gone_at LIMIT $%zu FOR UPDATE SKIP LOCKED), "
               "taken AS (DELETE FROM ",
               older, below, most);
    postgres_part(sql, fit->shape, PART_JOURNAL);
    buf_puts(sql, " d USING old WHERE (");
    postgres_keys(sql, fit, "d.");
    buf_puts(sql, ") = (");
    postgres_keys(sql, fit, "old.");
    buf_puts(sql, ") RETURNING d.x), noted AS (UPDATE ");
    postgres_capture_table(sql, fit->shape);
    buf_puts(sql, " SET pruned = greatest(" POSTGRES_PRUNED
                  ", (SELECT max(x::text::bigint) FROM taken)) WHERE table_name = ");
    postgres_literal(sql, fit->shape->name);
    buf_puts(sql, " AND EXISTS (SELECT FROM taken)) SELECT count(*) FROM taken");
}

bool postgres_prune(struct database *d, const struct fit *fit, int64_t below, int64_t older_us,
                    int64_t most, int64_t *ret_removed, struct err *err)
{
    struct postgres *p = postgres_of(d);
    struct arena a = ARENA_INIT(ARGS_ARENA);
    struct postgres_args *args = postgres_args(&a);
    size_t older = postgres_arg_int(args, older_us), n = postgres_arg_int(args, most);
    size_t x = postgres_arg_int(args, below);
    bool held, ok = prune_hold(p, fit, &held, err);

    *ret_removed = 0;
    if (ok && held) {
        buf_clear(&p->sql);
        prune_put(&p->sql, fit, older, n, x);
        ok = postgres_ask(p, args, prune_take, ret_removed, err);
    }
    arena_done(&a);
    return ok;
}
