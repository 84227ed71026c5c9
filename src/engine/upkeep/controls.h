/* controls.h - holds and pauses as the store has them, applied on this node.
 *
 * Each tick of the housekeeper looks at the store's mark and clock; what changed is given to the
 * governor and the intake, and the store is told that this node goes by it.  Whoever places
 * a hold waits until every node that lives has said so: from then on only what they named
 * as being sent can still arrive.
 *
 * It also ends holds whose time is over and reminds of those without an end once a day; of
 * several nodes one does.
 *
 * Threads: any that may block; calls take turns.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "store/backup/restore.h"
#include "store/govern/hold.h"
#include "store/govern/pause.h"

struct govern;
struct intake;
struct mishaps;
struct road;
struct store;
struct controls;

struct controls_options {
    struct store *store;
    struct govern *govern;
    struct road *road;
    struct intake *intake;
    struct mishaps *mishaps;
};

struct controls *controls_new(const struct controls_options *options);
void controls_free(struct controls *w); /* NULL is fine */

/* Go by what the store says; cheap when nothing changed. */
bool controls_follow(struct controls *w, struct err *err);

enum { WARDEN_BLIND_MOST = 16, WARDEN_SENDING_MOST = 16000 };

struct controls_placed {
    int64_t num;
    struct str *sending; /* ids of deliveries that were on the wire when it took hold */
    size_t sending_count;
    int64_t blind[WARDEN_BLIND_MOST]; /* nodes that did not answer in time */
    size_t blind_count;
};

/* Place it, and wait until it is live everywhere.  ERR_UNCERTAIN: it may be placed. */
bool controls_hold(struct controls *w, const struct hold *h, struct arena *a,
                   struct controls_placed *ret, struct err *err);
/* *ret_was: it had not ended. */
bool controls_end(struct controls *w, int64_t num, struct str by, bool *ret_was, struct err *err);

/* node 0: all; what: bits of 1 << pause_what. */
bool controls_pause(struct controls *w, int64_t node, unsigned what, struct str reason,
                    struct str by, struct err *err);
bool controls_resume(struct controls *w, int64_t node, unsigned what, int64_t *ret_count,
                     struct err *err);

/* After a restore: choose what becomes of what was in flight, or go on with it, for a few
 * seconds at most.  *ret: as it stands now; *ret_changed: deliveries and documents. */
bool controls_release(struct controls *w, enum restore_rule rule, const struct restore_order *order,
                      struct restore *ret, struct restore_progress *ret_progress, struct err *err);

/* What a person should know of this node, one line each: pauses, a restore, a clock that jumped. */
void controls_tell(struct controls *w, struct buf *to);
