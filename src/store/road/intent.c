/* intent.c - the committed record that a send begins.
 *
 * The problem.  Between the first byte of a send and the answer of the receiver a node can die.
 * If the store cannot tell "never sent" from "sent, outcome unknown", the next claim of the task
 * must either send again, which a receiver that is not idempotent books twice, or never send,
 * which loses the delivery.  docs/in-doubt.md has the policies; `resend` needs no intent.
 *
 * The method.  The delivery has a row and its task is claimed.  One transaction sets intent_us,
 * together with the number of the attempt, under the condition that the claim still holds.  Only
 * after its commit does the engine send (engine/run/doubt.c).  The settlement of the attempt
 * writes intent_us again: 0, unless the receiver is to be asked about it later (`probe`).
 *
 * Invariants
 *   (1) No byte leaves before the intent is committed under the sender's own claim.
 *   (2) Only deliveries that are ready or retrying have an intent; both statements check it.
 *   (3) While an intent stands, another node can claim the task only after the commit that wrote
 *       it, so whoever claims the task sees the intent.
 *
 * Why they hold.  On SQLite one writer runs claims, intents and settlements one after the other,
 * and claims_have() checks the mark in memory.  On PostgreSQL the statement locks the lease row
 * until the commit, and a takeover deletes that row.  If the takeover comes first, the lease is
 * not found: `ours` is false, no intent is written and nothing is sent.  If the intent comes
 * first, the takeover follows its commit and the next claim reads the delivery with the intent.
 *
 * Crashes
 *   before the commit     no intent, nothing was sent: the delivery is sent by the next claim.
 *   after it, unsent      the intent says "perhaps sent": the policy decides.
 *   after the send        the same: the two cannot be told apart.
 *   after the settlement  the outcome is in the row.
 * When it is not known whether the commit was done, or the node is stopping, the engine sends
 * nothing and settles the task as not sent, which removes the intent where it was written.
 *
 * Not covered: a request that outlives the heartbeat of its node ("A send that outlives its
 * node's heartbeat" in docs/in-doubt.md).  No record in the store can recall it.
 */
#include "store/road/intent.h"

#include "base/arena.h"
#include "base/container_of.h"
#include "base/fault.h"
#include "base/require.h"
#include "store/kernel/store_state.h"
#include "store/road/claims.h"
#include "store/road/settle.h"

enum { LEASED = 4 };

static bool intent_found_lease(void *arg, int64_t slot, size_t at, struct db_rows *row,
                               struct err *err)
{
    struct store_op **ops = arg;

    (void)slot;
    (void)row;
    (void)err;
    (container_of(ops[at], struct intent_op, op))->ours = true;
    return true;
}

static bool put_leased(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    struct db_value *v = ARENA_ARRAY(w->arena, struct db_value, count * LEASED);

    for (size_t i = 0; i < count; i++) {
        const struct intent_op *o = container_of(ops[i], struct intent_op, op);

        v[i * LEASED] = db_int(o->task.id);
        v[i * LEASED + 1] = db_int(o->task.claim);
        v[i * LEASED + 2] = db_int(o->attempts);
        v[i * LEASED + 3] = db_int(o->first_us);
    }
    return db_find(w->db, SQL_INTENT_LEASED, DB_NO_SLOT, 1, v, LEASED, count, intent_found_lease,
                   ops, err);
}

static bool put_claimed(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        struct intent_op *o = container_of(ops[i], struct intent_op, op);
        int64_t changed;

        if (!claims_have(w->store->claims, &o->task))
            continue;
        if (!db_run(w->db, SQL_INTENT_PUT,
                    DB_ARGS(db_int(o->task.id), db_int(o->attempts), db_int(o->first_us)), &changed,
                    err))
            return false;
        o->ours = changed == 1;
    }
    return true;
}

static bool intent_run(struct writer *w, struct store_op **ops, size_t count, struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        struct intent_op *o = container_of(ops[i], struct intent_op, op);

        require(o->task.kind == TASK_DELIVER);
        o->ours = false;
    }
    if (w->db->kind == DB_SQLITE ? !put_claimed(w, ops, count, err)
                                 : !put_leased(w, ops, count, err))
        return false;
    fault_point(INTENT_WRITTEN);
    return true;
}

const struct store_verb intent_verb = { .name = "intent", .run = intent_run };
