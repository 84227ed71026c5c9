/* db.h - one connection to the store's database, whichever it is.
 *
 * Thin: begin, run a named statement, read rows, commit.  All SQL is in the
 * catalogue (sql.h); all meaning is in the modules above.  db_sqlite.c and
 * db_postgres.c implement it.
 *
 * A transaction that failed is rolled back by db_rollback() before anything else
 * runs on the connection.  db_send() may be held back and sent with what follows
 * (PostgreSQL): its error then shows at the next db_query(), db_run() or
 * db_commit(), which is early enough, because no caller is notified before the
 * commit.
 *
 * Errors: ERR_LIMIT with ENOSPC for a full disk; ERR_TRANSIENT for a database
 * that cannot be reached; ERR_UNCERTAIN from db_commit(), and from a change outside of a
 * transaction, when the answer was lost or came with a warning (the writer then queries the
 * outcome, node.h); ERR_PERMANENT for everything else (a constraint, damage).  A failed sync of our
 * own storage ends the process.
 *
 * Threads: a connection belongs to one thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "store/db/sql.h"

enum db_kind { DB_SQLITE, DB_POSTGRESQL };

struct db_value {
    enum { DB_NULL, DB_INT, DB_TEXT, DB_BYTES } type;
    union {
        int64_t i;
        struct str s; /* lent until the call returns */
    };
};

#define db_int(v)   ((struct db_value){ .type = DB_INT, .i = (int64_t)(v) })
#define db_text(v)  ((struct db_value){ .type = DB_TEXT, .s = (v) })
#define db_bytes(v) ((struct db_value){ .type = DB_BYTES, .s = (v) })
#define db_null()   ((struct db_value){ .type = DB_NULL })

static inline struct db_value db_text_or_null(struct str s) /* NULL if empty */
{
    return s.len > 0 ? db_text(s) : db_null();
}

static inline struct db_value db_bytes_or_null(struct str s)
{
    return s.len > 0 ? db_bytes(s) : db_null();
}

/* The parameters of a statement: db_run(db, SQL_X, DB_ARGS(db_int(1), db_text(s)), ...) */
struct db_args {
    const struct db_value *values;
    size_t count;
};
#define DB_ARGS(...)                                                               \
    ((struct db_args){ .values = (const struct db_value[]){ __VA_ARGS__ },         \
                       .count = sizeof((const struct db_value[]){ __VA_ARGS__ }) / \
                                sizeof(struct db_value) })
#define DB_NO_ARGS ((struct db_args){ 0 })

/* err.sys of a transaction that was lost, in a conflict with another one or with its connection,
 * and had no effect: after db_rollback() (and db_revive()) it may be run again unchanged. */
enum { DB_AGAIN = 40001 };
/* err.sys of an error of some operations of a group, not of the store: the others are run without
 * them. */
enum { DB_NOT_ALL = 40003 };
/* err.sys of a database that is damaged; on a writer it ends the process (damage.h). */
enum { DB_DAMAGED = 40002 };

static inline bool db_should_retry(const struct err *err)
{
    return err->kind != ERR_UNCERTAIN && err->sys == DB_AGAIN;
}

/* The number of a table of a family (@SLOT@ in the text); -1 for statements without one. */
enum { DB_NO_SLOT = -1, DB_SLOTS_MOST = 64 };

struct db;

struct db_rows {
    struct db *db;
    void *state;
    int row;      /* PostgreSQL: the current one */
    int first;    /* columns are counted from this one (rows.h: row_found) */
    bool damaged; /* a value of the current row cannot be: the next db_next() fails (rows.h) */
};

typedef bool db_found(void *arg, int64_t slot, size_t at, struct db_rows *row, struct err *err);

struct db_driver {
    bool (*begin)(struct db *, enum sql_id how, struct err *);
    bool (*commit)(struct db *, struct err *);
    void (*rollback)(struct db *);
    bool (*send)(struct db *, enum sql_id, int64_t slot, const struct db_value *, size_t columns,
                 size_t rows, struct err *);
    bool (*run)(struct db *, enum sql_id, int64_t slot, struct db_args, int64_t *ret_changed,
                struct err *);
    bool (*query)(struct db *, enum sql_id, int64_t slot, struct db_args, struct db_rows *ret,
                  struct err *);
    /* Many rows of parameters in one statement; column 0 of an answer row is the number of its
     * parameters, from 1.  One answer for each of `slots` tables.  It saves trips to the server;
     * NULL: db_find() runs the statement for each row. */
    bool (*query_rows)(struct db *, enum sql_id, int64_t slot, size_t slots,
                       const struct db_value *, size_t columns, size_t rows, struct db_rows *ret,
                       struct err *);
    /* NULL: nobody else waits for the locks of a transaction. */
    void (*run_at_commit)(struct db *, enum sql_id, const struct db_value *, size_t columns,
                          size_t rows, int64_t *ret);
    bool (*next)(struct db_rows *, bool *ret_row, struct err *);
    bool (*is_null)(struct db_rows *, int column);
    int64_t (*get_int)(struct db_rows *, int column);
    struct str (*get_str)(struct db_rows *, int column);
    void (*rows_done)(struct db_rows *);
    bool (*script)(struct db *, const char *text, struct err *); /* migrations only */
    bool (*alive)(struct db *); /* false: the connection is lost; db_revive() makes a new one */
    bool (*revive)(struct db *, struct err *);
    void (*close)(struct db *);
};

/* The head of each driver's own struct. */
struct db {
    const struct db_driver *driver;
    enum db_kind kind;
    bool damaged;      /* a statement found the database damaged (DB_DAMAGED) */
    unsigned connects; /* connections made so far: a change means a reconnect */
};

bool db_begin(struct db *db, struct err *err);
/* Begins a read transaction: one snapshot until db_rollback(); for readers. */
bool db_view(struct db *db, struct err *err);
bool db_commit(struct db *db, struct err *err);
void db_rollback(struct db *db);

/* Runs a statement without the count of changed rows. */
bool db_send(struct db *db, enum sql_id id, struct db_args args, struct err *err);
/* The same for `rows` rows of `columns` values each, stored row by row. */
bool db_batch(struct db *db, enum sql_id id, int64_t slot, const struct db_value *values,
              size_t columns, size_t rows, struct err *err);

/* PostgreSQL: runs a statement over many rows in the trip of the COMMIT that ends this transaction,
 * after everything else has succeeded.  For one that locks what all nodes need: whatever happens to
 * this node then, no lock waits for it.  *ret gets the first column of its first row; it stays 0 if
 * the answer to the COMMIT was lost.  Once per transaction; `values` and `ret` are lent until it
 * ends. */
void db_run_at_commit(struct db *db, enum sql_id id, const struct db_value *values, size_t columns,
                      size_t rows, int64_t *ret);

/* Runs a statement now; *ret_changed is the number of changed rows, may be NULL. */
bool db_run(struct db *db, enum sql_id id, struct db_args args, int64_t *ret_changed,
            struct err *err);
bool db_run_slot(struct db *db, enum sql_id id, int64_t slot, struct db_args args,
                 int64_t *ret_changed, struct err *err);

/* Read rows: query, then next until *ret_row is false, then db_rows_done() (safe
 * to call early, and again).  Strings are lent until the next call. */
bool db_query(struct db *db, enum sql_id id, struct db_args args, struct db_rows *ret,
              struct err *err);
bool db_query_slot(struct db *db, enum sql_id id, int64_t slot, struct db_args args,
                   struct db_rows *ret, struct err *err);
/* Runs a query for many rows of parameters, in `slots` tables from `slot` on.  `found` is called
 * for every answer row, with its table and the number of its parameters, from 0.  Its columns
 * begin at 1; column 0 is for the driver (query_rows). */
bool db_find(struct db *db, enum sql_id id, int64_t slot, size_t slots,
             const struct db_value *values, size_t columns, size_t rows, db_found *found, void *arg,
             struct err *err);
bool db_next(struct db_rows *rows, bool *ret_row, struct err *err);
bool db_is_null(struct db_rows *rows, int column);
int64_t db_get_int(struct db_rows *rows, int column); /* 0 for NULL */
struct str db_get_str(struct db_rows *rows, int column);
void db_rows_done(struct db_rows *rows);

/* The first column of the first row; `otherwise` if there is no row or it is NULL. */
bool db_one_int(struct db *db, enum sql_id id, struct db_args args, int64_t otherwise, int64_t *ret,
                struct err *err);
bool db_one_int_slot(struct db *db, enum sql_id id, int64_t slot, struct db_args args,
                     int64_t otherwise, int64_t *ret, struct err *err);

bool db_script(struct db *db, const char *text, struct err *err);
bool db_alive(struct db *db);
bool db_revive(struct db *db, struct err *err);
void db_close(struct db *db); /* NULL is fine */

struct db_sqlite_options {
    const char *path;
    bool reader; /* read-only; never checkpoints */
};

bool db_open_sqlite(const struct db_sqlite_options *options, struct db **ret, struct err *err);
/* For what the catalogue cannot express: copies, and moves (move.h). */
struct sqlite3 *db_sqlite_handle(struct db *db);
/* SQLite's writer only: the number of pages in the write-ahead log, and a checkpoint, which moves
 * them into the database file as far as readers allow. */
int64_t db_sqlite_wal_pages(struct db *db);
bool db_sqlite_checkpoint(struct db *db, struct err *err);
/* False: the log has outgrown its limit, because somebody keeps a checkpoint from moving it. */
bool db_sqlite_log_has_room(struct db *db, struct err *err);

struct pg_lineage;
/* lineage: which of the servers that the address names holds the store (pg_lineage.h); NULL: the
 * first one that accepts writes. */
bool db_open_postgres(const char *url, bool reader, struct pg_lineage *lineage, struct db **ret,
                      struct err *err);
