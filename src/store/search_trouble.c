/* search_trouble.c - live documents that have an error: among many that only wait there are few.
 *
 * What is wrong with a document stands in a delivery of it, in its own dead task, or in what became
 * of the batch that it is a member of (document.c).  Of an ended one nothing of that is left.  What
 * is found here is a little more than what matches: of several deliveries the document shows one.
 */
#include "store/search_inside.h"

#include <stdlib.h>

#include "base/auto.h"

enum {
    BATCHES_MOST = 8192, /* that are known by number; when there are more, members of any may fit */
    EACH_MOST = 64 /* whose members are looked up; those of more are found among all members */
};

static int upwards(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Once for a search. */
static bool find_batches(struct search *x, struct source *c, struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    int64_t *nums = ARENA_ARRAY(x->arena, int64_t, BATCHES_MOST);
    bool row;

    c->nums = nums;
    if (!db_query(x->db, SQL_TROUBLE_BATCHES, DB_ARGS(db_text(c->from), db_int(BATCHES_MOST)),
                  &rows, err))
        return false;
    while (c->num_count < BATCHES_MOST) {
        if (!db_next(&rows, &row, err))
            return false;
        if (!row)
            break;
        nums[c->num_count++] = db_get_int(&rows, 0);
    }
    qsort(nums, c->num_count, sizeof nums[0], upwards);
    return true;
}

bool search_batch_fits(const struct source *c, int64_t batch)
{
    return c->num_count == BATCHES_MOST ||
           bsearch(&batch, c->nums, c->num_count, sizeof batch, upwards) != NULL;
}

bool search_gather_trouble(struct search *x, struct source *c, int64_t below, struct err *err)
{
    if (!c->begun && !find_batches(x, c, err))
        return false;
    bool each = c->num_count <= EACH_MOST;
    struct db_value limit = db_int(search_share(c, 2 + (each ? c->num_count : 1)));
    struct db_args args = DB_ARGS(db_int(below), limit, db_text(c->from));

    /* In the order of its road: one that goes on meanwhile is seen further on. */
    if (!search_gather(x, c, SQL_TROUBLE_DEAD, DB_NO_SLOT, args, err) ||
        !search_gather(x, c, SQL_TROUBLE_NUMS, DB_NO_SLOT, args, err))
        return false;
    if (!each)
        return search_gather(x, c, SQL_TROUBLE_MEMBERS, DB_NO_SLOT, DB_ARGS(db_int(below), limit),
                             err);
    for (size_t i = 0; i < c->num_count; i++)
        if (!search_gather(x, c, SQL_TROUBLE_MEMBERS_OF, DB_NO_SLOT,
                           DB_ARGS(db_int(below), limit, db_int(c->nums[i])), err))
            return false;
    return true;
}
