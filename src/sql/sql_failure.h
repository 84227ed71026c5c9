/* sql_failure.h - why something failed at a database, and what follows from it.
 *
 * Drivers tell a failure by a SQLSTATE, a number of their own and a text.  What the caller needs is
 * less: may it be tried again, may it have happened all the same.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

enum sql_fault {
    SQL_FAULT_NONE,
    SQL_FAULT_STATEMENT, /* the statement, or a value: the same again would fail again */
    SQL_FAULT_LATER,     /* a deadlock, a lock, a conflict with others, no room: rolled back */
    SQL_FAULT_LOGIN,     /* the login was refused */
    SQL_FAULT_CONFIG,    /* no such driver, a setting that it refuses */
    SQL_FAULT_LOST,  /* not reached, or gone before the commit was asked for: nothing happened */
    SQL_FAULT_TIME,  /* its time was over, or the driver crashed, before that: as LOST */
    SQL_FAULT_LIMIT, /* a limit of ours: the statement or a value is too large */
    SQL_FAULT_DOUBT, /* the commit was asked for, and no answer came */
};

enum { SQL_STATE_SIZE = 6, SQL_TEXT_MOST = 320 };

struct sql_failure {
    enum sql_fault kind;
    bool ours;                  /* CONFIG: this node refuses to open it */
    bool hung;                  /* TIME, DOUBT: it was silent until its time was over */
    char state[SQL_STATE_SIZE]; /* SQLSTATE; "": none */
    int32_t native;             /* the database's own number; 0: none */
    char text[SQL_TEXT_MOST];   /* one line for people, without secrets */
};

/* Fills *f and returns false. */
bool sql_fail(struct sql_failure *f, enum sql_fault kind, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* What a SQLSTATE means, for an open connection (opening: for one that is being made).  The native
 * code and the text are for drivers that have one state for everything. */
enum sql_fault sql_failure_class(const char *state, int32_t native, struct str text, bool opening);

/* As an error of a gateway: ERR_CONFIG, ERR_PERMANENT, ERR_UNCERTAIN or ERR_TRANSIENT.  Returns
 * false. */
bool sql_failure_err(const struct sql_failure *f, struct err *err);
