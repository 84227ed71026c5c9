/* check_writing.c - transactions of a driver, rows that are refused, and marks. */
#include "scene.h"

static bool has_notes(struct scene *s, const struct fit *fit, size_t count)
{
    struct scene_rows rows;

    return scene_read(s, s->two, fit, NULL, NULL, SIZE_MAX, &rows) &&
           EXPECT(s, rows.count == count);
}

static void check_rollback(struct scene *s)
{
    struct fit *fit = scene_fit(s, "driver_notes");
    struct cell row[2] = { cell_int(10), cell_of(CELL_TEXT, "gone") };

    if (fit == NULL || !WORKS(s, s->type->begin(s->one, DATABASE_WRITE, &err)) ||
        !scene_write_open(s, s->one, fit, row, 1))
        return;
    s->type->rollback(s->one);
    s->type->rollback(s->one); /* nothing open is fine */
    (void)has_notes(s, fit, 3);
}

static void check_savepoints(struct scene *s)
{
    struct fit *fit = scene_fit(s, "driver_notes");
    struct cell rows[6] = { cell_int(20), cell_of(CELL_TEXT, "a"),
                            cell_int(21), cell_of(CELL_TEXT, "b"),
                            cell_int(22), cell_of(CELL_TEXT, "c") };

    if (fit == NULL || !WORKS(s, s->type->begin(s->one, DATABASE_WRITE, &err)) ||
        !WORKS(s, s->type->save(s->one, &err)) || !scene_write_open(s, s->one, fit, &rows[0], 1) ||
        !WORKS(s, s->type->save(s->one, &err)) || !scene_write_open(s, s->one, fit, &rows[2], 1) ||
        !WORKS(s, s->type->back(s->one, &err)) || !scene_write_open(s, s->one, fit, &rows[4], 1) ||
        !WORKS(s, s->type->back(s->one, &err)) || !scene_write_open(s, s->one, fit, &rows[4], 1) ||
        !WORKS(s, s->type->commit(s->one, &err)))
        return;
    (void)has_notes(s, fit, 5); /* 20 and 22 beside the three */
}

static void check_removing(struct scene *s)
{
    struct fit *fit = scene_fit(s, "driver_notes");
    struct cell keys[3] = { cell_int(20), cell_int(22), cell_int(4711) };
    int64_t removed = -1;

    if (fit == NULL || !WORKS(s, s->type->begin(s->one, DATABASE_WRITE, &err)) ||
        !WORKS(s, s->type->remove(s->one, fit, keys, 3, &removed, &err)) ||
        !WORKS(s, s->type->commit(s->one, &err)))
        return;
    EXPECT(s, removed == 2);
    (void)has_notes(s, fit, 3);
}

/* ---- rows that are refused ---- */

static bool refuses(struct scene *s, const struct fit *fit, struct cell n, const char *u)
{
    struct cell row[3] = { cell_int(90), n, cell_of(CELL_TEXT, u) };

    return WORKS(s, s->type->save(s->one, &err)) &&
           FAILS(s, ERR_PERMANENT, s->type->upsert(s->one, fit, row, 1, &err)) &&
           WORKS(s, s->type->back(s->one, &err));
}

static void check_refused(struct scene *s)
{
    struct cell null = { .type = CELL_NULL };
    struct cell rows[9] = { cell_int(1), cell_int(1), cell_of(CELL_TEXT, "one"),
                            cell_int(2), cell_int(2), cell_of(CELL_TEXT, "two"),
                            cell_int(3), cell_int(3), cell_of(CELL_TEXT, "one") };
    struct scene_rows got;
    struct fit *fit;

    if (!scene_run(s, s->one, s->dialect->strict) ||
        (fit = scene_fit(s, "driver_strict")) == NULL ||
        !WORKS(s, s->type->begin(s->one, DATABASE_WRITE, &err)) ||
        !scene_write_open(s, s->one, fit, rows, 1) || !refuses(s, fit, null, "null") ||
        !refuses(s, fit, cell_int(5), "one") || /* another row has it */
        !WORKS(s, s->type->save(s->one, &err)) ||
        !FAILS(s, ERR_PERMANENT, s->type->upsert(s->one, fit, rows, 3, &err)) ||
        !WORKS(s, s->type->back(s->one, &err)) || !scene_write_open(s, s->one, fit, rows, 2) ||
        !WORKS(s, s->type->commit(s->one, &err)) ||
        !scene_read(s, s->two, fit, NULL, NULL, SIZE_MAX, &got))
        return;
    EXPECT(s, got.count == 2);
}

/* ---- marks ---- */

static bool mark_is(struct scene *s, struct database *d, const struct mark *want)
{
    struct mark is;
    bool has = false;

    if (!WORKS(s, s->type->begin(d, DATABASE_READ, &err)) ||
        !WORKS(s, s->type->mark_get(d, STR("l'ink"), STR("t\"able"), &s->a, &has, &is, &err)) ||
        !WORKS(s, s->type->commit(d, &err)))
        return false;
    if (want == NULL)
        return EXPECT(s, !has);
    return EXPECT(s, has) && EXPECT(s, str_eq(is.epoch, want->epoch)) &&
           EXPECT(s, str_eq(is.life, want->life)) && EXPECT(s, is.phase == want->phase) &&
           EXPECT(s, is.place.x == want->place.x) &&
           EXPECT(s, str_eq(is.place.key, want->place.key)) &&
           EXPECT(s, str_eq(is.load_key, want->load_key)) && EXPECT(s, is.fence == want->fence) &&
           EXPECT(s, is.batches == want->batches) && EXPECT(s, is.rows == want->rows) &&
           EXPECT(s, is.at_us == want->at_us);
}

static bool mark_write(struct scene *s, const struct mark *mark)
{
    bool has;
    struct mark was;

    return WORKS(s, s->type->begin(s->one, DATABASE_WRITE, &err)) &&
           WORKS(s, s->type->mark_get(s->one, STR("l'ink"), STR("t\"able"), &s->a, &has, &was,
                                      &err)) &&
           WORKS(s, s->type->mark_put(s->one, STR("l'ink"), STR("t\"able"), mark, &err));
}

static void check_marks(struct scene *s)
{
    struct mark mark = { .epoch = STR("e'1"),
                         .life = STR(""),
                         .phase = MARK_FOLLOW,
                         .place = { .x = INT64_MAX - 1, .key = STR("\0\xff\x80k") },
                         .load_key = STR(""),
                         .fence = 7,
                         .batches = INT64_MAX,
                         .rows = 0,
                         .at_us = 1700000000123456 };
    struct mark next = { .epoch = STR("e2"),
                         .life = STR("\xc3\xa4"),
                         .phase = MARK_LOAD_OVER,
                         .place = { .x = 0, .key = STR("") },
                         .load_key = STR("\0\0"),
                         .fence = 8 };
    struct ddl ddl;
    bool has;

    if (WORKS(s, s->type->begin(s->one, DATABASE_READ, &err)))
        (void)FAILS(
            s, ERR_CONFIG,
            s->type->mark_get(s->one, STR("l'ink"), STR("t\"able"), &s->a, &has, &next, &err));
    s->type->rollback(s->one);
    if (!WORKS(s, s->type->plan_mark(s->one, &s->a, &ddl, &err)) || !EXPECT(s, ddl.count > 0) ||
        !scene_run_all(s, s->one, &ddl) || !scene_run_all(s, s->one, &ddl) ||
        !mark_is(s, s->one, NULL))
        return;
    if (!mark_write(s, &mark) || !mark_is(s, s->two, NULL) ||
        !WORKS(s, s->type->commit(s->one, &err)) || !mark_is(s, s->two, &mark))
        return;
    if (!mark_write(s, &next))
        return;
    s->type->rollback(s->one);
    if (!mark_is(s, s->two, &mark) || !mark_write(s, &next) ||
        !WORKS(s, s->type->commit(s->one, &err)) || !mark_is(s, s->two, &next))
        return;
    (void)(WORKS(s, s->type->begin(s->one, DATABASE_WRITE, &err)) &&
           WORKS(s, s->type->mark_drop(s->one, STR("l'ink"), STR("t\"able"), &err)) &&
           WORKS(s, s->type->commit(s->one, &err)) && mark_is(s, s->two, NULL));
}

/* What takes marks away again leaves those of others. */
static void check_marks_removed(struct scene *s)
{
    struct mark mark = {
        .epoch = STR("e"), .life = STR(""), .place = { .key = STR("") }, .load_key = STR("")
    };
    struct ddl one, other, again;
    struct mark was;
    bool has = false;

    if (!mark_write(s, &mark) ||
        !WORKS(s, s->type->mark_put(s->one, STR("other"), STR("t"), &mark, &err)) ||
        !WORKS(s, s->type->commit(s->one, &err)) ||
        !WORKS(s, s->type->plan_mark_removal(s->one, STR("l'ink"), STR("t\"able"), &s->a, &one,
                                             &err)) ||
        !WORKS(s,
               s->type->plan_mark_removal(s->one, STR("other"), STR("t"), &s->a, &other, &err)) ||
        !scene_run_all(s, s->one, &one) || !mark_is(s, s->one, NULL) ||
        !scene_run_all(s, s->one, &other))
        return;
    if (WORKS(s, s->type->begin(s->one, DATABASE_READ, &err)))
        (void)FAILS(s, ERR_CONFIG,
                    s->type->mark_get(s->one, STR("other"), STR("t"), &s->a, &has, &was, &err));
    s->type->rollback(s->one);
    (void)(WORKS(s,
                 s->type->plan_mark_removal(s->one, STR("other"), STR("t"), &s->a, &again, &err)) &&
           scene_run_all(s, s->one, &again));
}

const struct check checks_of_writing[] = {
    { "a transaction that is rolled back", check_rollback },
    { "savepoints", check_savepoints },
    { "removing rows, and keys that are not there", check_removing },
    { "rows that are refused leave the transaction usable", check_refused },
    { "marks", check_marks },
    { "the table of marks goes with the last of them", check_marks_removed },
    { 0 }
};
