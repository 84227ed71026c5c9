/* pg_connect.h - a connection to PostgreSQL as every part of the store wants it.
 *
 * Whoever waits here waits for a bounded time: for the connection, for an answer,
 * for a lock.  A password never appears in an error.
 *
 * Threads: a connection belongs to one thread at a time.
 */
#pragma once

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "store/db/sql.h"

/* Connect, without any of our settings yet.  A writer is connected to a server that
 * takes writes.  ERR_CONFIG: the address makes no sense; ERR_TRANSIENT: not reached. */
bool pg_connect(const char *url, bool reader, PGconn **ret, struct err *err);

/* The settings of a session, in the order in which they are made. */
struct pg_setting {
    const char *name, *value;
};
enum { PG_SETTINGS = 12 };
void pg_settings(bool reader, struct pg_setting ret[static PG_SETTINGS]);

/* Wait until a result can be taken without waiting; sends what is held back.  wait_us:
 * how long the server may be silent, 0 for as long as it likes.  False: it is lost. */
bool pg_wait(PGconn *conn, int64_t wait_us, struct err *err);

/* Send what is held back, whatever the server does with it. */
bool pg_send_all(PGconn *conn, int64_t wait_us, struct err *err);

/* The error of a connection that is lost. */
bool pg_lost(PGconn *conn, struct err *err);

/* What a failed statement means; see db.h.  *ret_lost: the connection is of no more
 * use. */
bool pg_failed(PGconn *conn, const PGresult *result, enum sql_id id, bool *ret_lost,
               struct err *err);
