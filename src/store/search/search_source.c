#include "store/search/search_source.h"

#include <stdlib.h>

#include "base/auto.h"
#include "base/require.h"
#include "store/road/term.h"
#include "store/search/index.h"

enum { SHARE_LEAST = 8, FACTS_ARENA = 64 << 10 };

void search_see(struct source *c, int64_t num, int64_t slot, bool fits)
{
    require(c->count < SEEN_MOST);
    c->seen[c->count++] = (struct seen){ .num = num, .slot = slot, .fits = fits };
}

void search_unsure(struct source *c, int64_t from)
{
    if (from > c->sure)
        c->sure = from;
}

static bool has_term(struct str facts, int64_t hash)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(FACTS_ARENA);
    int64_t hashes[TERMS_MOST];

    for (size_t n = term_hashes(facts, &a, hashes); n > 0; n--)
        if (hashes[n - 1] == hash)
            return true;
    return false;
}

static bool row_fits(const struct source *c, struct db_rows *row)
{
    if (c->kind == FROM_FACET)
        return db_get_int(row, (int)c->facet) == c->word;
    if (c->kind == FROM_SCOPE)
        return document_in_scope(c->scope, db_get_int(row, FACET_SENDER),
                                 db_get_int(row, FACET_RECEIVER));
    if (c->kind == FROM_SIZES)
        return db_get_int(row, INDEXED_SIZE) >= c->least &&
               db_get_int(row, INDEXED_SIZE) <= c->most;
    if (c->kind == FROM_TERM)
        return !db_is_null(row, INDEXED_FACTS) && has_term(db_get_str(row, INDEXED_FACTS), c->word);
    struct str name = term_name(db_get_str(row, INDEXED_NAME));

    return !db_is_null(row, INDEXED_NAME) && str_cmp(name, c->from) >= 0 &&
           str_cmp(name, c->to) <= 0;
}

static int search_source_upwards(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Whether the members of a batch are candidates. */
static bool batch_fits(const struct source *c, int64_t batch)
{
    return c->num_count == SOURCE_BATCHES_MOST ||
           bsearch(&batch, c->nums, c->num_count, sizeof batch, search_source_upwards) != NULL;
}

/* Rows above the watermark are compared here; statements over an index say themselves if they fit.
 */
static bool does_fit(const struct source *c, enum sql_id id, struct db_rows *row)
{
    if (id == SQL_DOC_ABOVE || id == SQL_DONE_ABOVE)
        return row_fits(c, row);
    if (id == SQL_TROUBLE_MEMBERS)
        return batch_fits(c, db_get_int(row, TROUBLE_MEMBERS_BATCH));
    return db_get_int(row, HIT_FITS) != 0;
}

bool search_gather(struct search *x, struct source *c, enum sql_id id, int64_t slot,
                   struct db_args args, struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    int64_t limit = args.values[1].i, got = 0;
    bool row;

    if (!db_query_slot(x->db, id, slot, args, &rows, err))
        return false;
    for (;; got++) {
        if (!db_next(&rows, &row, err))
            return false;
        if (!row)
            break;
        search_see(c, db_get_int(&rows, HIT_NUM), slot == DB_NO_SLOT ? NOT_KNOWN : slot,
                   does_fit(c, id, &rows));
    }
    if (got >= limit) { /* the last document may have more rows behind the limit */
        struct seen *last = &c->seen[c->count - 1];

        last->fits = last->fits || c->kind == FROM_TROUBLE; /* the caller compares it */
        search_unsure(c, last->num + (c->kind == FROM_DEAD));
    }
    return true;
}

int64_t search_share(const struct source *c, size_t parts)
{
    size_t room = (SEEN_MOST - 1) / parts;
    size_t limit = c->window < room ? c->window : room;

    return (int64_t)(limit > SHARE_LEAST ? limit : SHARE_LEAST);
}

void search_sort_batches(const struct source *c, int64_t *nums)
{
    qsort(nums, c->num_count, sizeof nums[0], search_source_upwards);
}
