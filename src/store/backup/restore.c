#include "store/backup/restore.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/fault.h"
#include "base/require.h"
#include "core/state.h"
#include "store/audit/audit.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"
#include "store/manual/operate.h"

enum { PAGE = 200, PAUSE_US = 50 * CLOCK_MS };

const char *const restore_rules[RESTORE_RULES] = {
    [RESTORE_NONE] = "",
    [RESTORE_RESEND] = "resend",
    [RESTORE_IN_DOUBT] = "in_doubt",
    [RESTORE_CANCEL] = "cancel",
};

/* ---- the row ---- */

bool restore_add(struct db *db, int64_t taken_us, struct str source, struct err *err)
{
    int64_t upto, mark;

    return db_one_int(db, SQL_NUM_LAST, DB_NO_ARGS, 0, &upto, err) &&
           db_run(db, SQL_RESTORE_ADD, DB_ARGS(db_int(taken_us), db_text(source), db_int(upto)),
                  NULL, err) &&
           db_one_int(db, SQL_MARK_TAKE, DB_ARGS(db_text(STR("hold")), db_int(1)), 0, &mark, err);
}

bool restore_note(struct db *db, int64_t taken_us, struct str source, struct err *err)
{
    if (!db_begin(db, err))
        return false;
    if (restore_add(db, taken_us, source, err) && db_commit(db, err))
        return true;
    db_rollback(db);
    return err_context(err, "note the restore");
}

static void restore_read_restore(struct db_rows *row, struct arena *a, void *to)
{
    struct restore *r = to;
    int64_t rule = db_get_int(row, RESTORE_NEWEST_RULE);

    *r = (struct restore){ .made_us = db_get_int(row, RESTORE_NEWEST_MADE_US),
                           .taken_us = db_get_int(row, RESTORE_NEWEST_TAKEN_US),
                           .source = row_text(row, RESTORE_NEWEST_SOURCE, a),
                           .upto = db_get_int(row, RESTORE_NEWEST_UPTO),
                           .chosen_us = db_get_int(row, RESTORE_NEWEST_CHOSEN_US),
                           .chosen_by = row_text(row, RESTORE_NEWEST_CHOSEN_BY, a),
                           .done_us = db_get_int(row, RESTORE_NEWEST_DONE_US) };
    if (rule > 0 && rule < RESTORE_RULES)
        r->rule = (enum restore_rule)rule;
}

bool restore_newest(struct store *s, struct arena *a, struct restore *ret, struct err *err)
{
    bool there;

    *ret = (struct restore){ 0 };
    return store_one(s, SQL_RESTORE_NEWEST, DB_NO_ARGS, restore_read_restore, a, ret, &there, err);
}

/* ---- choosing ---- */

struct choose_op {
    struct store_op op;
    enum restore_rule rule;
    struct str who;
    int64_t changed;
};

static bool choose_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct choose_op *o = container_of(ops[0], struct choose_op, op);

    require(count == 1);
    if (!db_run(w->db, SQL_RESTORE_CHOOSE, DB_ARGS(db_int(o->rule), db_text(o->who)), &o->changed,
                err))
        return false;
    if (o->changed > 0)
        audit_note(w, &o->op, STR("restore"), STR("held back"), (struct str){ 0 });
    return true;
}

static const struct store_verb choose_verb = { .name = "choose after a restore",
                                               .run = choose_run,
                                               .notes = true };

bool restore_choose(struct store *s, enum restore_rule rule, struct str who, struct err *err)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(1 << 20);
    struct choose_op o = { .rule = rule, .who = who };
    struct restore now;

    require(rule > RESTORE_NONE && rule < RESTORE_RULES);
    if (!writers_call(s->writers, &choose_verb, &o.op, err))
        return false;
    if (o.changed > 0)
        return true;
    if (!restore_newest(s, &a, &now, err))
        return false;
    if (now.made_us == 0 || now.done_us != 0)
        return err_set(err, ERR_PERMANENT, 0, "nothing is held back because of a restore");
    return err_set(err, ERR_PERMANENT, 0,
                   "%s was chosen before, and part of it may be done: go on with that",
                   restore_rules[now.rule]);
}

struct done_op {
    struct store_op op;
};

static bool done_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    int64_t mark;

    (void)ops;
    require(count == 1);
    return db_run(w->db, SQL_RESTORE_DONE, DB_NO_ARGS, NULL, err) &&
           db_one_int(w->db, SQL_MARK_TAKE, DB_ARGS(db_text(STR("hold")), db_int(1)), 0, &mark,
                      err);
}

static const struct store_verb done_verb = { .name = "end a restore", .run = done_run };

/* ---- the rule ---- */

/* A walk, page by page, over the unclaimed documents or deliveries to which the rule applies. */
struct walk {
    struct store *s;
    const struct restore_order *order;
    struct restore_progress *progress;
    enum sql_id list;
    bool parts; /* it lists deliveries */
    int64_t upto, until_us;
    struct operate_target targets[PAGE];
    struct operate_answer answers[PAGE];
};

struct restored {
    int64_t num;
    struct id id;
};

static void read_restored(struct db_rows *row, struct arena *a, void *to)
{
    (void)a;
    *(struct restored *)to =
        (struct restored){ .num = db_get_int(row, RESTORED_NUM), .id = row_id(row, RESTORED_ID) };
}

static bool next_page(struct walk *k, int64_t *io_above, size_t *ret_count, struct err *err)
{
    struct restored some[PAGE];

    if (!store_collect(k->s, k->list, DB_ARGS(db_int(*io_above), db_int(k->upto), db_int(PAGE)),
                       ROWS_INTO(some, PAGE, NULL, read_restored), ret_count, err))
        return false;
    for (size_t i = 0; i < *ret_count; i++)
        k->targets[i] =
            (struct operate_target){ .id = some[i].id, .delivery = k->parts ? some[i].num : 0 };
    if (*ret_count > 0)
        *io_above = some[*ret_count - 1].num;
    return true;
}

static bool restore_is_late(const struct walk *k)
{
    return clock_mono_us() >= k->until_us;
}

/* Applies the action to the whole list once.  Claimed targets are counted as left. */
static bool pass(struct walk *k, enum operate_action action, struct err *err)
{
    struct operate_order order = {
        .who = k->order->who, .bulk = true, .keep_days = k->order->keep_days, .restored = true
    };
    int64_t above = 0;
    size_t n = PAGE;

    for (k->progress->left = 0; n == PAGE && !restore_is_late(k);) {
        if (!next_page(k, &above, &n, err) ||
            !operate(k->s, action, k->targets, n, &order, k->answers, err))
            return false;
        fault_point(RESTORE_PAGE);
        for (size_t i = 0; i < n; i++) {
            k->progress->changed += k->answers[i].result == OPERATE_DONE;
            k->progress->left += k->answers[i].result == OPERATE_BUSY;
        }
    }
    k->progress->left += n == PAGE; /* there are more pages */
    return true;
}

/* Counts documents that are not routed yet: routing goes on while nothing is sent, and gives them
 * deliveries for a later pass. */
static bool count_unrouted(struct walk *k, struct err *err)
{
    int64_t above = 0;
    size_t n;

    if (!next_page(k, &above, &n, err))
        return false;
    k->progress->left = (int64_t)n;
    return true;
}

/* Closing batches without members: no member would carry the rule. */
struct empty_op {
    struct store_op op;
    enum restore_rule rule;
    int64_t upto, changed;
};

static bool empty_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct empty_op *o = container_of(ops[0], struct empty_op, op);
    struct str why = STR("it came out of a backup: it may have been sent since; closed once more, "
                         "it is sent");

    require(count == 1);
    if (o->rule == RESTORE_CANCEL)
        return db_run(w->db, SQL_RESTORE_EMPTY_CANCEL, DB_ARGS(db_int(o->upto)), &o->changed, err);
    return db_run(
        w->db, SQL_RESTORE_EMPTY_DOUBT,
        DB_ARGS(db_int(o->upto), db_text(str_of(dead_codes[DEAD_RESTORED])), db_text(why)),
        &o->changed, err);
}

static const struct store_verb empty_verb = { .name = "keep empty batches back", .run = empty_run };

static bool pass_empty(struct walk *k, enum restore_rule rule, struct err *err)
{
    struct empty_op o = { .rule = rule, .upto = k->upto };

    if (!writers_call(k->s->writers, &empty_verb, &o.op, err))
        return false;
    k->progress->changed += o.changed;
    return true;
}

/* In the order in which documents move on, so that one that moves meanwhile is seen later. */
static bool restore_pass_all(struct walk *k, enum restore_rule rule, struct err *err)
{
    static const enum sql_id lists[] = { SQL_RESTORE_UNROUTED, SQL_RESTORE_DELIVERIES,
                                         SQL_RESTORE_MEMBERS };
    enum operate_action action = rule == RESTORE_CANCEL ? OPERATE_CANCEL : OPERATE_DOUBT;
    int64_t left = 0;

    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        k->list = lists[i];
        k->parts = k->list == SQL_RESTORE_DELIVERIES;
        bool routes = k->list == SQL_RESTORE_UNROUTED && rule != RESTORE_CANCEL;

        if (!(routes ? count_unrouted(k, err) : pass(k, action, err)))
            return false;
        left += k->progress->left;
    }
    k->progress->left = left;
    return pass_empty(k, rule, err);
}

static bool backup_restore_apply(struct walk *k, enum restore_rule rule, struct err *err)
{
    while (rule != RESTORE_RESEND) {
        if (!restore_pass_all(k, rule, err))
            return false;
        if (k->progress->left == 0)
            break;
        if (restore_is_late(k))
            return true;
        clock_sleep_us(PAUSE_US);
    }
    struct done_op o = { 0 };

    k->progress->done = writers_call(k->s->writers, &done_verb, &o.op, err);
    return k->progress->done;
}

bool restore_apply(struct store *s, enum restore_rule rule, const struct restore_order *order,
                   struct restore_progress *ret, struct err *err)
{
    struct walk *k = NEW(struct walk);
    struct restore now;

    *ret = (struct restore_progress){ 0 };
    k->s = s;
    k->order = order;
    k->progress = ret;
    k->until_us = clock_mono_us() + order->patience_us;
    bool ok = restore_newest(s, order->arena, &now, err);

    k->upto = now.upto;
    ok = ok && backup_restore_apply(k, rule, err);
    free(k);
    return ok;
}
