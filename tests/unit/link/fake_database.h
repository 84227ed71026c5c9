/* fake_database.h - a kind of database in memory, for tests of what moves rows between two.
 *
 * One table, of `id int` (the key) and `name text`, with its journal and its mark.  A transaction
 * works on the database itself and has a copy of how it was.  Faults are switched on per database.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table/database.h"

enum { FAKE_ROWS = 4000, FAKE_NAME = 24, FAKE_COLUMNS = 2, FAKE_ORIGIN = 8 };

struct fake_row {
    int64_t id, x, at_us;
    char name[FAKE_NAME];
    bool gone; /* in a journal */
    char origin[FAKE_ORIGIN];
};

struct fake_tables {
    struct fake_row rows[FAKE_ROWS], journal[FAKE_ROWS];
    size_t count, changes;
    int64_t x; /* of the last change */
    bool has_mark;
    struct mark mark;
    char epoch[50], life[50], place_key[50], load_key[50]; /* of the mark */
};

struct fake_database {
    struct fake_tables now, begun, saved;
    const char *epoch, *life;
    const char *identity;     /* or NULL */
    char origin[FAKE_ORIGIN]; /* of what is written in this transaction */
    int64_t at_us;            /* likewise; 0: of now */
    int64_t ahead_us;         /* its clock */
    int64_t pruned, prunes;
    bool no_prune; /* the user may not */
    enum capture_state capture;
    int64_t held_x;   /* a transaction that is open since: the ceiling; 0: there is none */
    int64_t refused;  /* this key is refused */
    bool lose_answer; /* of the next commit of a change: it is done, and nobody is told */
    bool in, writes, journals;
    size_t upserts;
    size_t held;             /* with more rows than this at once it meets a deadlock; 0: never */
    void (*meanwhile)(void); /* called once, after the next reading */
    struct call *lent;       /* for whom the last transaction was */
};

static struct fake_database fake_source, fake_dest;
static int64_t fake_now_us; /* both clocks, but for ahead_us */

struct database {
    struct fake_database *f;
    struct call *call;
};

/* ---- its own programs ---- */

static inline struct fake_row *fake_find(struct fake_row *rows, size_t count, int64_t id)
{
    for (size_t i = 0; i < count; i++)
        if (rows[i].id == id)
            return &rows[i];
    return NULL;
}

static inline void fake_note(struct fake_database *f, int64_t id, bool gone)
{
    struct fake_row *at = fake_find(f->now.journal, f->now.changes, id);

    if (at == NULL)
        at = &f->now.journal[f->now.changes++];
    *at = (struct fake_row){ .id = id, .x = ++f->now.x, .gone = gone };
    at->at_us = f->at_us != 0 ? f->at_us : fake_now_us + f->ahead_us;
    memcpy(at->origin, f->origin, sizeof at->origin);
}

/* Rows are kept in order of the key. */
static inline void fake_put(struct fake_database *f, int64_t id, const char *name)
{
    struct fake_tables *t = &f->now;
    struct fake_row *at = fake_find(t->rows, t->count, id);

    if (at == NULL) {
        size_t i = t->count++;

        for (; i > 0 && t->rows[i - 1].id > id; i--)
            t->rows[i] = t->rows[i - 1];
        at = &t->rows[i];
        *at = (struct fake_row){ .id = id };
    }
    (void)snprintf(at->name, sizeof at->name, "%s", name);
    if (f->journals)
        fake_note(f, id, false);
}

static inline bool fake_remove(struct fake_database *f, int64_t id)
{
    struct fake_tables *t = &f->now;
    struct fake_row *at = fake_find(t->rows, t->count, id);

    if (at == NULL)
        return false;
    memmove(at, at + 1, (size_t)(t->rows + t->count - at - 1) * sizeof *at);
    t->count--;
    if (f->journals)
        fake_note(f, id, true);
    return true;
}

/* The name of a row; "" if it is not there. */
static inline const char *fake_name(struct fake_database *f, int64_t id)
{
    const struct fake_row *at = fake_find(f->now.rows, f->now.count, id);

    return at != NULL ? at->name : "";
}

static inline bool fake_same(const struct fake_database *a, const struct fake_database *b)
{
    if (a->now.count != b->now.count)
        return false;
    for (size_t i = 0; i < a->now.count; i++)
        if (a->now.rows[i].id != b->now.rows[i].id ||
            strcmp(a->now.rows[i].name, b->now.rows[i].name) != 0)
            return false;
    return true;
}

/* ---- the driver ---- */

static bool fake_open(const struct database_address *address, struct database **ret,
                      struct err *err)
{
    (void)err;
    *ret = calloc(1, sizeof **ret);
    (*ret)->f = str_is(address->name, "source") ? &fake_source : &fake_dest;
    (*ret)->call = address->call;
    return true;
}

static void fake_rollback(struct database *d)
{
    if (d->f->in)
        d->f->now = d->f->begun;
    d->f->in = false;
    d->f->origin[0] = '\0';
    d->f->at_us = 0;
}

static void fake_close(struct database *d)
{
    if (d != NULL)
        fake_rollback(d);
    free(d);
}

static bool fake_broken(const struct database *d)
{
    (void)d;
    return false;
}

static bool fake_describe(struct database *d, struct str table, struct arena *a, struct shape **ret,
                          struct err *err)
{
    struct shape *s = ARENA_NEW(a, struct shape);

    (void)d;
    (void)err;
    *s = (struct shape){ .name = table,
                         .columns = ARENA_ARRAY(a, struct shape_column, FAKE_COLUMNS),
                         .count = FAKE_COLUMNS,
                         .key_count = 1,
                         .schema = STR(""),
                         .quoted = table };
    s->columns[0] = (struct shape_column){
        .name = STR("id"), .native = STR("int"), .natural = CELL_INT, .key_place = 1
    };
    s->columns[1] = (struct shape_column){
        .name = STR("name"), .native = STR("text"), .natural = CELL_TEXT, .bytewise = true
    };
    *ret = s;
    return true;
}

static bool fake_begin(struct database *d, enum database_mode mode, struct err *err)
{
    if (d->f->in)
        return err_set(err, ERR_PERMANENT, 0, "in a transaction already");
    d->f->in = true;
    d->f->lent = d->call;
    d->f->writes = mode == DATABASE_WRITE;
    d->f->begun = d->f->now;
    return true;
}

static bool fake_commit(struct database *d, struct err *err)
{
    void (*meanwhile)(void) = d->f->meanwhile;

    d->f->in = false;
    d->f->origin[0] = '\0';
    d->f->at_us = 0;
    if (meanwhile != NULL && !d->f->writes) {
        d->f->meanwhile = NULL;
        meanwhile();
    }
    if (!d->f->lose_answer || !d->f->writes)
        return true;
    d->f->lose_answer = false;
    return err_set(err, ERR_UNCERTAIN, 0, "the answer was lost");
}

static bool fake_save(struct database *d, struct err *err)
{
    (void)err;
    d->f->saved = d->f->now;
    return true;
}

static bool fake_back(struct database *d, struct err *err)
{
    (void)err;
    d->f->now = d->f->saved;
    return true;
}

static bool fake_look(struct database *d, const struct fit *fit, const struct capture *capture,
                      struct arena *a, struct capture_look *ret, struct err *err)
{
    (void)fit;
    (void)capture;
    (void)err;
    *ret = (struct capture_look){ .state = d->f->capture,
                                  .epoch = arena_copy(a, str_of(d->f->epoch)),
                                  .life = arena_copy(a, str_of(d->f->life)),
                                  .identity = str_of(d->f->identity ? d->f->identity : ""),
                                  .pruned = d->f->pruned,
                                  .now_us = fake_now_us + d->f->ahead_us };
    if (ret->state != CAPTURE_IS_FINE)
        (void)snprintf(ret->why, sizeof ret->why, "a trigger is gone");
    return true;
}

static bool fake_ceiling(struct database *d, const struct fit *fit, const struct capture *capture,
                         struct ceiling *ret, struct err *err)
{
    (void)fit;
    (void)capture;
    (void)err;
    *ret = (struct ceiling){ .now_x = d->f->now.x + 1 };
    ret->below = d->f->held_x != 0 ? d->f->held_x : ret->now_x;
    return true;
}

static inline int64_t fake_key_id(struct str key)
{
    uint64_t id = 0;

    for (size_t i = 0; i < key.len; i++)
        id = id << 8 | (unsigned char)key.ptr[i];
    return (int64_t)(id ^ (UINT64_C(1) << 63));
}

static int fake_by_x(const void *a, const void *b)
{
    const struct fake_row *x = a, *y = b;

    return (x->x > y->x) - (x->x < y->x);
}

static bool fake_changes(struct database *d, const struct fit *fit, const struct capture *capture,
                         const struct change_place *after, int64_t below, size_t most,
                         change_fn *fn, void *arg, struct err *err)
{
    struct fake_tables *t = &d->f->now;
    size_t n = 0;

    (void)fit;
    (void)capture;
    qsort(t->journal, t->changes, sizeof *t->journal, fake_by_x);
    for (size_t i = 0; i < t->changes && n < most; i++) {
        const struct fake_row *j = &t->journal[i];
        const struct fake_row *row = fake_find(t->rows, t->count, j->id);
        /* Each change has an x of its own: behind (x, any key) is behind x. */
        bool behind = after->key.len > 0 ? j->x > after->x : j->x >= after->x;
        struct cell cells[] = { { .type = CELL_INT, .i = j->id },
                                { .type = CELL_TEXT, .s = str_of(row ? row->name : "") } };
        const struct change c = { .x = j->x,
                                  .at_us = j->at_us,
                                  .gone = row == NULL,
                                  .origin = str_of(j->origin),
                                  .cells = cells };

        if (!behind || j->x >= below)
            continue;
        n++;
        if (!fn(arg, &c, err))
            return err->kind == ERR_NONE;
    }
    return true;
}

static bool fake_changes_of(struct database *d, const struct fit *fit, const struct cell *keys,
                            size_t count, change_fn *fn, void *arg, struct err *err)
{
    (void)fit;
    for (size_t i = 0; i < count; i++) {
        const struct fake_row *j = fake_find(d->f->now.journal, d->f->now.changes, keys[i].i);

        if (j == NULL)
            continue;
        const struct change c = {
            .x = j->x, .at_us = j->at_us, .origin = str_of(j->origin), .cells = &keys[i]
        };

        if (!fn(arg, &c, err))
            return err->kind == ERR_NONE;
    }
    return true;
}

static bool fake_backlog(struct database *d, const struct fit *fit,
                         const struct change_place *after, int64_t most, int64_t *ret,
                         struct err *err)
{
    (void)fit;
    (void)most;
    (void)err;
    *ret = 0;
    for (size_t i = 0; i < d->f->now.changes; i++)
        *ret += d->f->now.journal[i].x > after->x;
    return true;
}

static bool fake_pruned(struct database *d, const struct fit *fit, int64_t *ret, struct err *err)
{
    (void)fit;
    (void)err;
    *ret = d->f->pruned;
    return true;
}

static bool fake_prune(struct database *d, const struct fit *fit, int64_t below, int64_t older_us,
                       int64_t most, int64_t *ret_removed, struct err *err)
{
    (void)fit;
    (void)below;
    (void)older_us;
    (void)most;
    *ret_removed = 0;
    d->f->prunes++;
    return !d->f->no_prune || err_set(err, ERR_CONFIG, 0, "permission denied");
}

static bool fake_give(const struct fake_row *row, row_fn *fn, void *arg, struct err *err)
{
    const struct cell cells[] = { { .type = CELL_INT, .i = row->id },
                                  { .type = CELL_TEXT, .s = str_of(row->name) } };

    return fn(arg, cells, err);
}

static bool fake_rows(struct database *d, const struct fit *fit, const struct cell *after,
                      const struct cell *upto, size_t most, row_fn *fn, void *arg, struct err *err)
{
    size_t n = 0;

    (void)fit;
    for (size_t i = 0; i < d->f->now.count && n < most; i++) {
        const struct fake_row *row = &d->f->now.rows[i];

        if ((after != NULL && row->id <= after->i) || (upto != NULL && row->id > upto->i))
            continue;
        n++;
        if (!fake_give(row, fn, arg, err))
            return err->kind == ERR_NONE;
    }
    return true;
}

static bool fake_rows_of(struct database *d, const struct fit *fit, const struct cell *keys,
                         size_t count, row_fn *fn, void *arg, struct err *err)
{
    (void)fit;
    for (size_t i = 0; i < count; i++) {
        const struct fake_row *row = fake_find(d->f->now.rows, d->f->now.count, keys[i].i);

        if (row != NULL && !fake_give(row, fn, arg, err))
            return err->kind == ERR_NONE;
    }
    return true;
}

static bool fake_count(struct database *d, const struct fit *fit, int64_t *ret, struct err *err)
{
    (void)fit;
    (void)err;
    *ret = (int64_t)d->f->now.count;
    return true;
}

static bool fake_mark_get(struct database *d, struct str link, struct str table, struct arena *a,
                          bool *ret_has, struct mark *ret, struct err *err)
{
    const struct fake_tables *t = &d->f->now;

    (void)link;
    (void)table;
    (void)err;
    *ret_has = t->has_mark;
    *ret = t->mark;
    ret->epoch = arena_copy(a, str_of(t->epoch));
    ret->life = arena_copy(a, str_of(t->life));
    ret->place.key = arena_copy(a, str_mem(t->place_key, t->mark.place.key.len));
    ret->load_key = arena_copy(a, str_mem(t->load_key, t->mark.load_key.len));
    return true;
}

static bool fake_mark_put(struct database *d, struct str link, struct str table,
                          const struct mark *mark, struct err *err)
{
    struct fake_tables *t = &d->f->now;

    (void)link;
    (void)table;
    (void)err;
    t->has_mark = true;
    t->mark = *mark;
    (void)snprintf(t->epoch, sizeof t->epoch, "%.*s", STR_ARG(mark->epoch));
    (void)snprintf(t->life, sizeof t->life, "%.*s", STR_ARG(mark->life));
    memcpy(t->place_key, mark->place.key.ptr, mark->place.key.len);
    memcpy(t->load_key, mark->load_key.ptr, mark->load_key.len);
    return true;
}

static bool fake_origin(struct database *d, struct str origin, int64_t at_us, struct err *err)
{
    (void)err;
    d->f->at_us = at_us;
    (void)snprintf(d->f->origin, sizeof d->f->origin, "%.*s", STR_ARG(origin));
    return true;
}

static bool fake_upsert(struct database *d, const struct fit *fit, const struct cell *rows,
                        size_t count, struct err *err)
{
    char name[FAKE_NAME];

    if (d->f->held > 0 && count > d->f->held)
        return err_set(err, ERR_TRANSIENT, DATABASE_CONTENDED, "deadlock detected");
    for (size_t i = 0; i < count; i++) {
        const struct cell *row = &rows[i * fit->count];

        if (row[0].i == d->f->refused)
            return err_set(err, ERR_PERMANENT, 0, "a rule of its own");
        (void)snprintf(name, sizeof name, "%.*s", STR_ARG(row[1].s));
        fake_put(d->f, row[0].i, name);
        d->f->upserts++;
    }
    return true;
}

static bool fake_add(struct database *d, const struct fit *fit, const struct cell *rows,
                     size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++)
        if (fake_find(d->f->now.rows, d->f->now.count, rows[i * fit->count].i) != NULL)
            return err_set(err, ERR_PERMANENT, 0, "the key is there");
    return fake_upsert(d, fit, rows, count, err);
}

static bool fake_remove_rows(struct database *d, const struct fit *fit, const struct cell *keys,
                             size_t count, int64_t *ret_removed, struct err *err)
{
    (void)fit;
    (void)err;
    *ret_removed = 0;
    for (size_t i = 0; i < count; i++)
        *ret_removed += fake_remove(d->f, keys[i].i);
    return true;
}

static void fake_lend(struct database *d, struct call *call)
{
    d->call = call;
}

static const struct database_type fake_type = {
    .open = fake_open,
    .close = fake_close,
    .broken = fake_broken,
    .lend = fake_lend,
    .describe = fake_describe,
    .begin = fake_begin,
    .commit = fake_commit,
    .rollback = fake_rollback,
    .save = fake_save,
    .back = fake_back,
    .look = fake_look,
    .ceiling = fake_ceiling,
    .changes = fake_changes,
    .changes_of = fake_changes_of,
    .backlog = fake_backlog,
    .pruned = fake_pruned,
    .prune = fake_prune,
    .rows = fake_rows,
    .rows_of = fake_rows_of,
    .count = fake_count,
    .mark_get = fake_mark_get,
    .mark_put = fake_mark_put,
    .origin = fake_origin,
    .upsert = fake_upsert,
    .add = fake_add,
    .remove = fake_remove_rows,
};
