/* scene.h - what the checks of a driver (driver.c) have in common: two connections to one database,
 * tables that are made for it, and what was expected. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "table/cell.h"
#include "table/database.h"
#include "table/shape.h"

enum {
    SCENE_ARENA = 256 << 20,
    SCENE_ROWS = 2000,
    SCENE_TEXTS = 23 /* with a = 1 in driver_pairs */
};

/* What each database calls the same things. */
struct dialect {
    const char *kind;
    const char *types; /* driver_types: id and a column for every type of cell but NULL */
    const char *pairs; /* driver_pairs: key (a int, b text), and v text */
    const char *bytes; /* driver_bytes: key k of bytes, and v text */
    const char *uuids; /* driver_uuids: key k uuid, and v text */
    const char
        *times; /* driver_times: key (d date, a instant, t time), and v text; NULL: no such key */
    const char *rows;    /* driver_rows: key id int, and v text */
    const char *retype;  /* v of driver_rows becomes a number; NULL: it is not tried */
    const char *notes;   /* driver_notes: key id int, and v text */
    const char *strict;  /* driver_strict: key id int, n int not null, u text unique */
    const char *hostile; /* driver's "x'[`; and so on: key id int, and columns with such names */
    const char *view;    /* driver_view, of driver_notes */
    const char *quoted;  /* the name of the hostile table as in SQL */
    const char *keyless; /* driver_keyless: a column and no key */
    const char *cut;     /* ends the other connections; NULL: the file is replaced */
    bool endless;        /* times go as far as cells do, and have infinity */
};

/* The name of the hostile table, and of its columns. */
#define HOSTILE_TABLE  "dri'v\"er`s [x]; drop table driver_notes --"
#define HOSTILE_COLUMN "select \"'`]; -- \xc3\xa4\xf0\x9d\x84\x9e"

struct scene {
    const struct database_type *type;
    const struct dialect *dialect;
    struct database_address address;
    struct database *one, *two; /* two is others that write */
    struct arena a;             /* of a check */
    bool failed;
};

/* ---- expecting ---- */

void scene_fail(struct scene *s, const char *file, int line, const char *what,
                const struct err *err);
#define EXPECT(s, cond) ((cond) ? true : (scene_fail((s), __FILE__, __LINE__, #cond, NULL), false))
/* Of a call that can fail: it does not. */
#define WORKS(s, call)                                        \
    __extension__({                                           \
        struct err err = { 0 };                               \
        bool works_ = (call);                                 \
        if (!works_)                                          \
            scene_fail((s), __FILE__, __LINE__, #call, &err); \
        works_;                                               \
    })
/* It fails with that kind. */
#define FAILS(s, kind_, call)                                                     \
    __extension__({                                                               \
        struct err err = { 0 };                                                   \
        bool fails_ = !(call) && err.kind == (kind_);                             \
        if (!fails_)                                                              \
            scene_fail((s), __FILE__, __LINE__, #call " fails as " #kind_, &err); \
        fails_;                                                                   \
    })

/* ---- doing ---- */

bool scene_run(struct scene *s, struct database *d, const char *sql); /* a statement of others */
/* A table as the driver describes it, with a fit of all its columns; NULL: it failed. */
struct fit *scene_fit(struct scene *s, const char *table);
bool scene_install(struct scene *s, const struct fit *fit);
bool scene_uninstall(struct scene *s, const struct fit *fit);
bool scene_run_all(struct scene *s, struct database *d, const struct ddl *ddl);
size_t scene_at(const struct fit *fit, const char *column);

struct cell cell_int(int64_t i);
struct cell cell_of(enum cell_type type, const char *text);

/* Rows in a transaction of their own; cells are cast to what each column is by nature. */
bool scene_write(struct scene *s, struct database *d, const struct fit *fit,
                 const struct cell *cells, size_t count);
bool scene_write_open(struct scene *s, struct database *d, const struct fit *fit,
                      const struct cell *cells, size_t count); /* in an open one */
bool scene_remove(struct scene *s, struct database *d, const struct fit *fit,
                  const struct cell *keys, size_t count);
/* A note: id and v. */
bool scene_note(struct scene *s, struct database *d, const struct fit *fit, int64_t id,
                const char *v);

/* Rows that were read, in the arena of the check; cells cast to what travels. */
struct scene_rows {
    const struct fit *fit;
    struct scene *s;
    struct cell *cells; /* fit->count each */
    size_t count;
};
bool scene_read(struct scene *s, struct database *d, const struct fit *fit,
                const struct cell *after, const struct cell *upto, size_t most,
                struct scene_rows *ret);
row_fn scene_take_row; /* arg: struct scene_rows, with fit and s */

struct scene_changes {
    const struct fit *fit;
    struct scene *s;
    struct scene_change {
        int64_t x, at_us;
        bool gone;
        struct str origin, key;
        struct cell *cells;
    } * all;
    size_t count;
};
/* Those behind a place and below the ceiling of now. */
bool scene_changes(struct scene *s, const struct fit *fit, const struct change_place *after,
                   size_t most, struct scene_changes *ret);
const struct scene_change *scene_change_of(const struct scene_changes *c, int64_t id);
/* Behind all that is there now. */
bool scene_now(struct scene *s, const struct fit *fit, struct change_place *ret);

struct check {
    const char *name;
    void (*run)(struct scene *s);
};

extern const struct check checks_of_rows[], checks_of_changes[], checks_of_writing[],
    checks_of_names[], checks_of_finding[];
extern const struct dialect dialects[];
