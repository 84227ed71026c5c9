#include "store/watch/alert.h"

#include "base/clock.h"
#include "base/container_of.h"
#include "base/require.h"
#include "store/kernel/change.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"

const char *const notice_kinds[NOTICE_KINDS] = { "raised", "cleared", "reminder" };
const char *const notice_states[NOTICE_STATES] = { "waits", "sent", "given_up" };

/* ---- changes ---- */

enum change { RAISE, KEEP, CLEAR, REMIND };

struct alert_op {
    struct store_op op;
    enum change change;
    const struct alert_say *say;
    int64_t period_us;
    int64_t num; /* the changed alert; 0: none */
    bool fresh, full;
};

static bool add_notices(struct writer *w, const struct alert_op *o, enum notice_kind kind,
                        struct err *err)
{
    for (size_t i = 0; i < o->say->target_count; i++) {
        int64_t num;

        if (!mark_take(w, "alert", &num, err) ||
            !db_run(w->db, SQL_NOTICE_ADD,
                    DB_ARGS(db_int(num), db_int(o->num), db_int(kind), db_text(o->say->targets[i])),
                    NULL, err))
            return false;
    }
    return true;
}

static bool raise_run(struct writer *w, struct alert_op *o, struct err *err)
{
    const struct alert_say *say = o->say;
    int64_t num, open;

    if (!mark_take(w, "alert", &num, err) ||
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
    if (o->full) /* drop the row again, in the same transaction: the group must not fail */
        return db_run(w->db, SQL_ALERT_DROP, DB_ARGS(db_int(num)), NULL, err);
    return add_notices(w, o, NOTICE_RAISED, err);
}

/* Whenever an alert is cleared, alerts cleared long ago are deleted. */
static bool clear_run(struct writer *w, struct alert_op *o, struct err *err)
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

static bool alert_change_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct alert_op *o = container_of(ops[0], struct alert_op, op);
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

static const struct store_verb change_verb = { .name = "alert", .run = alert_change_run };

static bool alert_change(struct store *s, struct alert_op *o, struct err *err)
{
    return writers_call(s->writers, &change_verb, &o->op, err);
}

bool alert_raise(struct store *s, const struct alert_say *say, int64_t *ret_num, bool *ret_new,
                 struct err *err)
{
    struct alert_op o = { .change = RAISE, .say = say };

    if (!alert_change(s, &o, err))
        return false;
    if (o.full)
        return err_set(err, ERR_LIMIT, 0, "%d alerts are open already", ALERTS_OPEN_MOST);
    *ret_num = o.num;
    *ret_new = o.fresh;
    return true;
}

bool alert_keep(struct store *s, const struct alert_say *say, bool *ret_open, struct err *err)
{
    struct alert_op o = { .change = KEEP, .say = say };

    if (!alert_change(s, &o, err))
        return false;
    *ret_open = o.num > 0;
    return true;
}

bool alert_clear(struct store *s, const struct alert_say *say, int64_t *ret_num, struct err *err)
{
    struct alert_op o = { .change = CLEAR, .say = say };

    if (!alert_change(s, &o, err))
        return false;
    *ret_num = o.num;
    return true;
}

bool alert_remind(struct store *s, const struct alert_say *say, int64_t period_us, int64_t *ret_num,
                  struct err *err)
{
    struct alert_op o = { .change = REMIND, .say = say, .period_us = period_us };

    if (!alert_change(s, &o, err))
        return false;
    *ret_num = o.num;
    return true;
}

bool notice_end(struct store *s, int64_t num, enum notice_state state, int64_t wait_us,
                struct str error, struct err *err)
{
    return store_change(s,
                        &(struct store_change){ .sql = SQL_NOTICE_END,
                                                .args = DB_ARGS(db_int(num), db_int(state),
                                                                db_int(wait_us), db_text(error)) },
                        NULL, err);
}

/* ---- reading ---- */

static void read_alert(struct db_rows *row, struct arena *a, void *to)
{
    *(struct alert *)to = (struct alert){ .num = db_get_int(row, ALERT_NUM),
                                          .code = row_text(row, ALERT_CODE, a),
                                          .object = row_text(row, ALERT_OBJECT, a),
                                          .message = row_text(row, ALERT_MESSAGE, a),
                                          .count = db_get_int(row, ALERT_N),
                                          .raised_us = db_get_int(row, ALERT_RAISED_US),
                                          .last_us = db_get_int(row, ALERT_LAST_US),
                                          .cleared_us = db_get_int(row, ALERT_CLEARED_US),
                                          .ended = row_text(row, ALERT_ENDED, a),
                                          .waiting = db_get_int(row, ALERT_WAITING),
                                          .given_up = db_get_int(row, ALERT_GIVEN_UP) };
}

static void read_notice(struct db_rows *row, struct arena *a, void *to)
{
    *(struct notice *)to =
        (struct notice){ .num = db_get_int(row, NOTICE_NUM),
                         .alert = db_get_int(row, NOTICE_ALERT),
                         .kind = (enum notice_kind)db_get_int(row, NOTICE_KIND),
                         .target = row_text(row, NOTICE_TARGET, a),
                         .made_us = db_get_int(row, NOTICE_MADE_US),
                         .due_us = db_get_int(row, NOTICE_DUE_US),
                         .attempts = db_get_int(row, NOTICE_ATTEMPTS),
                         .state = (enum notice_state)db_get_int(row, NOTICE_STATE),
                         .sent_us = db_get_int(row, NOTICE_SENT_US),
                         .error = row_text(row, NOTICE_ERROR, a) };
}

bool alert_list(struct store *s, bool all, struct arena *a, struct alert *ret, size_t most,
                size_t *ret_count, struct err *err)
{
    return store_collect(s, all ? SQL_ALERT_ALL : SQL_ALERT_OPEN, DB_ARGS(db_int(most)),
                         ROWS_INTO(ret, most, a, read_alert), ret_count, err);
}

bool alert_get(struct store *s, int64_t num, struct arena *a, struct alert *ret, struct err *err)
{
    bool there;

    return store_one(s, SQL_ALERT_ONE, DB_ARGS(db_int(num)), read_alert, a, ret, &there, err) &&
           there;
}

bool notice_due(struct store *s, struct str target, struct arena *a, struct notice *ret,
                size_t most, size_t *ret_count, struct err *err)
{
    return store_collect(s, SQL_NOTICE_DUE, DB_ARGS(db_text(target), db_int(most)),
                         ROWS_INTO(ret, most, a, read_notice), ret_count, err);
}

bool notice_list(struct store *s, int64_t alert, struct arena *a, struct notice *ret, size_t most,
                 size_t *ret_count, struct err *err)
{
    return store_collect(s, SQL_NOTICE_OF, DB_ARGS(db_int(alert), db_int(most)),
                         ROWS_INTO(ret, most, a, read_notice), ret_count, err);
}

static void read_sums(struct db_rows *row, struct arena *a, void *to)
{
    (void)a;
    *(struct alert_sums *)to =
        (struct alert_sums){ .waiting = db_get_int(row, NOTICE_SUM_WAITING),
                             .late = db_get_int(row, NOTICE_SUM_LATE),
                             .given_up = db_get_int(row, NOTICE_SUM_GIVEN_UP),
                             .open = db_get_int(row, NOTICE_SUM_OPEN) };
}

bool alert_sum(struct store *s, int64_t late_us, struct alert_sums *ret, struct err *err)
{
    bool there;

    return store_one(s, SQL_NOTICE_SUM, DB_ARGS(db_int(late_us)), read_sums, NULL, ret, &there,
                     err);
}
