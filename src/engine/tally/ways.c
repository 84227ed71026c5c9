#include "engine/tally/ways.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/alloc.h"

enum { SLOTS = 2 * WAYS_MOST, NAME_BITS = 30 };

struct slot {
    _Atomic uint64_t key; /* kind, from, to; 0: free */
    _Atomic int64_t count;
    _Atomic int64_t seen[WAYS_LOOKS];
};

struct ways {
    _Atomic size_t used;
    _Atomic unsigned looks;
    struct slot slots[SLOTS];
};

struct ways *ways_new(void)
{
    return NEW(struct ways);
}

void ways_free(struct ways *w)
{
    free(w);
}

static uint64_t ways_key_of(enum way_kind kind, int64_t from, int64_t to)
{
    return (uint64_t)kind << 2 * NAME_BITS | (uint64_t)from << NAME_BITS | (uint64_t)to;
}

/* Slots are never released, so a key that a thread has seen stays valid without a lock. */
static struct slot *ways_slot_of(struct ways *w, uint64_t key)
{
    size_t at = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) % SLOTS;

    for (size_t i = 0; i < SLOTS; i++, at = (at + 1) % SLOTS) {
        uint64_t there = atomic_load_explicit(&w->slots[at].key, memory_order_relaxed);

        if (there == key)
            return &w->slots[at];
        if (there != 0)
            continue;
        if (atomic_fetch_add(&w->used, 1) >= WAYS_MOST) {
            atomic_fetch_sub(&w->used, 1);
            return NULL;
        }
        if (atomic_compare_exchange_strong(&w->slots[at].key, &there, key))
            return &w->slots[at];
        atomic_fetch_sub(&w->used, 1);
        if (there == key)
            return &w->slots[at];
    }
    return NULL;
}

void ways_count(struct ways *w, enum way_kind kind, int64_t from, int64_t to)
{
    const int64_t most = INT64_C(1) << NAME_BITS;

    if (from <= 0 || to <= 0 || from >= most || to >= most)
        return;
    struct slot *s = ways_slot_of(w, ways_key_of(kind, from, to));

    if (s != NULL)
        atomic_fetch_add_explicit(&s->count, 1, memory_order_relaxed);
}

void ways_look(struct ways *w)
{
    unsigned n = atomic_load(&w->looks);

    for (size_t i = 0; i < SLOTS; i++)
        if (atomic_load_explicit(&w->slots[i].key, memory_order_relaxed) != 0)
            atomic_store(&w->slots[i].seen[n % WAYS_LOOKS], atomic_load(&w->slots[i].count));
    atomic_store(&w->looks, n + 1);
}

size_t ways_list(struct ways *w, struct way_seen *ret)
{
    const uint64_t mask = (UINT64_C(1) << NAME_BITS) - 1;
    unsigned oldest = atomic_load(&w->looks) % WAYS_LOOKS;
    size_t n = 0;

    for (size_t i = 0; i < SLOTS && n < WAYS_MOST; i++) {
        uint64_t key = atomic_load_explicit(&w->slots[i].key, memory_order_relaxed);
        int64_t total = atomic_load(&w->slots[i].count);

        if (key != 0)
            ret[n++] =
                (struct way_seen){ .kind = (enum way_kind)(key >> 2 * NAME_BITS),
                                   .from = (int64_t)(key >> NAME_BITS & mask),
                                   .to = (int64_t)(key & mask),
                                   .total = total,
                                   .lately = total - atomic_load(&w->slots[i].seen[oldest]) };
    }
    return n;
}
