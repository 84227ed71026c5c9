/* database.h - a database of others, as a place of tables that are replicated.
 *
 * A kind of database is one file, src/table/NAME.c, which exports one const struct, and one line
 * DATABASE(NAME) in src/connectors.def.  It speaks the database's own protocol and SQL; what is
 * read, when, and what becomes of it is the same for all kinds and stands elsewhere (side.h).
 *
 * SQL for other people's tables is made by drivers only.  Names come from a shape that the driver
 * itself has read from the database, quoted by one function of the driver; values are parameters,
 * always.
 *
 * Capture  The changes of a table are in its *journal*: a table of ours beside it, with one row
 *          per key that says when it was changed last (the number x, and the time at_us), whether
 *          that was a deletion (gone_at: since when it is of no use but to who is late), and where
 *          the change came from (origin: empty for the database's own programs).  Triggers of ours
 *          keep it.  Two more tables of ours: `waybill_capture`, one row per captured table of a
 *          source, and `waybill_applied`, one row per table of a link at its destination.  DDL
 *          runs only by run_ddl(), statement by statement as it was shown to a person.
 *
 * Transactions  One at a time.  begin() to commit() or rollback(); describe(), look(), ceiling()
 *          and run_ddl() are called outside of one.  After an error inside of one only rollback()
 *          or, if there is a savepoint, back() may follow.
 *
 * Errors   ERR_TRANSIENT: not now (it does not answer, no space; with err.sys DATABASE_CONTENDED:
 *          a deadlock, or a lock that did not come free); ERR_UNCERTAIN from commit(): the answer
 *          was lost; ERR_CONFIG: it does not let us in, or has not what was named; ERR_LIMIT:
 *          larger than we take; ERR_PERMANENT: it refuses what was asked, such as a row that breaks
 *          a rule of its own.  err.text has its own words, without any value of a row where that
 *          can be told apart, and never the address with its password.
 *
 * Bounds   Every call ends after `timeout_us` of silence of the server at the latest.  Nothing is
 * held in memory beyond a row, except what is passed in.
 *
 * Threads: a connection belongs to one thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/option.h"
#include "table/cell.h"
#include "table/shape.h"

struct call;
struct found;
struct sought;
struct database; /* an open connection; each driver has its own */

struct database_address {
    struct str name;            /* in the configuration, for messages */
    struct str dsn;             /* of servers */
    struct str path;            /* of files */
    int64_t timeout_us;         /* how long a server may be silent */
    int64_t connect_timeout_us; /* how long connecting may take; 0: 10 s */
    struct call *call;          /* as of lend(), for opening and until the next lend() */
};

/* ---- capture ---- */

enum capture_kind { CAPTURE_JOURNAL, CAPTURE_COLUMN };

struct capture {
    enum capture_kind kind;
    bool append;       /* CAPTURE_JOURNAL: of rows that are added only */
    struct str column; /* CAPTURE_COLUMN: of type INT, INSTANT or LOCAL, which grows with changes */
    int64_t safety_us; /* CAPTURE_COLUMN: how much later a row may appear, where nothing better is
                        * known; in the unit of the column if it is an INT */
};

/* Statements for people to read and for run_ddl(), in order. */
struct ddl {
    struct ddl_statement {
        struct str text;
        const char *purpose; /* "the journal of customer" */
    } * statements;
    size_t count;
};

enum capture_state {
    CAPTURE_IS_FINE,
    CAPTURE_IS_MISSING,  /* not installed, or a part of it is gone */
    CAPTURE_IS_DISABLED, /* a trigger is switched off */
    CAPTURE_IS_OTHER     /* installed for another shape: columns of the key were changed */
};

struct capture_look {
    enum capture_state state;
    char why[200]; /* what exactly; empty if it is fine */
    /* Which history this is: changes when the database was made anew, or taken over by another
     * server of a cluster.  At most 200 bytes. */
    struct str epoch;
    /* Changes when the table was emptied as a whole by something that no trigger of rows sees
     * (TRUNCATE), or rebuilt; at most 200 bytes. */
    struct str life;
    /* Of the table as long as it is captured, whatever happens to its server: the origin of what
     * comes from it.  At most 64 bytes; empty: an installation that has none. */
    struct str identity;
    /* Rows that were removed long ago are not in the journal any more: of changes up to this x some
     * may be missing; 0: none. */
    int64_t pruned;
    int64_t now_us; /* by the clock of the database; 0: it is not known */
    bool groups;    /* the changes of one transaction have one x, and no other has it */
};

/* Up to where changes are final: every change with x < below is there already, or never comes. */
struct ceiling {
    int64_t below;
    int64_t now_x; /* an x that is newer than all that are there; for detecting that it went back */
    char held_by[200]; /* who keeps `below` back: "transaction of pid 4711, open for 93 s"; or empty
                        */
    int64_t held_us;   /* for how long */
};

/* A place in the changes: behind the change x of that key.  In order of (x, key). */
struct change_place {
    int64_t x;
    struct str key; /* as key.h encodes it; empty: before all keys of x */
};

struct change {
    int64_t x;
    int64_t at_us;            /* when, by the clock of the database; 0: it is not known */
    bool gone;                /* the row is not there (now): only the key's cells are set */
    struct str origin;        /* empty: a change by the database's own programs */
    const struct cell *cells; /* fit->count of them, in their natural types */
};

/* False ends the reading: with *err set the call fails with that, without it the call has
 * succeeded. */
typedef bool change_fn(void *arg, const struct change *change, struct err *err);
/* A row: fit->count cells in their natural types. */
typedef bool row_fn(void *arg, const struct cell *cells, struct err *err);

/* ---- the mark at the destination ---- */

enum mark_phase {
    MARK_LOAD,      /* rows of the source come in order of their keys; it had none before */
    MARK_LOAD_OVER, /* the same; it had rows, so a sweep follows */
    MARK_SWEEP,     /* rows that the source does not have are removed, in order of their keys */
    MARK_FOLLOW
};

/* How far a table of a link got; a row of waybill_applied. */
struct mark {
    struct str epoch, life; /* of the source: capture_look */
    enum mark_phase phase;
    struct change_place place; /* LOAD and SWEEP: where following begins (x; no key) */
    struct str load_key;       /* LOAD, SWEEP: the last key that was done; empty: none */
    int64_t fence;             /* of who wrote it last: a smaller one may not write any more */
    int64_t batches, rows;     /* so far */
    int64_t at_us;             /* when, by the clock of the writer */
};

/* ---- the driver ---- */

enum { DATABASE_CONTENDED = -1 /* err.sys: others hold what is needed; less at once may go */ };

enum database_mode {
    DATABASE_READ,     /* each statement sees what is committed by then; changes nothing */
    DATABASE_SNAPSHOT, /* all statements see the same moment; changes nothing */
    DATABASE_WRITE
};

struct database_type {
    struct option_kind kind; /* keys of `databases: { NAME: { kind: ..., ... } }` */
    bool (*open)(const struct database_address *address, struct database **ret, struct err *err);
    void (*close)(struct database *d); /* NULL is fine; an open transaction is rolled back */
    /* True: the connection cannot be used any more; close it. */
    bool (*broken)(const struct database *d);

    /* For whom it works from now on: asked whether it is still wanted and where it may connect to,
     * and told that it is alive.  NULL: nobody asks. */
    void (*lend)(struct database *d, struct call *call);

    /* -- what is there -- */

    /* `table` as people write it: NAME or SCHEMA.NAME.  ERR_CONFIG: it is not there, or we may not
     * read it, or it is a view.  Hostile names only lead to ERR_CONFIG. */
    bool (*describe)(struct database *d, struct str table, struct arena *a, struct shape **ret,
                     struct err *err);
    bool (*begin)(struct database *d, enum database_mode mode, struct err *err);
    bool (*commit)(struct database *d, struct err *err);
    void (*rollback)(struct database *d);              /* nothing open is fine */
    bool (*save)(struct database *d, struct err *err); /* one savepoint; a second takes its place */
    bool (*back)(struct database *d, struct err *err);

    /* -- of a source -- */

    /* The statements that install and remove the journal of a table.  The first ones are not needed
     * if the shared table is there already: all are written to be repeatable or `if not exists`;
     * the removal drops waybill_capture with its last row. */
    bool (*plan_capture)(struct database *d, const struct fit *fit, const struct capture *capture,
                         struct arena *a, struct ddl *ret, struct err *err);
    bool (*plan_capture_removal)(struct database *d, const struct fit *fit, struct arena *a,
                                 struct ddl *ret, struct err *err);
    /* epoch and life are in the arena.  CAPTURE_COLUMN: always fine, epoch as far as it is known.
     */
    bool (*look)(struct database *d, const struct fit *fit, const struct capture *capture,
                 struct arena *a, struct capture_look *ret, struct err *err);
    bool (*ceiling)(struct database *d, const struct fit *fit, const struct capture *capture,
                    struct ceiling *ret, struct err *err);
    /* Changes after `after` with x < below, in the order of (x, key), at most `most`, each with the
     * row as it is now.  In DATABASE_READ or DATABASE_SNAPSHOT. */
    bool (*changes)(struct database *d, const struct fit *fit, const struct capture *capture,
                    const struct change_place *after, int64_t below, size_t most, change_fn *fn,
                    void *arg, struct err *err);
    /* The newest change of each of these keys (count arrays of fit->key_count cells, one behind the
     * other), in any order: x and origin, and of the cells those of the key.  Those that the
     * journal does not have do not come. */
    bool (*changes_of)(struct database *d, const struct fit *fit, const struct cell *keys,
                       size_t count, change_fn *fn, void *arg, struct err *err);
    /* How many changes are after `after`, counted up to `most`. */
    bool (*backlog)(struct database *d, const struct fit *fit, const struct change_place *after,
                    int64_t most, int64_t *ret, struct err *err);
    /* As capture_look has it, by now. */
    bool (*pruned)(struct database *d, const struct fit *fit, int64_t *ret, struct err *err);
    /* Removes journal rows with x < below, of rows that were removed longer ago than this
     * (`append`: added), at most `most`, but for those that somebody else holds, and notes that; in
     * DATABASE_WRITE.  NULL: the triggers do. */
    bool (*prune)(struct database *d, const struct fit *fit, int64_t below, int64_t older_us,
                  int64_t most, int64_t *ret_removed, struct err *err);

    /* -- rows, of both -- */

    /* Rows with key > after (NULL: from the first) and <= upto (NULL: to the last), in order of the
     * key as key.h has it, at most `most`. */
    bool (*rows)(struct database *d, const struct fit *fit, const struct cell *after,
                 const struct cell *upto, size_t most, row_fn *fn, void *arg, struct err *err);
    /* The rows with these keys (count arrays of fit->key_count cells, one behind the other), in any
     * order; those that are not there do not come.  In DATABASE_WRITE they are locked until the
     * transaction ends, and come as they are then. */
    bool (*rows_of)(struct database *d, const struct fit *fit, const struct cell *keys,
                    size_t count, row_fn *fn, void *arg, struct err *err);
    bool (*count)(struct database *d, const struct fit *fit, int64_t *ret, struct err *err);

    /* -- of any table -- */

    /* Rows that should not be there (sought.h), counted up to s->most; in DATABASE_SNAPSHOT, which
     * is for nothing else.  Examples are in the arena.  ERR_LIMIT: it would need more memory than
     * we give.  ERR_PERMANENT: the table has values that cannot be looked at. */
    bool (*find)(struct database *d, const struct sought *s, struct arena *a, struct found *ret,
                 struct err *err);

    /* -- of a destination; in DATABASE_WRITE -- */

    bool (*plan_mark)(struct database *d, struct arena *a, struct ddl *ret, struct err *err);
    bool (*plan_mark_removal)(struct database *d, struct str link, struct str table,
                              struct arena *a, struct ddl *ret, struct err *err);
    /* Locks it until the transaction ends (in DATABASE_WRITE).  *ret_has false: there is none.
     * Texts are in the arena.  ERR_CONFIG: waybill_applied is not there. */
    bool (*mark_get)(struct database *d, struct str link, struct str table, struct arena *a,
                     bool *ret_has, struct mark *ret, struct err *err);
    bool (*mark_put)(struct database *d, struct str link, struct str table, const struct mark *mark,
                     struct err *err);
    bool (*mark_drop)(struct database *d, struct str link, struct str table, struct err *err);
    /* What follows in this transaction is journalled with this origin, and as a change of that
     * time; 0: of the time when it is made. */
    bool (*origin)(struct database *d, struct str origin, int64_t at_us, struct err *err);
    /* Writes `count` rows, one behind the other, in their natural types: those that are there are
     * replaced.  No key is in it twice. */
    bool (*upsert)(struct database *d, const struct fit *fit, const struct cell *rows, size_t count,
                   struct err *err);
    /* The same, but ERR_PERMANENT where a row of the key is there. */
    bool (*add)(struct database *d, const struct fit *fit, const struct cell *rows, size_t count,
                struct err *err);
    bool (*remove)(struct database *d, const struct fit *fit, const struct cell *keys, size_t count,
                   int64_t *ret_removed, struct err *err);

    bool (*run_ddl)(struct database *d, struct str statement, struct err *err);
};
