/* check_find.c - rows that should not be there, found by a driver (table/sought.h). */
#include <string.h>

#include "base/clock.h"
#include "scene.h"
#include "table/sought.h"

#define DAY_US (86400LL * CLOCK_S)

/* All columns of a fit are in the order of the table, those of the key first. */
static size_t place_of(const struct fit *fit, const char *column)
{
    return fit->columns[scene_at(fit, column)].at;
}

static bool find(struct scene *s, const struct sought *what, struct found *ret, struct err *err)
{
    bool ok = s->type->begin(s->one, DATABASE_SNAPSHOT, err) &&
              s->type->find(s->one, what, &s->a, ret, err);

    s->type->rollback(s->one);
    return ok;
}

static bool has_example(struct scene *s, const struct found *f, const char *text)
{
    for (size_t i = 0; i < f->example_count; i++)
        if (str_is(f->examples[i], text))
            return true;
    for (size_t i = 0; i < f->example_count; i++)
        scene_fail(s, __FILE__, __LINE__,
                   arena_printf(&s->a, "`%.*s` is not `%s`", STR_ARG(f->examples[i]), text), NULL);
    return false;
}

/* v may be NULL. */
static bool put_note(struct scene *s, const struct fit *fit, int64_t id, const char *v)
{
    const struct cell row[] = { cell_int(id), v != NULL ? cell_of(CELL_TEXT, v)
                                                        : (struct cell){ .type = CELL_NULL } };

    return scene_write(s, s->one, fit, row, 1);
}

/* ---- duplicates ---- */

static void check_duplicates(struct scene *s)
{
    struct fit *fit = NULL;
    struct found f;
    bool ok =
        scene_run(s, s->one, s->dialect->notes) && (fit = scene_fit(s, "driver_notes")) != NULL;

    for (int64_t id = 1; ok && id <= 9; id++)
        ok = put_note(s, fit, id, id < 4 ? "a" : id < 6 ? "b" : id < 7 ? "c" : NULL);
    if (!ok)
        return;
    struct sought what = { .kind = SOUGHT_DUPLICATES,
                           .shape = fit->shape,
                           .columns = { place_of(fit, "v") },
                           .count = 1,
                           .most = 100,
                           .shown = 10 };

    if (WORKS(s, find(s, &what, &f, &err)))
        EXPECT(s, f.count == 2 && f.example_count == 2 && has_example(s, &f, "v = a (3 rows)") &&
                      has_example(s, &f, "v = b (2 rows)"));
    what.most = 1;
    if (WORKS(s, find(s, &what, &f, &err)))
        EXPECT(s, f.count == 1 && f.example_count == 1);
    what.shown = 0;
    if (WORKS(s, find(s, &what, &f, &err)))
        EXPECT(s, f.count == 1 && f.example_count == 0);
    const struct sought_value only = { .column = place_of(fit, "v"),
                                       .value = cell_of(CELL_TEXT, "b") };

    what = (struct sought){
        .kind = SOUGHT_ROWS, .shape = fit->shape, .values = &only, .value_count = 1, .most = 100
    };
    if (WORKS(s, find(s, &what, &f, &err)))
        EXPECT(s, f.count == 2);
    const struct sought_value none = { .column = place_of(fit, "v") };

    what.values = &none;
    if (WORKS(s, find(s, &what, &f, &err)))
        EXPECT(s, f.count == 3);
    what.value_count = 0;
    what.most = 5;
    if (WORKS(s, find(s, &what, &f, &err)))
        EXPECT(s, f.count == 5);
    (void)scene_run(s, s->one, "DROP TABLE driver_notes");
}

/* ---- orphans ---- */

static void check_orphans(struct scene *s)
{
    struct fit *pairs = NULL, *notes = NULL;
    struct found f;

    if (!scene_run(s, s->one, s->dialect->pairs) || !scene_run(s, s->one, s->dialect->notes) ||
        (pairs = scene_fit(s, "driver_pairs")) == NULL ||
        (notes = scene_fit(s, "driver_notes")) == NULL)
        return;
    const struct cell rows[] = { cell_int(1),  cell_of(CELL_TEXT, "x"), cell_of(CELL_TEXT, "1"),
                                 cell_int(2),  cell_of(CELL_TEXT, "y"), cell_of(CELL_TEXT, "2"),
                                 cell_int(-3), cell_of(CELL_TEXT, "z"), { .type = CELL_NULL } };

    if (!put_note(s, notes, 1, "x") || !put_note(s, notes, 4, NULL) ||
        !scene_write(s, s->one, pairs, rows, 3))
        return;
    struct sought what = { .kind = SOUGHT_ORPHANS,
                           .shape = pairs->shape,
                           .columns = { place_of(pairs, "a"), place_of(pairs, "b") },
                           .count = 2,
                           .in = notes->shape,
                           .keys = { place_of(notes, "id"), place_of(notes, "v") },
                           .most = 100,
                           .shown = 10 };

    if (WORKS(s, find(s, &what, &f, &err)))
        EXPECT(s, f.count == 2 && has_example(s, &f, "a = 2, b = y") &&
                      has_example(s, &f, "a = -3, b = z"));
    /* A row with NULL names nothing. */
    what = (struct sought){ .kind = SOUGHT_ORPHANS,
                            .shape = pairs->shape,
                            .columns = { place_of(pairs, "v") },
                            .count = 1,
                            .in = notes->shape,
                            .keys = { place_of(notes, "v") },
                            .most = 100,
                            .shown = 10 };
    if (WORKS(s, find(s, &what, &f, &err)))
        EXPECT(s, f.count == 2 && has_example(s, &f, "a = 1, b = x, v = 1") &&
                      has_example(s, &f, "a = 2, b = y, v = 2"));
    (void)scene_run(s, s->one, "DROP TABLE driver_pairs");
    (void)scene_run(s, s->one, "DROP TABLE driver_notes");
}

/* ---- points in time ---- */

static void check_older(struct scene *s)
{
    static const struct {
        const char *column;
        int64_t step; /* from one row to the next, in its own unit */
        int64_t first;
    } times[] = { { "c_instant", DAY_US, 20000 * DAY_US },
                  { "c_local", DAY_US, 20000 * DAY_US },
                  { "c_date", 1, 20000 } };
    struct fit *fit = NULL;
    struct found f;

    if (!scene_run(s, s->one, s->dialect->types) || (fit = scene_fit(s, "driver_types")) == NULL)
        return;
    for (int64_t id = 0; id < 4; id++) {
        struct cell *row = ARENA_ARRAY(&s->a, struct cell, fit->count);

        row[0] = cell_int(id);
        for (size_t i = 0; id < 3 && i < sizeof times / sizeof *times; i++) {
            size_t at = scene_at(fit, times[i].column);

            row[at] = (struct cell){ .type = fit->shape->columns[fit->columns[at].at].natural,
                                     .i = times[i].first + id * times[i].step };
        }
        if (!scene_write(s, s->one, fit, row, 1))
            return;
    }
    struct sought what = { .kind = SOUGHT_OLDER,
                           .shape = fit->shape,
                           .count = 1,
                           .before_us = 20002 * DAY_US,
                           .before_local_us = 20002 * DAY_US + 1,
                           .most = 100,
                           .shown = 10 };

    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        what.columns[0] = place_of(fit, times[i].column);
        if (WORKS(s, find(s, &what, &f, &err)))
            EXPECT(s, f.count == (strcmp(times[i].column, "c_local") == 0 ? 3 : 2) &&
                          str_starts(f.examples[0], STR("id = 0, c_")));
    }
    what.columns[0] = place_of(fit, "c_int");
    (void)FAILS(s, ERR_CONFIG, find(s, &what, &f, &err));
    (void)scene_run(s, s->one, "DROP TABLE driver_types");
}

/* ---- values of every type, shown and compared ---- */

static void check_find_types(struct scene *s)
{
    static const struct {
        const char *column, *text;
    } values[] = {
        { "c_int", "-7" },
        { "c_dec", "1.5" },
        { "c_float", "0.5" },
        { "c_text", "x' OR '1'='1" },
        { "c_bytes", "abc" },
        { "c_bool", "1" },
        { "c_instant", "2026-11-19T07:00:00Z" },
        { "c_local", "2026-11-19T07:00:00" },
        { "c_date", "2026-11-19" },
        { "c_time", "07:00:00" },
        { "c_uuid", "123e4567-e89b-12d3-a456-426614174000" },
    };
    struct fit *fit = NULL;
    struct found f;

    if (!scene_run(s, s->one, s->dialect->types) || (fit = scene_fit(s, "driver_types")) == NULL)
        return;
    for (int64_t id = 1; id <= 2; id++) {
        struct cell *row = ARENA_ARRAY(&s->a, struct cell, fit->count);

        row[0] = cell_int(id);
        for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
            struct sought_value v;

            if (!WORKS(s, sought_value_of(fit->shape, str_of(values[i].column),
                                          str_of(values[i].text), &s->a, &v, &err)))
                return;
            row[scene_at(fit, values[i].column)] = v.value;
        }
        if (!scene_write(s, s->one, fit, row, 1))
            return;
    }
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        struct sought_value v;
        struct sought what = { .kind = SOUGHT_DUPLICATES,
                               .shape = fit->shape,
                               .columns = { place_of(fit, values[i].column) },
                               .count = 1,
                               .values = &v,
                               .value_count = 1,
                               .most = 10,
                               .shown = 10 };

        if (!WORKS(s, sought_value_of(fit->shape, str_of(values[i].column), str_of(values[i].text),
                                      &s->a, &v, &err)) ||
            !WORKS(s, find(s, &what, &f, &err)))
            return;
        if (!EXPECT(s, f.count == 1 && f.example_count == 1))
            scene_fail(s, __FILE__, __LINE__, values[i].column, NULL);
    }
    (void)scene_run(s, s->one, "DROP TABLE driver_types");
}

/* ---- names that mean harm, and no key ---- */

static void check_find_hostile(struct scene *s)
{
    struct fit *fit = NULL;
    struct shape *shape;
    struct found f;

    if (!scene_run(s, s->one, s->dialect->hostile) || !scene_run(s, s->one, s->dialect->keyless) ||
        (fit = scene_fit(s, HOSTILE_TABLE)) == NULL ||
        !WORKS(s, s->type->describe(s->one, STR("driver_keyless"), &s->a, &shape, &err)))
        return;
    const struct cell rows[] = { cell_int(1), cell_of(CELL_TEXT, "x'; --"), cell_int(2),
                                 cell_of(CELL_TEXT, "x'; --") };

    if (!scene_write(s, s->one, fit, rows, 2) ||
        !scene_run(s, s->one, "INSERT INTO driver_keyless VALUES ('a'), ('x''; --')"))
        return;
    size_t column = fit->columns[1].at;
    struct sought what = { .kind = SOUGHT_DUPLICATES,
                           .shape = fit->shape,
                           .columns = { column },
                           .count = 1,
                           .most = 10,
                           .shown = 10 };

    if (WORKS(s, find(s, &what, &f, &err)))
        EXPECT(s, f.count == 1);
    what.kind = SOUGHT_ORPHANS;
    what.in = shape;
    what.keys[0] = 0;
    if (WORKS(s, find(s, &what, &f, &err)))
        EXPECT(s, f.count == 0);
    what = (struct sought){ .kind = SOUGHT_ORPHANS,
                            .shape = shape,
                            .columns = { 0 },
                            .count = 1,
                            .in = fit->shape,
                            .keys = { column },
                            .most = 10,
                            .shown = 10 };
    if (WORKS(s, find(s, &what, &f, &err)))
        EXPECT(s, f.count == 1 && has_example(s, &f, "v = a"));
    (void)scene_run(s, s->one, "DROP TABLE driver_keyless");
    (void)scene_run(s, s->one, arena_printf(&s->a, "DROP TABLE %s", s->dialect->quoted));
}

/* A statement that is no good leaves a connection that is. */
static void check_find_again(struct scene *s)
{
    struct fit *fit = NULL;
    struct found f;

    if (!scene_run(s, s->one, s->dialect->notes) || (fit = scene_fit(s, "driver_notes")) == NULL)
        return;
    const struct sought what = {
        .kind = SOUGHT_ROWS, .shape = fit->shape, .most = 10, .shown = 10
    };

    (void)scene_run(s, s->one, "DROP TABLE driver_notes");
    (void)FAILS(s, ERR_CONFIG, find(s, &what, &f, &err));
    EXPECT(s, !s->type->broken(s->one));
    if (!scene_run(s, s->one, s->dialect->notes) || !put_note(s, fit, 1, "a"))
        return;
    if (WORKS(s, find(s, &what, &f, &err)))
        EXPECT(s, f.count == 1);
    (void)scene_run(s, s->one, "DROP TABLE driver_notes");
}

const struct check checks_of_finding[] = {
    { "duplicates, and rows with some values", check_duplicates },
    { "orphans", check_orphans },
    { "rows that are older", check_older },
    { "values of every type are shown and compared", check_find_types },
    { "names that mean harm, and no key", check_find_hostile },
    { "a table that is gone, and there again", check_find_again },
    { 0 },
};
