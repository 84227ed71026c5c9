#include "store/kernel/health_look.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/container_of.h"
#include "store/kernel/store_state.h"

struct health_look {
    struct store_op op;
    struct health *health;
    bool writes;
};

struct health_look *health_look_new(void)
{
    return NEW(struct health_look);
}

void health_look_free(struct health_look *l)
{
    free(l);
}

static bool health_look_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct health_look *l = container_of(ops[0], struct health_look, op);

    (void)count; /* there is one */
    return (w->db->kind != DB_SQLITE || db_sqlite_log_has_room(w->db, err)) &&
           db_send(w->db, SQL_HEALTH_LOCK, DB_NO_ARGS, err) &&
           (!l->writes || w->db->kind != DB_SQLITE ||
            db_send(w->db, SQL_HEALTH_WRITE, DB_NO_ARGS, err));
}

static void health_look_done(struct store_op *op)
{
    health_look_end(container_of(op, struct health_look, op)->health, op->ok, &op->err);
}

static const struct store_verb health_look_verb = { .name = "health",
                                                    .run = health_look_run,
                                                    .notes = true };

void health_look(struct store *s)
{
    struct health_look *l = s->health_look;

    if (!health_look_begin(s->health, &l->writes))
        return;
    l->health = s->health;
    l->op = (struct store_op){ .verb = &health_look_verb, .done = health_look_done };
    writers_submit_always(s->writers, &l->op, &l->op, 1);
}

bool health_of(struct store *s, char ret_why[static HEALTH_WHY], bool *ret_space)
{
    return health_is_bad(s->health, ret_why, ret_space);
}
