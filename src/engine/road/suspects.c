#include "engine/road/suspects.h"

#include "base/clock.h"
#include "store/road/task.h"

/* The longest time for which tasks run one at a time: a suspect may be held, or may have ended on
 * another node, and then it would never be cleared. */
#define CAREFUL_US (INT64_C(600) * CLOCK_S)

void suspects_start(struct suspects *s, struct recorder *recorder)
{
    struct suspect found[RECORDER_SLOTS];

    s->recorder = recorder;
    (void)pthread_mutex_init(&s->alone, NULL);
    s->count = recorder_suspects(recorder, found);
    for (size_t i = 0; i < s->count; i++)
        s->ids[i] = found[i].task.id;
    s->left = s->count;
    s->until_us = clock_mono_us() + CAREFUL_US;
}

static int suspects_take_slot(struct suspects *s)
{
    uint64_t taken = atomic_load(&s->slots);

    for (;;) {
        int slot = ~taken != 0 ? __builtin_ctzll(~taken) : RECORDER_SLOTS;

        if (slot >= RECORDER_SLOTS)
            return -1; /* more threads than slots: this one is not recorded */
        if (atomic_compare_exchange_weak(&s->slots, &taken, taken | UINT64_C(1) << slot))
            return slot;
    }
}

static bool is_suspect(struct suspects *s, const struct task *t)
{
    for (size_t i = 0; i < s->count; i++)
        if (atomic_load(&s->ids[i]) == t->id)
            return true;
    return false;
}

static void forgive(struct suspects *s, const struct task *t)
{
    for (size_t i = 0; i < s->count; i++) {
        int64_t id = t->id;

        if (id != 0 && atomic_compare_exchange_strong(&s->ids[i], &id, 0))
            (void)atomic_fetch_sub(&s->left, 1);
    }
}

static bool must_be_careful(struct suspects *s)
{
    if (atomic_load(&s->left) == 0)
        return false;
    if (clock_mono_us() < s->until_us)
        return true;
    for (size_t i = 0; i < s->count; i++)
        forgive(s, &(struct task){ .id = atomic_load(&s->ids[i]) });
    return false;
}

struct task_code suspects_enter(struct suspects *s, const struct task *t)
{
    struct task_code c = { .slot = suspects_take_slot(s), .alone = must_be_careful(s) };

    if (c.alone)
        (void)pthread_mutex_lock(&s->alone);
    if (c.slot >= 0)
        recorder_mark(s->recorder, (size_t)c.slot, t, c.alone && is_suspect(s, t));
    return c;
}

struct task_code suspects_note(struct suspects *s, const struct task *t)
{
    struct task_code c = { .slot = suspects_take_slot(s) };

    if (c.slot >= 0)
        recorder_mark(s->recorder, (size_t)c.slot, t, must_be_careful(s) && is_suspect(s, t));
    return c;
}

void suspects_leave(struct suspects *s, struct task_code c)
{
    if (c.slot >= 0) {
        recorder_clear(s->recorder, (size_t)c.slot);
        (void)atomic_fetch_and(&s->slots, ~(UINT64_C(1) << c.slot));
    }
    if (c.alone)
        (void)pthread_mutex_unlock(&s->alone);
}

void suspects_forgive(struct suspects *s, const struct task *t)
{
    if (atomic_load(&s->left) > 0)
        forgive(s, t);
}
