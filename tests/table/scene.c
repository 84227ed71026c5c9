/* scene.c - see scene.h. */
#include "scene.h"

#include <stdio.h>
#include <string.h>

#include "table/key.h"

void scene_fail(struct scene *s, const char *file, int line, const char *what,
                const struct err *err)
{
    const char *slash = strrchr(file, '/');

    s->failed = true;
    (void)printf("  %s:%d: %s", slash != NULL ? slash + 1 : file, line, what);
    if (err != NULL)
        (void)printf(": kind %d, %s", (int)err->kind, err->text);
    (void)printf("\n");
}

bool scene_run(struct scene *s, struct database *d, const char *sql)
{
    return WORKS(s, s->type->run_ddl(d, str_of(sql), &err));
}

bool scene_run_all(struct scene *s, struct database *d, const struct ddl *ddl)
{
    for (size_t i = 0; i < ddl->count; i++)
        if (!WORKS(s, s->type->run_ddl(d, ddl->statements[i].text, &err))) {
            (void)printf("    %.*s\n", STR_ARG(ddl->statements[i].text));
            return false;
        }
    return true;
}

/* ---- fits ---- */

static void fit_put(struct fit *fit, const struct shape *shape, size_t at)
{
    fit->columns[fit->count++] = (struct fit_column){ .name = shape->columns[at].name,
                                                      .at = at,
                                                      .travels = shape->columns[at].natural,
                                                      .digits = -1 };
}

struct fit *scene_fit(struct scene *s, const char *table)
{
    struct fit *fit = ARENA_NEW(&s->a, struct fit);
    struct shape *shape;

    if (!WORKS(s, s->type->describe(s->one, str_of(table), &s->a, &shape, &err)))
        return NULL;
    fit->shape = shape;
    fit->columns = ARENA_ARRAY(&s->a, struct fit_column, shape->count + 1);
    fit->key_count = shape->key_count;
    for (size_t place = 1; place <= shape->key_count; place++)
        for (size_t i = 0; i < shape->count; i++)
            if (shape->columns[i].key_place == (int)place)
                fit_put(fit, shape, i);
    for (size_t i = 0; i < shape->count; i++)
        if (shape->columns[i].key_place == 0)
            fit_put(fit, shape, i);
    return EXPECT(s, fit->count == shape->count && fit->key_count > 0) ? fit : NULL;
}

size_t scene_at(const struct fit *fit, const char *column)
{
    for (size_t i = 0; i < fit->count; i++)
        if (str_is(fit->columns[i].name, column))
            return i;
    return fit->count;
}

static const struct capture journal = { .kind = CAPTURE_JOURNAL };

bool scene_install(struct scene *s, const struct fit *fit)
{
    struct ddl ddl;

    return WORKS(s, s->type->plan_capture(s->one, fit, &journal, &s->a, &ddl, &err)) &&
           scene_run_all(s, s->one, &ddl);
}

bool scene_uninstall(struct scene *s, const struct fit *fit)
{
    struct ddl ddl;

    return WORKS(s, s->type->plan_capture_removal(s->one, fit, &s->a, &ddl, &err)) &&
           scene_run_all(s, s->one, &ddl);
}

/* ---- cells ---- */

struct cell cell_int(int64_t i)
{
    return (struct cell){ .type = CELL_INT, .i = i };
}

struct cell cell_of(enum cell_type type, const char *text)
{
    return (struct cell){ .type = type, .s = str_of(text) };
}

/* ---- writing ---- */

static bool cells_natural(struct scene *s, const struct fit *fit, const struct cell *cells,
                          size_t wide, size_t count, struct cell **ret)
{
    *ret = ARENA_ARRAY(&s->a, struct cell, wide * count + 1);
    for (size_t i = 0; i < wide * count; i++)
        if (!WORKS(s, cell_cast(&cells[i], fit->shape->columns[fit->columns[i % wide].at].natural,
                                &s->a, &(*ret)[i], &err)))
            return false;
    return true;
}

bool scene_write_open(struct scene *s, struct database *d, const struct fit *fit,
                      const struct cell *cells, size_t count)
{
    struct cell *natural;

    return cells_natural(s, fit, cells, fit->count, count, &natural) &&
           WORKS(s, s->type->upsert(d, fit, natural, count, &err));
}

bool scene_write(struct scene *s, struct database *d, const struct fit *fit,
                 const struct cell *cells, size_t count)
{
    bool ok = WORKS(s, s->type->begin(d, DATABASE_WRITE, &err)) &&
              scene_write_open(s, d, fit, cells, count) && WORKS(s, s->type->commit(d, &err));

    if (!ok)
        s->type->rollback(d);
    return ok;
}

bool scene_remove(struct scene *s, struct database *d, const struct fit *fit,
                  const struct cell *keys, size_t count)
{
    struct cell *natural;
    int64_t removed = -1;
    bool ok = cells_natural(s, fit, keys, fit->key_count, count, &natural) &&
              WORKS(s, s->type->begin(d, DATABASE_WRITE, &err)) &&
              WORKS(s, s->type->remove(d, fit, natural, count, &removed, &err)) &&
              WORKS(s, s->type->commit(d, &err)) && EXPECT(s, removed == (int64_t)count);

    if (!ok)
        s->type->rollback(d);
    return ok;
}

bool scene_note(struct scene *s, struct database *d, const struct fit *fit, int64_t id,
                const char *v)
{
    struct cell cells[2] = { cell_int(id), cell_of(CELL_TEXT, v) };

    return scene_write(s, d, fit, cells, 1);
}

/* ---- reading ---- */

static struct cell cell_kept(struct scene *s, const struct cell *from)
{
    struct cell c = *from;

    if (c.type == CELL_DEC || c.type == CELL_TEXT || c.type == CELL_BYTES || c.type == CELL_UUID ||
        c.type == CELL_JSON)
        c.s = arena_copy(&s->a, c.s);
    return c;
}

bool scene_take_row(void *arg, const struct cell *cells, struct err *err)
{
    struct scene_rows *r = arg;

    if (r->count == SCENE_ROWS)
        return err_set(err, ERR_LIMIT, 0, "too many rows for a check");
    if (r->cells == NULL)
        r->cells = ARENA_ARRAY(&r->s->a, struct cell, SCENE_ROWS * r->fit->count);
    for (size_t i = 0; i < r->fit->count; i++) {
        struct cell *to = &r->cells[r->count * r->fit->count + i], cast;

        if (!cell_cast(&cells[i], r->fit->columns[i].travels, &r->s->a, &cast, err))
            return false;
        *to = cell_kept(r->s, &cast);
    }
    r->count++;
    return true;
}

bool scene_read(struct scene *s, struct database *d, const struct fit *fit,
                const struct cell *after, const struct cell *upto, size_t most,
                struct scene_rows *ret)
{
    *ret = (struct scene_rows){ .fit = fit, .s = s };
    bool ok = WORKS(s, s->type->begin(d, DATABASE_READ, &err)) &&
              WORKS(s, s->type->rows(d, fit, after, upto, most, scene_take_row, ret, &err)) &&
              WORKS(s, s->type->commit(d, &err));

    if (!ok)
        s->type->rollback(d);
    return ok;
}

/* ---- changes ---- */

static bool scene_take_change(void *arg, const struct change *change, struct err *err)
{
    struct scene_changes *c = arg;
    struct buf key = BUF_INIT(SHAPE_KEY_BYTES);

    if (c->count == SCENE_ROWS)
        return err_set(err, ERR_LIMIT, 0, "too many changes for a check");
    struct scene_change *to = &c->all[c->count++];

    *to = (struct scene_change){ .x = change->x,
                                 .at_us = change->at_us,
                                 .gone = change->gone,
                                 .origin = arena_copy(&c->s->a, change->origin),
                                 .cells = ARENA_ARRAY(&c->s->a, struct cell, c->fit->count) };
    for (size_t i = 0; i < (change->gone ? c->fit->key_count : c->fit->count); i++)
        to->cells[i] = cell_kept(c->s, &change->cells[i]);
    bool ok = key_put(&key, change->cells, c->fit->key_count, err);

    to->key = arena_copy(&c->s->a, buf_view(&key));
    buf_done(&key);
    return ok;
}

bool scene_changes(struct scene *s, const struct fit *fit, const struct change_place *after,
                   size_t most, struct scene_changes *ret)
{
    struct ceiling ceiling;

    *ret = (struct scene_changes){ .fit = fit,
                                   .s = s,
                                   .all = ARENA_ARRAY(&s->a, struct scene_change, SCENE_ROWS) };
    bool ok = WORKS(s, s->type->ceiling(s->one, fit, &journal, &ceiling, &err)) &&
              EXPECT(s, ceiling.now_x >= after->x) &&
              WORKS(s, s->type->begin(s->one, DATABASE_READ, &err)) &&
              WORKS(s, s->type->changes(s->one, fit, &journal, after, ceiling.below, most,
                                        scene_take_change, ret, &err)) &&
              WORKS(s, s->type->commit(s->one, &err));

    if (!ok)
        s->type->rollback(s->one);
    for (size_t i = 0; ok && i < ret->count; i++) {
        const struct scene_change *c = &ret->all[i], *before = i > 0 ? c - 1 : NULL;

        ok = EXPECT(s, c->x < ceiling.below) &&
             EXPECT(s, c->x > after->x || (c->x == after->x && str_cmp(c->key, after->key) > 0)) &&
             EXPECT(s, before == NULL || before->x < c->x ||
                           (before->x == c->x && str_cmp(before->key, c->key) < 0));
    }
    return ok;
}

const struct scene_change *scene_change_of(const struct scene_changes *c, int64_t id)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->all[i].cells[0].i == id)
            return &c->all[i];
    return NULL;
}

bool scene_now(struct scene *s, const struct fit *fit, struct change_place *ret)
{
    struct ceiling ceiling;

    if (!WORKS(s, s->type->ceiling(s->one, fit, &journal, &ceiling, &err)))
        return false;
    *ret = (struct change_place){ .x = ceiling.below, .key = STR("") };
    return true;
}
