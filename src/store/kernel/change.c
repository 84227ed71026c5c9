#include "store/kernel/change.h"

#include "base/container_of.h"
#include "base/require.h"
#include "store/kernel/store_state.h"

struct change_op {
    struct store_op op;
    const struct store_change *change;
    int64_t changed;
};

bool mark_take(struct writer *w, const char *name, int64_t *ret, struct err *err)
{
    int64_t value;

    return db_one_int(w->db, SQL_MARK_TAKE, DB_ARGS(db_text(str_of(name)), db_int(1)), 0,
                      ret != NULL ? ret : &value, err);
}

static bool kernel_change_run(struct writer *w, struct store_op **ops, size_t count,
                              struct err *err)
{
    struct change_op *o = container_of(ops[0], struct change_op, op);
    const struct store_change *c = o->change;

    require(count == 1);
    if ((c->mark != NULL && !mark_take(w, c->mark, NULL, err)) ||
        !db_run(w->db, c->sql, c->args, &o->changed, err))
        return false;
    o->op.nothing = o->changed == 0;
    return true;
}

static const struct store_verb change_verb = { .name = "change", .run = kernel_change_run };
static const struct store_verb silent_verb = { .name = "silent change",
                                               .run = kernel_change_run,
                                               .notes = true };

bool store_change(struct store *s, const struct store_change *c, int64_t *ret_changed,
                  struct err *err)
{
    struct change_op o = { .change = c };

    if (!writers_call(s->writers, c->silent ? &silent_verb : &change_verb, &o.op, err))
        return false;
    if (ret_changed != NULL)
        *ret_changed = o.changed;
    return true;
}

bool store_change_one(struct store *s, const struct store_change *c, bool *ret_was, struct err *err)
{
    int64_t changed;

    if (!store_change(s, c, &changed, err))
        return false;
    *ret_was = changed == 1;
    return true;
}
