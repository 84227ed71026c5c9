#include "store/road/settle_rows.h"

#include "base/arena.h"
#include "store/kernel/store_state.h"

struct rows rows_of(struct writer *w, enum sql_id id, size_t columns, size_t most)
{
    return (struct rows){ .id = id,
                          .values = ARENA_ARRAY(w->arena, struct db_value, columns * most),
                          .columns = columns };
}

struct db_value *row_of(struct rows *r)
{
    return r->values + r->columns * r->count++;
}

bool write_rows(struct writer *w, const struct rows *r, struct err *err)
{
    return db_batch(w->db, r->id, DB_NO_SLOT, r->values, r->columns, r->count, err);
}

bool tally(struct group *g, int64_t kind, int64_t word, struct err *err)
{
    struct db_value *v = g->tallies;
    size_t i = 0;

    while (i < g->tally_count && (v[2].i != kind || v[3].i != word)) {
        i++;
        v += SETTLE_TALLY;
    }
    if (i == SETTLE_TALLIES) { /* full: write what was counted so far */
        if (!db_batch(g->w->db, SQL_TALLY_ADD, DB_NO_SLOT, g->tallies, SETTLE_TALLY, SETTLE_TALLIES,
                      err))
            return false;
        g->tally_count = 0;
        v = g->tallies;
        i = 0;
    }
    if (i == g->tally_count) {
        g->tally_count++;
        v[0] = db_int(store_node(g->w->store));
        v[1] = db_int(g->w->number);
        v[2] = db_int(kind);
        v[3] = db_int(word);
        v[4] = db_int(0);
    }
    v[4].i++;
    return true;
}

bool tally_part(struct group *g, const struct settle_delivery *p, struct err *err)
{
    if (p->state == DELIVERY_DELIVERED)
        return tally(g, TALLY_DELIVERED, p->endpoint, err);
    return p->state != DELIVERY_DEAD || tally(g, TALLY_DEAD, p->endpoint, err);
}

bool write_tallies(struct group *g, struct err *err)
{
    return db_batch(g->w->db, SQL_TALLY_ADD, DB_NO_SLOT, g->tallies, SETTLE_TALLY, g->tally_count,
                    err);
}

/* ---- tasks and deliveries ---- */

static void settle_rows_put_ready(struct group *g, int64_t queue, int64_t prio, int64_t id,
                                  int64_t kind, int64_t attempts, const struct task *t)
{
    struct db_value *v = row_of(&g->ready);

    v[0] = db_int(queue);
    v[1] = db_int(prio);
    v[2] = db_int(t->rank);
    v[3] = db_int(id);
    v[4] = db_int(kind);
    v[5] = db_int(attempts);
    v[6] = db_int(id == t->id ? t->rescues : 0);
    v[7] = db_int(id == t->id ? t->crashes : 0);
}

static void settle_rows_put_later(struct group *g, int64_t due_us, int64_t queue, int64_t prio,
                                  int64_t id, int64_t kind, int64_t attempts, struct str error,
                                  const struct task *t)
{
    struct db_value *v = row_of(&g->later);

    v[0] = db_int(due_us);
    v[1] = db_int(id);
    v[2] = db_int(queue);
    v[3] = db_int(prio);
    v[4] = db_int(kind);
    v[5] = db_int(attempts);
    v[6] = db_int(id == t->id ? t->rescues : 0);
    v[7] = db_int(id == t->id ? t->crashes : 0);
    v[8] = db_text_or_null(error);
}

static void settle_rows_put_dead(struct group *g, int64_t queue, int64_t id, int64_t kind,
                                 int64_t attempts, struct str code, struct str message,
                                 const struct task *t)
{
    struct db_value *v = row_of(&g->dead);

    v[0] = db_int(id);
    v[1] = db_int(queue);
    v[2] = db_int(t->prio);
    v[3] = db_int(kind);
    v[4] = db_text(code);
    v[5] = db_text(message);
    v[6] = db_int(attempts);
    v[7] = db_int(id == t->id ? t->rescues : 0);
    v[8] = db_int(id == t->id ? t->crashes : 0);
}

int64_t prio_of(const struct settle_op *o, const struct settle_delivery *p)
{
    return p->prio != 0 ? p->prio : o->task.prio;
}

/* The next task of a delivery, if its state needs one. */
static bool put_part_task(struct group *g, const struct settle_op *o,
                          const struct settle_delivery *p, struct err *err)
{
    const struct task *t = &o->task;

    if (p->is_new && p->lane != 0) /* it waits in its lane */
        return true;
    switch (p->state) {
    case DELIVERY_READY:
        settle_rows_put_ready(g, p->queue, prio_of(o, p), p->num, TASK_DELIVER, p->attempts, t);
        return true;
    case DELIVERY_RETRYING:
        settle_rows_put_later(g, p->due_us, p->queue, prio_of(o, p), p->num, TASK_DELIVER,
                              p->attempts, p->message, t);
        return true;
    case DELIVERY_IN_DOUBT:
        settle_rows_put_dead(g, p->queue, p->num, TASK_DELIVER, p->attempts, STR("in_doubt"),
                             p->message, t);
        return true;
    case DELIVERY_DEAD:
        settle_rows_put_dead(g, p->queue, p->num, TASK_DELIVER, p->attempts, p->code, p->message,
                             t);
        return true;
    case DELIVERY_DELIVERED:
    case DELIVERY_CANCELLED:
        return true;
    default:
        return err_set(err, ERR_PERMANENT, 0, "a delivery is not stored as %s",
                       delivery_states[p->state]);
    }
}

static void settle_rows_add_row(struct group *g, const struct settle_op *o,
                                const struct settle_delivery *p)
{
    const struct payload_source *b = p->bytes != NULL ? &p->bytes->stored : NULL;
    struct db_value *v = row_of(&g->add);

    v[0] = db_int(p->num);
    v[1] = db_int(o->doc);
    v[2] = db_text(p->id);
    v[3] = db_int(p->endpoint);
    v[4] = db_int(p->system);
    v[5] = db_int(p->queue);
    v[6] = db_int(p->state);
    v[7] = db_int(p->attempts);
    v[8] = db_int(p->first_us);
    v[9] = db_int(p->due_us);
    v[10] = db_text_or_null(p->code);
    v[11] = db_text_or_null(p->message);
    v[12] = db_text_or_null(p->name);
    v[13] = db_int(p->status);
    for (size_t i = 14; i < 19; i++)
        v[i] = db_null();
    /* Only a waiting delivery expires. */
    v[19] = db_int(p->state == DELIVERY_READY || p->state == DELIVERY_RETRYING ? p->expires_us : 0);
    v[20] = db_int(p->lane);
    v[21] = db_int(p->seq);
    v[22] = db_int(p->child);
    v[23] = db_int(p->lane != 0 ? TURN_WAITS : TURN_NONE);
    v[24] = db_int(prio_of(o, p));
    if (b == NULL)
        return;
    v[14] = db_int(b->place.seg);
    v[15] = db_int(b->place.pos);
    v[16] = db_int(b->num);
    v[17] = db_int(p->bytes->size);
    v[18] = db_bytes(str_mem(p->bytes->sha256.bytes, SHA256_SIZE));
}

static void move_row(struct group *g, const struct settle_delivery *p)
{
    struct db_value *v = row_of(&g->move);

    v[0] = db_int(p->num);
    v[1] = db_int(p->queue);
    v[2] = db_int(p->state);
    v[3] = db_int(p->attempts);
    v[4] = db_int(p->first_us);
    v[5] = db_int(p->due_us);
    v[6] = db_text_or_null(p->code);
    v[7] = db_text_or_null(p->message);
    v[8] = db_text_or_null(p->name);
    v[9] = db_int(p->status);
    v[10] = db_int(p->intent_us);
    v[11] = db_int(p->asked);
    v[12] = db_int(p->aside);
}

static bool put_part(struct group *g, const struct settle_op *o, struct settle_delivery *p,
                     struct err *err)
{
    p->is_new = p->num == 0;
    if (p->is_new && !writer_number(g->w, &p->num, err))
        return false;
    if (p->is_new)
        settle_rows_add_row(g, o, p);
    else
        move_row(g, p);
    return put_part_task(g, o, p, err) && tally_part(g, p, err);
}

bool put_task(struct group *g, const struct settle_op *o, struct err *err)
{
    const struct task *t = &o->task;

    if (o->end == SETTLE_DEAD) {
        settle_rows_put_dead(g, t->queue, t->id, t->kind, t->attempts, o->code, o->message, t);
        return tally(g, TALLY_DEAD, 0, err);
    }
    if (o->end == SETTLE_AGAIN && o->due_us == 0)
        settle_rows_put_ready(g, t->queue, t->prio, t->id, t->kind, t->attempts, t);
    else if (o->end == SETTLE_AGAIN)
        settle_rows_put_later(g, o->due_us, t->queue, t->prio, t->id, t->kind, t->attempts,
                              o->message.len > 0 ? o->message : o->code, t);
    return true;
}

bool put_parts(struct group *g, struct settle_op *o, struct err *err)
{
    if (o->end != SETTLE_DELIVERIES)
        return true;
    for (size_t i = 0; i < o->part_count; i++)
        if (!put_part(g, o, &o->parts[i], err))
            return false;
    return true;
}

void make_room(struct group *g)
{
    size_t most = g->part_count + g->our_count;

    g->ready = rows_of(g->w, SQL_TASK_READY_PUT, 8, most);
    g->later = rows_of(g->w, SQL_TASK_LATER_PUT, 9, most);
    g->dead = rows_of(g->w, SQL_TASK_DEAD_PUT, 9, most);
    g->add = rows_of(g->w, SQL_DELIVERY_ADD, 25, g->part_count);
    g->move = rows_of(g->w, SQL_DELIVERY_MOVE, 13, g->part_count);
}
