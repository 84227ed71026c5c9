/* intent.h - the committed record that a send begins, for systems that are not idempotent.
 *
 * The first byte of such a delivery leaves only after its intent is committed, and the
 * settlement of the attempt removes the intent (settle.h).  So a delivery that is claimed with
 * an intent in its row may have been sent before, and the outcome is unknown.
 *
 * An intent is written only under a claim that still holds and for a delivery that is ready or
 * retrying; else nothing is done and `ours` is false.  intent.c has the invariants, check.h
 * checks them, docs/in-doubt.md tells what follows from an intent.
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
    int64_t attempts;   /* including the one that begins */
    int64_t first_us;

    bool ours; /* the answer, when op.ok */
};

extern const struct store_verb intent_verb;
