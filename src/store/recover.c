#include "store/recover.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/auto.h"
#include "base/clock.h"
#include "base/container_of.h"
#include "base/fault.h"
#include "store/kernel/names.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"
#include "store/kernel/told.h"
#include "store/payload/payload.h"
#include "store/road/accept.h"
#include "store/segment/record.h"

enum { TAKE_MOST = 64, ARENA_MOST = 64 << 20 };

#define KEYS_US ((int64_t)KEY_PERIOD_MOST_DAYS * 86400 * CLOCK_S)

/* ---- noting the gap ---- */

static bool recover_mark(struct db *db, const char *name, int64_t value, struct err *err)
{
    return db_run(db, SQL_MARK_SET, DB_ARGS(db_text(str_of(name)), db_int(value)), NULL, err);
}

static bool recover_get(struct db *db, const char *name, int64_t *ret, struct err *err)
{
    return db_one_int(db, SQL_MARK_GET, DB_ARGS(db_text(str_of(name))), 0, ret, err);
}

bool recover_note(struct store *s, struct db *db, const struct told_gap *gap, struct err *err)
{
    struct segment_top top = segments_top(s->segments);
    int64_t commit, from, upto, used;

    if (!db_one_int(db, SQL_COMMIT_LAST, DB_NO_ARGS, 0, &commit, err) ||
        !recover_get(db, "lost_from", &from, err) || !recover_get(db, "lost_upto", &upto, err))
        return false;
    if (from == 0 || from > commit + 1) /* else an interrupted recovery goes on */
        from = commit + 1;
    if (upto < commit + gap->commits)
        upto = commit + gap->commits;
    used = upto > top.commit ? upto : top.commit;
    return recover_mark(db, "lost_from", from, err) && recover_mark(db, "lost_upto", upto, err) &&
           db_run(db, SQL_COMMIT_RAISE, DB_ARGS(db_int(used)), NULL, err) &&
           db_run(db, SQL_MARK_RAISE, DB_ARGS(db_text(STR("num")), db_int(top.num)), NULL, err);
}

/* ---- finding entries ---- */

struct lost {
    int64_t num, pos;
    struct id id;
};

struct recovery {
    struct store *s;
    struct recover_result *result;
    int64_t from, upto; /* lost commits */
    int64_t seg;
    struct lost *all; /* of this segment */
    size_t count, room;
    bool older; /* it has an entry of a commit before these */
};

static void recover_found(void *arg, const struct segment_entry *e)
{
    struct recovery *k = arg;

    if (e->commit < k->from) {
        k->older = true;
        return;
    }
    if (!e->has_record)
        return;
    if (e->after_gap) {
        k->result->unread++;
        return;
    }
    if (k->count == k->room) {
        k->room = k->room * 2 + 1024;
        k->all = xrealloc(k->all, k->room * sizeof *k->all);
    }
    k->all[k->count++] = (struct lost){ .num = id_row(&e->id), .pos = e->pos, .id = e->id };
}

static int by_number_and_newest(const void *a, const void *b)
{
    const struct lost *x = a, *y = b;

    if (x->num != y->num)
        return x->num < y->num ? -1 : 1;
    return x->pos > y->pos ? -1 : x->pos < y->pos;
}

static size_t keep_newest(struct lost *all, size_t count)
{
    size_t n = 0;

    qsort(all, count, sizeof *all, by_number_and_newest);
    for (size_t i = 0; i < count; i++)
        if (n == 0 || all[n - 1].num != all[i].num)
            all[n++] = all[i];
    return n;
}

/* ---- reading one ---- */

static bool has_large_file(struct store *s, const struct accept_op *a, struct err *err)
{
    struct payload_source source = {
        .id = a->id, .num = a->num, .size = a->size, .sha256 = a->sha256, .place = a->place
    };
    struct payload_reader *reader;
    struct str piece;
    bool ok = payload_open(s, &source, &reader, err);

    if (!ok)
        return false;
    do
        ok = payload_next(reader, &piece, err);
    while (ok && piece.len > 0);
    payload_close(reader);
    return ok;
}

static bool is_ours(const struct recovery *k, const struct lost *e, const struct record *r,
                    int64_t store)
{
    return r->num == e->num && r->store == store && r->commit >= k->from &&
           (r->commit <= k->upto || r->key_until_us != 0);
}

/* Names and versions that the database lost with the document are added or replaced. */
static bool put_back_names(struct store *s, const struct record *r, struct accept_op *a,
                           struct err *err)
{
    int64_t newest, gateway;

    if (!name_add(s, NAME_GATEWAY, r->gateway, &a->gateway, err) ||
        !store_one_int(s, SQL_CONFIG_NEWEST, DB_NO_ARGS, 0, &newest, err) ||
        !store_one_int(s, SQL_CALLER_GATEWAY, DB_ARGS(db_int(r->caller)), 0, &gateway, err))
        return false;
    a->caller = gateway == a->gateway ? r->caller : 0;
    a->config = r->config <= newest ? r->config : newest;
    return true;
}

static void fill_op(struct accept_op *a, const struct record *r, const struct segment_about *about,
                    size_t len)
{
    int64_t left_us = r->key_until_us - clock_wall_us();

    *a = (struct accept_op){ .num = r->num,
                             .received_us = r->received_us,
                             .sha256 = about->sha256,
                             .size = about->elsewhere > 0 ? about->elsewhere : (int64_t)len,
                             .is_spooled = about->elsewhere > 0,
                             .name = r->name,
                             .ctype = r->ctype,
                             .head = r->head,
                             .has_key = r->key_until_us != 0 && left_us > 0,
                             .key = r->key,
                             .key_period_us = left_us,
                             .keeps_seq = r->seq,
                             .taken_in = true };
}

/* *ret false: this entry is not taken in. */
static bool read_lost(struct recovery *k, const struct lost *e, struct arena *arena,
                      struct accept_op *a, bool *ret, struct err *err)
{
    AUTO(buf_done) struct buf bytes = BUF_INIT(SEGMENT_PAYLOAD_MOST + 1);
    AUTO(buf_done) struct buf record = BUF_INIT(SEGMENT_RECORD_MOST + 16);
    struct segment_about about = { .record = &record };
    struct payload_ref place = { .seg = k->seg, .pos = e->pos };
    struct record r;

    *ret = false;
    if (!segment_read_entry(k->s->payload_fd, place, &e->id, &bytes, &about, err))
        return err->kind == ERR_PERMANENT;
    if (!record_read(arena_copy(arena, buf_view(&record)), &r))
        return err_set(err, ERR_PERMANENT, 0, "the record is damaged");
    if (!is_ours(k, e, &r, k->s->identity))
        return true;
    fill_op(a, &r, &about, bytes.len);
    a->id = e->id;
    a->place =
        a->is_spooled ? (struct payload_ref){ .seg = PAYLOAD_IN_FILE, .pos = r.large } : place;
    if ((a->is_spooled && !has_large_file(k->s, a, err)) || !put_back_names(k->s, &r, a, err))
        return false;
    *ret = true;
    return true;
}

/* ---- taking in ---- */

struct take_op {
    struct store_op op;
    struct accept_op docs[TAKE_MOST];
    bool taken[TAKE_MOST];
    size_t count;
};

static bool recover_take_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct take_op *o = container_of(ops[0], struct take_op, op);
    struct accept_op *fresh[TAKE_MOST];
    int64_t known;
    size_t n = 0;

    (void)count;
    for (size_t i = 0; i < o->count; i++) {
        if (!db_one_int(w->db, SQL_DOC_KNOWN, DB_ARGS(db_int(o->docs[i].num)), 0, &known, err))
            return false;
        o->taken[i] = known == 0;
        if (o->taken[i])
            fresh[n++] = &o->docs[i];
    }
    return accept_take_in(w, fresh, n, err);
}

static void recover_take_committed(struct writer *w, struct store_op **ops, size_t count)
{
    struct take_op *o = container_of(ops[0], struct take_op, op);

    (void)count;
    for (size_t i = 0; i < o->count; i++)
        if (o->taken[i]) {
            accept_stored(w, &o->docs[i]);
            w->accepted++;
        }
}

static const struct store_verb take_verb = { .name = "take documents in again",
                                             .run = recover_take_run,
                                             .notes = true,
                                             .last = true,
                                             .committed = recover_take_committed };

/* Takes in some, from *at on. */
static bool take_some(struct recovery *k, size_t *at, struct take_op *o, struct err *err)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(ARENA_MOST);

    o->op = (struct store_op){ 0 };
    for (o->count = 0; *at < k->count && o->count < TAKE_MOST; ++*at) {
        bool wanted;

        if (read_lost(k, &k->all[*at], &arena, &o->docs[o->count], &wanted, err)) {
            o->count += wanted;
            k->result->unread += err->kind == ERR_PERMANENT;
        } else if (err->kind == ERR_PERMANENT) {
            k->result->unread++;
        } else {
            return false;
        }
        *err = (struct err){ 0 };
    }
    if (o->count == 0)
        return true;
    if (!writers_call(k->s->writers, &take_verb, &o->op, err))
        return err_context(err, "take in documents that the database lost");
    fault_point(RECOVER_TAKEN);
    for (size_t i = 0; i < o->count; i++)
        k->result->taken_in += o->taken[i];
    return true;
}

static bool recover_segment(struct recovery *k, struct err *err)
{
    struct take_op *o;
    int64_t bytes;
    bool whole, ok = true;

    k->count = 0;
    if (!segment_scan(k->s->payload_fd, k->seg, recover_found, k, &bytes, &whole, err))
        return false;
    k->count = keep_newest(k->all, k->count);
    o = NEW(struct take_op);
    for (size_t at = 0; ok && at < k->count;)
        ok = take_some(k, &at, o, err);
    free(o);
    return ok;
}

/* From the newest segment down: of two entries with one number the later one is met first.  Commits
 * only grow, so the first segment with an older entry is the last that has lost ones. */
static bool recover_all(struct recovery *k, struct err *err)
{
    k->seg = INT64_MAX;
    for (;;) {
        if (!segment_below(k->s->payload_fd, k->seg, &k->seg, err))
            return false;
        if (k->seg == 0)
            return true;
        if (!recover_segment(k, err))
            return false;
        if (k->older)
            return true;
    }
}

/* ---- the end ---- */

struct end_op {
    struct store_op op;
    struct str told;
};

static bool recover_end_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    const struct end_op *o = container_of(ops[0], struct end_op, op);

    (void)count;
    return recover_mark(w->db, "lost_from", 0, err) && recover_mark(w->db, "lost_upto", 0, err) &&
           db_run(w->db, SQL_RESTORE_TELL, DB_ARGS(db_text(o->told)), NULL, err);
}

static const struct store_verb recover_end_verb = { .name = "end the recovery",
                                                    .run = recover_end_run,
                                                    .notes = true };

static bool recover_end(struct store *s, const struct recover_result *r, struct err *err)
{
    char text[160];
    struct end_op o = { 0 };

    (void)snprintf(text, sizeof text,
                   "; %lld documents were taken in again from their payload segments, %lld entries "
                   "could not be read",
                   (long long)r->taken_in, (long long)r->unread);
    o.told = str_of(text);
    return writers_call(s->writers, &recover_end_verb, &o.op, err);
}

bool recover_documents(struct store *s, struct recover_result *ret, struct err *err)
{
    struct recovery k = { .s = s, .result = ret };

    *ret = (struct recover_result){ 0 };
    if (s->kind != DB_SQLITE)
        return true;
    if (!store_one_int(s, SQL_MARK_GET, DB_ARGS(db_text(STR("lost_from"))), 0, &k.from, err) ||
        !store_one_int(s, SQL_MARK_GET, DB_ARGS(db_text(STR("lost_upto"))), 0, &k.upto, err))
        return false;
    if (k.from == 0)
        return true;
    atomic_store(&s->recovering, true);
    bool ok = accept_keep_tables(s, KEYS_US, err) && recover_all(&k, err);

    free(k.all);
    ok = ok && recover_end(s, ret, err);
    atomic_store(&s->recovering, false);
    return ok;
}
