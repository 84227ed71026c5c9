/* controls.h - follows holds and pauses from the store and applies them on this node.
 *
 * Each tick of the housekeeper checks the store's mark and clock.  Changes are passed to the
 * governor and the intake, and the store records that this node follows them.  Whoever places a
 * hold waits until every live node has done so: from then on only deliveries that the nodes
 * recorded as being sent can still arrive.
 *
 * Also ends expired holds and reminds of open-ended ones once a day; with several nodes, one of
 * them does.
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

/* Applies what the store says; cheap when nothing changed. */
bool controls_follow(struct controls *w, struct err *err);

enum { CONTROLS_BLIND_MOST = 16, CONTROLS_SENDING_MOST = 16000 };

struct controls_placed {
    int64_t num;
    struct str *sending; /* ids of deliveries that were being sent when it took effect */
    size_t sending_count;
    int64_t blind[CONTROLS_BLIND_MOST]; /* nodes that did not answer in time */
    size_t blind_count;
};

/* Places a hold and waits until it is in effect on all nodes.  ERR_UNCERTAIN: it may be placed. */
bool controls_hold(struct controls *w, const struct hold *h, struct arena *a,
                   struct controls_placed *ret, struct err *err);
/* *ret_was: the hold had not ended before. */
bool controls_end(struct controls *w, int64_t num, struct str by, bool *ret_was, struct err *err);

/* node 0: all; what: bits of 1 << pause_what. */
bool controls_pause(struct controls *w, int64_t node, unsigned what, struct str reason,
                    struct str by, struct err *err);
bool controls_resume(struct controls *w, int64_t node, unsigned what, int64_t *ret_count,
                     struct err *err);

/* This node begins no jobs: somebody has paused them, or drains the node. */
bool controls_jobs_rest(struct controls *w);

/* After a restore: chooses what happens to deliveries that were in flight, or continues with the
 * choice, for a few seconds at most.  *ret: the state now. */
bool controls_release(struct controls *w, enum restore_rule rule, const struct restore_order *order,
                      struct restore *ret, struct restore_progress *ret_progress, struct err *err);

/* Appends what an operator should know of this node, one line each: pauses, a restore, a clock that
 * jumped. */
void controls_tell(struct controls *w, struct buf *to);
