#include "store/govern/hold.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/require.h"
#include "store/audit/audit.h"
#include "store/kernel/store_state.h"

/* ---- changes -----------------------------------------------------------------------------------
 */

static bool raise_mark(struct writer *w, int64_t *ret, struct err *err)
{
    return db_one_int(w->db, SQL_MARK_TAKE, DB_ARGS(db_text(STR("hold")), db_int(1)), 0, ret, err);
}

struct add_op {
    struct store_op op;
    const struct hold *hold;
    int64_t num;
    bool full;
};

static bool add_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct add_op *o = container_of(ops[0], struct add_op, op);
    const struct hold *h = o->hold;
    int64_t there;

    require(count == 1);
    if (!raise_mark(w, &o->num, err) ||
        !db_one_int(w->db, SQL_HOLD_COUNT, DB_NO_ARGS, 0, &there, err))
        return false;
    o->full = there >= HOLDS_MOST;
    if (o->full)
        return true;
    audit_note(w, &o->op, store_word_name(w->store, h->system), (struct str){ 0 },
               (struct str){ 0 });
    return db_run(w->db, SQL_HOLD_ADD,
                  DB_ARGS(db_int(o->num), db_int(h->system), db_int(h->from_us),
                          db_int(h->until_us), db_text(h->reason), db_text(h->owner)),
                  NULL, err);
}

static const struct store_verb add_verb = { .name = "add hold", .run = add_run, .notes = true };

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

/* Old ones go when another one ends. */
static bool forget(struct writer *w, struct err *err)
{
    int64_t before = clock_wall_us() - (int64_t)HOLD_KEEP_DAYS * 86400 * CLOCK_S;

    return db_run(w->db, SQL_HOLD_UNSEE, DB_NO_ARGS, NULL, err) &&
           db_run(w->db, SQL_HOLD_FORGET, DB_ARGS(db_int(before)), NULL, err);
}

/* The system, and why it was held. */
static bool note_end(struct writer *w, struct end_op *o, struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    bool row;

    if (!db_query(w->db, SQL_HOLD_ONE, DB_ARGS(db_int(o->num)), &rows, err) ||
        !db_next(&rows, &row, err))
        return false;
    if (row)
        audit_note(w, &o->op, store_word_name(w->store, db_get_int(&rows, 1)), db_get_str(&rows, 4),
                   (struct str){ 0 });
    return true;
}

static bool end_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct end_op *o = container_of(ops[0], struct end_op, op);
    int64_t mark;

    require(count == 1);
    return raise_mark(w, &mark, err) &&
           db_run(w->db, SQL_HOLD_END, DB_ARGS(db_int(o->num), db_text(o->by)), &o->ended, err) &&
           (o->ended == 0 || note_end(w, o, err)) && forget(w, err);
}

static const struct store_verb end_verb = { .name = "end hold", .run = end_run, .notes = true };

bool hold_end(struct store *s, int64_t num, struct str by, bool *ret_was, struct err *err)
{
    struct end_op o = { .num = num, .by = by };

    if (!writers_call(s->writers, &end_verb, &o.op, err))
        return false;
    *ret_was = o.ended == 1;
    return true;
}

/* Expire and remind: a change that gives back the numbers of what it changed. */
struct sweep_op {
    struct store_op op;
    enum sql_id id;
    int64_t now_us, before_us;
    int64_t *nums;
    size_t count;
};

static bool read_nums(struct db *db, enum sql_id id, struct db_args args, int64_t *ret, size_t most,
                      size_t *ret_count, struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    bool row;

    *ret_count = 0;
    if (!db_query(db, id, args, &rows, err))
        return false;
    while (*ret_count < most) {
        if (!db_next(&rows, &row, err))
            return false;
        if (!row)
            break;
        ret[(*ret_count)++] = db_get_int(&rows, 0);
    }
    return true;
}

static bool sweep_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct sweep_op *o = container_of(ops[0], struct sweep_op, op);
    struct db_value second =
        o->id == SQL_HOLD_EXPIRE ? db_text(STR("its time")) : db_int(o->before_us);
    int64_t mark;

    require(count == 1);
    if (!read_nums(w->db, o->id, DB_ARGS(db_int(o->now_us), second), o->nums, HOLDS_MOST, &o->count,
                   err))
        return false;
    return o->count == 0 || (raise_mark(w, &mark, err) && forget(w, err));
}

static const struct store_verb sweep_verb = { .name = "sweep holds", .run = sweep_run };

static bool sweep(struct store *s, struct sweep_op *o, size_t *ret_count, struct err *err)
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

    return sweep(s, &o, ret_count, err);
}

bool hold_remind(struct store *s, int64_t now_us, int64_t before_us, int64_t *ret_nums,
                 size_t *ret_count, struct err *err)
{
    struct sweep_op o = {
        .id = SQL_HOLD_REMIND, .now_us = now_us, .before_us = before_us, .nums = ret_nums
    };

    return sweep(s, &o, ret_count, err);
}

struct see_op {
    struct store_op op;
    int64_t num;
    struct str sending;
};

static bool see_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct see_op *o = container_of(ops[0], struct see_op, op);

    require(count == 1);
    return db_run(w->db, SQL_HOLD_SEE,
                  DB_ARGS(db_int(o->num), db_int(store_node(w->store)), db_text(o->sending)), NULL,
                  err);
}

static const struct store_verb see_verb = { .name = "see hold", .run = see_run, .notes = true };

bool hold_see(struct store *s, int64_t num, struct str sending, struct err *err)
{
    struct see_op o = { .num = num, .sending = sending };

    return writers_call(s->writers, &see_verb, &o.op, err);
}

/* ---- look ---------------------------------------------------------------------------------------
 */

static struct hold hold_of(struct db_rows *rows, struct arena *a)
{
    struct hold h = { .num = db_get_int(rows, 0),
                      .system = db_get_int(rows, 1),
                      .from_us = db_get_int(rows, 2),
                      .until_us = db_get_int(rows, 3),
                      .made_us = db_get_int(rows, 6),
                      .reminded_us = db_get_int(rows, 7),
                      .ended_us = db_get_int(rows, 8) };

    h.reason = arena_copy(a, db_get_str(rows, 4));
    h.owner = arena_copy(a, db_get_str(rows, 5));
    h.ended_by = arena_copy(a, db_get_str(rows, 9));
    return h;
}

static bool read_holds(struct db *db, enum sql_id id, int64_t arg, size_t most, struct arena *a,
                       struct hold *ret, size_t *ret_count, struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    size_t n = 0;
    bool row;

    if (!db_query(db, id, DB_ARGS(db_int(arg)), &rows, err))
        return false;
    while (n < most) {
        if (!db_next(&rows, &row, err))
            return false;
        if (!row)
            break;
        ret[n++] = hold_of(&rows, a);
    }
    *ret_count = n;
    return true;
}

bool hold_list(struct store *s, bool ended, struct arena *a, struct hold *ret, size_t *ret_count,
               struct err *err)
{
    struct db *db = store_reader(s, err);

    if (db == NULL)
        return false;
    bool ok = read_holds(db, ended ? SQL_HOLD_ALL : SQL_HOLD_OPEN, HOLDS_MOST, HOLDS_MOST, a, ret,
                         ret_count, err);

    store_reader_back(s, db);
    return ok;
}

bool hold_get(struct store *s, int64_t num, struct arena *a, struct hold *ret, struct err *err)
{
    struct db *db = store_reader(s, err);
    size_t n = 0;

    if (db == NULL)
        return false;
    bool ok = read_holds(db, SQL_HOLD_ONE, num, 1, a, ret, &n, err);

    store_reader_back(s, db);
    return ok && n == 1;
}

bool hold_look(struct store *s, int64_t *ret_mark, int64_t *ret_now_us, struct err *err)
{
    struct db *db = store_reader(s, err);
    struct db_rows rows = { 0 };
    bool row = false;

    if (db == NULL)
        return false;
    bool ok = db_query(db, SQL_HOLD_LOOK, DB_NO_ARGS, &rows, err) && db_next(&rows, &row, err);

    if (ok && row) {
        *ret_mark = db_get_int(&rows, 0);
        *ret_now_us = db_get_int(&rows, 1);
    }
    db_rows_done(&rows);
    store_reader_back(s, db);
    return ok;
}

bool hold_blind(struct store *s, int64_t num, int64_t *ret_nodes, size_t most, size_t *ret_count,
                struct err *err)
{
    struct db *db = store_reader(s, err);

    if (db == NULL)
        return false;
    bool ok = read_nums(db, SQL_HOLD_BLIND, DB_ARGS(db_int(num), db_int((int64_t)most)), ret_nodes,
                        most, ret_count, err);

    store_reader_back(s, db);
    return ok;
}

static bool read_sending(struct db *db, int64_t num, struct arena *a, struct str *ret, size_t most,
                         size_t *ret_count, struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    size_t n = 0;
    bool row;

    if (!db_query(db, SQL_HOLD_SENDING, DB_ARGS(db_int(num)), &rows, err))
        return false;
    for (;;) {
        if (!db_next(&rows, &row, err))
            return false;
        if (!row)
            break;
        for (struct str rest = db_get_str(&rows, 1), line; rest.len > 0 && n < most;) {
            rest = str_cut(rest, '\n', &line);
            if (line.len > 0)
                ret[n++] = arena_copy(a, line);
        }
    }
    *ret_count = n;
    return true;
}

bool hold_sending(struct store *s, int64_t num, struct arena *a, struct str *ret, size_t most,
                  size_t *ret_count, struct err *err)
{
    struct db *db = store_reader(s, err);

    if (db == NULL)
        return false;
    bool ok = read_sending(db, num, a, ret, most, ret_count, err);

    store_reader_back(s, db);
    return ok;
}
