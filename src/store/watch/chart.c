#include "store/watch/chart.h"

#include "base/clock.h"
#include "base/container_of.h"
#include "base/require.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"

#define CHART_KEEP_US (INT64_C(86400) * CLOCK_S)

struct chart_op {
    struct store_op op;
    const struct chart_add *add;
};

static bool chart_put_steps(struct writer *w, const struct chart_add *a, struct err *err)
{
    for (size_t i = 0; i < a->step_count; i++) {
        const struct chart_step *s = &a->steps[i];

        if (!db_send(w->db, SQL_CHART_ADD,
                     DB_ARGS(db_int(s->at_us), db_int(store_node(w->store)), db_int(s->accepted),
                             db_int(s->delivered), db_int(s->dead), db_int(s->retrying),
                             db_int(s->waiting)),
                     err))
            return false;
    }
    return true;
}

static bool chart_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    const struct chart_add *a = container_of(ops[0], struct chart_op, op)->add;
    struct db_value before = db_int(a->minute_us - CHART_KEEP_US);

    require(count == 1);
    if (!chart_put_steps(w, a, err))
        return false;
    for (size_t i = 0; i < a->count; i++) {
        const struct chart_count *c = &a->counts[i];

        if (!db_send(w->db, SQL_CHART_COUNT_ADD,
                     DB_ARGS(db_int(a->minute_us), db_int(c->kind), db_int(c->one), db_int(c->two),
                             db_int(store_node(w->store)), db_int(c->n)),
                     err))
            return false;
    }
    return db_run(w->db, SQL_CHART_PRUNE, DB_ARGS(before), NULL, err) &&
           db_run(w->db, SQL_CHART_COUNT_PRUNE, DB_ARGS(before), NULL, err);
}

static const struct store_verb chart_verb = {
    .name = "chart", .run = chart_run, .apart = true, .notes = true
};

bool chart_add(struct store *s, const struct chart_add *add, struct err *err)
{
    struct chart_op o = { .add = add };

    return writers_call(s->writers, &chart_verb, &o.op, err);
}

static void read_step(struct db_rows *row, struct arena *a, void *to)
{
    (void)a;
    *(struct chart_step *)to =
        (struct chart_step){ .at_us = db_get_int(row, CHART_STEPS_AT_US),
                             .accepted = db_get_int(row, CHART_STEPS_ACCEPTED),
                             .delivered = db_get_int(row, CHART_STEPS_DELIVERED),
                             .dead = db_get_int(row, CHART_STEPS_DEAD),
                             .retrying = db_get_int(row, CHART_STEPS_RETRYING),
                             .waiting = db_get_int(row, CHART_STEPS_WAITING) };
}

bool chart_steps(struct store *s, int64_t from_us, int64_t to_us, int64_t step_us,
                 struct chart_step *ret, size_t *ret_count, struct err *err)
{
    return store_collect(
        s, SQL_CHART_STEPS,
        DB_ARGS(db_int(from_us), db_int(to_us), db_int(step_us), db_int(CHART_STEPS_MOST)),
        ROWS_INTO(ret, CHART_STEPS_MOST, NULL, read_step), ret_count, err);
}

static void chart_read_count(struct db_rows *row, struct arena *a, void *to)
{
    (void)a;
    *(struct chart_count *)to = (struct chart_count){ .kind = db_get_int(row, CHART_OTHERS_KIND),
                                                      .one = db_get_int(row, CHART_OTHERS_ONE),
                                                      .two = db_get_int(row, CHART_OTHERS_TWO),
                                                      .n = db_get_int(row, CHART_OTHERS_N) };
}

bool chart_others(struct store *s, int64_t from_us, int64_t to_us, struct chart_count *ret,
                  size_t *ret_count, struct err *err)
{
    return store_collect(
        s, SQL_CHART_OTHERS,
        DB_ARGS(db_int(from_us), db_int(to_us), db_int(store_node(s)), db_int(CHART_COUNTS_MOST)),
        ROWS_INTO(ret, CHART_COUNTS_MOST, NULL, chart_read_count), ret_count, err);
}

bool chart_since(struct store *s, int64_t from_us, int64_t kind, struct chart_count *ret,
                 size_t *ret_count, struct err *err)
{
    _Static_assert((int)CHART_DAY_N == (int)CHART_OTHERS_N, "both have the same columns");
    return store_collect(s, SQL_CHART_DAY,
                         DB_ARGS(db_int(from_us), db_int(kind), db_int(CHART_COUNTS_MOST)),
                         ROWS_INTO(ret, CHART_COUNTS_MOST, NULL, chart_read_count), ret_count, err);
}
