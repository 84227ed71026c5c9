#include "store/road/settle_bytes.h"

#include "base/arena.h"
#include "base/auto.h"
#include "base/require.h"
#include "store/db/rows.h"
#include "store/kernel/store_state.h"
#include "store/payload/payload_days.h"
#include "store/road/settle_batch.h"

/* The bytes to be stored for a new delivery; NULL: none, or stored already. */
static struct settle_bytes *new_bytes(const struct settle_delivery *p)
{
    bool is_new =
        p->num == 0 && p->bytes != NULL && (p->bytes->bytes.ptr != NULL || p->bytes->uploaded);

    return is_new ? p->bytes : NULL;
}

/* The same for a member of a batch. */
static struct settle_bytes *join_bytes(const struct settle_op *o)
{
    struct settle_bytes *b = o->end == SETTLE_JOIN ? o->join->bytes : NULL;

    return b != NULL && (b->bytes.ptr != NULL || b->uploaded) ? b : NULL;
}

/* The same for a stage that is kept. */
static struct settle_bytes *stage_bytes(struct settle_bytes *b)
{
    return b->bytes.ptr != NULL || b->uploaded ? b : NULL;
}

static size_t bytes_most(const struct settle_op *o)
{
    return o->part_count + o->stage_count + 1;
}

/* Those of deliveries, those of stages, that of a member. */
static struct settle_bytes *nth_bytes(const struct settle_op *o, size_t i)
{
    if (i < o->part_count)
        return new_bytes(&o->parts[i]);
    i -= o->part_count;
    return i < o->stage_count ? stage_bytes(o->stages[i]) : join_bytes(o);
}

static bool place_one(struct writer *w, struct settle_bytes *b, const struct id *id, int64_t doc,
                      struct err *err)
{
    struct payload_source *to = &b->stored;

    to->id = *id;
    to->size = b->size;
    to->sha256 = b->sha256;
    b->is_placed = true;
    if (b->bytes.ptr == NULL) {
        to->num = doc;
        return to->place.seg == PAYLOAD_IN_FILE
                   ? db_send(w->db, SQL_LARGE_ADD, DB_ARGS(db_int(to->place.pos), db_int(doc)), err)
                   : db_send(w->db, SQL_UPLOAD_ADOPT, DB_ARGS(db_int(to->place.pos)), err);
    }
    if (w->segments != NULL) {
        to->num = doc;
        return segments_add(
            w->segments,
            &(struct segment_payload){ .id = *id, .sha256 = b->sha256, .bytes = b->bytes },
            &to->place, err);
    }
    to->place = (struct payload_ref){ .seg = PAYLOAD_IN_TABLE, .pos = payload_day(w->store) };
    if (!writer_number(w, &to->num, err))
        return false;
    struct db_value row[] = { db_int(to->num), db_bytes(b->bytes) };

    return db_batch(w->db, SQL_PAYLOAD_ADD, to->place.pos, row, 2, 1, err);
}

struct ids {
    struct settle_op **ops;
    struct id *ids;
};

static bool found_id(void *arg, int64_t slot, size_t at, struct db_rows *row, struct err *err)
{
    struct ids *l = arg;

    (void)slot;
    (void)err;
    l->ids[at] = row_id(row, SETTLE_IDS_ID);
    return true;
}

static void write_line(struct settle_bytes *b, struct buf *to)
{
    struct timeline_line line = *b->line;

    line.has_bytes = true;
    line.seg = b->stored.place.seg;
    line.pos = b->stored.place.pos;
    line.num = b->stored.num;
    line.size = b->size;
    line.sha256 = b->sha256;
    timeline_add(to, &line);
}

static bool place_bytes_of(struct writer *w, struct settle_op *o, const struct id *id,
                           struct str *ret_lines, struct err *err)
{
    AUTO(buf_done) struct buf lines = BUF_INIT(SETTLE_DELIVERIES_MOST * 4096);

    for (size_t i = 0; i < bytes_most(o); i++) {
        struct settle_bytes *b = nth_bytes(o, i);

        if (b == NULL || b->is_placed)
            continue;
        if (!place_one(w, b, id, o->doc, err))
            return false;
        if (b->line != NULL)
            write_line(b, &lines);
    }
    *ret_lines = arena_copy(w->arena, buf_view(&lines));
    return true;
}

bool settle_place_bytes(struct writer *w, struct settle_op **ops, size_t count, struct str *lines,
                        struct err *err)
{
    struct ids l = { .ops = ARENA_ARRAY(w->arena, struct settle_op *, count),
                     .ids = ARENA_ARRAY(w->arena, struct id, count) };
    struct db_value *nums = ARENA_ARRAY(w->arena, struct db_value, count);
    size_t *at = ARENA_ARRAY(w->arena, size_t, count), n = 0;

    for (size_t i = 0; i < count; i++) {
        bool has = false;

        lines[i] = STR("");
        for (size_t k = 0; k < bytes_most(ops[i]); k++) {
            struct settle_bytes *b = nth_bytes(ops[i], k);

            has |= b != NULL;
            if (b != NULL)
                b->is_placed = false;
        }
        if (!has)
            continue;
        at[n] = i;
        nums[n] = db_int(ops[i]->doc);
        l.ops[n++] = ops[i];
    }
    if (!db_find(w->db, SQL_SETTLE_IDS, DB_NO_SLOT, 1, nums, 1, n, found_id, &l, err))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!place_bytes_of(w, l.ops[i], &l.ids[i], &lines[at[i]], err))
            return false;
    return true;
}

/* ---- answers ---- */

static bool place_answers_of(struct writer *w, struct settle_op *o, struct err *err)
{
    AUTO(buf_done) struct buf all = BUF_INIT(o->timeline.len + SETTLE_DELIVERIES_MOST * 4096);
    bool any = false;

    for (size_t i = 0; i < o->part_count; i++) {
        struct settle_bytes *b = o->parts[i].answer;

        if (b == NULL)
            continue;
        if (!any)
            buf_put(&all, o->timeline);
        any = true;
        if (!place_one(w, b, &b->stored.id, o->doc, err))
            return false;
        write_line(b, &all);
    }
    if (any)
        o->told = arena_copy(w->arena, buf_view(&all));
    return true;
}

bool settle_place_answers(struct writer *w, struct settle_op **ops, size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++)
        if (!place_answers_of(w, ops[i], err))
            return false;
    return true;
}
