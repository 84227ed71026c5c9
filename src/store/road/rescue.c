#include "store/road/rescue.h"

#include "base/container_of.h"
#include "store/kernel/node.h"
#include "store/kernel/store_state.h"
#include "store/road/aloft.h"
#include "store/road/task.h"

struct rescue {
    struct store_op op;
    int64_t moved;
};

static bool rescue_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    (void)count;
    struct rescue *r = container_of(ops[0], struct rescue, op);

    r->moved = 0;
    if (w->db->kind != DB_POSTGRESQL)
        return true;
    return node_end_silent(w, err) && task_rescue(w->db, &r->moved, err) &&
           aloft_forget(w->db, err) && node_forget(w->db, err);
}

/* Apart: whatever else is in the way, a dead node is found. */
static const struct store_verb rescue_verb = { .name = "rescue", .run = rescue_run, .apart = true };

bool rescue_dead_nodes(struct store *s, int64_t *ret_moved, struct err *err)
{
    struct rescue r = { 0 };

    if (!writers_call(s->writers, &rescue_verb, &r.op, err))
        return false;
    *ret_moved = r.moved;
    return true;
}
