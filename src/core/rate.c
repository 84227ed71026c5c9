#include "core/rate.h"

bool rate_take(struct rate *r, uint64_t count, int64_t per_us, uint64_t burst, int64_t now_us,
               int64_t *ret_wait_us)
{
    if (count == 0)
        return true;
    int64_t each_ns = per_us * 1000 / (int64_t)count, now = now_us * 1000;
    int64_t ahead = each_ns * (int64_t)(burst > 0 ? burst - 1 : 0);
    int64_t due = atomic_load_explicit(&r->due_ns, memory_order_relaxed), from;

    do {
        from = due > now ? due : now;
        if (from - now > ahead) {
            *ret_wait_us = (from - now - ahead) / 1000 + 1;
            return false;
        }
    } while (!atomic_compare_exchange_weak(&r->due_ns, &due, from + each_ns));
    return true;
}
