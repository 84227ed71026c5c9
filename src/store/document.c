#include "store/document.h"

#include <stdlib.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/require.h"
#include "base/varint.h"
#include "store/done.h"
#include "store/index.h"
#include "store/inside.h"
#include "store/settle.h"

enum {
    SLOTS_MOST = 512,        /* tables of ended documents: more than a year of days */
    WINDOW = 500,            /* numbers gathered at a time, of one table at most */
    SCAN_MOST = 20000,       /* numbers looked at for one page */
    DOCUMENT_MOST = 16 << 20 /* the texts of one row */
};

/* A document may be received a little before a higher number. */
#define DISORDER_US (INT64_C(60) * CLOCK_S)

/* ---- one ---------------------------------------------------------------------------- */

/* From its deliveries; without them it is dead, or it waits or runs. */
static enum document_state live_state(struct db_rows *rows, const struct document *d)
{
    enum delivery_state states[DELIVERY_STATES];
    int64_t bits = db_get_int(rows, 22);
    size_t n = 0;

    if (!db_is_null(rows, 23))
        return DOCUMENT_DEAD;
    for (int s = 0; s < DELIVERY_STATES; s++)
        if ((bits >> s & 1) != 0)
            states[n++] = (enum delivery_state)s;
    if (n > 0)
        return document_derive(states, n);
    return d->updated_us == 0 ? DOCUMENT_RECEIVED : DOCUMENT_ACTIVE;
}

static void read_state(struct db_rows *rows, struct arena *a, struct document *d)
{
    int64_t ended = db_get_int(rows, 13);

    if (!db_is_null(rows, 13)) {
        require(ended >= 0 && ended < DOCUMENT_STATES);
        d->is = (enum document_state)ended;
    } else {
        int at = db_is_null(rows, 23) ? 25 : 23;

        d->is = live_state(rows, d);
        if (d->updated_us == 0)
            d->updated_us = d->received_us;
        d->code = arena_copy(a, db_get_str(rows, at));
        d->message = arena_copy(a, db_get_str(rows, at + 1));
        d->seq = db_get_int(rows, 27);
    }
    d->state = str_of(document_states[d->is]);
}

static struct document document_of(struct db_rows *rows, struct arena *a)
{
    struct document d = { .gateway = db_get_int(rows, 2),
                          .caller = db_get_int(rows, 3),
                          .config = db_get_int(rows, 4),
                          .received_us = db_get_int(rows, 5),
                          .updated_us = db_get_int(rows, 14),
                          .sender = db_get_int(rows, 15),
                          .receiver = db_get_int(rows, 16),
                          .type = db_get_int(rows, 17),
                          .route = db_get_int(rows, 18),
                          .again = db_get_int(rows, 19) };
    struct str id = db_get_str(rows, 1);

    d.source.num = db_get_int(rows, 0);
    require(id.len == sizeof d.source.id.bytes);
    memcpy(d.source.id.bytes, id.ptr, id.len);
    d.source.size = db_get_int(rows, 6);
    struct str sha = db_get_str(rows, 7);

    require(sha.len == SHA256_SIZE);
    memcpy(d.source.sha256.bytes, sha.ptr, sha.len);
    d.source.place = (struct payload_place){ db_get_int(rows, 8), db_get_int(rows, 9) };
    d.name = arena_copy(a, db_get_str(rows, 10));
    d.ctype = arena_copy(a, db_get_str(rows, 11));
    d.head = arena_copy(a, db_get_str(rows, 12));
    d.facts = arena_copy(a, db_get_str(rows, 20));
    d.trail = arena_copy(a, db_get_str(rows, 21));
    read_state(rows, a, &d);
    return d;
}

static bool get_from(struct db *db, enum sql_id id, int64_t slot, int64_t num, struct arena *a,
                     struct document *ret, bool *ret_found, struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };

    if (!db_query_slot(db, id, slot, DB_ARGS(db_int(num)), &rows, err) ||
        !db_next(&rows, ret_found, err))
        return false;
    if (*ret_found)
        *ret = document_of(&rows, a);
    return true;
}

struct slots {
    int64_t days[SLOTS_MOST];
    size_t count;
};

static bool read_slots(struct db *db, struct slots *ret, struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    bool row;

    ret->count = 0;
    if (!db_query(db, SQL_PART_ALL, DB_ARGS(db_int(PART_DONE)), &rows, err))
        return false;
    while (ret->count < SLOTS_MOST) {
        if (!db_next(&rows, &row, err))
            return false;
        if (!row)
            break;
        ret->days[ret->count++] = db_get_int(&rows, 0);
    }
    return true;
}

/* A document that ends while it is looked for is found on the second look. */
static bool get_by_num(struct db *db, const struct slots *slots, int64_t num, struct arena *a,
                       struct document *ret, bool *ret_found, struct err *err)
{
    if (!get_from(db, SQL_DOC_GET, DB_NO_SLOT, num, a, ret, ret_found, err))
        return false;
    for (size_t i = 0; i < slots->count && !*ret_found; i++)
        if (!get_from(db, SQL_DONE_GET, slots->days[i], num, a, ret, ret_found, err))
            return false;
    return true;
}

bool document_by_num(struct store *s, int64_t num, struct arena *a, struct document *ret,
                     bool *ret_found, struct err *err)
{
    struct db *db = store_reader(s, err);
    struct slots slots;
    bool ok = db != NULL;

    *ret_found = false;
    for (int look = 0; ok && !*ret_found && look < 2; look++)
        ok = read_slots(db, &slots, err) && get_by_num(db, &slots, num, a, ret, ret_found, err);
    if (db != NULL)
        store_reader_back(s, db);
    return ok;
}

bool document_get(struct store *s, const struct id *id, struct arena *a, struct document *ret,
                  struct err *err)
{
    bool found;

    return document_by_num(s, id_row(id), a, ret, &found, err) && found &&
           id_eq(&ret->source.id, id);
}

bool document_live(struct store *s, int64_t num, struct arena *a, struct document *ret,
                   bool *ret_found, struct err *err)
{
    struct db *db = store_reader(s, err);
    bool ok = db != NULL && get_from(db, SQL_DOC_GET, DB_NO_SLOT, num, a, ret, ret_found, err);

    if (db != NULL)
        store_reader_back(s, db);
    return ok;
}

/* ---- lists -------------------------------------------------------------------------- */

struct seen {
    int64_t num;
    int64_t slot; /* the table it was seen in */
    bool fits;    /* it has the words that are asked for */
};

struct nums {
    struct seen seen[WINDOW * 4];
    size_t count;
    int64_t sure_above; /* every number from here up was seen */
};

enum { IN_INDEX = -2 };

static bool gather(struct db *db, enum sql_id id, int64_t slot, struct db_args args, size_t limit,
                   struct nums *n, struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    size_t got = 0;
    bool row;

    if (!db_query_slot(db, id, slot, args, &rows, err))
        return false;
    for (;; got++) {
        if (!db_next(&rows, &row, err))
            return false;
        if (!row)
            break;
        require(n->count < sizeof n->seen / sizeof n->seen[0]);
        n->seen[n->count++] = (struct seen){ .num = db_get_int(&rows, 0),
                                             .slot = slot,
                                             .fits = db_get_int(&rows, 1) != 0 };
    }
    /* A full window may have left lower ones out. */
    if (got >= limit && n->seen[n->count - 1].num > n->sure_above)
        n->sure_above = n->seen[n->count - 1].num;
    return true;
}

/* Lists of the index, newest first; each is read from its end. */
static bool gather_lists(struct db *db, struct db_args args, size_t limit, struct nums *n,
                         struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    int64_t below = args.values[0].i, list[INDEX_SLICE];
    size_t got = 0;
    bool row = true;

    if (!db_query(db, SQL_FACET_NUMS, args, &rows, err))
        return false;
    while (got < limit) {
        size_t count = 1;
        uint64_t step;

        if (!db_next(&rows, &row, err))
            return false;
        if (!row)
            return true;
        list[0] = db_get_int(&rows, 0);
        for (struct str more = db_get_str(&rows, 1);
             count < INDEX_SLICE && varint_take(&more, &step); count++)
            list[count] = list[count - 1] + (int64_t)step;
        for (; count > 0 && got < limit; count--) {
            if (list[count - 1] >= below)
                continue;
            require(n->count < sizeof n->seen / sizeof n->seen[0]);
            n->seen[n->count++] =
                (struct seen){ .num = list[count - 1], .slot = IN_INDEX, .fits = true };
            got++;
        }
    }
    if (n->seen[n->count - 1].num > n->sure_above)
        n->sure_above = n->seen[n->count - 1].num;
    return true;
}

/* Newest first; of one that moved while it was looked at, the later place. */
static int downwards(const void *a, const void *b)
{
    const struct seen *x = a, *y = b;

    if (x->num != y->num)
        return x->num < y->num ? 1 : -1;
    return x->slot < y->slot ? 1 : x->slot > y->slot ? -1 : 0;
}

/* The facet that is used, as the index names them; 0: none is asked for. */
static int64_t facet_of(const struct document_filter *f, int64_t *ret_word)
{
    const int64_t words[] = { f->gateway, f->sender, f->receiver, f->type };
    const int64_t order[] = { 2, 1, 3, 0 }; /* the finest first, mostly */

    for (size_t i = 0; i < 4; i++)
        if ((*ret_word = words[order[i]]) != 0)
            return order[i] + 1;
    return 0;
}

/* Up to the watermark by the index; above it row by row.  The watermark is read first: what
 * it covers the index has, whatever moves meanwhile. */
static bool gather_of_index(struct db *db, const struct slots *slots, int64_t kind, int64_t word,
                            int64_t below, struct nums *n, struct err *err)
{
    size_t share = WINDOW * 4 / (slots->count + 3), limit = share < WINDOW ? share : WINDOW;
    int64_t indexed;

    if (!db_one_int(db, SQL_MARK_GET, DB_ARGS(db_text(STR("indexed"))), 0, &indexed, err))
        return false;
    struct db_value v[] = { db_int(below), db_int(limit), db_int(kind), db_int(word),
                            db_int(indexed) };
    struct db_args above = { .values = v, .count = 5 }, known = { .values = v, .count = 4 };

    if (below > indexed + 1) {
        if (!gather(db, SQL_DOC_NUMS_ABOVE, DB_NO_SLOT, above, limit, n, err))
            return false;
        for (size_t i = 0; i < slots->count; i++)
            if (!gather(db, SQL_DONE_NUMS_ABOVE, slots->days[i], above, limit, n, err))
                return false;
    }
    if (!gather_lists(db, known, limit, n, err))
        return false;
    v[2] = db_int(kind + FACET_LATE);
    return kind == FACET_GATEWAY || gather_lists(db, known, limit, n, err);
}

/* Table by table, each with its share of the window. */
static bool gather_of_tables(struct db *db, const struct slots *slots,
                             const struct document_filter *f, int64_t below, struct nums *n,
                             struct err *err)
{
    size_t share = WINDOW * 4 / (slots->count + 1), limit = share < WINDOW ? share : WINDOW;
    bool one = f->gateway != 0 && db->kind == DB_POSTGRESQL;
    struct db_args args = DB_ARGS(db_int(below), db_int(limit), db_int(f->gateway),
                                  db_int(f->sender), db_int(f->receiver), db_int(f->type));

    if (!gather(db, one ? SQL_DOC_NUMS_OF_GATEWAY : SQL_DOC_NUMS, DB_NO_SLOT, args, limit, n, err))
        return false;
    for (size_t i = 0; i < slots->count; i++)
        if (!gather(db, one ? SQL_DONE_NUMS_OF_GATEWAY : SQL_DONE_NUMS, slots->days[i], args, limit,
                    n, err))
            return false;
    return true;
}

static bool gather_all(struct db *db, const struct slots *slots, const struct document_filter *f,
                       int64_t below, struct nums *n, struct err *err)
{
    int64_t word, kind = facet_of(f, &word);

    n->count = 0;
    n->sure_above = 0;
    if (kind != 0 && !f->live && db->kind == DB_SQLITE
            ? !gather_of_index(db, slots, kind, word, below, n, err)
            : !gather_of_tables(db, slots, f, below, n, err))
        return false;
    qsort(n->seen, n->count, sizeof n->seen[0], downwards);
    return true;
}

static bool name_matches(struct str pattern, struct str name)
{
    if (pattern.len > 0 && pattern.ptr[pattern.len - 1] == '*')
        return str_starts(name, (struct str){ pattern.ptr, pattern.len - 1 });
    return str_eq(pattern, name);
}

static bool matches(const struct document_filter *f, const struct document *d)
{
    return (f->gateway == 0 || f->gateway == d->gateway) &&
           (f->sender == 0 || f->sender == d->sender) &&
           (f->receiver == 0 || f->receiver == d->receiver) &&
           (f->type == 0 || f->type == d->type) && (f->code.len == 0 || str_eq(f->code, d->code)) &&
           (f->since_us == 0 || d->received_us >= f->since_us) &&
           (f->until_us == 0 || d->received_us < f->until_us) &&
           (f->state.len == 0 || str_eq(f->state, d->state)) &&
           (f->name.len == 0 || name_matches(f->name, d->name));
}

struct page {
    const struct document_filter *filter;
    struct document *docs;
    size_t limit, count;
    int64_t below, looked;
    bool end;
};

/* What a filter refuses must not stay in the page's memory. */
static void keep(struct page *p, const struct document *d, struct arena *a)
{
    struct document *to = &p->docs[p->count++];

    *to = *d;
    to->name = arena_copy(a, d->name);
    to->ctype = arena_copy(a, d->ctype);
    to->head = arena_copy(a, d->head);
    to->facts = arena_copy(a, d->facts);
    to->code = arena_copy(a, d->code);
    to->message = arena_copy(a, d->message);
    to->trail = STR("");
}

/* From the table it was seen in, else wherever it is by now. */
static bool get_seen(struct db *db, const struct slots *slots, const struct seen *seen,
                     struct arena *a, struct document *ret, bool *ret_found, struct err *err)
{
    *ret_found = false;
    if (seen->slot >= 0 &&
        !get_from(db, SQL_DONE_GET, seen->slot, seen->num, a, ret, ret_found, err))
        return false;
    return *ret_found || get_by_num(db, slots, seen->num, a, ret, ret_found, err);
}

/* One that was seen; *ret_old: it and all below it are older than what is asked for. */
static bool look_at(struct db *db, const struct slots *slots, const struct seen *seen,
                    struct page *p, struct arena *one, struct arena *a, bool *ret_old,
                    struct err *err)
{
    int64_t since = p->filter->since_us;
    struct document d;
    bool found;

    arena_reset(one);
    if (!get_seen(db, slots, seen, one, &d, &found, err))
        return false;
    *ret_old = found && since != 0 && d.received_us < since - DISORDER_US;
    if (found && !*ret_old && matches(p->filter, &d))
        keep(p, &d, a);
    return true;
}

/* One window of numbers, newest first; stops when the page is full. */
static bool fill_from_window(struct db *db, const struct slots *slots, struct page *p,
                             struct arena *a, struct err *err)
{
    static _Thread_local struct nums n;
    AUTO(arena_done) struct arena one = ARENA_INIT(DOCUMENT_MOST);

    if (!gather_all(db, slots, p->filter, p->below, &n, err))
        return false;
    p->end = n.sure_above == 0;
    for (size_t i = 0; i < n.count; i++) {
        const struct seen *seen = &n.seen[i];
        bool old = false;

        if (seen->num < n.sure_above)
            return true;
        if (p->count == p->limit) {
            p->end = false;
            return true;
        }
        if (seen->num == p->below)
            continue; /* just moved: seen already */
        p->below = seen->num;
        p->looked++;
        if (seen->fits && !look_at(db, slots, seen, p, &one, a, &old, err))
            return false;
        if (old) {
            p->end = true;
            return true;
        }
    }
    return true;
}

bool document_list(struct store *s, const struct document_filter *f, int64_t below, size_t limit,
                   struct arena *a, struct document *ret, size_t *ret_count, int64_t *ret_next,
                   struct err *err)
{
    struct page p = {
        .filter = f, .docs = ret, .limit = limit, .below = below > 0 ? below : INT64_MAX
    };
    struct db *db = store_reader(s, err);
    struct slots slots;

    require(limit > 0 && limit <= DOCUMENTS_PAGE_MOST);
    if (db == NULL)
        return false;
    slots.count = 0;
    bool ok = f->live || read_slots(db, &slots, err);

    while (ok && !p.end && p.count < p.limit && p.looked < SCAN_MOST)
        ok = fill_from_window(db, &slots, &p, a, err);
    store_reader_back(s, db);
    *ret_count = p.count;
    *ret_next = p.end ? 0 : p.below;
    return ok;
}

/* ---- ending --------------------------------------------------------------------------- */

struct end_op {
    struct store_op op;
    struct settle_end_order order;
};

static bool end_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    const struct end_op *o = (const struct end_op *)ops[0];

    require(count == 1);
    return settle_end(w, &o->order, err);
}

static void end_committed(struct writer *w, struct store_op **ops, size_t count)
{
    const struct end_op *o = (const struct end_op *)ops[0];

    require(count == 1);
    done_used(w->store, done_day(o->order.keep_days));
}

static const struct store_verb end_verb = { .name = "end document",
                                            .run = end_run,
                                            .committed = end_committed };

bool document_end(struct store *s, int64_t num, enum document_state state, int64_t keep_days,
                  struct err *err)
{
    struct end_op o = { .order = { .doc = num, .state = state, .keep_days = keep_days } };

    return writers_call(s->writers, &end_verb, &o.op, err);
}
