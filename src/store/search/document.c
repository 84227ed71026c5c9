#include "store/search/document.h"

#include "base/auto.h"
#include "base/require.h"
#include "store/batch/batch_members.h"
#include "store/kernel/store_state.h"

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

bool document_slots(struct db *db, struct slots *ret, struct err *err)
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

/* A member of a batch fares as the document does that the batch became. */
static bool as_batch(struct db *db, struct arena *a, struct document *d, struct err *err)
{
    struct batch_at at;
    struct document of;
    bool found = false;

    if (d->is != DOCUMENT_ACTIVE || d->code.len > 0)
        return true;
    if (!batch_of(db, d->source.num, false, a, &at, err))
        return false;
    if (at.num == 0 || (at.has_doc && !get_from(db, SQL_DOC_GET, DB_NO_SLOT, id_row(&at.doc_id), a,
                                                &of, &found, err)))
        return err->kind == ERR_NONE;
    if (found) {
        d->is = of.is == DOCUMENT_RECEIVED ? DOCUMENT_ACTIVE : of.is;
        d->code = of.code;
        d->message = of.message;
    } else if (at.code.len > 0) { /* it could not be built */
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
    if (slot >= 0 && !get_from(db, SQL_DONE_GET, slot, num, a, ret, ret_found, err))
        return false;
    if (!*ret_found && (!get_from(db, SQL_DOC_GET, DB_NO_SLOT, num, a, ret, ret_found, err) ||
                        (*ret_found && !as_batch(db, a, ret, err))))
        return false;
    for (size_t i = 0; i < slots->count && !*ret_found; i++)
        if (!get_from(db, SQL_DONE_GET, slots->days[i], num, a, ret, ret_found, err))
            return false;
    return true;
}

/* A document that ends while it is looked for is found on the second look. */
bool document_numbered(struct store *s, int64_t num, struct arena *a, struct document *ret,
                       bool *ret_found, struct err *err)
{
    struct db *db = store_reader(s, err);
    struct slots slots;
    bool ok = db != NULL;

    *ret_found = false;
    for (int look = 0; ok && !*ret_found && look < 2; look++)
        ok = document_slots(db, &slots, err) &&
             document_by_num(db, &slots, -1, num, a, ret, ret_found, err);
    if (db != NULL)
        store_reader_back(s, db);
    return ok;
}

bool document_get(struct store *s, const struct id *id, struct arena *a, struct document *ret,
                  struct err *err)
{
    bool found;

    return document_numbered(s, id_row(id), a, ret, &found, err) && found &&
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

bool document_in_scope(const struct document_scope *scope, int64_t sender, int64_t receiver)
{
    if (scope == NULL)
        return true;
    for (size_t i = 0; i < scope->count; i++)
        if (scope->systems[i] == sender || scope->systems[i] == receiver)
            return true;
    return false;
}
