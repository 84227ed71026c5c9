#include "store/job/job_log.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/require.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"

#define LOG_DAY_US (INT64_C(86400) * CLOCK_S)

enum {
    LOG_COLUMNS = 13,
    /* A reader looks at tables of JOB_LOG_DAYS days; they are dropped a day later, so that it reads
     * none that goes. */
    LOG_DROP_DAYS = JOB_LOG_DAYS + 1,
    LOG_DROPS = 16, /* tables in one transaction */
};

const char *const job_log_levels[JOB_LOG_LEVELS] = { "off", "errors", "all" };

bool job_log_wants(enum job_log_level level, enum job_outcome outcome, bool is_stale)
{
    return level == JOB_LOG_ALL || (level == JOB_LOG_ERRORS && (outcome != JOB_DONE || is_stale));
}

/* ---- write ---- */

struct log_add_op {
    struct store_op op;
    const struct job_log_line *lines;
    size_t count;
};

bool job_log_make(struct db *db, int64_t day, struct err *err)
{
    return db_run_slot(db, SQL_JOB_LOG_MAKE, day, DB_NO_ARGS, NULL, err) &&
           db_run_slot(db, SQL_JOB_LOG_INDEX, day, DB_NO_ARGS, NULL, err);
}

static bool log_today(struct db *db, int64_t *ret, struct err *err)
{
    int64_t now_us;

    if (!db_one_int(db, SQL_RATE_NOW, DB_NO_ARGS, 0, &now_us, err))
        return false;
    *ret = now_us / LOG_DAY_US;
    return true;
}

static void log_row(struct db_value v[static LOG_COLUMNS], const struct job_log_line *l)
{
    v[0] = db_int(l->ended_us);
    v[1] = db_int(l->job);
    v[2] = db_int(l->claim);
    v[3] = db_int(l->node);
    v[4] = db_int(l->nominal_us);
    v[5] = db_int(l->due_us);
    v[6] = db_int(l->claimed_us);
    v[7] = db_int(l->began_us);
    v[8] = db_int(l->outcome);
    v[9] = db_text(job_cut(l->message));
    v[10] = db_text(str_first(l->steps, JOB_STEPS_MOST));
    v[11] = db_int(l->is_stale);
    v[12] = db_text(l->is_stale ? str_first(l->stale, JOB_STATE_MOST) : STR(""));
}

static bool log_add_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    const struct log_add_op *o = container_of(ops[0], struct log_add_op, op);
    struct db_value *v = ARENA_ARRAY(w->arena, struct db_value, o->count * LOG_COLUMNS);
    int64_t day, added;

    require(count == 1);
    for (size_t i = 0; i < o->count; i++)
        log_row(v + i * LOG_COLUMNS, &o->lines[i]);
    /* Insert the row first: a concurrent transaction that makes the same table waits for it. */
    return log_today(w->db, &day, err) &&
           db_run(w->db, SQL_PART_ADD, DB_ARGS(db_int(TABLES_JOB_LOG), db_int(day)), &added, err) &&
           (added == 0 || job_log_make(w->db, day, err)) &&
           db_batch(w->db, SQL_JOB_LOG_ADD, day, v, LOG_COLUMNS, o->count, err);
}

static const struct store_verb log_add_verb = { .name = "log job runs",
                                                .run = log_add_run,
                                                .notes = true };

bool job_log_add(struct store *s, const struct job_log_line *lines, size_t count, struct err *err)
{
    struct log_add_op o = { .lines = lines, .count = count };

    require(count <= JOB_LOG_MOST);
    return count == 0 || writers_call(s->writers, &log_add_verb, &o.op, err);
}

/* ---- read ---- */

static void log_read_line(struct db_rows *row, struct arena *a, void *to)
{
    int64_t outcome = db_get_int(row, RUN_LOG_OUTCOME);

    if (outcome < 0 || outcome >= JOB_OUTCOMES) {
        row_is_damaged(row);
        outcome = 0;
    }
    *(struct job_log_line *)to =
        (struct job_log_line){ .job = db_get_int(row, RUN_LOG_JOB),
                               .claim = db_get_int(row, RUN_LOG_CLAIM),
                               .node = db_get_int(row, RUN_LOG_NODE_ID),
                               .nominal_us = db_get_int(row, RUN_LOG_NOMINAL_US),
                               .due_us = db_get_int(row, RUN_LOG_DUE_US),
                               .claimed_us = db_get_int(row, RUN_LOG_CLAIMED_US),
                               .began_us = db_get_int(row, RUN_LOG_BEGAN_US),
                               .ended_us = db_get_int(row, RUN_LOG_ENDED_US),
                               .outcome = (enum job_outcome)outcome,
                               .message = row_text(row, RUN_LOG_MESSAGE, a),
                               .steps = row_text(row, RUN_LOG_STEPS, a),
                               .is_stale = db_get_int(row, RUN_LOG_IS_STALE) != 0,
                               .stale = row_text(row, RUN_LOG_STALE, a) };
}

/* The lines of one day behind a place. */
static bool log_read_day(struct db *db, int64_t job, const struct job_log_place *below, size_t most,
                         struct arena *a, struct job_log_line *ret, size_t *ret_count,
                         struct err *err)
{
    struct db_value ended = db_int(below->ended_us), claim = db_int(below->claim);
    struct rows_into *into = ROWS_INTO(ret, most, a, log_read_line);

    return job != 0 ? rows_collect(db, SQL_JOB_LOG_PAGE_JOB, below->day,
                                   DB_ARGS(db_int(job), ended, claim, db_int(most)), into,
                                   ret_count, err)
                    : rows_collect(db, SQL_JOB_LOG_PAGE, below->day,
                                   DB_ARGS(ended, db_int(below->job), claim, db_int(most)), into,
                                   ret_count, err);
}

/* The newest table that is not above this day and may be read; 0: there is none. */
static bool log_next_day(struct db *db, int64_t upto, int64_t oldest, int64_t *ret, struct err *err)
{
    int64_t above = upto == INT64_MAX ? upto : upto + 1;

    if (!db_one_int(db, SQL_PART_BELOW, DB_ARGS(db_int(TABLES_JOB_LOG), db_int(above)), 0, ret,
                    err))
        return false;
    if (*ret < oldest)
        *ret = 0;
    return true;
}

bool job_log_list(struct store *s, int64_t job, size_t most, struct arena *a,
                  struct job_log_line *ret, size_t *ret_count, struct job_log_place *io_place,
                  struct err *err)
{
    static const struct job_log_place top = { INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX };
    AUTO(reader_back) struct reader r = reader_take(s, err);
    struct job_log_place at = io_place->day != 0 ? *io_place : top;
    int64_t today, day;

    require(most > 0 && most <= JOB_LOG_MOST);
    *ret_count = 0;
    *io_place = (struct job_log_place){ 0 };
    if (r.db == NULL || !log_today(r.db, &today, err))
        return false;
    while (*ret_count < most) {
        size_t n;

        if (!log_next_day(r.db, at.day, today - JOB_LOG_DAYS, &day, err))
            return false;
        if (day == 0)
            return true;
        if (day != at.day)
            at = (struct job_log_place){ day, INT64_MAX, INT64_MAX, INT64_MAX };
        if (!log_read_day(r.db, job, &at, most - *ret_count, a, ret + *ret_count, &n, err))
            return false;
        *ret_count += n;
        if (*ret_count < most) /* the day is over */
            at = (struct job_log_place){ day - 1, INT64_MAX, INT64_MAX, INT64_MAX };
    }
    const struct job_log_line *last = &ret[*ret_count - 1];

    *io_place = (struct job_log_place){ at.day, last->ended_us, last->job, last->claim };
    return true;
}

/* ---- drop ---- */

struct log_drop_op {
    struct store_op op;
    int64_t dropped;
};

static bool log_drop_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct log_drop_op *o = container_of(ops[0], struct log_drop_op, op);
    int64_t days[LOG_DROPS], today;
    size_t n;

    require(count == 1);
    o->dropped = 0;
    if (!log_today(w->db, &today, err) ||
        !rows_ints(
            w->db, SQL_JOB_LOG_OLD,
            DB_ARGS(db_int(TABLES_JOB_LOG), db_int(today - LOG_DROP_DAYS), db_int(LOG_DROPS)), days,
            LOG_DROPS, &n, err))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!db_run_slot(w->db, SQL_JOB_LOG_LOCK, days[i], DB_NO_ARGS, NULL, err) ||
            !db_run_slot(w->db, SQL_JOB_LOG_DROP, days[i], DB_NO_ARGS, NULL, err) ||
            !db_run(w->db, SQL_PART_DROP, DB_ARGS(db_int(TABLES_JOB_LOG), db_int(days[i])), NULL,
                    err))
            return false;
    o->dropped = (int64_t)n;
    return true;
}

static const struct store_verb log_drop_verb = {
    .name = "drop logs of jobs", .run = log_drop_run, .apart = true, .notes = true
};

bool job_log_drop(struct store *s, int64_t *ret_dropped, struct err *err)
{
    struct log_drop_op o = { .dropped = 0 };
    int64_t oldest = 0;

    *ret_dropped = 0;
    /* Mostly there is nothing to do: that costs one question. */
    if (!store_one_int(s, SQL_JOB_LOG_OLDEST, DB_ARGS(db_int(TABLES_JOB_LOG)), 0, &oldest, err))
        return false;
    if (oldest == 0 || oldest >= clock_wall_us() / LOG_DAY_US - LOG_DROP_DAYS)
        return true;
    if (!writers_call(s->writers, &log_drop_verb, &o.op, err))
        return false;
    *ret_dropped = o.dropped;
    return true;
}
