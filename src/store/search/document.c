#include "store/search/document.h"

#include "base/auto.h"
#include "store/batch/batch_members.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"

/* ---- one document ---- */

/* Derived from the deliveries.  A document without any is dead, or waits, or runs. */
static enum document_state live_state(struct db_rows *row, const struct document *d)
{
    enum delivery_state states[DELIVERY_STATES];
    int64_t bits = db_get_int(row, DOC_GET_DELIVERY_STATES);
    size_t n = 0;

    if (!db_is_null(row, DOC_GET_DEAD_CODE))
        return DOCUMENT_DEAD;
    for (int s = 0; s < DELIVERY_STATES; s++)
        if ((bits >> s & 1) != 0)
            states[n++] = (enum delivery_state)s;
    if (n > 0)
        return document_derive(states, n);
    if (!db_is_null(row, DOC_GET_RETRY))
        return DOCUMENT_RETRYING;
    return d->updated_us == 0 ? DOCUMENT_RECEIVED : DOCUMENT_ACTIVE;
}

/* The columns that live and ended documents share. */
static struct document search_document_of(struct db_rows *row, struct arena *a)
{
    return (struct document){ .source = { .num = db_get_int(row, DOC_NUM),
                                          .id = row_id(row, DOC_ID),
                                          .size = db_get_int(row, DOC_SIZE),
                                          .sha256 = row_sha256(row, DOC_SHA256),
                                          .place = { db_get_int(row, DOC_SEG),
                                                     db_get_int(row, DOC_POS) } },
                              .gateway = db_get_int(row, DOC_GATEWAY),
                              .caller = db_get_int(row, DOC_CALLER),
                              .config = db_get_int(row, DOC_CONFIG),
                              .received_us = db_get_int(row, DOC_RECEIVED_US),
                              .sender = db_get_int(row, DOC_SENDER),
                              .receiver = db_get_int(row, DOC_RECEIVER),
                              .type = db_get_int(row, DOC_DTYPE),
                              .route = db_get_int(row, DOC_ROUTE),
                              .again = db_get_int(row, DOC_AGAIN),
                              .name = row_text(row, DOC_NAME, a),
                              .ctype = row_text(row, DOC_CTYPE, a),
                              .head = row_text(row, DOC_HEAD, a),
                              .facts = row_text(row, DOC_FACTS, a),
                              .timeline = row_text(row, DOC_TRAIL, a) };
}

static void document_read_live(struct db_rows *row, struct arena *a, void *to)
{
    struct document *d = to;
    bool dead = !db_is_null(row, DOC_GET_DEAD_CODE);

    *d = search_document_of(row, a);
    d->updated_us = db_get_int(row, DOC_GET_UPDATED_US);
    d->is = live_state(row, d);
    d->state = str_of(document_states[d->is]);
    if (d->updated_us == 0)
        d->updated_us = d->received_us;
    d->code = row_text(row, dead ? DOC_GET_DEAD_CODE : DOC_GET_TROUBLE_CODE, a);
    d->message = row_text(row, dead ? DOC_GET_DEAD_MESSAGE : DOC_GET_TROUBLE_MESSAGE, a);
    if (d->is == DOCUMENT_RETRYING && d->code.len == 0) {
        d->code = STR("retry");
        d->message = row_text(row, DOC_GET_RETRY, a);
    }
    d->seq = db_get_int(row, DOC_GET_SEQ);
    d->child = db_get_int(row, DOC_GET_CHILD);
}

void document_read_done(struct db_rows *row, struct arena *a, void *to)
{
    struct document *d = to;
    int64_t state = db_get_int(row, DONE_STATE);

    if (state < 0 || state >= DOCUMENT_STATES) {
        row_is_damaged(row);
        state = DOCUMENT_RECEIVED;
    }
    *d = search_document_of(row, a);
    d->updated_us = db_get_int(row, DONE_ENDED_US);
    d->is = (enum document_state)state;
    d->state = str_of(document_states[d->is]);
}

static bool get_live(struct db *db, int64_t num, struct arena *a, struct document *ret,
                     bool *ret_found, struct err *err)
{
    return rows_one(db, SQL_DOC_GET, DB_NO_SLOT, DB_ARGS(db_int(num)), document_read_live, a, ret,
                    ret_found, err);
}

static bool get_done(struct db *db, int64_t day, int64_t num, struct arena *a, struct document *ret,
                     bool *ret_found, struct err *err)
{
    return rows_one(db, SQL_DONE_GET, day, DB_ARGS(db_int(num)), document_read_done, a, ret,
                    ret_found, err);
}

bool document_slots(struct db *db, struct slots *ret, struct err *err)
{
    return rows_ints(db, SQL_PART_ALL, DB_ARGS(db_int(TABLES_DONE)), ret->days, SLOTS_MOST,
                     &ret->count, err);
}

/* A member of a batch shows the state and error of the document of its batch. */
static bool as_batch(struct db *db, struct arena *a, struct document *d, struct err *err)
{
    struct batch_at at;
    struct document of;
    bool found = false;

    if (d->is != DOCUMENT_ACTIVE || d->code.len > 0)
        return true;
    if (!batch_of(db, d->source.num, false, a, &at, err))
        return false;
    if (at.num == 0 || (at.has_doc && !get_live(db, id_row(&at.doc_id), a, &of, &found, err)))
        return err->kind == ERR_NONE;
    if (found) {
        d->is = of.is == DOCUMENT_RECEIVED ? DOCUMENT_ACTIVE : of.is;
        d->code = of.code;
        d->message = of.message;
    } else if (at.code.len > 0) { /* the batch could not be built */
        d->is = DOCUMENT_DEAD;
        d->code = at.code;
        d->message = at.message;
    }
    d->state = str_of(document_states[d->is]);
    return true;
}

bool document_by_num(struct db *db, const struct slots *slots, int64_t slot, int64_t num,
                     struct arena *a, struct document *ret, bool *ret_found, struct err *err)
{
    *ret_found = false;
    if (slot >= 0 && !get_done(db, slot, num, a, ret, ret_found, err))
        return false;
    if (!*ret_found &&
        (!get_live(db, num, a, ret, ret_found, err) || (*ret_found && !as_batch(db, a, ret, err))))
        return false;
    for (size_t i = 0; i < slots->count && !*ret_found; i++)
        if (!get_done(db, slots->days[i], num, a, ret, ret_found, err))
            return false;
    return true;
}

/* Looks twice: the document may end between the lookup in `doc` and those in the other tables. */
bool document_numbered(struct store *s, int64_t num, struct arena *a, struct document *ret,
                       bool *ret_found, struct err *err)
{
    AUTO(reader_back) struct reader r = reader_take(s, err);
    struct slots slots;
    bool ok = r.db != NULL;

    *ret_found = false;
    for (int look = 0; ok && !*ret_found && look < 2; look++)
        ok = document_slots(r.db, &slots, err) &&
             document_by_num(r.db, &slots, -1, num, a, ret, ret_found, err);
    return ok;
}

bool document_get(struct store *s, const struct id *id, struct arena *a, struct document *ret,
                  struct err *err)
{
    bool found;

    return document_numbered(s, id_row(id), a, ret, &found, err) && found &&
           id_eq(&ret->source.id, id);
}

static void read_row(struct db_rows *row, struct arena *a, void *to)
{
    *(struct document *)to = search_document_of(row, a);
}

static bool document_found(void *arg, int64_t slot, size_t at, struct db_rows *row, struct err *err)
{
    struct document_look *l = (struct document_look *)arg + at;

    (void)slot;
    (void)err;
    row_found(row, read_row, l->arena, &l->document);
    l->document.seq = db_get_int(row, DOC_FIND_SEQ);
    l->document.child = db_get_int(row, DOC_FIND_CHILD);
    l->found = true;
    return true;
}

bool document_find(struct store *s, struct document_look *looks, size_t count, struct err *err)
{
    AUTO(reader_back) struct reader r = reader_take(s, err);
    AUTO(arena_done) struct arena a = ARENA_INIT(count * sizeof(struct db_value) + 1024);
    struct db_value *nums = ARENA_ARRAY(&a, struct db_value, count);

    for (size_t i = 0; i < count; i++) {
        nums[i] = db_int(looks[i].num);
        looks[i].found = false;
    }
    return r.db != NULL &&
           db_find(r.db, SQL_DOC_FIND, DB_NO_SLOT, 1, nums, 1, count, document_found, looks, err);
}

static bool stand_found(void *arg, int64_t slot, size_t at, struct db_rows *row, struct err *err)
{
    struct document_stand *stand = (struct document_stand *)arg + at;

    (void)slot;
    (void)err;
    stand->is_live = true;
    stand->has_end = db_get_int(row, DOC_STAND_HAS_END) != 0;
    return true;
}

bool document_stands(struct store *s, struct document_stand *stands, size_t count, struct err *err)
{
    AUTO(reader_back) struct reader r = reader_take(s, err);
    AUTO(arena_done) struct arena a = ARENA_INIT(count * sizeof(struct db_value) + 1024);
    struct db_value *nums = ARENA_ARRAY(&a, struct db_value, count);

    for (size_t i = 0; i < count; i++) {
        nums[i] = db_int(stands[i].num);
        stands[i].is_live = stands[i].has_end = false;
    }
    return r.db != NULL &&
           db_find(r.db, SQL_DOC_STAND, DB_NO_SLOT, 1, nums, 1, count, stand_found, stands, err);
}

bool document_in_scope(const struct document_scope *scope, int64_t sender, int64_t receiver)
{
    if (scope == NULL)
        return true;
    for (size_t i = 0; i < scope->count; i++)
        if (scope->systems[i] == sender || scope->systems[i] == receiver)
            return true;
    return false;
}
