#include "store/job/job_token.h"

#include "store/kernel/store_state.h"
#include "store/road/accept.h"
#include "store/road/claims.h"

static bool job_take_waiting(struct writer *w, const struct job_place *p, bool *ret,
                             struct err *err)
{
    int64_t n = 0;

    if (!db_run(w->db, SQL_JOB_LATER_TAKE, DB_ARGS(db_int(p->due_us), db_int(p->num)), &n, err) ||
        (n == 0 && !db_run(w->db, SQL_JOB_READY_TAKE,
                           DB_ARGS(db_int(p->queue), db_int(p->due_us), db_int(p->num)), &n, err)))
        return false;
    *ret = n > 0;
    return true;
}

bool job_token_held(struct writer *w, int64_t num, bool *ret, struct err *err)
{
    int64_t n = 0;

    if (w->store->claims != NULL) {
        *ret = claims_taken(w->store->claims, num);
        return true;
    }
    if (!db_one_int(w->db, SQL_JOB_IS_LEASED, DB_ARGS(db_int(num)), 0, &n, err))
        return false;
    *ret = n > 0;
    return true;
}

bool job_token_take(struct writer *w, const struct job_place *p, enum job_token *ret,
                    struct err *err)
{
    enum { LOOKS = 3 };
    bool taken = false, held = false;

    /* On SQLite a claimed token is still in task_ready: the claim is looked at first. */
    for (int i = 0; i < LOOKS && !held && !taken; i++)
        if (!job_token_held(w, p->num, &held, err) ||
            (!held && !job_take_waiting(w, p, &taken, err)))
            return false;
    *ret = held ? JOB_TOKEN_HELD : taken ? JOB_TOKEN_TAKEN : JOB_TOKEN_NONE;
    return true;
}

bool job_token_seize(struct writer *w, const struct job_place *p, struct err *err)
{
    return w->db->kind == DB_SQLITE
               ? db_run(w->db, SQL_JOB_READY_TAKE,
                        DB_ARGS(db_int(p->queue), db_int(p->due_us), db_int(p->num)), NULL, err)
               : db_run(w->db, SQL_JOB_LEASE_END, DB_ARGS(db_int(p->num)), NULL, err);
}

bool job_token_put(struct writer *w, const struct job_place *p, int64_t now_us, struct err *err)
{
    if (p->due_us > now_us)
        return db_run(w->db, SQL_TASK_LATER_PUT,
                      DB_ARGS(db_int(p->due_us), db_int(p->num), db_int(p->queue),
                              db_int(PRIO_NORMAL), db_int(TASK_JOB), db_int(0), db_int(0),
                              db_int(0), db_text(STR(""))),
                      NULL, err);
    if (!db_run(w->db, SQL_TASK_READY_PUT,
                DB_ARGS(db_int(p->queue), db_int(PRIO_NORMAL), db_int(p->due_us), db_int(p->num),
                        db_int(TASK_JOB), db_int(0), db_int(0), db_int(0)),
                NULL, err))
        return false;
    if (w->store->claims != NULL)
        claims_put_at(w->store->claims, p->queue,
                      (struct claim_place){ .prio = PRIO_NORMAL, .rank = p->due_us, .id = p->num });
    return true;
}

bool job_token_move(struct writer *w, const struct job_place *p, int64_t queue, struct err *err)
{
    return w->db->kind == DB_SQLITE
               ? db_run(w->db, SQL_JOB_READY_MOVE,
                        DB_ARGS(db_int(p->num), db_int(p->due_us), db_int(p->queue), db_int(queue)),
                        NULL, err)
               : db_run(w->db, SQL_JOB_LEASE_MOVE, DB_ARGS(db_int(p->num), db_int(queue)), NULL,
                        err);
}
