#include "store/job/job_forget.h"

#include "base/clock.h"
#include "base/container_of.h"
#include "base/require.h"
#include "store/db/rows.h"
#include "store/kernel/store_state.h"
#include "store/road/claims.h"
#include "store/road/settle_rows.h"

#define JOB_GONE_US (JOB_GONE_DAYS * INT64_C(86400) * CLOCK_S)

struct forget_op {
    struct store_op op;
    int64_t before_us;
    size_t count;
};

bool job_forget_list(struct writer *w, int64_t before_us, size_t most, int64_t *ret,
                     size_t *ret_count, struct err *err)
{
    struct claims *claims = w->store->claims; /* SQLite: they are in memory */
    size_t n, to = 0;

    if (!rows_ints(w->db, SQL_JOB_FORGET, DB_ARGS(db_int(before_us), db_int((int64_t)most)), ret,
                   most, &n, err))
        return false;
    for (size_t i = 0; i < n; i++)
        if (claims == NULL || !claims_taken(claims, ret[i]))
            ret[to++] = ret[i];
    *ret_count = to;
    return true;
}

bool job_forget_drop(struct writer *w, const int64_t *nums, size_t count, struct err *err)
{
    static const enum sql_id tables[] = { SQL_JOB_DROP_STATES, SQL_JOB_DROP_RUNS,
                                          SQL_JOB_DROP_BACKFILL, SQL_JOB_DROP_ACKS, SQL_JOB_DROP };

    for (size_t k = 0; k < sizeof tables / sizeof tables[0]; k++) {
        struct rows drop = rows_of(w, tables[k], 1, count);

        for (size_t i = 0; i < count; i++)
            row_of(&drop)[0] = db_int(nums[i]);
        if (!write_rows(w, &drop, err))
            return false;
    }
    return true;
}

static bool forget_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct forget_op *o = container_of(ops[0], struct forget_op, op);
    int64_t nums[JOB_FORGET_MOST];

    require(count == 1);
    return job_forget_list(w, o->before_us, JOB_FORGET_MOST, nums, &o->count, err) &&
           job_forget_drop(w, nums, o->count, err);
}

static const struct store_verb forget_verb = {
    .name = "forget jobs", .run = forget_run, .apart = true, .notes = true
};

bool job_forget(struct store *s, int64_t now_us, size_t *ret_count, struct err *err)
{
    struct forget_op o = { .before_us = now_us - JOB_GONE_US };

    if (!writers_call(s->writers, &forget_verb, &o.op, err))
        return false;
    *ret_count = o.count;
    return true;
}
