/* message.c - what is in a question and in its answer (message.h): a function for each struct. */
#include "table/away/message.h"

#include "table/away/away.h"
#include "table/batch.h"

enum {
    KEYS_MOST = 100000, /* of one question or answer */
    STATEMENTS_MOST = 1000
};

/* ---- the head ---- */

static void message_capture(struct wire *w, struct capture *c)
{
    WIRE_ENUM(w, &c->kind, CAPTURE_COLUMN + 1);
    wire_bool(w, &c->append);
    wire_text(w, &c->column);
    wire_int(w, &c->safety_us);
}

static void message_column(struct wire *w, struct message_column *c)
{
    wire_text(w, &c->name);
    WIRE_ENUM(w, &c->travels, CELL_TYPES);
    wire_int(w, &c->digits);
    wire_bool(w, &c->padded);
}

void message_head(struct wire *w, struct message *m)
{
    WIRE_ENUM(w, &m->what, SIDE_WHATS);
    wire_text(w, &m->database);
    wire_text(w, &m->at);
    wire_text(w, &m->link);
    wire_text(w, &m->table);
    wire_bool(w, &m->is_source);
    message_capture(w, &m->capture);
    wire_size(w, &m->key_count, SHAPE_KEY_MOST);
    wire_size(w, &m->answer_most, SIZE_MAX);
    WIRE_LIST(w, &m->columns, &m->column_count, SHAPE_COLUMNS_MOST);
    for (size_t i = 0; i < m->column_count; i++)
        message_column(w, &m->columns[i]);
}

/* ---- what both have ---- */

static void message_place(struct wire *w, struct change_place *p)
{
    wire_int(w, &p->x);
    wire_text(w, &p->key);
}

static void message_mark(struct wire *w, struct mark *m)
{
    wire_text(w, &m->epoch);
    wire_text(w, &m->life);
    WIRE_ENUM(w, &m->phase, MARK_FOLLOW + 1);
    message_place(w, &m->place);
    wire_text(w, &m->load_key);
    wire_int(w, &m->fence);
    wire_int(w, &m->batches);
    wire_int(w, &m->rows);
    wire_int(w, &m->at_us);
}

static void message_ceiling(struct wire *w, struct ceiling *c)
{
    wire_int(w, &c->below);
    wire_int(w, &c->now_x);
    wire_chars(w, c->held_by, sizeof c->held_by);
    wire_int(w, &c->held_us);
}

static void message_bad_rows(struct wire *w, struct side_bad_row **bad, size_t *count)
{
    WIRE_LIST(w, bad, count, SIDE_BAD_MOST);
    for (size_t i = 0; i < *count; i++) {
        wire_text(w, &(*bad)[i].key);
        wire_text(w, &(*bad)[i].row);
        wire_int(w, &(*bad)[i].x);
        wire_chars(w, (*bad)[i].why, sizeof(*bad)[i].why);
    }
}

/* The bytes go to the buffer of whoever asks, with its cap. */
static void message_batch(struct wire *w, struct buf *batch)
{
    struct str bytes = buf_view(batch);
    struct err err;

    wire_text(w, &bytes);
    if (w->to == NULL && !buf_append(batch, bytes, &err))
        w->bad = true;
}

static void message_keys(struct wire *w, struct side_keys *k)
{
    struct str *keys = (struct str *)(uintptr_t)k->keys;

    WIRE_LIST(w, &keys, &k->count, KEYS_MOST);
    for (size_t i = 0; i < k->count; i++)
        wire_text(w, &keys[i]);
    k->keys = keys;
}

static void message_range(struct wire *w, struct side_range *r)
{
    wire_text(w, &r->after);
    wire_text(w, &r->upto);
    wire_size(w, &r->rows_most, SIZE_MAX);
}

static void message_sum(struct wire *w, struct row_sum *s)
{
    uint8_t bytes[ROW_SUM_BYTES];

    row_sum_put(s, bytes);
    wire_bytes(w, bytes, sizeof bytes);
    row_sum_take(s, bytes);
}

static void message_leaves(struct wire *w, struct side_leaf **leaves, size_t *count)
{
    WIRE_LIST(w, leaves, count, SIDE_LEAVES_MOST);
    for (size_t i = 0; i < *count; i++) {
        wire_text(w, &(*leaves)[i].upto);
        message_sum(w, &(*leaves)[i].sum);
    }
}

/* ---- questions ---- */

static void message_back(struct wire *w, struct side_back *b)
{
    wire_text(w, &b->link);
    wire_text(w, &b->table);
    wire_text(w, &b->origin);
}

static void message_window(struct wire *w, struct side_window *v)
{
    message_place(w, &v->after);
    wire_size(w, &v->bytes_most, AWAY_ROW_MOST);
    wire_size(w, &v->rows_most, BATCH_ROWS);
    wire_int(w, &v->written_x);
    wire_size(w, &v->group_most, AWAY_ROW_MOST);
    message_back(w, &v->back);
}

static void message_piece(struct wire *w, struct side_piece *p)
{
    wire_text(w, &p->after);
    wire_size(w, &p->bytes_most, AWAY_ROW_MOST);
    wire_size(w, &p->rows_most, BATCH_ROWS);
    message_back(w, &p->back);
}

static void message_decided(struct wire *w, struct side_decided *d)
{
    wire_text(w, &d->key);
    wire_int(w, &d->x);
    wire_bool(w, &d->gone);
}

static void message_rule(struct wire *w, struct side_rule *r)
{
    struct side_decided *decided = (struct side_decided *)(uintptr_t)r->decided;

    WIRE_ENUM(w, &r->winner, SIDE_ORDER_WINS + 1);
    wire_text(w, &r->version);
    wire_text(w, &r->source);
    wire_text(w, &r->dest);
    WIRE_ENUM(w, &r->doubt, SIDE_ANY + 1);
    wire_bool(w, &r->has_seen);
    if (r->has_seen)
        message_mark(w, &r->seen);
    WIRE_LIST(w, &decided, &r->decided_count, KEYS_MOST);
    for (size_t i = 0; i < r->decided_count; i++)
        message_decided(w, &decided[i]);
    r->decided = decided;
}

/* Of a link that goes one way there is none. */
static void message_rules(struct wire *w, const struct side_rule **rule)
{
    struct side_rule copy = { 0 };
    bool has = w->to != NULL && *rule != NULL;

    wire_bool(w, &has);
    if (w->to != NULL && has)
        copy = **rule;
    if (has)
        message_rule(w, &copy);
    if (w->to != NULL)
        return;
    struct side_rule *taken = has ? ARENA_NEW(w->a, struct side_rule) : NULL;

    if (taken != NULL)
        *taken = copy;
    *rule = taken;
}

static void message_side_batch(struct wire *w, struct side_batch *b)
{
    struct side_keys leave = { b->leave_out, b->leave_count };

    wire_text(w, &b->batch);
    message_mark(w, &b->from);
    message_mark(w, &b->to);
    wire_bool(w, &b->first);
    wire_text(w, &b->origin);
    wire_bool(w, &b->deletes_limited);
    wire_int(w, &b->deletes_most);
    wire_int(w, &b->deletes_share);
    wire_int(w, &b->deletes_before);
    message_rules(w, &b->rule);
    message_keys(w, &leave);
    b->leave_out = leave.keys;
    b->leave_count = leave.count;
}

static void message_cut(struct wire *w, struct side_cut *c)
{
    struct side_leaf *ends = (struct side_leaf *)(uintptr_t)c->ends;

    message_range(w, &c->range);
    wire_size(w, &c->rows, SIZE_MAX);
    message_leaves(w, &ends, &c->end_count);
    c->ends = ends;
}

static void message_hashing(struct wire *w, struct side_hashing *h)
{
    message_range(w, &h->range);
    wire_size(w, &h->most, KEYS_MOST);
}

static void message_backlog(struct wire *w, struct side_backlog *b)
{
    message_place(w, &b->after);
    wire_int(w, &b->most);
}

static void message_running(struct wire *w, struct side_running *r)
{
    struct sha256 *seen = (struct sha256 *)(uintptr_t)r->seen;

    WIRE_ENUM(w, &r->what, SIDE_PLANNINGS);
    WIRE_LIST(w, &seen, &r->count, STATEMENTS_MOST);
    for (size_t i = 0; i < r->count; i++)
        wire_digest(w, &seen[i]);
    r->seen = seen;
}

static void message_keeping(struct wire *w, struct side_keeping *k)
{
    struct side_lost *rows = (struct side_lost *)(uintptr_t)k->rows;
    struct sha256 *gone = (struct sha256 *)(uintptr_t)k->gone;

    WIRE_LIST(w, &rows, &k->count, SIDE_BAD_MOST);
    for (size_t i = 0; i < k->count; i++) {
        wire_text(w, &rows[i].key);
        wire_text(w, &rows[i].row);
        wire_text(w, &rows[i].why);
        wire_int(w, &rows[i].x);
        wire_bool(w, &rows[i].waits);
        wire_bool(w, &rows[i].discarded);
    }
    WIRE_LIST(w, &gone, &k->gone_count, SIDE_BAD_MOST);
    for (size_t i = 0; i < k->gone_count; i++)
        wire_digest(w, &gone[i]);
    k->rows = rows;
    k->gone = gone;
}

static void message_pairing(struct wire *w, struct side_pairing *p)
{
    wire_text(w, &p->link);
    wire_text(w, &p->table);
    wire_text(w, &p->rule);
}

/* A copy is written, because what puts could take, too. */
#define QUESTION(type, of)                          \
    do {                                            \
        type *q_ = *question;                       \
        type copy_ = { 0 };                         \
                                                    \
        if (w->to != NULL)                          \
            copy_ = *q_;                            \
        else                                        \
            *question = q_ = ARENA_NEW(w->a, type); \
        of(w, &copy_);                              \
        if (w->to == NULL)                          \
            *q_ = copy_;                            \
    } while (0)

static void message_planning(struct wire *w, enum side_planning *p)
{
    WIRE_ENUM(w, p, SIDE_PLANNINGS);
}

void message_question(struct wire *w, enum side_what what, void **question)
{
    switch (what) {
    case SIDE_DESCRIBE:
    case SIDE_LOOK:
    case SIDE_CEILING:
    case SIDE_COUNT:
    case SIDE_MARK:
    case SIDE_WHATS:
        break;
    case SIDE_CHANGES_OF:
    case SIDE_HASHES_OF:
    case SIDE_FETCH:
        QUESTION(struct side_keys, message_keys);
        break;
    case SIDE_BACKLOG:
        QUESTION(struct side_backlog, message_backlog);
        break;
    case SIDE_CHANGES:
        QUESTION(struct side_window, message_window);
        break;
    case SIDE_ROWS:
        QUESTION(struct side_piece, message_piece);
        break;
    case SIDE_APPLY:
        QUESTION(struct side_batch, message_side_batch);
        break;
    case SIDE_SUM:
        QUESTION(struct side_range, message_range);
        break;
    case SIDE_LEAVES:
        QUESTION(struct side_cut, message_cut);
        break;
    case SIDE_HASHES:
        QUESTION(struct side_hashing, message_hashing);
        break;
    case SIDE_PLAN:
        QUESTION(enum side_planning, message_planning);
        break;
    case SIDE_RUN:
        QUESTION(struct side_running, message_running);
        break;
    case SIDE_KEEP:
        QUESTION(struct side_keeping, message_keeping);
        break;
    case SIDE_PAIR:
        QUESTION(struct side_pairing, message_pairing);
        break;
    }
}

/* ---- answers ---- */

static void message_shape_column(struct wire *w, struct shape_column *c)
{
    int64_t key_place = c->key_place, scale = c->scale;

    wire_text(w, &c->name);
    wire_text(w, &c->native);
    WIRE_ENUM(w, &c->natural, CELL_TYPES);
    wire_bool(w, &c->nullable);
    wire_bool(w, &c->generated);
    wire_bool(w, &c->has_default);
    wire_bool(w, &c->bytewise);
    wire_bool(w, &c->padded);
    wire_bool(w, &c->has_scale);
    wire_bool(w, &c->single);
    wire_int(w, &key_place);
    wire_int(w, &scale);
    c->key_place = key_place < 0 || key_place > SHAPE_KEY_MOST ? 0 : (int)key_place;
    c->scale = scale < INT16_MIN || scale > INT16_MAX ? 0 : (int)scale;
}

static void message_shape(struct wire *w, struct shape *s)
{
    wire_text(w, &s->schema);
    wire_text(w, &s->name);
    wire_size(w, &s->key_count, SHAPE_KEY_MOST);
    WIRE_LIST(w, &s->columns, &s->count, SHAPE_COLUMNS_MOST);
    for (size_t i = 0; i < s->count; i++)
        message_shape_column(w, &s->columns[i]);
    if (w->to == NULL)
        s->quoted = STR("");
}

static void message_described(struct wire *w, struct shape **s)
{
    if (w->to == NULL)
        *s = ARENA_NEW(w->a, struct shape);
    message_shape(w, *s);
}

static void message_look(struct wire *w, struct capture_look *l)
{
    WIRE_ENUM(w, &l->state, CAPTURE_IS_OTHER + 1);
    wire_chars(w, l->why, sizeof l->why);
    wire_text(w, &l->epoch);
    wire_text(w, &l->life);
    wire_text(w, &l->identity);
    wire_int(w, &l->pruned);
    wire_int(w, &l->now_us);
    wire_bool(w, &l->groups);
}

static void message_changes_of(struct wire *w, struct side_change_list *l)
{
    WIRE_LIST(w, &l->items, &l->count, KEYS_MOST);
    for (size_t i = 0; i < l->count; i++) {
        wire_bool(w, &l->items[i].has);
        wire_int(w, &l->items[i].x);
        wire_int(w, &l->items[i].at_us);
        wire_text(w, &l->items[i].origin);
    }
}

static void message_seen(struct wire *w, bool *has, struct mark *seen)
{
    wire_bool(w, has);
    if (*has)
        message_mark(w, seen);
}

static void message_changes(struct wire *w, struct side_changes *c)
{
    message_batch(w, &c->batch);
    message_place(w, &c->upto);
    message_place(w, &c->last);
    wire_int(w, &c->rows);
    wire_int(w, &c->gone);
    wire_int(w, &c->left_out);
    message_seen(w, &c->has_seen, &c->seen);
    wire_bool(w, &c->more);
    wire_bool(w, &c->too_large);
    wire_int(w, &c->newest_us);
    wire_int(w, &c->pruned);
    wire_int(w, &c->below);
    message_ceiling(w, &c->ceiling);
    message_bad_rows(w, &c->bad, &c->bad_count);
}

static void message_rows(struct wire *w, struct side_rows *r)
{
    message_batch(w, &r->batch);
    wire_text(w, &r->upto);
    wire_int(w, &r->rows);
    message_seen(w, &r->has_seen, &r->seen);
    wire_bool(w, &r->end);
    message_bad_rows(w, &r->bad, &r->bad_count);
}

static void message_mark_answer(struct wire *w, struct side_mark_answer *m)
{
    wire_bool(w, &m->has);
    if (m->has)
        message_mark(w, &m->mark);
}

static void message_conflicts(struct wire *w, struct side_conflict **list, size_t *count)
{
    WIRE_LIST(w, list, count, BATCH_ROWS);
    for (size_t i = 0; i < *count; i++) {
        struct side_conflict *c = &(*list)[i];

        message_decided(w, &c->of);
        wire_bool(w, &c->source_wins);
        wire_bool(w, &c->came_gone);
        wire_bool(w, &c->there_gone);
        wire_text(w, &c->came);
        wire_text(w, &c->there);
    }
}

static void message_applied(struct wire *w, struct side_applied *r)
{
    WIRE_ENUM(w, &r->outcome, SIDE_BUSY + 1);
    wire_bool(w, &r->has_mark);
    if (r->has_mark)
        message_mark(w, &r->mark);
    wire_int(w, &r->written);
    wire_int(w, &r->removed);
    wire_int(w, &r->deletes);
    wire_int(w, &r->rows);
    message_bad_rows(w, &r->bad, &r->bad_count);
    message_conflicts(w, &r->conflicts, &r->conflict_count);
}

static void message_side_sum(struct wire *w, struct side_sum *s)
{
    message_sum(w, &s->sum);
    wire_text(w, &s->upto);
    wire_int(w, &s->below);
}

static void message_hashes(struct wire *w, struct side_hash_list *l)
{
    WIRE_LIST(w, &l->items, &l->count, KEYS_MOST);
    for (size_t i = 0; i < l->count; i++) {
        wire_text(w, &l->items[i].key);
        wire_bytes(w, l->items[i].hash, SIDE_HASH);
    }
}

static void message_ddl(struct wire *w, struct ddl *d)
{
    WIRE_LIST(w, &d->statements, &d->count, STATEMENTS_MOST);
    for (size_t i = 0; i < d->count; i++) {
        struct ddl_statement *s = &d->statements[i];
        struct str purpose = w->to != NULL ? str_of(s->purpose) : STR("");

        wire_text(w, &s->text);
        wire_text(w, &purpose);
        if (w->to == NULL)
            s->purpose = arena_text(w->a, purpose);
    }
}

void message_answer(struct wire *w, enum side_what what, void *answer)
{
    switch (what) {
    case SIDE_DESCRIBE:
        message_described(w, answer);
        break;
    case SIDE_LOOK:
        message_look(w, answer);
        break;
    case SIDE_CEILING:
        message_ceiling(w, answer);
        break;
    case SIDE_CHANGES_OF:
        message_changes_of(w, answer);
        break;
    case SIDE_BACKLOG:
    case SIDE_COUNT:
        wire_int(w, answer);
        break;
    case SIDE_CHANGES:
        message_changes(w, answer);
        break;
    case SIDE_ROWS:
        message_rows(w, answer);
        break;
    case SIDE_MARK:
        message_mark_answer(w, answer);
        break;
    case SIDE_APPLY:
        message_applied(w, answer);
        break;
    case SIDE_SUM:
        message_side_sum(w, answer);
        break;
    case SIDE_LEAVES: {
        struct side_leaf_list *l = answer;

        message_leaves(w, &l->items, &l->count);
        break;
    }
    case SIDE_HASHES:
    case SIDE_HASHES_OF:
        message_hashes(w, answer);
        break;
    case SIDE_FETCH:
        message_batch(w, answer);
        break;
    case SIDE_PLAN:
        message_ddl(w, answer);
        break;
    case SIDE_PAIR: {
        struct side_paired *p = answer;

        wire_chars(w, p->why, sizeof p->why);
        break;
    }
    case SIDE_RUN:
    case SIDE_KEEP:
    case SIDE_WHATS:
        break;
    }
}
