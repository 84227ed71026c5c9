/* pg_connect.h - connecting to PostgreSQL, waiting for it, and its errors.
 *
 * All waits are bounded: for the connection, for an answer, for a lock; only a
 * migration may ask for an unbounded one.  A password never appears in an error.
 *
 * Threads: a connection belongs to one thread at a time.
 */
#pragma once

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "store/db/sql.h"

/* Gets a connection and owns it, also if it returns false: then the next server is tried. */
typedef bool pg_take(void *arg, PGconn *conn, struct err *err);

/* Tries the servers of an address in turn, without the session settings, until one is taken; libpq
 * itself would stop at an old primary.  Only a server that accepts writes is offered: a standby has
 * old rows, so readers do not use one either.  *passed_over: the last server that was refused with
 * PG_PASSED_OVER (pg_lineage.h).  ERR_CONFIG: the address is not valid; otherwise the error is that
 * of a server that was refused, else of the first one. */
bool pg_connect(const char *url, pg_take *take, void *arg, struct err *passed_over,
                struct err *err);

/* The settings of a session, in the order in which they are set. */
struct pg_setting {
    const char *name, *value;
};
enum { PG_SETTINGS = 12 };
void pg_settings(bool reader, struct pg_setting ret[static PG_SETTINGS]);

/* Waits until PQgetResult() does not block; sends what is held back.  wait_us: the
 * longest wait, 0 for no limit.  False: the connection is of no more use. */
bool pg_wait(PGconn *conn, int64_t wait_us, struct err *err);

/* Sends what is held back, without waiting for answers. */
bool pg_send_all(PGconn *conn, int64_t wait_us, struct err *err);

/* Sets the error of a lost connection; returns false. */
bool pg_lost(PGconn *conn, struct err *err);

/* Sets the error of a failed statement (db.h); returns false.  *ret_lost: the connection is
 * of no more use. */
bool pg_failed(PGconn *conn, const PGresult *result, enum sql_id id, bool *ret_lost,
               struct err *err);
