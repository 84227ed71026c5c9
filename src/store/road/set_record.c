#include "store/road/set_record.h"

#include "base/fault.h"
#include "base/require.h"
#include "store/db/rows.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"
#include "store/road/settle.h"

static void read_set_record(struct db_rows *row, struct arena *a, void *to)
{
    *(struct set_record *)to =
        (struct set_record){ .value = row_text(row, SET_RECORD_GET_VALUE, a),
                             .version = db_get_int(row, SET_RECORD_GET_VERSION),
                             .doc = db_get_int(row, SET_RECORD_GET_DOC),
                             .updated_us = db_get_int(row, SET_RECORD_GET_UPDATED_US),
                             .gateway = db_get_int(row, SET_RECORD_GET_GATEWAY),
                             .seq = db_get_int(row, SET_RECORD_GET_SEQ),
                             .child = db_get_int(row, SET_RECORD_GET_CHILD) };
    if (!db_is_null(row, SET_RECORD_GET_PREVIOUS))
        ((struct set_record *)to)->previous = row_text(row, SET_RECORD_GET_PREVIOUS, a);
}

bool set_record_get(struct store *s, int64_t set, struct str key, struct arena *a,
                    struct set_record *ret, struct err *err)
{
    bool there;

    *ret = (struct set_record){ 0 };
    return store_one(s, SQL_SET_RECORD_GET, DB_ARGS(db_int(set), db_bytes(key)), read_set_record, a,
                     ret, &there, err);
}

/* Whether each record is still as it was read.  On PostgreSQL those that exist stay so until the
 * commit. */
static bool compare_versions(struct writer *w, const struct settle_op *o, bool *ret,
                             struct err *err)
{
    *ret = true;
    for (size_t i = 0; i < o->record_count && *ret; i++) {
        const struct set_write *r = &o->records[i];
        int64_t version;

        if (!db_one_int(w->db, SQL_SET_RECORD_VERSION, DB_ARGS(db_int(r->set), db_bytes(r->key)), 0,
                        &version, err))
            return false;
        *ret = version == r->version;
    }
    return true;
}

static bool put_record(struct writer *w, const struct settle_op *o, const struct set_write *r,
                       int64_t version, int64_t *ret_changed, struct err *err)
{
    struct db_value gateway = db_int(o->seq != 0 ? o->gateway : 0);

    if (r->stays)
        return db_run(w->db, SQL_SET_RECORD_STAYS,
                      DB_ARGS(db_int(r->set), db_bytes(r->key), db_int(version), db_int(r->version),
                              gateway, db_int(o->seq), db_int(o->child)),
                      ret_changed, err);
    return db_run(w->db, SQL_SET_RECORD_PUT,
                  DB_ARGS(db_int(r->set), db_bytes(r->key), db_bytes(r->value), db_int(version),
                          db_int(o->doc), db_int(r->version),
                          r->previous.ptr != NULL ? db_bytes(r->previous) : db_null(), gateway,
                          db_int(o->seq), db_int(o->child)),
                  ret_changed, err);
}

/* PostgreSQL: a record that did not exist may have come from another node since it was compared;
 * the group is run again and finds it. */
static bool write_record(struct writer *w, const struct settle_op *o, const struct set_write *r,
                         struct err *err)
{
    int64_t version, changed;

    require(r->key.len <= SET_RECORD_KEY_MOST && r->value.len <= SET_RECORD_VALUE_MOST);
    if (!writer_number(w, &version, err) || !put_record(w, o, r, version, &changed, err))
        return false;
    return changed == 1 || err_set(err, ERR_TRANSIENT, DB_AGAIN,
                                   "a record was written by another node at the same time");
}

/* For a control of the crash tests: the records are left out of the transaction, and the process is
 * killed behind its commit (settle.done), which must be found out. */
static bool records_are_left_apart(void)
{
    return fault_switch("WAYBILL_TEST_RECORDS_APART") != NULL;
}

bool set_records_write(struct writer *w, const struct settle_op *o, bool *ret_done, struct err *err)
{
    require(o->record_count <= SET_RECORDS_MOST);
    *ret_done = true;
    if (records_are_left_apart())
        return true;
    if (!compare_versions(w, o, ret_done, err))
        return false;
    for (size_t i = 0; i < o->record_count && *ret_done; i++)
        if (!write_record(w, o, &o->records[i], err))
            return false;
    return true;
}
