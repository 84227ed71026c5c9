#include "store/search/search_trouble.h"

#include "base/auto.h"
#include "base/clock.h"
#include "store/batch/batch.h"
#include "store/road/delivery.h"

enum {
    PORTION = 500, /* batches read at once */
    EACH_MOST = 64 /* up to this, members are read batch by batch; else all members are filtered */
};

#define BATCHES_US (INT64_C(200) * CLOCK_MS)

struct place {
    int64_t state, num;
};

static bool query_batches(struct search *x, const struct source *c, const struct place *at,
                          struct db_rows *ret, struct err *err)
{
    struct db_value state = db_int(at->state), num = db_int(at->num), most = db_int(PORTION);

    switch (c->kind) {
    case FROM_DEAD:
        return db_query(x->db, SQL_DEAD_BATCHES,
                        DB_ARGS(db_text(c->from), state, num, most, db_int(c->word)), ret, err);
    case FROM_RETRYING:
        return db_query(x->db, SQL_RETRYING_BATCHES, DB_ARGS(state, num, most), ret, err);
    default:
        return db_query(x->db, SQL_TROUBLE_BATCHES, DB_ARGS(db_text(c->from), state, num, most),
                        ret, err);
    }
}

/* Adds the matching batches of one portion behind *at; *ret_last: it was the last portion. */
static bool find_some(struct search *x, struct source *c, int64_t *nums, struct place *at,
                      bool *ret_last, struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    int64_t n = 0;
    bool row;

    if (!query_batches(x, c, at, &rows, err))
        return false;
    for (;; n++) {
        if (!db_next(&rows, &row, err))
            return false;
        if (!row)
            break;
        *at =
            (struct place){ db_get_int(&rows, BATCH_HIT_STATE), db_get_int(&rows, BATCH_HIT_NUM) };
        if (db_get_int(&rows, BATCH_HIT_FITS) != 0 && c->num_count < SOURCE_BATCHES_MOST)
            nums[c->num_count++] = at->num;
    }
    *ret_last = n < PORTION;
    return true;
}

/* Runs once per search.  With too many batches, or after BATCHES_US, num_count is set to
 * SOURCE_BATCHES_MOST: then members of every batch are candidates. */
static bool find_batches(struct search *x, struct source *c, struct err *err)
{
    int64_t *nums = ARENA_ARRAY(x->arena, int64_t, SOURCE_BATCHES_MOST);
    struct place at = { .state = BATCH_CLOSING };
    int64_t until_us = clock_mono_us() + BATCHES_US;
    bool last = false;

    c->nums = nums;
    while (!last && c->num_count < SOURCE_BATCHES_MOST) {
        if (!find_some(x, c, nums, &at, &last, err))
            return false;
        if (!last && clock_mono_us() > until_us)
            c->num_count = SOURCE_BATCHES_MOST;
    }
    if (c->num_count < SOURCE_BATCHES_MOST)
        search_sort_batches(c, nums);
    return true;
}

/* How many statements gather_members() runs. */
static size_t parts_of_members(const struct source *c)
{
    return c->num_count <= EACH_MOST ? c->num_count : 1;
}

static bool gather_members(struct search *x, struct source *c, int64_t below, struct db_value limit,
                           struct err *err)
{
    if (c->num_count > EACH_MOST)
        return search_gather(x, c, SQL_TROUBLE_MEMBERS, DB_NO_SLOT, DB_ARGS(db_int(below), limit),
                             err);
    for (size_t i = 0; i < c->num_count; i++)
        if (!search_gather(x, c, SQL_TROUBLE_MEMBERS_OF, DB_NO_SLOT,
                           DB_ARGS(db_int(below), limit, db_int(c->nums[i])), err))
            return false;
    return true;
}

bool search_gather_trouble(struct search *x, struct source *c, int64_t below, struct err *err)
{
    if (!c->begun && !find_batches(x, c, err))
        return false;
    struct db_value limit = db_int(search_share(c, 3 + parts_of_members(c)));
    struct db_args args = DB_ARGS(db_int(below), limit, db_text(c->from));

    /* In the order in which documents move on, so that one that moves meanwhile is seen later. */
    return search_gather(x, c, SQL_RETRYING_RUNS, DB_NO_SLOT, args, err) &&
           search_gather(x, c, SQL_TROUBLE_DEAD, DB_NO_SLOT, args, err) &&
           search_gather(x, c, SQL_TROUBLE_NUMS, DB_NO_SLOT, args, err) &&
           gather_members(x, c, below, limit, err);
}

/* A window must have more room than the dead tasks of one document, or the search would not get
 * past that document. */
_Static_assert((SEEN_MOST - 1) / (3 + EACH_MOST) > 1 + DELIVERIES_MOST, "room for a document");

bool search_gather_dead(struct search *x, struct source *c, int64_t below, struct err *err)
{
    if (!c->begun && !find_batches(x, c, err))
        return false;
    struct db_value limit = db_int(search_share(c, 1 + parts_of_members(c)));

    if (c->num_count == SOURCE_BATCHES_MOST)
        x->knows_error = false; /* members of every batch are candidates: the caller must compare */
    return search_gather(x, c, SQL_DEAD_NUMS, DB_NO_SLOT,
                         DB_ARGS(db_int(below), limit, db_text(c->from), db_int(c->word)), err) &&
           gather_members(x, c, below, limit, err);
}

bool search_gather_retrying(struct search *x, struct source *c, int64_t below, struct err *err)
{
    if (!c->begun && !find_batches(x, c, err))
        return false;
    struct db_value limit = db_int(search_share(c, 2 + parts_of_members(c)));

    return search_gather(x, c, SQL_RETRYING_RUNS, DB_NO_SLOT,
                         DB_ARGS(db_int(below), limit, db_text(STR(""))), err) &&
           search_gather(x, c, SQL_RETRYING_NUMS, DB_NO_SLOT, DB_ARGS(db_int(below), limit), err) &&
           gather_members(x, c, below, limit, err);
}
