/* failing.h - what a node cannot run now: gateways whose looks fail there, endpoints that are held
 * there for a reason of its own (a folder that is not mounted), steps that ask a service whose
 * breaker is open there.
 *
 * Each node writes its own rows, when a trouble begins, changes or ends.  Rows of nodes that do not
 * run any more do not count.
 *
 * Threads: any that may block.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct store;

struct failing {
    int64_t word; /* name id of the gateway, endpoint or step */
    int64_t node, since_us;
    struct str message, host; /* host: of the node */
};

enum { FAILINGS_MOST = 1024 };

/* A trouble of this node began, or has another message. */
bool failing_put(struct store *s, int64_t word, struct str message, struct err *err);
bool failing_drop(struct store *s, int64_t word, struct err *err);
/* Those of all running nodes, sorted by name id; `ret` has room for FAILINGS_MOST. */
bool failing_list(struct store *s, struct arena *a, struct failing *ret, size_t *ret_count,
                  struct err *err);
