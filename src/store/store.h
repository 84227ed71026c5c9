/* store.h - the truth: documents, tasks, configuration versions, keys, nodes.
 *
 * Speaks the domain, never SQL.  One store is open per process; behind it stands
 * SQLite in the data folder, or PostgreSQL with the data folder for what is the
 * node's own (token, lock, spool).
 *
 * Opening is recovery: the folder is locked, the schema brought up to date, the
 * predecessor of this node declared dead and its leases taken over, and tasks whose code
 * brought it down while they ran alone are counted.
 *
 * Writes go through the writer (writer.h) as operations; functions named here
 * that change something wait for their commit, so they are never called on an io
 * thread.  Reads use a small pool of read connections and may be called from any
 * thread that may block.
 *
 *   accept.h      a document comes in             task.h       claim, finish, fail, rescue
 *   settle.h      what came of a task             delivery.h   look at deliveries
 *   document.h    look at documents               version.h    configuration versions
 *   caller.h      keys of senders                 payload.h    the bytes
 *   role.h        what people may                 admin_key.h  keys of machines that ask
 *   hold.h        holds of systems                pause.h      what nodes do not do now
 *   order.h       deliveries in order             alert.h      what needs a person
 *   order.h       deliveries in order             batch.h      documents that go together
 *   recorder.h    what ran when we died           check.h      what must be true
 *   audit.h       who did what
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "store/db/db.h"
#include "store/kernel/writer.h"

struct store;

struct store_options {
    const char *data;      /* the node's folder; made when it is not there */
    const char *url;       /* postgres://..., or NULL for SQLite in the folder */
    const char *area;      /* of this node */
    const char *address;   /* where it listens, for people; may be set later */
    size_t queue_most;     /* operations waiting for the writer */
    int64_t segment_bytes; /* 0: the default */
    /* Trouble that no caller waits for; called on threads of the store's own. */
    void (*trouble)(void *arg, const char *what, const struct err *err);
    void *trouble_arg;
    void (*step)(const char *what); /* a step of opening is done */
};

bool store_open(const struct store_options *options, struct store **ret, struct err *err);
void store_close(struct store *s); /* finishes what is queued */

enum db_kind store_kind(const struct store *s);
struct writers *store_writers(struct store *s);
int store_data_fd(const struct store *s); /* the data folder */
int64_t store_node(const struct store *s);
int64_t store_epoch(const struct store *s);

struct recorder *store_recorder(struct store *s);

void store_trouble(struct store *s, const char *what, const struct err *err);

/* A connection of the heartbeat's own (PostgreSQL). */
bool store_connect_beat(struct store *s, struct db **ret, struct err *err);

/* A read connection, to be given back.  Waits for one; never fails but when the
 * database cannot be reached. */
struct db *store_reader(struct store *s, struct err *err);
void store_reader_back(struct store *s, struct db *db);

/* Names of the configuration as small integers, for ever; the memory is the
 * store's.  store_word() adds a name that is new, store_words() many in one commit. */
enum word_kind {
    WORD_GATEWAY = 1,
    WORD_SYSTEM = 2,
    WORD_TYPE = 3,
    WORD_ENDPOINT = 4,
    WORD_ROUTE = 5,
    WORD_LANE = 6, /* "SYSTEM/ENDPOINT" by their words (settle.h) */
    WORD_BATCH = 7
};

bool store_word(struct store *s, enum word_kind kind, struct str name, int64_t *ret_id,
                struct err *err);
bool store_words(struct store *s, enum word_kind kind, const struct str *names, size_t count,
                 int64_t *ret_ids, struct err *err);
bool store_word_find(struct store *s, enum word_kind kind, struct str name, int64_t *ret_id);
struct str store_word_name(struct store *s, int64_t id); /* empty for an unknown one */
