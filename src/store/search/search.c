/* search.c - candidates of a search: the intersection of its sources (search.h).
 *
 * Problem.  A filter combines several conditions over millions of documents, which live in one
 * table and have ended in up to SLOTS_MOST others.  No single index answers that.  A request may
 * take about a second, memory is bounded, and a document must be found from its first commit on.
 *
 * Method.  Each indexed condition is a source: the numbers that satisfy it, in falling order.
 * search_next() leapfrogs: it asks one source after the other for its highest number up to the
 * current candidate.  A source that has the candidate agrees; any other lowers the candidate to
 * its own next number.  When all sources agree in a row, the candidate is returned and the caller
 * compares the document itself (list.c).  A source is only read near the candidate, so the rarest
 * condition determines the cost.
 *
 * A source is read in windows.  A window takes several statements: live documents, each table of
 * ended ones, several lists.  Each has a limit of its own (search_share), and a statement that
 * reaches its limit may have left out lower numbers.  `sure` is the highest such border; tidy()
 * drops what lies below, and the next window reads it again.  Windows grow while they are used up.
 *
 * A time becomes a bound on numbers by bisection over received_us (near_time).
 *
 * Invariants
 *   (1) A window is complete: it has every number of its source in [sure, below).
 *   (2) A source may propose numbers that do not match, but omits none that does; the caller
 *       compares.  Only FROM_DEAD must be exact when it compares the error text (knows_error): the
 *       caller sees one error of a document that may have several.
 *   (3) A paused search has made progress: *io_below is lower than before.
 *   (4) The limits of the statements of a window add up to less than SEEN_MOST.
 *   (5) SQLite: the watermark is read before the rows above it, and these before the lists.
 *   (6) Every document received in the filter's time has a number in [low, high).  A sampled
 *       document becomes a bound only if it lies more than DISORDER_US outside of that time.
 *
 * Why it is right.  A search writes nothing, so a crash leaves nothing behind.  It holds no
 * transaction: each statement sees the database as of its own start.  These races remain.
 *
 *   The watermark moves between two statements.  The rows that it passes are seen in the tables
 *   and in the lists; tidy() removes the duplicate.  By (5) none falls between the two.
 *
 *   A document ends while a window is read.  Live documents are read first, so it is seen there,
 *   and perhaps again in its table.  `slot` is a hint: document_by_num() tries it first, then all.
 *
 *   A document is revived, or ends in a table that was created after search_open().  Both reads may
 *   miss it, once; the next request finds it.  The tables of today and tomorrow are created ahead
 *   (done_keep_tables), so the second case is rare.
 *
 *   A document is purged.  Its number is proposed and no row is found.  A table that search_open()
 *   has listed is not dropped meanwhile: that happens a minute after it was closed, at the least.
 */
#include "store/search/search.h"

#include <stdlib.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/require.h"
#include "base/varint.h"
#include "store/road/term.h"
#include "store/search/index.h"
#include "store/search/search_source.h"
#include "store/search/search_trouble.h"

enum {
    WINDOW_FIRST = 300, /* numbers of the first window, and of the largest */
    WINDOW_MOST = 2400,
    SCOPE_PARTS_MOST = 500, /* statements of a scope; a larger one is no source, only compared */
    PROBES = 64,            /* slots that one window reads */
    HALVINGS = 60,
    CLOSE_ENOUGH = 64 /* numbers: the bisection of a time ends here */
};

#define NUM_END   (INT64_C(1) << 40) /* above every number: index.c and term.c use 40 bits */
#define SEARCH_US (INT64_C(800) * CLOCK_MS)
/* A document may have a lower number than one that was received up to this much earlier. */
#define DISORDER_US   (INT64_C(60) * CLOCK_S)
#define LAST_OF_NAMES STR("\xf4\x8f\xbf\xbf") /* sorts behind every character */

/* ---- windows ---- */

/* Runs `live` over the live documents and `ended` over each table of ended ones, in this order: a
 * document that ends meanwhile is seen by the first. */
static bool gather_each(struct search *x, struct source *c, enum sql_id live, enum sql_id ended,
                        struct db_args args, struct err *err)
{
    if (!search_gather(x, c, live, DB_NO_SLOT, args, err))
        return false;
    for (size_t i = 0; i < x->slots.count; i++)
        if (!search_gather(x, c, ended, x->slots.days[i], args, err))
            return false;
    return true;
}

/* ---- SQLite: rows above the watermark ---- */

/* The watermark is read before the rows: whatever it covers is in the index, even if it moves on
 * meanwhile. */
static bool gather_above(struct search *x, struct source *c, int64_t below, int64_t limit,
                         struct err *err)
{
    int64_t indexed;

    if (!db_one_int(x->db, SQL_MARK_GET, DB_ARGS(db_text(STR("indexed"))), 0, &indexed, err))
        return false;
    struct db_args args = DB_ARGS(db_int(below), db_int(limit), db_int(indexed));

    if (below <= indexed + 1)
        return true;
    return gather_each(x, c, SQL_DOC_ABOVE, SQL_DONE_ABOVE, args, err);
}

/* ---- name ids, sizes ---- */

/* Decodes a list of the index: its first number, then the distances to the next ones. */
static size_t read_list(struct db_rows *rows, int64_t list[static INDEX_SLICE])
{
    struct str more = db_get_str(rows, FACET_NUMS_MORE);
    size_t count = 1;
    uint64_t step;

    list[0] = db_get_int(rows, FACET_NUMS_KEY);
    for (; count < INDEX_SLICE && varint_take(&more, &step); count++)
        list[count] = list[count - 1] + (int64_t)step;
    return count;
}

static bool gather_lists(struct search *x, struct source *c, int64_t facet, int64_t word,
                         int64_t below, int64_t limit, struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    int64_t list[INDEX_SLICE], got = 0;
    bool row;

    if (!db_query(x->db, SQL_FACET_NUMS,
                  DB_ARGS(db_int(below), db_int(limit), db_int(facet), db_int(word)), &rows, err))
        return false;
    while (got < limit) {
        if (!db_next(&rows, &row, err))
            return false;
        if (!row)
            return true;
        for (size_t n = read_list(&rows, list); n > 0 && got < limit; n--)
            if (list[n - 1] < below) {
                search_see(c, list[n - 1], NOT_KNOWN, true);
                got++;
            }
    }
    search_unsure(c, c->seen[c->count - 1].num);
    return true;
}

/* On SQLite only the lists; the caller adds the rows above the watermark. */
static bool gather_word(struct search *x, struct source *c, int64_t facet, int64_t word,
                        int64_t below, int64_t limit, struct err *err)
{
    if (x->db->kind == DB_POSTGRESQL)
        return gather_each(x, c, SQL_DOC_NUMS_OF, SQL_DONE_NUMS_OF,
                           DB_ARGS(db_int(below), db_int(limit), db_int(facet), db_int(word)), err);
    return gather_lists(x, c, facet, word, below, limit, err) &&
           (facet == FACET_GATEWAY ||
            gather_lists(x, c, facet + FACET_LATE, word, below, limit, err));
}

static bool gather_facet(struct search *x, struct source *c, int64_t below, struct err *err)
{
    int64_t limit = search_share(c, x->slots.count + 3);

    return (x->db->kind == DB_POSTGRESQL || gather_above(x, c, below, limit, err)) &&
           gather_word(x, c, c->facet, c->word, below, limit, err);
}

static size_t scope_parts(const struct search *x, const struct document_scope *scope)
{
    if (x->db->kind == DB_POSTGRESQL)
        return 1 + 2 * scope->count * (x->slots.count + 1);
    return x->slots.count + 1 + 4 * scope->count;
}

/* Documents that any system of the scope has sent or receives. */
static bool gather_scope(struct search *x, struct source *c, int64_t below, struct err *err)
{
    int64_t limit = search_share(c, scope_parts(x, c->scope));

    if (x->db->kind == DB_SQLITE && !gather_above(x, c, below, limit, err))
        return false;
    for (size_t i = 0; i < c->scope->count; i++)
        if (!gather_word(x, c, FACET_SENDER, c->scope->systems[i], below, limit, err) ||
            !gather_word(x, c, FACET_RECEIVER, c->scope->systems[i], below, limit, err))
            return false;
    return true;
}

static bool gather_sizes(struct search *x, struct source *c, int64_t below, struct err *err)
{
    int64_t first = index_size_class(c->least), last = index_size_class(c->most);
    size_t classes = (size_t)(last - first + 1);
    /* On PostgreSQL one statement returns one limit for all classes but reads as many rows of each.
     * A wide range therefore lowers the limit, though less than on SQLite, where each class is a
     * statement. */
    size_t lists = x->db->kind == DB_POSTGRESQL ? classes / 8 : classes;
    int64_t limit = search_share(c, x->slots.count + 1 + lists);

    if (x->db->kind == DB_POSTGRESQL)
        return gather_each(x, c, SQL_DOC_SIZES, SQL_DONE_SIZES,
                           DB_ARGS(db_int(below), db_int(limit), db_int(c->least), db_int(c->most),
                                   db_int(x->low)),
                           err);
    if (!gather_above(x, c, below, limit, err))
        return false;
    for (int64_t class = first; class <= last; class ++)
        if (!gather_lists(x, c, FACET_SIZE, class, below, limit, err))
            return false;
    return true;
}

/* ---- attributes, names ---- */

/* Walks the slots downwards, until the window is full or PROBES slots were read. */
struct slot_walk {
    int64_t slot;
    bool end;
};

static bool slot_below(struct search *x, const struct source *c, struct slot_walk *k,
                       struct err *err)
{
    int64_t next = -1;
    bool ok =
        c->kind == FROM_TERM
            ? db_one_int(x->db, SQL_TERM_BELOW, DB_ARGS(db_int(term_key(k->slot, 0))), -1, &next,
                         err)
            : db_one_int(x->db, SQL_NAME_SLOT_BELOW, DB_ARGS(db_int(k->slot)), -1, &next, err);

    k->end = next < 0;
    k->slot = c->kind == FROM_TERM ? term_key_slot(next) : next;
    return ok;
}

static bool gather_slot(struct search *x, struct source *c, int64_t slot, int64_t below,
                        int64_t limit, struct err *err)
{
    if (c->kind == FROM_TERM)
        return search_gather(x, c, SQL_TERM_NUMS, DB_NO_SLOT,
                             DB_ARGS(db_int(below), db_int(limit), db_int(term_key(slot, c->word))),
                             err);
    return search_gather(
        x, c, SQL_NAME_NUMS, DB_NO_SLOT,
        DB_ARGS(db_int(below), db_int(limit), db_int(slot), db_bytes(c->from), db_bytes(c->to)),
        err);
}

static bool gather_slots(struct search *x, struct source *c, int64_t below, int64_t limit,
                         struct err *err)
{
    struct slot_walk k = { .slot = term_slot(x->db->kind, below - 1) + 1 };
    int64_t left = limit;

    for (int probes = 0; left > 0; probes++) {
        size_t before = c->count;

        if (!slot_below(x, c, &k, err))
            return false;
        if (k.end)
            return true;
        if (probes == PROBES) {
            search_unsure(c, term_slot_first(x->db->kind, k.slot + 1));
            return true;
        }
        if (!gather_slot(x, c, k.slot, below, left, err))
            return false;
        left -= (int64_t)(c->count - before);
    }
    return true;
}

static bool gather_terms(struct search *x, struct source *c, int64_t below, struct err *err)
{
    int64_t limit = search_share(c, x->slots.count + 2);

    return (x->db->kind == DB_POSTGRESQL || gather_above(x, c, below, limit, err)) &&
           gather_slots(x, c, below, limit, err);
}

static bool gather_names(struct search *x, struct source *c, int64_t below, struct err *err)
{
    int64_t limit = search_share(c, x->slots.count + 2);

    if (x->db->kind == DB_POSTGRESQL)
        return gather_each(x, c, SQL_DOC_NAMES, SQL_DONE_NAMES,
                           DB_ARGS(db_int(below), db_int(limit), db_text(c->from), db_text(c->to)),
                           err);
    return gather_above(x, c, below, limit, err) && gather_slots(x, c, below, limit, err);
}

/* ---- sources ---- */

static bool gather_ended(struct search *x, struct source *c, int64_t below, struct err *err)
{
    struct db_args args =
        DB_ARGS(db_int(below), db_int(search_share(c, x->slots.count + 1)), db_int(c->word));

    for (size_t i = 0; i < x->slots.count; i++)
        if (!search_gather(x, c, SQL_DONE_STATES, x->slots.days[i], args, err))
            return false;
    return true;
}

static bool search_fill(struct search *x, struct source *c, int64_t below, struct err *err)
{
    struct db_value limit = db_int(c->window);

    switch (c->kind) {
    case FROM_TABLES:
        return gather_each(x, c, SQL_DOC_NUMS, SQL_DONE_NUMS,
                           DB_ARGS(db_int(below), db_int(search_share(c, x->slots.count + 1))),
                           err);
    case FROM_FACET:
        return gather_facet(x, c, below, err);
    case FROM_SCOPE:
        return gather_scope(x, c, below, err);
    case FROM_SIZES:
        return gather_sizes(x, c, below, err);
    case FROM_TERM:
        return gather_terms(x, c, below, err);
    case FROM_NAMES:
        return gather_names(x, c, below, err);
    case FROM_LIVE:
        return search_gather(x, c, SQL_DOC_NUMS, DB_NO_SLOT, DB_ARGS(db_int(below), limit), err);
    case FROM_TROUBLE:
        return search_gather_trouble(x, c, below, err);
    case FROM_DEAD:
        return search_gather_dead(x, c, below, err);
    case FROM_RETRYING:
        return search_gather_retrying(x, c, below, err);
    case FROM_ENDED:
        return gather_ended(x, c, below, err);
    case FROM_CHILDREN:
        return search_gather(x, c, SQL_LINK_NUMS, DB_NO_SLOT,
                             DB_ARGS(db_int(below), limit, db_int(c->word)), err);
    case FROM_NUMS:
        for (size_t i = 0; i < c->num_count; i++)
            if (c->nums[i] < below)
                search_see(c, c->nums[i], NOT_KNOWN, true);
        return true;
    }
    return true;
}

/* Newest first; of a document seen in two tables the later day comes first. */
static int search_downwards(const void *a, const void *b)
{
    const struct seen *x = a, *y = b;

    if (x->num != y->num)
        return x->num < y->num ? 1 : -1;
    return x->slot < y->slot ? 1 : x->slot > y->slot ? -1 : 0;
}

/* Keeps each number that fits once, down to `sure` (invariant 1). */
static void tidy(struct source *c)
{
    size_t n = 0;

    qsort(c->seen, c->count, sizeof c->seen[0], search_downwards);
    for (size_t i = 0; i < c->count && c->seen[i].num >= c->sure; i++)
        if (c->seen[i].fits && (n == 0 || c->seen[n - 1].num != c->seen[i].num))
            c->seen[n++] = c->seen[i];
    c->count = n;
}

static bool refill(struct search *x, struct source *c, int64_t below, struct err *err)
{
    if (c->seen == NULL)
        c->seen = ARENA_ARRAY(x->arena, struct seen, SEEN_MOST);
    c->count = c->at = 0;
    c->sure = 0;
    if (!search_fill(x, c, below, err))
        return false;
    tidy(c);
    c->begun = true;
    c->window = c->window * 2 < WINDOW_MOST ? c->window * 2 : WINDOW_MOST;
    return true;
}

/* *ret_hit: *ret is the highest number of the source up to `num`.  Otherwise the source has none
 * in (*ret, num]; *ret 0: none at all. */
static bool seek(struct search *x, struct source *c, int64_t num, int64_t *ret, bool *ret_hit,
                 struct err *err)
{
    while (c->at < c->count && c->seen[c->at].num > num)
        c->at++;
    if (c->at == c->count && (!c->begun || c->sure > 0)) {
        int64_t below = c->begun && c->sure <= num ? c->sure : num + 1;

        if (!refill(x, c, below, err))
            return false;
    }
    *ret_hit = c->at < c->count;
    *ret = *ret_hit ? c->seen[c->at].num : c->sure > 0 ? c->sure - 1 : 0;
    return true;
}

/* ---- the intersection ---- */

bool search_is_late(const struct search *x)
{
    return clock_mono_us() > x->until_us;
}

bool search_next(struct search *x, int64_t *io_below, int64_t *ret_slot, enum search_end *ret,
                 struct err *err)
{
    int64_t num = (*io_below < x->high ? *io_below : x->high) - 1, start = num;
    size_t agreed = 0;

    *ret = SEARCH_OVER;
    for (size_t i = 0; num >= x->low && num > 0; i = (i + 1) % x->source_count) {
        int64_t at;
        bool hit;

        if (num < start && search_is_late(x)) {
            *io_below = num + 1;
            *ret = SEARCH_PAUSED;
            return true;
        }
        if (!seek(x, &x->sources[i], num, &at, &hit, err))
            return false;
        agreed = hit && at == num ? agreed + 1 : hit ? 1 : 0;
        num = at;
        if (agreed == x->source_count && num >= x->low) {
            *io_below = num;
            *ret_slot = x->sources[0].seen[x->sources[0].at].slot;
            *ret = SEARCH_FOUND;
            return true;
        }
    }
    return true;
}

const struct slots *search_slots(const struct search *x)
{
    return &x->slots;
}

bool search_knows_error(const struct search *x)
{
    return x->knows_error;
}

/* ---- times ---- */

static bool search_look_at(struct search *x, enum sql_id id, int64_t slot, int64_t from, int64_t to,
                           int64_t *io_num, int64_t *io_us, struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    bool row;

    if (!db_query_slot(x->db, id, slot, DB_ARGS(db_int(from), db_int(to)), &rows, err) ||
        !db_next(&rows, &row, err))
        return false;
    if (row && (*io_num == 0 || db_get_int(&rows, DOC_AT_NUM) < *io_num)) {
        *io_num = db_get_int(&rows, DOC_AT_NUM);
        *io_us = db_get_int(&rows, DOC_AT_RECEIVED_US);
    }
    return true;
}

/* A document at `from` or not far above; *ret_num 0: there is none below `to`.  Stops at the first
 * table that has one in the lowest quarter of the range. */
static bool search_sample(struct search *x, int64_t from, int64_t to, int64_t *ret_num,
                          int64_t *ret_us, struct err *err)
{
    *ret_num = 0;
    if (!search_look_at(x, SQL_DOC_AT, DB_NO_SLOT, from, to, ret_num, ret_us, err))
        return false;
    for (size_t i = 0; i < x->slots.count; i++) {
        if (*ret_num != 0 && *ret_num - from <= (to - from) / 4)
            break;
        if (!search_look_at(x, SQL_DONE_AT, x->slots.days[i], from, to, ret_num, ret_us, err))
            return false;
    }
    return true;
}

static bool search_find_top(struct search *x, int64_t *ret, struct err *err)
{
    if (!db_one_int(x->db, SQL_DOC_TOP, DB_NO_ARGS, 0, ret, err))
        return false;
    for (size_t i = 0; i < x->slots.count; i++) {
        int64_t top;

        if (!db_one_int_slot(x->db, SQL_DONE_TOP, x->slots.days[i], DB_NO_ARGS, 0, &top, err))
            return false;
        *ret = top > *ret ? top : *ret;
    }
    return true;
}

/* Bisects the numbers for a point in time.  Every sampled document that lies more than DISORDER_US
 * away is a safe bound: *io_low was received before the time, *io_high after it. */
static bool near_time(struct search *x, int64_t top, int64_t us, int64_t *io_low, int64_t *io_high,
                      struct err *err)
{
    int64_t from = 0, to = top + 1;

    for (int i = 0; i < HALVINGS && to - from > CLOSE_ENOUGH; i++) {
        int64_t middle = from + (to - from) / 2, num, at;

        if (!search_sample(x, middle, to, &num, &at, err))
            return false;
        if (num != 0 && at < us - DISORDER_US && num > *io_low)
            *io_low = num;
        if (num != 0 && at > us + DISORDER_US && num < *io_high)
            *io_high = num;
        if (num != 0 && at < us)
            from = num + 1;
        else
            to = middle;
    }
    return true;
}

static bool find_range(struct search *x, const struct document_filter *f, struct err *err)
{
    int64_t top, other;

    if (f->since_us == 0 && f->until_us == 0)
        return true;
    if (!search_find_top(x, &top, err))
        return false;
    if (f->since_us != 0 &&
        (other = x->high, !near_time(x, top, f->since_us, &x->low, &other, err)))
        return false;
    return f->until_us == 0 || (other = 0, near_time(x, top, f->until_us, &other, &x->high, err));
}

/* ---- opening ---- */

static struct source *search_add(struct search *x, enum source_kind kind)
{
    require(x->source_count < SOURCES_MOST);
    struct source *c = &x->sources[x->source_count++];

    *c = (struct source){ .kind = kind, .window = WINDOW_FIRST };
    return c;
}

static void add_term(struct search *x, struct str name, struct str value)
{
    search_add(x, FROM_TERM)->word = term_hash(name, value);
}

static void add_terms(struct search *x, const struct document_filter *f)
{
    if (f->sender_name.len > 0)
        add_term(x, TERM_SENDER, f->sender_name);
    if (f->receiver_name.len > 0)
        add_term(x, TERM_RECEIVER, f->receiver_name);
    if (f->type_name.len > 0)
        add_term(x, TERM_TYPE, f->type_name);
    for (size_t i = 0; i < f->where_count; i++)
        add_term(x, f->where[i].name, f->where[i].value);
}

/* The index has only the beginning of a long name (term_name). */
static void add_name(struct search *x, struct str name)
{
    bool open = name.len > 0 && name.ptr[name.len - 1] == '*';
    struct str whole = open ? str_mem(name.ptr, name.len - 1) : name, from = term_name(whole);

    if (from.len == 0)
        return;
    struct source *c = search_add(x, FROM_NAMES);

    c->from = c->to = from;
    if (open && from.len == whole.len)
        c->to = str_of(arena_printf(x->arena, "%.*s%.*s", STR_ARG(from), STR_ARG(LAST_OF_NAMES)));
}

static void add_words(struct search *x, const struct document_filter *f)
{
    const struct {
        int64_t facet, word;
    } words[] = { { FACET_RECEIVER, f->receiver },
                  { FACET_SENDER, f->sender },
                  { FACET_TYPE, f->type },
                  { FACET_GATEWAY, f->gateway } };

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (words[i].word != 0) {
            struct source *c = search_add(x, FROM_FACET);

            c->facet = words[i].facet;
            c->word = words[i].word;
        }
    if (f->size_least > 0 || f->size_below > 0) {
        struct source *c = search_add(x, FROM_SIZES);

        c->least = f->size_least;
        c->most = f->size_below > 0 ? f->size_below - 1 : INT64_C(1) << 50;
        if (c->most < c->least) /* an empty range: read one class, which then matches nothing */
            c->most = c->least;
    }
}

/* A filter for a sender or receiver within the scope needs no source for the scope. */
static void add_scope(struct search *x, const struct document_filter *f)
{
    if (f->scope != NULL && scope_parts(x, f->scope) <= SCOPE_PARTS_MOST &&
        ((f->sender == 0 && f->receiver == 0) ||
         !document_in_scope(f->scope, f->sender, f->receiver)))
        search_add(x, FROM_SCOPE)->scope = f->scope;
}

static void add_state(struct search *x, const struct document_filter *f)
{
    enum document_state state = DOCUMENT_STATES;

    if (f->state.len > 0)
        (void)document_state_find(f->state, &state);
    if (state == DOCUMENT_DEAD || state == DOCUMENT_IN_DOUBT) {
        struct source *c = search_add(x, FROM_DEAD);

        c->word = state == DOCUMENT_IN_DOUBT;
        c->from = f->error;
        x->knows_error = f->error.len > 0;
    } else if (f->error.len > 0) { /* ended documents have no error */
        search_add(x, FROM_TROUBLE)->from = f->error;
    } else if (state == DOCUMENT_RETRYING) {
        search_add(x, FROM_RETRYING);
    } else if (f->live || (state != DOCUMENT_STATES && !document_is_over(state))) {
        search_add(x, FROM_LIVE);
    } else if (state != DOCUMENT_STATES && state != DOCUMENT_DELIVERED) {
        search_add(x, FROM_ENDED)->word = state;
    }
}

static void add_sources(struct search *x, const struct document_filter *f)
{
    if (f->nums != NULL) {
        struct source *c = search_add(x, FROM_NUMS);

        c->nums = f->nums;
        c->num_count = f->num_count;
    }
    if (f->parent != 0)
        search_add(x, FROM_CHILDREN)->word = f->parent;
    if (f->nums != NULL) /* the list is short: the caller compares the other conditions */
        return;
    add_terms(x, f);
    if (f->name.len > 0)
        add_name(x, f->name);
    add_state(x, f);
    add_words(x, f);
    add_scope(x, f);
    if (x->source_count == 0)
        search_add(x, FROM_TABLES);
}

bool search_open(struct store *s, struct db *db, const struct document_filter *f, struct arena *a,
                 struct search **ret, struct err *err)
{
    struct search *x = ARENA_NEW(a, struct search);

    *x = (struct search){ .store = s, .db = db, .arena = a, .high = NUM_END };
    x->until_us = clock_mono_us() + SEARCH_US;
    *ret = x;
    if (!document_slots(db, &x->slots, err))
        return false;
    add_sources(x, f);
    return find_range(x, f, err);
}
