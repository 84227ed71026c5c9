#include "store/replica/pass.h"

#include <string.h>

#include "base/clock.h"
#include "base/container_of.h"
#include "base/digest.h"
#include "base/require.h"
#include "store/db/rows.h"
#include "store/kernel/change.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"
#include "store/replica/replica_text.h"

const char *const pass_results[PASS_RESULTS] = { "running",  "ok",      "diverged",
                                                 "repaired", "partial", "aborted" };
const char *const finding_kinds[FINDING_KINDS] = { "missing", "extra", "different" };
const char *const finding_states[FINDING_STATES] = { "suspect", "confirmed", "moving", "gone",
                                                     "repaired" };

enum {
    PASS_DROP_MOST = 10, /* old ones that one commit removes */
    FINDING_HEAD = 1000, /* bytes of a key that are in the index */
    FINDING_KEY = 3,     /* parameters of finding_have and finding_gone */
    FINDING_PUT = 11     /* parameters of finding_put */
};

struct pass_op {
    struct store_op op;
    const struct pass *pass;
    const struct finding *findings;
    size_t count;
    int64_t id;
    bool lost;
};

/* ---- the pass ---- */

static bool pass_drop_old(struct writer *w, const struct pass *p, struct err *err)
{
    int64_t old[PASS_DROP_MOST];
    size_t n;

    if (!rows_ints(w->db, SQL_PASS_OLD,
                   DB_ARGS(db_text(p->link), db_text(p->table), db_int(PASS_DROP_MOST),
                           db_int(PASS_KEPT - 1)),
                   old, PASS_DROP_MOST, &n, err))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!db_run(w->db, SQL_FINDING_DROP, DB_ARGS(db_int(old[i])), NULL, err) ||
            !db_run(w->db, SQL_PASS_DROP, DB_ARGS(db_int(old[i])), NULL, err))
            return false;
    return true;
}

/* A rule makes one pass at a time: one that did not come to its end will not go on. */
static bool pass_begin(struct writer *w, struct pass_op *o, struct err *err)
{
    const struct pass *p = o->pass;

    return mark_take(w, "replica", &o->id, err) &&
           db_run(w->db, SQL_PASS_ABORT,
                  DB_ARGS(db_text(p->link), db_text(p->table), db_text(p->rule),
                          db_int(PASS_ABORTED), db_int(p->began_us),
                          db_text(STR("another pass was begun"))),
                  NULL, err) &&
           pass_drop_old(w, p, err) &&
           db_run(w->db, SQL_PASS_ADD,
                  DB_ARGS(db_int(o->id), db_text(p->link), db_text(p->table), db_text(p->rule),
                          db_text(p->mode), db_int(p->repair), db_int(p->dry_run),
                          db_int(p->result), db_int(p->began_us), db_int(p->ended_us),
                          db_bytes(p->next), db_int(p->segments), db_int(p->segments_bad),
                          db_int(p->rows_source), db_int(p->rows_dest), db_int(p->bytes),
                          db_int(p->missing), db_int(p->extra), db_int(p->different),
                          db_int(p->moving), db_int(p->repaired), db_int(p->skipped),
                          db_text(replica_text(w->arena, p->message)),
                          db_text(replica_text(w->arena, p->by))),
                  NULL, err);
}

static bool pass_go_on(struct writer *w, struct pass_op *o, struct err *err)
{
    const struct pass *p = o->pass;
    int64_t changed;

    o->id = p->id;
    if (!db_run(w->db, SQL_PASS_SET,
                DB_ARGS(db_int(p->id), db_int(p->result), db_int(p->ended_us), db_bytes(p->next),
                        db_int(p->segments), db_int(p->segments_bad), db_int(p->rows_source),
                        db_int(p->rows_dest), db_int(p->bytes), db_int(p->missing),
                        db_int(p->extra), db_int(p->different), db_int(p->moving),
                        db_int(p->repaired), db_int(p->skipped),
                        db_text(replica_text(w->arena, p->message))),
                &changed, err))
        return false;
    o->lost = changed == 0;
    return true;
}

/* ---- what it has found ---- */

/* The bytes of a key that are in the index, and what tells those apart that are longer. */
static void finding_key(struct writer *w, struct str key, struct db_value *ret_head,
                        struct db_value *ret_rest)
{
    struct sha256 *rest = ARENA_NEW(w->arena, struct sha256);

    *ret_head = db_bytes(str_mem(key.ptr, key.len < FINDING_HEAD ? key.len : FINDING_HEAD));
    *ret_rest = db_bytes(STR(""));
    if (key.len <= FINDING_HEAD)
        return;
    *rest = digest_of(key);
    *ret_rest = db_bytes(str_mem((const char *)rest->bytes, SHA256_SIZE));
}

static void finding_values(const struct pass_op *o, const struct finding *f,
                           const struct db_value *key, struct db_value *v)
{
    v[0] = db_int(o->id);
    v[1] = key[1];
    v[2] = key[2];
    v[3] = db_bytes(f->key);
    v[4] = db_int(f->kind);
    v[5] = db_int(f->state);
    v[6] = db_bytes(f->hash_source);
    v[7] = db_bytes(f->hash_dest);
    v[8] = db_int(f->seen_x);
    v[9] = db_int(f->tries);
    v[10] = db_int(f->look_us);
}

static bool finding_found(void *arg, int64_t slot, size_t at, struct db_rows *row, struct err *err)
{
    bool *there = arg;

    (void)slot;
    (void)row;
    (void)err;
    there[at] = true;
    return true;
}

static bool pass_put_findings(struct writer *w, const struct pass_op *o, struct err *err)
{
    struct db_value *keys = ARENA_ARRAY(w->arena, struct db_value, o->count * FINDING_KEY);
    struct db_value *gone = ARENA_ARRAY(w->arena, struct db_value, o->count * FINDING_KEY);
    struct db_value *v = ARENA_ARRAY(w->arena, struct db_value, o->count * FINDING_PUT);
    bool *there = ARENA_ARRAY(w->arena, bool, o->count);
    int64_t listed, more = 0;
    size_t n = 0, gone_count = 0;

    for (size_t i = 0; i < o->count; i++) {
        keys[i * FINDING_KEY] = db_int(o->id);
        finding_key(w, o->findings[i].key, &keys[i * FINDING_KEY + 1], &keys[i * FINDING_KEY + 2]);
    }
    if (!db_one_int(w->db, SQL_PASS_LISTED, DB_ARGS(db_int(o->id)), 0, &listed, err) ||
        !db_find(w->db, SQL_FINDING_HAVE, DB_NO_SLOT, 1, keys, FINDING_KEY, o->count, finding_found,
                 there, err))
        return false;
    for (size_t i = 0; i < o->count; i++)
        if (there[i] && o->findings[i].state == FINDING_GONE)
            memcpy(gone + FINDING_KEY * gone_count++, &keys[i * FINDING_KEY],
                   FINDING_KEY * sizeof *gone);
    more -= (int64_t)gone_count;
    for (size_t i = 0; i < o->count; i++) {
        if (o->findings[i].state == FINDING_GONE ||
            (!there[i] && listed + more >= PASS_FINDINGS_MOST))
            continue;
        more += !there[i];
        finding_values(o, &o->findings[i], &keys[i * FINDING_KEY], v + n * FINDING_PUT);
        n++;
    }
    return (gone_count == 0 ||
            db_batch(w->db, SQL_FINDING_GONE, DB_NO_SLOT, gone, FINDING_KEY, gone_count, err)) &&
           (n == 0 || db_batch(w->db, SQL_FINDING_PUT, DB_NO_SLOT, v, FINDING_PUT, n, err)) &&
           (more == 0 ||
            db_run(w->db, SQL_PASS_LIST_MORE, DB_ARGS(db_int(o->id), db_int(more)), NULL, err));
}

static bool pass_save_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct pass_op *o = container_of(ops[0], struct pass_op, op);

    require(count == 1);
    o->lost = false;
    return (o->pass->id == 0 ? pass_begin(w, o, err) : pass_go_on(w, o, err)) &&
           (o->lost || o->count == 0 || pass_put_findings(w, o, err));
}

static const struct store_verb pass_save_verb = { .name = "pass of verification",
                                                  .run = pass_save_run,
                                                  .notes = true };

bool pass_save(struct store *s, struct pass *p, const struct finding *findings, size_t count,
               bool *ret_lost, struct err *err)
{
    struct pass_op o = { .pass = p, .findings = findings, .count = count };

    require(p->result < PASS_RESULTS);
    if (!writers_call(s->writers, &pass_save_verb, &o.op, err))
        return false;
    p->id = o.id;
    *ret_lost = o.lost;
    return true;
}

/* ---- reading ---- */

static int64_t pass_below(struct db_rows *row, int column, int64_t below)
{
    int64_t n = db_get_int(row, column);

    if (n >= 0 && n < below)
        return n;
    row_is_damaged(row);
    return 0;
}

static void pass_read(struct db_rows *row, struct arena *a, void *to)
{
    *(struct pass *)to = (struct pass){ .id = db_get_int(row, REPLICA_PASS_ID),
                                        .link = row_text(row, REPLICA_PASS_LINK, a),
                                        .table = row_text(row, REPLICA_PASS_TABLE_NAME, a),
                                        .rule = row_text(row, REPLICA_PASS_RULE, a),
                                        .mode = row_text(row, REPLICA_PASS_MODE, a),
                                        .repair = db_get_int(row, REPLICA_PASS_REPAIR) != 0,
                                        .dry_run = db_get_int(row, REPLICA_PASS_DRY_RUN) != 0,
                                        .result = (enum pass_result)pass_below(
                                            row, REPLICA_PASS_RESULT, PASS_RESULTS),
                                        .began_us = db_get_int(row, REPLICA_PASS_BEGAN_US),
                                        .ended_us = db_get_int(row, REPLICA_PASS_ENDED_US),
                                        .next = row_text(row, REPLICA_PASS_NEXT_KEY, a),
                                        .segments = db_get_int(row, REPLICA_PASS_SEGMENTS),
                                        .segments_bad = db_get_int(row, REPLICA_PASS_SEGMENTS_BAD),
                                        .rows_source = db_get_int(row, REPLICA_PASS_ROWS_SOURCE),
                                        .rows_dest = db_get_int(row, REPLICA_PASS_ROWS_DEST),
                                        .bytes = db_get_int(row, REPLICA_PASS_BYTES),
                                        .missing = db_get_int(row, REPLICA_PASS_MISSING),
                                        .extra = db_get_int(row, REPLICA_PASS_EXTRA),
                                        .different = db_get_int(row, REPLICA_PASS_DIFFERENT),
                                        .moving = db_get_int(row, REPLICA_PASS_MOVING),
                                        .repaired = db_get_int(row, REPLICA_PASS_REPAIRED),
                                        .skipped = db_get_int(row, REPLICA_PASS_SKIPPED),
                                        .message = row_text(row, REPLICA_PASS_MESSAGE, a),
                                        .by = row_text(row, REPLICA_PASS_ASKED_BY, a) };
}

bool pass_find(struct store *s, int64_t id, struct arena *a, bool *ret_has, struct pass *ret,
               struct err *err)
{
    return store_one(s, SQL_PASS_FIND, DB_ARGS(db_int(id)), pass_read, a, ret, ret_has, err);
}

bool pass_list(struct store *s, struct str link, struct str table, struct str rule, int64_t before,
               size_t most, struct arena *a, struct pass *ret, size_t *ret_count, struct err *err)
{
    struct rows_into *into = ROWS_INTO(ret, most, a, pass_read);
    struct db_value from = db_int(before == 0 ? INT64_MAX : before);
    struct db_value limit = db_int((int64_t)most);

    if (link.len == 0)
        return store_collect(s, SQL_PASS_PAGE, DB_ARGS(db_text(table), db_text(rule), from, limit),
                             into, ret_count, err);
    if (table.len == 0)
        return store_collect(s, SQL_PASS_PAGE_LINK,
                             DB_ARGS(db_text(link), db_text(rule), from, limit), into, ret_count,
                             err);
    return store_collect(s, SQL_PASS_PAGE_TABLE,
                         DB_ARGS(db_text(link), db_text(table), db_text(rule), from, limit), into,
                         ret_count, err);
}

bool pass_differing(struct store *s, int64_t above, size_t most, struct arena *a, struct pass *ret,
                    size_t *ret_count, struct err *err)
{
    return store_collect(s, SQL_PASS_DIFFERING,
                         DB_ARGS(db_int(above), db_int(PASS_DIVERGED), db_int(PASS_OK),
                                 db_int(PASS_REPAIRED), db_int(PASS_PARTIAL),
                                 db_int((int64_t)most)),
                         ROWS_INTO(ret, most, a, pass_read), ret_count, err);
}

static void finding_read(struct db_rows *row, struct arena *a, void *to)
{
    *(struct finding *)to = (struct finding){
        .key = row_text(row, REPLICA_FINDING_ROW_KEY, a),
        .kind = (enum finding_kind)pass_below(row, REPLICA_FINDING_KIND, FINDING_KINDS),
        .state = (enum finding_state)pass_below(row, REPLICA_FINDING_STATE, FINDING_STATES),
        .hash_source = row_text(row, REPLICA_FINDING_HASH_SOURCE, a),
        .hash_dest = row_text(row, REPLICA_FINDING_HASH_DEST, a),
        .seen_x = db_get_int(row, REPLICA_FINDING_SEEN_X),
        .tries = db_get_int(row, REPLICA_FINDING_TRIES),
        .look_us = db_get_int(row, REPLICA_FINDING_LOOK_US)
    };
}

bool pass_findings(struct store *s, int64_t pass, enum finding_state state, struct str after,
                   size_t most, struct arena *a, struct finding *ret, size_t *ret_count,
                   struct err *err)
{
    struct rows_into *into = ROWS_INTO(ret, most, a, finding_read);
    struct db_value head =
        db_bytes(str_mem(after.ptr, after.len < FINDING_HEAD ? after.len : FINDING_HEAD));
    struct db_value limit = db_int((int64_t)most);
    bool ok =
        state == FINDING_STATES
            ? store_collect(s, SQL_FINDING_PAGE,
                            DB_ARGS(db_int(pass), head, db_bytes(after), limit), into, ret_count,
                            err)
            : store_collect(s, SQL_FINDING_PAGE_STATE,
                            DB_ARGS(db_int(pass), db_int(state), head, db_bytes(after), limit),
                            into, ret_count, err);

    for (size_t i = 0; ok && i < *ret_count; i++)
        ret[i].pass = pass;
    return ok;
}
