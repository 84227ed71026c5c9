#include "store/job/job_token.h"

#include "base/arena.h"
#include "base/clock.h"
#include "store/db/rows.h"
#include "store/kernel/store_state.h"
#include "store/road/accept.h"
#include "store/road/claims.h"

/* ---- claims that end in the transaction (SQLite) ---- */

enum { ENDED_LISTS = 256 };

struct job_ended {
    struct job_ended *next;
    int64_t num;
};

static struct job_ended **job_ended_list(struct writer *w, int64_t num)
{
    return &w->ended[(uint64_t)num % ENDED_LISTS];
}

/* The transaction has removed the token that was claimed. */
static void job_claim_ended(struct writer *w, int64_t num)
{
    if (w->store->claims == NULL)
        return;
    if (w->ended == NULL)
        w->ended = ARENA_ARRAY(w->arena, struct job_ended *, ENDED_LISTS);
    struct job_ended *e = ARENA_NEW(w->arena, struct job_ended);

    *e = (struct job_ended){ .next = *job_ended_list(w, num), .num = num };
    *job_ended_list(w, num) = e;
}

static bool job_claim_is_ended(struct writer *w, int64_t num)
{
    const struct job_ended *e = w->ended != NULL ? *job_ended_list(w, num) : NULL;

    while (e != NULL && e->num != num)
        e = e->next;
    return e != NULL;
}

/* ---- where it is ---- */

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
        *ret = claims_taken(w->store->claims, num) && !job_claim_is_ended(w, num);
        return true;
    }
    if (!db_one_int(w->db, SQL_JOB_IS_LEASED, DB_ARGS(db_int(num)), 0, &n, err))
        return false;
    *ret = n > 0;
    return true;
}

static void job_read_holder(struct db_rows *row, struct arena *a, void *to)
{
    (void)a;
    *(struct job_holder *)to =
        (struct job_holder){ .claim = db_get_int(row, JOB_HOLDER_CLAIM),
                             .node = db_get_int(row, JOB_HOLDER_NODE_ID),
                             .since_us = db_get_int(row, JOB_HOLDER_UNTIL_US) };
}

bool job_token_holder(struct writer *w, int64_t num, struct job_holder *ret, struct err *err)
{
    struct claim_mark mark;
    bool found;

    *ret = (struct job_holder){ 0 };
    if (w->store->claims == NULL)
        return rows_one(w->db, SQL_JOB_HOLDER, DB_NO_SLOT, DB_ARGS(db_int(num)), job_read_holder,
                        w->arena, ret, &found, err);
    if (!job_claim_is_ended(w, num) && claims_mark(w->store->claims, num, &mark))
        *ret =
            (struct job_holder){ .claim = mark.claim,
                                 .node = store_node(w->store),
                                 .since_us = clock_wall_us() - (clock_mono_us() - mark.until_us) };
    return true;
}

bool job_claim_holds(struct writer *w, const struct job_place *p, const struct task *t, bool *ret,
                     struct err *err)
{
    struct task at = *t;

    at.queue = p->queue; /* where its row is (SQLite); job_token_move() may have changed it */
    *ret = false;
    return job_claim_is_ended(w, t->id) || task_is_held(w, &at, ret, err);
}

bool job_claim_take(struct writer *w, const struct job_place *p, const struct task *t, bool *ret,
                    struct err *err)
{
    int64_t n = 0;

    if (claims_have(w->store->claims, t) && !job_claim_is_ended(w, t->id) &&
        !db_run(w->db, SQL_JOB_READY_TAKE,
                DB_ARGS(db_int(p->queue), db_int(p->due_us), db_int(p->num)), &n, err))
        return false;
    *ret = n == 1;
    if (*ret)
        job_claim_ended(w, p->num);
    return true;
}

/* Whether a token that was found in none of its places is in one of them after all. */
static bool job_token_moves(struct writer *w, const struct job_place *p, bool *ret, struct err *err)
{
    int64_t n = 0;

    if (w->db->kind == DB_POSTGRESQL &&
        !db_one_int(w->db, SQL_JOB_IS_ANYWHERE,
                    DB_ARGS(db_int(p->queue), db_int(p->due_us), db_int(p->num)), 0, &n, err))
        return false;
    *ret = n > 0;
    return true;
}

/* ---- taking and putting ---- */

bool job_token_take(struct writer *w, const struct job_place *p, enum job_token *ret,
                    struct err *err)
{
    enum { LOOKS = 20 };

    for (int i = 0; i < LOOKS; i++) {
        bool held, taken = false, moves = false;

        /* On SQLite a claimed token is still in task_ready: the claim is looked at first. */
        if (!job_token_held(w, p->num, &held, err) ||
            (!held && !job_take_waiting(w, p, &taken, err)) ||
            (!held && !taken && !job_token_moves(w, p, &moves, err)))
            return false;
        *ret = held ? JOB_TOKEN_HELD : taken ? JOB_TOKEN_TAKEN : JOB_TOKEN_NONE;
        if (!moves)
            return true;
    }
    return err_set(err, ERR_TRANSIENT, DB_AGAIN, "the token of a job moves too often to be taken");
}

bool job_token_seize(struct writer *w, const struct job_place *p, enum job_token *ret,
                     struct err *err)
{
    if (!job_token_take(w, p, ret, err))
        return false;
    if (*ret != JOB_TOKEN_HELD)
        return true;
    int64_t n = 0;
    bool ok = w->db->kind == DB_SQLITE
                  ? db_run(w->db, SQL_JOB_READY_TAKE,
                           DB_ARGS(db_int(p->queue), db_int(p->due_us), db_int(p->num)), &n, err)
                  : db_run(w->db, SQL_JOB_LEASE_END, DB_ARGS(db_int(p->num)), &n, err);

    if (!ok)
        return false;
    job_claim_ended(w, p->num);
    /* The lease is locked.  A claim whose row is not there (SQLite) was damaged from outside. */
    if (n == 0 && w->db->kind == DB_POSTGRESQL)
        return err_set(err, ERR_TRANSIENT, DB_AGAIN, "the lease of a job is gone");
    return true;
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

bool job_token_move(struct writer *w, const struct job_place *p, int64_t queue, bool *ret_moved,
                    struct err *err)
{
    int64_t n = 0;

    if (!(w->db->kind == DB_SQLITE
              ? db_run(w->db, SQL_JOB_READY_MOVE,
                       DB_ARGS(db_int(p->num), db_int(p->due_us), db_int(p->queue), db_int(queue)),
                       &n, err)
              : db_run(w->db, SQL_JOB_LEASE_MOVE, DB_ARGS(db_int(p->num), db_int(queue)), &n, err)))
        return false;
    *ret_moved = n > 0;
    return true;
}
