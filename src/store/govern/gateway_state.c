#include "store/govern/gateway_state.h"

#include "base/arena.h"
#include "base/auto.h"
#include "base/container_of.h"
#include "base/fault.h"
#include "base/require.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"
#include "store/road/accept.h"

/* ---- reading ---- */

struct kept_state {
    struct str text;
    int64_t version;
};

static void read_kept_state(struct db_rows *row, struct arena *a, void *to)
{
    *(struct kept_state *)to =
        (struct kept_state){ .text = row_text(row, 0, a), .version = db_get_int(row, 1) };
}

bool gateway_state_get(struct store *s, int64_t gateway, struct buf *to, int64_t *ret_version,
                       struct err *err)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(4 * GATEWAY_STATE_MOST);
    struct kept_state kept = { 0 };
    bool there;

    if (!store_one(s, SQL_GATEWAY_STATE_GET, DB_ARGS(db_int(gateway)), read_kept_state, &a, &kept,
                   &there, err) ||
        !buf_append(to, kept.text, err))
        return false;
    *ret_version = kept.version;
    return true;
}

static bool found_known(void *arg, int64_t slot, size_t at, struct db_rows *row, struct err *err)
{
    (void)slot;
    (void)row;
    (void)err;
    ((bool *)arg)[at] = true;
    return true;
}

bool gateway_state_known(struct store *s, int64_t gateway, const struct sha256 *keys, size_t count,
                         bool *ret, struct err *err)
{
    enum { COLUMNS = 2 };
    AUTO(reader_back) struct reader r = reader_take(s, err);
    AUTO(arena_done)
    struct arena a = ARENA_INIT(count * COLUMNS * sizeof(struct db_value) + 1024);
    struct db_value *rows = ARENA_ARRAY(&a, struct db_value, count * COLUMNS);

    for (size_t i = 0; i < count; i++) {
        ret[i] = false;
        rows[i * COLUMNS] = db_int(gateway);
        rows[i * COLUMNS + 1] = db_bytes(str_mem(keys[i].bytes, SHA256_SIZE));
    }
    return r.db != NULL && db_find(r.db, SQL_LEDGER_FIND_ALL, DB_NO_SLOT, 1, rows, COLUMNS, count,
                                   found_known, ret, err);
}

/* ---- the verb ---- */

/* For a control of the crash tests: the state is left out of the transaction of its documents, and
 * the process is killed behind its commit, which must be found out. */
static bool state_is_left_apart(void)
{
    return fault_switch("WAYBILL_TEST_STATE_APART") != NULL;
}

/* First in the transaction: on PostgreSQL the row stays locked until the commit, so a poll of
 * another node waits here, and is then overtaken. */
static bool put_state(struct writer *w, struct gateway_state_op *o, struct err *err)
{
    int64_t changed = 1;

    require(o->state.len <= GATEWAY_STATE_MOST);
    if (!writer_number(w, &o->version, err))
        return false;
    if (!state_is_left_apart() && !db_run(w->db, SQL_GATEWAY_STATE_PUT,
                                          DB_ARGS(db_int(o->gateway), db_text(o->state),
                                                  db_int(o->version), db_int(o->before)),
                                          &changed, err))
        return false;
    o->overtaken = changed == 0;
    return true;
}

static bool add_documents_of(struct writer *w, const struct gateway_state_op *o, struct err *err)
{
    if (o->doc_count == 0)
        return true;
    if (!accept_verb.run(w, o->docs, o->doc_count, err))
        return false;
    for (size_t i = 0; i < o->doc_count; i++)
        if (container_of(o->docs[i], struct accept_op, op)->result == ACCEPT_KEY_DIFFERS)
            return err_set(err, ERR_PERMANENT, 0, "the key of a source was used for other bytes");
    return true;
}

static bool add_notes(struct writer *w, const struct gateway_state_op *o, struct err *err)
{
    enum { COLUMNS = 3 };
    struct db_value *rows = ARENA_ARRAY(w->arena, struct db_value, (o->note_count + 1) * COLUMNS);

    for (size_t i = 0; i < o->note_count; i++) {
        rows[i * COLUMNS] = db_int(o->gateway);
        rows[i * COLUMNS + 1] = db_bytes(str_mem(o->notes[i].bytes, SHA256_SIZE));
        rows[i * COLUMNS + 2] = db_int(o->noted_us);
    }
    return db_batch(w->db, SQL_LEDGER_NOTE_ALL, DB_NO_SLOT, rows, COLUMNS, o->note_count, err);
}

static bool gateway_state_run(struct writer *w, struct store_op **ops, size_t count,
                              struct err *err)
{
    struct gateway_state_op *o = container_of(ops[0], struct gateway_state_op, op);

    require(count == 1 && o->doc_count <= GATEWAY_DOCS_MOST && o->note_count <= GATEWAY_NOTES_MOST);
    if (!put_state(w, o, err))
        return false;
    return o->overtaken || (add_notes(w, o, err) && add_documents_of(w, o, err));
}

static void gateway_state_committed(struct writer *w, struct store_op **ops, size_t count)
{
    struct gateway_state_op *o = container_of(ops[0], struct gateway_state_op, op);

    require(count == 1);
    if (!o->overtaken && o->doc_count > 0)
        accept_verb.committed(w, o->docs, o->doc_count);
}

const struct store_verb gateway_state_verb = { .name = "gateway state",
                                               .run = gateway_state_run,
                                               .last = true,
                                               .apart = true,
                                               .takes = true,
                                               .committed = gateway_state_committed };
