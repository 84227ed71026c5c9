/* postgres_ceiling.c - up to where changes are final.
 *
 * Journal  x is the id of the transaction.  Those below the oldest that runs have all ended; one
 *          that is not yet seen to have ended is not below it.  The ceiling is behind the last
 *          change of these, and not at the oldest that runs: after a crash the server gives the ids
 *          of transactions away again that have committed nothing.
 * Column   A row has a time of its transaction, or of a statement in it: not before the start of
 *          the oldest that runs, less some seconds for those that have begun and do not show yet.
 *          Where we may not see who runs, or transactions are prepared, `safety` is taken instead.
 */
#include <stdio.h>

#include "base/clock.h"
#include "table/postgres/postgres.h"

enum { ARGS_ARENA = 1 << 20 };

#define MARGIN_US (2 * CLOCK_S)

/* ---- journal ---- */

static void ceiling_hold(struct ceiling *c, const PGresult *row, int pid, int gid, int us)
{
    c->held_us = postgres_int(row, us) > 0 ? postgres_int(row, us) : 0;
    if (!PQgetisnull(row, 0, gid))
        (void)snprintf(c->held_by, sizeof c->held_by, "prepared transaction %.*s, for %lld s",
                       STR_ARG(str_first(postgres_text(row, gid), 100)),
                       (long long)(c->held_us / CLOCK_S));
    else if (!PQgetisnull(row, 0, pid) && PQgetisnull(row, 0, us))
        (void)snprintf(c->held_by, sizeof c->held_by, "transaction of pid %lld",
                       (long long)postgres_int(row, pid));
    else if (!PQgetisnull(row, 0, pid))
        (void)snprintf(c->held_by, sizeof c->held_by, "transaction of pid %lld, open for %lld s",
                       (long long)postgres_int(row, pid), (long long)(c->held_us / CLOCK_S));
}

struct ceiling_ids {
    struct ceiling *ceiling;
    int64_t oldest; /* transaction that runs */
};

static bool ceiling_take_journal(void *arg, const PGresult *row, struct err *err)
{
    struct ceiling_ids *j = arg;
    struct ceiling *c = j->ceiling;

    (void)err;
    j->oldest = postgres_int(row, 0);
    *c = (struct ceiling){ .below = PQgetisnull(row, 0, 5) ? 0 : postgres_int(row, 5) + 1,
                           .now_x = postgres_int(row, 1) };
    if (!PQgetisnull(row, 0, 6) && postgres_int(row, 6) >= c->below)
        c->below = postgres_int(row, 6) + 1;
    ceiling_hold(c, row, 2, 3, 4);
    return true;
}

/* Since when a transaction is open is shown to few; how long we have seen it is known. */
static void ceiling_see(struct postgres *p, int64_t oldest, struct ceiling *c)
{
    int64_t now = clock_mono_us();

    if (oldest != p->held_x || p->held_since_us == 0) {
        p->held_x = oldest;
        p->held_since_us = now;
    }
    if (c->held_by[0] != '\0' && c->held_us < now - p->held_since_us)
        c->held_us = now - p->held_since_us;
}

static bool ceiling_journal(struct postgres *p, const struct fit *fit, struct ceiling *ret,
                            struct err *err)
{
    struct ceiling_ids j = { .ceiling = ret };

    buf_clear(&p->sql);
    buf_puts(&p->sql, "SELECT s.low, s.high, h.pid, h.gid, h.us, (SELECT j.x FROM ");
    postgres_part(&p->sql, fit->shape, PART_JOURNAL);
    buf_puts(&p->sql, " j WHERE j.x < s.low ORDER BY j.x DESC LIMIT 1), (SELECT p.pruned FROM ");
    postgres_capture_table(&p->sql, fit->shape); /* what was pruned was there */
    buf_puts(&p->sql, " p WHERE p.table_name = ");
    postgres_literal(&p->sql, fit->shape->name);
    buf_puts(&p->sql,
             " AND p.pruned < s.low::text::bigint) FROM "
             "(SELECT pg_catalog.pg_snapshot_xmin(v.s) AS low, "
             "pg_catalog.pg_snapshot_xmax(v.s) AS high "
             "FROM (SELECT pg_catalog.pg_current_snapshot() AS s OFFSET 0) v) s "
             "LEFT JOIN LATERAL (SELECT o.pid, o.gid, (1000000 * extract(epoch FROM "
             "pg_catalog.clock_timestamp() - o.since))::int8 AS us FROM "
             "(SELECT a.pid, NULL::text AS gid, a.xact_start AS since "
             "FROM pg_catalog.pg_stat_activity a WHERE a.backend_xid = s.low::xid "
             "UNION ALL SELECT NULL, t.gid, t.prepared FROM pg_catalog.pg_prepared_xacts t "
             "WHERE t.transaction = s.low::xid) o LIMIT 1) h ON true");
    if (!postgres_ask(p, NULL, ceiling_take_journal, &j, err))
        return false;
    ceiling_see(p, j.oldest, ret);
    return true;
}

/* ---- column ---- */

bool postgres_capture_column(const struct fit *fit, const struct capture *capture,
                             const struct shape_column **ret, struct err *err)
{
    const struct shape_column *c = NULL;

    for (size_t i = 0; i < fit->shape->count; i++)
        if (str_eq(fit->shape->columns[i].name, capture->column))
            c = &fit->shape->columns[i];
    if (c == NULL)
        return err_set(err, ERR_CONFIG, 0, "there is no column %.*s",
                       STR_ARG(str_first(capture->column, 60)));
    if (c->natural != CELL_INT && c->natural != CELL_INSTANT && c->natural != CELL_LOCAL)
        return err_set(err, ERR_CONFIG, 0, "column %.*s is no number and no point in time",
                       STR_ARG(str_first(capture->column, 60)));
    *ret = c;
    return true;
}

static bool ceiling_take_number(void *arg, const PGresult *row, struct err *err)
{
    struct ceiling *c = arg;

    (void)err;
    c->below = PQgetisnull(row, 0, 0) ? INT64_MIN : postgres_int(row, 0);
    return true;
}

/* Rows may be removed again, so that the highest number goes back: nothing is told by that. */
static bool ceiling_number(struct postgres *p, const struct fit *fit, const struct shape_column *c,
                           int64_t safety, struct ceiling *ret, struct err *err)
{
    *ret = (struct ceiling){ .now_x = INT64_MAX };
    buf_clear(&p->sql);
    buf_puts(&p->sql, "SELECT max(t.");
    postgres_name(&p->sql, c->name);
    buf_puts(&p->sql, ")::int8 FROM ");
    buf_put(&p->sql, fit->shape->quoted);
    buf_puts(&p->sql, " t");
    if (!postgres_ask(p, NULL, ceiling_take_number, ret, err))
        return false;
    if (ret->below != INT64_MIN && (__builtin_sub_overflow(ret->below, safety, &ret->below) ||
                                    __builtin_add_overflow(ret->below, 1, &ret->below)))
        ret->below = INT64_MIN;
    return true;
}

struct ceiling_times {
    struct ceiling *ceiling;
    int64_t safety;
    bool local;
};

static bool ceiling_take_times(void *arg, const PGresult *row, struct err *err)
{
    struct ceiling_times *t = arg;
    struct ceiling *c = t->ceiling;
    int64_t now = postgres_int(row, 0), zone = postgres_int(row, 1), below = now - MARGIN_US;
    bool unseen = postgres_bool(row, 5);

    (void)err;
    *c = (struct ceiling){ .now_x = now };
    if (unseen && t->safety > MARGIN_US)
        below = now - t->safety;
    if (!PQgetisnull(row, 0, 4) && now - postgres_int(row, 4) - MARGIN_US < below) {
        below = now - postgres_int(row, 4) - MARGIN_US;
        ceiling_hold(c, row, 2, 3, 4);
    }
    /* A time without a zone may be that of the server's zone, or UTC: the earlier one is safe. */
    c->below = t->local && zone < 0 ? below + zone : below;
    return true;
}

static bool ceiling_time(struct postgres *p, const struct ceiling_times *t, struct err *err)
{
    buf_clear(&p->sql);
    buf_puts(&p->sql,
             "SELECT (1000000 * extract(epoch FROM n.now))::int8, (1000000 * extract(epoch FROM "
             "(n.now AT TIME ZONE z.reset_val) - (n.now AT TIME ZONE 'UTC')))::int8, "
             "o.pid, NULL::text, (1000000 * extract(epoch FROM n.now - o.xact_start))::int8, "
             "EXISTS (SELECT FROM pg_catalog.pg_stat_activity a WHERE a.datname = "
             "pg_catalog.current_database() AND a.query = '<insufficient privilege>') OR "
             "EXISTS (SELECT FROM pg_catalog.pg_prepared_xacts x WHERE x.database = "
             "pg_catalog.current_database()) "
             "FROM (SELECT pg_catalog.clock_timestamp() AS now OFFSET 0) n "
             "JOIN pg_catalog.pg_settings z ON z.name = 'TimeZone' "
             "LEFT JOIN LATERAL (SELECT a.pid, a.xact_start FROM pg_catalog.pg_stat_activity a "
             "WHERE a.datname = pg_catalog.current_database() AND a.xact_start IS NOT NULL AND "
             "a.pid <> pg_catalog.pg_backend_pid() AND coalesce(a.backend_type, '') NOT IN "
             "('autovacuum worker', 'walsender') ORDER BY a.xact_start LIMIT 1) o ON true");
    return postgres_ask(p, NULL, ceiling_take_times, (void *)(uintptr_t)t, err);
}

bool postgres_ceiling(struct database *d, const struct fit *fit, const struct capture *capture,
                      struct ceiling *ret, struct err *err)
{
    struct postgres *p = postgres_of(d);
    const struct shape_column *c;

    if (capture->kind == CAPTURE_JOURNAL)
        return ceiling_journal(p, fit, ret, err);
    if (!postgres_capture_column(fit, capture, &c, err))
        return false;
    if (c->natural == CELL_INT)
        return ceiling_number(p, fit, c, capture->safety_us, ret, err);
    const struct ceiling_times t = { .ceiling = ret,
                                     .safety = capture->safety_us,
                                     .local = c->natural == CELL_LOCAL };

    return ceiling_time(p, &t, err);
}
