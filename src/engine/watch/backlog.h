/* backlog.h - how much waits for each system, why, and when it will be sent.
 *
 * The store is counted at most every two seconds; the rate is that of all nodes.
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

/* Counts, unless the last count is recent. */
bool backlog_look(struct backlog *b, struct err *err);

struct backlog_view {
    int64_t ready, later; /* due deliveries; deliveries due later */
    int64_t sending;      /* in memory of any node, for a second or longer (aloft.h) */
    int64_t per_hour;     /* recent rate of all nodes; 0: unknown */
    int64_t gone_us;      /* when all will be sent; 0: unknown */
};
/* As of the last count; begin_us: when deliveries can begin. */
void backlog_of(struct backlog *b, int64_t system, int64_t begin_us, struct backlog_view *ret);
