/* node.h - this process among the others: folder, lock, registration, fence.
 *
 * Holding the lock of the data folder proves that the predecessor is gone: its
 * node is declared dead and its leases are taken over at once (rescue.h).  A node on another
 * machine that stays silent is declared dead by whoever notices.
 *
 * A store whose epoch this folder has seen before was put back in time, by whatever means: it
 * is treated as restored (restore.h).
 *
 * The fence: every group begins with node_fence(), which fails when this node is
 * dead in the store's eyes; nothing it does after that takes effect.  On PostgreSQL it
 * is a row per writer, which the group holds until it ends: a node is declared dead
 * between its groups, never during one.  The row also keeps the token of the writer's
 * last group, so that a lost answer to COMMIT can be found out.  (A transaction id would
 * not do: after a crash of the server the id of a lost transaction is given again.)
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "store/kernel/writer.h"

struct store;

/* Lock the folder.  ERR_CONFIG when another process has it. */
bool node_lock(struct store *s, struct err *err);

/* The node that held this folder before. */
struct node_past {
    int64_t node;   /* 0: none */
    int64_t store;  /* the mark of this store */
    bool went_back; /* the store was put back in time since */
};
/* In an open transaction, before the writers start: this node is registered, its predecessor
 * ends.  Its work is the caller's (rescue.h). */
bool node_register(struct store *s, struct db *db, struct node_past *ret, struct err *err);
/* After that commit: the folder remembers this node. */
bool node_note_folder(struct store *s, const struct node_past *past, struct err *err);
/* Dead nodes that nothing points to; in an open transaction. */
bool node_forget(struct db *db, struct err *err);

bool node_fence(struct writer *w, struct err *err);
/* The answer to the last commit was lost: was it done?  Waits for a commit that is still
 * running; on a new connection. */
bool node_has_committed(struct writer *w, bool *ret, struct err *err);

/* Renew; ERR_PERMANENT when this node was declared dead: stop. */
bool node_beat(struct store *s, struct db *db, struct err *err);

/* Nobody can have declared this node dead: its lease is not over (core/lease_time.h). */
bool node_may_act(const struct store *s);

/* Declare silent nodes dead, in an open transaction (PostgreSQL). */
bool node_end_silent(struct writer *w, struct err *err);

struct node_row {
    int64_t node, epoch, pid, state, started_us, alive_until_us;
    char host[128], area[32], address[128];
};

enum { NODES_MOST = 256 };
bool node_list(struct store *s, struct node_row *rows, size_t most, size_t *ret_count,
               struct err *err);
