/* key_log.h - idempotency keys of the SQLite store: appended, indexed behind the write.
 *
 * Keys are appended to the table of the time at which they expire (idem_SLOT), remembered
 * in memory, and moved into the tree idem_index_SLOT in sorted runs, a slice of each run
 * between two groups.  A key is looked up in memory (what came since the last finished
 * run), then in the trees.  key_log.c tells why, and why no key is lost or stored twice.
 *
 * Threads: the writer's alone, except key_log_find_in_tree().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/err.h"
#include "base/id.h"
#include "store/db/db.h"

enum { KEY_RUN = 16384, KEY_SLICE = 1000, KEY_SLOTS = 1024 };

struct key_log;

struct key_row {
    struct sha256 key, sha256;
    struct id id;
    int64_t slot, seq, until_us;
};

struct key_log *key_log_new(void);
void key_log_free(struct key_log *k);
bool key_log_load(struct key_log *k, struct db *db,
                  struct err *err); /* at start, from the tables */

/* Finds a key that has not expired. */
bool key_log_find(struct key_log *k, struct db *db, const struct sha256 *key, int64_t now_us,
                  struct key_row *ret, bool *ret_found, struct err *err);

/* Searches the tree of one table only, so recent keys are not found; from any thread, with a
 * connection of its own. */
bool key_log_find_in_tree(struct db *db, int64_t slot, const struct sha256 *key, int64_t now_us,
                          struct key_row *ret, bool *ret_found, struct err *err);

/* In the transaction: number the rows, then insert them.  ERR_TRANSIENT when there is no table
 * for their time yet (the clock jumped), or too many keys wait to be moved into the trees. */
bool key_log_number(struct key_log *k, struct key_row *rows, size_t count, struct err *err);
bool key_log_add(struct db *db, const struct key_row *rows, size_t count, struct err *err);
/* After the commit, once for each row. */
void key_log_added(struct key_log *k, const struct key_row *row);

/* A table was made or dropped; after the commit. */
void key_log_slot_made(struct key_log *k, int64_t slot);
void key_log_slot_gone(struct key_log *k, int64_t slot);

/* Moves a slice of the run into the trees, if there is a run or it is time to begin one.
 * *ret_waiting: the run has more slices. */
bool key_log_slice(struct key_log *k, struct db *db, bool *ret_waiting, struct err *err);
