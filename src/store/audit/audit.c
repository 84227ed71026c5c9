#include "store/audit/audit.h"

#include <stdio.h>

#include "base/auto.h"
#include "base/buf.h"
#include "base/container_of.h"
#include "base/json.h"
#include "base/require.h"
#include "store/kernel/reader.h"
#include "store/kernel/store_state.h"

enum { COLUMNS = 12, SLICE = 500, SLICE_ARENA = 32 << 20, TRIM = 2000, VERIFY_TRIES = 5 };

#define TRIMMED "auditTrim"

struct audit_scope {
    const struct audit_entry *entry;
    bool noted; /* a line of it was committed */
};

static _Thread_local struct audit_scope current;

/* ---- who acts ---- */

void audit_begin(const struct audit_entry *e)
{
    current = (struct audit_scope){ .entry = e };
}

void audit_end(void)
{
    current = (struct audit_scope){ 0 };
}

struct audit_scope *audit_scope(void)
{
    return current.entry != NULL ? &current : NULL;
}

void audit_carried(const struct store_op *op)
{
    if (op->audit != NULL && op->audited)
        op->audit->noted = true;
}

/* ---- lines of a group ---- */

struct row {
    struct row *next;
    struct audit_entry entry;
};

/* In the group's arena. */
struct audit_rows {
    struct row *first, **end;
    size_t count;
};

/* A copy of the text that is one line of valid UTF-8, cut to `most` bytes. */
static struct str audit_clean(struct arena *a, struct str text, size_t most)
{
    struct str cut = str_first(text, most);
    bool utf8 = str_is_utf8(cut);
    char *copy = arena_text(a, cut);

    for (size_t i = 0; i < cut.len; i++) {
        unsigned char c = (unsigned char)copy[i];

        if (c < 0x20 || c == 0x7f)
            copy[i] = ' ';
        else if (c >= 0x80 && !utf8)
            copy[i] = '?';
    }
    return str_mem(copy, cut.len);
}

static struct audit_entry clean_entry(struct arena *a, const struct audit_entry *e)
{
    return (struct audit_entry){ .actor = audit_clean(a, e->actor, AUDIT_NAME_MOST),
                                 .kind = audit_clean(a, e->kind, AUDIT_NAME_MOST),
                                 .address = audit_clean(a, e->address, AUDIT_NAME_MOST),
                                 .action = audit_clean(a, e->action, AUDIT_NAME_MOST),
                                 .object = audit_clean(a, e->object, AUDIT_NAME_MOST),
                                 .was = audit_clean(a, e->was, AUDIT_TEXT_MOST),
                                 .became = audit_clean(a, e->became, AUDIT_TEXT_MOST),
                                 .reason = audit_clean(a, e->reason, AUDIT_TEXT_MOST) };
}

static void audit_add_row(struct writer *w, struct store_op *op, const struct audit_entry *e)
{
    struct row *r = ARENA_NEW(w->arena, struct row);

    if (w->audit == NULL) {
        w->audit = ARENA_NEW(w->arena, struct audit_rows);
        w->audit->end = &w->audit->first;
    }
    r->entry = clean_entry(w->arena, e);
    *w->audit->end = r;
    w->audit->end = &r->next;
    w->audit->count++;
    op->audited = true;
}

void audit_note(struct writer *w, struct store_op *op, struct str object, struct str was,
                struct str became)
{
    if (op->audit == NULL)
        return;
    struct audit_entry e = *op->audit->entry;

    if (object.len > 0)
        e.object = object;
    if (was.len > 0)
        e.was = was;
    if (became.len > 0)
        e.became = became;
    audit_add_row(w, op, &e);
}

void audit_note_result(struct writer *w, struct store_op *op, struct str object, struct str was,
                       struct str result)
{
    if (op->audit == NULL)
        return;
    AUTO(buf_done) struct buf became = BUF_INIT(64 << 10);
    struct str asked = op->audit->entry->became;
    struct json_out j = { .to = &became };

    json_open(&j, '{');
    json_key(&j, "result");
    json_str(&j, str_first(result, AUDIT_TEXT_MOST));
    if (asked.len > 0 && asked.len <= AUDIT_TEXT_MOST) {
        json_key(&j, "asked");
        json_raw(&j, asked);
    }
    json_close(&j, '}');
    audit_note(w, op, object, was, buf_view(&became));
}

void audit_note_begun(struct writer *w, struct store_op *op)
{
    if (op->audit != NULL && !op->audit->noted)
        audit_add_row(w, op, op->audit->entry);
}

/* ---- the chain ---- */

static const size_t texts[] = {
    offsetof(struct audit_entry, actor),   offsetof(struct audit_entry, kind),
    offsetof(struct audit_entry, address), offsetof(struct audit_entry, action),
    offsetof(struct audit_entry, object),  offsetof(struct audit_entry, was),
    offsetof(struct audit_entry, became),  offsetof(struct audit_entry, reason),
};

enum { TEXTS = sizeof texts / sizeof texts[0] };

static struct str *text_at(struct audit_entry *e, size_t i)
{
    return (struct str *)((char *)e + texts[i]);
}

/* Hashes "waybill audit 1", number and time, each text with its length before it, so that no two
 * lines have the same input, and the hash of the line before. */
static struct sha256 audit_hash_of(struct audit_line *l)
{
    struct digest d = digest_start();
    char head[100];
    int n = snprintf(head, sizeof head, "waybill audit 1 %lld %lld", (long long)l->seq,
                     (long long)l->time_us);

    digest_add(&d, str_mem(head, (size_t)n));
    for (size_t i = 0; i < TEXTS; i++) {
        struct str text = *text_at(&l->entry, i);

        n = snprintf(head, sizeof head, " %zu:", text.len);
        digest_add(&d, str_mem(head, (size_t)n));
        digest_add(&d, text);
    }
    digest_add(&d, str_mem(l->prev.bytes, SHA256_SIZE));
    return digest_end(&d);
}

static struct sha256 read_hash(struct str bytes)
{
    struct sha256 h = { 0 };

    if (bytes.len == SHA256_SIZE)
        memcpy(h.bytes, bytes.ptr, SHA256_SIZE);
    return h;
}

/* Reads the hash of line `seq` and the time.  A missing line (there is none yet, or it was removed)
 * has a hash of zeros: the log continues, and audit_verify() reports the gap. */
static bool audit_read_before(struct writer *w, int64_t seq, struct audit_line *ret,
                              struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    bool row = false;

    if (!db_query(w->db, SQL_AUDIT_BEFORE, DB_ARGS(db_int(seq)), &rows, err) ||
        !db_next(&rows, &row, err))
        return false;
    require(row);
    *ret = (struct audit_line){ .seq = seq, .time_us = db_get_int(&rows, AUDIT_BEFORE_NOW_US) };
    if (!db_is_null(&rows, AUDIT_BEFORE_HASH))
        ret->hash = read_hash(db_get_str(&rows, AUDIT_BEFORE_HASH));
    return true;
}

static void audit_put_line(struct db_value *to, const struct audit_line *l)
{
    const struct audit_entry *e = &l->entry;

    to[0] = db_int(l->seq);
    to[1] = db_int(l->time_us);
    for (size_t i = 0; i < TEXTS; i++)
        to[2 + i] = db_text(*(const struct str *)((const char *)e + texts[i]));
    to[2 + TEXTS] = db_bytes(str_mem(l->prev.bytes, SHA256_SIZE));
    to[3 + TEXTS] = db_bytes(str_mem(l->hash.bytes, SHA256_SIZE));
}

bool audit_write(struct writer *w, struct err *err)
{
    if (w->audit == NULL)
        return true;
    size_t n = w->audit->count, i = 0;
    struct audit_line *lines = ARENA_ARRAY(w->arena, struct audit_line, n), before;
    struct db_value *values = ARENA_ARRAY(w->arena, struct db_value, n * COLUMNS);
    int64_t last;

    _Static_assert(COLUMNS == TEXTS + 4, "a line is its columns");
    if (!db_one_int(w->db, SQL_AUDIT_TAKE, DB_ARGS(db_int(n)), 0, &last, err) ||
        !audit_read_before(w, last - (int64_t)n, &before, err))
        return false;
    for (struct row *r = w->audit->first; r != NULL; r = r->next, i++) {
        const struct audit_line *prev = i == 0 ? &before : &lines[i - 1];

        lines[i] = (struct audit_line){
            .seq = prev->seq + 1, .time_us = before.time_us, .entry = r->entry, .prev = prev->hash
        };
        lines[i].hash = audit_hash_of(&lines[i]);
        audit_put_line(values + i * COLUMNS, &lines[i]);
    }
    return db_batch(w->db, SQL_AUDIT_ADD, DB_NO_SLOT, values, COLUMNS, n, err);
}

struct append_op {
    struct store_op op;
    const struct audit_entry *entries;
    size_t count;
};

static bool append_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct append_op *o = (struct append_op *)ops[0];

    (void)err;
    require(count == 1);
    for (size_t i = 0; i < o->count; i++)
        audit_add_row(w, &o->op, &o->entries[i]);
    return true;
}

static const struct store_verb append_verb = { .name = "audit", .run = append_run, .notes = true };

bool audit_append_all(struct store *s, const struct audit_entry *entries, size_t count,
                      struct err *err)
{
    struct audit_scope scope = { .entry = entries };
    struct append_op o = { .op = { .audit = &scope }, .entries = entries, .count = count };

    require(count <= AUDIT_APPEND_MOST);
    return count == 0 || writers_call(s->writers, &append_verb, &o.op, err);
}

bool audit_append(struct store *s, const struct audit_entry *e, struct err *err)
{
    return audit_append_all(s, e, 1, err);
}

/* ---- trimming ---- */

struct trim_op {
    struct store_op op;
    int64_t before_us, slack_us, gone; /* gone: lines deleted */
};

static void head_text(const struct audit_line *l, char *to, size_t room)
{
    char hash[SHA256_TEXT];

    (void)snprintf(to, room, "%lld:%s", (long long)l->seq, digest_text(&l->hash, hash));
}

/* *io_last: the last line that may be deleted; unchanged: none may.  Only the oldest line must be
 * older by the slack: otherwise each call could delete a single line, and add one about it. */
static bool find_last(struct writer *w, const struct trim_op *o, struct audit_line *io_last,
                      struct err *err)
{
    AUTO(db_rows_done) struct db_rows rows = { 0 };
    struct audit_line l = { 0 };
    bool row, some = false;

    if (!db_query(w->db, SQL_AUDIT_OLDEST, DB_ARGS(db_int(io_last->seq), db_int(TRIM)), &rows, err))
        return false;
    for (;; some = true) {
        if (!db_next(&rows, &row, err))
            return false;
        if (!row)
            return true; /* the newest stays */
        if (some)
            *io_last = l; /* a newer line follows it */
        l = (struct audit_line){ .seq = db_get_int(&rows, AUDIT_OLDEST_SEQ),
                                 .time_us = db_get_int(&rows, AUDIT_OLDEST_TIME_US),
                                 .hash = read_hash(db_get_str(&rows, AUDIT_OLDEST_HASH)) };
        if (l.time_us >= o->before_us - (some ? 0 : o->slack_us))
            return true;
    }
}

static bool trim_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct trim_op *o = container_of(ops[0], struct trim_op, op);
    struct audit_line last = { 0 };
    char was[60], became[40 + SHA256_TEXT];
    int64_t before;

    require(count == 1);
    o->gone = 0;
    if (!db_one_int(w->db, SQL_MARK_TAKE, DB_ARGS(db_text(STR("audit_gone")), db_int(0)), 0,
                    &before, err))
        return false;
    last.seq = before;
    if (!find_last(w, o, &last, err) || last.seq == before)
        return err->kind == ERR_NONE;
    (void)snprintf(was, sizeof was, "lines %lld to %lld", (long long)before + 1,
                   (long long)last.seq);
    head_text(&last, became, sizeof became);
    audit_add_row(w, &o->op,
                  &(struct audit_entry){ .actor = STR("retention"),
                                         .kind = STR("node"),
                                         .action = STR(TRIMMED),
                                         .was = str_of(was),
                                         .became = str_of(became) });
    o->gone = last.seq - before;
    return db_run(w->db, SQL_AUDIT_DROP, DB_ARGS(db_int(last.seq)), NULL, err) &&
           db_one_int(w->db, SQL_MARK_TAKE, DB_ARGS(db_text(STR("audit_gone")), db_int(o->gone)), 0,
                      &before, err);
}

static const struct store_verb trim_verb = { .name = "trim the audit log",
                                             .run = trim_run,
                                             .notes = true };

bool audit_trim(struct store *s, int64_t before_us, int64_t slack_us, int64_t *ret_gone,
                struct err *err)
{
    struct trim_op o = { .before_us = before_us, .slack_us = slack_us };

    if (!writers_call(s->writers, &trim_verb, &o.op, err))
        return false;
    *ret_gone = o.gone;
    return true;
}

/* ---- reading ---- */

static void audit_read_line(struct db_rows *row, struct arena *a, void *to)
{
    struct audit_line *l = to;

    _Static_assert(LINE_ACTOR + TEXTS == LINE_PREV, "the texts stand together, in their order");
    *l = (struct audit_line){ .seq = db_get_int(row, LINE_SEQ),
                              .time_us = db_get_int(row, LINE_TIME_US),
                              .prev = read_hash(db_get_str(row, LINE_PREV)),
                              .hash = read_hash(db_get_str(row, LINE_HASH)) };
    for (size_t i = 0; i < TEXTS; i++)
        *text_at(&l->entry, i) = row_text(row, LINE_ACTOR + (int)i, a);
}

static bool audit_read_page(struct store *s, const struct audit_filter *f, size_t first,
                            const struct audit_place *below, struct arena *a,
                            struct audit_line *ret, size_t *ret_count, struct err *err)
{
    enum sql_id id = SQL_AUDIT_PAGE;
    struct db_value v[7] = { db_int(f->since_us), db_int(below->time_us), db_int(below->seq),
                             db_int(first) };
    size_t n = 4;

    if (f->object.len > 0) {
        id = SQL_AUDIT_PAGE_OBJECT;
        v[n++] = db_text(f->actor);
        v[n++] = db_text(f->action);
        v[n++] = db_text(f->object);
    } else if (f->actor.len > 0) {
        id = SQL_AUDIT_PAGE_ACTOR;
        v[n++] = db_text(f->actor);
        v[n++] = db_text(f->action);
    } else if (f->action.len > 0) {
        id = SQL_AUDIT_PAGE_ACTION;
        v[n++] = db_text(f->action);
    }
    return store_collect(s, id, (struct db_args){ v, n }, ROWS_INTO(ret, first, a, audit_read_line),
                         ret_count, err);
}

bool audit_list(struct store *s, const struct audit_filter *f, size_t first, struct arena *a,
                struct audit_line *ret, size_t *ret_count, struct audit_place *io_place,
                struct err *err)
{
    struct audit_place below = *io_place;

    require(first > 0 && first <= AUDIT_PAGE_MOST);
    if (below.seq == 0)
        below = (struct audit_place){ .time_us = f->until_us > 0 ? f->until_us : INT64_MAX };
    bool ok = audit_read_page(s, f, first, &below, a, ret, ret_count, err);

    *io_place = (struct audit_place){ 0 };
    if (ok && *ret_count == first)
        *io_place = (struct audit_place){ ret[first - 1].time_us, ret[first - 1].seq };
    return ok;
}

/* ---- verifying ---- */

struct chain {
    struct db *db;
    struct audit_check *check;
    int64_t noted_seq;
    const struct sha256 *noted;
    bool begun;
    int64_t gone; /* the last line that was deleted ... */
    char trimmed[40 + SHA256_TEXT];
    bool told; /* ... and a line "auditTrim" confirms it */
};

static bool breaks(struct chain *c, int64_t seq, const char *how)
{
    c->check->bad = seq;
    (void)snprintf(c->check->message, sizeof c->check->message, "line %lld %s", (long long)seq,
                   how);
    return false;
}

/* False: the chain breaks here. */
static bool audit_follow(struct chain *c, struct audit_line *l)
{
    static const struct sha256 none;
    struct audit_check *k = c->check;
    struct sha256 hash = audit_hash_of(l);
    const struct sha256 *before = c->begun ? &k->hash : k->seq == 0 ? &none : &l->prev;

    if (l->seq != k->seq + 1)
        return breaks(c, k->seq + 1, "is missing");
    if (!digest_same(&hash, &l->hash))
        return breaks(c, l->seq, "was changed: its hash does not fit");
    if (!digest_same(before, &l->prev))
        return breaks(c, l->seq, "does not follow the line before it, which was changed");
    if (c->noted != NULL && l->seq == c->noted_seq && !digest_same(&hash, c->noted))
        return breaks(c, l->seq, "has another hash than was noted: the log was written anew");
    if (!c->begun)
        head_text(&(struct audit_line){ .seq = k->seq, .hash = l->prev }, c->trimmed,
                  sizeof c->trimmed);
    if (str_is(l->entry.action, TRIMMED) && str_is(l->entry.became, c->trimmed))
        c->told = true;
    c->begun = true;
    k->seq = l->seq;
    k->hash = hash;
    k->lines++;
    return true;
}

/* *ret_on: no break so far, and there may be more lines. */
static bool follow_slice(struct chain *c, bool *ret_on, struct err *err)
{
    AUTO(arena_done) struct arena a = ARENA_INIT(SLICE_ARENA);
    struct audit_line *lines = ARENA_ARRAY(&a, struct audit_line, SLICE);
    size_t n;

    if (!rows_collect(c->db, SQL_AUDIT_SLICE, DB_NO_SLOT,
                      DB_ARGS(db_int(c->check->seq), db_int(SLICE)),
                      ROWS_INTO(lines, SLICE, &a, audit_read_line), &n, err))
        return false;
    *ret_on = n == SLICE;
    for (size_t i = 0; i < n; i++)
        if (!audit_follow(c, &lines[i])) {
            *ret_on = false;
            break;
        }
    return true;
}

static bool mark_of(struct db *db, struct str name, int64_t *ret, struct err *err)
{
    return db_one_int(db, SQL_MARK_GET, DB_ARGS(db_text(name)), 0, ret, err);
}

/* Compares the end of the chain with the marks; lines up to `last` existed before it was read. */
static bool check_end(struct chain *c, int64_t last, struct err *err)
{
    struct audit_check *k = c->check;
    int64_t now;

    if (!mark_of(c->db, STR("audit"), &now, err))
        return false;
    if (k->bad != 0)
        return true;
    if (k->seq < last || (c->noted != NULL && k->seq < c->noted_seq))
        (void)breaks(c, k->seq + 1, "is missing, and what followed it");
    else if (k->seq > now)
        (void)breaks(c, k->seq, "was never counted");
    else if (c->gone > 0 && !c->told)
        (void)breaks(c, c->gone, "and those before it went, and no line says so");
    return true;
}

/* *ret_moved: lines were deleted meanwhile, so the result is not valid. */
static bool audit_audit_verify(struct chain *c, bool *ret_moved, struct err *err)
{
    int64_t last, gone;
    bool on = true;

    if (!mark_of(c->db, STR("audit_gone"), &c->gone, err) ||
        !mark_of(c->db, STR("audit"), &last, err))
        return false;
    c->check->seq = c->gone;
    while (on)
        if (!follow_slice(c, &on, err))
            return false;
    if (!check_end(c, last, err) || !mark_of(c->db, STR("audit_gone"), &gone, err))
        return false;
    *ret_moved = gone != c->gone;
    return true;
}

bool audit_verify(struct store *s, int64_t noted_seq, const struct sha256 *noted_hash,
                  struct audit_check *ret, struct err *err)
{
    AUTO(reader_back) struct reader r = reader_take(s, err);
    bool ok = r.db != NULL, moved = true;

    for (int i = 0; ok && moved && i < VERIFY_TRIES; i++) {
        struct chain c = { .db = r.db, .check = ret, .noted_seq = noted_seq, .noted = noted_hash };

        *ret = (struct audit_check){ 0 };
        ok = audit_audit_verify(&c, &moved, err);
    }
    return ok;
}
