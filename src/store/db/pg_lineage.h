/* pg_lineage.h - which PostgreSQL server holds the store, and which one no longer does.
 *
 * An address may name several servers, and after a failover more than one of them may accept
 * writes: the promoted standby, and the old primary when somebody starts it again.  What the old
 * one accepts is lost.  PostgreSQL counts promotions in the timeline of its log; servers that are
 * copies of each other have the same system identifier.  A node remembers both in the file `server`
 * of its folder ("SYSTEM TIMELINE\n").  A server with another system identifier or a lower timeline
 * is passed over: the next one of the address is tried.
 *
 * The timeline is that of the log file being written, not of the last checkpoint: a server just
 * promoted has not made one.
 *
 * Two standbys that are promoted from the same timeline have the same number.  They are not told
 * apart here.
 *
 * Threads: any.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

#define PG_LINEAGE_FILE "server"

struct pg_lineage;

struct pg_server {
    int64_t system, timeline;
    char place[128]; /* "HOST:PORT" for messages */
};

/* Reads the memory of the folder.  `report` gets an error that stops nothing: the memory cannot be
 * written.  ERR_CONFIG: the file is damaged. */
bool pg_lineage_open(int data_fd,
                     void (*report)(void *arg, const char *what, const struct err *err), void *arg,
                     struct pg_lineage **ret, struct err *err);
void pg_lineage_free(struct pg_lineage *l); /* NULL is fine */

/* err.sys of a server that is passed over. */
enum { PG_PASSED_OVER = ESTALE };

/* Decides about a server that accepts writes; one with a higher timeline is remembered before it is
 * used.  ERR_TRANSIENT with PG_PASSED_OVER: it is passed over.  A NULL lineage takes any server. */
bool pg_lineage_take(struct pg_lineage *l, const struct pg_server *server, struct err *err);

/* A connection was made, or no server was found: what was passed over on the way; kind ERR_NONE:
 * nothing. */
void pg_lineage_walked(struct pg_lineage *l, const struct err *passed_over);
/* The text of that, for people; false: nothing was passed over. */
bool pg_lineage_passed_over(struct pg_lineage *l, char *ret, size_t room);

/* True: a newer timeline than this one has been seen. */
bool pg_lineage_is_over(struct pg_lineage *l, int64_t timeline);
