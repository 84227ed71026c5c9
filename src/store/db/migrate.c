#include "store/db/migrate.h"

#include "base/fault.h"

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

static bool step(struct db *db, const struct sql_migration *m, struct err *err)
{
    const char *text = db->kind == DB_SQLITE ? m->sqlite : m->postgresql;
    int64_t version;

    if (!db_begin(db, err))
        return false;
    bool ok = db_run(db, SQL_SCHEMA_PATIENCE, DB_NO_ARGS, NULL, err) &&
              db_run(db, SQL_SCHEMA_LOCK, DB_NO_ARGS, NULL, err) && version_of(db, &version, err);

    if (ok && version < m->version) {
        ok = db_run(db, SQL_SCHEMA_MAKE, DB_NO_ARGS, NULL, err) && db_script(db, text, err) &&
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

bool migrate(struct db *db, struct err *err)
{
    int64_t version;

    if (!version_of(db, &version, err) || !refuse_newer(version, err))
        return false;
    for (const struct sql_migration *m = sql_migrations; m->version != 0; m++)
        if (m->version > version && !step(db, m, err))
            return false;
    return true;
}
