#include "store/watch/alert.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/require.h"
#include "store/kernel/store_state.h"

const char *const notice_kinds[NOTICE_KINDS] = { "raised", "cleared", "reminder" };
const char *const notice_states[NOTICE_STATES] = { "waits", "sent", "given_up" };

/* ---- changes -----------------------------------------------------------------------------------
 */

enum change { RAISE, KEEP, CLEAR, REMIND };

struct change_op {
    struct store_op op;
    enum change change;
    const struct alert_say *say;
    int64_t period_us;
    int64_t num; /* of the alert that was changed; 0: none */
    bool fresh, full;
};

static bool number(struct writer *w, int64_t *ret, struct err *err)
{
    return db_one_int(w->db, SQL_MARK_TAKE, DB_ARGS(db_text(STR("alert")), db_int(1)), 0, ret, err);
}

static bool add_notices(struct writer *w, const struct change_op *o, enum notice_kind kind,
                        struct err *err)
{
    for (size_t i = 0; i < o->say->target_count; i++) {
        int64_t num;

        if (!number(w, &num, err) ||
            !db_run(w->db, SQL_NOTICE_ADD,
                    DB_ARGS(db_int(num), db_int(o->num), db_int(kind), db_text(o->say->targets[i])),
                    NULL, err))
            return false;
    }
    return true;
}

static bool raise_run(struct writer *w, struct change_op *o, struct err *err)
{
    const struct alert_say *say = o->say;
    int64_t num, open;

    if (!number(w, &num, err) ||
        !db_one_int(w->db, SQL_ALERT_RAISE,
                    DB_ARGS(db_int(num), db_text(say->code), db_text(say->object),
                            db_text(say->message), db_int(say->count)),
                    0, &o->num, err))
        return false;
    o->fresh = o->num == num;
    if (!o->fresh)
        return true;
    if (!db_one_int(w->db, SQL_ALERT_COUNT, DB_NO_ARGS, 0, &open, err))
        return false;
    o->full = open > ALERTS_OPEN_MOST;
    if (o->full) /* nobody sees half of it: the group goes on, the row does not stay */
        return db_run(w->db, SQL_ALERT_DROP, DB_ARGS(db_int(num)), NULL, err);
    return add_notices(w, o, NOTICE_RAISED, err);
}

/* Old ones go when another one is cleared. */
static bool clear_run(struct writer *w, struct change_op *o, struct err *err)
{
    const struct alert_say *say = o->say;

    if (!db_one_int(w->db, SQL_ALERT_CLEAR,
                    DB_ARGS(db_text(say->code), db_text(say->object), db_text(say->message)), 0,
                    &o->num, err))
        return false;
    return o->num == 0 ||
           (add_notices(w, o, NOTICE_CLEARED, err) &&
            db_run(w->db, SQL_ALERT_FORGET,
                   DB_ARGS(db_int((int64_t)ALERT_KEEP_DAYS * 86400 * CLOCK_S)), NULL, err) &&
            db_run(w->db, SQL_ALERT_FORGET_NOTICES, DB_NO_ARGS, NULL, err));
}

static bool change_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct change_op *o = container_of(ops[0], struct change_op, op);
    const struct alert_say *say = o->say;

    require(count == 1 && say->target_count <= ALERT_TARGETS_MOST);
    o->num = 0;
    o->fresh = o->full = false;
    switch (o->change) {
    case RAISE:
        return raise_run(w, o, err);
    case KEEP:
        return db_run(w->db, SQL_ALERT_KEEP,
                      DB_ARGS(db_text(say->code), db_text(say->object), db_text(say->message),
                              db_int(say->count)),
                      &o->num, err);
    case CLEAR:
        return clear_run(w, o, err);
    case REMIND:
        return db_one_int(w->db, SQL_ALERT_REMIND,
                          DB_ARGS(db_text(say->code), db_text(say->object), db_int(o->period_us)),
                          0, &o->num, err) &&
               (o->num == 0 || add_notices(w, o, NOTICE_REMINDER, err));
    }
    unreachable("a change of an alert");
}

static const struct store_verb change_verb = { .name = "alert", .run = change_run };

static bool change(struct store *s, struct change_op *o, struct err *err)
{
    return writers_call(s->writers, &change_verb, &o->op, err);
}

bool alert_raise(struct store *s, const struct alert_say *say, int64_t *ret_num, bool *ret_new,
                 struct err *err)
{
    struct change_op o = { .change = RAISE, .say = say };

    if (!change(s, &o, err))
        return false;
    if (o.full)
        return err_set(err, ERR_LIMIT, 0, "%d alerts are open already", ALERTS_OPEN_MOST);
    *ret_num = o.num;
    *ret_new = o.fresh;
    return true;
}

bool alert_keep(struct store *s, const struct alert_say *say, bool *ret_open, struct err *err)
{
    struct change_op o = { .change = KEEP, .say = say };

    if (!change(s, &o, err))
        return false;
    *ret_open = o.num > 0;
    return true;
}

bool alert_clear(struct store *s, const struct alert_say *say, int64_t *ret_num, struct err *err)
{
    struct change_op o = { .change = CLEAR, .say = say };

    if (!change(s, &o, err))
        return false;
    *ret_num = o.num;
    return true;
}

bool alert_remind(struct store *s, const struct alert_say *say, int64_t period_us, int64_t *ret_num,
                  struct err *err)
{
    struct change_op o = { .change = REMIND, .say = say, .period_us = period_us };

    if (!change(s, &o, err))
        return false;
    *ret_num = o.num;
    return true;
}

struct end_op {
    struct store_op op;
    int64_t num, wait_us;
    enum notice_state state;
    struct str error;
};

static bool end_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    const struct end_op *o = container_of(ops[0], struct end_op, op);

    require(count == 1);
    return db_run(w->db, SQL_NOTICE_END,
                  DB_ARGS(db_int(o->num), db_int(o->state), db_int(o->wait_us), db_text(o->error)),
                  NULL, err);
}

static const struct store_verb end_verb = { .name = "notice", .run = end_run };

bool notice_end(struct store *s, int64_t num, enum notice_state state, int64_t wait_us,
                struct str error, struct err *err)
{
    struct end_op o = { .num = num, .state = state, .wait_us = wait_us, .error = error };

    return writers_call(s->writers, &end_verb, &o.op, err);
}

/* ---- look ---------------------------------------------------------------------------------------
 */

static void read_alert(struct db_rows *rows, struct arena *a, void *ret)
{
    *(struct alert *)ret = (struct alert){ .num = db_get_int(rows, 0),
                                           .code = arena_copy(a, db_get_str(rows, 1)),
                                           .object = arena_copy(a, db_get_str(rows, 2)),
                                           .message = arena_copy(a, db_get_str(rows, 3)),
                                           .count = db_get_int(rows, 4),
                                           .raised_us = db_get_int(rows, 5),
                                           .last_us = db_get_int(rows, 6),
                                           .cleared_us = db_get_int(rows, 7),
                                           .ended = arena_copy(a, db_get_str(rows, 8)),
                                           .waiting = db_get_int(rows, 9),
                                           .given_up = db_get_int(rows, 10) };
}

static void read_notice(struct db_rows *rows, struct arena *a, void *ret)
{
    *(struct notice *)ret = (struct notice){ .num = db_get_int(rows, 0),
                                             .alert = db_get_int(rows, 1),
                                             .kind = (enum notice_kind)db_get_int(rows, 2),
                                             .target = arena_copy(a, db_get_str(rows, 3)),
                                             .made_us = db_get_int(rows, 4),
                                             .due_us = db_get_int(rows, 5),
                                             .attempts = db_get_int(rows, 6),
                                             .state = (enum notice_state)db_get_int(rows, 7),
                                             .sent_us = db_get_int(rows, 8),
                                             .error = arena_copy(a, db_get_str(rows, 9)) };
}

typedef void read_row(struct db_rows *rows, struct arena *a, void *ret);

static bool read_rows(struct db *db, enum sql_id id, struct db_args args, read_row *read,
                      struct arena *a, void *ret, size_t size, size_t most, size_t *ret_count,
                      struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    size_t n = 0;
    bool row;

    if (!db_query(db, id, args, &rows, err))
        return false;
    while (n < most) {
        if (!db_next(&rows, &row, err))
            return false;
        if (!row)
            break;
        read(&rows, a, (char *)ret + n++ * size);
    }
    *ret_count = n;
    return true;
}

static bool look(struct store *s, enum sql_id id, struct db_args args, read_row *read,
                 struct arena *a, void *ret, size_t size, size_t most, size_t *ret_count,
                 struct err *err)
{
    struct db *db = store_reader(s, err);

    if (db == NULL)
        return false;
    bool ok = read_rows(db, id, args, read, a, ret, size, most, ret_count, err);

    store_reader_back(s, db);
    return ok;
}

bool alert_list(struct store *s, bool all, struct arena *a, struct alert *ret, size_t most,
                size_t *ret_count, struct err *err)
{
    return look(s, all ? SQL_ALERT_ALL : SQL_ALERT_OPEN, DB_ARGS(db_int((int64_t)most)), read_alert,
                a, ret, sizeof *ret, most, ret_count, err);
}

bool alert_get(struct store *s, int64_t num, struct arena *a, struct alert *ret, struct err *err)
{
    size_t n;

    return look(s, SQL_ALERT_ONE, DB_ARGS(db_int(num)), read_alert, a, ret, sizeof *ret, 1, &n,
                err) &&
           n == 1;
}

bool notice_due(struct store *s, struct str target, struct arena *a, struct notice *ret,
                size_t most, size_t *ret_count, struct err *err)
{
    return look(s, SQL_NOTICE_DUE, DB_ARGS(db_text(target), db_int((int64_t)most)), read_notice, a,
                ret, sizeof *ret, most, ret_count, err);
}

bool notice_list(struct store *s, int64_t alert, struct arena *a, struct notice *ret, size_t most,
                 size_t *ret_count, struct err *err)
{
    return look(s, SQL_NOTICE_OF, DB_ARGS(db_int(alert), db_int((int64_t)most)), read_notice, a,
                ret, sizeof *ret, most, ret_count, err);
}

static void read_sums(struct db_rows *rows, struct arena *a, void *ret)
{
    (void)a;
    *(struct alert_sums *)ret = (struct alert_sums){ .waiting = db_get_int(rows, 0),
                                                     .late = db_get_int(rows, 1),
                                                     .given_up = db_get_int(rows, 2),
                                                     .open = db_get_int(rows, 3) };
}

bool alert_sum(struct store *s, int64_t late_us, struct alert_sums *ret, struct err *err)
{
    size_t n;

    return look(s, SQL_NOTICE_SUM, DB_ARGS(db_int(late_us)), read_sums, NULL, ret, sizeof *ret, 1,
                &n, err);
}
