/* check_names.c - what is not there, what has a name that means harm, and a connection that is
 * cut. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "scene.h"

static bool is_not_described(struct scene *s, struct str name)
{
    struct shape *shape;
    struct err err = { 0 };

    if (!s->type->describe(s->one, name, &s->a, &shape, &err) && err.kind == ERR_CONFIG)
        return true;
    scene_fail(s, __FILE__, __LINE__,
               arena_printf(&s->a, "%.*s is no ERR_CONFIG", STR_ARG(str_first(name, 60))), &err);
    return false;
}

static void check_not_there(struct scene *s)
{
    static const char *const names[] = { "driver_none",
                                         "",
                                         ".",
                                         "..",
                                         "driver_notes.",
                                         ".driver_notes",
                                         "none.driver_notes",
                                         "a.b.c.d",
                                         "driver_notes;",
                                         "driver_notes --",
                                         "'",
                                         "\"",
                                         "\"\"",
                                         "`",
                                         "[driver_notes]",
                                         "driver_notes\n",
                                         "\xff\xfe",
                                         "driver_notes'; drop table driver_notes; --",
                                         "%",
                                         "driver_%" };
    char large[3000];
    struct shape *shape;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        (void)is_not_described(s, str_of(names[i]));
    (void)is_not_described(s, STR("driver_notes\0x"));
    memset(large, 'a', sizeof large);
    (void)is_not_described(s, str_mem(large, sizeof large));
    (void)WORKS(s, s->type->describe(s->one, STR("driver_notes"), &s->a, &shape, &err));
}

static void check_views(struct scene *s)
{
    if (scene_run(s, s->one, s->dialect->view) && is_not_described(s, STR("driver_view")))
        (void)scene_run(s, s->one, "DROP VIEW driver_view");
}

static void check_keyless(struct scene *s)
{
    struct shape *shape;

    if (!scene_run(s, s->one, s->dialect->keyless))
        return;
    if (WORKS(s, s->type->describe(s->one, STR("driver_keyless"), &s->a, &shape, &err)))
        EXPECT(s, shape->key_count == 0 && shape->count == 1);
}

static void check_hostile(struct scene *s)
{
    struct fit *fit = NULL;
    struct cell row[2] = { cell_int(1), cell_of(CELL_TEXT, "x'; --") };
    struct change_place from;
    struct scene_changes c;
    struct scene_rows rows;
    struct shape *shape;

    if (!scene_run(s, s->one, s->dialect->hostile) || (fit = scene_fit(s, HOSTILE_TABLE)) == NULL ||
        !scene_install(s, fit) || !scene_now(s, fit, &from) ||
        !scene_write(s, s->two, fit, row, 1) || !scene_changes(s, fit, &from, SIZE_MAX, &c) ||
        !EXPECT(s, c.count == 1) || !EXPECT(s, str_eq(c.all[0].cells[1].s, row[1].s)) ||
        !scene_read(s, s->one, fit, NULL, row, 5, &rows) || !EXPECT(s, rows.count == 1) ||
        !scene_remove(s, s->one, fit, row, 1) || !scene_changes(s, fit, &from, SIZE_MAX, &c) ||
        !EXPECT(s, c.count == 1 && c.all[0].gone) || !scene_uninstall(s, fit))
        return;
    (void)WORKS(s, s->type->describe(s->one, STR("driver_notes"), &s->a, &shape, &err));
}

/* A table that is changed or dropped under a fit is an error, and no other table. */
static void check_dropped(struct scene *s)
{
    struct fit *fit = scene_fit(s, HOSTILE_TABLE);
    struct scene_rows rows = { .fit = fit, .s = s };
    char sql[200];

    (void)snprintf(sql, sizeof sql, "DROP TABLE %s", s->dialect->quoted);
    if (fit == NULL || !scene_run(s, s->two, sql) ||
        !WORKS(s, s->type->begin(s->one, DATABASE_READ, &err)))
        return;
    (void)FAILS(s, ERR_CONFIG,
                s->type->rows(s->one, fit, NULL, NULL, 5, scene_take_row, &rows, &err));
    s->type->rollback(s->one);
    (void)is_not_described(s, STR(HOSTILE_TABLE));
}

/* ---- connections ---- */

static void check_no_address(struct scene *s)
{
    struct database_address nowhere = s->address;
    struct database *d = NULL;
    struct err why = { 0 };

    nowhere.path = STR("/nowhere/at all.db");
    nowhere.dsn = STR("nonsense; password=s3cret");
    if (!EXPECT(s, !s->type->open(&nowhere, &d, &why)))
        return;
    EXPECT(s, why.kind == ERR_CONFIG || why.kind == ERR_TRANSIENT);
    EXPECT(s, why.text[0] != '\0' && strstr(why.text, "s3cret") == NULL);
}

/* Another file at the same place: it is not read as if it were the one before. */
static bool cut_file(struct scene *s)
{
    char path[500], other[520];

    (void)snprintf(path, sizeof path, "%.*s", STR_ARG(s->address.path));
    (void)snprintf(other, sizeof other, "%s.before", path);
    if (!EXPECT(s, rename(path, other) == 0))
        return false;
    int fd = open(path, O_CREAT | O_WRONLY, 0600);

    return EXPECT(s, fd >= 0) && EXPECT(s, close(fd) == 0);
}

static void check_cut(struct scene *s)
{
    struct fit *fit = scene_fit(s, "driver_notes");
    struct scene_rows rows = { .fit = fit, .s = s };
    struct err why = { 0 };

    if (fit == NULL)
        return;
    EXPECT(s, !s->type->broken(s->one));
    if (s->dialect->cut == NULL) {
        if (!cut_file(s))
            return;
    } else {
        (void)s->type->run_ddl(s->two, str_of(s->dialect->cut), &why);
        why = (struct err){ 0 };
    }
    bool ok = s->type->begin(s->one, DATABASE_READ, &why) &&
              s->type->rows(s->one, fit, NULL, NULL, 5, scene_take_row, &rows, &why);

    EXPECT(s, !ok && why.kind == ERR_TRANSIENT);
    s->type->rollback(s->one);
    EXPECT(s, s->type->broken(s->one));
    s->type->close(s->one);
    s->one = NULL;
    (void)WORKS(s, s->type->open(&s->address, &s->one, &err));
    EXPECT(s, s->one != NULL && !s->type->broken(s->one));
}

const struct check checks_of_names[] = {
    { "tables that are not there, and names that mean harm", check_not_there },
    { "a view is not described", check_views },
    { "a table without a key", check_keyless },
    { "hostile names of a table and its columns", check_hostile },
    { "a table that is dropped", check_dropped },
    { "an address that leads nowhere", check_no_address },
    { "a connection that is cut", check_cut },
    { 0 }
};
