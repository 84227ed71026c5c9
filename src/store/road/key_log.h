/* key_log.h - idempotency keys of the SQLite store: appended, indexed behind the write.
 *
 * A key that is put into a tree at once touches a page of its own, and that page is
 * written to the log and again by the checkpoint: the dearest row of accept.  So keys are
 * appended to the table of their time (idem_SLOT), remembered in memory, and moved into
 * the tree idem_index_SLOT in sorted runs, a slice of each run between two groups.
 *
 * A key is looked for in memory (what came since the last finished run), then in the tree
 * of every table that is not over.  The tree maps 62 bits of the key to its row; rows that
 * share them stand behind each other (hash, hash + 1, ...), and the row itself decides.
 *
 * Invariants
 *   (1) every row is in memory or in its tree: part.value says up to which row the tree is
 *       complete, and is moved in the commit that ends a run.
 *   (2) at most KEY_RUN * 3 keys are in memory.
 *   (3) memory changes only after the commit that it belongs to.
 *
 * Threads: the writer's alone, but for key_log_find_in_tree().
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
bool key_log_load(struct key_log *k, struct db *db, struct err *err); /* what the tables hold */

/* A key that is not over yet. */
bool key_log_find(struct key_log *k, struct db *db, const struct sha256 *key, int64_t now_us,
                  struct key_row *ret, bool *ret_found, struct err *err);

/* In one table, as far as its tree goes; from any thread, with a connection of its own. */
bool key_log_find_in_tree(struct db *db, int64_t slot, const struct sha256 *key, int64_t now_us,
                          struct key_row *ret, bool *ret_found, struct err *err);

/* In the transaction: the row numbers of a group's keys, and the rows.  ERR_TRANSIENT when
 * there is no table for their time yet (the clock jumped), or too many wait for their tree. */
bool key_log_number(struct key_log *k, struct key_row *rows, size_t count, struct err *err);
bool key_log_add(struct db *db, const struct key_row *rows, size_t count, struct err *err);
/* After its commit. */
void key_log_added(struct key_log *k, const struct key_row *row);

/* Tables come and go; after the commit. */
void key_log_slot_made(struct key_log *k, int64_t slot);
void key_log_slot_gone(struct key_log *k, int64_t slot);

/* A slice of the run, if there is one or it is time to begin one.  *ret_waiting: more of
 * it waits. */
bool key_log_slice(struct key_log *k, struct db *db, bool *ret_waiting, struct err *err);
