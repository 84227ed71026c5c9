#include "store/govern/hold.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/require.h"
#include "store/audit/audit.h"
#include "store/kernel/change.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"

/* ---- changes ---- */

static void read_hold(struct db_rows *row, struct arena *a, void *to)
{
    *(struct hold *)to = (struct hold){ .num = db_get_int(row, HOLD_NUM),
                                        .system = db_get_int(row, HOLD_SYSTEM),
                                        .from_us = db_get_int(row, HOLD_FROM_US),
                                        .until_us = db_get_int(row, HOLD_UNTIL_US),
                                        .reason = row_text(row, HOLD_REASON, a),
                                        .owner = row_text(row, HOLD_OWNER, a),
                                        .made_us = db_get_int(row, HOLD_MADE_US),
                                        .reminded_us = db_get_int(row, HOLD_REMINDED_US),
                                        .ended_us = db_get_int(row, HOLD_ENDED_US),
                                        .ended_by = row_text(row, HOLD_ENDED_BY, a) };
}

struct add_op {
    struct store_op op;
    const struct hold *hold;
    int64_t num;
    bool full;
};

static bool hold_add_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct add_op *o = container_of(ops[0], struct add_op, op);
    const struct hold *h = o->hold;
    int64_t there;

    require(count == 1);
    if (!mark_take(w, "hold", &o->num, err) ||
        !db_one_int(w->db, SQL_HOLD_COUNT, DB_NO_ARGS, 0, &there, err))
        return false;
    o->full = there >= HOLDS_MOST;
    if (o->full)
        return true;
    audit_note(w, &o->op, name_text(w->store, h->system), (struct str){ 0 }, (struct str){ 0 });
    return db_run(w->db, SQL_HOLD_ADD,
                  DB_ARGS(db_int(o->num), db_int(h->system), db_int(h->from_us),
                          db_int(h->until_us), db_text(h->reason), db_text(h->owner)),
                  NULL, err);
}

static const struct store_verb add_verb = { .name = "add hold",
                                            .run = hold_add_run,
                                            .notes = true };

bool hold_add(struct store *s, const struct hold *h, int64_t *ret_num, struct err *err)
{
    struct add_op o = { .hold = h };

    if (!writers_call(s->writers, &add_verb, &o.op, err))
        return false;
    if (o.full)
        return err_set(err, ERR_LIMIT, 0, "there are %d holds already: end those that nobody needs",
                       HOLDS_MOST);
    *ret_num = o.num;
    return true;
}

struct end_op {
    struct store_op op;
    int64_t num, ended;
    struct str by;
};

/* Whenever a hold ends, holds that ended long ago are deleted. */
static bool hold_forget(struct writer *w, struct err *err)
{
    int64_t before = clock_wall_us() - (int64_t)HOLD_KEEP_DAYS * 86400 * CLOCK_S;

    return db_run(w->db, SQL_HOLD_UNSEE, DB_NO_ARGS, NULL, err) &&
           db_run(w->db, SQL_HOLD_FORGET, DB_ARGS(db_int(before)), NULL, err);
}

/* Notes the system and the reason of the hold in the audit log. */
static bool note_end(struct writer *w, struct end_op *o, struct err *err)
{
    struct hold h;
    bool there;

    if (!rows_one(w->db, SQL_HOLD_ONE, DB_NO_SLOT, DB_ARGS(db_int(o->num)), read_hold, w->arena, &h,
                  &there, err))
        return false;
    if (there)
        audit_note(w, &o->op, name_text(w->store, h.system), h.reason, (struct str){ 0 });
    return true;
}

static bool hold_end_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct end_op *o = container_of(ops[0], struct end_op, op);

    require(count == 1);
    return mark_take(w, "hold", NULL, err) &&
           db_run(w->db, SQL_HOLD_END, DB_ARGS(db_int(o->num), db_text(o->by)), &o->ended, err) &&
           (o->ended == 0 || note_end(w, o, err)) && hold_forget(w, err);
}

static const struct store_verb end_verb = { .name = "end hold",
                                            .run = hold_end_run,
                                            .notes = true };

bool hold_end(struct store *s, int64_t num, struct str by, bool *ret_was, struct err *err)
{
    struct end_op o = { .num = num, .by = by };

    if (!writers_call(s->writers, &end_verb, &o.op, err))
        return false;
    *ret_was = o.ended == 1;
    return true;
}

/* Expire and remind: an update that returns the numbers of the changed holds. */
struct sweep_op {
    struct store_op op;
    enum sql_id id;
    int64_t now_us, before_us;
    int64_t *nums;
    size_t count;
};

static bool hold_sweep_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct sweep_op *o = container_of(ops[0], struct sweep_op, op);
    struct db_value second =
        o->id == SQL_HOLD_EXPIRE ? db_text(STR("its time")) : db_int(o->before_us);

    require(count == 1);
    if (!rows_ints(w->db, o->id, DB_ARGS(db_int(o->now_us), second), o->nums, HOLDS_MOST, &o->count,
                   err))
        return false;
    return o->count == 0 || (mark_take(w, "hold", NULL, err) && hold_forget(w, err));
}

static const struct store_verb sweep_verb = { .name = "sweep holds", .run = hold_sweep_run };

static bool hold_sweep(struct store *s, struct sweep_op *o, size_t *ret_count, struct err *err)
{
    if (!writers_call(s->writers, &sweep_verb, &o->op, err))
        return false;
    *ret_count = o->count;
    return true;
}

bool hold_expire(struct store *s, int64_t now_us, int64_t *ret_nums, size_t *ret_count,
                 struct err *err)
{
    struct sweep_op o = { .id = SQL_HOLD_EXPIRE, .now_us = now_us, .nums = ret_nums };

    return hold_sweep(s, &o, ret_count, err);
}

bool hold_remind(struct store *s, int64_t now_us, int64_t before_us, int64_t *ret_nums,
                 size_t *ret_count, struct err *err)
{
    struct sweep_op o = {
        .id = SQL_HOLD_REMIND, .now_us = now_us, .before_us = before_us, .nums = ret_nums
    };

    return hold_sweep(s, &o, ret_count, err);
}

bool hold_see(struct store *s, int64_t num, struct str sending, struct err *err)
{
    return store_change(s,
                        &(struct store_change){
                            .sql = SQL_HOLD_SEE,
                            .args = DB_ARGS(db_int(num), db_int(store_node(s)), db_text(sending)),
                            .silent = true },
                        NULL, err);
}

/* ---- reading ---- */

bool hold_list(struct store *s, bool ended, struct arena *a, struct hold *ret, size_t *ret_count,
               struct err *err)
{
    return store_collect(s, ended ? SQL_HOLD_ALL : SQL_HOLD_OPEN, DB_ARGS(db_int(HOLDS_MOST)),
                         ROWS_INTO(ret, HOLDS_MOST, a, read_hold), ret_count, err);
}

bool hold_get(struct store *s, int64_t num, struct arena *a, struct hold *ret, struct err *err)
{
    bool there;

    return store_one(s, SQL_HOLD_ONE, DB_ARGS(db_int(num)), read_hold, a, ret, &there, err) &&
           there;
}

struct hold_now {
    int64_t mark, now_us;
};

static void read_now(struct db_rows *row, struct arena *a, void *to)
{
    (void)a;
    *(struct hold_now *)to = (struct hold_now){ .mark = db_get_int(row, HOLD_LOOK_MARK),
                                                .now_us = db_get_int(row, HOLD_LOOK_NOW_US) };
}

bool hold_look(struct store *s, int64_t *ret_mark, int64_t *ret_now_us, struct err *err)
{
    struct hold_now now = { 0 };
    bool there;

    if (!store_one(s, SQL_HOLD_LOOK, DB_NO_ARGS, read_now, NULL, &now, &there, err))
        return false;
    *ret_mark = now.mark;
    *ret_now_us = now.now_us;
    return true;
}

bool hold_blind(struct store *s, int64_t num, int64_t *ret_nodes, size_t most, size_t *ret_count,
                struct err *err)
{
    return store_ints(s, SQL_HOLD_BLIND, DB_ARGS(db_int(num), db_int(most)), ret_nodes, most,
                      ret_count, err);
}

struct sending {
    struct arena *arena;
    struct str *list;
    size_t most, count;
};

static bool add_sending(void *arg, struct db_rows *row, struct err *err)
{
    struct sending *to = arg;

    (void)err;
    for (struct str rest = db_get_str(row, HOLD_SENDING_SENDING), line;
         rest.len > 0 && to->count < to->most;) {
        rest = str_cut(rest, '\n', &line);
        if (line.len > 0)
            to->list[to->count++] = arena_copy(to->arena, line);
    }
    return true;
}

bool hold_sending(struct store *s, int64_t num, struct arena *a, struct str *ret, size_t most,
                  size_t *ret_count, struct err *err)
{
    AUTO(reader_back) struct reader r = reader_take(s, err);
    struct sending to = { .arena = a, .list = ret, .most = most };

    if (r.db == NULL ||
        !rows_each(r.db, SQL_HOLD_SENDING, DB_NO_SLOT, DB_ARGS(db_int(num)), add_sending, &to, err))
        return false;
    *ret_count = to.count;
    return true;
}
