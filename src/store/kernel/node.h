/* node.h - this process among the others: folder, lock, registration, fence.
 *
 * Holding the lock of the data folder proves that the predecessor is gone: its
 * node is declared dead and its leases are taken over at once (open.c).  A node on another
 * machine that stays silent is declared dead by any node that notices (rescue.h).
 *
 * Epochs only grow.  If the store assigns an epoch that this folder has already seen, the
 * store was reset to an earlier state; it is treated as restored (restore.h).
 *
 * The fence: every group begins with node_fence(), which fails when the store has declared
 * this node dead; nothing that the node does after that takes effect.  On PostgreSQL it also
 * fails when the lease has expired, and locks a row per writer until the group ends: a node
 * is declared dead between its groups, never during one.  A node that is frozen inside a group
 * loses it: by the time limits of the session (pg_connect.c), at the latest when another node
 * declares it dead.  The row also keeps the token of the
 * writer's last group, which tells the outcome of a COMMIT whose answer was lost.  (A
 * transaction id would not do: after a crash of the server the id of a lost transaction is
 * assigned again.)
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "store/kernel/writer.h"

struct store;

/* Locks the folder.  ERR_CONFIG: another process holds the lock. */
bool node_lock(struct store *s, struct err *err);

/* The node that held this folder before. */
struct node_past {
    int64_t node;   /* 0: none */
    int64_t store;  /* the identity of this store */
    bool went_back; /* the store was reset to an earlier state since */
};
/* Registers this node and declares its predecessor dead, in an open transaction, before the writers
 * start.  The caller takes over the predecessor's tasks. */
bool node_register(struct store *s, struct db *db, struct node_past *ret, struct err *err);
/* After that commit: writes this node to the file `node` of the folder. */
bool node_note_folder(struct store *s, const struct node_past *past, struct err *err);
/* Deletes dead nodes without leases, and old pauses of deleted nodes; in an open transaction. */
bool node_forget(struct db *db, struct err *err);

bool node_fence(struct writer *w, struct err *err);
/* The answer to the last COMMIT was lost: *ret: it took effect.  Waits for a commit in progress;
 * needs a new connection.  ERR_UNCERTAIN: the row of this node was deleted. */
bool node_has_committed(struct writer *w, bool *ret, struct err *err);

/* Renews the lease for the store; this node goes by it after node_renew().  ERR_PERMANENT: this
 * node was declared dead and must stop. */
bool node_beat(struct store *s, struct db *db, int64_t *ret_sent_us, struct err *err);

/* The lease counts from that heartbeat.  When the last one had ended (node_may_act() is false after
 * node_beat()), others may not have waited for this node meanwhile: what they have changed must be
 * read first. */
void node_renew(struct store *s, int64_t sent_us);

/* True: the lease has not expired, so no other node has declared this one dead
 * (core/lease_time.h). */
bool node_may_act(const struct store *s);
/* The same, and it has not expired since then (monotonic): what was allowed then still is. */
bool node_may_go_on(const struct store *s, int64_t since_us);

/* Declares silent nodes dead, in an open transaction (PostgreSQL).  One that has a group open is
 * only stopped: its sessions are ended, and a later call declares it dead. */
bool node_end_silent(struct writer *w, struct err *err);

enum { NODE_NAME = 128 };

/* The name that a node had, also one that is gone.  False with ERR_NONE: it is not known. */
bool node_name(struct store *s, int64_t node, struct arena *a, struct str *ret, struct err *err);

struct node_row {
    int64_t node, epoch, pid, state, started_us, alive_until_us;
    char name[NODE_NAME], host[128], area[32], address[128];
};

enum { NODES_MOST = 256 };
bool node_list(struct store *s, struct node_row *rows, size_t most, size_t *ret_count,
               struct err *err);
