/* side_conflict.c - a batch of a link that goes both ways meets what is there.
 *
 * The rows of the batch are locked first, as far as they are there, and then their newest changes
 * are read: what a program of the destination has committed until then is seen, and who comes later
 * waits, or is noticed because a row that was not there has been added (APPLYING_ADD).
 *
 * Each entry falls into one of these, in this order:
 *
 *     equal        both are the same row, or both are gone: nothing is written, so that nothing is
 *                  journalled that would be sent back
 *     follows      what is there came from the source, or the source had taken it when it read its
 *                  row, or it is in no journal: the row that comes is the newer one
 *     conflict     neither knows the other: the rule decides
 *
 * What was decided is written as a change of the destination's own, also the row that stays: so it
 * goes to the source.  Otherwise two decisions about rows that were on their way at the same moment
 * could each be final on its side.  Where the source has decided alike the rows are equal.
 *
 * By time (SIDE_LAST_WINS) the row that has won keeps the time at which it was changed.  With a new
 * one it would win against what a program has changed between that and the decision; and as it is,
 * every decision on both sides takes the larger of two in one order, which no decision changes: so
 * whatever meets whatever on its way, both sides end with the largest of all that met.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "table/row.h"
#include "table/side_apply.h"

/* What is there of an entry. */
struct conflict_there {
    struct str key;
    bool has, travels; /* there is a row; it has a form in which it could be sent */
    struct str row;
    struct sha256 hash; /* as it is compared */
    bool has_change, from_source;
    int64_t x, at_us; /* 0: it is in no journal, which is the oldest */
};

struct conflicts {
    struct applying *a;
    struct conflict_there *there; /* by key */
    size_t count;
    size_t version; /* the column */
};

static int conflict_by_key(const void *a, const void *b)
{
    return str_cmp(((const struct conflict_there *)a)->key,
                   ((const struct conflict_there *)b)->key);
}

static struct conflict_there *conflict_find(struct conflicts *c, struct str key)
{
    const struct conflict_there one = { .key = key };

    return bsearch(&one, c->there, c->count, sizeof one, conflict_by_key);
}

/* ---- what is there ---- */

static bool conflict_take_row(void *arg, const struct cell *cells, struct err *err)
{
    struct conflicts *c = arg;
    struct applying *a = c->a;
    struct err why = { 0 };

    if (!side_coder_key(&a->coder, cells, err))
        return err_context(err, "a key");
    struct conflict_there *t = conflict_find(c, buf_view(&a->coder.key));

    if (t == NULL)
        return true;
    t->has = true;
    t->travels = side_coder_row(&a->coder, cells, true, &why);
    if (t->travels) {
        t->hash = row_hash(buf_view(&a->coder.row));
        t->travels = side_coder_row(&a->coder, cells, false, &why);
    }
    if (t->travels)
        t->row = arena_copy(&a->cells, buf_view(&a->coder.row));
    if (t->travels || why.kind == ERR_PERMANENT || why.kind == ERR_LIMIT)
        return true;
    *err = why;
    return false;
}

static bool conflict_take_change(void *arg, const struct change *change, struct err *err)
{
    struct conflicts *c = arg;

    if (!side_coder_key(&c->a->coder, change->cells, err))
        return err_context(err, "a key");
    struct conflict_there *t = conflict_find(c, buf_view(&c->a->coder.key));

    if (t == NULL)
        return true;
    t->has_change = true;
    t->x = change->x;
    t->from_source = str_eq(change->origin, c->a->batch->rule->source);
    t->at_us = t->from_source ? 0 : change->at_us; /* that of the source is the time it came */
    return true;
}

static bool conflict_see(void *arg, const struct cell *cells, struct err *err)
{
    bool *seen = arg;

    (void)cells;
    (void)err;
    *seen = true;
    return true;
}

/* A row that was added after the rows were read and before its change was: the two do not belong
 * together. */
static bool conflicts_match(struct conflicts *c, struct cell *keys, struct err *err)
{
    struct applying *a = c->a;
    const struct side *s = a->side;
    size_t wide = s->fit->key_count, n = 0;

    for (size_t i = 0; i < a->entry_count; i++) {
        const struct conflict_there *t = conflict_find(c, a->entries[i].e.key);

        if (!t->has && t->has_change && !t->from_source)
            memmove(&keys[n++ * wide], a->entries[i].cells, wide * sizeof *keys);
    }
    return n == 0 || s->type->rows_of(s->db, s->fit, keys, n, conflict_see, &a->raced, err);
}

static bool conflicts_look(struct conflicts *c, struct err *err)
{
    struct applying *a = c->a;
    const struct side *s = a->side;
    size_t wide = s->fit->key_count;
    struct cell *keys = ARENA_ARRAY(&a->cells, struct cell, a->entry_count * wide);

    c->there = ARENA_ARRAY(&a->cells, struct conflict_there, a->entry_count);
    c->count = a->entry_count;
    for (size_t i = 0; i < c->count; i++)
        c->there[i] = (struct conflict_there){ .key = a->entries[i].e.key, .row = STR("") };
    qsort(c->there, c->count, sizeof *c->there, conflict_by_key);
    for (size_t i = 0; i < c->count; i++)
        memcpy(&keys[i * wide], a->entries[i].cells, wide * sizeof *keys);
    return s->type->rows_of(s->db, s->fit, keys, c->count, conflict_take_row, c, err) &&
           s->type->changes_of(s->db, s->fit, keys, c->count, conflict_take_change, c, err) &&
           conflicts_match(c, keys, err);
}

/* ---- which one wins ---- */

static int conflict_sign(bool less, bool more)
{
    return more - less;
}

/* Numbers in their one form: no leading zeros, so the longer one before the point is larger. */
static int conflict_cmp_dec(struct str a, struct str b)
{
    bool below = a.ptr[0] == '-';

    if (below != (b.ptr[0] == '-'))
        return below ? -1 : 1;
    if (below)
        return conflict_cmp_dec(str_from(b, 1), str_from(a, 1));
    ptrdiff_t of_a = str_find(a, '.'), of_b = str_find(b, '.');
    size_t whole_a = of_a < 0 ? a.len : (size_t)of_a, whole_b = of_b < 0 ? b.len : (size_t)of_b;
    bool word_a = a.ptr[0] > '9', word_b = b.ptr[0] > '9'; /* Infinity, NaN */

    if (word_a || word_b)
        return word_a && word_b ? str_cmp(a, b) : conflict_sign(word_b, word_a);
    if (whole_a != whole_b)
        return conflict_sign(whole_a<whole_b, whole_a> whole_b);
    return str_cmp(a, b);
}

/* NULL is the smallest. */
static int conflict_cmp_cell(const struct cell *a, const struct cell *b)
{
    if (a->type != b->type)
        return conflict_sign(a->type == CELL_NULL, b->type == CELL_NULL);
    switch (a->type) {
    case CELL_NULL:
        return 0;
    case CELL_FLOAT:
        if (isnan(a->f) || isnan(b->f))
            return conflict_sign(!isnan(a->f), !isnan(b->f));
        return conflict_sign(a->f<b->f, a->f> b->f);
    case CELL_DEC:
        return conflict_cmp_dec(a->s, b->s);
    case CELL_TEXT:
    case CELL_BYTES:
    case CELL_UUID:
    case CELL_JSON:
        return str_cmp(a->s, b->s);
    default:
        return conflict_sign(a->i<b->i, a->i> b->i);
    }
}

static bool conflict_cmp_version(struct conflicts *c, struct str came, struct str there, int *ret,
                                 struct err *err)
{
    struct applying *a = c->a;
    const struct fit *fit = a->side->fit;
    struct cell *x = ARENA_ARRAY(&a->cells, struct cell, fit->count);
    struct cell *y = ARENA_ARRAY(&a->cells, struct cell, fit->count);

    if (!row_take(came, a->coder.travels, fit->count, x, err) ||
        !row_take(there, a->coder.travels, fit->count, y, err))
        return false;
    *ret = conflict_cmp_cell(&x[c->version], &y[c->version]);
    return true;
}

/* Alike on both sides: nothing here depends on which of them is the destination. */
static bool conflict_source_wins(struct conflicts *c, const struct batch_entry *e,
                                 const struct conflict_there *t, bool *ret, struct err *err)
{
    const struct side_rule *rule = c->a->batch->rule;
    int order = 0;

    /* It could not be kept; it was changed, and the other one was not. */
    if ((t->has && !t->travels) || (rule->doubt == SIDE_FIRST && t->has_change)) {
        *ret = false;
        return true;
    }
    if (rule->winner == SIDE_SOURCE_WINS || rule->winner == SIDE_DEST_WINS) {
        *ret = rule->winner == SIDE_SOURCE_WINS;
        return true;
    }
    if (rule->winner == SIDE_LAST_WINS && e->at_us != t->at_us) {
        *ret = e->at_us > t->at_us;
        return true;
    }
    if (e->gone || !t->has) {
        *ret = !e->gone;
        return true;
    }
    if (rule->winner == SIDE_VERSION_WINS && !conflict_cmp_version(c, e->row, t->row, &order, err))
        return false;
    *ret = order != 0 ? order > 0 : str_cmp(rule->source, rule->dest) > 0;
    return true;
}

/* ---- deciding ---- */

bool side_covers(const struct mark *m, int64_t x, struct str key)
{
    if (m->phase != MARK_FOLLOW) /* rows up to load_key were read after `place` */
        return x < m->place.x && (m->phase == MARK_SWEEP || str_cmp(m->load_key, key) >= 0);
    return m->place.x > x || (m->place.x == x && str_cmp(m->place.key, key) >= 0);
}

static bool conflict_is_one(const struct side_rule *rule, const struct conflict_there *t)
{
    bool unseen = t->has_change && !t->from_source &&
                  !(rule->has_seen && side_covers(&rule->seen, t->x, t->key));

    switch (rule->doubt) {
    case SIDE_KNOWN:
        return unseen;
    case SIDE_FIRST:
        return t->has_change ? unseen : t->has;
    case SIDE_ANY:
        break;
    }
    return t->has;
}

static int conflict_by_decided(const void *a, const void *b)
{
    return str_cmp(((const struct side_decided *)a)->key, ((const struct side_decided *)b)->key);
}

static bool conflict_was_decided(const struct side_rule *rule, const struct conflict_there *t)
{
    const struct side_decided one = { .key = t->key };
    const struct side_decided *found =
        rule->decided_count == 0
            ? NULL
            : bsearch(&one, rule->decided, rule->decided_count, sizeof one, conflict_by_decided);

    return found != NULL && found->gone == !t->has && found->x == (t->has_change ? t->x : 0);
}

static void conflict_note(struct conflicts *c, const struct batch_entry *e,
                          const struct conflict_there *t, bool source_wins)
{
    struct applying *a = c->a;
    struct side_applied *ret = a->ret;

    if (ret->conflict_count == SIDE_BAD_MOST)
        return;
    if (ret->conflicts == NULL)
        ret->conflicts = ARENA_ARRAY(a->arena, struct side_conflict, SIDE_BAD_MOST);
    ret->conflicts[ret->conflict_count++] =
        (struct side_conflict){ .of = { .key = arena_copy(a->arena, e->key),
                                        .x = t->has_change ? t->x : 0,
                                        .gone = !t->has },
                                .source_wins = source_wins,
                                .came_gone = e->gone,
                                .there_gone = !t->has,
                                .came = arena_copy(a->arena, e->row),
                                .there = arena_copy(a->arena, t->row) };
}

static bool conflict_same(struct conflicts *c, const struct applying_entry *one,
                          const struct conflict_there *t, bool *ret, struct err *err)
{
    struct err why = { 0 };

    *ret = one->e.gone && !t->has;
    if (one->e.gone || !t->travels)
        return true;
    if (!side_coder_row(&c->a->coder, one->cells, true, &why)) {
        if (why.kind == ERR_PERMANENT || why.kind == ERR_LIMIT)
            return true;
        *err = why;
        return false;
    }
    struct sha256 hash = row_hash(buf_view(&c->a->coder.row));

    *ret = digest_same(&hash, &t->hash);
    return true;
}

/* The destination's row stays, and goes to the source: see side.h.  One that is gone does not; the
 * source knows it, or will. */
static bool conflict_keep(struct conflicts *c, struct applying_entry *one,
                          const struct conflict_there *t, struct err *err)
{
    struct applying *a = c->a;

    if (!t->has || !t->travels)
        return true;
    one->cells = ARENA_ARRAY(&a->cells, struct cell, a->side->fit->count);
    one->what = APPLYING_KEEP;
    return side_coder_natural_row(&a->coder, t->row, &a->cells, one->cells, err);
}

static bool conflict_decide(struct conflicts *c, struct applying_entry *one, struct err *err)
{
    const struct side_rule *rule = c->a->batch->rule;
    const struct conflict_there *t = conflict_find(c, one->e.key);
    bool wins = true, same;

    if (!conflict_same(c, one, t, &same, err))
        return false;
    if (!same && conflict_is_one(rule, t)) {
        if (!conflict_source_wins(c, &one->e, t, &wins, err))
            return false;
        if (!conflict_was_decided(rule, t))
            conflict_note(c, &one->e, t, wins);
        one->own = true;
        one->at_us = wins ? one->e.at_us : t->at_us;
        if (rule->winner == SIDE_LAST_WINS && one->at_us == 0)
            one->at_us = 1; /* older than any change */
        c->a->own_count++;
    }
    if (same || !wins || (one->e.gone && !t->has))
        one->what = APPLYING_LEAVE;
    else
        one->what = one->e.gone ? APPLYING_REMOVE : t->has ? APPLYING_WRITE : APPLYING_ADD;
    return wins || conflict_keep(c, one, t, err);
}

/* What is written together stands together. */
static void conflicts_arrange(struct applying *a)
{
    const struct fit *fit = a->side->fit;

    a->row_count = a->key_count = 0;
    for (size_t i = 0; i < a->entry_count; i++) {
        struct applying_entry *one = &a->entries[i];
        size_t wide = one->what == APPLYING_REMOVE ? fit->key_count : fit->count;
        struct cell *to;

        if (one->what == APPLYING_LEAVE || one->what == APPLYING_KEEP)
            continue;
        if (one->own) /* its cells are not where others are put */
            to = ARENA_ARRAY(&a->cells, struct cell, wide);
        else if (one->what == APPLYING_ADD)
            to = &a->adds[a->add_count++ * wide];
        else
            to = one->what == APPLYING_WRITE ? &a->rows[a->row_count++ * wide]
                                             : &a->keys[a->key_count++ * wide];
        memmove(to, one->cells, wide * sizeof *to);
        one->cells = to;
    }
}

bool applying_decide(struct applying *a, struct err *err)
{
    const struct fit *fit = a->side->fit;
    struct conflicts c = { .a = a };

    while (c.version < fit->count && !str_eq(fit->columns[c.version].name, a->batch->rule->version))
        c.version++;
    if (a->batch->rule->winner == SIDE_VERSION_WINS && c.version == fit->count)
        return err_set(err, ERR_PERMANENT, 0, "the column of the version does not travel");
    a->adds = ARENA_ARRAY(&a->cells, struct cell, a->entry_count * fit->count + 1);
    if (!conflicts_look(&c, err))
        return false;
    if (a->raced)
        return true;
    for (size_t i = 0; i < a->entry_count; i++)
        if (!conflict_decide(&c, &a->entries[i], err))
            return false;
    conflicts_arrange(a);
    return true;
}
