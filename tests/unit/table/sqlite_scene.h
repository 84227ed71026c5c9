/* sqlite_scene.h - a SQLite file with another program at it, for tests of its driver. */
#pragma once

#include <sqlite3.h>

#include "base/auto.h"
#include "folder.h"
#include "table/database.h"
#include "test.h"

extern const struct database_type database_sqlite;

enum { FILE_ROWS = 50, FILE_COLUMNS = 20 };

static const struct database_type *const type = &database_sqlite;
__attribute__((unused)) static const struct capture journal = { .kind = CAPTURE_JOURNAL };
static struct err err;

struct file {
    struct folder folder;
    char path[300];
    sqlite3 *others; /* another program */
    struct database *db;
    struct arena a;
    struct fit *fit;
    struct cell cells[FILE_ROWS][FILE_COLUMNS]; /* that were read */
    bool gone[FILE_ROWS];
    int64_t x[FILE_ROWS];
    size_t count;
};

static bool others_run(struct file *f, const char *sql)
{
    char *why = NULL;
    int rc = sqlite3_exec(f->others, sql, NULL, NULL, &why);

    if (rc != SQLITE_OK)
        printf("# %s: %s\n", sql, why);
    sqlite3_free(why);
    return rc == SQLITE_OK;
}

static bool file_open(struct file *f)
{
    const struct database_address address = { .name = STR("shop"),
                                              .path = str_of(f->path),
                                              .timeout_us = 1 };

    return type->open(&address, &f->db, &err);
}

static void file_done(struct file *f)
{
    type->close(f->db);
    (void)sqlite3_close(f->others);
    arena_done(&f->a);
    folder_done(&f->folder);
}

static bool file_describe(struct file *f, const char *table)
{
    struct shape *shape;
    struct fit *fit = ARENA_NEW(&f->a, struct fit);

    if (!type->describe(f->db, str_of(table), &f->a, &shape, &err))
        return false;
    fit->shape = shape;
    fit->key_count = shape->key_count;
    fit->columns = ARENA_ARRAY(&f->a, struct fit_column, shape->count);
    for (size_t turn = 0; turn < 2; turn++)
        for (size_t i = 0; i < shape->count; i++)
            if ((shape->columns[i].key_place > 0) == (turn == 0))
                fit->columns[fit->count++] =
                    (struct fit_column){ .name = shape->columns[i].name,
                                         .at = i,
                                         .travels = shape->columns[i].natural,
                                         .digits = -1 };
    f->fit = fit;
    return true;
}

/* A file with a write-ahead log, in which another program has run `sql`; table t is described. */
static bool file_make(struct file *f, const char *sql)
{
    *f = (struct file){ .folder = folder_make(), .a = ARENA_INIT(64 << 20) };
    (void)snprintf(f->path, sizeof f->path, "%s/shop.db", f->folder.path);
    return sqlite3_open(f->path, &f->others) == SQLITE_OK &&
           others_run(f, "PRAGMA journal_mode = wal; PRAGMA wal_autocheckpoint = 0") &&
           others_run(f, sql) && file_open(f) && file_describe(f, "t");
}

__attribute__((unused)) static bool file_run_ddl(struct file *f, const struct ddl *ddl)
{
    for (size_t i = 0; i < ddl->count; i++)
        if (!type->run_ddl(f->db, ddl->statements[i].text, &err)) {
            printf("# %.*s: %s\n", STR_ARG(ddl->statements[i].text), err.text);
            return false;
        }
    return true;
}

__attribute__((unused)) static bool file_install(struct file *f)
{
    struct ddl ddl;

    return type->plan_capture(f->db, f->fit, &journal, &f->a, &ddl, &err) && file_run_ddl(f, &ddl);
}

static void file_keep(struct file *f, const struct cell *cells, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct cell c = cells[i];

        if (c.type == CELL_TEXT || c.type == CELL_BYTES || c.type == CELL_DEC ||
            c.type == CELL_JSON || c.type == CELL_UUID)
            c.s = arena_copy(&f->a, c.s);
        f->cells[f->count][i] = c;
    }
}

static bool file_take(void *arg, const struct cell *cells, struct err *e)
{
    struct file *f = arg;

    (void)e;
    file_keep(f, cells, f->fit->count);
    f->count++;
    return f->count < FILE_ROWS;
}

static bool file_take_change(void *arg, const struct change *change, struct err *e)
{
    struct file *f = arg;

    (void)e;
    file_keep(f, change->cells, change->gone ? f->fit->key_count : f->fit->count);
    f->gone[f->count] = change->gone;
    f->x[f->count] = change->x;
    f->count++;
    return f->count < FILE_ROWS;
}

__attribute__((unused)) static bool file_rows(struct file *f)
{
    f->count = 0;
    bool ok = type->begin(f->db, DATABASE_READ, &err) &&
              type->rows(f->db, f->fit, NULL, NULL, SIZE_MAX, file_take, f, &err);

    type->rollback(f->db);
    return ok;
}

/* All changes from `x` on. */
static bool file_changes_by(struct file *f, const struct capture *capture, int64_t x)
{
    const struct change_place from = { .x = x, .key = STR("") };
    struct ceiling ceiling;

    f->count = 0;
    bool ok = type->ceiling(f->db, f->fit, capture, &ceiling, &err) &&
              type->begin(f->db, DATABASE_READ, &err) &&
              type->changes(f->db, f->fit, capture, &from, ceiling.below, SIZE_MAX,
                            file_take_change, f, &err);

    type->rollback(f->db);
    return ok;
}

__attribute__((unused)) static bool file_changes(struct file *f, int64_t x)
{
    return file_changes_by(f, &journal, x);
}

/* True: there is a change of that key, and the row is gone or not. */
__attribute__((unused)) static bool file_has_change(const struct file *f, int64_t id, bool gone)
{
    for (size_t i = 0; i < f->count; i++)
        if (f->cells[i][0].i == id)
            return f->gone[i] == gone;
    return false;
}

/* Writes one row in a transaction of its own. */
__attribute__((unused)) static bool file_write(struct file *f, const struct cell *cells)
{
    bool ok = type->begin(f->db, DATABASE_WRITE, &err) &&
              type->upsert(f->db, f->fit, cells, 1, &err) && type->commit(f->db, &err);

    if (!ok)
        type->rollback(f->db);
    return ok;
}
