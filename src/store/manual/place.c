#include "store/manual/place.h"

#include "base/auto.h"
#include "store/kernel/store_state.h"
#include "store/manual/operate.h"
#include "store/road/accept.h"
#include "store/road/claims.h"

static bool is_claimed(struct writer *w, int64_t task, bool *ret, struct err *err)
{
    int64_t n = 0;

    if (w->db->kind == DB_SQLITE) {
        *ret = claims_taken(w->store->claims, task);
        return true;
    }
    if (!db_one_int(w->db, SQL_OPERATE_LEASE, DB_ARGS(db_int(task)), 0, &n, err))
        return false;
    *ret = n > 0;
    return true;
}

/* The first row of a query for a task: its prio and rank, or its due time. */
static bool place_look(struct writer *w, enum sql_id id, struct db_args args, bool *ret_found,
                       int64_t ret[static 2], struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };

    if (!db_query(w->db, id, args, &rows, err) || !db_next(&rows, ret_found, err))
        return false;
    if (*ret_found) {
        ret[0] = db_get_int(&rows, OPERATE_READY_FIND_PRIO); /* or due_us */
        ret[1] = id == SQL_OPERATE_READY_FIND || id == SQL_OPERATE_READY_SEARCH
                     ? db_get_int(&rows, OPERATE_READY_FIND_RANK)
                     : ret[0];
    }
    return true;
}

static bool find_ready(struct writer *w, const struct place_ask *ask, struct task_place *ret,
                       struct err *err)
{
    /* The usual keys of a task; only a task that was moved needs the scan below. */
    const int64_t usual[][2] = { { PRIO_NORMAL, ask->received_us },
                                 { PRIO_HIGH, ask->received_us },
                                 { PRIO_LOW, ask->received_us },
                                 { PRIO_NORMAL, ask->due_us },
                                 { PRIO_BULK, ask->due_us } };
    struct db_value queue = db_int(ask->queue), task = db_int(ask->task);
    int64_t got[2];
    bool found = false;

    for (size_t i = 0; !found && i < sizeof usual / sizeof usual[0]; i++)
        if (!place_look(w, SQL_OPERATE_READY_FIND,
                        DB_ARGS(queue, db_int(usual[i][0]), db_int(usual[i][1]), task), &found, got,
                        err))
            return false;
    if (!found && !place_look(w, SQL_OPERATE_READY_SEARCH, DB_ARGS(queue, task), &found, got, err))
        return false;
    if (found)
        *ret = (struct task_place){
            .at = PLACE_READY, .queue = ask->queue, .prio = got[0], .rank = got[1]
        };
    return true;
}

static bool find_later(struct writer *w, int64_t task, int64_t due_us, struct task_place *ret,
                       struct err *err)
{
    int64_t got[2];
    bool found = false;

    if (due_us != 0 && !place_look(w, SQL_OPERATE_LATER_FIND, DB_ARGS(db_int(due_us), db_int(task)),
                                   &found, got, err))
        return false;
    if (due_us == 0 &&
        !place_look(w, SQL_OPERATE_LATER_SEARCH, DB_ARGS(db_int(task)), &found, got, err))
        return false;
    if (found)
        *ret = (struct task_place){ .at = PLACE_LATER, .rank = got[1] };
    return true;
}

bool place_find_dead(struct writer *w, int64_t task, struct task_place *ret, struct err *err)
{
    int64_t got[2];
    bool found;

    if (!place_look(w, SQL_OPERATE_DEAD_FIND, DB_ARGS(db_int(task)), &found, got, err))
        return false;
    if (found)
        *ret = (struct task_place){ .at = PLACE_DEAD };
    return true;
}

bool place_find(struct writer *w, const struct place_ask *ask, struct task_place *ret,
                struct err *err)
{
    bool claimed;

    *ret = (struct task_place){ .at = PLACE_NONE };
    if (!is_claimed(w, ask->task, &claimed, err))
        return false;
    if (claimed)
        return true;
    return place_find_dead(w, ask->task, ret, err) &&
           (ret->at != PLACE_NONE || ask->due_us == 0 ||
            find_later(w, ask->task, ask->due_us, ret, err)) &&
           (ret->at != PLACE_NONE || find_ready(w, ask, ret, err)) &&
           (ret->at != PLACE_NONE || find_later(w, ask->task, 0, ret, err));
}

bool place_drop(struct writer *w, int64_t task, const struct task_place *p, struct err *err)
{
    switch (p->at) {
    case PLACE_READY:
        return db_run(w->db, SQL_OPERATE_READY_DROP,
                      DB_ARGS(db_int(p->queue), db_int(p->prio), db_int(p->rank), db_int(task)),
                      NULL, err);
    case PLACE_LATER:
        return db_run(w->db, SQL_TASK_LATER_DROP, DB_ARGS(db_int(p->rank), db_int(task)), NULL,
                      err);
    case PLACE_DEAD:
        return db_run(w->db, SQL_OPERATE_DEAD_DROP, DB_ARGS(db_int(task)), NULL, err);
    case PLACE_NONE:
        break;
    }
    return true;
}
