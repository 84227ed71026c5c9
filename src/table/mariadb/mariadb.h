/* mariadb.h - the inside of the driver for MariaDB (database.h).
 *
 * A connection speaks the binary protocol: values go and come as cells, never inside a text of SQL.
 * Results are read row by row as the server sends them; a row is held until the next one comes.
 *
 * Threads: a connection belongs to one thread at a time.
 */
#pragma once

#include <mysql.h>
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

/* How a column is fetched and written: shape_column.detail. */
enum mariadb_kind {
    MARIADB_NONE, /* not replicated */
    MARIADB_INT,
    MARIADB_UNSIGNED, /* of 64 bits: a DEC */
    MARIADB_DEC,
    MARIADB_FLOAT,
    MARIADB_DOUBLE,
    MARIADB_TEXT,
    MARIADB_BYTES,
    MARIADB_BIT, /* of 1: a BOOL */
    MARIADB_BITS,
    MARIADB_TIMESTAMP,
    MARIADB_DATETIME,
    MARIADB_DATE,
    MARIADB_TIME,
    MARIADB_UUID,
    MARIADB_JSON
};

enum {
    MARIADB_STATEMENTS = 16, /* kept prepared */
    MARIADB_SIGHTS = 64,
    MARIADB_SQL_MOST = 4 << 20,
    MARIADB_PARAMS_MOST = 60000, /* the protocol has 65535 */
    MARIADB_NAME = 64            /* characters of a name */
};

/* mariadb_address.c: what a dsn says. */
struct mariadb_place {
    char *user, *password, *host, *database, *socket, *ca; /* "" where they are not given */
    uint16_t port;
    bool tls, verify;
};

bool mariadb_place_read(struct str dsn, struct arena *a, struct mariadb_place *ret,
                        struct err *err);

/* A number that had been drawn, and the transactions that could have drawn it or a smaller one:
 * all those have ids below `before` (mariadb_ceiling.c). */
struct mariadb_sight {
    int64_t x;
    uint64_t before;
};

struct mariadb_statement {
    struct buf sql;
    MYSQL_STMT *stmt;
    uint64_t used;
};

struct database {
    MYSQL *my;
    bool lost;    /* the connection cannot be used any more */
    bool open;    /* a transaction is */
    bool writing; /* ... in DATABASE_WRITE */
    bool has_origin;
    struct call *call;
    int64_t timeout_us;
    size_t packet; /* what the server takes at once */
    uint64_t tick;
    struct mariadb_statement statements[MARIADB_STATEMENTS];
    struct arena row; /* of the row that was read last */

    struct buf sights_of; /* which sequence they are of */
    struct mariadb_sight sights[MARIADB_SIGHTS];
    size_t sight_count;
    int64_t final;   /* every change with x < final is there, or never comes */
    bool has_waited; /* for the first of them to be settled */
};

/* ---- mariadb_error.c ---- */

/* What an error of the server means; false. */
bool mariadb_fail(struct database *d, unsigned number, const char *state, const char *text,
                  struct err *err);
bool mariadb_failed(struct database *d, struct err *err); /* of the connection */

/* ---- mariadb_value.c ---- */

/* A parameter or a column while it is bound. */
struct mariadb_slot {
    union {
        long long i;
        float f;
        double d;
        MYSQL_TIME time;
        char text[128];
    };
    unsigned long length;
    my_bool null, error;
};

bool mariadb_bind(const struct cell *c, struct mariadb_slot *slot, MYSQL_BIND *bind,
                  struct err *err);
void mariadb_bind_result(enum mariadb_kind kind, struct mariadb_slot *slot, MYSQL_BIND *bind);
/* The value of column `at` of the row that was fetched; longer ones go to the arena. */
bool mariadb_value(MYSQL_STMT *stmt, unsigned at, enum mariadb_kind kind,
                   const struct mariadb_slot *slot, const MYSQL_BIND *bind, struct arena *a,
                   struct cell *ret, struct err *err);
enum cell_type mariadb_natural(enum mariadb_kind kind);

/* ---- mariadb_statement.c ---- */

typedef bool mariadb_row_fn(void *arg, const struct cell *cells, struct err *err);

struct mariadb_ask {
    struct str sql;
    const struct cell *params;
    size_t param_count;
    const enum mariadb_kind *kinds; /* of the columns of its rows */
    size_t column_count;
    mariadb_row_fn *fn;
    void *arg;
};

/* fn ends the reading by false; that is no failure unless it has set *err. */
bool mariadb_ask(struct database *d, const struct mariadb_ask *ask, struct err *err);
/* A statement that has no rows; *ret_rows: how many it changed, may be NULL. */
bool mariadb_tell(struct database *d, struct str sql, const struct cell *params, size_t count,
                  int64_t *ret_rows, struct err *err);
/* A statement without parameters, by the text protocol. */
bool mariadb_run(struct database *d, struct str sql, struct err *err);
void mariadb_forget_statements(struct database *d);

static inline struct cell mariadb_int(int64_t i)
{
    return (struct cell){ .type = CELL_INT, .i = i };
}

static inline struct cell mariadb_text(struct str s)
{
    return (struct cell){ .type = CELL_TEXT, .s = s };
}

static inline struct cell mariadb_bytes(struct str s)
{
    return (struct cell){ .type = CELL_BYTES, .s = s };
}

/* ---- mariadb_names.c ---- */

void mariadb_put_name(struct buf *sql, struct str name);    /* `name` */
void mariadb_put_literal(struct buf *sql, struct str text); /* for DDL */
/* The schema and a name of ours in it. */
void mariadb_put_ours(struct buf *sql, struct str schema, const char *name);
/* PREFIX and the name of the table, shortened where that is too long. */
struct str mariadb_own_name(const char *prefix, struct str table, struct arena *a);
/* The journal of a table, quoted, with its schema. */
void mariadb_put_journal(struct buf *sql, const struct shape *shape);

/* ---- mariadb_shape.c ---- */

bool mariadb_describe(struct database *d, struct str table, struct arena *a, struct shape **ret,
                      struct err *err);

/* ---- mariadb_query.c: parts of statements over a table ---- */

enum mariadb_kind mariadb_kind_of(const struct fit *fit, size_t column);
/* Column i of the fit as it is selected; `table`: an alias with its point, or "". */
void mariadb_put_column(struct buf *sql, const struct fit *fit, const char *table, size_t i);
void mariadb_put_order(struct buf *sql, const struct fit *fit, const char *table);
/* key > (`>` with or_same: >=) the cells; appends its parameters to params[*count]. */
void mariadb_put_beyond(struct buf *sql, const struct fit *fit, const struct cell *key,
                        const char *sign, struct cell *params, size_t *count);
/* WHERE of `rows` keys. */
void mariadb_put_keys(struct buf *sql, const struct fit *fit, size_t rows);

enum { MARIADB_BEYOND_PARAMS = SHAPE_KEY_MOST * (SHAPE_KEY_MOST + 1) / 2 + SHAPE_KEY_MOST };

/* ---- mariadb_rows.c ---- */

bool mariadb_rows(struct database *d, const struct fit *fit, const struct cell *after,
                  const struct cell *upto, size_t most, row_fn *fn, void *arg, struct err *err);
bool mariadb_rows_of(struct database *d, const struct fit *fit, const struct cell *keys,
                     size_t count, row_fn *fn, void *arg, struct err *err);
bool mariadb_count(struct database *d, const struct fit *fit, int64_t *ret, struct err *err);

/* ---- mariadb_find.c ---- */

bool mariadb_find(struct database *d, const struct sought *s, struct arena *a, struct found *ret,
                  struct err *err);

/* ---- mariadb_capture.c, mariadb_look.c ---- */

bool mariadb_plan_capture(struct database *d, const struct fit *fit, const struct capture *capture,
                          struct arena *a, struct ddl *ret, struct err *err);
bool mariadb_plan_capture_removal(struct database *d, const struct fit *fit, struct arena *a,
                                  struct ddl *ret, struct err *err);
/* Microseconds since 1970, whatever the zone of the session is. */
#define MARIADB_NOW "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))"
/* The triggers of the journal: the body of trigger i, its name, and what it is after. */
enum { MARIADB_TRIGGERS = 3 };
extern const char *const mariadb_events[MARIADB_TRIGGERS];
struct str mariadb_trigger_name(const struct fit *fit, size_t i, struct arena *a);
void mariadb_put_trigger_body(struct buf *sql, const struct fit *fit, size_t i, bool append);
/* The key columns of a fit with their types, as waybill_capture has them. */
void mariadb_put_key_text(struct buf *text, const struct fit *fit);
bool mariadb_look(struct database *d, const struct fit *fit, const struct capture *capture,
                  struct arena *a, struct capture_look *ret, struct err *err);

/* ---- mariadb_ceiling.c, mariadb_open_transactions.c ---- */

bool mariadb_ceiling(struct database *d, const struct fit *fit, const struct capture *capture,
                     struct ceiling *ret, struct err *err);

/* The transactions of the server that have written something and are open. */
struct mariadb_writers {
    uint64_t next;          /* the id that the next one gets, or a smaller one */
    uint64_t oldest;        /* the smallest id of those that are open; UINT64_MAX: none is */
    uint64_t oldest_thread; /* its connection; 0: it has none */
    int64_t oldest_us;      /* for how long */
};

bool mariadb_writers(struct database *d, struct mariadb_writers *ret, struct err *err);
/* Reads the text of SHOW ENGINE INNODB STATUS.  ERR_TRANSIENT: it is not whole; ERR_PERMANENT: it
 * is in a form that we do not know. */
bool mariadb_writers_read(struct str status, uint64_t own_thread, struct mariadb_writers *ret,
                          struct err *err);

/* ---- mariadb_changes.c ---- */

bool mariadb_changes(struct database *d, const struct fit *fit, const struct capture *capture,
                     const struct change_place *after, int64_t below, size_t most, change_fn *fn,
                     void *arg, struct err *err);
bool mariadb_changes_of(struct database *d, const struct fit *fit, const struct cell *keys,
                        size_t count, change_fn *fn, void *arg, struct err *err);
bool mariadb_backlog(struct database *d, const struct fit *fit, const struct change_place *after,
                     int64_t most, int64_t *ret, struct err *err);

/* ---- mariadb_prune.c ---- */

bool mariadb_pruned(struct database *d, const struct fit *fit, int64_t *ret, struct err *err);
bool mariadb_prune(struct database *d, const struct fit *fit, int64_t below, int64_t older_us,
                   int64_t most, int64_t *ret_removed, struct err *err);

/* ---- mariadb_mark.c ---- */

bool mariadb_plan_mark(struct database *d, struct arena *a, struct ddl *ret, struct err *err);
bool mariadb_plan_mark_removal(struct database *d, struct str link, struct str table,
                               struct arena *a, struct ddl *ret, struct err *err);
bool mariadb_mark_get(struct database *d, struct str link, struct str table, struct arena *a,
                      bool *ret_has, struct mark *ret, struct err *err);
bool mariadb_mark_put(struct database *d, struct str link, struct str table,
                      const struct mark *mark, struct err *err);
bool mariadb_mark_drop(struct database *d, struct str link, struct str table, struct err *err);

/* ---- mariadb_write.c ---- */

bool mariadb_upsert(struct database *d, const struct fit *fit, const struct cell *rows,
                    size_t count, struct err *err);
bool mariadb_add(struct database *d, const struct fit *fit, const struct cell *rows, size_t count,
                 struct err *err);
bool mariadb_remove(struct database *d, const struct fit *fit, const struct cell *keys,
                    size_t count, int64_t *ret_removed, struct err *err);
