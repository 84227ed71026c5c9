#include "store/job/job.h"

#include "base/clock.h"
#include "base/require.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"
#include "store/road/claims.h"

const char *const job_stops[JOB_STOPS] = { "", "paused", "suspended", "ended" };
const char *const job_outcomes[JOB_OUTCOMES] = { "", "done", "failed", "cancelled" };

bool job_queue(struct store *s, struct str area, int64_t *ret, struct err *err)
{
    int64_t id = 0;

    if (area.len > 0 && !name_add(s, NAME_AREA, area, &id, err))
        return false;
    *ret = QUEUE_JOBS - id;
    return true;
}

static int64_t job_get_below(struct db_rows *row, int column, int64_t below)
{
    int64_t n = db_get_int(row, column);

    if (n >= 0 && n < below)
        return n;
    row_is_damaged(row);
    return 0;
}

void job_read(struct db_rows *row, struct arena *a, void *to)
{
    *(struct job_record *)to = (struct job_record){
        .num = db_get_int(row, JOB_NUM),
        .name = row_text(row, JOB_NAME, a),
        .kind = row_text(row, JOB_KIND, a),
        .area = row_text(row, JOB_AREA, a),
        .queue = db_get_int(row, JOB_QUEUE),
        .digest = row_sha256(row, JOB_DIGEST),
        .version = db_get_int(row, JOB_VERSION),
        .turn = db_get_int(row, JOB_TURN),
        .due_us = db_get_int(row, JOB_DUE_US),
        .next = { db_get_int(row, JOB_NEXT_US), db_get_int(row, JOB_NOMINAL_US) },
        .asked_us = db_get_int(row, JOB_ASKED_US),
        .stop = (enum job_stop)job_get_below(row, JOB_STOP, JOB_STOPS),
        .stop_us = db_get_int(row, JOB_STOP_US),
        .stop_until_us = db_get_int(row, JOB_STOP_UNTIL_US),
        .stop_by = row_text(row, JOB_STOP_BY, a),
        .stop_why = row_text(row, JOB_STOP_WHY, a),
        .gone_us = db_get_int(row, JOB_GONE_US),
        .state_number = db_get_int(row, JOB_STATE_NUMBER),
        .past = { .settled_us = db_get_int(row, JOB_SETTLED_US),
                  .paused_us = db_get_int(row, JOB_PAUSED_US),
                  .ended_us = db_get_int(row, JOB_LAST_END_US),
                  .served = db_get_int(row, JOB_SERVED),
                  .failures = db_get_int(row, JOB_FAILURES),
                  .idle = db_get_int(row, JOB_IDLE),
                  .more = db_get_int(row, JOB_MORE) != 0,
                  .tries = db_get_int(row, JOB_TRIES),
                  .tried_us = db_get_int(row, JOB_TRIED_US),
                  .first_us = db_get_int(row, JOB_FIRST_US) },
        .runs = db_get_int(row, JOB_RUNS),
        .resets = db_get_int(row, JOB_RESETS),
        .left_out = db_get_int(row, JOB_LEFT_OUT),
        .outcome = (enum job_outcome)job_get_below(row, JOB_OUTCOME, JOB_OUTCOMES),
        .message = row_text(row, JOB_MESSAGE, a),
        .node = db_get_int(row, JOB_NODE_ID),
        .began_us = db_get_int(row, JOB_BEGAN_US),
        .ended_us = db_get_int(row, JOB_ENDED_US),
        .ok_us = db_get_int(row, JOB_OK_US)
    };
}

void job_plan_values(struct db_value v[static JOB_PLAN], const struct job_plan *p)
{
    const int64_t values[JOB_PLAN] = { p->next.due_us,    p->next.nominal_us, p->past.settled_us,
                                       p->past.paused_us, p->past.ended_us,   p->past.served,
                                       p->past.failures,  p->past.idle,       p->past.more,
                                       p->past.tries,     p->past.tried_us,   p->past.first_us,
                                       p->left_out };

    for (size_t i = 0; i < JOB_PLAN; i++)
        v[i] = db_int(values[i]);
}

struct job_plan job_plan_of(const struct job_record *r)
{
    return (struct job_plan){ .next = r->next, .past = r->past, .turn = r->turn };
}

bool job_may_run(const struct job_record *r)
{
    return r->gone_us == 0 && (r->stop == JOB_GOES || r->asked_us != 0);
}

struct job_locked {
    struct job_record *record;
    struct arena *arena;
};

static bool job_found_locked(void *arg, int64_t slot, size_t at, struct db_rows *row,
                             struct err *err)
{
    const struct job_locked *l = arg;

    (void)slot;
    (void)at;
    (void)err;
    row_found(row, job_read, l->arena, l->record);
    return true;
}

bool job_lock_num(struct writer *w, int64_t num, struct job_record *ret, struct err *err)
{
    struct job_locked l = { .record = ret, .arena = w->arena };
    struct db_value key = db_int(num);

    *ret = (struct job_record){ 0 };
    return db_find(w->db, SQL_JOB_LOCK_SOME, DB_NO_SLOT, 1, &key, 1, 1, job_found_locked, &l, err);
}

struct str job_cut(struct str text)
{
    return str_first(text, JOB_TEXT_MOST);
}

static void job_read_held(struct db_rows *row, struct arena *a, void *to)
{
    struct job_record *r = to;

    job_read(row, a, to);
    r->holder = db_get_int(row, JOB_PAGE_HOLDER);
    r->open_runs = db_get_int(row, JOB_PAGE_OPEN_RUNS);
    r->running = r->holder != 0;
    r->awaited_nominal_us = db_get_int(row, JOB_PAGE_AWAITED_NOMINAL_US);
    r->held_us = r->awaited_nominal_us != 0 ? db_get_int(row, JOB_PAGE_AWAITED_US)
                                            : db_get_int(row, JOB_PAGE_HELD_US);
}

/* SQLite: claims are in memory. */
static void job_look_held(struct store *s, struct job_record *r)
{
    struct claim_mark mark;

    if (s->claims == NULL || !claims_mark(s->claims, r->num, &mark))
        return;
    r->running = true;
    r->holder = store_node(s);
    if (r->held_us == 0)
        r->held_us = clock_wall_us() - (clock_mono_us() - mark.until_us);
}

bool job_find(struct store *s, struct str name, struct arena *a, struct job_record *ret,
              bool *ret_found, struct err *err)
{
    _Static_assert((int)JOB_FIND_HOLDER == (int)JOB_PAGE_HOLDER &&
                       (int)JOB_FIND_AWAITED_NOMINAL_US == (int)JOB_PAGE_AWAITED_NOMINAL_US,
                   "read by the same function");
    if (!store_one(s, SQL_JOB_FIND, DB_ARGS(db_text(name)), job_read_held, a, ret, ret_found, err))
        return false;
    if (*ret_found)
        job_look_held(s, ret);
    return true;
}

bool job_list(struct store *s, int64_t above, size_t most, struct arena *a, struct job_record *ret,
              size_t *ret_count, struct err *err)
{
    if (!store_collect(s, SQL_JOB_PAGE, DB_ARGS(db_int(above), db_int((int64_t)most)),
                       ROWS_INTO(ret, most, a, job_read_held), ret_count, err))
        return false;
    for (size_t i = 0; i < *ret_count; i++)
        job_look_held(s, &ret[i]);
    return true;
}

static void job_read_with_state(struct db_rows *row, struct arena *a, void *to)
{
    struct job_with_state *j = to;

    _Static_assert((int)JOB_KIND_PAGE_HOLDER == (int)JOB_PAGE_HOLDER &&
                       (int)JOB_KIND_PAGE_AWAITED_NOMINAL_US == (int)JOB_PAGE_AWAITED_NOMINAL_US,
                   "read by the same function");
    job_read_held(row, a, &j->record);
    j->state = row_text(row, JOB_KIND_PAGE_STATE, a);
}

bool job_list_kind(struct store *s, struct str kind, int64_t above, size_t most, struct arena *a,
                   struct job_with_state *ret, size_t *ret_count, struct err *err)
{
    if (!store_collect(s, SQL_JOB_KIND_PAGE,
                       DB_ARGS(db_text(kind), db_int(above), db_int((int64_t)most)),
                       ROWS_INTO(ret, most, a, job_read_with_state), ret_count, err))
        return false;
    for (size_t i = 0; i < *ret_count; i++)
        job_look_held(s, &ret[i].record);
    return true;
}

bool job_mark(struct store *s, int64_t *ret, struct err *err)
{
    return store_one_int(s, SQL_JOB_MARK, DB_NO_ARGS, 0, ret, err);
}
