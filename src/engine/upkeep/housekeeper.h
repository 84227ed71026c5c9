/* housekeeper.h - the thread for periodic duties.
 *
 * Heartbeat and rescue (PostgreSQL), free space, following holds, pauses and configuration
 * versions, tables of idempotency keys, and the rest of its table.  Each duty has its own period; a
 * failure is reported once and retried at the next turn.  Results that concern senders go to the
 * intake, which refuses them before the body is read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct admin_keys;
struct alerts;
struct backlog;
struct batcher;
struct charts;
struct config_node;
struct govern;
struct intake;
struct housekeeper;
struct live;
struct mishaps;
struct refusals;
struct road;
struct series;
struct store;
struct controls;
struct ways;

/* The parts it calls; all are lent until housekeeper_stop(). */
struct housekeeper_parts {
    const struct config_node *node;
    struct store *store;
    struct intake *intake;
    struct govern *govern;
    struct road *road;
    struct live *live;
    struct controls *controls;
    struct admin_keys *admin_keys;
    struct batcher *batcher;
    struct backlog *backlog;
    struct alerts *alerts;
    struct mishaps *mishaps;
    struct refusals *refusals;
    struct series *series;
    struct charts *charts;
    struct ways *ways;
};

struct duty_count;

/* The i-th of its duties, in the order of its table; false: there are no more.  Threads: any. */
bool housekeeper_duty(struct housekeeper *k, size_t i, const char **ret_name, int64_t *ret_every_us,
                      struct duty_count *ret);

struct housekeeper *housekeeper_start(const struct housekeeper_parts *parts);
void housekeeper_stop(struct housekeeper *k);
