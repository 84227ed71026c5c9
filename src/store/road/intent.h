/* intent.h - before a send that may not happen twice: the note that it begins.
 *
 * The first byte of such a delivery leaves only after its intent is committed, and the settle
 * of the attempt takes it away again (settle.h).  So a delivery that is claimed with an intent
 * in its row was sent by somebody, and nobody knows what came of it.
 *
 * Invariants
 *   (1) an intent is written only under a claim that is still ours; else nothing is done and
 *       `ours` says so.  Who takes the claim over later sees the intent.
 *   (2) only deliveries that are ready or retrying have one (check.h).
 *
 * The operation is embedded in the caller's object, as that of settle.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "store/kernel/writer.h"
#include "store/road/task.h"

struct intent_op {
    struct store_op op; /* verb = &intent_verb */
    struct task task;   /* the claim, of kind TASK_DELIVER */
    int64_t attempts;   /* the one that begins included */
    int64_t first_us;

    bool ours; /* the answer, when op.ok */
};

extern const struct store_verb intent_verb;
