/* sqlite_parts.h - what the capture of a table of a SQLite file is made of (sqlite_capture.c). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "table/sqlite/sqlite_database.h"

enum { SQLITE_PARTS = 9 };

/* A part of the capture of a table. */
struct capture_part {
    const char *type;    /* "table", "index" or "trigger" */
    const char *suffix;  /* of its name */
    const char *purpose; /* for people */
    struct str name, sql;
    bool spare; /* changes are not missed without it, but where REPLACE removes a row */
    bool none;  /* the table needs none: `sql` is empty */
    bool has;   /* there is one, ... */
    bool same;  /* ... and it is what it should be */
};

struct capture_parts {
    struct sqlite_database *d;
    const struct fit *fit;
    bool append; /* only rows that are added are captured */
    struct arena *a;
    struct capture_part part[SQLITE_PARTS];
    size_t count;
    bool has_table, has_row;
    bool earlier; /* waybill_capture was made by an earlier build */
    int64_t pruned;
    struct str epoch, life;
};

/* Adds all parts, with what they should be. */
bool sqlite_parts_add(struct capture_parts *p, struct err *err);
