/* hold.h - holds that operators place on systems, and which nodes follow them.
 *
 * A hold is a fact about a system, from one moment to another or until an operator ends it.  An
 * ended hold, by hand or by time, is marked as such and stays visible for HOLD_KEEP_DAYS.
 *
 * Every change raises a mark that all nodes poll.  A node that follows a hold records that and the
 * deliveries it was sending at that moment, so that the operator can wait for all nodes.
 *
 * Threads: any that may block; changes run in the writer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/retain_rule.h"

struct store;

struct hold {
    int64_t num, system;       /* system: name id */
    int64_t from_us, until_us; /* until 0: open-ended */
    int64_t made_us, reminded_us;
    int64_t ended_us; /* 0: not ended */
    struct str reason, owner, ended_by;
};

enum {
    HOLDS_MOST = 1000,        /* not ended */
    HOLD_SENDING_MOST = 2000, /* delivery ids per node */
    HOLD_SENDING_BYTES = 1 << 20,
    HOLD_KEEP_DAYS = RETAIN_DAYS /* of ended holds */
};

/* The store sets num and the times made and ended; from_us 0: now.  ERR_LIMIT: there are
 * HOLDS_MOST already. */
bool hold_add(struct store *s, const struct hold *h, int64_t *ret_num, struct err *err);
/* *ret_was false: it had ended before, or does not exist. */
bool hold_end(struct store *s, int64_t num, struct str by, bool *ret_was, struct err *err);
/* Ends holds whose time is over at now_us.  ret_nums has room for HOLDS_MOST: the holds that this
 * call ended. */
bool hold_expire(struct store *s, int64_t now_us, int64_t *ret_nums, size_t *ret_count,
                 struct err *err);
/* Open-ended holds without a reminder since `before_us`.  Each is returned to one caller only, on
 * one node. */
bool hold_remind(struct store *s, int64_t now_us, int64_t before_us, int64_t *ret_nums,
                 size_t *ret_count, struct err *err);

/* Holds that have not ended, by number; with `ended` the newest of all.  `ret` has room for
 * HOLDS_MOST. */
bool hold_list(struct store *s, bool ended, struct arena *a, struct hold *ret, size_t *ret_count,
               struct err *err);
/* False with ERR_NONE: there is none. */
bool hold_get(struct store *s, int64_t num, struct arena *a, struct hold *ret, struct err *err);

/* The mark of holds and pauses, and the store's clock. */
bool hold_look(struct store *s, int64_t *ret_mark, int64_t *ret_now_us, struct err *err);

/* Records that this node follows the hold; `sending`: delivery ids, one per line. */
bool hold_see(struct store *s, int64_t num, struct str sending, struct err *err);
/* Live nodes that do not follow the hold yet. */
bool hold_blind(struct store *s, int64_t num, int64_t *ret_nodes, size_t most, size_t *ret_count,
                struct err *err);
/* The delivery ids that nodes were sending when they began to follow it, at most `most`. */
bool hold_sending(struct store *s, int64_t num, struct arena *a, struct str *ret, size_t most,
                  size_t *ret_count, struct err *err);
