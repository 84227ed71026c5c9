#include "table/away/answering.h"

#include "table/away/away.h"

bool message_take(struct str frame, struct arena *a, struct message *ret, void **ret_question,
                  struct err *err)
{
    enum envelope_what what;
    struct str content;

    *ret = (struct message){ 0 };
    *ret_question = NULL;
    if (!envelope_take(frame, &what, &content, err))
        return false;
    if (what != ENVELOPE_WHOLE)
        return err_set(err, ERR_PERMANENT, 0, "a question is expected");
    struct wire w = wire_take(content, a);

    message_head(&w, ret);
    if (!w.bad)
        message_question(&w, ret->what, ret_question);
    return wire_end(&w, err);
}

unsigned answering_needs(enum side_what what)
{
    switch (what) {
    case SIDE_DESCRIBE:
    case SIDE_LOOK:
    case SIDE_COUNT:
    case SIDE_PLAN:
    case SIDE_PAIR:
        return ANSWERING_READ | ANSWERING_APPLY | ANSWERING_INSTALL;
    case SIDE_MARK:
        return ANSWERING_READ | ANSWERING_APPLY;
    case SIDE_APPLY:
    case SIDE_KEEP:
        return ANSWERING_APPLY;
    case SIDE_RUN:
        return ANSWERING_INSTALL;
    default:
        return ANSWERING_READ;
    }
}

/* ---- the part of the table ---- */

static bool answering_column(const struct shape *shape, const struct message_column *c,
                             struct fit_column *ret, struct err *err)
{
    const struct shape_column *of = shape_column(shape, c->name);

    if (of == NULL || of->generated || of->natural == CELL_NULL)
        return err_set(err, ERR_CONFIG, 0, "the table has no column %.*s that can travel",
                       STR_ARG(str_first(c->name, 60)));
    if (c->travels == CELL_NULL || c->digits < -1 || c->digits > CELL_TIME_DIGITS)
        return err_set(err, ERR_PERMANENT, 0, "column %.*s cannot travel so",
                       STR_ARG(str_first(c->name, 60)));
    *ret = (struct fit_column){ .name = c->name,
                                .at = (size_t)(of - shape->columns),
                                .travels = c->travels,
                                .digits = (int)c->digits,
                                .padded = c->padded };
    return true;
}

/* The columns of its key come first, in their order. */
static bool answering_is_key(const struct shape *shape, const struct fit *fit)
{
    if (fit->key_count == 0 || fit->key_count != shape->key_count || fit->count < fit->key_count)
        return false;
    for (size_t i = 0; i < fit->count; i++)
        if ((shape->columns[fit->columns[i].at].key_place > 0) != (i < fit->key_count))
            return false;
    return true;
}

static bool answering_is_twice(const struct fit *fit, struct arena *a)
{
    bool *seen = ARENA_ARRAY(a, bool, fit->shape->count + 1);

    for (size_t i = 0; i < fit->count; i++) {
        if (seen[fit->columns[i].at])
            return true;
        seen[fit->columns[i].at] = true;
    }
    return false;
}

bool answering_fit(const struct message *m, const struct shape *shape, struct arena *a,
                   struct fit **ret, struct err *err)
{
    struct fit *fit = ARENA_NEW(a, struct fit);

    *fit = (struct fit){ .shape = shape,
                         .columns = ARENA_ARRAY(a, struct fit_column, m->column_count + 1),
                         .count = m->column_count,
                         .key_count = m->key_count,
                         .row_most = AWAY_ROW_MOST };
    for (size_t i = 0; i < fit->count; i++)
        if (!answering_column(shape, &m->columns[i], &fit->columns[i], err))
            return false;
    if (!answering_is_key(shape, fit) || answering_is_twice(fit, a))
        return err_set(err, ERR_CONFIG, 0, "the key of the table is another one");
    *ret = fit;
    return true;
}

/* ---- the answer ---- */

void answering_put_error(struct buf *to, const struct err *why)
{
    struct err copy = *why, err;
    struct wire w = wire_put(to);

    if (!envelope_begin(to, ENVELOPE_ERROR, &err))
        return;
    envelope_error(&w, &copy);
    (void)envelope_end(to, &err);
}

/* Room for the answer of each kind. */
union answering_room {
    struct shape *shape;
    struct capture_look look;
    struct ceiling ceiling;
    struct side_change_list changes_of;
    int64_t number;
    struct side_changes changes;
    struct side_rows rows;
    struct side_mark_answer mark;
    struct side_applied applied;
    struct side_sum sum;
    struct side_leaf_list leaves;
    struct side_hash_list hashes;
    struct buf batch;
    struct ddl ddl;
};

static struct buf *answering_batch(union answering_room *room, enum side_what what)
{
    return what == SIDE_CHANGES ? &room->changes.batch
           : what == SIDE_ROWS  ? &room->rows.batch
           : what == SIDE_FETCH ? &room->batch
                                : NULL;
}

bool answering_put_answer(enum side_what what, void *answer, struct buf *to, struct err *err)
{
    if (!envelope_begin(to, ENVELOPE_WHOLE, err))
        return false;
    struct wire w = wire_put(to);

    message_answer(&w, what, answer);
    return wire_end(&w, err) && envelope_end(to, err);
}

bool answering_put(struct side *s, enum side_what what, const void *question, struct arena *a,
                   struct buf *to, struct err *err)
{
    union answering_room *room = ARENA_NEW(a, union answering_room);
    struct buf *batch = answering_batch(room, what);

    if (batch != NULL)
        *batch = (struct buf)BUF_INIT(AWAY_WHOLE_MOST / 2);
    bool ok =
        side_answer(s, what, question, a, room, err) && answering_put_answer(what, room, to, err);

    if (batch != NULL)
        buf_done(batch);
    if (!ok)
        answering_put_error(to, err);
    return ok;
}
