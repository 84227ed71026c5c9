/* mariadb_mark.c - how far a table of a link is, in the database itself: waybill_applied. */
#include "table/mariadb/mariadb.h"

static const char mark_table[] = "CREATE TABLE IF NOT EXISTS waybill_applied (\n"
                                 "  link VARBINARY(200) NOT NULL,\n"
                                 "  name VARBINARY(400) NOT NULL,\n"
                                 "  epoch VARBINARY(200) NOT NULL,\n"
                                 "  life VARBINARY(200) NOT NULL,\n"
                                 "  phase TINYINT NOT NULL,\n"
                                 "  x BIGINT NOT NULL,\n"
                                 "  place VARBINARY(4000) NOT NULL,\n"
                                 "  load_key VARBINARY(4000) NOT NULL,\n"
                                 "  fence BIGINT NOT NULL,\n"
                                 "  batches BIGINT NOT NULL,\n"
                                 "  applied BIGINT NOT NULL,\n"
                                 "  at_us BIGINT NOT NULL,\n"
                                 "  PRIMARY KEY (link, name)\n"
                                 ") ENGINE=InnoDB";

enum { PHASE_NONE = -1 /* a row that only holds the lock until there is a mark */ };

static void mark_plan_add(struct ddl *ddl, struct arena *a, const struct buf *sql,
                          const char *purpose)
{
    ddl->statements[ddl->count++] =
        (struct ddl_statement){ .text = arena_copy(a, buf_view(sql)), .purpose = purpose };
}

bool mariadb_plan_mark(struct database *d, struct arena *a, struct ddl *ret, struct err *err)
{
    (void)d;
    (void)err;
    *ret = (struct ddl){ .statements = ARENA_NEW(a, struct ddl_statement), .count = 1 };
    ret->statements[0] = (struct ddl_statement){ .text = STR(mark_table),
                                                 .purpose = "how far each table of a link is" };
    return true;
}

bool mariadb_plan_mark_removal(struct database *d, struct str link, struct str table,
                               struct arena *a, struct ddl *ret, struct err *err)
{
    struct buf sql = BUF_INIT(MARIADB_SQL_MOST);

    (void)d;
    (void)err;
    *ret = (struct ddl){ .statements = ARENA_ARRAY(a, struct ddl_statement, 2) };
    buf_puts(&sql, "BEGIN NOT ATOMIC\n"
                   "  IF EXISTS (SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = "
                   "DATABASE() AND TABLE_NAME = 'waybill_applied') THEN\n"
                   "    DELETE FROM waybill_applied WHERE link = ");
    mariadb_put_literal(&sql, link);
    buf_puts(&sql, " AND name = ");
    mariadb_put_literal(&sql, table);
    buf_puts(&sql, ";\n"
                   "    IF NOT EXISTS (SELECT 1 FROM waybill_applied) THEN\n"
                   "      DROP TABLE waybill_applied;\n"
                   "    END IF;\n"
                   "  END IF;\n"
                   "END");
    mark_plan_add(ret, a, &sql, "how far the table is");
    buf_done(&sql);
    return true;
}

/* ---- reading ---- */

struct mark_reading {
    struct arena *arena;
    bool there;
    bool has;
    struct mark *mark;
};

static bool mark_take(void *arg, const struct cell *cells, struct err *err)
{
    struct mark_reading *r = arg;

    (void)err;
    r->there = true;
    if (cells[2].i < MARK_LOAD || cells[2].i > MARK_FOLLOW)
        return true;
    r->has = true;
    *r->mark = (struct mark){ .epoch = arena_copy(r->arena, cells[0].s),
                              .life = arena_copy(r->arena, cells[1].s),
                              .phase = (enum mark_phase)cells[2].i,
                              .place = { .x = cells[3].i, .key = arena_copy(r->arena, cells[4].s) },
                              .load_key = arena_copy(r->arena, cells[5].s),
                              .fence = cells[6].i,
                              .batches = cells[7].i,
                              .rows = cells[8].i,
                              .at_us = cells[9].i };
    return true;
}

static bool mark_ask(struct database *d, struct str link, struct str table, struct mark_reading *r,
                     struct err *err)
{
    static const enum mariadb_kind kinds[] = { MARIADB_BYTES, MARIADB_BYTES, MARIADB_INT,
                                               MARIADB_INT,   MARIADB_BYTES, MARIADB_BYTES,
                                               MARIADB_INT,   MARIADB_INT,   MARIADB_INT,
                                               MARIADB_INT };
    const struct cell params[] = { mariadb_bytes(link), mariadb_bytes(table) };
    const struct mariadb_ask ask = {
        .sql = d->writing ? STR("SELECT epoch, life, phase, x, place, load_key, fence, batches,"
                                " applied, at_us FROM waybill_applied WHERE link = ? AND name = ?"
                                " FOR UPDATE")
                          : STR("SELECT epoch, life, phase, x, place, load_key, fence, batches,"
                                " applied, at_us FROM waybill_applied WHERE link = ? AND name = ?"),
        .params = params,
        .param_count = 2,
        .kinds = kinds,
        .column_count = sizeof kinds / sizeof *kinds,
        .fn = mark_take,
        .arg = r
    };

    return mariadb_ask(d, &ask, err);
}

/* A row that is not there cannot be locked: one that says nothing is put there first.  Whoever else
 * does that waits for us. */
bool mariadb_mark_get(struct database *d, struct str link, struct str table, struct arena *a,
                      bool *ret_has, struct mark *ret, struct err *err)
{
    const struct cell params[] = { mariadb_bytes(link), mariadb_bytes(table) };
    struct mark_reading r = { .arena = a, .mark = ret };

    if (!mark_ask(d, link, table, &r, err))
        return false;
    if (!r.there && d->writing &&
        (!mariadb_tell(d,
                       STR("INSERT IGNORE INTO waybill_applied (link, name, epoch, life, phase, x,"
                           " place, load_key, fence, batches, applied, at_us)"
                           " VALUES (?, ?, '', '', -1, 0, '', '', 0, 0, 0, 0)"),
                       params, 2, NULL, err) ||
         !mark_ask(d, link, table, &r, err)))
        return false;
    *ret_has = r.has;
    return true;
}

/* ---- writing ---- */

bool mariadb_mark_put(struct database *d, struct str link, struct str table,
                      const struct mark *mark, struct err *err)
{
    const struct cell params[] = { mariadb_bytes(link),
                                   mariadb_bytes(table),
                                   mariadb_bytes(mark->epoch),
                                   mariadb_bytes(mark->life),
                                   mariadb_int((int64_t)mark->phase),
                                   mariadb_int(mark->place.x),
                                   mariadb_bytes(mark->place.key),
                                   mariadb_bytes(mark->load_key),
                                   mariadb_int(mark->fence),
                                   mariadb_int(mark->batches),
                                   mariadb_int(mark->rows),
                                   mariadb_int(mark->at_us) };

    return mariadb_tell(d,
                        STR("REPLACE INTO waybill_applied (link, name, epoch, life, phase, x,"
                            " place, load_key, fence, batches, applied, at_us)"
                            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"),
                        params, sizeof params / sizeof *params, NULL, err);
}

bool mariadb_mark_drop(struct database *d, struct str link, struct str table, struct err *err)
{
    const struct cell params[] = { mariadb_bytes(link), mariadb_bytes(table) };

    return mariadb_tell(d, STR("DELETE FROM waybill_applied WHERE link = ? AND name = ?"), params,
                        2, NULL, err);
}
