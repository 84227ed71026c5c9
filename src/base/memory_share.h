/* memory_share.h - the memory of what is on its way in: bodies and heads of requests, under one
 * limit.
 *
 * Bodies are admitted within it (engine/intake), and heads over a few kilobytes (http_server.h).
 * Small heads count, and are never refused for it: a node whose memory is full still answers people
 * and probes.
 *
 * Threads: any.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct memory_share {
    int64_t most;
    _Atomic int64_t bodies, heads;
};

static inline bool memory_share_is_spent(struct memory_share *b)
{
    return atomic_load_explicit(&b->bodies, memory_order_relaxed) +
               atomic_load_explicit(&b->heads, memory_order_relaxed) >
           b->most;
}

/* False: there is no room, and nothing was taken. */
static inline bool memory_share_take_body(struct memory_share *b, int64_t bytes)
{
    int64_t heads = atomic_load_explicit(&b->heads, memory_order_relaxed);

    if (atomic_fetch_add(&b->bodies, bytes) + bytes + heads <= b->most)
        return true;
    atomic_fetch_sub(&b->bodies, bytes);
    return false;
}

static inline void memory_share_give_body(struct memory_share *b, int64_t bytes)
{
    atomic_fetch_sub(&b->bodies, bytes);
}

/* bytes < 0: given back. */
static inline void memory_share_note_heads(struct memory_share *b, int64_t bytes)
{
    atomic_fetch_add_explicit(&b->heads, bytes, memory_order_relaxed);
}
