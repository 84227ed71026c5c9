#include "store/search/term_sweep.h"

#include "base/auto.h"
#include "base/container_of.h"
#include "base/require.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"
#include "store/road/term.h"
#include "store/search/document.h"

enum { AT_ONCE = 2000, STEPS_MOST = 100 };

struct sweep_op {
    struct store_op op;
    int64_t slot, gone;
};

static bool table_has(struct writer *w, enum sql_id id, int64_t table, int64_t slot, bool *io_has,
                      struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    enum db_kind kind = w->db->kind;
    bool row;

    if (*io_has)
        return true;
    return db_query_slot(w->db, id, table,
                         DB_ARGS(db_int(term_slot_first(kind, slot)),
                                 db_int(term_slot_first(kind, slot + 1))),
                         &rows, err) &&
           db_next(&rows, &row, err) && (*io_has = row, true);
}

/* Checks `doc` twice: a document may be revived from done_N back to `doc` between the lookups. */
static bool is_in_use(struct writer *w, int64_t slot, bool *ret, struct err *err)
{
    struct slots *tables = ARENA_NEW(w->arena, struct slots);

    *ret = false;
    if (!document_slots(w->db, tables, err) ||
        !table_has(w, SQL_DOC_AT, DB_NO_SLOT, slot, ret, err))
        return false;
    for (size_t i = 0; i < tables->count; i++)
        if (!table_has(w, SQL_DONE_AT, tables->days[i], slot, ret, err))
            return false;
    return table_has(w, SQL_DOC_AT, DB_NO_SLOT, slot, ret, err);
}

static bool term_sweep_sweep_run(struct writer *w, struct store_op **ops, size_t count,
                                 struct err *err)
{
    struct sweep_op *o = container_of(ops[0], struct sweep_op, op);
    int64_t names = 0;
    bool used;

    require(count == 1);
    o->gone = 0;
    if (!is_in_use(w, o->slot, &used, err))
        return false;
    if (used)
        return true;
    if (!db_run(w->db, SQL_TERM_SWEEP,
                DB_ARGS(db_int(term_key(o->slot, 0)), db_int(term_key(o->slot + 1, 0)),
                        db_int(AT_ONCE)),
                &o->gone, err) ||
        (w->db->kind == DB_SQLITE &&
         !db_run(w->db, SQL_NAME_SWEEP, DB_ARGS(db_int(o->slot), db_int(AT_ONCE)), &names, err)))
        return false;
    o->gone += names;
    return true;
}

static const struct store_verb sweep_verb = { .name = "sweep terms",
                                              .run = term_sweep_sweep_run,
                                              .apart = true };

/* The first slot from `from` on that has entries; *ret_slot -1: there is none. */
static bool next_slot(struct store *s, int64_t from, int64_t *ret_slot, struct err *err)
{
    AUTO(reader_back) struct reader r = reader_take(s, err);
    int64_t key = -1, slot = -1;

    if (r.db == NULL)
        return false;
    bool ok = db_one_int(r.db, SQL_TERM_ABOVE, DB_ARGS(db_int(term_key(from, 0))), -1, &key, err) &&
              (r.db->kind == DB_POSTGRESQL ||
               db_one_int(r.db, SQL_NAME_SLOT_ABOVE, DB_ARGS(db_int(from)), -1, &slot, err));

    if (key >= 0 && (slot < 0 || term_key_slot(key) < slot))
        slot = term_key_slot(key);
    *ret_slot = slot;
    return ok;
}

bool terms_sweep(struct store *s, int64_t *io_slot, int64_t *ret_gone, struct err *err)
{
    struct sweep_op o = { .slot = *io_slot };

    *ret_gone = 0;
    for (int steps = 0; steps < STEPS_MOST; steps++) {
        if (!next_slot(s, o.slot, &o.slot, err))
            return false;
        *io_slot = o.slot >= 0 ? o.slot : 0;
        if (o.slot < 0)
            return true;
        if (!writers_call(s->writers, &sweep_verb, &o.op, err))
            return false;
        *ret_gone += o.gone;
        o.slot += o.gone == 0;
    }
    *io_slot = o.slot;
    return true;
}
