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
#include "store/segment/forward.h"
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

/* The highest numbers of the segments, of commits and documents. */
struct top {
    int64_t above; /* commits of the database */
    int64_t commit, num;
    bool older; /* an entry of a commit that the database has was found */
};

static void note_top(void *arg, const struct segment_entry *e)
{
    struct top *top = arg;

    if (e->after_gap)
        return;
    top->older |= e->commit <= top->above;
    if (e->commit > top->commit)
        top->commit = e->commit;
    if (id_row(&e->id) > top->num)
        top->num = id_row(&e->id);
}

/* From the newest segment down.  Commits only grow, so the first segment with an older entry is the
 * last that has lost ones; the newest may have copies alone, with the numbers of old documents. */
static bool find_top(struct store *s, struct top *top, struct err *err)
{
    int64_t seg = INT64_MAX, bytes;
    bool whole;

    while (!top->older) {
        if (!segment_below(s->payload_fd, seg, &seg, err))
            return false;
        if (seg == 0)
            break;
        if (!segment_scan(s->payload_fd, seg, note_top, top, &bytes, &whole, err))
            return false;
    }
    return true;
}

bool recover_note(struct store *s, struct db *db, const struct told_gap *gap, struct err *err)
{
    struct top top = { 0 };
    int64_t commit, from, upto, used;

    if (!db_one_int(db, SQL_COMMIT_LAST, DB_NO_ARGS, 0, &commit, err) ||
        !recover_get(db, "lost_from", &from, err) || !recover_get(db, "lost_upto", &upto, err))
        return false;
    top.above = commit;
    if (!find_top(s, &top, err))
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
    int64_t num, pos, commit;
    struct id id;
    bool is_copy;
};

struct recovery {
    struct store *s;
    struct recover_result *result;
    int64_t from, upto; /* lost commits */
    bool copies;        /* in this turn */
    bool has_copies;
    int64_t lowest; /* number of the accepted documents seen so far */
    int64_t seg;
    struct lost *all; /* of this segment, in order of position */
    size_t count, room;
    bool older; /* it has an entry of a commit before these */
};

static void say_lost(const struct recovery *k, const struct store_lost *lost)
{
    const struct store_options *o = &k->s->options;

    if (o->lost != NULL)
        o->lost(o->lost_arg, lost);
}

static void recover_unread(struct recovery *k, const struct id *id, int64_t pos, const char *why)
{
    k->result->unread++;
    say_lost(k, &(struct store_lost){ .id = id, .seg = k->seg, .pos = pos, .why = why });
}

static void recover_left_out(const struct recovery *k, const struct id *id, int64_t pos,
                             const char *why)
{
    k->result->left_out++;
    say_lost(k, &(struct store_lost){
                    .id = id, .seg = k->seg, .pos = pos, .why = why, .left_out = true });
}

static void recover_found(void *arg, const struct segment_entry *e)
{
    struct recovery *k = arg;

    if (e->commit < k->from) {
        k->older = true;
        return;
    }
    if (!e->has_record && !e->is_copy)
        return;
    if (e->after_gap) {
        if (!k->copies)
            recover_unread(k, &e->id, e->pos, "damage precedes it in its segment");
        return;
    }
    if (k->count == k->room) {
        k->room = k->room * 2 + 1024;
        k->all = xrealloc(k->all, k->room * sizeof *k->all);
    }
    k->all[k->count++] = (struct lost){ .num = id_row(&e->id),
                                        .pos = e->pos,
                                        .commit = e->commit,
                                        .id = e->id,
                                        .is_copy = e->is_copy };
}

/* ---- reading one ---- */

/* What an entry gives back. */
struct found {
    struct accept_op doc;
    bool has_doc;
    bool taken, repeated;             /* set by the writer */
    struct payload_ref origin, place; /* origin.seg not 0: a copy, and where it is */
};

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

/* A commit that was told, or of which the senders with keys get their ids again. */
static bool is_lost(const struct recovery *k, const struct record *r)
{
    return r->commit >= k->from && (r->commit <= k->upto || r->key_until_us != 0);
}

/* Numbers are used again after a group that failed, and the page of the folder names its entries.
 */
static bool is_of_failed_group(struct recovery *k, const struct lost *e, const struct record *r)
{
    if (r->num >= k->lowest ||
        told_is_refused(k->s->told, (struct payload_ref){ .seg = k->seg, .pos = e->pos })) {
        recover_left_out(k, &e->id, e->pos, "its commit failed");
        return true;
    }
    k->lowest = r->num;
    return false;
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

static bool document_of_entry(struct recovery *k, const struct lost *e, const struct record *r,
                              const struct segment_about *about, size_t len, struct found *f,
                              struct err *err)
{
    struct accept_op *a = &f->doc;

    fill_op(a, r, about, len);
    a->id = e->id;
    a->place = a->is_spooled ? (struct payload_ref){ .seg = PAYLOAD_IN_FILE, .pos = r->large }
               : f->origin.seg != 0 ? f->origin /* `moved` leads to the copy */
                                    : (struct payload_ref){ .seg = k->seg, .pos = e->pos };
    f->has_doc =
        (!a->is_spooled || has_large_file(k->s, a, err)) && put_back_names(k->s, r, a, err);
    return f->has_doc;
}

/* The record may be empty only in a copy of what a step made. */
static bool read_found_entry(struct recovery *k, const struct lost *e, struct arena *arena,
                             struct buf *bytes, struct segment_about *about, struct record *r,
                             struct err *err)
{
    struct payload_ref place = { .seg = k->seg, .pos = e->pos };

    if (!segment_read_entry(k->s->payload_fd, place, &e->id, bytes, about, err))
        return false;
    return (about->origin.seg != 0 && about->record->len == 0) ||
           record_read(arena_copy(arena, buf_view(about->record)), r) ||
           err_set(err, ERR_PERMANENT, 0, "the record is damaged");
}

/* The entry may give nothing back: in another turn, or not at all. */
static bool read_lost(struct recovery *k, const struct lost *e, struct arena *arena,
                      struct found *f, struct err *err)
{
    AUTO(buf_done) struct buf bytes = BUF_INIT(SEGMENT_PAYLOAD_MOST + 1);
    AUTO(buf_done) struct buf record = BUF_INIT(SEGMENT_RECORD_MOST + 32);
    struct segment_about about = { .record = &record };
    struct payload_ref place = { .seg = k->seg, .pos = e->pos };
    struct record r = { 0 };

    *f = (struct found){ 0 };
    k->has_copies |= e->is_copy;
    if (e->is_copy && !k->copies)
        return true;
    if (!read_found_entry(k, e, arena, &bytes, &about, &r, err)) {
        if (e->is_copy == k->copies || err->kind != ERR_PERMANENT)
            return false;
        *err = (struct err){ 0 }; /* the turn before counted it */
        return true;
    }
    if (about.origin.seg != 0 && about.elsewhere == 0) {
        f->origin = about.origin;
        f->place = place;
    }
    if (about.origin.seg != 0 && record.len == 0)
        return true; /* a copy of what a step made */
    if (r.num != e->num || r.store != k->s->identity)
        return true;
    bool is_copy = r.commit != e->commit; /* also one of an earlier program, without an origin */

    k->has_copies |= is_copy;
    if (is_copy != k->copies || (!is_copy && is_of_failed_group(k, e, &r)) || !is_lost(k, &r))
        return true;
    return document_of_entry(k, e, &r, &about, bytes.len, f, err);
}

/* ---- taking in ---- */

struct take_op {
    struct store_op op;
    struct store *store;
    struct found found[TAKE_MOST];
    size_t count;
    int64_t forwarded;
};

/* The newest document with a key has it; `before` are newer ones of this group. */
static bool key_is_taken(struct writer *w, struct take_op *o, size_t at, bool *ret, struct err *err)
{
    struct accept_op *a = &o->found[at].doc;

    *ret = false;
    if (!a->has_key)
        return true;
    for (size_t i = 0; !*ret && i < at; i++)
        *ret = o->found[i].taken && o->found[i].doc.has_key &&
               digest_same(&o->found[i].doc.key, &a->key);
    if (*ret)
        return true;
    if (!accept_known(w, a, err))
        return false;
    *ret = a->result != ACCEPT_STORED;
    return true;
}

static bool choose_document(struct writer *w, struct take_op *o, size_t at, struct err *err)
{
    struct found *f = &o->found[at];
    int64_t known;

    f->taken = f->repeated = false;
    if (!f->has_doc)
        return true;
    if (!db_one_int(w->db, SQL_DOC_KNOWN, DB_ARGS(db_int(f->doc.num)), 0, &known, err) ||
        (known == 0 && !key_is_taken(w, o, at, &f->repeated, err)))
        return false;
    f->taken = known == 0 && !f->repeated;
    return true;
}

/* From the newest copy back: the first one whose origin cannot be read otherwise counts. */
static bool put_back_forward(struct writer *w, struct take_op *o, const struct found *f,
                             struct err *err)
{
    struct payload_ref now = f->origin;

    if (f->origin.seg == 0)
        return true;
    (void)forward_find(w->db, &now);
    if (segment_exists(o->store->payload_fd, now.seg))
        return true;
    o->forwarded++;
    return db_run(w->db, SQL_MOVED_ADD,
                  DB_ARGS(db_int(f->origin.seg), db_int(f->origin.pos), db_int(f->place.seg),
                          db_int(f->place.pos)),
                  NULL, err);
}

static bool recover_take_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct take_op *o = container_of(ops[0], struct take_op, op);
    struct accept_op *fresh[TAKE_MOST];
    size_t n = 0;

    (void)count;
    o->forwarded = 0;
    for (size_t i = 0; i < o->count; i++) {
        if (!choose_document(w, o, i, err) || !put_back_forward(w, o, &o->found[i], err))
            return false;
        if (o->found[i].taken)
            fresh[n++] = &o->found[i].doc;
    }
    return accept_take_in(w, fresh, n, err);
}

static void recover_take_committed(struct writer *w, struct store_op **ops, size_t count)
{
    struct take_op *o = container_of(ops[0], struct take_op, op);

    (void)count;
    for (size_t i = 0; i < o->count; i++)
        if (o->found[i].taken) {
            accept_stored(w, &o->found[i].doc);
            w->accepted++;
        }
}

static const struct store_verb take_verb = { .name = "take documents in again",
                                             .run = recover_take_run,
                                             .notes = true,
                                             .last = true,
                                             .committed = recover_take_committed };

static void count_taken(const struct recovery *k, const struct take_op *o)
{
    k->result->forwarded += o->forwarded;
    for (size_t i = 0; i < o->count; i++) {
        const struct found *f = &o->found[i];

        k->result->taken_in += f->taken;
        if (f->taken)
            say_lost(k, &(struct store_lost){
                            .id = &f->doc.id, .seg = k->seg, .pos = f->doc.place.pos });
        if (f->repeated)
            recover_left_out(k, &f->doc.id, f->doc.place.pos,
                             "a newer document has its idempotency key");
    }
}

/* Takes in some, from the last of *left back. */
static bool take_some(struct recovery *k, size_t *left, struct take_op *o, struct err *err)
{
    AUTO(arena_done) struct arena arena = ARENA_INIT(ARENA_MOST);

    o->op = (struct store_op){ 0 };
    for (o->count = 0; *left > 0 && o->count < TAKE_MOST; --*left) {
        const struct lost *e = &k->all[*left - 1];
        struct found *f = &o->found[o->count];

        if (read_lost(k, e, &arena, f, err)) {
            o->count += f->has_doc || f->origin.seg != 0;
        } else if (err->kind == ERR_PERMANENT) {
            recover_unread(k, &e->id, e->pos, err->text);
            *err = (struct err){ 0 };
        } else {
            return false;
        }
    }
    if (o->count == 0)
        return true;
    if (!writers_call(k->s->writers, &take_verb, &o->op, err))
        return err_context(err, "take in documents that the database lost");
    fault_point(RECOVER_TAKEN);
    count_taken(k, o);
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
    o = NEW(struct take_op);
    o->store = k->s;
    for (size_t left = k->count; ok && left > 0;)
        ok = take_some(k, &left, o, err);
    free(o);
    return ok;
}

/* From the newest entry back.  Commits only grow, so the first segment with an older entry is the
 * last that has lost ones. */
static bool recover_turn(struct recovery *k, bool copies, struct err *err)
{
    k->copies = copies;
    k->older = false;
    k->lowest = k->seg = INT64_MAX;
    while (!k->older) {
        if (!segment_below(k->s->payload_fd, k->seg, &k->seg, err))
            return false;
        if (k->seg == 0)
            return true;
        if (!recover_segment(k, err))
            return false;
    }
    return true;
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

void recover_text(const struct recover_result *r, char to[static RECOVER_TEXT])
{
    (void)snprintf(to, RECOVER_TEXT,
                   "%lld documents were taken in again from their payload segments, %lld entries "
                   "could not be read, %lld were left out",
                   (long long)r->taken_in, (long long)r->unread, (long long)r->left_out);
}

static bool recover_end(struct store *s, const struct recover_result *r, struct err *err)
{
    char what[RECOVER_TEXT], text[RECOVER_TEXT + 2];
    struct end_op o = { 0 };

    recover_text(r, what);
    (void)snprintf(text, sizeof text, "; %s", what);
    o.told = str_of(text);
    return writers_call(s->writers, &recover_end_verb, &o.op, err);
}

bool recover_waits(struct store *s, bool *ret, struct err *err)
{
    int64_t from;

    if (!store_one_int(s, SQL_MARK_GET, DB_ARGS(db_text(STR("lost_from"))), 0, &from, err))
        return false;
    *ret = from != 0;
    return true;
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
    bool ok = accept_keep_tables(s, KEYS_US, err) && recover_turn(&k, false, err) &&
              (!k.has_copies || recover_turn(&k, true, err));

    free(k.all);
    ok = ok && recover_end(s, ret, err);
    atomic_store(&s->recovering, false);
    return ok;
}
