/* lease.h - who may still change what: claims, heartbeats and the fence between them.
 *
 * A node lives for TTL after each heartbeat that the store has taken.  Past that it changes
 * nothing and begins nothing; past a grace more it may be declared dead, for ever: its epoch is
 * over, and what it had claimed is taken over under new tokens.  A token is never given twice.
 *
 *   (1) A change is made only for the claim that the store has, by the node that has it, in its
 *       epoch, while that node is alive; else it does nothing.
 *   (2) A node measures its lease from before the heartbeat was sent, on its monotonic clock, so
 *       that it is over for the node before it is over for the store.
 *   (3) Every send has a deadline, and begins only when that is before the end of the lease: when
 *       its claim is taken over, no byte of it is on its way any more.
 *
 * Pure: time is an argument, the store's own in (1), monotonic in (2) and (3).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct lease_claim {
    int64_t token; /* 0: nobody has it */
    int64_t node, epoch;
};

/* What the store knows of a node. */
struct lease_node {
    int64_t node, epoch;
    int64_t alive_until_us; /* its last heartbeat and TTL */
    bool dead;              /* declared */
};

/* The node may make changes at all. */
bool lease_is_alive(const struct lease_node *n, int64_t node, int64_t epoch, int64_t now_us);
/* Rule (1): `mine` is what the node believes, `row` and `n` are what the store has. */
bool lease_may_change(const struct lease_claim *mine, const struct lease_claim *row,
                      const struct lease_node *n, int64_t now_us);
/* It has been silent for so long that it may be declared dead. */
bool lease_is_silent(const struct lease_node *n, int64_t grace_us, int64_t now_us);
/* Rule (3): a send that lasts `longest_us` at most may begin. */
bool lease_may_send(int64_t beaten_us, int64_t ttl_us, int64_t longest_us, int64_t now_us);
