#include "store/job/job_late.h"

#include <stdlib.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/require.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"
#include "store/road/claims.h"

/* ---- claimed ---- */

static void late_read_held(struct db_rows *row, struct arena *a, void *to)
{
    struct job_held *h = to;

    (void)a;
    *h = (struct job_held){ .job = db_get_int(row, JOB_HELD_ID),
                            .claim = db_get_int(row, JOB_HELD_CLAIM),
                            .node = db_get_int(row, JOB_HELD_NODE_ID),
                            .held_us = db_get_int(row, JOB_HELD_HELD_US),
                            .lasts_us = db_get_int(row, JOB_HELD_LASTS_US) };
    h->over_us = h->held_us - h->lasts_us;
}

static int late_by_age(const void *a, const void *b)
{
    const struct job_held *x = a, *y = b;

    return x->over_us > y->over_us ? -1 : x->over_us < y->over_us;
}

/* SQLite: claims are marks in memory. */
static size_t late_marks(struct store *s, size_t most, struct job_held *ret)
{
    struct claim_mark marks[JOB_LATE_MOST];
    size_t n = claims_of_jobs(s->claims, marks, most);
    int64_t now_us = clock_mono_us();

    for (size_t i = 0; i < n; i++)
        ret[i] = (struct job_held){ .job = marks[i].id,
                                    .claim = marks[i].claim,
                                    .node = store_node(s),
                                    .held_us = now_us - marks[i].until_us,
                                    .lasts_us = marks[i].lasts_us,
                                    .over_us = now_us - marks[i].until_us - marks[i].lasts_us };
    qsort(ret, n, sizeof *ret, late_by_age);
    return n;
}

struct late_names {
    struct job_held *held;
    struct arena *arena;
};

static bool late_found_name(void *arg, int64_t slot, size_t at, struct db_rows *row,
                            struct err *err)
{
    const struct late_names *n = arg;

    (void)slot;
    (void)err;
    n->held[at].name = row_text(row, JOB_NAME_NAME, n->arena);
    return true;
}

static bool late_find_names(struct store *s, struct job_held *held, size_t count, struct arena *a,
                            struct err *err)
{
    AUTO(reader_back) struct reader r = { 0 };
    struct db_value *keys = ARENA_ARRAY(a, struct db_value, count + 1);
    struct late_names n = { .held = held, .arena = a };

    for (size_t i = 0; i < count; i++) {
        keys[i] = db_int(held[i].job);
        held[i].name = STR("");
    }
    if (count == 0)
        return true;
    r = reader_take(s, err);
    return r.db != NULL &&
           db_find(r.db, SQL_JOB_NAME, DB_NO_SLOT, 1, keys, 1, count, late_found_name, &n, err);
}

bool job_claims(struct store *s, int64_t now_us, int64_t least_us, size_t most, struct arena *a,
                struct job_held *ret, size_t *ret_count, struct err *err)
{
    size_t n = 0;

    require(most <= JOB_LATE_MOST);
    if (s->claims != NULL)
        *ret_count = late_marks(s, most, ret);
    else if (!store_collect(s, SQL_JOB_HELD, DB_ARGS(db_int(now_us), db_int(most)),
                            ROWS_INTO(ret, most, NULL, late_read_held), ret_count, err))
        return false;
    while (n < *ret_count && ret[n].over_us >= least_us)
        n++;
    *ret_count = n;
    return late_find_names(s, ret, n, a, err);
}

static bool late_found_claim(void *arg, int64_t slot, size_t at, struct db_rows *row,
                             struct err *err)
{
    bool *hold = arg;

    (void)slot;
    (void)row;
    (void)err;
    hold[at] = true;
    return true;
}

bool job_claims_hold(struct store *s, const struct task *claims, size_t count, struct arena *a,
                     bool *ret_hold, struct err *err)
{
    AUTO(reader_back) struct reader r = { 0 };
    struct db_value *keys = ARENA_ARRAY(a, struct db_value, count * 2 + 1);
    bool *hold = ARENA_ARRAY(a, bool, count + 1);

    for (size_t i = 0; i < count; i++) {
        keys[i * 2] = db_int(claims[i].id);
        keys[i * 2 + 1] = db_int(claims[i].claim);
        hold[i] = false;
        /* SQLite: a mark goes after the row that takes its place has come. */
        ret_hold[i] = s->claims != NULL && claims_have(s->claims, &claims[i]);
    }
    if (count == 0)
        return true;
    r = reader_take(s, err);
    if (r.db == NULL || !db_find(r.db, SQL_JOB_CLAIM_HOLDS, DB_NO_SLOT, 1, keys, 2, count,
                                 late_found_claim, hold, err))
        return false;
    for (size_t i = 0; i < count; i++)
        ret_hold[i] = ret_hold[i] || hold[i];
    return true;
}

/* ---- due ---- */

static void late_read_waiting(struct db_rows *row, struct arena *a, void *to)
{
    *(struct job_waiting *)to = (struct job_waiting){ .job = db_get_int(row, WAITING_NUM),
                                                      .due_us = db_get_int(row, WAITING_DUE_US),
                                                      .name = row_text(row, WAITING_NAME, a),
                                                      .area = row_text(row, WAITING_AREA, a) };
}

bool job_unclaimed(struct store *s, int64_t before_us, size_t most, struct arena *a,
                   struct job_waiting *ret, size_t *ret_count, struct err *err)
{
    size_t n = 0;

    require(most <= JOB_LATE_MOST);
    if (!store_collect(s, SQL_JOB_UNCLAIMED, DB_ARGS(db_int(before_us), db_int(most)),
                       ROWS_INTO(ret, most, a, late_read_waiting), ret_count, err))
        return false;
    for (size_t i = 0; i < *ret_count; i++) /* SQLite: a claimed row stays where it is */
        if (s->claims == NULL || !claims_taken(s->claims, ret[i].job))
            ret[n++] = ret[i];
    *ret_count = n;
    return true;
}

/* ---- without a token ---- */

bool job_tokenless(struct store *s, int64_t *io_above, struct arena *a,
                   struct job_waiting ret[static JOB_LATE_MOST], size_t *ret_count, struct err *err)
{
    AUTO(reader_back) struct reader r = reader_take(s, err);
    int64_t upto;

    if (r.db == NULL ||
        !db_one_int(r.db, SQL_JOB_UPTO, DB_ARGS(db_int(*io_above), db_int(JOB_LATE_MOST)), 0, &upto,
                    err))
        return false;
    *ret_count = 0;
    bool ok =
        upto == 0 ||
        rows_collect(r.db, SQL_JOB_TOKENLESS, DB_NO_SLOT, DB_ARGS(db_int(*io_above), db_int(upto)),
                     ROWS_INTO(ret, JOB_LATE_MOST, a, late_read_waiting), ret_count, err);

    *io_above = upto;
    return ok;
}

/* ---- stopped ---- */

static void late_read_stopped(struct db_rows *row, struct arena *a, void *to)
{
    int64_t stop = db_get_int(row, STOPPED_STOP);

    *(struct job_stopped *)to =
        (struct job_stopped){ .job = db_get_int(row, STOPPED_NUM),
                              .stop = stop == JOB_SUSPENDED ? JOB_SUSPENDED : JOB_PAUSED,
                              .until_us = db_get_int(row, STOPPED_STOP_UNTIL_US),
                              .name = row_text(row, STOPPED_NAME, a),
                              .why = row_text(row, STOPPED_STOP_WHY, a) };
}

bool job_stopped(struct store *s, int64_t above, size_t most, struct arena *a,
                 struct job_stopped *ret, size_t *ret_count, struct err *err)
{
    require(most <= JOB_LATE_MOST);
    return store_collect(s, SQL_JOB_STOPPED, DB_ARGS(db_int(above), db_int(most)),
                         ROWS_INTO(ret, most, a, late_read_stopped), ret_count, err);
}
