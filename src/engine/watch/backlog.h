/* backlog.h - how much waits for each system, why, and when it will be gone.
 *
 * Counted in the store now and then, so it is a little old; the rate is this node's own.
 *
 * Threads: any that may block.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct alerts;
struct backlog;
struct govern;
struct mishaps;
struct road;
struct store;

struct backlog_options {
    struct store *store;
    struct govern *govern;
    struct road *road;
    struct alerts *alerts;
    struct mishaps *mishaps;
};

struct backlog *backlog_new(const struct backlog_options *options);
void backlog_free(struct backlog *b); /* NULL is fine */

/* Count, unless that was done a moment ago. */
bool backlog_look(struct backlog *b, struct err *err);

struct backlog_view {
    int64_t ready, later; /* deliveries that wait for their turn, and for their time */
    int64_t per_hour;     /* delivered lately by this node; 0: not known */
    int64_t gone_us;      /* 0: that is not known */
};
/* As of the last look; begin_us: when they can go. */
void backlog_of(struct backlog *b, int64_t system, int64_t begin_us, struct backlog_view *ret);
