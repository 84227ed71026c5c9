#include "store/road/intent.h"

#include "base/arena.h"
#include "base/container_of.h"
#include "base/fault.h"
#include "base/require.h"
#include "store/kernel/store_state.h"
#include "store/road/claims.h"
#include "store/road/settle.h"

enum { LEASED = 4 };

static bool intent_found_lease(void *arg, int64_t slot, size_t at, struct db_rows *row,
                               struct err *err)
{
    struct store_op **ops = arg;

    (void)slot;
    (void)row;
    (void)err;
    (container_of(ops[at], struct intent_op, op))->ours = true;
    return true;
}

static bool put_leased(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct db_value *v = ARENA_ARRAY(w->arena, struct db_value, count * LEASED);

    for (size_t i = 0; i < count; i++) {
        const struct intent_op *o = container_of(ops[i], struct intent_op, op);

        v[i * LEASED] = db_int(o->task.id);
        v[i * LEASED + 1] = db_int(o->task.claim);
        v[i * LEASED + 2] = db_int(o->attempts);
        v[i * LEASED + 3] = db_int(o->first_us);
    }
    return db_find(w->db, SQL_INTENT_LEASED, DB_NO_SLOT, 1, v, LEASED, count, intent_found_lease,
                   ops, err);
}

static bool put_claimed(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        struct intent_op *o = container_of(ops[i], struct intent_op, op);
        int64_t changed;

        if (!claims_have(w->store->claims, &o->task))
            continue;
        if (!db_run(w->db, SQL_INTENT_PUT,
                    DB_ARGS(db_int(o->task.id), db_int(o->attempts), db_int(o->first_us)), &changed,
                    err))
            return false;
        o->ours = changed == 1;
    }
    return true;
}

static bool intent_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        struct intent_op *o = container_of(ops[i], struct intent_op, op);

        require(o->task.kind == TASK_DELIVER);
        o->ours = false;
    }
    if (w->db->kind == DB_SQLITE ? !put_claimed(w, ops, count, err)
                                 : !put_leased(w, ops, count, err))
        return false;
    fault_point(INTENT_WRITTEN);
    return true;
}

const struct store_verb intent_verb = { .name = "intent", .run = intent_run };
