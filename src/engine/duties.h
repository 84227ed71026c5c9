/* duties.h - what this node does by itself, beside the jobs of the configuration: the duties of its
 * keeper, retention, the polls of gateways, the schedules of batches.
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
#include "engine/tally/duty_count.h"

struct engine;

struct duty_shown {
    const char *kind; /* keeper, retention, poll, batch */
    struct str name;  /* of the duty, the gateway, the batch */
    int64_t every_us; /* 0: by a schedule */
    int64_t next_us;  /* wall clock; 0: not known, or soon */
    bool counted;     /* false: of `count` only last_us is known */
    struct duty_count count;
};

enum { DUTIES_MOST = 2000 }; /* further ones are left out */

/* *ret: an array on the arena. */
bool duties_list(struct engine *e, struct arena *a, struct duty_shown **ret, size_t *ret_count,
                 struct err *err);
