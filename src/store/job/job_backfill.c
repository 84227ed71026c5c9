#include "store/job/job_backfill.h"

#include "base/auto.h"
#include "base/container_of.h"
#include "base/require.h"
#include "store/db/rows.h"
#include "store/job/job_end.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"
#include "store/road/settle_rows.h"

/* ---- look ---- */

static void backfill_read(struct db_rows *row, struct arena *a, void *to)
{
    *(struct job_backfill *)to =
        (struct job_backfill){ .job = db_get_int(row, JOB_BACKFILL_PAGE_NUM),
                               .number = db_get_int(row, JOB_BACKFILL_PAGE_NUMBER),
                               .left = db_get_int(row, JOB_BACKFILL_PAGE_LEFT_OVER),
                               .next_us = db_get_int(row, JOB_BACKFILL_PAGE_NEXT_US),
                               .last_us = db_get_int(row, JOB_BACKFILL_PAGE_LAST_US),
                               .tries = db_get_int(row, JOB_BACKFILL_PAGE_TRIES),
                               .after_us = db_get_int(row, JOB_BACKFILL_PAGE_AFTER_US),
                               .name = row_text(row, JOB_BACKFILL_PAGE_NAME, a) };
}

bool job_backfill_list(struct store *s, int64_t above, size_t most, struct arena *a,
                       struct job_backfill *ret, size_t *ret_count, struct err *err)
{
    require(most <= BACKFILL_JOBS_MOST);
    return store_collect(s, SQL_JOB_BACKFILL_PAGE, DB_ARGS(db_int(above), db_int(most)),
                         ROWS_INTO(ret, most, a, backfill_read), ret_count, err);
}

bool job_backfill_get(struct store *s, int64_t job, struct arena *a, struct job_backfill *ret,
                      struct err *err)
{
    struct job_backfill found;
    size_t n;

    if (!job_backfill_list(s, job - 1, 1, a, &found, &n, err))
        return false;
    *ret = n == 1 && found.job == job ? found : (struct job_backfill){ .job = job };
    return true;
}

/* ---- change ---- */

bool job_backfill_count(struct writer *w, int64_t job, int64_t *ret, struct err *err)
{
    return db_one_int(w->db, SQL_JOB_BACKFILL_COUNT, DB_ARGS(db_int(job)), 0, ret, err);
}

bool job_backfill_first(struct writer *w, int64_t job, int64_t now_us, int64_t *ret_us,
                        struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    bool row;

    *ret_us = 0;
    if (!db_query(w->db, SQL_JOB_BACKFILL_FIRST, DB_ARGS(db_int(job)), &rows, err) ||
        !db_next(&rows, &row, err))
        return false;
    if (row && db_get_int(&rows, JOB_BACKFILL_FIRST_AFTER_US) <= now_us)
        *ret_us = db_get_int(&rows, JOB_BACKFILL_FIRST_NOMINAL_US);
    return true;
}

bool job_backfill_put(struct writer *w, int64_t job, const int64_t *times, size_t count,
                      struct err *err)
{
    struct rows put = rows_of(w, SQL_JOB_BACKFILL_PUT, 3, count);
    int64_t number;

    require(count <= BACKFILL_MOST);
    if (!writer_number(w, &number, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        struct db_value *v = row_of(&put);

        v[0] = db_int(job);
        v[1] = db_int(times[i]);
        v[2] = db_int(number);
    }
    return write_rows(w, &put, err);
}

bool job_backfill_remove(struct writer *w, int64_t job, int64_t *ret_left, struct err *err)
{
    *ret_left = 0;
    return db_run(w->db, SQL_JOB_BACKFILL_REMOVE, DB_ARGS(db_int(job)), ret_left, err);
}

bool job_backfill_ended(struct writer *w, const struct job_end_op *o, struct err *err)
{
    int64_t job = o->task.id, nominal_us = o->record.asked_us;

    if (nominal_us == 0)
        return true;
    if (o->outcome == JOB_DONE)
        return db_run(w->db, SQL_JOB_BACKFILL_DONE, DB_ARGS(db_int(job), db_int(nominal_us)), NULL,
                      err);
    return db_run(w->db, SQL_JOB_BACKFILL_FAILED,
                  DB_ARGS(db_int(job), db_int(nominal_us), db_int(o->again_us),
                          db_int(o->final ? BACKFILL_TRIES : 1)),
                  NULL, err);
}

/* ---- give up ---- */

struct backfill_drop_op {
    struct store_op op;
    int64_t job, number, left;
};

static bool backfill_drop_run(struct writer *w, struct store_op **ops, size_t count,
                              struct err *err)
{
    struct backfill_drop_op *o = container_of(ops[0], struct backfill_drop_op, op);
    struct job_record r;

    require(count == 1);
    o->left = 0;
    return job_lock_num(w, o->job, &r, err) &&
           db_run(w->db, SQL_JOB_BACKFILL_GIVE_UP, DB_ARGS(db_int(o->job), db_int(o->number)),
                  &o->left, err);
}

static const struct store_verb backfill_drop_verb = { .name = "end backfill of job",
                                                      .run = backfill_drop_run,
                                                      .notes = true };

bool job_backfill_drop(struct store *s, int64_t job, int64_t number, int64_t *ret_left,
                       struct err *err)
{
    struct backfill_drop_op o = { .job = job, .number = number };

    if (!writers_call(s->writers, &backfill_drop_verb, &o.op, err))
        return false;
    *ret_left = o.left;
    return true;
}
