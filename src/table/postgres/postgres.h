/* postgres.h - the inside of the driver for PostgreSQL (database.h), for its files.
 *
 * Statements are texts that depend on names only, so they are prepared and kept; parameters and
 * results are in binary form.  A result is read row by row as it comes: no more than one is held.
 * Many rows are read by COPY, which libpq hands on without a copy of what a result has beside them.
 *
 * Names    postgres_name() quotes.  Everything that is named is named with its schema, except
 *          waybill_applied, which is found by the role's own search path.
 * Order    A text of a key is compared byte for byte.  Where the collation of its column does that,
 *          statements use it as it is; else they say COLLATE "C", for which there is an index
 *          (`bytewise` of a shape).
 */
#pragma once

#include <libpq-fe.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "table/database.h"

enum {
    POSTGRES_KEPT = 64,             /* prepared statements of a connection */
    POSTGRES_SQL_MOST = 1 << 20,    /* of a statement */
    POSTGRES_ROW_ARENA = 256 << 20, /* of what is made of a row: its numerics */
    POSTGRES_ARGS = 1100            /* parameters of a statement */
};

/* Types of parameters and results, by their numbers in the catalog. */
enum {
    TYPE_BOOL = 16,
    TYPE_BYTEA = 17,
    TYPE_NAME = 19,
    TYPE_INT8 = 20,
    TYPE_INT2 = 21,
    TYPE_INT4 = 23,
    TYPE_TEXT = 25,
    TYPE_OID = 26,
    TYPE_JSON = 114,
    TYPE_FLOAT4 = 700,
    TYPE_FLOAT8 = 701,
    TYPE_BPCHAR = 1042,
    TYPE_VARCHAR = 1043,
    TYPE_DATE = 1082,
    TYPE_TIME = 1083,
    TYPE_TIMESTAMP = 1114,
    TYPE_TIMESTAMPTZ = 1184,
    TYPE_NUMERIC = 1700,
    TYPE_UUID = 2950,
    TYPE_JSONB = 3802,
    TYPE_XID8 = 5069
};

struct postgres {
    PGconn *conn;
    struct str name; /* of the database in the configuration */
    int64_t timeout_us;
    struct call *call;
    bool broken, open, saved; /* a transaction; with a savepoint */
    enum database_mode mode;
    int64_t affected;    /* rows, of the last statement */
    struct arena memory; /* as long as the connection */
    struct arena row;    /* of one row */
    struct buf sql;      /* the statement that is being made */
    struct postgres_kept {
        char *text;
        uint64_t types; /* of its parameters: a hash */
        bool used;      /* it ran once */
    } kept[POSTGRES_KEPT];
    size_t kept_count;
    const char *epoch_sql; /* which history this is, as far as we may ask; NULL: not known yet */
    int64_t held_x, held_since_us; /* the ceiling, since when it has not moved; monotonic */
    /* Of a destination: the table that was asked last has constraints that may be checked late. */
    bool late, deferred; /* `deferred` in this transaction */
    struct buf late_name;
};

static inline struct postgres *postgres_of(struct database *d)
{
    return (struct postgres *)(void *)d;
}

/* ---- connecting: postgres_connect.c ---- */

bool postgres_open(const struct database_address *address, struct database **ret, struct err *err);
void postgres_close(struct database *d);

/* ---- statements: postgres_run.c ---- */

/* Parameters in binary form. */
struct postgres_args {
    size_t count;
    Oid types[POSTGRES_ARGS];
    const char *values[POSTGRES_ARGS]; /* NULL: null */
    int lengths[POSTGRES_ARGS];
    char numbers[64][8]; /* of postgres_arg_int() and so on */
    size_t number_count;
};

struct postgres_args *postgres_args(struct arena *a);
/* Each returns the number of the parameter: 1 is $1. */
size_t postgres_arg(struct postgres_args *args, Oid type, struct str bytes);
size_t postgres_arg_text(struct postgres_args *args, struct str text);
size_t postgres_arg_int(struct postgres_args *args, int64_t value); /* int8 */
size_t postgres_arg_x(struct postgres_args *args, int64_t x);       /* xid8 */
size_t postgres_arg_oid(struct postgres_args *args, Oid value);

/* False ends the reading: with *err set that fails, without it has succeeded. */
typedef bool postgres_row_fn(void *arg, const PGresult *row, struct err *err);

/* Runs p->sql, prepared; args and fn may be NULL.  p->affected is set. */
bool postgres_ask(struct postgres *p, const struct postgres_args *args, postgres_row_fn *fn,
                  void *arg, struct err *err);
/* The same, not prepared: for what is asked rarely. */
bool postgres_ask_once(struct postgres *p, const struct postgres_args *args, postgres_row_fn *fn,
                       void *arg, struct err *err);
/* Statements without parameters or rows, in one go. */
bool postgres_run(struct postgres *p, const char *sql, struct err *err);
void postgres_drop_kept(struct postgres *p);
/* Waits for more of an answer, for a moment at most; `until_us` is when a silence is too long, and
 * 0 when one begins.  True also if nothing came. */
bool postgres_await(struct postgres *p, int64_t *until_us, bool unsent, struct err *err);

/* ---- many rows: postgres_copy.c ---- */

/* A column of a result. */
struct postgres_field {
    Oid type;
    enum cell_type natural;
};

struct postgres_copy {
    const struct postgres_field *fields;
    size_t count;
    struct cell *cells; /* of the row that is there; as many */
    row_fn *fn;         /* false ends it, with or without an error */
    void *arg;
    size_t rows, bytes; /* that fn has got */
    bool begun, ended;
};

/* Runs p->sql, which is COPY (...) TO STDOUT (FORMAT binary). */
bool postgres_copy(struct postgres *p, struct postgres_copy *copy, struct err *err);
/* What it copies, once that has begun. */
bool postgres_copy_take(struct postgres *p, struct postgres_copy *c, struct err *err);

/* ---- what went wrong: postgres_error.c ---- */

bool postgres_failed(struct postgres *p, const PGresult *result, bool kept_used, struct err *err);
bool postgres_lost(struct postgres *p, struct err *err);

/* ---- values: postgres_value.c, postgres_numeric.c ---- */

enum cell_type postgres_natural(Oid type, bool is_enum);
const char *postgres_type_name(Oid type); /* "pg_catalog.int8"; NULL: not one of ours */
struct postgres_field postgres_field(const PGresult *result, int column);
/* A value in binary form; what has to be made of it is in p->row. */
struct cell postgres_value(struct postgres *p, const struct postgres_field *f, struct str bytes);
int64_t postgres_int(const PGresult *row, int column); /* of 2, 4 or 8 bytes; null: 0 */
bool postgres_bool(const PGresult *row, int column);
struct str postgres_text(const PGresult *row, int column); /* lent; null: empty */
struct cell postgres_cell(struct postgres *p, const PGresult *row, int column);
/* Appends a value in binary form, without a length; not NULL.  ERR_PERMANENT: it has none. */
bool postgres_put(struct buf *to, Oid type, const struct cell *c, struct err *err);
/* Of an array of the type; 0: there is none. */
Oid postgres_array_of(Oid type);

struct str postgres_numeric_text(struct str binary, struct arena *a); /* ptr NULL: it is none */
bool postgres_numeric_put(struct buf *to, struct str text, struct err *err);

/* ---- what a table is: postgres_describe.c ---- */

/* shape_column.detail */
enum {
    DETAIL_OWN_C = 1,       /* compared by COLLATE "C", its own */
    DETAIL_OWN_DEFAULT = 2, /* ... by that of the database, which is bytewise */
    DETAIL_INDEX_C = 3,     /* ... by an index with COLLATE "C" */
    DETAIL_OWN_POSIX = 4,
    DETAIL_ENUM = 8,
    DETAIL_IDENTITY = 16 /* generated always as identity */
};
Oid postgres_detail_type(const struct shape_column *c);
unsigned postgres_detail_flags(const struct shape_column *c);

bool postgres_describe(struct database *d, struct str table, struct arena *a, struct shape **ret,
                       struct err *err);

/* ---- names: postgres_name.c ---- */

void postgres_name(struct buf *to, struct str name);    /* quoted */
void postgres_literal(struct buf *to, struct str text); /* quoted */
/* A body of a function, in dollars that are not in it. */
void postgres_body(struct buf *to, struct str body);
/* The parts of the journal of a table. */
enum postgres_part { PART_JOURNAL, PART_INDEX, PART_GONE, PART_FUNCTION };
void postgres_part_bare(struct buf *to, const struct shape *s, enum postgres_part part);
void postgres_part(struct buf *to, const struct shape *s, enum postgres_part part);
void postgres_capture_table(struct buf *to, const struct shape *s);

const struct shape_column *postgres_column(const struct fit *fit, size_t i);
/* COLLATE ..., for comparing a text of a key; empty where none is needed. */
const char *postgres_collate(const struct shape_column *c);
/* Columns first..last-1 of a fit, each with a prefix such as `t.`, separated by commas; `collated`:
 * as they are compared. */
void postgres_columns(struct buf *to, const struct fit *fit, size_t first, size_t last,
                      const char *prefix, bool collated);
/* The columns k1, k2, ... of a journal. */
void postgres_keys(struct buf *to, const struct fit *fit, const char *prefix);
/* Appends the parameters of a key: "$3, $4"; their bytes are in the arena. */
bool postgres_put_key(struct buf *to, struct postgres_args *args, const struct fit *fit,
                      const struct cell *key, struct arena *a, struct err *err);

/* ---- the slots of database_type ---- */

bool postgres_plan_capture(struct database *d, const struct fit *fit, const struct capture *capture,
                           struct arena *a, struct ddl *ret, struct err *err);
bool postgres_plan_removal(struct database *d, const struct fit *fit, struct arena *a,
                           struct ddl *ret, struct err *err);
/* What the key of a journal must be, as waybill_capture says it. */
struct str postgres_key_columns(const struct fit *fit, struct arena *a);
/* Names of the triggers, in the order of enum postgres_event. */
enum postgres_event { EVENT_INSERT, EVENT_UPDATE, EVENT_DELETE, EVENT_TRUNCATE, EVENTS };
extern const char *const postgres_triggers[EVENTS];
bool postgres_look(struct database *d, const struct fit *fit, const struct capture *capture,
                   struct arena *a, struct capture_look *ret, struct err *err);
bool postgres_ceiling(struct database *d, const struct fit *fit, const struct capture *capture,
                      struct ceiling *ret, struct err *err);
/* The column of CAPTURE_COLUMN. */
bool postgres_capture_column(const struct fit *fit, const struct capture *capture,
                             const struct shape_column **ret, struct err *err);
bool postgres_changes(struct database *d, const struct fit *fit, const struct capture *capture,
                      const struct change_place *after, int64_t below, size_t most, change_fn *fn,
                      void *arg, struct err *err);
bool postgres_changes_of(struct database *d, const struct fit *fit, const struct cell *keys,
                         size_t count, change_fn *fn, void *arg, struct err *err);
bool postgres_backlog(struct database *d, const struct fit *fit, const struct change_place *after,
                      int64_t most, int64_t *ret, struct err *err);
/* Numbers of a cluster that the table came from by a dump say nothing here. */
#define POSTGRES_PRUNED                                                                        \
    "CASE WHEN pruned < pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot())::text::" \
    "bigint THEN pruned ELSE 0 END"
bool postgres_pruned(struct database *d, const struct fit *fit, int64_t *ret, struct err *err);
bool postgres_prune(struct database *d, const struct fit *fit, int64_t below, int64_t older_us,
                    int64_t most, int64_t *ret_removed, struct err *err);
bool postgres_rows(struct database *d, const struct fit *fit, const struct cell *after,
                   const struct cell *upto, size_t most, row_fn *fn, void *arg, struct err *err);
bool postgres_rows_of(struct database *d, const struct fit *fit, const struct cell *keys,
                      size_t count, row_fn *fn, void *arg, struct err *err);
bool postgres_count(struct database *d, const struct fit *fit, int64_t *ret, struct err *err);
bool postgres_find(struct database *d, const struct sought *s, struct arena *a, struct found *ret,
                   struct err *err);
bool postgres_plan_mark(struct database *d, struct arena *a, struct ddl *ret, struct err *err);
bool postgres_plan_mark_removal(struct database *d, struct str link, struct str table,
                                struct arena *a, struct ddl *ret, struct err *err);
bool postgres_mark_get(struct database *d, struct str link, struct str table, struct arena *a,
                       bool *ret_has, struct mark *ret, struct err *err);
bool postgres_mark_put(struct database *d, struct str link, struct str table,
                       const struct mark *mark, struct err *err);
bool postgres_mark_drop(struct database *d, struct str link, struct str table, struct err *err);
bool postgres_origin(struct database *d, struct str origin, int64_t at_us, struct err *err);
bool postgres_upsert(struct database *d, const struct fit *fit, const struct cell *rows,
                     size_t count, struct err *err);
bool postgres_add(struct database *d, const struct fit *fit, const struct cell *rows, size_t count,
                  struct err *err);
bool postgres_remove(struct database *d, const struct fit *fit, const struct cell *keys,
                     size_t count, int64_t *ret_removed, struct err *err);
/* ROWS FROM (unnest($1), unnest($2), ...) AS u(c1, c2, ...) of rows of `width` cells, of which the
 * first `columns` columns of the fit count; appended to p->sql. */
bool postgres_put_rows(struct postgres *p, struct postgres_args *args, const struct fit *fit,
                       const struct cell *rows, size_t count, size_t width, struct buf *bytes,
                       struct err *err);
