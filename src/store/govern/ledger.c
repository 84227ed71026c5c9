#include "store/govern/ledger.h"

#include "base/clock.h"
#include "base/container_of.h"
#include "base/require.h"
#include "store/kernel/store_state.h"

enum { FORGET_MOST = 5000 };

/* A note is renewed when it is this old: far below the week after which it is forgotten. */
#define RENEW_US (INT64_C(86400) * CLOCK_S)

struct ledger_op {
    struct store_op op;
    enum sql_id sql;
    struct db_value args[3];
    size_t count;
    int64_t changed;
};

static bool ledger_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct ledger_op *o = container_of(ops[0], struct ledger_op, op);

    require(count == 1);
    return db_run(w->db, o->sql, (struct db_args){ .values = o->args, .count = o->count },
                  &o->changed, err);
}

static const struct store_verb ledger_verb = { .name = "ledger", .run = ledger_run };

static bool change(struct store *s, struct ledger_op *o, struct err *err)
{
    return writers_call(s->writers, &ledger_verb, &o->op, err);
}

/* ---- whose turn it is -------------------------------------------------------------------------
 */

/* A SQLite store has one node: it is always its turn. */
bool poll_turn(struct store *s, int64_t gateway, int64_t lease_us, bool *ret_ours, struct err *err)
{
    struct ledger_op o = { .sql = SQL_POLL_TURN_TAKE,
                           .args = { db_int(gateway), db_int(s->node), db_int(lease_us) },
                           .count = 3 };

    if (s->kind == DB_SQLITE) {
        *ret_ours = true;
        return true;
    }
    if (!change(s, &o, err))
        return false;
    *ret_ours = o.changed == 1;
    return true;
}

bool poll_turn_end(struct store *s, int64_t gateway, struct err *err)
{
    struct ledger_op o = { .sql = SQL_POLL_TURN_DROP,
                           .args = { db_int(gateway), db_int(s->node) },
                           .count = 2 };

    return s->kind == DB_SQLITE || change(s, &o, err);
}

/* ---- what was taken ----------------------------------------------------------------------------
 */

static struct db_value key_value(const struct sha256 *key)
{
    return db_bytes(str_mem(key->bytes, SHA256_SIZE));
}

bool ledger_note(struct store *s, int64_t gateway, const struct sha256 *key, struct err *err)
{
    struct ledger_op o = { .sql = SQL_LEDGER_NOTE,
                           .args = { db_int(gateway), key_value(key) },
                           .count = 2 };

    return change(s, &o, err);
}

bool ledger_seen(struct store *s, int64_t gateway, const struct sha256 *key, bool *ret,
                 struct err *err)
{
    struct db *db = store_reader(s, err);
    int64_t age_us;

    if (db == NULL)
        return false;
    bool ok = db_one_int(db, SQL_LEDGER_FIND, DB_ARGS(db_int(gateway), key_value(key)), INT64_MIN,
                         &age_us, err);

    store_reader_back(s, db);
    if (ok && age_us > RENEW_US)
        ok = ledger_note(s, gateway, key, err);
    if (ok)
        *ret = age_us != INT64_MIN;
    return ok;
}

bool ledger_sweep(struct store *s, int64_t gateway, int64_t before_us, struct err *err)
{
    struct ledger_op o;

    do {
        o = (struct ledger_op){ .sql = SQL_LEDGER_FORGET,
                                .args = { db_int(gateway), db_int(before_us), db_int(FORGET_MOST) },
                                .count = 3 };
        if (!change(s, &o, err))
            return false;
    } while (o.changed == FORGET_MOST);
    return true;
}
