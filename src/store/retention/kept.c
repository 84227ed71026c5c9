#include "store/retention/kept.h"

#include <stdio.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/require.h"
#include "core/retain_rule.h"
#include "core/timeline.h"
#include "store/audit/audit.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"
#include "store/road/done.h"

struct kept_op {
    struct store_op op;
    const struct id *id;
    struct str reason, by;
    bool drop, found;
    int64_t used; /* the day of the table it moved to; -1: none */
};

enum { LIVES = -1, NOWHERE = -2 };

static bool id_in(struct writer *w, enum sql_id id, int64_t slot, const struct id *want, bool *ret,
                  struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    bool row;

    _Static_assert((int)OPERATE_DOC_ID == (int)OPERATE_DONE_ID, "one column for both");
    if (!db_query_slot(w->db, id, slot, DB_ARGS(db_int(id_row(want))), &rows, err) ||
        !db_next(&rows, &row, err))
        return false;
    *ret = row && row_is_id(&rows, OPERATE_DOC_ID, want);
    return true;
}

/* *ret: the day of the document's table, LIVES or NOWHERE. */
static bool kept_find(struct writer *w, const struct id *id, int64_t *ret, struct err *err)
{
    int64_t days[DONE_DAYS_MOST];
    bool there;
    size_t n;

    *ret = LIVES;
    if (!id_in(w, SQL_OPERATE_DOC, DB_NO_SLOT, id, &there, err) ||
        !rows_ints(w->db, SQL_PART_ALL, DB_ARGS(db_int(TABLES_DONE)), days, DONE_DAYS_MOST, &n,
                   err))
        return false;
    for (size_t i = 0; !there && i < n; i++) {
        *ret = days[i];
        if (!id_in(w, SQL_OPERATE_DONE, days[i], id, &there, err))
            return false;
    }
    if (!there)
        *ret = NOWHERE;
    return true;
}

static bool kept_add_line(struct writer *w, const struct kept_op *o, int64_t place, struct err *err)
{
    AUTO(buf_done) struct buf line = BUF_INIT(TIMELINE_MOST);
    char text[KEPT_REASON_MOST + 40];
    struct db_value num = db_int(id_row(o->id));

    (void)snprintf(text, sizeof text, o->drop ? "it may go again" : "it is kept: %.*s",
                   STR_ARG(o->reason));
    timeline_add(&line, &(struct timeline_line){ .at_us = clock_wall_us(),
                                                 .node = store_node(w->store),
                                                 .stage = TIMELINE_OPERATOR,
                                                 .outcome = TIMELINE_DONE,
                                                 .took_us = -1,
                                                 .what = o->by,
                                                 .message = str_of(text) });
    struct db_value row[] = { num, db_bytes(buf_view(&line)) };

    if (place == LIVES)
        return db_batch(w->db, SQL_SETTLE_TRAIL, DB_NO_SLOT, row, 2, 1, err);
    return db_run_slot(w->db, SQL_KEPT_LINE, place, (struct db_args){ row, 2 }, NULL, err);
}

static bool retention_kept_put(struct writer *w, struct kept_op *o, int64_t place, struct err *err)
{
    o->found = place != NOWHERE;
    return !o->found || (db_run(w->db, SQL_KEPT_PUT,
                                DB_ARGS(db_int(id_row(o->id)),
                                        db_bytes(str_mem(o->id->bytes, sizeof o->id->bytes)),
                                        db_text(o->reason), db_text(o->by)),
                                NULL, err) &&
                         kept_add_line(w, o, place, err));
}

static bool retention_kept_drop(struct writer *w, struct kept_op *o, int64_t place, struct err *err)
{
    struct db_args num = DB_ARGS(db_int(id_row(o->id)));
    struct db_args whole =
        DB_ARGS(db_int(id_row(o->id)), db_bytes(str_mem(o->id->bytes, sizeof o->id->bytes)));
    int64_t dropped;

    if (!db_run(w->db, SQL_KEPT_DROP, whole, &dropped, err))
        return false;
    o->found = dropped > 0;
    if (!o->found || place == NOWHERE)
        return true;
    if (!kept_add_line(w, o, place, err))
        return false;
    if (place != RETAIN_KEPT_DAY)
        return true;
    o->used = done_day(0);
    return done_ready(w, o->used, err) &&
           db_run_slot(w->db, SQL_KEPT_BACK, o->used, num, NULL, err) &&
           db_run(w->db, SQL_KEPT_MOVED, num, NULL, err);
}

static bool kept_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        struct kept_op *o = container_of(ops[i], struct kept_op, op);
        int64_t place;

        o->used = -1;
        /* Waits for the turn of the purger, so that the document is not purged meanwhile. */
        if (!db_run(w->db, SQL_RETAIN_WAIT, DB_NO_ARGS, NULL, err) ||
            !kept_find(w, o->id, &place, err) ||
            !(o->drop ? retention_kept_drop(w, o, place, err)
                      : retention_kept_put(w, o, place, err)))
            return false;
        char id[ID_TEXT];

        if (o->found)
            audit_note(w, &o->op, str_of(id_text(o->id, id)), o->drop ? STR("kept") : STR(""),
                       o->drop ? STR("may go") : STR("kept"));
    }
    return true;
}

static void kept_committed(struct writer *w, struct store_op **ops, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if ((container_of(ops[i], struct kept_op, op))->used >= 0)
            done_used(w->store, (container_of(ops[i], struct kept_op, op))->used);
}

static const struct store_verb kept_verb = {
    .name = "keep a document", .run = kept_run, .notes = true, .committed = kept_committed
};

bool kept_put(struct store *s, const struct id *id, struct str reason, struct str by,
              bool *ret_found, struct err *err)
{
    struct kept_op o = { .id = id, .reason = reason, .by = by };

    if (reason.len == 0 || reason.len > KEPT_REASON_MOST)
        return err_set(err, ERR_PERMANENT, 0, "a reason has 1 to %d bytes", KEPT_REASON_MOST);
    if (!writers_call(s->writers, &kept_verb, &o.op, err))
        return false;
    *ret_found = o.found;
    return true;
}

bool kept_drop(struct store *s, const struct id *id, struct str by, bool *ret_found,
               struct err *err)
{
    struct kept_op o = { .id = id, .by = by, .drop = true };

    if (!writers_call(s->writers, &kept_verb, &o.op, err))
        return false;
    *ret_found = o.found;
    return true;
}

/* ---- reading ---- */

static void read_kept(struct db_rows *row, struct arena *a, void *to)
{
    *(struct kept *)to = (struct kept){ .num = db_get_int(row, KEPT_NUM),
                                        .id = row_id(row, KEPT_ID),
                                        .reason = row_text(row, KEPT_REASON, a),
                                        .by = row_text(row, KEPT_MADE_BY, a),
                                        .made_us = db_get_int(row, KEPT_MADE_US) };
}

bool kept_get(struct store *s, int64_t num, struct arena *a, struct kept *ret, bool *ret_found,
              struct err *err)
{
    return store_one(s, SQL_KEPT_GET, DB_ARGS(db_int(num)), read_kept, a, ret, ret_found, err);
}

bool kept_list(struct store *s, int64_t above, size_t limit, struct arena *a, struct kept *ret,
               size_t *ret_count, int64_t *ret_next, struct err *err)
{
    require(limit > 0 && limit <= KEPT_PAGE_MOST);
    if (!store_collect(s, SQL_KEPT_PAGE, DB_ARGS(db_int(above), db_int(limit)),
                       ROWS_INTO(ret, limit, a, read_kept), ret_count, err))
        return false;
    *ret_next = *ret_count == limit ? ret[limit - 1].num : 0;
    return true;
}

bool kept_count(struct store *s, int64_t *ret, struct err *err)
{
    return store_one_int(s, SQL_KEPT_COUNT, DB_NO_ARGS, 0, ret, err);
}
