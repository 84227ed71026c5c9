#include "store/job/job_follow.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/container_of.h"
#include "base/require.h"
#include "store/db/rows.h"
#include "store/job/job_forget.h"
#include "store/job/job_token.h"
#include "store/kernel/store_state.h"
#include "store/road/settle_rows.h"

struct follow_op {
    struct store_op op;
    struct job_follow *f;
};

/* A name that is wanted, in the records, or both. */
struct followed {
    struct str name;
    struct job_wanted *wanted;
    const struct job_record *record;
    bool forgotten; /* it is gone, and its record goes, too */
};

static int job_by_name(const void *a, const void *b)
{
    return str_cmp(((const struct followed *)a)->name, ((const struct followed *)b)->name);
}

/* All records, locked. */
static bool job_lock_all(struct writer *w, struct job_record **ret, size_t *ret_count,
                         struct err *err)
{
    struct rows_into into = {
        .read = job_read,
        .arena = w->arena,
        .size = sizeof(struct job_record),
        .most = JOB_RECORDS_MOST,
    };

    if (!rows_collect(w->db, SQL_JOB_LOCK_ALL, DB_NO_SLOT,
                      DB_ARGS(db_int(0), db_int(JOB_RECORDS_MOST)), &into, ret_count, err))
        return false;
    *ret = into.items;
    return true;
}

/* ---- one job ---- */

static bool job_come(struct writer *w, struct rows *add, const struct job_follow *f,
                     const struct job_wanted *j, int64_t now_us, struct err *err)
{
    struct job_place place = { .queue = j->queue, .due_us = j->plan.next.due_us };
    struct db_value *v = row_of(add);

    if (!writer_number(w, &place.num, err))
        return false;
    v[0] = db_int(place.num);
    v[1] = db_text(j->name);
    v[2] = db_text(j->kind);
    v[3] = db_text(j->area);
    v[4] = db_int(j->queue);
    v[5] = db_bytes(str_mem(j->digest.bytes, SHA256_SIZE));
    v[6] = db_int(f->version);
    v[7] = db_int(place.due_us);
    v[8] = db_int(place.due_us == 0 ? JOB_AT_END : JOB_GOES);
    job_plan_values(v + 9, &j->plan);
    return place.due_us == 0 || job_token_put(w, &place, now_us, err);
}

static bool job_write_change(struct writer *w, const struct job_follow *f,
                             const struct job_wanted *j, const struct job_place *place,
                             enum job_stop stop, struct err *err)
{
    struct db_value v[8 + JOB_PLAN] = { db_int(place->num),
                                        db_text(j->kind),
                                        db_text(j->area),
                                        db_int(j->queue),
                                        db_bytes(str_mem(j->digest.bytes, SHA256_SIZE)),
                                        db_int(f->version),
                                        db_int(place->due_us),
                                        db_int(stop) };

    job_plan_values(v + 8, &j->plan);
    return db_run(w->db, SQL_JOB_CHANGE,
                  (struct db_args){ .values = v, .count = sizeof v / sizeof v[0] }, NULL, err);
}

/* Takes a token that waits; one that is held gets its new queue. */
static bool job_take_or_move(struct writer *w, const struct job_place *p, int64_t queue,
                             enum job_token *ret, struct err *err)
{
    bool moved = true;

    if (!job_token_take(w, p, ret, err) ||
        (*ret == JOB_TOKEN_HELD && !job_token_move(w, p, queue, &moved, err)))
        return false;
    /* A lease that was found is locked, so it is there.  A claim without its row (SQLite) was
     * damaged from outside: its end finds that it is lost. */
    return moved || w->db->kind == DB_SQLITE ||
           err_set(err, ERR_TRANSIENT, DB_AGAIN, "the lease of a job is gone");
}

/* A job that has other settings now, or comes back. */
static bool job_take_settings(struct writer *w, const struct job_follow *f, struct job_wanted *j,
                              const struct job_record *r, int64_t now_us, struct err *err)
{
    struct job_place place = { .num = r->num, .queue = r->queue, .due_us = r->due_us };
    enum job_stop stop = r->stop;
    enum job_token token;

    if (j->plan.turn != r->turn)
        f->again(f->arg, j, r);
    if (stop == JOB_GOES || stop == JOB_AT_END)
        stop = j->plan.next.due_us == 0 ? JOB_AT_END : JOB_GOES;
    if (!job_take_or_move(w, &place, j->queue, &token, err))
        return false;
    if (token == JOB_TOKEN_HELD)
        return job_write_change(w, f, j, &place, stop, err);
    bool asked = r->asked_us != 0 && r->gone_us == 0; /* this run stays where it is */
    int64_t awaited_us; /* and so does the time-out of a run outside */

    if (!db_one_int(w->db, SQL_JOB_RUN_AWAITED, DB_ARGS(db_int(r->num)), 0, &awaited_us, err))
        return false;
    place.queue = j->queue;
    if (awaited_us != 0)
        place.due_us = awaited_us;
    else if (!asked)
        place.due_us = j->plan.next.due_us;
    return job_write_change(w, f, j, &place, stop, err) &&
           ((stop != JOB_GOES && !asked) || job_token_put(w, &place, now_us, err));
}

static bool job_go(struct writer *w, const struct job_follow *f, const struct job_record *r,
                   struct err *err)
{
    struct job_place place = { .num = r->num, .queue = r->queue, .due_us = r->due_us };
    enum job_token token;

    return job_token_take(w, &place, &token, err) &&
           db_run(w->db, SQL_JOB_LEAVE, DB_ARGS(db_int(r->num), db_int(f->version)), NULL, err);
}

static bool follow_one(struct writer *w, struct rows *add, struct job_follow *f,
                       const struct followed *e, int64_t now_us, struct err *err)
{
    const struct job_record *r = e->record;

    if (e->wanted != NULL)
        e->wanted->written = false;
    if (r == NULL) {
        f->came++;
        e->wanted->written = true;
        return job_come(w, add, f, e->wanted, now_us, err);
    }
    if (e->wanted == NULL) {
        if (r->gone_us != 0)
            return true;
        f->left++;
        return job_go(w, f, r, err);
    }
    if (r->gone_us == 0 && digest_same(&r->digest, &e->wanted->digest))
        return true;
    f->changed++;
    e->wanted->written = true;
    return job_take_settings(w, f, e->wanted, r, now_us, err);
}

/* ---- all of them ---- */

static int job_by_num(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

/* Those that left first come first. */
static int job_by_age(const void *a, const void *b)
{
    const struct job_record *x = (*(struct followed *const *)a)->record;
    const struct job_record *y = (*(struct followed *const *)b)->record;

    return x->gone_us != y->gone_us ? (x->gone_us < y->gone_us ? -1 : 1)
                                    : job_by_num(&x->num, &y->num);
}

/* There is no room for so many: marks the oldest ones that are gone, as many as it takes. */
static bool job_crowd_out(struct writer *w, struct job_follow *f, struct followed *all, size_t n,
                          struct err *err)
{
    int64_t *nums = ARENA_ARRAY(w->arena, int64_t, JOB_RECORDS_MOST);
    struct followed **gone = ARENA_ARRAY(w->arena, struct followed *, n);
    size_t over = n - JOB_RECORDS_MOST, may_go, count = 0;

    if (!job_forget_list(w, INT64_MAX, JOB_RECORDS_MOST, nums, &may_go, err))
        return false;
    for (size_t i = 0; i < n; i++) {
        const struct job_record *r = all[i].record;

        if (r != NULL && all[i].wanted == NULL &&
            bsearch(&r->num, nums, may_go, sizeof *nums, job_by_num) != NULL)
            gone[count++] = &all[i];
    }
    if (count < over)
        return err_set(err, ERR_LIMIT, DB_NOT_ALL,
                       "there would be %zu jobs, with those of earlier versions; at most %d", n,
                       JOB_RECORDS_MOST);
    qsort(gone, count, sizeof(struct followed *), job_by_age);
    for (size_t i = 0; i < over; i++)
        gone[i]->forgotten = true;
    f->crowded_out = (int64_t)over;
    return true;
}

static bool job_drop_forgotten(struct writer *w, const struct followed *all, size_t n,
                               struct err *err)
{
    int64_t *nums = ARENA_ARRAY(w->arena, int64_t, n + 1);
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        if (all[i].forgotten)
            nums[count++] = all[i].record->num;
    return count == 0 || job_forget_drop(w, nums, count, err);
}

/* Pairs what is wanted with the records, by name; the same order on every node. */
static size_t job_pair(struct writer *w, const struct job_follow *f,
                       const struct job_record *records, size_t count, struct followed **ret)
{
    struct followed *all = ARENA_ARRAY(w->arena, struct followed, f->count + count + 1);
    size_t n = 0, to = 0;

    for (size_t i = 0; i < f->count; i++)
        all[n++] = (struct followed){ .name = f->jobs[i].name, .wanted = &f->jobs[i] };
    for (size_t i = 0; i < count; i++)
        all[n++] = (struct followed){ .name = records[i].name, .record = &records[i] };
    qsort(all, n, sizeof *all, job_by_name);
    for (size_t i = 0; i < n; i++) {
        if (to > 0 && str_eq(all[to - 1].name, all[i].name)) {
            struct followed *same = &all[to - 1];

            same->wanted = same->wanted != NULL ? same->wanted : all[i].wanted;
            same->record = same->record != NULL ? same->record : all[i].record;
        } else {
            all[to++] = all[i];
        }
    }
    *ret = all;
    return to;
}

static bool follow_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct follow_op *o = container_of(ops[0], struct follow_op, op);
    struct job_follow *f = o->f;
    struct rows add = rows_of(w, SQL_JOB_ADD, 9 + JOB_PLAN, f->count);
    struct job_record *records;
    struct followed *all;
    int64_t first, now_us;
    size_t n;

    require(count == 1);
    f->came = f->changed = f->left = f->crowded_out = 0;
    /* PostgreSQL: the mark stays locked until the commit, so other nodes wait here. */
    if (!db_run(w->db, SQL_JOB_FOLLOW, DB_ARGS(db_int(f->version)), &first, err))
        return false;
    f->first = first > 0;
    o->op.nothing = true; /* who applied the version has its audit line */
    if (!f->first)
        return true;
    if (!db_one_int(w->db, SQL_RATE_NOW, DB_NO_ARGS, 0, &now_us, err) ||
        !job_lock_all(w, &records, &n, err))
        return false;
    n = job_pair(w, f, records, n, &all);
    if (n > JOB_RECORDS_MOST && !job_crowd_out(w, f, all, n, err))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!all[i].forgotten && !follow_one(w, &add, f, &all[i], now_us, err))
            return false;
    return write_rows(w, &add, err) && job_drop_forgotten(w, all, n, err);
}

/* Apart: it may change thousands of records. */
static const struct store_verb follow_verb = { .name = "follow jobs",
                                               .run = follow_run,
                                               .apart = true };

bool job_follow(struct store *s, struct job_follow *f, struct err *err)
{
    struct follow_op o = { .f = f };

    require(f->again != NULL);
    if (f->count > JOBS_MOST)
        return err_set(err, ERR_LIMIT, 0, "there are %zu jobs; at most %d", f->count, JOBS_MOST);
    return writers_call(s->writers, &follow_verb, &o.op, err);
}
