/* hold.h - ad hoc holds of systems, and who goes by them.
 *
 * A hold is a fact about a system from one moment to another, or without an end until somebody
 * ends it.  It ends by being marked, by a person or when its time is over, and stays to be
 * looked at for a while.
 *
 * A change raises a mark, at which every node looks; a node that goes by a hold says so and names
 * what it was sending at that moment, so that whoever placed it can wait for all.
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
    int64_t num, system;       /* a word */
    int64_t from_us, until_us; /* until 0: without an end */
    int64_t made_us, reminded_us;
    int64_t ended_us; /* 0: it has not ended */
    struct str reason, owner, ended_by;
};

enum {
    HOLDS_MOST = 1000,        /* that have not ended */
    HOLD_SENDING_MOST = 2000, /* ids that a node names */
    HOLD_SENDING_BYTES = 1 << 20,
    HOLD_KEEP_DAYS = RETAIN_DAYS /* ended ones */
};

/* num, made and ended are the store's; from_us 0: now.  ERR_LIMIT: there are HOLDS_MOST. */
bool hold_add(struct store *s, const struct hold *h, int64_t *ret_num, struct err *err);
/* *ret_was: it had not ended. */
bool hold_end(struct store *s, int64_t num, struct str by, bool *ret_was, struct err *err);
/* End those whose time is over at now_us; the numbers of those that this call ended, up to
 * HOLDS_MOST. */
bool hold_expire(struct store *s, int64_t now_us, int64_t *ret_nums, size_t *ret_count,
                 struct err *err);
/* Those without an end of which nobody was reminded since `before_us`; each is given to one
 * caller. */
bool hold_remind(struct store *s, int64_t now_us, int64_t before_us, int64_t *ret_nums,
                 size_t *ret_count, struct err *err);

/* By number: those that have not ended, or with `ended` the newest of all; `ret` has room for
 * HOLDS_MOST. */
bool hold_list(struct store *s, bool ended, struct arena *a, struct hold *ret, size_t *ret_count,
               struct err *err);
/* False with ERR_NONE: there is none. */
bool hold_get(struct store *s, int64_t num, struct arena *a, struct hold *ret, struct err *err);

/* How often holds and pauses were changed, and the store's clock. */
bool hold_look(struct store *s, int64_t *ret_mark, int64_t *ret_now_us, struct err *err);

/* This node goes by it; sending: ids, one a line. */
bool hold_see(struct store *s, int64_t num, struct str sending, struct err *err);
/* Nodes that live and do not go by it yet. */
bool hold_blind(struct store *s, int64_t num, int64_t *ret_nodes, size_t most, size_t *ret_count,
                struct err *err);
/* What all nodes were sending, one id after the other; at most `most`. */
bool hold_sending(struct store *s, int64_t num, struct arena *a, struct str *ret, size_t most,
                  size_t *ret_count, struct err *err);
