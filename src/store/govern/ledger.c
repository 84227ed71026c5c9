#include "store/govern/ledger.h"

#include "base/clock.h"
#include "store/kernel/change.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"

enum { FORGET_MOST = 5000 };

/* An entry is renewed at this age, far below the week after which it is deleted. */
#define RENEW_US (INT64_C(86400) * CLOCK_S)

/* ---- turns ---- */

/* A SQLite store has one node, whose turn it always is. */
bool poll_turn(struct store *s, int64_t gateway, int64_t lease_us, bool *ret_ours, struct err *err)
{
    *ret_ours = true;
    return s->kind == DB_SQLITE ||
           store_change_one(
               s,
               &(struct store_change){
                   .sql = SQL_POLL_TURN_TAKE,
                   .args = DB_ARGS(db_int(gateway), db_int(s->node), db_int(lease_us)) },
               ret_ours, err);
}

bool poll_turn_end(struct store *s, int64_t gateway, struct err *err)
{
    return s->kind == DB_SQLITE ||
           store_change(s,
                        &(struct store_change){ .sql = SQL_POLL_TURN_DROP,
                                                .args = DB_ARGS(db_int(gateway), db_int(s->node)) },
                        NULL, err);
}

/* ---- taken sources ---- */

static struct db_value key_value(const struct sha256 *key)
{
    return db_bytes(str_mem(key->bytes, SHA256_SIZE));
}

bool ledger_note(struct store *s, int64_t gateway, const struct sha256 *key, struct err *err)
{
    return store_change(s,
                        &(struct store_change){ .sql = SQL_LEDGER_NOTE,
                                                .args = DB_ARGS(db_int(gateway), key_value(key)) },
                        NULL, err);
}

bool ledger_seen(struct store *s, int64_t gateway, const struct sha256 *key, bool *ret,
                 struct err *err)
{
    int64_t age_us;

    if (!store_one_int(s, SQL_LEDGER_FIND, DB_ARGS(db_int(gateway), key_value(key)), INT64_MIN,
                       &age_us, err) ||
        (age_us > RENEW_US && !ledger_note(s, gateway, key, err)))
        return false;
    *ret = age_us != INT64_MIN;
    return true;
}

bool ledger_sweep(struct store *s, int64_t gateway, int64_t before_us, struct err *err)
{
    struct store_change forget = { .sql = SQL_LEDGER_FORGET,
                                   .args = DB_ARGS(db_int(gateway), db_int(before_us),
                                                   db_int(FORGET_MOST)) };
    int64_t gone;

    do {
        if (!store_change(s, &forget, &gone, err))
            return false;
    } while (gone == FORGET_MOST);
    return true;
}
