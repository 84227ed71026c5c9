/* budget.h - the memory of what is on its way in: bodies and heads of requests, under one limit.
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

struct budget {
    int64_t most;
    _Atomic int64_t bodies, heads;
};

static inline bool budget_is_spent(struct budget *b)
{
    return atomic_load_explicit(&b->bodies, memory_order_relaxed) +
               atomic_load_explicit(&b->heads, memory_order_relaxed) >
           b->most;
}

/* False: there is no room, and nothing was taken. */
static inline bool budget_take_body(struct budget *b, int64_t bytes)
{
    int64_t heads = atomic_load_explicit(&b->heads, memory_order_relaxed);

    if (atomic_fetch_add(&b->bodies, bytes) + bytes + heads <= b->most)
        return true;
    atomic_fetch_sub(&b->bodies, bytes);
    return false;
}

static inline void budget_give_body(struct budget *b, int64_t bytes)
{
    atomic_fetch_sub(&b->bodies, bytes);
}

/* bytes < 0: given back. */
static inline void budget_note_heads(struct budget *b, int64_t bytes)
{
    atomic_fetch_add_explicit(&b->heads, bytes, memory_order_relaxed);
}
