#include "store/db/migrate.h"

#include "base/arena.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/fault.h"
#include "store/db/rows.h"

int migrate_newest(void)
{
    int newest = 0;

    for (const struct sql_migration *m = sql_migrations; m->version != 0; m++)
        newest = m->version;
    return newest;
}

static bool version_of(struct db *db, int64_t *ret, struct err *err)
{
    int64_t there;

    *ret = 0;
    if (!db_one_int(db, SQL_SCHEMA_EXISTS, DB_NO_ARGS, 0, &there, err))
        return false;
    return there == 0 || db_one_int(db, SQL_SCHEMA_VERSION, DB_NO_ARGS, 0, ret, err);
}

static bool refuse_newer(int64_t version, struct err *err)
{
    if (version <= migrate_newest())
        return true;
    return err_set(err, ERR_CONFIG, 0,
                   "the store has schema version %lld, this program knows up to %d: use the newer "
                   "waybill that wrote it",
                   (long long)version, migrate_newest());
}

enum { TABLES_MOST = 10000, TEXT_MOST = 64 << 10 };

/* Runs the text with @SLOT@ replaced by the number. */
static bool run_for_table(struct db *db, const char *text, int64_t slot, struct err *err)
{
    AUTO(buf_done) struct buf sql = BUF_INIT(TEXT_MOST);
    static const char token[] = "@SLOT@";

    for (const char *at; (at = strstr(text, token)) != NULL; text = at + sizeof token - 1)
        buf_printf(&sql, "%.*s%lld", (int)(at - text), text, (long long)slot);
    buf_put(&sql, str_of(text));
    return db_script(db, sql.ptr, err);
}

static bool run_for_family(struct db *db, const struct sql_step *step, struct err *err)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(sizeof(int64_t) * TABLES_MOST * 2);
    int64_t *slots = ARENA_ARRAY(&a, int64_t, TABLES_MOST);
    size_t n;

    if (!rows_ints(db, SQL_SCHEMA_FAMILY, DB_ARGS(db_text(str_of(step->family))), slots,
                   TABLES_MOST, &n, err))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!run_for_table(db, step->text, slots[i], err))
            return false;
    return true;
}

static bool migrate_run_steps(struct db *db, const struct sql_step *steps, struct err *err)
{
    for (; steps->text != NULL; steps++)
        if (!(steps->family != NULL ? run_for_family(db, steps, err)
                                    : db_script(db, steps->text, err)))
            return false;
    return true;
}

/* Reads the version again under the lock: another node may have migrated meanwhile. */
static bool migrate_step(struct db *db, const struct sql_migration *m, struct err *err)
{
    int64_t version;

    if (!db_begin(db, err))
        return false;
    bool ok = db_run(db, SQL_SCHEMA_PATIENCE, DB_NO_ARGS, NULL, err) &&
              db_run(db, SQL_SCHEMA_LOCK, DB_NO_ARGS, NULL, err) && version_of(db, &version, err);

    if (ok && version < m->version) {
        ok = db_run(db, SQL_SCHEMA_MAKE, DB_NO_ARGS, NULL, err) &&
             migrate_run_steps(db, db->kind == DB_SQLITE ? m->sqlite : m->postgresql, err) &&
             db_run(db, SQL_SCHEMA_STEP, DB_ARGS(db_int(m->version), db_text(str_of(m->name))),
                    NULL, err);
        fault_point(MIGRATE_STEP);
    }
    if (!ok || !db_commit(db, err)) {
        db_rollback(db);
        return err_context(err, "migration %s", m->name);
    }
    return true;
}

bool migrate(struct db *db, const struct sql_migration *all, struct err *err)
{
    int64_t version;

    if (!version_of(db, &version, err) || !refuse_newer(version, err))
        return false;
    for (const struct sql_migration *m = all; m->version != 0; m++)
        if (m->version > version && !migrate_step(db, m, err))
            return false;
    return true;
}
