/* store.h - the open store, as every room of store/ and the layers above use it.
 *
 * Writes go through the writer (writer.h) as operations; functions that change something wait for
 * their commit, so they are never called on an io thread.  Reads use a small pool of read
 * connections and may be called from any thread that may block.
 *
 * Opening and closing is open.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "store/db/db.h"

struct id;
struct recorder;
struct store;
struct writers;

/* A document that the database lost and a segment entry has (recover.h). */
struct store_lost {
    const struct id *id;
    int64_t seg, pos; /* of the entry */
    const char *why;  /* it was not taken in; NULL: it was */
    bool left_out;    /* on purpose: nobody was told that it is accepted, or it came again */
};

struct store_options {
    const char *data;      /* the node's folder; created if missing */
    const char *url;       /* postgres://..., or NULL for SQLite in the folder */
    const char *area;      /* of this node */
    const char *name;      /* of this node, for display; NULL: the name of the machine */
    const char *address;   /* where it listens, for display; may be set later */
    size_t queue_most;     /* operations waiting for the writer; more are refused */
    int64_t segment_bytes; /* 0: the default */
    /* Reports an error that no caller waits for; called on threads of the store. */
    void (*trouble)(void *arg, const char *what, const struct err *err);
    void *trouble_arg;
    void (*step)(const char *what); /* a step of opening is done */
    bool damaged; /* opens a store that was found damaged (damage.h), to look at it */
    /* Documents that the database lost: called for each while they are taken in again, at the
     * opening; or they are left to the next start. */
    void (*lost)(void *arg, const struct store_lost *l);
    void *lost_arg;
    bool leave_lost;
};

enum db_kind store_kind(const struct store *s);
struct writers *store_writers(struct store *s);
int store_data_fd(const struct store *s); /* the data folder */
int64_t store_node(const struct store *s);
int64_t store_epoch(const struct store *s);

struct recorder *store_recorder(struct store *s);

void store_trouble(struct store *s, const char *what, const struct err *err);

/* A connection of the caller's own. */
bool store_connect(struct store *s, bool reader, struct db **ret, struct err *err);
/* A connection of the heartbeat's own (PostgreSQL). */
bool store_connect_beat(struct store *s, struct db **ret, struct err *err);

/* A server of the address that accepts writes and no longer holds the store (pg_lineage.h): what to
 * tell people about it.  False: the last connection met none. */
bool store_passed_over(struct store *s, char *ret, size_t room);

/* A read connection of the pool; return it with store_reader_back().  Waits for a free one; NULL
 * only if the database cannot be reached. */
struct db *store_reader(struct store *s, struct err *err);
void store_reader_back(struct store *s, struct db *db);
