/* check_changes.c - the changes that a driver captures: which, in which order, and up to where. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "scene.h"

static const struct capture journal = { .kind = CAPTURE_JOURNAL };

static bool look_is(struct scene *s, const struct fit *fit, enum capture_state state,
                    struct capture_look *ret)
{
    struct capture_look look;

    if (!WORKS(s, s->type->look(s->one, fit, &journal, &s->a, &look, &err)) ||
        !EXPECT(s, look.state == state) ||
        !EXPECT(s, (look.why[0] == '\0') == (state == CAPTURE_IS_FINE)))
        return false;
    if (ret != NULL)
        *ret = look;
    return true;
}

static void check_install(struct scene *s)
{
    struct fit *fit = scene_fit(s, "driver_notes");
    struct capture_look look, again;
    struct ddl ddl, more;

    if (fit == NULL || !look_is(s, fit, CAPTURE_IS_MISSING, NULL) ||
        !WORKS(s, s->type->plan_capture(s->one, fit, &journal, &s->a, &ddl, &err)) ||
        !WORKS(s, s->type->plan_capture(s->two, fit, &journal, &s->a, &more, &err)) ||
        !EXPECT(s, ddl.count > 0 && ddl.count == more.count))
        return;
    for (size_t i = 0; i < ddl.count; i++)
        EXPECT(s, str_eq(ddl.statements[i].text, more.statements[i].text));
    if (!scene_run_all(s, s->one, &ddl) || !look_is(s, fit, CAPTURE_IS_FINE, &look))
        return;
    EXPECT(s, look.epoch.len > 0 && look.epoch.len <= 200 && look.life.len <= 200);
    if (look_is(s, fit, CAPTURE_IS_FINE, &again))
        EXPECT(s, str_eq(look.epoch, again.epoch) && str_eq(look.life, again.life));
    /* A run that was cut off is made again as a whole. */
    (void)(scene_run_all(s, s->one, &ddl) && look_is(s, fit, CAPTURE_IS_FINE, NULL));
}

static void check_changes(struct scene *s)
{
    struct fit *fit = scene_fit(s, "driver_notes");
    struct change_place from;
    struct scene_changes c;
    struct cell two = cell_int(2);

    if (fit == NULL || !scene_now(s, fit, &from) || !scene_changes(s, fit, &from, SIZE_MAX, &c) ||
        !EXPECT(s, c.count == 0) || !scene_note(s, s->two, fit, 100, "a") ||
        !scene_note(s, s->two, fit, 101, "b") || !scene_note(s, s->two, fit, 100, "c") ||
        !scene_remove(s, s->two, fit, &two, 1) || !scene_changes(s, fit, &from, SIZE_MAX, &c) ||
        !EXPECT(s, c.count == 3))
        return;
    EXPECT(s, c.all[0].cells[0].i == 101 && c.all[1].cells[0].i == 100);
    EXPECT(s, !c.all[1].gone && str_is(c.all[1].cells[1].s, "c"));
    EXPECT(s, c.all[2].cells[0].i == 2 && c.all[2].gone);
    EXPECT(s, c.all[0].origin.len == 0);
}

/* The row of a change is as it is now, whatever the change was. */
static void check_rows_as_they_are(struct scene *s)
{
    struct fit *fit = scene_fit(s, "driver_notes");
    struct cell keys[2] = { cell_int(110), cell_int(111) };
    struct change_place from;
    struct scene_changes c;

    if (fit == NULL || !scene_now(s, fit, &from) || !scene_note(s, s->two, fit, 110, "x") ||
        !scene_remove(s, s->two, fit, &keys[0], 1) || !scene_note(s, s->two, fit, 110, "back") ||
        !scene_note(s, s->two, fit, 111, "y") || !scene_remove(s, s->two, fit, &keys[1], 1) ||
        !scene_changes(s, fit, &from, SIZE_MAX, &c) || !EXPECT(s, c.count == 2))
        return;
    EXPECT(s, !c.all[0].gone && str_is(c.all[0].cells[1].s, "back"));
    EXPECT(s, c.all[1].gone);
}

static void check_key_change(struct scene *s)
{
    struct fit *fit = scene_fit(s, "driver_notes");
    const struct scene_change *old, *new;
    struct change_place from;
    struct scene_changes c;

    if (fit == NULL || !scene_now(s, fit, &from) ||
        !scene_run(s, s->two, "UPDATE driver_notes SET id = id + 1000 WHERE id = 100") ||
        !scene_changes(s, fit, &from, SIZE_MAX, &c) || !EXPECT(s, c.count == 2) ||
        !EXPECT(s, (old = scene_change_of(&c, 100)) != NULL) ||
        !EXPECT(s, (new = scene_change_of(&c, 1100)) != NULL))
        return;
    EXPECT(s, old->gone && !new->gone);
    EXPECT(s, str_is(new->cells[1].s, "c"));
}

static void check_many_at_once(struct scene *s)
{
    struct fit *fit = scene_fit(s, "driver_notes");
    struct change_place from, at;
    struct scene_changes c;
    struct cell rows[200];
    size_t seen = 0;

    for (size_t i = 0; i < 100; i++) {
        rows[i * 2] = cell_int(3000 - (int64_t)i);
        rows[i * 2 + 1] = cell_of(CELL_TEXT, "m");
    }
    if (fit == NULL || !scene_now(s, fit, &from) || !scene_write(s, s->two, fit, rows, 100))
        return;
    at = from;
    do { /* in windows, each behind the last change of the one before */
        int64_t left = -1;

        if (!scene_changes(s, fit, &at, 7, &c) || !EXPECT(s, c.count <= 7) ||
            !WORKS(s, s->type->begin(s->one, DATABASE_READ, &err)) ||
            !WORKS(s, s->type->backlog(s->one, fit, &at, 1000, &left, &err)) ||
            !WORKS(s, s->type->commit(s->one, &err)) || !EXPECT(s, left == (int64_t)(100 - seen)))
            return;
        seen += c.count;
        if (c.count > 0)
            at = (struct change_place){ .x = c.all[c.count - 1].x, .key = c.all[c.count - 1].key };
    } while (c.count > 0);
    EXPECT(s, seen == 100);
    if (scene_run(s, s->two, "UPDATE driver_notes SET v = 'all' WHERE id > 2900") &&
        scene_changes(s, fit, &at, SIZE_MAX, &c))
        EXPECT(s, c.count == 100);
    int64_t most = -1;

    if (WORKS(s, s->type->begin(s->one, DATABASE_READ, &err)) &&
        WORKS(s, s->type->backlog(s->one, fit, &from, 30, &most, &err)))
        EXPECT(s, most == 30);
}

static void check_rolled_back(struct scene *s)
{
    struct fit *fit = scene_fit(s, "driver_notes");
    struct cell rows[4] = { cell_int(120), cell_of(CELL_TEXT, "r"), cell_int(121),
                            cell_of(CELL_TEXT, "r") };
    struct change_place from, again;
    struct scene_changes c;

    if (fit == NULL || !scene_now(s, fit, &from) ||
        !WORKS(s, s->type->begin(s->two, DATABASE_WRITE, &err)) ||
        !scene_write_open(s, s->two, fit, rows, 1))
        return;
    s->type->rollback(s->two);
    /* A server that crashes gives numbers away again that nothing committed has. */
    if (!scene_now(s, fit, &again) || !EXPECT(s, again.x == from.x) ||
        !WORKS(s, s->type->begin(s->two, DATABASE_WRITE, &err)) ||
        !WORKS(s, s->type->save(s->two, &err)) || !scene_write_open(s, s->two, fit, rows, 1) ||
        !WORKS(s, s->type->back(s->two, &err)) || !scene_write_open(s, s->two, fit, &rows[2], 1) ||
        !WORKS(s, s->type->commit(s->two, &err)) || !scene_changes(s, fit, &from, SIZE_MAX, &c))
        return;
    EXPECT(s, c.count == 1 && c.all[0].cells[0].i == 121);
}

/* ---- transactions that are open ---- */

struct counting {
    size_t all, open;
};

static bool counts_open(void *arg, const struct change *change, struct err *err)
{
    struct counting *n = arg;

    (void)err;
    n->all++;
    n->open += change->cells[0].i == 130 || change->cells[0].i == 131;
    return true;
}

/* What is not committed does not come, and when it is, it comes: nobody has gone past it.  A driver
 * may also wait for it, and give up. */
static void check_open_transaction(struct scene *s)
{
    struct fit *fit = scene_fit(s, "driver_notes");
    struct cell rows[4] = { cell_int(130), cell_of(CELL_TEXT, "o"), cell_int(131),
                            cell_of(CELL_TEXT, "o") };
    struct counting n = { 0 };
    struct change_place from;
    struct scene_changes c;
    struct ceiling ceiling;
    struct err why = { 0 };

    if (fit == NULL || !scene_now(s, fit, &from) ||
        !WORKS(s, s->type->begin(s->two, DATABASE_WRITE, &err)) ||
        !scene_write_open(s, s->two, fit, rows, 1))
        return;
    bool ok = s->type->ceiling(s->one, fit, &journal, &ceiling, &why) &&
              s->type->begin(s->one, DATABASE_READ, &why) &&
              s->type->changes(s->one, fit, &journal, &from, ceiling.below, SIZE_MAX, counts_open,
                               &n, &why);

    s->type->rollback(s->one);
    EXPECT(s, ok || why.kind == ERR_TRANSIENT);
    EXPECT(s, n.open == 0);
    if (ok && ceiling.below > from.x) /* so far a link would go on */
        from = (struct change_place){ .x = ceiling.below, .key = STR("") };
    if (scene_write_open(s, s->two, fit, &rows[2], 1) && WORKS(s, s->type->commit(s->two, &err)) &&
        scene_changes(s, fit, &from, SIZE_MAX, &c))
        EXPECT(s, scene_change_of(&c, 130) != NULL && scene_change_of(&c, 131) != NULL);
}

/* ---- origin ---- */

static bool note_from(struct scene *s, const struct fit *fit, const char *origin, int64_t id)
{
    struct cell row[2] = { cell_int(id), cell_of(CELL_TEXT, "w") };

    return WORKS(s, s->type->begin(s->one, DATABASE_WRITE, &err)) &&
           WORKS(s, s->type->origin(s->one, str_of(origin), 0, &err)) &&
           scene_write_open(s, s->one, fit, row, 1) && WORKS(s, s->type->commit(s->one, &err));
}

static void check_origin(struct scene *s)
{
    struct fit *fit = scene_fit(s, "driver_notes");
    struct cell row[2] = { cell_int(143), cell_of(CELL_TEXT, "w") };
    struct change_place from;
    struct scene_changes c;

    if (fit == NULL || !scene_now(s, fit, &from) || !note_from(s, fit, "ber'lin", 140) ||
        !note_from(s, fit, "", 141) || !scene_note(s, s->two, fit, 142, "mine") ||
        !WORKS(s, s->type->begin(s->one, DATABASE_WRITE, &err)) ||
        !WORKS(s, s->type->origin(s->one, STR("gone"), 0, &err)))
        return;
    s->type->rollback(s->one);
    if (!scene_write(s, s->one, fit, row, 1) || !scene_changes(s, fit, &from, SIZE_MAX, &c) ||
        !EXPECT(s, c.count == 4))
        return;
    EXPECT(s, str_is(scene_change_of(&c, 140)->origin, "ber'lin"));
    for (int64_t id = 141; id <= 143; id++)
        EXPECT(s, scene_change_of(&c, id)->origin.len == 0);
    /* The place of the last change is the newest one. */
    if (note_from(s, fit, "munich", 142) && scene_changes(s, fit, &from, SIZE_MAX, &c))
        EXPECT(s, c.count == 4 && str_is(scene_change_of(&c, 142)->origin, "munich"));
}

/* ---- the newest changes of some keys ---- */

struct newest {
    size_t count;
    int64_t ids, x; /* sum of the keys; the largest x */
    bool munich;    /* 142 came from there */
};

static bool newest_take(void *arg, const struct change *change, struct err *err)
{
    struct newest *n = arg;

    (void)err;
    n->count++;
    n->ids += change->cells[0].i;
    n->x = change->x > n->x ? change->x : n->x;
    n->munich = n->munich || (change->cells[0].i == 142 && str_is(change->origin, "munich"));
    return true;
}

/* Of more keys than a statement takes; and a row of a key that is there is not added. */
static void check_newest_of_keys(struct scene *s)
{
    struct fit *fit = scene_fit(s, "driver_notes");
    struct cell keys[300], row[2] = { cell_int(143), cell_of(CELL_TEXT, "again") };
    struct capture_look look;
    struct change_place now;
    struct newest n = { 0 };

    for (size_t i = 0; i < 300; i++)
        keys[i] = cell_int(i < 4 ? 140 + (int64_t)i : 500000 + (int64_t)i);
    if (fit == NULL || !scene_now(s, fit, &now) ||
        !WORKS(s, s->type->begin(s->one, DATABASE_READ, &err)) ||
        !WORKS(s, s->type->changes_of(s->one, fit, keys, 300, newest_take, &n, &err)) ||
        !WORKS(s, s->type->commit(s->one, &err)))
        return;
    EXPECT(s, n.count == 4 && n.ids == 140 + 141 + 142 + 143 && n.munich && n.x < now.x);
    if (!WORKS(s, s->type->begin(s->one, DATABASE_WRITE, &err)) ||
        !WORKS(s, s->type->save(s->one, &err)) ||
        !FAILS(s, ERR_PERMANENT, s->type->add(s->one, fit, row, 1, &err)) ||
        !WORKS(s, s->type->back(s->one, &err)))
        return;
    row[0] = cell_int(144);
    if (WORKS(s, s->type->add(s->one, fit, row, 1, &err)) &&
        WORKS(s, s->type->commit(s->one, &err)) && look_is(s, fit, CAPTURE_IS_FINE, &look))
        EXPECT(s, look.identity.len > 0 && look.identity.len <= 64);
}

/* ---- one key, and pruning ---- */

static bool last_take(void *arg, const struct change *change, struct err *err_of)
{
    (void)err_of;
    *(int64_t *)arg = change->x;
    return true;
}

static bool last_is(struct scene *s, const struct fit *fit, int64_t id, bool has, int64_t x)
{
    struct cell key = cell_int(id);
    int64_t is = 0;

    return WORKS(s, s->type->begin(s->one, DATABASE_READ, &err)) &&
           WORKS(s, s->type->changes_of(s->one, fit, &key, 1, last_take, &is, &err)) &&
           WORKS(s, s->type->commit(s->one, &err)) && EXPECT(s, (is != 0) == has) &&
           EXPECT(s, !has || is == x);
}

static bool prune(struct scene *s, const struct fit *fit, int64_t below, int64_t older_us,
                  int64_t most, int64_t *ret)
{
    return WORKS(s, s->type->begin(s->one, DATABASE_WRITE, &err)) &&
           WORKS(s, s->type->prune(s->one, fit, below, older_us, most, ret, &err)) &&
           WORKS(s, s->type->commit(s->one, &err));
}

static bool pruned_is(struct scene *s, const struct fit *fit, int64_t x)
{
    struct capture_look look;
    int64_t is = -1;

    return WORKS(s, s->type->begin(s->one, DATABASE_READ, &err)) &&
           WORKS(s, s->type->pruned(s->one, fit, &is, &err)) &&
           WORKS(s, s->type->commit(s->one, &err)) && EXPECT(s, is == x) &&
           look_is(s, fit, CAPTURE_IS_FINE, &look) && EXPECT(s, look.pruned == x);
}

/* Only what was removed goes; what a program holds at the moment stays. */
static void check_pruning(struct scene *s)
{
    struct fit *fit = scene_fit(s, "driver_notes");
    struct cell keys[] = { cell_int(150), cell_int(151), cell_int(152) };
    struct cell again[2] = { cell_int(151), cell_of(CELL_TEXT, "again") };
    struct change_place from;
    struct scene_changes c;
    int64_t removed = -1, all = 0, newest;

    if (fit == NULL || !pruned_is(s, fit, 0) || !scene_now(s, fit, &from))
        return;
    for (int64_t id = 150; id <= 153; id++)
        if (!scene_note(s, s->two, fit, id, "p"))
            return;
    if (!scene_remove(s, s->two, fit, keys, 3) || !scene_changes(s, fit, &from, SIZE_MAX, &c) ||
        !EXPECT(s, c.count == 4) || !last_is(s, fit, 152, true, scene_change_of(&c, 152)->x) ||
        !last_is(s, fit, 4711, false, 0) || s->type->prune == NULL)
        return;
    newest = scene_change_of(&c, 152)->x;
    if (!prune(s, fit, INT64_MAX, INT64_C(60000000), 50, &removed) || !EXPECT(s, removed == 0) ||
        !prune(s, fit, 1, -1000000, 50, &removed) || !EXPECT(s, removed == 0) ||
        !pruned_is(s, fit, 0) || !WORKS(s, s->type->begin(s->two, DATABASE_WRITE, &err)) ||
        !scene_write_open(s, s->two, fit, again, 1))
        return;
    for (size_t turn = 0; removed != 0 || turn == 0; turn++) {
        if (!prune(s, fit, INT64_MAX, -1000000, 2, &removed) ||
            !EXPECT(s, removed <= 2 && turn < 100))
            return;
        all += removed;
    }
    EXPECT(s, all >= 2);
    if (!WORKS(s, s->type->commit(s->two, &err)) || !pruned_is(s, fit, newest) ||
        !last_is(s, fit, 150, false, 0) || !last_is(s, fit, 152, false, 0) ||
        !scene_changes(s, fit, &from, SIZE_MAX, &c))
        return;
    EXPECT(s, c.count == 2 && !scene_change_of(&c, 151)->gone && !scene_change_of(&c, 153)->gone);
}

/* ---- when ---- */

enum { APART_US = 60000000 };

static void check_time(struct scene *s)
{
    struct fit *fit = scene_fit(s, "driver_notes");
    struct cell row[2] = { cell_int(161), cell_of(CELL_TEXT, "w") };
    struct capture_look look;
    struct change_place from;
    struct scene_changes c;
    int64_t now_us = clock_wall_us();

    if (fit == NULL || !scene_now(s, fit, &from) || !look_is(s, fit, CAPTURE_IS_FINE, &look) ||
        !EXPECT(s, llabs(look.now_us - now_us) < APART_US) ||
        !scene_note(s, s->two, fit, 160, "now") ||
        !WORKS(s, s->type->begin(s->one, DATABASE_WRITE, &err)) ||
        !WORKS(s, s->type->origin(s->one, STR(""), 4711, &err)) ||
        !scene_write_open(s, s->one, fit, row, 1) || !WORKS(s, s->type->commit(s->one, &err)) ||
        !scene_note(s, s->one, fit, 162, "now") || !scene_changes(s, fit, &from, SIZE_MAX, &c) ||
        !EXPECT(s, c.count == 3))
        return;
    EXPECT(s, llabs(scene_change_of(&c, 160)->at_us - now_us) < APART_US);
    EXPECT(s, scene_change_of(&c, 161)->at_us == 4711);
    EXPECT(s, scene_change_of(&c, 162)->at_us >= scene_change_of(&c, 160)->at_us);
    EXPECT(s, llabs(scene_change_of(&c, 162)->at_us - now_us) < APART_US);
}

/* ---- keys of more than one column ---- */

static void check_text_keys(struct scene *s)
{
    struct fit *fit = scene_fit(s, "driver_pairs");
    struct cell row[3] = { cell_int(9), cell_of(CELL_TEXT, "a 'b'"), cell_of(CELL_TEXT, "v") };
    struct change_place from, at;
    struct scene_changes c;

    if (fit == NULL || !scene_install(s, fit) || !look_is(s, fit, CAPTURE_IS_FINE, NULL) ||
        !scene_now(s, fit, &from) || !scene_write(s, s->two, fit, row, 1) ||
        !scene_run(s, s->two, "UPDATE driver_pairs SET b = 'A' WHERE a = 9") ||
        !scene_run(s, s->two, "UPDATE driver_pairs SET v = 'w' WHERE a = 1") ||
        !scene_changes(s, fit, &from, SIZE_MAX, &c) || !EXPECT(s, c.count == SCENE_TEXTS + 2))
        return;
    EXPECT(s, c.all[0].gone + c.all[1].gone == 1);

    struct newest n = { 0 };

    row[1] = cell_of(CELL_TEXT, "A");
    if (WORKS(s, s->type->begin(s->one, DATABASE_READ, &err)) &&
        WORKS(s, s->type->changes_of(s->one, fit, row, 1, newest_take, &n, &err)) &&
        WORKS(s, s->type->commit(s->one, &err)))
        EXPECT(s, n.count == 1 && n.ids == 9);
    at = from;
    for (size_t i = 0; i < c.count; i++) {
        struct scene_changes one;

        if (!scene_changes(s, fit, &at, 1, &one) || !EXPECT(s, one.count == 1) ||
            !EXPECT(s, str_eq(one.all[0].key, c.all[i].key)))
            return;
        at = (struct change_place){ .x = one.all[0].x, .key = one.all[0].key };
    }
    (void)scene_uninstall(s, fit);
}

/* ---- taking it away ---- */

static void check_removal(struct scene *s)
{
    struct fit *fit = scene_fit(s, "driver_notes"), *pairs = scene_fit(s, "driver_pairs");
    struct capture_look before, now;
    struct shape *shape;

    if (fit == NULL || pairs == NULL || !look_is(s, fit, CAPTURE_IS_FINE, &before) ||
        !look_is(s, pairs, CAPTURE_IS_MISSING, NULL) || !scene_install(s, pairs) ||
        !scene_uninstall(s, fit) || !look_is(s, fit, CAPTURE_IS_MISSING, NULL) ||
        !look_is(s, pairs, CAPTURE_IS_FINE, NULL) || !scene_note(s, s->two, fit, 160, "free") ||
        !scene_uninstall(s, pairs))
        return;
    (void)FAILS(s, ERR_CONFIG,
                s->type->describe(s->one, STR("waybill_capture"), &s->a, &shape, &err));
    /* What happened meanwhile was missed: it is another life, or another history. */
    if (scene_install(s, fit) && look_is(s, fit, CAPTURE_IS_FINE, &now))
        EXPECT(s, !str_eq(before.life, now.life) || !str_eq(before.epoch, now.epoch));
    (void)(scene_uninstall(s, fit) && scene_uninstall(s, fit));
}

const struct check checks_of_changes[] = {
    { "capture is installed, and again", check_install },
    { "changes, in their order", check_changes },
    { "rows of changes are as they are now", check_rows_as_they_are },
    { "a key that changes", check_key_change },
    { "many at once, window by window", check_many_at_once },
    { "what was rolled back is no change", check_rolled_back },
    { "nothing goes past a transaction that is open", check_open_transaction },
    { "origin", check_origin },
    { "the newest changes of keys, and rows that are added", check_newest_of_keys },
    { "the last change of a key, and pruning", check_pruning },
    { "the time of a change", check_time },
    { "changes of keys of a number and a text", check_text_keys },
    { "capture is taken away", check_removal },
    { 0 }
};
