/* mariadb_prune.c - rows of a journal of rows that were removed long ago.
 *
 * What a program holds is left to the next time: we wait for nobody while we hold something, so no
 * program is ever in a circle with us.  Under READ COMMITTED only rows are locked, and no gaps.
 */
#include "table/mariadb/mariadb.h"

struct pruning {
    struct buf numbers; /* "4711,4712" */
    int64_t count, last;
};

static bool pruning_take_number(void *arg, const struct cell *cells, struct err *err)
{
    (void)err;
    *(int64_t *)arg = cells[0].i;
    return true;
}

bool mariadb_pruned(struct database *d, const struct fit *fit, int64_t *ret, struct err *err)
{
    static const enum mariadb_kind kind = MARIADB_INT;
    const struct cell name = mariadb_bytes(fit->shape->name);
    struct buf sql = BUF_INIT(MARIADB_SQL_MOST);

    *ret = 0;
    buf_puts(&sql, "SELECT pruned FROM ");
    mariadb_put_ours(&sql, fit->shape->schema, "waybill_capture");
    buf_puts(&sql, " WHERE name = ?");
    const struct mariadb_ask ask = { .sql = buf_view(&sql),
                                     .params = &name,
                                     .param_count = 1,
                                     .kinds = &kind,
                                     .column_count = 1,
                                     .fn = pruning_take_number,
                                     .arg = ret };
    bool ok = mariadb_ask(d, &ask, err);

    buf_done(&sql);
    return ok;
}

static bool pruning_take(void *arg, const struct cell *cells, struct err *err)
{
    struct pruning *p = arg;

    (void)err;
    buf_printf(&p->numbers, "%s%lld", p->count > 0 ? "," : "", (long long)cells[0].i);
    p->last = cells[0].i > p->last ? cells[0].i : p->last;
    p->count++;
    return true;
}

static bool pruning_hold(struct database *d, const struct fit *fit, int64_t below, int64_t older_us,
                         int64_t most, struct pruning *p, struct err *err)
{
    static const enum mariadb_kind kind = MARIADB_INT;
    const struct cell params[] = { mariadb_int(older_us), mariadb_int(below), mariadb_int(most) };
    struct buf sql = BUF_INIT(MARIADB_SQL_MOST);

    buf_puts(&sql, "SELECT j.x FROM ");
    mariadb_put_journal(&sql, fit->shape);
    buf_puts(&sql, " j FORCE INDEX (gone) WHERE j.gone_at < " MARIADB_NOW
                   " - ? AND j.x < ? ORDER BY j.gone_at LIMIT ? FOR UPDATE SKIP LOCKED");
    const struct mariadb_ask ask = { .sql = buf_view(&sql),
                                     .params = params,
                                     .param_count = 3,
                                     .kinds = &kind,
                                     .column_count = 1,
                                     .fn = pruning_take,
                                     .arg = p };
    bool ok = mariadb_ask(d, &ask, err);

    buf_done(&sql);
    return ok;
}

static bool pruning_drop(struct database *d, const struct fit *fit, const struct pruning *p,
                         struct err *err)
{
    const struct cell params[] = { mariadb_int(p->last), mariadb_bytes(fit->shape->name) };
    struct buf sql = BUF_INIT(MARIADB_SQL_MOST);

    buf_puts(&sql, "DELETE j FROM ");
    mariadb_put_journal(&sql, fit->shape);
    buf_puts(&sql, " j FORCE INDEX (x) WHERE j.x IN (");
    buf_put(&sql, buf_view(&p->numbers));
    buf_putc(&sql, ')');
    bool ok = mariadb_run(d, buf_view(&sql), err);

    buf_clear(&sql);
    buf_puts(&sql, "UPDATE ");
    mariadb_put_ours(&sql, fit->shape->schema, "waybill_capture");
    buf_puts(&sql, " SET pruned = GREATEST(pruned, ?) WHERE name = ?");
    ok = ok && mariadb_tell(d, buf_view(&sql), params, 2, NULL, err);
    buf_done(&sql);
    return ok;
}

bool mariadb_prune(struct database *d, const struct fit *fit, int64_t below, int64_t older_us,
                   int64_t most, int64_t *ret_removed, struct err *err)
{
    struct pruning p = { .numbers = BUF_INIT(MARIADB_SQL_MOST / 2) };
    bool ok = pruning_hold(d, fit, below, older_us, most, &p, err) &&
              (p.count == 0 || pruning_drop(d, fit, &p, err));

    *ret_removed = p.count;
    buf_done(&p.numbers);
    return ok;
}
