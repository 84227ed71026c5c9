/* offspring.c - documents made of a claimed one.
 *
 * The problem.  A document becomes up to a million others.  All of them must come to be, each
 * once, whenever the node dies and whoever goes on; one transaction for all would keep everybody
 * else waiting and would be too large.
 *
 * The method.  The run makes the parts in a fixed order and commits them in chunks.  The commit of
 * a chunk has its documents and, in the row `offspring` of the parent, how many there are by then.
 * The last chunk has the settlement of the parent as well.
 *   1. The claim must hold; on PostgreSQL its lease stays until the commit.
 *   2. The progress must be where the chunk begins.
 *   3. The documents are written as accept does it: bytes first, then the rows.
 *   4. The progress, then the settlement: it closes the parent's number (order.h), and the
 *      numbers of its children must be open by then.
 *   5. Children that are wanted so come claimed, as in accept.c.
 * Small operations share a group (offspring_few_verb): steps 1 to 3 and the progress for each of
 * them, then one settlement of all.
 *
 * Invariants
 *   (1) A part of a document exists once: its number, `from` and its index, is committed with the
 *       progress that covers it, and progress only grows from what it was.
 *   (2) A document that ended by its last chunk has all its parts.
 *   (3) All parts are made by one version, that of the first chunk: with another one they might
 *       be cut differently.  A document that a person starts again goes on with it
 *       (operate_version), or makes all parts anew, without a place in the order.
 *   (4) Children of a numbered document lie between it and the next one (place_children()), and
 *       one of them, or itself, is open until the last one is routed.
 *
 * Crashes.  Before a commit: the store has the chunks before it, the parent has its task, and the
 * next run goes on there; bytes without a row are dead space or swept.  After it: the run
 * that begins again finds the progress.  An entry in a segment has no record (store/recover.h): if
 * the database loses the commit, the parent is there again with its task, or is itself taken in
 * again, and makes its children anew.  A child that came claimed is not lost with its node, as a
 * document of accept is not.
 *
 * Races, on PostgreSQL.  A node that was declared dead fails at the fence; a lease that was taken
 * over is not held.  Two runs of one parent never hold its lease at the same time.
 */
#include "store/road/offspring.h"

#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/fault.h"
#include "base/require.h"
#include "store/db/rows.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"
#include "store/road/accept_rows.h"
#include "store/road/order.h"
#include "store/road/settle.h"

enum { CHILD = ACCEPT_DOC + 8, OPEN = 3, LINK = 3 };

/* The parent, and how its children stand in the order. */
struct parent {
    int64_t gateway, caller;
    struct str head;
    int64_t seq, child, span;
    int64_t again;         /* how often it was started again with --again */
    int64_t first, stride; /* child of the first part, and from one to the next */
};

/* The children of a chunk; all of it is in the arena of the group. */
struct brood {
    struct writer *w;
    struct offspring_op *o;
    struct parent parent;
    struct accept_op **fresh;
    int64_t placed;    /* children that stand at its place: all but answers, which come last */
    int64_t first_seq; /* of answers (PostgreSQL) */
};

/* ---- the parent ---- */

static void read_progress(struct db_rows *row, struct arena *a, void *to)
{
    (void)a;
    *(struct offspring_progress *)to =
        (struct offspring_progress){ .made = db_get_int(row, OFFSPRING_GET_MADE),
                                     .total = db_get_int(row, OFFSPRING_GET_TOTAL),
                                     .config = db_get_int(row, OFFSPRING_GET_CONFIG),
                                     .earlier = db_get_int(row, OFFSPRING_GET_EARLIER) };
}

static void offspring_read_parent(struct db_rows *row, struct arena *a, void *to)
{
    *(struct parent *)to = (struct parent){ .gateway = db_get_int(row, OFFSPRING_PARENT_GATEWAY),
                                            .caller = db_get_int(row, OFFSPRING_PARENT_CALLER),
                                            .head = row_text(row, OFFSPRING_PARENT_HEAD, a),
                                            .seq = db_get_int(row, OFFSPRING_PARENT_SEQ),
                                            .child = db_get_int(row, OFFSPRING_PARENT_CHILD),
                                            .again = db_get_int(row, OFFSPRING_PARENT_AGAIN),
                                            .span = db_is_null(row, OFFSPRING_PARENT_SPAN)
                                                        ? ORDER_SPAN
                                                        : db_get_int(row, OFFSPRING_PARENT_SPAN) };
}

static bool load_parent(struct brood *k, struct err *err)
{
    bool there;

    if (!rows_one(k->w->db, SQL_OFFSPRING_PARENT, DB_NO_SLOT, DB_ARGS(db_int(k->o->doc)),
                  offspring_read_parent, k->w->arena, &k->parent, &there, err))
        return false;
    return there ||
           err_set(err, ERR_PERMANENT, 0, "document %lld is not live", (long long)k->o->doc);
}

/* Divides the span of the parent, without its own child, evenly among its children.  The total of
 * the first chunk counts: the places of all chunks must fit together. */
static bool place_children(struct brood *k, struct err *err)
{
    struct parent *p = &k->parent;
    const struct offspring_progress *now = &k->o->progress;
    int64_t total = now->made > 0 ? now->total : k->o->total;
    int64_t upto = now->made + k->placed;
    bool at_once = now->made == 0 && k->o->end != NULL; /* this chunk is the only one */
    int64_t room = total > 0 ? total : at_once ? upto : OFFSPRING_TOTAL_MOST;

    bool copies = k->placed > 0 && k->o->parts[0].kind == LINK_COPY; /* these are not counted */

    if (now->earlier > 0 || (copies && p->again > 0)) /* the places may be taken */
        p->seq = 0;
    if (p->seq == 0 || k->placed == 0)
        return true;
    p->stride = (p->span - 1) / room;
    p->first = p->child + 1;
    return (p->stride > 0 && upto <= room) ||
           err_set(err, ERR_LIMIT, 0,
                   "a document with an order cannot be divided into so many parts of parts");
}

/* ---- children ---- */

static struct accept_op *child_of(struct brood *k, const struct offspring_part *p)
{
    struct accept_op *a = ARENA_NEW(k->w->arena, struct accept_op);
    bool answer = p->kind == LINK_ANSWER;

    *a = (struct accept_op){ .gateway = k->parent.gateway,
                             .caller = answer ? 0 : k->parent.caller,
                             .config = p->config != 0 ? p->config : k->o->config,
                             .received_us = k->o->received_us,
                             .size = p->size,
                             .sha256 = p->sha256,
                             .body = p->bytes,
                             .spooled = p->uploaded,
                             .is_spooled = p->is_uploaded,
                             .name = p->name,
                             .ctype = p->ctype,
                             .head = answer ? (struct str){ 0 } : k->parent.head,
                             .is_child = true,
                             .claim_wanted = p->claim_wanted };
    return a;
}

/* Numbers, ids and payloads. */
static bool bear(struct brood *k, struct err *err)
{
    struct offspring_op *o = k->o;
    size_t bytes = 0;

    k->fresh = ARENA_ARRAY(k->w->arena, struct accept_op *, o->count + 1);
    for (size_t i = 0; i < o->count; i++) {
        struct offspring_part *p = &o->parts[i];

        require(p->is_uploaded || p->bytes.len <= SEGMENT_PAYLOAD_MOST);
        require(p->kind == LINK_SPLIT || o->end != NULL);
        require((p->kind == LINK_ANSWER) == ((int64_t)i >= k->placed));
        bytes += p->is_uploaded || p->kind == LINK_ANSWER ? 0 : p->bytes.len;
        k->fresh[i] = child_of(k, p);
        if (!accept_name(k->w, k->fresh[i], err) || !accept_place(k->w, k->fresh[i], err))
            return false;
        p->id = k->fresh[i]->id;
        p->num = k->fresh[i]->num;
        p->place = k->fresh[i]->place;
    }
    require(bytes <= OFFSPRING_BYTES_MOST);
    return true;
}

/* An answer is not in its parent's place: it came in now.  On PostgreSQL all nodes need the row of
 * the numbers, so it is locked late. */
static bool number_answers(struct brood *k, struct err *err)
{
    bool any = (int64_t)k->o->count > k->placed;

    return !any || k->w->db->kind == DB_SQLITE || !order_is_numbered(k->w->store) ||
           order_take_numbers(k->w, k->o->count, &k->first_seq, err);
}

static void stand(const struct brood *k, size_t i, struct db_value *ret_seq,
                  struct db_value *ret_child, struct db_value *ret_span)
{
    const struct parent *p = &k->parent;

    *ret_child = *ret_span = db_null();
    if (k->o->parts[i].kind == LINK_ANSWER) {
        *ret_seq = db_int(!order_is_numbered(k->w->store) ? 0
                          : k->first_seq != 0             ? k->first_seq + (int64_t)i
                                                          : k->o->parts[i].num);
        return;
    }
    *ret_seq = db_int(p->seq);
    if (p->seq == 0)
        return;
    *ret_child = db_int(p->first + (k->o->from + (int64_t)i) * p->stride);
    *ret_span = db_int(p->stride);
}

static void child_row(const struct brood *k, size_t i, struct db_value *v)
{
    struct offspring_part *p = &k->o->parts[i];

    accept_doc_row(v, k->fresh[i]);
    v += ACCEPT_DOC;
    stand(k, i, &v[0], &v[1], &v[2]);
    p->seq = v[0].i;
    p->child = v[1].type == DB_NULL ? 0 : v[1].i;
    p->task = k->fresh[i]->task;
    p->claimed = k->fresh[i]->claimed;
    v[3] = db_int(p->sender);
    v[4] = db_int(p->receiver);
    v[5] = db_int(p->type);
    v[6] = db_bytes_or_null(p->facts);
    v[7] = db_bytes_or_null(p->timeline);
}

static bool offspring_add(struct brood *k, struct err *err)
{
    size_t count = k->o->count, open_count = 0;
    struct db_value *docs = ARENA_ARRAY(k->w->arena, struct db_value, count * CHILD);
    struct db_value *open = ARENA_ARRAY(k->w->arena, struct db_value, count * OPEN);
    struct db_value *links = ARENA_ARRAY(k->w->arena, struct db_value, count * LINK);

    for (size_t i = 0; i < count; i++) {
        struct db_value *v = docs + i * CHILD, *l = links + i * LINK;

        child_row(k, i, v);
        l[0] = db_int(k->o->doc);
        l[1] = db_int(k->o->parts[i].kind);
        l[2] = v[0];
        if (v[ACCEPT_DOC].i == 0)
            continue;
        struct db_value *at = open + open_count++ * OPEN;

        at[0] = db_int(k->parent.gateway);
        at[1] = v[ACCEPT_DOC];
        at[2] = v[ACCEPT_DOC + 1].type == DB_NULL ? db_int(0) : v[ACCEPT_DOC + 1];
    }
    return db_batch(k->w->db, SQL_DOC_ADD_CHILD, DB_NO_SLOT, docs, CHILD, count, err) &&
           db_batch(k->w->db, SQL_LINK_ADD, DB_NO_SLOT, links, LINK, count, err) &&
           db_batch(k->w->db, SQL_ORDER_OPEN_ADD, DB_NO_SLOT, open, OPEN, open_count, err);
}

/* ---- the verb ---- */

static bool write_progress(struct writer *w, const struct offspring_op *o, struct err *err)
{
    const struct offspring_progress *now = &o->progress;

    return db_send(
        w->db, SQL_OFFSPRING_PUT,
        DB_ARGS(db_int(o->doc), db_int(now->made), db_int(now->total), db_int(now->config)), err);
}

/* For the controls of the crash tests: progress or end of the parent is left out of the
 * transaction, and the process is killed behind its commit (parts.committed), which must be found
 * out. */
static bool is_left_apart(const char *what)
{
    const char *apart = fault_switch("WAYBILL_TEST_PARTS_APART");

    return apart != NULL && strcmp(apart, what) == 0;
}

static bool put_progress(struct brood *k, struct err *err)
{
    struct offspring_op *o = k->o;
    struct offspring_progress *now = &o->progress;

    if (now->made == 0) {
        now->total = o->total;
        now->config = o->config;
    }
    for (size_t i = 0; i < o->count; i++)
        now->made += o->parts[i].kind == LINK_SPLIT;
    if (now->made == 0 || o->task.kind != TASK_RUN)
        return true;
    if (o->end != NULL)
        now->total = now->made;
    return (o->end == NULL && is_left_apart("progress")) || write_progress(k->w, o, err);
}

/* The claims were looked at in the same transaction. */
static bool settle_parents(struct writer *w, struct store_op **ends, size_t count, struct err *err)
{
    if (is_left_apart("end"))
        return true;
    if (count > 0 && !settle_verb.run(w, ends, count, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct settle_op *end = container_of(ends[i], struct settle_op, op);

        if (!end->ours)
            return err_set(err, ERR_PERMANENT, 0,
                           "the claim of task %lld ended within its transaction",
                           (long long)end->task.id);
    }
    return true;
}

static struct store_op *offspring_end_of(struct offspring_op *o)
{
    require(o->end->task.id == o->task.id && o->end->task.claim == o->task.claim);
    return o->end_ops[0] = &o->end->op;
}

static bool write_children(struct brood *k, struct err *err)
{
    size_t count = k->o->count;

    while (k->placed < (int64_t)count && k->o->parts[k->placed].kind != LINK_ANSWER)
        k->placed++;
    return load_parent(k, err) && place_children(k, err) && bear(k, err) &&
           accept_add_payloads(k->w, k->fresh, count, err) &&
           accept_add_tasks(k->w, k->fresh, count, err) &&
           accept_adopt_all(k->w, k->fresh, count, err) &&
           accept_count(k->w, k->fresh, count, err) && number_answers(k, err) &&
           offspring_add(k, err);
}

/* The records that its settlement writes (set_record.h) come first: if it is overtaken nothing is
 * made. */
static bool not_overtaken(struct writer *w, struct settle_op *end, bool *ret, struct err *err)
{
    *ret = true;
    return end == NULL || end->record_count == 0 || settle_records(w, end, ret, err);
}

/* Invariants (1) and (3).  An attempt of a delivery makes no parts, whatever its document did. */
static bool offspring_goes_on(const struct offspring_op *o)
{
    return o->progress.made == o->from && (o->from == 0 || o->progress.config == o->config);
}

/* Begins with one operation; *ret_ours false: its claim was lost. */
static bool offspring_begin(struct writer *w, struct offspring_op *o, bool *ret_ours,
                            struct err *err)
{
    require(o->count <= OFFSPRING_PARTS_MOST + OFFSPRING_ANSWERS_MOST &&
            (o->count > 0 || o->end != NULL));
    o->result = OFFSPRING_LOST;
    o->progress = (struct offspring_progress){ 0 };
    o->received_us = clock_wall_us();
    return (w->db->kind != DB_SQLITE || db_sqlite_log_has_room(w->db, err)) &&
           task_is_held(w, &o->task, ret_ours, err);
}

/* Whether the chunk is to be made now; if not, its result says why. */
static bool is_wanted(struct writer *w, struct offspring_op *o, bool counts, bool *ret,
                      struct err *err)
{
    bool ours, there, current;

    *ret = false;
    if (!offspring_begin(w, o, &ours, err))
        return false;
    if (!ours)
        return true;
    if (counts && !rows_one(w->db, SQL_OFFSPRING_GET, DB_NO_SLOT, DB_ARGS(db_int(o->doc)),
                            read_progress, NULL, &o->progress, &there, err))
        return false;
    o->result = OFFSPRING_ELSEWHERE;
    if (counts && o->task.kind == TASK_RUN && !offspring_goes_on(o))
        return true;
    if (!not_overtaken(w, o->end, &current, err))
        return false;
    o->result = current ? OFFSPRING_MADE : OFFSPRING_OVERTAKEN;
    *ret = current;
    return true;
}

/* All children first, then one settlement of all parents that end. */
static bool make_offspring(struct writer *w, struct store_op **ops, size_t count, bool counts,
                           struct err *err)
{
    struct store_op **ends = ARENA_ARRAY(w->arena, struct store_op *, count);
    size_t n = 0;

    for (size_t i = 0; i < count; i++) {
        struct offspring_op *o = container_of(ops[i], struct offspring_op, op);
        struct brood k = { .w = w, .o = o };
        bool wanted;

        if (!is_wanted(w, o, counts, &wanted, err))
            return false;
        if (!wanted)
            continue;
        if (!write_children(&k, err))
            return false;
        if (counts) {
            fault_point(PARTS_WRITTEN);
            if (!put_progress(&k, err))
                return false;
        }
        if (o->end != NULL)
            ends[n++] = offspring_end_of(o);
    }
    return settle_parents(w, ends, n, err);
}

static bool offspring_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    if (!make_offspring(w, ops, count, true, err))
        return false;
    fault_point(PARTS_COUNTED);
    return true;
}

static bool answers_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        const struct offspring_op *o = container_of(ops[i], struct offspring_op, op);

        require(o->parts[0].kind == LINK_ANSWER && o->end != NULL);
    }
    if (!make_offspring(w, ops, count, false, err))
        return false;
    fault_point(ANSWERS_WRITTEN);
    return true;
}

static void claim_children(struct writer *w, struct offspring_op *o)
{
    for (size_t i = 0; i < o->count && w->db->kind == DB_SQLITE; i++)
        if (o->parts[i].claim_wanted)
            o->parts[i].claimed = accept_claim(w, &o->parts[i].task);
}

static void offspring_committed(struct writer *w, struct store_op **ops, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct offspring_op *o = container_of(ops[i], struct offspring_op, op);

        if (o->result != OFFSPRING_MADE)
            continue;
        fault_point(PARTS_COMMITTED);
        w->accepted += (int64_t)o->count;
        claim_children(w, o);
        if (o->end != NULL)
            settle_verb.committed(w, o->end_ops, 1);
    }
}

const struct store_verb offspring_verb = { .name = "make parts",
                                           .run = offspring_run,
                                           .apart = true,
                                           .takes = true,
                                           .committed = offspring_committed };

const struct store_verb offspring_few_verb = {
    .name = "make few parts", .run = offspring_run, .takes = true, .committed = offspring_committed
};

const struct store_verb offspring_answers_verb = {
    .name = "make answers", .run = answers_run, .takes = true, .committed = offspring_committed
};

bool offspring_get(struct store *s, int64_t doc, struct offspring_progress *ret, struct err *err)
{
    bool there;

    *ret = (struct offspring_progress){ 0 };
    return store_one(s, SQL_OFFSPRING_GET, DB_ARGS(db_int(doc)), read_progress, NULL, ret, &there,
                     err);
}
