#include "store/govern/pause.h"

#include <stdio.h>

#include "base/auto.h"
#include "base/container_of.h"
#include "base/require.h"
#include "store/audit/audit.h"
#include "store/kernel/store_state.h"

const char *const pause_names[PAUSES] = {
    [PAUSE_INTAKE] = "intake",
    [PAUSE_DELIVERY] = "delivery",
    [PAUSE_JOBS] = "jobs",
};

struct change_op {
    struct store_op op;
    bool put;
    int64_t node, changed;
    unsigned what;
    struct str reason, by;
};

static bool change_one(struct writer *w, struct change_op *o, int what, struct err *err)
{
    int64_t n;
    bool ok =
        o->put ? db_run(w->db, SQL_PAUSE_PUT,
                        DB_ARGS(db_int(o->node), db_int(what), db_text(o->reason), db_text(o->by)),
                        &n, err)
               : db_run(w->db, SQL_PAUSE_DROP, DB_ARGS(db_int(o->node), db_int(what)), &n, err);

    if (ok)
        o->changed += n;
    return ok;
}

static bool change_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct change_op *o = container_of(ops[0], struct change_op, op);
    int64_t mark;

    require(count == 1);
    o->changed = 0;
    if (!db_one_int(w->db, SQL_MARK_TAKE, DB_ARGS(db_text(STR("hold")), db_int(1)), 0, &mark, err))
        return false;
    for (int what = 0; what < PAUSES; what++)
        if ((o->what >> what & 1) != 0 && !change_one(w, o, what, err))
            return false;
    char node[40] = "all nodes";

    if (o->node != 0)
        (void)snprintf(node, sizeof node, "node %lld", (long long)o->node);
    if (o->changed > 0)
        audit_note(w, &o->op, str_of(node), (struct str){ 0 }, (struct str){ 0 });
    return true;
}

static const struct store_verb change_verb = { .name = "change pauses",
                                               .run = change_run,
                                               .notes = true };

bool pause_put(struct store *s, int64_t node, unsigned what, struct str reason, struct str by,
               struct err *err)
{
    struct change_op o = { .put = true, .node = node, .what = what, .reason = reason, .by = by };

    return writers_call(s->writers, &change_verb, &o.op, err);
}

bool pause_drop(struct store *s, int64_t node, unsigned what, int64_t *ret_count, struct err *err)
{
    struct change_op o = { .node = node, .what = what };

    if (!writers_call(s->writers, &change_verb, &o.op, err))
        return false;
    *ret_count = o.changed;
    return true;
}

static bool read_all(struct db *db, struct arena *a, struct pause *ret, size_t *ret_count,
                     struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    size_t n = 0;
    bool row;

    if (!db_query(db, SQL_PAUSE_ALL, DB_ARGS(db_int(PAUSES_MOST)), &rows, err))
        return false;
    while (n < PAUSES_MOST) {
        if (!db_next(&rows, &row, err))
            return false;
        if (!row)
            break;
        int64_t what = db_get_int(&rows, 1);

        if (what < 0 || what >= PAUSES) /* of a newer program */
            continue;
        ret[n] = (struct pause){ .node = db_get_int(&rows, 0),
                                 .what = (enum pause_what)what,
                                 .made_us = db_get_int(&rows, 4) };
        ret[n].reason = arena_copy(a, db_get_str(&rows, 2));
        ret[n].by = arena_copy(a, db_get_str(&rows, 3));
        n++;
    }
    *ret_count = n;
    return true;
}

bool pause_list(struct store *s, struct arena *a, struct pause *ret, size_t *ret_count,
                struct err *err)
{
    struct db *db = store_reader(s, err);

    if (db == NULL)
        return false;
    bool ok = read_all(db, a, ret, ret_count, err);

    store_reader_back(s, db);
    return ok;
}
