/* lease_time.h - how long a node may act after a heartbeat.
 *
 * Nodes of one store take work over from a node that is silent: dead, frozen or cut off.  Such a
 * node may come back and go on, so three parties must agree on when its lease ends.
 *   The store   records a heartbeat every LEASE_BEAT_US; LEASE_TTL_US after the last one it refuses
 *               every change from the node (sql/node.sql, node_enter).
 *   The node    counts the same time on its monotonic clock from before it sent the heartbeat, so
 *               that its lease ends for itself before it ends for the store.  From then on it
 *               begins nothing: this is checked before a slot is taken (govern.h) and again before
 *               the first byte of a send (node_may_act()).
 *   The others  declare it dead, for ever, LEASE_GRACE_US after its lease: its epoch is over, and
 *               its claims are taken over under new numbers.
 *
 * A send that has begun is not cut off at the end of the lease: it ends with its answer or by its
 * time-out, SEND_TIMEOUT unless the endpoint says otherwise, which is longer than a lease.  So a
 * request can be on its way while another node has claimed its delivery already; docs/in-doubt.md
 * says what a receiver can see of that.
 *
 * tests/sim drives these numbers with the rules that follow from them (docs/internals/sim.md).
 */
#pragma once

#include <stdint.h>

enum {
    LEASE_TTL_US = 10 * 1000000,
    LEASE_BEAT_US = 1250 * 1000,
    LEASE_GRACE_US = LEASE_TTL_US / 2,
};

#define SEND_TIMEOUT "30s"

/* Until then the node may begin work (monotonic). */
static inline int64_t lease_end_us(int64_t beaten_us)
{
    return beaten_us + LEASE_TTL_US;
}
