#include "store/govern/pause.h"

#include <stdio.h>

#include "base/container_of.h"
#include "base/require.h"
#include "store/audit/audit.h"
#include "store/kernel/change.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"

const char *const pause_names[PAUSES] = {
    [PAUSE_INTAKE] = "intake", [PAUSE_DELIVERY] = "delivery", [PAUSE_JOBS] = "jobs",
    [PAUSE_DRAIN] = "drain",   [PAUSE_DRAINED] = "drained",
};

struct pause_op {
    struct store_op op;
    bool put;
    int64_t node, changed;
    unsigned what;
    struct str reason, by;
};

static bool pause_change_one(struct writer *w, struct pause_op *o, int what, struct err *err)
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

static bool pause_change_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct pause_op *o = container_of(ops[0], struct pause_op, op);

    require(count == 1);
    o->changed = 0;
    if (!mark_take(w, "hold", NULL, err))
        return false;
    for (int what = 0; what < PAUSES; what++)
        if ((o->what >> what & 1) != 0 && !pause_change_one(w, o, what, err))
            return false;
    char node[40] = "all nodes";

    if (o->node != 0)
        (void)snprintf(node, sizeof node, "node %lld", (long long)o->node);
    if (o->changed > 0)
        audit_note(w, &o->op, str_of(node), (struct str){ 0 }, (struct str){ 0 });
    return true;
}

static const struct store_verb change_verb = { .name = "change pauses",
                                               .run = pause_change_run,
                                               .notes = true };

bool pause_put(struct store *s, int64_t node, unsigned what, struct str reason, struct str by,
               struct err *err)
{
    struct pause_op o = { .put = true, .node = node, .what = what, .reason = reason, .by = by };

    return writers_call(s->writers, &change_verb, &o.op, err);
}

bool pause_drop(struct store *s, int64_t node, unsigned what, int64_t *ret_count, struct err *err)
{
    struct pause_op o = { .node = node, .what = what };

    if (!writers_call(s->writers, &change_verb, &o.op, err))
        return false;
    *ret_count = o.changed;
    return true;
}

static void read_pause(struct db_rows *row, struct arena *a, void *to)
{
    *(struct pause *)to = (struct pause){ .node = db_get_int(row, PAUSE_ALL_NODE_ID),
                                          .what = (enum pause_what)db_get_int(row, PAUSE_ALL_WHAT),
                                          .reason = row_text(row, PAUSE_ALL_REASON, a),
                                          .by = row_text(row, PAUSE_ALL_MADE_BY, a),
                                          .made_us = db_get_int(row, PAUSE_ALL_MADE_US) };
}

bool pause_list(struct store *s, struct arena *a, struct pause *ret, size_t *ret_count,
                struct err *err)
{
    size_t n, known = 0;

    if (!store_collect(s, SQL_PAUSE_ALL, DB_ARGS(db_int(PAUSES_MOST)),
                       ROWS_INTO(ret, PAUSES_MOST, a, read_pause), &n, err))
        return false;
    for (size_t i = 0; i < n; i++)
        if ((unsigned)ret[i].what < PAUSES) /* a newer program may have written other kinds */
            ret[known++] = ret[i];
    *ret_count = known;
    return true;
}
